"""The event log: written by the transactions that decide, read by all live parts."""
