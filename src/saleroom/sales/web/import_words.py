"""The words of the pages for the faults of catalogue files and their photos."""

from __future__ import annotations

from saleroom.site.language import N_

FAULTS: dict[str, tuple[str, ...]] = {
    "ambiguous_number": (
        N_("This number can be read in two ways. Write it with two decimals, or without a separator."),
    ),
    "archive_too_costly": (
        N_("The archive takes too much time or memory to read. Send the photos in several archives."),
    ),
    "auction_over": (N_("The lot is over and cannot be changed any more."),),
    "consignor_bids": (N_("This consignor has bid on the lot, and nobody bids on a lot that they have consigned."),),
    "damaged_file": (
        N_("%(path)s is damaged, or packed in a way that cannot be unpacked here."),
        N_("The file is damaged, or packed in a way that cannot be unpacked here."),
    ),
    "encrypted_file": (
        N_("%(path)s is encrypted. Pack it without a password."),
        N_("Pack the files without a password."),
    ),
    "formula": (
        N_("These cells have formulas without a value, or errors: %(cells)s. Put values in their place."),
        N_("Some cells have formulas without a value, or errors. Put values in their place."),
    ),
    "has_pledges": (N_("Somebody has pledged on the lot, so this cannot change any more."),),
    "kind_stays": (N_("A lot stays an auction or a fund-a-need. Withdraw it and add another one."),),
    "has_bids": (N_("Somebody has bid on the lot, so this cannot be changed any more."),),
    "lot_withdrawn": (N_("The lot is withdrawn and cannot be changed any more."),),
    "malformed_csv": (N_("The file cannot be read to its end. A quotation mark may lack its other one."),),
    "merged_cells": (
        N_("These cells are merged: %(cells)s. Divide them and fill each of them."),
        N_("Some cells are merged. Divide them and fill each of them."),
    ),
    "no_headings": (N_("The sheet must begin with a row of headings, such as Lot, Title and Starting price."),),
    "no_photos": (N_("There are no photos in the archive. Name them by their lots, such as 12A-2.jpg."),),
    "not_a_sheet": (N_("This is no spreadsheet in XLSX or CSV, or it is damaged."),),
    "not_an_archive": (N_("This is no ZIP archive, or it is damaged."),),
    "old_format": (N_("The file is of an old format or has a password. Save it as XLSX or CSV without one."),),
    "photo_gap": (N_("A photo before this one is missing. Number the photos of a lot without a gap."),),
    "percentage": (
        N_("These cells have percentages: %(cells)s. Format them as numbers, and enter what is meant."),
        N_("Some cells have percentages. Format them as numbers, and enter what is meant."),
    ),
    "photo_name": (
        N_("%(path)s: name each photo by its lot and its number, such as 12A-2.jpg."),
        N_("Name each photo by its lot and its number, such as 12A-2.jpg."),
    ),
    "sheet_too_complex": (
        N_(
            "The file has too many cells or formats, perhaps empty ones. Save it as CSV, or copy the lots into a new file."
        ),
    ),
    "sheet_order": (
        N_("The file has %(this)s behind %(last)s, so a value would be lost. Open the file and save it again."),
        N_("Rows or cells of the file are out of order, so a value would be lost. Open the file and save it again."),
    ),
    "surplus_cells": (
        N_(
            "These cells stand behind the last heading: %(cells)s. Put texts with what divides cells into quotation marks."
        ),
        N_("Some cells stand behind the last heading. Put texts with what divides cells into quotation marks."),
    ),
    "too_many_columns": (
        N_("At most %(most)s columns are read. Delete the columns behind them."),
        N_("The file has too many columns. Delete those that are not needed."),
    ),
    "sheet_too_costly": (
        N_("The file takes too much time or memory to read. Save it as CSV, or copy the lots into a new file."),
    ),
    "repeated_column": (N_("Two columns have headings that mean the same. Leave one of them out."),),
    "repeated_label": (N_("Row %(row)s has the same lot number."), N_("Another row has the same lot number.")),
    "repeated_photo": (N_("Another file is the same photo of this lot."),),
    "text_lines": (N_("This must be one line."),),
    "too_many_files": (N_("The archive has too many files; %(most)s are allowed. Divide it."),),
    "too_many_rows": (N_("The sheet has too many rows; %(most)s are allowed."),),
    "unknown_consignor": (N_("The house has no consignor with this code. Add the consignor first."),),
    "unknown_lot": (N_("There is no such lot, neither in the sale nor in the sheet."),),
    "unpacked_too_large": (N_("The archive unpacks to too much. Divide it."),),
}
