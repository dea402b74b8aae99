"""The rights that the endpoints and pages of settlement need, for `tests/test_matrix.py`."""

from saleroom.accounts.domain.rights import Right

ENDPOINTS: dict[str, Right | None] = {
    **dict.fromkeys(
        (
            "rateCards",
            "makeRateCard",
            "rateCard",
            "changeRateCard",
            "previewRates",
            "ratesOfSale",
            "chooseRatesOfSale",
            "ratesOfLot",
            "chooseRatesOfLot",
            "ratesOfConsignor",
            "chooseRatesOfConsignor",
        ),
        Right.SET_RATES,
    ),
    "creditDocument": Right.SETTLE,
    "document": Right.READ,
    "documentPaper": Right.READ,
    "documents": Right.SETTLE,
    "issueDocument": Right.SETTLE,
}
PAGES: dict[str, Right | None] = dict.fromkeys(
    (
        "GET /admin/rates",
        "POST /admin/rates",
        "POST /admin/rates/choice",
        "GET /admin/rates/{gid}",
        "POST /admin/rates/{gid}/terms",
    ),
    Right.SET_RATES,
)
