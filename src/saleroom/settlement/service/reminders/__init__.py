"""Reminders and strikes for invoices that are overdue."""
