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
    "documentXml": Right.READ,
    "documents": Right.SETTLE,
    "myDocuments": Right.READ,
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
ENDPOINTS |= dict.fromkeys(("costsOfSale", "costsOfLot"), Right.READ)
PAGES["GET /catalogues/{gid}/costs"] = Right.READ
ENDPOINTS |= dict.fromkeys(("members", "membership", "markMember"), Right.ADMIT_BIDDERS)
ENDPOINTS |= dict.fromkeys(("membershipOfConsignor", "markConsignor"), Right.SET_RATES)
PAGES |= dict.fromkeys(("GET /admin/members", "POST /admin/members"), Right.ADMIT_BIDDERS)

_DESK = (
    "accountsOfSale",
    "exportAccountsCsv",
    "desk",
    "takePayments",
    "refundBuyer",
    "statement",
    "payOut",
    "correctSale",
    "netBuyer",
)
ENDPOINTS |= dict.fromkeys(_DESK, Right.SETTLE)
_DESK_PAGES = (
    "GET /admin/desk",
    "GET /admin/desk/{gid}",
    "POST /admin/desk/{gid}/payments",
    "POST /admin/desk/{gid}/refund",
    "POST /admin/desk/{gid}/netting",
    "POST /admin/desk/{gid}/correction",
    "GET /admin/desk/{gid}/accounts",
    "GET /admin/desk/{gid}/accounts.csv",
    "GET /admin/desk/{gid}/statements/{code}",
    "POST /admin/desk/{gid}/statements/{code}",
)
PAGES |= dict.fromkeys(_DESK_PAGES, Right.SETTLE)
_DOCUMENT_PAGES = (
    "GET /admin/desk/{gid}/documents",
    "POST /admin/desk/{gid}/documents",
    "GET /admin/documents/{gid}",
    "POST /admin/documents/{gid}/credit",
    "GET /admin/documents/{gid}/paper.pdf",
    "GET /admin/documents/{gid}/invoice.xml",
)
PAGES |= dict.fromkeys(_DOCUMENT_PAGES, Right.SETTLE)
_OWN_DOCUMENT_PAGES = (
    "GET /mine/documents",
    "GET /mine/documents/{gid}",
    "GET /mine/documents/{gid}/paper.pdf",
    "GET /mine/documents/{gid}/invoice.xml",
)
PAGES |= dict.fromkeys(_OWN_DOCUMENT_PAGES, Right.READ)
_REPORTS = ("reportOfSale", "exportReportCsv", "exportReportXlsx", "taxReport", "exportTaxesCsv", "exportTaxesXlsx")
ENDPOINTS |= dict.fromkeys(_REPORTS, Right.SETTLE)
_REPORT_PAGES = (
    "GET /admin/desk/{gid}/report",
    "GET /admin/desk/{gid}/report/{file}",
    "GET /admin/taxes",
    "GET /admin/taxes/{file}",
)
PAGES |= dict.fromkeys(_REPORT_PAGES, Right.SETTLE)
ENDPOINTS |= dict.fromkeys(
    ("offersOfSale", "offerLot", "withdrawOffer", "putIntoNextSale", "returnLot", "undoReturn"), Right.MANAGE_SALES
)
ENDPOINTS |= dict.fromkeys(("previewUnderbidderOffers", "offerToUnderbidders"), Right.MANAGE_SALES)
ENDPOINTS |= {"myOffers": Right.READ, "answerOffer": Right.BID}
PAGES |= dict.fromkeys(
    (
        "GET /admin/desk/{gid}/offers",
        "POST /admin/desk/{gid}/offers/new",
        "POST /admin/desk/{gid}/offers/underbidders",
        "POST /admin/desk/{gid}/offers/next-sale",
        "POST /admin/desk/{gid}/offers/return",
        "POST /admin/desk/{gid}/offers/withdrawal",
    ),
    Right.MANAGE_SALES,
)
PAGES |= {"GET /mine/offers": Right.READ, "POST /mine/offers/{gid}": Right.BID}
ENDPOINTS |= dict.fromkeys(("pickups", "handOut", "undoHandOut"), Right.SETTLE)
PAGES |= dict.fromkeys(
    ("GET /admin/desk/{gid}/pickup", "POST /admin/desk/{gid}/pickup/out", "POST /admin/desk/{gid}/pickup/undo"),
    Right.SETTLE,
)
ENDPOINTS |= dict.fromkeys(("overdueInvoices", "remindAll", "remind", "forgiveStrike"), Right.SETTLE)
PAGES |= dict.fromkeys(
    (
        "GET /admin/overdue",
        "POST /admin/overdue",
        "POST /admin/overdue/{gid}",
        "POST /admin/overdue/{gid}/forgiveness",
    ),
    Right.SETTLE,
)
ENDPOINTS |= dict.fromkeys(("importBankStatement", "bankPayments", "decideBankPayment"), Right.SETTLE)
PAGES |= dict.fromkeys(("GET /admin/bank", "POST /admin/bank", "POST /admin/bank/{gid}"), Right.SETTLE)
_PAYOUTS = ("duePayouts", "makePaymentFile", "paymentFiles", "paymentFile", "downloadPaymentFile", "markPayouts")
ENDPOINTS |= dict.fromkeys((*_PAYOUTS, "payoutAccount", "changePayoutAccount"), Right.SETTLE)
ENDPOINTS |= dict.fromkeys(("importPaymentStatusReport", "checkPayouts"), Right.SETTLE)
ENDPOINTS |= dict.fromkeys(("myPayoutAccounts", "changeMyPayoutAccount"), Right.ACCOUNT)
_PAYOUT_PAGES = (
    "GET /admin/payouts",
    "POST /admin/payouts",
    "GET /admin/payouts/{gid}",
    "POST /admin/payouts/{gid}",
    "POST /admin/payouts/{gid}/checks",
    "POST /admin/payouts/reports",
    "GET /admin/payouts/{gid}/pain.xml",
    "GET /admin/payouts/accounts/{code}",
    "POST /admin/payouts/accounts/{code}",
)
PAGES |= dict.fromkeys(_PAYOUT_PAGES, Right.SETTLE)
PAGES |= dict.fromkeys(("GET /mine/payouts", "POST /mine/payouts/{code}"), Right.ACCOUNT)
ENDPOINTS |= {"payOnline": Right.ACCOUNT, "ownOnlinePayments": Right.READ, "onlinePayments": Right.SETTLE}
PAGES |= {"GET /admin/cards": Right.SETTLE, "POST /mine/documents/{gid}/card": Right.ACCOUNT}
