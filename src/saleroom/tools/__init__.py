"""Programs that know a house only from outside: load, watch, demo, verify."""
