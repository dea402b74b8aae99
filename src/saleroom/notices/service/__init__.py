"""The use cases of notices, and the two tasks that post and send words."""
