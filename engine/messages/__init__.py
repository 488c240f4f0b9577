"""Commands, events, and the values they carry."""
