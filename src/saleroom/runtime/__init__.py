"""The process: it listens and serves, runs its tasks, shows its figures and traces, and tells its manager that it is alive."""
