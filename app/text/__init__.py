"""Text to be shown: Markdown, highlighting, amounts, translation."""
