"""What the command line does in one call, without threads."""
