"""The rules of notices: which event is word for whom, and who wants it when."""
