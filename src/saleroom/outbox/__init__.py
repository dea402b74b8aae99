"""The outbox: words to people, posted by the transactions that cause them and sent after the commit."""
