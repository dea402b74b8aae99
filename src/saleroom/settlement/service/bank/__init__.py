"""The bank: statements and reports that come from it, and the payment files that go there."""
