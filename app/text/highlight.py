"""Colours for code: Pygments tokens reduced to seven kinds, as plain values that may travel between threads.

The kinds are the theme's `code_…` colours, so another theme needs no other lexing. Pygments is imported at first use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from time import sleep
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QColor, QTextCharFormat

from app.text.side_thread import SideThread
from app.text.unseen import utf16_length
from app.theme import Theme

if TYPE_CHECKING:
    from pygments.lexer import Lexer

SHORT_CODE = 2_500  # characters that are lexed in a few milliseconds
LONGEST_CODE = 400_000  # characters; longer code stays plain
_MOST_SPANS = 2_000  # of one line, which Qt takes at once; its rest stays plain
_TOKENS_BETWEEN_RESTS = 500
_REST_S = 0.002


@dataclass(frozen=True, slots=True)
class ColouredSpan:
    """A part of one line; positions count UTF-16 units, as Qt does."""

    start: int
    length: int
    kind: str  # a colour of the theme, such as "code_keyword"


Line = tuple[ColouredSpan, ...]

# Pygments' token types by the beginning of their names; the first match counts.
_KINDS = (
    ("Token.Comment.Preproc", "code_keyword"),
    ("Token.Comment", "code_comment"),
    ("Token.Keyword.Type", "code_type"),
    ("Token.Keyword", "code_keyword"),
    ("Token.Operator.Word", "code_keyword"),
    ("Token.Name.Function", "code_name"),
    ("Token.Name.Tag", "code_keyword"),
    ("Token.Name.Attribute", "code_name"),
    ("Token.Name.Class", "code_type"),
    ("Token.Name.Builtin", "code_type"),
    ("Token.Name.Decorator", "code_type"),
    ("Token.Name.Exception", "code_type"),
    ("Token.Name.Constant", "code_number"),
    ("Token.Literal.Number", "code_number"),
    ("Token.Literal", "code_string"),
    ("Token.Generic.Deleted", "code_error"),
    ("Token.Generic.Inserted", "code_string"),
    ("Token.Generic.Heading", "code_keyword"),
    ("Token.Generic.Subheading", "code_type"),
)


def lex(language: str, code: str, rest: Callable[[], object] | None = None) -> tuple[Line, ...]:
    """Coloured spans of each line; empty for an unknown language, which is never guessed. `rest` is called every
    millisecond or two."""
    lexer = _lexer(language)
    if lexer is None or len(code) > LONGEST_CODE:
        return ()
    lines: list[list[ColouredSpan]] = [[]]
    column = 0
    for number, (_, token_type, text) in enumerate(lexer.get_tokens_unprocessed(code), 1):
        if rest is not None and number % _TOKENS_BETWEEN_RESTS == 0:
            rest()
        kind = _kind(str(token_type))
        for index, part in enumerate(text.split("\n")):
            if index:
                lines.append([])
                column = 0
            length = utf16_length(part)
            if kind and length and len(lines[-1]) < _MOST_SPANS:
                lines[-1].append(ColouredSpan(column, length, kind))
            column += length
    return tuple(map(tuple, lines))


def formats(theme: Theme) -> dict[str, QTextCharFormat]:
    """The format of each kind in a theme."""
    kinds = {kind for _, kind in _KINDS}
    result = {kind: QTextCharFormat() for kind in kinds}
    for kind in kinds:
        result[kind].setForeground(QColor(getattr(theme, kind)))
    result["code_comment"].setFontItalic(True)
    return result


class Lexing(QObject):
    """Lexes short code at once, and long code on a thread of its own."""

    done = Signal(int, tuple)  # the number that `request` returned, and the lines

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._beside = SideThread("lexing", self)
        self._num_requests = 0
        self._warm: set[str] = set()  # languages that are imported, which takes far longer than lexing

    def lex_now(self, language: str, code: str) -> tuple[Line, ...] | None:
        """The lines; None if lexing would take too long for the interface thread: then `request` them."""
        return lex(language, code) if language in self._warm and len(code) <= SHORT_CODE else None

    def request(self, language: str, code: str) -> int:
        self._num_requests += 1
        number = self._num_requests
        # The interface waits for Python's lock again and again while another thread computes in Python.
        rest = partial(sleep, _REST_S)
        self._beside.do(partial(lex, language, code, rest), partial(self._on_lexed, number, language))
        return number

    def prepare(self) -> None:
        """Imports ahead of time what the first reply needs."""
        self._beside.do(_import_slow_libraries)

    def _on_lexed(self, number: int, language: str, lines: tuple[Line, ...]) -> None:
        self._warm.add(language)
        self.done.emit(number, lines)


def _import_slow_libraries() -> None:
    import markdown_it  # noqa: F401

    lex("python", "")


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language) if language else None
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def _kind(token_type: str) -> str:
    return next((kind for prefix, kind in _KINDS if token_type.startswith(prefix)), "")
