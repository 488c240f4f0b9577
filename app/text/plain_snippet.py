"""A line out of the middle of a Markdown text, as it reads without its signs."""

from __future__ import annotations

import re

# Underscores stay: in what people search for they are rather part of a name.
_SIGNS = re.compile(
    r"""
    !?\[ (?= [^\[\]]* \]\( )                               # a link or a picture: only its words stay
  | (?<= \] ) \( [^()\s]* (?: \s [^()]* )? \)
  | \] (?= \( )
  | `{3,} (?: [\w+#-]+ \s )? | `                           # code, with the name of its language
  | (?<! \S ) \#{1,6} \s                                   # a heading
  | (?<! \S ) \| (?: \s? :? -+ :? \s? \| )+ \s?            # the line below the names of a table
  | ~~
  | \\ (?= [\\`*_{}\[\]()\#+.!~|>-] )
    """,
    re.VERBOSE,
)
_EMPHASIS = re.compile(r"(?<![\w*\\])(\*{1,3})(?=[^\s*])[^*]*(?<=[^\s*\\])(\1)(?![\w*])")
_ENDS = re.compile(r"^…[^*]*[^\s*](\*\*)(?![\w*])")  # what began before the snippet
_BEGINS = re.compile(r"(?<![\w*\\])(\*\*)(?=[^\s*])[^*]*…$")
Marks = tuple[tuple[int, int], ...]


def plain_snippet(snippet: str, marks: Marks) -> tuple[str, Marks]:
    """The snippet without signs of Markdown, where they are surely such. `marks` are places that stay as they are:
    first character, number of characters."""
    gone = bytearray(len(snippet))
    for signs in (_SIGNS, _EMPHASIS, _ENDS, _BEGINS):
        for found in signs.finditer(snippet):
            for group in range(1, signs.groups + 1) if signs.groups else (0,):
                start, end = found.span(group)
                gone[start:end] = b"\1" * (end - start)
    for start, length in marks:
        gone[start : start + length] = bytes(length)
    moved = tuple((start - sum(gone[:start]), length) for start, length in marks)
    return "".join(sign for sign, is_gone in zip(snippet, gone, strict=True) if not is_gone), moved
