"""What carries out commands, each kind on a thread of its own."""
