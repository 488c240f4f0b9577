"""Long lists and tables of Markdown in pieces that are shown one below the other: only the last of a growing one is
laid out again, and no step takes long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # slow to import, and not needed before the first reply
    from markdown_it.token import Token

LIST_PIECE = 1_500  # characters of a long list that are shown together
TABLE_PIECE = 200  # cells of a long table that are laid out together
_ITEM = 20  # characters that an item counts for, besides its own
_NARROWEST, _WIDEST = 4, 40  # characters that a column of a long table counts for


def parts(tokens: list[Token]) -> Iterable[list[Token]]:
    """Splits the tokens of a long list or table into pieces, which stay the same as it grows."""
    match tokens[0].type:
        case "bullet_list_open" | "ordered_list_open":
            return _list_pieces(tokens)
        case "table_open":
            return _table_pieces(tokens)
    return [tokens]


def _table_pieces(tokens: list[Token]) -> Iterator[list[Token]]:
    """Splits a long table into tables of equal column widths; the first has the heading."""
    rows = [place for place, token in enumerate(tokens) if token.type == "tr_open"]
    num_columns = sum(token.type == "th_open" for token in tokens)
    step = max(1, TABLE_PIECE // num_columns)
    if len(rows) <= step:
        yield tokens
        return
    body, closing, last = tokens[rows[1] - 1], tokens[-2:], len(tokens) - 2
    starts = [1, *rows[step::step]]
    widths = _column_widths(tokens[: starts[1]], num_columns)
    for start, end in zip(starts, [*starts[1:], last], strict=True):
        is_first = start == 1
        inner = (("margin-top:0", not is_first), ("margin-bottom:0", end < last))
        opening = copy(tokens[0])
        opening.attrs = {"width": "100%", "style": ";".join(side for side, is_inner in inner if is_inner)}
        yield [opening, *([] if is_first else [body]), *_with_widths(tokens[start:end], widths), *closing]


def _column_widths(tokens: list[Token], num_columns: int) -> list[int]:
    """Widths in per cent, by the longest texts of these rows."""
    longest = [_NARROWEST] * num_columns
    cells = (token for token in tokens if token.type == "inline")
    for place, cell in enumerate(cells):
        column = place % num_columns
        longest[column] = max(longest[column], min(len(cell.content), _WIDEST))
    return [max(1, 100 * length // sum(longest)) for length in longest]


def _with_widths(tokens: list[Token], widths: list[int]) -> Iterator[Token]:
    """Sets widths in the first row, which decides for the table."""
    waiting = iter(widths)
    for token in tokens:
        width = next(waiting, None) if token.type in ("th_open", "td_open") else None
        cell = token if width is None else copy(token)
        if width is not None:
            cell.attrs = token.attrs | {"width": f"{width}%"}
        yield cell


def _list_pieces(tokens: list[Token]) -> Iterator[list[Token]]:
    """Splits a list into lists with continued numbers."""
    opening, closing = tokens[0], tokens[-1]
    number = int(opening.attrs.get("start", 1))
    piece: list[Token] = []
    num_items, size = 0, 0
    for index, token in enumerate(tokens[1:-1], start=1):
        piece.append(token)
        size += len(token.content)
        size += _ITEM if token.type == "list_item_open" else 0
        if token.type == "list_item_close" and token.level == 1:
            num_items += 1
            if size >= LIST_PIECE or index == len(tokens) - 2:
                head = copy(opening)
                head.attrs = {"start": number}
                yield [head, *piece, closing]
                number += num_items
                piece, num_items, size = [], 0, 0
