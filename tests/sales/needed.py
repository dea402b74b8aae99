"""The rights that the endpoints and pages of catalogue files and of the people of a sale need, for `tests/test_matrix.py`."""

from saleroom.accounts.domain.rights import Right

ENDPOINTS: dict[str, Right | None] = {
    "actOnBlock": Right.RUN_SALE,
    "admitBidder": Right.ADMIT_BIDDERS,
    "changeParticipant": Right.ADMIT_BIDDERS,
    "checkInBidder": Right.ADMIT_BIDDERS,
    "exportCatalogueCsv": Right.CATALOGUE,
    "exportCatalogueXlsx": Right.CATALOGUE,
    "exportResultsCsv": Right.CATALOGUE,
    "exportResultsXlsx": Right.CATALOGUE,
    "importCatalogue": Right.CATALOGUE,
    "importWithProgress": Right.CATALOGUE,
    "mergeBidders": Right.ADMIT_BIDDERS,
    "participants": Right.ADMIT_BIDDERS,
    "lotLabels": Right.CATALOGUE,
    "notePrintedLabels": Right.CATALOGUE,
    "paperBidCards": Right.ADMIT_BIDDERS,
    "paperCatalogue": Right.READ,
    "paperClerkSheet": Right.RUN_SALE,
    "paperLabels": Right.CATALOGUE,
    "paperResults": Right.READ,
    "paperRunSheet": Right.RUN_SALE,
    "registerForSale": Right.BID,
    "registration": Right.READ,
}
PAGES: dict[str, Right | None] = {
    "GET /admin/sales": Right.CATALOGUE,
    "GET /admin/sales/{gid}": Right.CATALOGUE,
    "GET /admin/sales/{gid}/lots/{label}": Right.CATALOGUE,
    "GET /catalogues": Right.READ,
    "GET /catalogues/{gid}": Right.READ,
    "POST /admin/sales": Right.MANAGE_SALES,
    "POST /admin/sales/{gid}": Right.MANAGE_SALES,
    "POST /admin/sales/{gid}/lots": Right.CATALOGUE,
    "POST /admin/sales/{gid}/cancel": Right.MANAGE_SALES,
    "POST /admin/sales/{gid}/lots/{label}": Right.CATALOGUE,
    "POST /admin/sales/{gid}/lots/{label}/withdraw": Right.CATALOGUE,
    "POST /admin/sales/{gid}/publish": Right.MANAGE_SALES,
    "POST /admin/sales/{gid}/pause": Right.MANAGE_SALES,
    "POST /admin/sales/{gid}/resume": Right.MANAGE_SALES,
    "POST /admin/sales/{gid}/renumber": Right.CATALOGUE,
    "POST /admin/sales/{gid}/order": Right.CATALOGUE,
    "GET /admin/sales/{gid}/people": Right.ADMIT_BIDDERS,
    "POST /admin/sales/{gid}/people": Right.ADMIT_BIDDERS,
    "POST /admin/sales/{gid}/people/{participant}/check-in": Right.ADMIT_BIDDERS,
    "POST /admin/sales/{gid}/people/{participant}/decision": Right.ADMIT_BIDDERS,
    "POST /admin/sales/{gid}/people/{participant}/merger": Right.ADMIT_BIDDERS,
    "GET /admin/sales/{gid}/paper": None,
    "GET /admin/sales/{gid}/paper/{file}": None,  # as the API
    "POST /admin/sales/{gid}/paper/printed": Right.CATALOGUE,
    "GET /catalogues/{gid}/paper/{file}": None,
    "POST /lots/{gid}/ask": Right.BID,
    "GET /sales/{gid}/block/live": Right.READ,
    "GET /sales/{gid}/live": Right.READ,
    "GET /sales/{gid}/next": Right.READ,
    "GET /sales/{gid}/screen": Right.READ,
    "GET /sales/{gid}/auctioneer": Right.RUN_SALE,
    "GET /sales/{gid}/console": Right.RUN_SALE,
    "GET /sales/{gid}/console/state": Right.RUN_SALE,
    "POST /sales/{gid}/console": Right.RUN_SALE,
    "GET /mine/sales/{gid}": Right.READ,
    "POST /mine/sales/{gid}": Right.BID,
}

ANY_OF = {"GET /admin/sales/{gid}/paper"}
"""Pages for which any right of those who work on sales will do (`tests/sales/web/test_paper.py`)."""
PARTS = {"label": "1", "participant": "AAAAAAAAAAAA", "code": "K1"}
"""Values for the second parameters of paths, by their names: each has the right form."""
