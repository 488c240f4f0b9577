"""How many formulas of real documentation are drawn, and how long the window is held up by one.

    python -m tests.benchmarks.formulas

500 formulas out of the docstrings of sympy, mpmath and torch, which are installed with the app: those in `:math:` and
`.. math::`, evenly spread. Each is a reply of its own in the widget of the transcript: it is parsed, drawn, laid out
and painted. "Wrong or empty" is a drawing without a path or with a length that is no number, one that leaves the widget
blank, and whatever Qt warns of. The time is what the interface thread computes for one, and what the thread that draws
does, as it holds the interpreter's lock; by the clock, other programs on the machine are in it.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent
from time import perf_counter, thread_time

from PySide6.QtCore import QEventLoop, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from app.text.formula_drawing import Drawer, draw
from app.text.formulas import Formula, of_html
from app.text.markdown import ProseBlock, parse
from app.theme import apply_theme
from app.widgets.words.prose import Prose

NUM_FORMULAS = 500
PACKAGES = ("sympy", "mpmath", "torch")
BAR_MS = 20.0
WIDTH_PX = 720
_INLINE = re.compile(r":math:`([^`]+)`")
_DISPLAYED = re.compile(r"^( *)\.\. math::(.*(?:\n(?:\1 +\S.*|[ \t]*(?=\n)))*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Outcome:
    formula: str  # as Markdown
    kind: str  # "drawn", "left as text", or what is wrong
    clock_ms: float
    computed_ms: float


def of_package(name: str) -> Iterator[str]:
    """Its formulas as Markdown, each once."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    for path in sorted(Path(spec.submodule_search_locations[0]).rglob("*.py")):
        source = path.read_text(encoding="utf-8", errors="replace")
        if ":math:" in source or ".. math::" in source:
            for text in strings(source):
                yield from (f"${' '.join(inline.split())}$" for inline in _INLINE.findall(text))
                for _, displayed in _DISPLAYED.findall(text):
                    lines = [line for line in dedent(displayed).splitlines() if line.strip() and line.strip()[0] != ":"]
                    yield "$$\n{}\n$$".format("\n".join(lines))


def strings(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def sample() -> list[str]:
    found = list(dict.fromkeys(formula for name in PACKAGES for formula in of_package(name)))
    return [found[number * len(found) // NUM_FORMULAS] for number in range(NUM_FORMULAS)]


class Reader:
    def __init__(self, app: QApplication) -> None:
        self._drawer = Drawer()
        self._view = Prose(apply_theme(app, "light"), None, self._drawer)
        self._view.show()
        self._warnings: list[str] = []
        qInstallMessageHandler(self._take)
        self.read("$x$")  # imports the library

    def read(self, markdown: str) -> Outcome:
        self._warnings.clear()
        began, own = perf_counter(), thread_time()
        blocks = [block for block in parse(markdown) if isinstance(block, ProseBlock)]
        self._view.set_html(blocks[0].html)
        self._view.arrange(WIDTH_PX)
        picture = self._view.grab().toImage()
        clock_ms, own_ms = (perf_counter() - began) * 1_000, (thread_time() - own) * 1_000
        formulas = of_html(blocks[0].html)
        if formulas and not self._is_known(formulas[0]):
            waiting = QEventLoop()
            self._view.drawn.connect(waiting.quit)
            waiting.exec()
            picture = self._view.grab().toImage()
        drawing = self._drawer.drawn(formulas[:1]).get(formulas[0]) if formulas else None
        kind = "drawn" if drawing else "left as text"
        is_blank = len({picture.pixel(x, y) for x in range(picture.width()) for y in range(picture.height())}) < 3
        if drawing and (not re.search(r"<(path|rect) ", drawing.svg) or re.search("NaN|inf", drawing.svg) or is_blank):
            kind = "empty"
        if self._warnings:
            kind = self._warnings[0]
        began = thread_time()
        for formula in formulas:
            draw(formula)
        return Outcome(markdown, kind, clock_ms, own_ms + (thread_time() - began) * 1_000)

    def _is_known(self, formula: Formula) -> bool:
        return formula in self._drawer.drawn([formula])

    def _take(self, kind: QtMsgType, context: object, message: str) -> None:  # noqa: ARG002
        if kind is not QtMsgType.QtDebugMsg and "propagateSizeHints" not in message:
            self._warnings.append(message)


def main() -> int:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    app = QApplication([])
    reader = Reader(app)
    outcomes = [reader.read(formula) for formula in sample()]
    kinds = [outcome.kind for outcome in outcomes]
    wrong = [outcome for outcome in outcomes if outcome.kind not in ("drawn", "left as text")]
    computed_ms = max(outcome.computed_ms for outcome in outcomes)
    clock_ms = max(outcome.clock_ms for outcome in outcomes)
    for outcome in wrong:
        print(f"{outcome.kind}: {outcome.formula}")
    if "--text" in sys.argv:
        print(*(outcome.formula for outcome in outcomes if outcome.kind == "left as text"), sep="\n")
    print(f"{len(outcomes)} formulas of {', '.join(PACKAGES)}")
    print(f"  drawn            {kinds.count('drawn')}")
    print(f"  left as text     {kinds.count('left as text')}  (--text prints them)")
    print(f"  wrong or empty   {len(wrong)}  (bar: 0)")
    print(f"  longest time     {computed_ms:.1f} ms of the interface thread  (bar: {BAR_MS:g})")
    print(f"                   {clock_ms:.1f} ms by the clock")
    return int(bool(wrong) or computed_ms > BAR_MS)


if __name__ == "__main__":
    sys.exit(main())
