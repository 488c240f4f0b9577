"""What a chat template may do with values that only arranges them: filled-in texts, padding, rows of a list."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from jinja2 import TemplateError
from jinja2.utils import Cycler, Joiner

from engine.sentences import say
from engine.target.prompt_text import made_of, part
from engine.target.template_values import ITEM, PIECE, TOO_LARGE, Callee, Values, calculated

_MAX_WIDTH = 256
_MAX_ROWS = 10_000
_LEEWAY = 5  # jinja2's own
_FIELD = re.compile(r"%(?:\((\w*)\))?([-+ #0]{0,2})(\d{0,2})(?:\.(\d{1,2}))?([sdifFeEgGxXo%])|%")
_WORD = re.compile(r"\w+")


class Group(NamedTuple):
    """As jinja2's filter `groupby` makes them."""

    grouper: Any
    list: Any

    def __repr__(self) -> str:
        return tuple.__repr__(self)


class Formats(Values):
    def __init__(self) -> None:
        super().__init__()
        self.functions |= {"cycler": Callee(Cycler), "joiner": Callee(lambda sep=", ": Callee(Joiner(sep)))}
        self.operations |= {"%": self._remainder}

    def attribute(self, value: Any, name: str) -> Any:
        if isinstance(value, Group) and name in Group._fields:
            return getattr(value, name)
        if isinstance(value, Cycler) and name in ("current", "next", "reset"):
            return value.current if name == "current" else Callee(getattr(value, name))
        return super().attribute(value, name)

    def filled_in(self, text: str, given: Any) -> str:
        """`text % given`."""
        self.budget.take(ITEM * len(text))
        waiting = list(given) if isinstance(given, tuple) else [given]
        pieces: list[str] = []
        place = 0
        for field in _FIELD.finditer(text):
            pieces.append(part(text, slice(place, field.start())))
            place = field.end()
            if field[0] == "%%":
                pieces.append("%")
                continue
            if field[5] in (None, "%"):
                raise TemplateError(say("it formats a value in a forbidden way"))
            value = given[self.key(field[1])] if field[1] is not None else waiting.pop(0)
            pieces.append(self._field(value, field))
        if waiting and not isinstance(given, dict):
            raise TypeError("not all values are used")
        pieces.append(part(text, slice(place, None)))
        return self.concatenated(pieces)

    def _field(self, value: Any, field: re.Match[str]) -> str:
        _, flags, width, precision, kind = field.groups()
        if kind != "s":
            number = calculated(operator.add, value, 0)
            return str(f"%{flags}{width}{'' if precision is None else '.' + precision}{kind}" % number)
        text = self.text_of(value)
        text = text if precision is None else part(text, slice(int(precision)))
        return self.padded(str.ljust if "-" in flags else str.rjust, text, int(width or 0))

    def padded(self, method: Callable[..., str], value: Any, width: int, *fill: str) -> str:
        text = self.text_of(value)
        if width > _MAX_WIDTH:
            raise TemplateError(TOO_LARGE)
        self.budget.take(len(text) + _MAX_WIDTH)
        return made_of(method(text, width, *fill), text, *fill) if width > len(text) else text

    def truncate(
        self, value: Any, length: int = 255, killwords: bool = False, end: str = "...", leeway: int = _LEEWAY
    ) -> str:
        text = self.text_of(value)
        if len(text) <= length + leeway:
            return text
        if length < len(end):
            raise TemplateError(say("it shortens a text to less than its ending"))
        self.budget.take(length)
        kept = part(text, slice(length - len(end)))
        if not killwords and " " in kept:
            kept = part(kept, slice(kept.rindex(" ")))
        return self.concatenated((kept, end))

    def count_words(self, value: Any) -> int:
        text = self.text_of(value)
        self.budget.take(PIECE * len(text))
        return len(_WORD.findall(text))

    def batch(self, value: Any, linecount: int, fill_with: Any = None) -> Iterator[list[Any]]:
        items = self.list_of(value)
        for start in range(0, len(items), self._num_rows(linecount)):
            row = items[start : start + linecount]
            yield row if fill_with is None else row + [fill_with] * (linecount - len(row))

    def rows(self, value: Any, slices: int, fill_with: Any = None) -> Iterator[list[Any]]:
        items = self.list_of(value)
        length, num_longer = divmod(len(items), self._num_rows(slices))
        end = 0
        for number in range(slices):
            start, end = end, end + length + (number < num_longer)
            filling = [] if fill_with is None or number < num_longer else [fill_with]
            yield items[start:end] + filling

    def _num_rows(self, count: int) -> int:
        if not 1 <= count <= _MAX_ROWS:
            raise TemplateError(TOO_LARGE)
        self.budget.take(ITEM * count)
        return count

    def _remainder(self, left: Any, right: Any) -> Any:
        return self.filled_in(left, right) if isinstance(left, str) else calculated(operator.mod, left, right)
