"""Measures the ways of decoding against each other."""
