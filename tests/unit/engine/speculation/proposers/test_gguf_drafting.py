"""A drafter that llama.cpp runs learns like one that torch runs: from a reply to the store and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.speculation.drafter.choice import file_drafter
from engine.speculation.drafter.gguf import GgufDrafter
from engine.speculation.proposers.drafted import DrafterProposer
from engine.speculation.proposers.drafting import Drafting
from engine.speculation.proposers.gguf_drafting import TeachableGgufDrafting, open_gguf
from engine.values.config import SpeculationSettings
from engine.values.errors import AdapterUnusable
from tests.fakes.tiny_models import tiny_qwen2
from tests.unit.engine.speculation.learning.made import TARGET
from tests.unit.engine.speculation.learning.test_learner import FOXES, TURNS, reply

pytestmark = pytest.mark.usefixtures("sound_models")

_PROMPT = [1, *range(60, 90)]


def open_tiny(path: Path) -> Drafting:
    return open_gguf(SpeculationSettings(), file_drafter(path), path.parent / "data", TARGET, None)


def test_what_it_learns_is_used_stored_and_taken_back(tmp_path: Path) -> None:
    drafting = open_tiny(tiny_qwen2(tmp_path / "tiny.gguf"))
    assert isinstance(drafting, TeachableGgufDrafting)
    assert isinstance(drafting.proposer, DrafterProposer)
    teachable, drafter = drafting.teachable, drafting.proposer._drafter
    assert isinstance(drafter, GgufDrafter)
    plain = drafter.read(_PROMPT).copy()
    learner = teachable.make_learner()
    for number, text in enumerate(FOXES[:4], 1):
        learner.take(number, number, TURNS, reply(text))
        while learner.has_work:
            learner.work(lambda: None)
        learner.rest()  # the copy that it trains with is made anew
    adapter = learner.candidate
    assert any(part.up.any() for part in adapter.parts.values())

    teachable.use(adapter)
    assert drafter.refresh()
    learned = drafter.read(_PROMPT).copy()
    assert np.abs(learned - plain).max() > 1e-3
    teachable.use(teachable.read_adapter(adapter.to_bytes()))
    drafter.refresh()
    np.testing.assert_allclose(drafter.read(_PROMPT), learned, atol=1e-2)
    with pytest.raises(AdapterUnusable, match="damaged"):
        teachable.read_adapter(adapter.to_bytes()[:-200])
    teachable.use(None)
    drafter.refresh()
    np.testing.assert_array_equal(drafter.read(_PROMPT), plain)
    teachable.use(None)
    assert not drafter.refresh(), "it need not read again what it holds"
