"""The figures of the code, counted in a house of a few lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house import LIMITS, Figure, House, Limit, is_opening

ENGINE = '''"""Of nothing."""
class Event: ...
class Shown(Event):
    """Says it."""
class Hidden(Shown): ...
class Other: ...
'''


@pytest.fixture
def house(tmp_path: Path) -> House:
    for name, text in {
        "app/window.py": "class Other:\n    def f(self):\n        pass\n",
        "engine/a.py": ENGINE,
    }.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    return House.read(tmp_path)


def test_it_counts_lines_docstrings_and_classes(house: House) -> None:
    figures = {figure.name: figure.value for figure in house.figures()}
    assert figures["lines"] == 9
    assert figures["small files"] == 2
    assert figures["lines of a function, 90th percentile"] == 2
    assert figures["docstrings that open with a preposition or conjunction, per thousand"] == 500
    assert figures["class names that occur more than once"] == 1
    assert house.kinds_of("Event") == {"Hidden"}
    assert figures.keys() >= LIMITS.keys()


def test_only_a_figure_that_got_worse_fails() -> None:
    judged = {value: Figure("lines", value, Limit(10, 20)) for value in (9, 19, 20, 21)}
    assert [figure.is_met for figure in judged.values()] == [True, True, True, False]
    assert str(judged[19]) == "lines: 19 (aim: 10; recorded: 20: better)"
    assert str(judged[21]) == "lines: 21 (aim: 10; recorded: 20: WORSE)"
    assert not Figure("lines", 11, Limit(10)).is_met


@pytest.mark.parametrize(("text", "opens"), [("Of one target.", True), ("With it, all", True), ("Offers it.", False)])
def test_a_docstring_opens_badly(text: str, opens: bool) -> None:
    assert is_opening(text) == opens
