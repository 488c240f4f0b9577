"""The loop that writes a reply, and what counts and times it."""
