"""Carries what was learned from one store to another, in a file whose every byte is checked before it counts."""
