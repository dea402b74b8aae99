"""The event log: appended in the transaction that decides, read by everything live."""
