"""How large and how plain the code is: `python -m tests.house` prints the figures of `app/` and `engine/`.

A figure has an aim and, while it misses the aim, the value that was last recorded; the exit code is 1 if a figure got
worse. When it gets better, record it in `LIMITS`. `--names` lists the small files, the docstrings that open badly and
the class names that occur more than once.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_PACKAGES = ("app", "engine")
_SMALL = 60  # lines; a file below that may be a fragment of another one
# A docstring says first what a thing is or does.
_OPENINGS = frozenset(
    (
        *("about", "above", "after", "although", "and", "as", "at", "because", "before", "behind", "below", "beside"),
        *("between", "but", "by", "during", "for", "from", "if", "in", "into", "like", "likewise", "of", "on", "or"),
        *("over", "per", "since", "so", "than", "though", "through", "to", "under", "unless", "until", "upon", "when"),
        *("whenever", "whether", "while", "with", "within", "without"),
    )
)


@dataclass(frozen=True, slots=True)
class Limit:
    aim: float
    recorded: float | None = None  # None: the aim is reached and stays so


LIMITS = {
    "lines": Limit(86_000, 103_311),
    "small files": Limit(70),
    "lines of the largest file": Limit(450),
    "lines of a function, 90th percentile": Limit(20),
    "docstrings that open with a preposition or conjunction, per thousand": Limit(20),
    "class names that occur more than once": Limit(10),
    "event classes": Limit(35),
}


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    value: float
    limit: Limit | None = None  # None: for information
    note: str = ""

    @property
    def is_met(self) -> bool:
        if self.limit is None:
            return True
        return round(self.value) <= max(self.limit.aim, self.limit.recorded or 0)

    def __str__(self) -> str:
        return f"{self.name}: {self.value:,.0f}{self._judged()}{self.note}"

    def _judged(self) -> str:
        if self.limit is None:
            return ""
        aim, recorded = f" (aim: {self.limit.aim:,.0f}", self.limit.recorded
        if recorded is None or round(self.value) == recorded:
            return f"{aim}{'' if self.is_met else ': WORSE'})"
        return f"{aim}; recorded: {recorded:,.0f}: {'better' if self.is_met else 'WORSE'})"


@dataclass(frozen=True, slots=True)
class House:
    """The Python files of some packages, parsed."""

    root: Path
    sizes: dict[Path, int]  # lines of each file that is not empty
    trees: dict[Path, ast.Module]

    @classmethod
    def read(cls, root: Path = _ROOT) -> House:
        paths = [path for name in _PACKAGES for path in sorted((root / name).rglob("*.py"))]
        texts = {path: path.read_text(encoding="utf-8") for path in paths}
        sizes = {path: text.count("\n") for path, text in texts.items() if text.strip()}
        return cls(root, sizes, {path: ast.parse(text) for path, text in texts.items()})

    def figures(self) -> tuple[Figure, ...]:
        functions = sorted(size for tree in self.trees.values() for size in _function_sizes(tree))
        largest = max(self.sizes, key=self.sizes.__getitem__)
        docstrings = list(self.docstrings())
        foreign = sum(is_opening(text) for _, text in docstrings)
        return (
            _limited("lines", sum(self.sizes.values())),
            Figure("files that are not empty", len(self.sizes)),
            _limited("small files", len(self.small_files()), f", of less than {_SMALL} lines"),
            _limited("lines of the largest file", self.sizes[largest], f", {self._name(largest)}"),
            Figure("functions", len(functions)),
            Figure("lines of a function, median", statistics.median(functions)),
            _limited("lines of a function, 90th percentile", functions[int(0.9 * len(functions))]),
            Figure(
                "functions of more than 50 lines, per thousand",
                1000 * sum(size > 50 for size in functions) / len(functions),
            ),
            _limited(
                "docstrings that open with a preposition or conjunction, per thousand",
                1000 * foreign / max(len(docstrings), 1),
                f", {foreign:,} of {len(docstrings):,}",
            ),
            _limited("class names that occur more than once", len(self.repeated_names())),
            _limited("event classes", len(self.kinds_of("Event"))),
        )

    def small_files(self) -> list[tuple[int, str]]:
        """The files that may be fragments, smallest first."""
        return sorted((size, self._name(path)) for path, size in self.sizes.items() if size < _SMALL)

    def docstrings(self) -> Iterator[tuple[str, str]]:
        """Each docstring after its place."""
        for path, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    text = ast.get_docstring(node)
                    if text:
                        yield f"{self._name(path)}:{getattr(node, 'lineno', 1)}", text

    def repeated_names(self) -> dict[str, int]:
        """How often each class name occurs that several classes have."""
        counts = Counter(node.name for node in self._classes())
        return {name: count for name, count in sorted(counts.items()) if count > 1}

    def kinds_of(self, base: str) -> frozenset[str]:
        """The classes that extend the class of this name, directly or through others, and that none extends."""
        bases = {node.name: {_last_name(each) for each in node.bases} for node in self._classes()}
        kinds = {base}
        while more := {name for name, its in bases.items() if its & kinds} - kinds:
            kinds |= more
        return frozenset(kinds - {base} - frozenset[str]().union(*bases.values()))

    def _classes(self) -> Iterator[ast.ClassDef]:
        return (node for tree in self.trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


def is_opening(docstring: str) -> bool:
    """Whether the docstring begins with a preposition or conjunction."""
    return docstring.split()[0].strip(".,:;").lower() in _OPENINGS


def _limited(name: str, value: float, note: str = "") -> Figure:
    return Figure(name, value, LIMITS[name], note)


def _function_sizes(tree: ast.Module) -> Iterator[int]:
    """Lines of each function and method, from its `def` to its last line, inner ones included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def main() -> int:
    house = House.read()
    measured = house.figures()
    print(*measured, sep="\n")
    if "--names" in sys.argv[1:]:
        print(*(f"{size:5} {path}" for size, path in house.small_files()), sep="\n")
        print(*(f"{place}: {text.splitlines()[0]}" for place, text in house.docstrings() if is_opening(text)), sep="\n")
        print(*(f"{count:5} {name}" for name, count in house.repeated_names().items()), sep="\n")
    return 0 if all(figure.is_met for figure in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
