from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.config import EngineConfig, SpeculationSettings, TargetSettings
from engine.drafter.choice import SELF
from engine.drafter.shallow import FOLDER, left_out_greedily
from engine.errors import DrafterUnusable
from engine.numerics.draft_length import FixedCosts
from engine.places import clear_words
from engine.proposers.shared_vocabulary import SharedVocabularyDrafter
from engine.proposers.supply import DrafterSupply
from engine.stop_signal import StopSignal
from engine.target.llama_cpp import LlamaCppTarget
from tests.fakes.proposers import FREE
from tests.fakes.tiny_models import tiny_llama, tiny_qwen2

HARM = (0.9, 0.4, 0.05, 0.1, 0.02, 0.3)  # that each of six layers does when it is left out


def test_what_does_least_harm_together_is_left_out() -> None:
    def agreement(left_out: Sequence[int]) -> float:
        both = 0.5 if {2, 4} <= {*left_out} else 0.0  # what one of them does the other can do
        return max(0.0, 1 - sum(HARM[layer] for layer in left_out) - both)

    found = left_out_greedily(6, agreement, lambda: False)
    assert [each.left_out for each in found] == [(4,), (4, 3), (4, 3, 5)]
    assert [each.agreement for each in found] == pytest.approx([0.98, 0.88, 0.58])


def test_late_the_search_ends_with_a_copy_that_was_tried() -> None:
    tried: list[tuple[int, ...]] = []

    def agreement(left_out: Sequence[int]) -> float:
        tried.append(tuple(left_out))
        return 1 - sum(HARM[layer] for layer in left_out)

    (found,) = left_out_greedily(6, agreement, lambda: len(tried) >= 6)
    assert found.left_out == (4, 2, 3)
    assert found.agreement == pytest.approx(0.83)
    assert tried[6:] == [(4, 2, 3)]


def supply(target: LlamaCppTarget, data_dir: Path) -> DrafterSupply:
    return DrafterSupply(EngineConfig(data_dir, SpeculationSettings(drafter=SELF)), target)


def load(path: Path) -> LlamaCppTarget:
    return LlamaCppTarget.load(path, path.stem, TargetSettings(), lambda _share: None, StopSignal())


def test_a_copy_is_made_where_somebody_asks_for_it_drafts_in_the_targets_tokens_and_can_be_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, data_dir = load(tiny_qwen2(tmp_path / "tiny.gguf")), tmp_path / "data"
    data_dir.mkdir()
    try:
        drafters = supply(target, data_dir)
        source = drafters.choose(FREE).chosen
        assert source is not None
        assert source.size_bytes < target.description.path.stat().st_size
        drafting = drafters.open(source)
        assert isinstance(drafting.proposer, SharedVocabularyDrafter)

        monkeypatch.setattr("engine.drafter.shallow.search", None)  # it is not made again
        assert supply(target, data_dir).choose(FixedCosts({1: 1.0, 16: 16.0})).chosen == source
    finally:
        target.close()
    assert clear_words(data_dir) == ()
    assert not [*(data_dir / FOLDER).glob("*")]


def test_a_model_that_cannot_do_without_layers_says_so(tmp_path: Path) -> None:
    target = load(tiny_llama(tmp_path / "tiny.gguf"))  # of one layer
    try:
        with pytest.raises(
            DrafterUnusable,
            match=r"^No shallow copy of tiny\.gguf can be made: it has only one layer; choose another drafter.$",
        ):
            supply(target, tmp_path / "data").choose(FREE)
    finally:
        target.close()
