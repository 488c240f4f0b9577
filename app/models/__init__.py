"""Qt models over plain records."""
