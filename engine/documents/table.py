"""Comma-separated values as a Markdown table."""

from __future__ import annotations

import csv
from collections import Counter
from io import StringIO

from engine.documents.flow import markdown_table
from engine.documents.limits import check_length

_SEPARATORS = ",;\t|"
_LINES_TRIED = 20


def read_table(text: str) -> str:
    """Raises Unreadable where it is too much."""
    check_length(len(text))
    csv.field_size_limit(len(text) + 1)
    return markdown_table(list(csv.reader(StringIO(text, newline=""), delimiter=_separator(text))))


def _separator(text: str) -> str:
    """What splits the first lines most evenly; a comma where nothing does."""
    lines = [line for line in text[:100_000].split("\n", _LINES_TRIED)[:_LINES_TRIED] if line.strip()]

    def evenness(separator: str) -> tuple[int, int]:
        numbers = Counter(line.count(separator) for line in lines)
        number, times = max(numbers.items(), key=lambda each: each[1], default=(0, 0))
        return (times if number else 0), number

    return max(_SEPARATORS, key=evenness)
