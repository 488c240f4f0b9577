"""What hostile code can do in a child whose doors are shut: nothing outside. Its acts are an attack's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engine.speculation.model.apart import sandbox
from tests.attacks import children
from tests.attacks.attack import Outcome

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have limits alone")


@pytest.mark.parametrize("kind", ["shut", "reading", "writing"])
def test_nothing_outside_can_be_changed_signalled_or_looked_into(tmp_path: Path, kind: str) -> None:
    outcome = Outcome()
    assert children.attack(tmp_path, kind, 1, outcome) > 40
    assert not outcome.failures


@pytest.mark.parametrize("column", [0, 1])
def test_the_filter_ends_whatever_is_asked(column: int) -> None:
    """Each step leads forward, to a step that is there; the kernel takes no others, and only one machine is here."""
    for doors in range(8):
        reads, writes, graphics = (bool(doors & bit) for bit in (1, 2, 4))
        steps = [*sandbox._program(column, 0, reads, writes, graphics)]
        assert len(steps) < 4096
        for place, (code, if_so, if_not, _value) in enumerate(steps):
            assert place + max(if_so, if_not) + 1 < len(steps) or code == sandbox._RETURN
        assert steps[-1][0] == sandbox._RETURN
