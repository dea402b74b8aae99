"""The words of the API's document that are about sales."""

from __future__ import annotations

from saleroom.http.schemas import Vocabulary

VOCABULARY = Vocabulary(members={})
