"""The fixtures that these tests share with those of the other pages."""

from tests.bidding.web.conftest import come, leave, seller
from tests.http.conftest import errors_logged

__all__ = ["come", "errors_logged", "leave", "seller"]
