"""From the start of the process to the first painted window."""
