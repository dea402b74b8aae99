"""The pages of notices, and their mails."""
