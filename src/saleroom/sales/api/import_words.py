"""The words of the API's document that are about imports."""

from __future__ import annotations

from saleroom.http.schemas import COUNT, Schema
from saleroom.sales.domain.columns import Column
from saleroom.sales.domain.importing import Effect

MEMBERS: dict[str, tuple[Schema, str]] = {
    "changed": (COUNT, "How many lots it changes."),
    "changes": ({}, "What the row changes."),
    "column": ({"enum": list(Column)}, "The value, as an export names it; null for the row as a whole."),
    "dryRun": ({}, "Whether nothing was changed."),
    "effect": ({"enum": [Effect.NEW, Effect.CHANGED, Effect.FAULT]}, "What the row does."),
    "faults": ({}, "What is wrong with the row."),
    "faulty": (COUNT, "How many rows have faults; with one of them nothing is imported."),
    "heading": ({}, "The heading of the column in the file."),
    "ignored": ({}, "Headings of the file that say nothing here."),
    "lot": ({}, "The number of the lot; empty if it cannot be read."),
    "lotPhotos": ({}, "The lots whose photos change."),
    "new": (COUNT, "How many lots it adds."),
    "newNumbers": ({}, "The numbers of the photos that are added."),
    "now": ({}, "The value that it gets; null for nothing."),
    "path": ({}, "The file, with its folders in the archive."),
    "photoFaults": ({}, "The photos that cannot be placed."),
    "photosNew": (COUNT, "How many photos it adds."),
    "photosReplaced": (COUNT, "How many photos take the place of others."),
    "photosUnchanged": (COUNT, "How many photos are there already."),
    "replacedNumbers": ({}, "The numbers of the photos that take the place of others."),
    "row": ({"minimum": 1}, "The number of the row in the file."),
    "rows": ({}, "The rows that change something, or have faults."),
    "unchanged": (COUNT, "How many rows change nothing."),
    "was": ({}, "The value that it had; null for nothing."),
}
