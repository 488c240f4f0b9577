"""Heads that models bring: the text stays the target's, and they know what it holds and nothing else."""

from __future__ import annotations

import gc
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.loading import load_target, speculate
from engine.speculation.decoding.loop import Decoder
from engine.speculation.decoding.session import Session
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.model.files.sources import file_source
from engine.speculation.model.interface import FloatRow, Interrupted
from engine.speculation.model.llama import heads as door
from engine.speculation.model.llama import heads_trial
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.speculation.numerics.acceptance import accept
from engine.speculation.numerics.draft import Draft
from engine.speculation.numerics.sampling import Distribution, RandomDice, make_distribution
from engine.speculation.proposers.brought import BroughtProposer
from engine.speculation.proposers.costly import Always
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.interface import Context
from engine.speculation.proposers.supply import DrafterSupply, open_brought
from engine.values.config import AUTOMATIC, EngineConfig, SamplingSettings, SpeculationSettings, TargetSettings
from engine.values.drafters import DrafterRunner, DrafterSource
from engine.values.errors import DrafterUnusable
from engine.values.owner import USER, Owner
from engine.values.stop_signal import StopSignal
from engine.values.targets import HeadMethod
from tests.fakes.guessing_heads import VOCABULARY, all_heads, eagle3
from tests.fakes.proposers import FREE, Generous
from tests.unit.engine.speculation.proposers.bench import GREEDY, TURNS

pytestmark = pytest.mark.skipif(not door.library_path().is_file(), reason="set up before there were such heads")

GO = StopSignal()
ASSISTANT = "draft-mtp of an assistant"
METHODS = {
    "draft-mtp": HeadMethod.MTP,
    "draft-mtp of a hybrid": HeadMethod.MTP,
    "draft-mtp of two layers": HeadMethod.MTP,
    ASSISTANT: HeadMethod.MTP,
    "draft-eagle3": HeadMethod.EAGLE3,
    "draft-eagle3 of few tokens": HeadMethod.EAGLE3,
    "draft-dflash": HeadMethod.DFLASH,
    "draft-dflash2": HeadMethod.DFLASH,
    "draft-dspark": HeadMethod.DSPARK,
    "draft-dspark beside its anchor": HeadMethod.DSPARK,
}
OFTEN_RIGHT = ("draft-mtp", "draft-mtp of a hybrid", "draft-mtp of two layers", "draft-eagle3", "draft-dspark")
PROMPT = [1, *np.random.default_rng(5).integers(3, VOCABULARY, 19).tolist()]
OTHER = [1, *np.random.default_rng(6).integers(3, VOCABULARY, 24).tolist()]
Load = Callable[..., LlamaCppTarget]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path | None]]:
    return all_heads(tmp_path_factory.mktemp("heads"))


