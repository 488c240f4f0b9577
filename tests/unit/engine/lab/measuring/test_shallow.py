from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.lab.measuring.shallow import FOLDER, left_out_greedily, shallow_copy
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.speculation.numerics.draft_length import FixedCosts
from engine.speculation.proposers.shared_vocabulary import SharedVocabularyDrafter
from engine.speculation.proposers.supply import DrafterSupply
from engine.values.config import EngineConfig, TargetSettings
from engine.values.errors import DrafterUnusable
from engine.values.places import clear_words
from engine.values.stop_signal import StopSignal
from tests.fakes.proposers import FREE
from tests.fakes.tiny_models import tiny_llama, tiny_qwen2

HARM = (0.9, 0.4, 0.05, 0.1, 0.02, 0.3)  # done by leaving out each of six layers


def test_what_does_least_harm_together_is_left_out() -> None:
    def agreement(left_out: Sequence[int]) -> float:
        both = 0.5 if {2, 4} <= {*left_out} else 0.0  # what one of them does the other can do
        return max(0.0, 1 - sum(HARM[layer] for layer in left_out) - both)

    found = left_out_greedily(6, agreement, lambda: False)
    assert [each.left_out for each in found] == [(4,), (4, 3), (4, 3, 5)]
    assert [each.agreement for each in found] == pytest.approx([0.98, 0.88, 0.58])


def test_when_time_is_up_the_search_ends_with_a_copy_that_was_tried() -> None:
    tried: list[tuple[int, ...]] = []

    def agreement(left_out: Sequence[int]) -> float:
        tried.append(tuple(left_out))
        return 1 - sum(HARM[layer] for layer in left_out)

    (found,) = left_out_greedily(6, agreement, lambda: len(tried) >= 6)
    assert found.left_out == (4, 2, 3)
    assert found.agreement == pytest.approx(0.83)
    assert tried[6:] == [(4, 2, 3)]


def load(path: Path) -> LlamaCppTarget:
    return LlamaCppTarget.load(path, path.stem, TargetSettings(), lambda _share: None, StopSignal())


def test_the_copy_drafts_in_the_targets_tokens_is_kept_and_can_be_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, data_dir = load(tiny_qwen2(tmp_path / "tiny.gguf")), tmp_path / "data"
    path, folder = target.description.path, data_dir / FOLDER
    data_dir.mkdir()
    try:
        source = shallow_copy(path, folder, FREE)
        assert source.size_bytes < path.stat().st_size
        drafting = DrafterSupply(EngineConfig(data_dir), target).open(source)
        assert isinstance(drafting.proposer, SharedVocabularyDrafter)

        monkeypatch.setattr("engine.lab.measuring.shallow.ask_child", None)  # it is not made again
        assert shallow_copy(path, folder, FixedCosts({1: 1.0, 16: 16.0})) == source
    finally:
        target.close()
    assert clear_words(data_dir) == ()
    assert not [*folder.glob("*")]


def test_a_model_that_cannot_do_without_layers_says_so(tmp_path: Path) -> None:
    path = tiny_llama(tmp_path / "tiny.gguf")  # of one layer
    with pytest.raises(
        DrafterUnusable,
        match=r"^No shallow copy of tiny\.gguf can be made: it has only one layer; choose another drafter.$",
    ):
        shallow_copy(path, tmp_path / "data" / FOLDER, FREE)
