"""Themes and icons: data without code."""
