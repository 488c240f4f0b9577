"""Tiny models in llama.cpp: what they can take back, and that they are the same afterwards."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader

from engine.speculation.model.files.prompt_cache import CacheKey
from engine.speculation.model.files.sources import starter_source
from engine.speculation.model.interface import FloatRow, FloatRows, Interrupted, SavedPart, TargetFeature
from engine.speculation.model.llama import passes
from engine.speculation.model.llama.llama_cpp import MAX_BRANCHES, LlamaCppTarget
from engine.speculation.model.llama.passes import sample_tokens
from engine.speculation.numerics.draft_length import MAX_LENGTH
from engine.values.config import TargetSettings
from engine.values.errors import Cancelled
from engine.values.stop_signal import StopSignal
from engine.values.targets import Runtime
from tests.fakes.tiny_models import tiny_gemma2, tiny_lfm2, tiny_llama, tiny_mamba, tiny_qwen2

GO = StopSignal()
LONGEST = MAX_LENGTH + 1  # rows of a pass


@contextmanager
def opened(
    path: Path, kind: type[LlamaCppTarget] = LlamaCppTarget, max_rows: int = 64, size: int = 256
) -> Iterator[LlamaCppTarget]:
    settings = TargetSettings(context_size=size, threads=1)
    target = kind.load(path, path.stem, settings, lambda _progress: None, GO, max_rows)
    try:
        yield target
    finally:
        target.close()


def after(target: LlamaCppTarget, tokens: list[int]) -> FloatRow:
    """The logits after these tokens, read from the first one on."""
    target.roll_back(0)
    row: FloatRow = target.evaluate(tokens, 1, GO)[0].copy()
    return row


@pytest.mark.parametrize(
    ("make", "most"), [(tiny_llama, 256), (tiny_lfm2, MAX_LENGTH), (tiny_mamba, 0)], ids=["llama", "lfm2", "mamba"]
)
@pytest.mark.parametrize("max_rows", [64, 1])
def test_how_many_tokens_can_be_taken_back_is_found_out(
    make: Callable[[Path], Path], most: int, max_rows: int, tmp_path: Path
) -> None:
    with opened(make(tmp_path / "tiny.gguf"), max_rows=max_rows) as target:
        assert target.limits.max_rollback == most
        assert (TargetFeature.ROLLBACK in target.features) is (most > 0)
        assert target.limits.rolls_back_freely is (most == 256)
        assert target.num_held == 0


@pytest.mark.parametrize("make", [tiny_llama, tiny_lfm2], ids=["llama", "lfm2"])
@pytest.mark.parametrize("num_taken_back", [1, 3, MAX_LENGTH])
def test_after_taking_tokens_back_it_goes_on_as_if_they_had_never_been_read(
    make: Callable[[Path], Path], num_taken_back: int, tmp_path: Path
) -> None:
    with opened(make(tmp_path / "tiny.gguf")) as target:
        tokens = sample_tokens(target, 20 + LONGEST + 4)
        prompt, draft, others = tokens[:20], tokens[20 : 20 + LONGEST], tokens[20 + LONGEST :]
        kept = [*prompt, *draft[: LONGEST - num_taken_back]]
        expected = after(target, [*kept, *others])
        target.roll_back(0)
        target.evaluate(prompt, 1, GO)
        target.evaluate(draft, LONGEST, GO)
        assert target.roll_back(len(kept))
        np.testing.assert_allclose(target.evaluate(others, 1, GO)[0], expected, atol=1e-2 * expected.std())


def starter(_path: Path) -> Path:
    return starter_source().path


TREE = (-1, 0, 1, 0, 3, -1)  # parents: a trunk of three tokens, a branch beside its second, and one beside its first


@pytest.mark.parametrize(
    ("make", "num_before"),
    [(tiny_llama, 0), (tiny_llama, 20), (tiny_qwen2, 20), (tiny_gemma2, 20), (starter, 20)],
    ids=["llama at the beginning", "llama", "qwen2", "gemma2, with a sliding window", "starter"],
)
def test_on_every_branch_of_a_tree_it_says_what_it_says_after_the_same_tokens_in_a_row(
    make: Callable[[Path], Path], num_before: int, tmp_path: Path
) -> None:
    with opened(make(tmp_path / "tiny.gguf")) as target:
        assert target.limits.max_branches == MAX_BRANCHES
        tokens = sample_tokens(target, 30)
        before, token, draft, others = tokens[:num_before], tokens[20], [*tokens[21:26], tokens[21]], tokens[27:]

        def begin() -> None:
            target.roll_back(0)
            if before:
                target.evaluate(before, 1, GO)

        for branch in ((), (0, 1, 2), (0, 3, 4), (5,)):
            begin()
            target.evaluate([token, *draft[:3]], 1, GO)
            target.roll_back(num_before)
            rows = target.evaluate_tree(token, draft, TREE, GO).copy()
            assert target.num_held == num_before + 1
            target.keep_branch(branch)
            assert target.num_held == num_before + 1 + len(branch)
            once_more = target.evaluate_tree(others[0], others[1:], (-1, -1), GO)[0].copy()
            target.keep_branch(())
            line = [token, *(draft[place] for place in branch)]
            begin()
            expected = target.evaluate([*line, *others[:1]], len(line) + 1, GO)
            for place, row in enumerate((-1, *branch)):
                assert np.abs(rows[row + 1] - expected[place]).max() <= 1e-5 * expected[place].std()
            # Kept branches lie in other places of the context, and are summed up in another order.
            assert (once_more - expected[-1]).std() <= 0.06 * expected[-1].std()


def test_what_a_sliding_window_has_passed_is_there_again_after_a_rollback(tmp_path: Path) -> None:
    """Chains, trees, rollbacks and restored parts, in any order: llama.cpp would put new tokens in the places of those
    that the window has left behind, and know nothing of it."""
    with opened(tiny_gemma2(tmp_path / "tiny.gguf"), size=512) as target:
        for seed in range(6):
            chance = random.Random(seed)

            def some(fewest: int, most: int, chance: random.Random = chance) -> list[int]:
                return [chance.randrange(3, 130) for _ in range(chance.randint(fewest, most))]

            target.roll_back(0)
            held = some(20, 120)
            target.evaluate(held, 1, GO)
            for _ in range(120):
                draft, (pending,) = some(3, 12), some(1, 1)
                end = len(held) + 1
                match chance.choice(("chain", "tree", "back", "part", "whole")):
                    case "chain":
                        target.evaluate([pending, *draft], 1, GO)
                        num_accepted = chance.randint(0, len(draft))
                        held += [pending, *draft[:num_accepted]]
                        assert target.roll_back(end + num_accepted)
                    case "tree":
                        beside = len(draft) // 2  # the first half is the trunk, the rest a branch beside its second
                        parents = [*range(-1, beside - 1), 0, *range(beside, len(draft) - 1)]
                        target.evaluate_tree(pending, draft, parents, GO)
                        branch = chance.choice(([], range(beside), [0, *range(beside, len(draft))]))
                        target.keep_branch(branch)
                        held += [pending, *(draft[place] for place in branch)]
                    case "back":
                        del held[chance.randint(1, len(held)) :]
                        assert target.roll_back(len(held))
                    case "part":
                        start = chance.randrange(len(held))
                        part = target.save_part(start, len(held))
                        assert part is not None
                        target.roll_back(chance.randint(start, len(held) - 1))
                        del held[max(target.num_held + 1, len(held) - chance.randint(0, 20)) :]
                        assert target.restore_part(part, len(held))
                    case "whole":
                        saved = target.save()
                        target.roll_back(0)
                        assert target.restore(saved)
                if len(held) > 450:
                    del held[chance.randint(1, 300) :]
                    assert target.roll_back(len(held))
            row = target.evaluate(held[:1], 1, GO)[0].copy()
            expected = after(target, [*held, held[0]])
            assert np.abs(row - expected).max() <= 1e-2 * expected.std()


def test_a_tree_that_is_stopped_or_never_settled_leaves_what_was_held(tmp_path: Path) -> None:
    with opened(tiny_llama(tmp_path / "tiny.gguf")) as target:
        tokens = sample_tokens(target, 30)
        expected = after(target, [*tokens[:10], tokens[20]])
        target.roll_back(0)
        target.evaluate(tokens[:9], 1, GO)
        stop = StopSignal()
        stop.set()
        with pytest.raises(Interrupted):
            target.evaluate_tree(tokens[9], tokens[10:16], TREE, stop)
        assert target.num_held == 9
        target.evaluate_tree(tokens[9], tokens[10:16], TREE, GO)  # nothing of it is kept
        saved = target.save()
        assert saved is not None
        np.testing.assert_allclose(target.evaluate(tokens[20:21], 1, GO)[0], expected, atol=1e-3)
        assert target.restore(saved)
        np.testing.assert_allclose(target.evaluate(tokens[20:21], 1, GO)[0], expected, atol=1e-3)


@pytest.mark.parametrize("make", [tiny_lfm2, tiny_mamba], ids=["lfm2", "mamba"])
def test_drafts_for_models_that_keep_states_do_not_branch(make: Callable[[Path], Path], tmp_path: Path) -> None:
    with opened(make(tmp_path / "tiny.gguf")) as target:
        assert TargetFeature.BRANCHES not in target.features
        assert target.limits.max_branches == 1


class Leaking(LlamaCppTarget):
    """Branches that look at each other."""

    def evaluate_tree(self, token: int, draft: Sequence[int], parents: Sequence[int], stop: StopSignal) -> FloatRows:
        assert len(draft) == len(parents)
        rows = self.evaluate([token, *draft], 1 + len(draft), stop)
        self.num_held -= len(draft)
        return rows


def test_a_target_whose_branches_are_wrong_has_none(tmp_path: Path) -> None:
    with opened(tiny_llama(tmp_path / "tiny.gguf"), Leaking) as target:
        others = {TargetFeature.ROLLBACK, TargetFeature.STATES, TargetFeature.KEEPS, TargetFeature.LEADS}
        assert target.features == others
        assert target.limits.max_branches == 1


@pytest.mark.parametrize(
    ("make", "output"), [(tiny_llama, "token_embd"), (tiny_qwen2, "output")], ids=["llama", "qwen2"]
)
def test_a_pass_tells_the_states_that_its_logits_are_made_of(
    make: Callable[[Path], Path], output: str, tmp_path: Path
) -> None:
    path = make(tmp_path / "tiny.gguf")
    matrix = next(each.data for each in GGUFReader(path).tensors if each.name == f"{output}.weight")
    with opened(path) as target:
        tokens = sample_tokens(target, 12)
        alone = target.evaluate(tokens[:8], 8, GO).copy()
        assert target.states is None
        target.roll_back(0)
        target.tell_states(True)
        rows = target.evaluate(tokens[:8], 8, GO)
        np.testing.assert_array_equal(rows, alone)
        assert target.states is not None
        np.testing.assert_allclose(target.states @ matrix.T, rows, atol=1e-3 * rows.std())
        rows = target.evaluate_tree(tokens[8], tokens[9:11], [-1, -1], GO)
        assert target.states is not None
        np.testing.assert_allclose(target.states @ matrix.T, rows, atol=1e-3 * rows.std())
        target.keep_branch([1])
        assert target.evaluate(tokens[:4], 1, GO).shape == (1, len(matrix)), "as of a prompt"
        assert target.states is None
        target.tell_states(False)
        target.evaluate(tokens[:1], 1, GO)
        assert target.states is None


def test_a_model_that_keeps_states_never_goes_on_from_one_that_it_has_not_kept(tmp_path: Path) -> None:
    """llama.cpp would: it only looks at how many there could be."""
    with opened(tiny_lfm2(tmp_path / "tiny.gguf")) as target:
        tokens = sample_tokens(target, 20 + LONGEST)

        def read(*lengths: int) -> None:
            target.roll_back(0)
            for length in lengths:
                target.evaluate(tokens[target.num_held : target.num_held + length], 1, GO)

        read(20, 1)
        assert not target.roll_back(19)  # before the last pass
        assert target.num_held == 0
        read(20, 4)
        assert not target.roll_back(20)  # its first token
        read(20, 4)
        assert target.roll_back(22)
        assert not target.roll_back(21)  # a second time
        read(20 + LONGEST)
        assert not target.roll_back(20 + LONGEST - MAX_LENGTH - 1)  # more than it keeps
        read(20, 4)
        saved = target.save()
        assert saved is not None
        assert target.restore(saved)
        assert not target.roll_back(22)  # the copy holds the last state alone


def test_loading_can_be_cancelled_while_the_model_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = StopSignal()

    def cancel(target: LlamaCppTarget, count: int) -> list[int]:
        stop.set()
        return sample_tokens(target, count)

    monkeypatch.setattr(passes, "sample_tokens", cancel)
    with pytest.raises(Cancelled, match=r"Loading tiny\.gguf was cancelled"):
        LlamaCppTarget.load(
            tiny_llama(tmp_path / "tiny.gguf"), "tiny", TargetSettings(context_size=64), lambda _progress: None, stop
        )


def test_a_pass_that_was_stopped_leaves_nothing_that_is_half_read(tmp_path: Path) -> None:
    with opened(tiny_lfm2(tmp_path / "tiny.gguf")) as target:
        stop = StopSignal()
        tokens = sample_tokens(target, 40)
        target.evaluate(tokens[:20], 1, stop)
        stop.set()
        with pytest.raises(Interrupted):
            target.evaluate(tokens[20:], 1, stop)
        assert target.num_held in (0, 20)


class TakesBackOne(LlamaCppTarget):
    def roll_back(self, num_kept: int) -> bool:
        return super().roll_back(0 if self.num_held - num_kept > 1 else num_kept) and self.num_held == num_kept


class OnlySaysSo(LlamaCppTarget):
    """Goes on from a state that still holds what it says it has forgotten."""

    def roll_back(self, num_kept: int) -> bool:
        tokens = sample_tokens(self, self.num_held)
        super().roll_back(0)
        self.evaluate(tokens[len(tokens) - num_kept :], 1, GO)
        return True


@pytest.mark.parametrize("kind", [TakesBackOne, OnlySaysSo])
def test_one_that_cannot_take_back_a_whole_draft_or_is_another_afterwards_is_not_drafted_for(
    kind: type[LlamaCppTarget], tmp_path: Path
) -> None:
    with opened(tiny_llama(tmp_path / "tiny.gguf"), kind) as target:
        assert TargetFeature.ROLLBACK not in target.features
        assert target.limits.max_rollback == 0


@pytest.mark.parametrize("make", [tiny_llama, tiny_gemma2, tiny_lfm2, tiny_mamba], ids=lambda make: make.__name__)
def test_what_was_saved_goes_on_as_if_it_had_been_read(make: Callable[[Path], Path], tmp_path: Path) -> None:
    path = make(tmp_path / "tiny.gguf")
    with opened(path) as target, opened(path) as other:
        assert target.layout == other.layout
        tokens = sample_tokens(target, 100)
        for start in (0, 33, 66):
            target.evaluate(tokens[start : start + 33], 1, GO)
        borders = [0, 33, 66, 99] if target.saves_parts else [0, 99]
        parts = [target.save_part(start, end) for start, end in pairwise(borders)]
        wanted = target.evaluate(tokens[99:], 1, GO)[0]
        for part in parts:
            assert part is not None
            assert other.restore_part(part, part.end)
            assert other.num_held == part.end
        assert np.array_equal(other.evaluate(tokens[99:], 1, GO)[0], wanted)
        assert target.save_part(5, 5) is None


@pytest.mark.parametrize("changes", ["library_digest", "read_runtime"])
def test_what_another_build_of_llama_cpp_saved_is_of_another_layout(
    changes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tiny_llama(tmp_path / "tiny.gguf")) as target:
        now = target.layout
        monkeypatch.setattr(f"engine.speculation.model.llama.llama_cpp.{changes}", lambda: Runtime("another", ()))
        assert CacheKey.of("file:1", target.layout) != CacheKey.of("file:1", now)


def test_a_part_that_was_saved_is_cut_and_drafts_branch_behind_it(tmp_path: Path) -> None:
    path = tiny_llama(tmp_path / "tiny.gguf")
    with opened(path) as target, opened(path, size=512) as other:
        assert target.layout != other.layout
        tokens = sample_tokens(target, 60)
        wanted = after(target, tokens[:51])
        target.evaluate(tokens[51:], 1, GO)
        beginning, rest = target.save_part(0, 20), target.save_part(20, 60)
        assert beginning is not None
        assert rest is not None
        target.roll_back(10)
        target.evaluate_tree(tokens[10], [tokens[0], tokens[11]], [-1, -1], GO)
        assert target.restore_part(beginning, 18)
        assert target.restore_part(beginning, 20)
        assert target.restore_part(rest, 50)
        rows = target.evaluate_tree(tokens[50], [tokens[0], tokens[51]], [-1, -1], GO)
        assert np.allclose(rows[0], wanted, atol=1e-4)
        assert target.num_held == 51
        assert not target.restore_part(SavedPart(rest.data[:-9], 20, 60), 60)
        assert target.num_held == 0
