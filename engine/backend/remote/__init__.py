"""Targets on servers with OpenAI's interface: found, asked, and their replies read. The only part that calls them, and
it calls the chosen addresses alone."""
