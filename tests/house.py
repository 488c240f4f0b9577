"""How large the code is: `python -m tests.house` prints the figures and exits with 1 if one is over its limit.

It counts the Python files of `app/` and `engine/`, and a function from its `def` to its last line. `--small` also lists
the files that may be fragments.
"""

from __future__ import annotations

import ast
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_PACKAGES = ("app", "engine")
_SMALL = 60  # lines; a file below that may be a fragment of another one


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    value: float
    limit: float | None = None  # None: for information
    note: str = ""

    @property
    def is_met(self) -> bool:
        return self.limit is None or self.value <= self.limit

    def __str__(self) -> str:
        limit = "" if self.limit is None else f" (at most {self.limit:,.0f}{'' if self.is_met else ': NOT MET'})"
        return f"{self.name}: {self.value:,.0f}{limit}{self.note}"


def figures(root: Path = _ROOT) -> tuple[Figure, ...]:
    """The figures of the packages below `root`."""
    texts = {
        path: path.read_text(encoding="utf-8") for name in _PACKAGES for path in sorted((root / name).rglob("*.py"))
    }
    sizes = {path: text.count("\n") for path, text in texts.items() if text.strip()}
    functions = sorted(size for text in texts.values() for size in function_sizes(text))
    largest = max(sizes, key=sizes.__getitem__)
    long = sum(size > 50 for size in functions) / len(functions)
    return (
        Figure("lines", sum(sizes.values()), 41_800),
        Figure("files that are not empty", len(sizes)),
        Figure(f"of these, under {_SMALL} lines", sum(size < _SMALL for size in sizes.values()), 70),
        Figure("lines of the largest file", sizes[largest], 450, f", {largest.relative_to(root).as_posix()}"),
        Figure("functions", len(functions)),
        Figure("lines of a function, median", statistics.median(functions)),
        Figure("lines of a function, 90th percentile", functions[int(0.9 * len(functions))], 20),
        Figure("functions of more than 50 lines, per thousand", 1000 * long),
    )


def function_sizes(source: str) -> list[int]:
    """Lines of each function and method in the source, inner ones included."""
    nodes = ast.walk(ast.parse(source))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [(node.end_lineno or node.lineno) - node.lineno + 1 for node in functions]


def small_files(root: Path = _ROOT) -> list[tuple[int, str]]:
    """The files that may be fragments, smallest first."""
    sizes = [
        (path.read_text(encoding="utf-8").count("\n"), path)
        for name in _PACKAGES
        for path in (root / name).rglob("*.py")
    ]
    return sorted((size, path.relative_to(root).as_posix()) for size, path in sizes if 0 < size < _SMALL)


def main() -> int:
    measured = figures()
    print(*measured, sep="\n")
    if "--small" in sys.argv[1:]:
        print(*(f"{size:5} {path}" for size, path in small_files()), sep="\n")
    return 0 if all(figure.is_met for figure in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