@pytest.fixture(params=METHODS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def load(files: dict[str, tuple[Path, Path | None]]) -> Iterator[Load]:
    opened: list[LlamaCppTarget] = []

    def load(name: str) -> LlamaCppTarget:
        settings = TargetSettings(context_size=256, threads=1, gpu_layers=0)
        path = files[name][0]
        opened.append(LlamaCppTarget.load(path, "tiny", settings, lambda _: None, GO, with_heads=True))
        return opened[-1]

    yield load
    for target in opened:
        target.close()


def source_of(name: str, files: dict[str, tuple[Path, Path | None]]) -> DrafterSource:
    path, head = files[name]
    return DrafterSource(name, name, DrafterRunner.BROUGHT, head or path, trusted=True, method=METHODS[name])


def proposer_for(name: str, target: LlamaCppTarget, files: dict[str, tuple[Path, Path | None]]) -> BroughtProposer:
    drafting = open_brought(source_of(name, files), METHODS[name], target, Path())
    assert isinstance(drafting.proposer, BroughtProposer)
    return drafting.proposer


def always(proposer: BroughtProposer, length: int = 4, branches: bool = True) -> Speculation:
    policy = DraftPolicy(FREE, [proposer], step_s=0.0, always=Always(length, length), draws_trees=branches)
    return Speculation(policy)


def written(
    target: LlamaCppTarget,
    speculation: Speculation | None,
    session: Session | None = None,
    prompt: list[int] = PROMPT,
    most: int = 60,
    owner: Owner = USER,
) -> tuple[list[int], Counter[str]]:
    """The reply, and how many tokens were drafted and accepted."""
    session = session or Session(target)
    decoder = Decoder(target, session, GREEDY, TURNS, speculation, owner=owner)
    reply: list[int] = []
    counts: Counter[str] = Counter()
    for tokens in decoder.rounds(session.read(prompt, GO), GO):
        reply += tokens
        counts += Counter(drafted=len(decoder.verdict.draft.tokens), accepted=decoder.verdict.num_accepted, rounds=1)
        if len(reply) >= most:
            break
    return reply[:most], counts


def check_text(target: LlamaCppTarget, prompt: list[int], reply: list[int]) -> None:
    """Checks that each token is the target's likeliest; where two are nearly tied, the rows of a pass decide which."""
    target.roll_back(0)
    target.evaluate(prompt[:-1], 1, GO)
    tokens = [prompt[-1], *reply]
    for start in range(0, len(reply), 60):
        rows = target.evaluate(tokens[start : min(start + 60, len(reply))], min(60, len(reply) - start), GO)
        for row, token in zip(rows, reply[start:], strict=False):
            assert row[token] > row.max() - 0.05


def first_guess(proposer: BroughtProposer, pending: int) -> FloatRow:
    heads = proposer._brought.heads
    return heads.start(pending, 1).copy()


def expected_guess(name: str, load: Load, files: dict[str, tuple[Path, Path | None]], tokens: list[int]) -> FloatRow:
    """What heads guess after the last of these that have read the others in one go."""
    target = load(name)
    proposer = proposer_for(name, target, files)
    target.lead(proposer._brought.heads)
    target.evaluate(tokens[:-1], 1, GO)
    return first_guess(proposer, tokens[-1])


@pytest.mark.parametrize("branches", [False, True])
def test_the_text_is_the_targets(
    name: str, branches: bool, load: Load, files: dict[str, tuple[Path, Path | None]]
) -> None:
    target = load(name)
    reply, counts = written(target, always(proposer_for(name, target, files), branches=branches))
    check_text(load(name), PROMPT, reply)
    assert counts["drafted"] > counts["rounds"]
    if name in OFTEN_RIGHT:
        assert counts["accepted"] > 10


def test_the_rows_of_a_long_prompt_are_read_bit_by_bit(
    name: str, load: Load, files: dict[str, tuple[Path, Path | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = [*PROMPT, *OTHER, *PROMPT, *OTHER]
    wanted = expected_guess(name, load, files, [*text, 7])
    monkeypatch.setattr(door, "_BATCH", 24)  # more are never unread, as there are no more in a pass
    target = load(name)
    proposer = proposer_for(name, target, files)
    target.lead(proposer._brought.heads)
    for start in range(0, len(text), 11):
        target.evaluate(text[start : start + 11], 1, GO)
    found = first_guess(proposer, 7)
    assert np.nan_to_num(found, neginf=0) == pytest.approx(np.nan_to_num(wanted, neginf=0), abs=0.02)


@pytest.mark.parametrize("name", [each for each in METHODS if each != ASSISTANT])  # which reads no rows
@pytest.mark.parametrize("prompt", [PROMPT, [*PROMPT, *OTHER] * 5])
def test_heads_that_fail_are_given_up_and_the_reply_goes_on(
    name: str,
    prompt: list[int],
    load: Load,
    files: dict[str, tuple[Path, Path | None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(door, "_BATCH", 12)  # less than what a pass leaves, which is refused
    target = load(name)
    proposer = proposer_for(name, target, files)
    target.lead(proposer._brought.heads)
    target.evaluate(prompt[:20], 1, GO)
    speculation = always(proposer)
    reply, _ = written(target, speculation, prompt=prompt, most=20)
    check_text(load(name), prompt, reply)
    assert not speculation.is_drafting


def test_they_know_what_was_written_and_nothing_that_was_rejected(
    name: str, load: Load, files: dict[str, tuple[Path, Path | None]]
) -> None:
    target = load(name)
    proposer, session = proposer_for(name, target, files), Session(target)
    written(target, None, session, PROMPT[:3], most=1)
    target.lead(proposer._brought.heads)
    session.keep(0)
    _, counts = written(target, always(proposer), session)
    assert counts["drafted"] > counts["accepted"]
    held = session.tokens[:]
    assert len(held) == proposer._brought.num_held
    found, wanted = first_guess(proposer, 7), expected_guess(name, load, files, [*held, 7])
    known = np.isfinite(wanted)
    assert found[known] == pytest.approx(wanted[known], abs=0.02)
    assert np.isfinite(found).tolist() == known.tolist()


def test_a_draft_ends_where_the_context_does(name: str, load: Load, files: dict[str, tuple[Path, Path | None]]) -> None:
    target = load(name)
    reply, counts = written(target, always(proposer_for(name, target, files)), most=999)
    assert len(PROMPT) + len(reply) == target.limits.context_size + 1
    check_text(load(name), PROMPT, reply)
    assert counts["drafted"]


def test_a_pass_that_was_stopped_leaves_no_trace(
    name: str, load: Load, files: dict[str, tuple[Path, Path | None]]
) -> None:
    target = load(name)
    proposer, session, stop = proposer_for(name, target, files), Session(target), StopSignal()
    target.lead(proposer._brought.heads)
    session.read(PROMPT, GO)
    proposer.propose(Context(TURNS, session.tokens, 9, len(PROMPT), GREEDY, RandomDice(0)), 4, Generous())
    stop.set()
    with pytest.raises(Interrupted):
        session.check(9, Draft((10, 11, 12)), stop)
    found, wanted = first_guess(proposer, 7), expected_guess(name, load, files, [*PROMPT, 7])
    known = np.isfinite(wanted)
    assert found[known] == pytest.approx(wanted[known], abs=0.02)


def test_chats_in_turn_and_other_owners_get_the_targets_text(
    name: str, load: Load, files: dict[str, tuple[Path, Path | None]]
) -> None:
    target = load(name)
    proposer, session = proposer_for(name, target, files), Session(target)
    speculation, incognito, judge = always(proposer), Owner("nobody", False), load(name)
    for prompt, owner in ((PROMPT, USER), (OTHER, USER), (PROMPT, incognito), (OTHER, USER), (PROMPT, USER)):
        session.take_over(owner)
        reply, counts = written(target, speculation, session, prompt, owner=owner)
        check_text(judge, prompt, reply)
        assert counts["drafted"]


def test_nothing_of_another_owner_is_left(name: str, load: Load, files: dict[str, tuple[Path, Path | None]]) -> None:
    target = load(name)
    proposer, session = proposer_for(name, target, files), Session(target)
    written(target, always(proposer), session)
    session.take_over(Owner("nobody", False))
    proposer.change_owner()
    session.read(OTHER, GO)
    found, wanted = first_guess(proposer, 7), expected_guess(name, load, files, [*OTHER, 7])
    assert np.nan_to_num(found, neginf=0) == pytest.approx(np.nan_to_num(wanted, neginf=0), abs=0.02)


def test_after_something_was_restored_they_go_on_from_what_follows(
    name: str, load: Load, files: dict[str, tuple[Path, Path | None]]
) -> None:
    target = load(name)
    proposer, session = proposer_for(name, target, files), Session(target)
    session.read(PROMPT, GO)
    saved = session.save(0, len(PROMPT))
    assert saved is not None
    written(target, always(proposer), session, OTHER)
    assert session.restore(saved, PROMPT)
    assert proposer._brought.num_held == 0
    reply, counts = written(target, always(proposer), session, [*PROMPT, *OTHER], most=4)
    check_text(load(name), [*PROMPT, *OTHER], reply)
    assert counts["drafted"]
    held = session.tokens[:]
    row = target.evaluate([7], 1, GO)[0].copy()
    assert row == pytest.approx(load(name).evaluate([*held, 7], 1, GO)[0], abs=0.05), "they left its memory alone"


@pytest.mark.parametrize("temperature", [0.8, 1.5])
def test_sampled_drafts_follow_the_targets_distribution(
    name: str, temperature: float, load: Load, files: dict[str, tuple[Path, Path | None]]
) -> None:
    target = load(name)
    proposer = proposer_for(name, target, files)
    target.lead(proposer._brought.heads)
    sampling = SamplingSettings(temperature=temperature, top_k=6, top_p=1, min_p=0)
    target.evaluate(PROMPT[:-1], 1, GO)
    compared = Rounds(load(name), proposer, sampling)
    assert compared.chi_square(1500, seed=3) < compared.bound


class Rounds:
    """Many rounds after the same beginning, which the proposer's heads know; `target` tells what is to come out, and
    computes each distribution once."""

    def __init__(self, target: LlamaCppTarget, proposer: BroughtProposer, sampling: SamplingSettings) -> None:
        self._target, self._proposer, self._sampling = target, proposer, sampling
        self._known: dict[tuple[int, ...], Distribution] = {}
        self.bound, self.freedom = 0.0, 0  # chi-square exceeds that bound once in ten thousand runs
        self.num_accepted = 0  # of the tokens that were drawn

    def _after(self, line: tuple[int, ...]) -> Distribution:
        if line not in self._known:
            self._target.roll_back(0)
            row = self._target.evaluate([*PROMPT, *line], 1, GO)[-1]
            self._known[line] = make_distribution(row, self._sampling, ())
        return self._known[line]

    def chi_square(self, num_rounds: int, seed: int) -> float:
        """Of the first two tokens that are written."""
        dice, counts = RandomDice(seed), Counter[tuple[int, ...]]()
        context = Context(TURNS, PROMPT[:-1], PROMPT[-1], 1, self._sampling, dice)
        num_drawn = 0
        for _ in range(num_rounds):
            draft = self._proposer.propose(context, 2, Generous())
            num_drawn += draft.path is not None
            rows = [self._after(draft.tokens[:place]) for place in range(len(draft.tokens) + 1)]
            verdict = accept(draft, rows.__getitem__, (), dice)
            self.num_accepted += verdict.num_accepted
            pair = verdict.tokens[:2]
            counts[pair if len(pair) == 2 else (*pair, self._after(pair).draw(dice))] += 1
        assert num_drawn > num_rounds / 2
        statistic, freedom = 0.0, -1
        rare, rare_expected = 0, 0.0
        first = self._after(())
        for token, p in zip(first.ids.tolist(), first.probabilities.tolist(), strict=True):
            second = self._after((token,))
            for other, q in zip(second.ids.tolist(), second.probabilities.tolist(), strict=True):
                count, expected = counts.pop((token, other), 0), p * q * num_rounds
                if expected < 5:
                    rare, rare_expected = rare + count, rare_expected + expected
                    continue
                statistic, freedom = statistic + (count - expected) ** 2 / expected, freedom + 1
        assert not counts, "what the target never writes"
        if rare_expected >= 5:
            statistic, freedom = statistic + (rare - rare_expected) ** 2 / rare_expected, freedom + 1
        self.freedom = freedom
        self.bound = freedom * (1 - 2 / (9 * freedom) + 3.72 * (2 / (9 * freedom)) ** 0.5) ** 3  # Wilson and Hilferty
        return statistic


def test_what_is_not_needed_any_more_is_closed_before_the_next_pass(
    name: str, load: Load, files: dict[str, tuple[Path, Path | None]]
) -> None:
    target = load(name)
    speculation = always(proposer_for(name, target, files))
    written(target, speculation)
    heads = target._heads
    assert heads is not None
    del speculation
    gc.collect()
    reply, _ = written(target, None)
    check_text(load(name), PROMPT, reply)
    assert target._heads is None
    assert not heads._handle


def test_they_are_closed_at_once_where_they_never_followed(
    name: str, load: Load, files: dict[str, tuple[Path, Path | None]]
) -> None:
    proposer = proposer_for(name, load(name), files)
    heads = proposer._brought.heads
    assert isinstance(heads, door.BroughtHeads)
    assert proposer.measure_cost() > 0
    del proposer
    gc.collect()
    assert not heads._handle


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (((1, 2, 3), 63), "another size"),
        (((1, 2, 9), 64), "a layer that the model does not have"),
        (((1, 2), 64), "exactly 3"),
    ],
)
def test_heads_of_another_model_are_refused(
    values: tuple[Sequence[int], int],
    reason: str,
    load: Load,
    tmp_path: Path,
    files: dict[str, tuple[Path, Path | None]],
) -> None:
    target = load("draft-eagle3")
    head = eagle3(tmp_path / "other.gguf", *values)
    source = replace(source_of("draft-eagle3", files), path=head)
    with pytest.raises(DrafterUnusable, match=reason):
        open_brought(source, HeadMethod.EAGLE3, target, Path())
    plain, _ = written(target, None)
    assert plain


def test_unknown_heads_are_tried_once_in_a_process_of_their_own(
    name: str, load: Load, tmp_path: Path, files: dict[str, tuple[Path, Path | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target, tried = replace(source_of(name, files), trusted=False), load(name), tmp_path / "tried"
    open_brought(source, METHODS[name], target, tried)
    assert len([*tried.iterdir()]) == 1
    monkeypatch.setattr(heads_trial, "ask_child", lambda *_: pytest.fail("it was tried again"))
    open_brought(source, METHODS[name], target, tried)


def test_heads_that_end_the_process_end_another_one(
    load: Load, tmp_path: Path, files: dict[str, tuple[Path, Path | None]]
) -> None:
    """One whose smaller vocabulary leads to a token that there is not: llama.cpp writes where nothing is."""
    head = eagle3(tmp_path / "evil.gguf", guessed=[5, 6, 1 << 40])
    source, target = replace(source_of("draft-eagle3", files), path=head, trusted=False), load("draft-eagle3")
    with pytest.raises(DrafterUnusable, match="ended the process"):
        open_brought(source, HeadMethod.EAGLE3, target, tmp_path / "tried")
    check_text(load("draft-eagle3"), PROMPT, written(target, None)[0])


def test_without_the_library_or_with_another_one_the_reason_is_told(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, tuple[Path, Path | None]]
) -> None:
    target = load("draft-mtp")
    monkeypatch.setattr(door, "_VERSION", 99)
    door._library.cache_clear()
    with pytest.raises(DrafterUnusable, match="version 1 instead of 99"):
        proposer_for("draft-mtp", target, files)
    monkeypatch.setattr(door, "library_path", lambda: tmp_path / "none.so")
    with pytest.raises(DrafterUnusable, match="missing"):
        proposer_for("draft-mtp", target, files)


@pytest.mark.parametrize("name", ["draft-mtp", "draft-dspark"])
def test_what_a_model_brings_is_found_loaded_and_drafts(
    name: str, files: dict[str, tuple[Path, Path | None]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, head = files[name]
    model = tmp_path / "model.gguf"
    shutil.copy(path, model)
    if head is not None:
        shutil.copy(head, tmp_path / f"model-{head.name}")
    monkeypatch.setattr("engine.loading.measure_passes", lambda *_: FREE)
    # The head of so small a model is half of it.
    monkeypatch.setattr("engine.speculation.proposers.selection._STEP_SHARE", 0.01)
    monkeypatch.setattr("engine.speculation.proposers.supply._starter", lambda: None)
    nobody = DrafterSource("none", "none", DrafterRunner.TORCH, tmp_path / "none", 1 << 40)
    monkeypatch.setattr("engine.speculation.proposers.supply.built_in_source", lambda: nobody)
    target = load_target(file_source(model), TargetSettings(threads=1, gpu_layers=0), lambda _: None, GO)
    with closing(target):
        config = EngineConfig(tmp_path, SpeculationSettings(drafter=AUTOMATIC))
        supply = DrafterSupply(config, target)
        measured: list[float] = []
        measure = BroughtProposer.measure_cost

        def noting(proposer: BroughtProposer) -> float:
            measured.append(measure(proposer))
            return measured[-1]

        monkeypatch.setattr(BroughtProposer, "measure_cost", noting)
        speculation = speculate(config, target, GO, supply, at_once=True)
        chosen = supply.choice.chosen
        assert chosen is not None
        assert chosen.method is METHODS[name]
        assert chosen.label.startswith(METHODS[name].value)
        assert measured == [], "on its thread, after the first reply"
        session = Session(target)
        decoder = Decoder(target, session, GREEDY, TURNS, speculation)
        for _ in zip(range(30), decoder.rounds(session.read(PROMPT, GO), GO), strict=False):
            pass
        assert decoder.figures.by_proposer["heads"].num_drafted
        speculation.end_reply()
        assert len(measured) == 1
        assert supply.choice.chosen is chosen


def test_why_what_a_model_brings_does_not_draft_is_told(
    files: dict[str, tuple[Path, Path | None]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "model.gguf"
    shutil.copy(files["draft-mtp"][0], model)
    monkeypatch.setattr("engine.speculation.proposers.selection._STEP_SHARE", 0.01)

    def refuse(*_: object) -> None:
        raise DrafterUnusable("{name} cannot draft.", name="It")

    monkeypatch.setattr("engine.speculation.proposers.supply.try_heads", refuse)
    target = load_target(file_source(model), TargetSettings(threads=1, gpu_layers=0), lambda _: None, GO)
    with closing(target):
        supply = DrafterSupply(EngineConfig(tmp_path), target)
        assert supply.choose(FREE).label == "MTP"
        with pytest.raises(DrafterUnusable, match="It cannot draft"):
            supply.load(lambda: False)
        assert supply.choice.chosen is None
        assert supply.choice.why.endswith("It cannot draft.")


def test_a_model_that_brings_nothing_loads_no_library_and_leaves_no_more(
    files: dict[str, tuple[Path, Path | None]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "model.gguf"
    shutil.copy(files["draft-dspark"][0], model)
    monkeypatch.setattr(door, "_library", lambda: pytest.fail("it was loaded"))
    target = load_target(file_source(model), TargetSettings(threads=1, gpu_layers=0), lambda _: None, GO)
    with closing(target):
        supply = DrafterSupply(EngineConfig(tmp_path), target)
        choice = supply.choose(FREE)
        assert all(each.source.method is None for each in choice.prospects)
