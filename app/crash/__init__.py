"""The log, and reports of errors that nobody expected."""
