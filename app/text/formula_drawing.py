"""Draws formulas, on a thread of its own: LaTeX to SVG, as plain values that may travel between threads.

The library draws one in less than a millisecond, without giving up the interpreter's lock, so what it is given is
bounded: none takes longer than a frame. It is imported with the first formula. What it does not know, and what has a
mistake, is not drawn. A drawing has no colour and no size of its own.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import RLock

from PySide6.QtCore import QObject, Signal
from shiboken6 import isValid

from app.text.formulas import LONGEST_SOURCE, Formula
from app.text.side_thread import Lifetime, stopper

_logger = logging.getLogger("slipstream.window")

WAIT_S = 0.005  # for drawings that are wanted at once; a shorter wait shows text for a moment, and then what is drawn
MOST_KNOWN = 500  # formulas
DEEPEST = 16  # brackets, groups and environments within one another
MOST_BINOMIALS = 24  # within one another they take the square of time
WIDEST_EM = 60
_TALLEST_EM = 60
LARGEST_SVG = 60_000  # characters; Qt reads them in some milliseconds
_UNITS = 1_000  # of the library, in an em
_BINOMIAL = re.compile(r"\\(?:[dt]?binom|genfrac|choose|brack|brace)(?![A-Za-z])")
_NESTED = re.compile(r"\\left\b\s*\\?[(\[{]?|\\begin\b|[{(\[]|(\\right\b\s*\\?[)\]}]?|\\end\b|[})\]])")
# Macros, structures of chemistry and diagrams: what may be large after few letters.
_REFUSED = re.compile(
    r"\\(?:[egx]?def\b|let\b|(?:re)?new|provide|Declare|chem|scheme|xymatrix)|\\begin\s*\{\s*(?:tikz|CD\b)"
)
_BOX = re.compile(r'viewBox="(\S+) (\S+) (\S+) (\S+)"')
_SPOKEN = re.compile(r"<title.*?</title>|<metadata>.*?</metadata>|<style>.*?</style>|<text .*?</text>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Drawing:
    """Lengths are in em."""

    svg: str  # in `currentColor`
    width: float
    ascent: float  # above the baseline
    depth: float  # below it


def _depth(latex: str) -> int:
    """How deep groups, brackets and environments are nested at most, as far as they can be distinguished."""
    deepest = depth = 0
    for sign in _NESTED.finditer(latex):
        depth = max(0, depth - 1) if sign[1] else depth + 1
        deepest = max(deepest, depth)
    return deepest


def draw(formula: Formula) -> Drawing | None:
    """Draws a formula. None if it has a mistake, something that the library does not know, or is too large."""
    import mathra

    latex = formula.latex.strip()
    if len(latex) > LONGEST_SOURCE or _depth(latex) > DEEPEST or _REFUSED.search(latex):
        return None
    if len(_BINOMIAL.findall(latex)) > MOST_BINOMIALS:
        return None
    try:
        svg = _SPOKEN.sub("", mathra.tex_to_svg(latex, display=formula.is_displayed, strict=True))
    except ValueError:
        return None
    box = _BOX.search(svg)
    if box is None or len(svg) > LARGEST_SVG or not ("<use " in svg or "<rect " in svg):
        return None
    _, top, width, height = (float(length) / _UNITS for length in box.groups())
    if not (0 < width <= WIDEST_EM and 0 < height <= _TALLEST_EM) or "NaN" in svg or "inf" in svg:
        return None
    return Drawing(svg, width, -top, height + top)


class Drawer(QObject):
    done = Signal()  # nothing is awaited any more

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thread = ThreadPoolExecutor(1, "drawing")  # Python's, for the reason that `SideThread` has
        self._known: dict[Formula, Drawing | None] = {}
        self._asked: dict[Formula, Future[None]] = {}
        self._is_awaited = False
        self._lock = RLock()  # of all three
        self._lifetime = Lifetime()
        self.destroyed.connect(stopper(self._thread, self._lifetime))

    def drawn(self, formulas: Iterable[Formula]) -> dict[Formula, Drawing | None]:
        """Known drawings; None: the formula stays text. Waits a moment for the others; if that was not enough, `done`
        follows."""
        wanted = dict.fromkeys(formulas)
        is_warm = bool(self._known)
        with self._lock:
            missing = [self._ask(formula) for formula in wanted if formula not in self._known]
        if missing and is_warm:
            wait(missing, WAIT_S)
        with self._lock:
            found = {formula: self._known[formula] for formula in wanted if formula in self._known}
            self._is_awaited = self._is_awaited or len(found) < len(wanted)
        return found

    def _ask(self, formula: Formula) -> Future[None]:
        if formula not in self._asked:
            self._asked[formula] = self._thread.submit(self._work, formula)
        return self._asked[formula]

    def _work(self, formula: Formula) -> None:
        drawing = None
        try:
            drawing = draw(formula)
        except BaseException:  # what the library raises where it has a mistake is no Exception
            _logger.exception("A formula stays text.")
        with self._lock:
            self._known[formula] = drawing
            del self._asked[formula]
            if len(self._known) > MOST_KNOWN:
                del self._known[next(iter(self._known))]
            is_done = self._is_awaited and not self._asked
            self._is_awaited = self._is_awaited and not is_done
        if is_done:
            with self._lifetime.lock:  # it is not destroyed meanwhile
                if not self._lifetime.is_over and isValid(self):
                    self.done.emit()
