"""Invoices that are overdue, and reminders of them."""
