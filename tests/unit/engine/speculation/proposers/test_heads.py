"""Heads: what they guess from, what is drafted of it, and that nothing is told where they are not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.loading import speculate
from engine.speculation.decoding.loop import Decoder
from engine.speculation.decoding.session import Session
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.drafter.heads_folder import FOLDER, heads_source
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.speculation.numerics.draft import NO_DRAFT, Verdict
from engine.speculation.proposers.heads import HeadsProposer
from engine.speculation.proposers.recall import RecallProposer
from engine.speculation.proposers.supply import DrafterSupply
from engine.values.config import AUTOMATIC, EngineConfig, SamplingSettings, SpeculationSettings, TargetSettings
from engine.values.drafters import DrafterRunner
from engine.values.stop_signal import StopSignal
from tests.fakes.heads import FakeHeads
from tests.fakes.proposers import FREE, Generous, choosing, drafting
from tests.fakes.target import END, FakeTarget, says
from tests.fakes.tiny_models import tiny_llama
from tests.unit.engine.speculation.drafter.test_heads import weights, write
from tests.unit.engine.speculation.proposers.bench import GREEDY, TEXT, TURNS, context_of

GO = StopSignal()
VOCABULARY = FakeTarget().vocabulary


def written(target: FakeTarget, speculation: Speculation, sampling: SamplingSettings = GREEDY) -> list[int]:
    session = Session(target)
    rows = session.read(target.tokenize("assistant\n"), GO)
    decoder = Decoder(target, session, sampling, TURNS, speculation)
    return [token for some in decoder.rounds(rows, GO) for token in some]


def test_they_guess_from_what_the_pending_token_was_drawn_from() -> None:
    heads, target = FakeHeads(), FakeTarget(says(TEXT))
    tokens = written(target, drafting(HeadsProposer(heads, VOCABULARY), length=3))
    assert bytes(tokens[:-1]).decode() == TEXT
    assert heads.asked, "but not right after the prompt"
    for thoughts, pending in heads.asked:
        assert thoughts[0] == pending
    assert target.num_evaluated < 2 * len(TEXT)
    assert len(heads.asked) < len(TEXT) / 3, "whole drafts were accepted"


@pytest.mark.parametrize("error", [0, 1, 100])
def test_whatever_they_guess_the_text_is_the_targets(error: int) -> None:
    target = FakeTarget(says(TEXT))
    tokens = written(target, drafting(HeadsProposer(FakeHeads(error=error), VOCABULARY), length=4))
    assert bytes(tokens[:-1]).decode() == TEXT
    assert tokens[-1] == END


def test_where_nobody_guesses_from_states_none_are_told() -> None:
    target = FakeTarget(says(TEXT))
    assert written(target, choosing(RecallProposer()))
    assert not target.tells


def test_a_draft_ends_before_what_ends_a_reply_and_where_it_is_not_worth_more() -> None:
    class Doubtful(Generous):
        def is_checked(self, chances: object) -> bool:
            return len(chances) < 3  # type: ignore[arg-type]

    proposer = HeadsProposer(FakeHeads(), VOCABULARY)
    context = context_of([*TEXT.encode()[:5]])
    assert bytes(proposer.propose(context, 9, Generous()).tokens) == TEXT.encode()[5:9]
    assert bytes(proposer.propose(context, 9, Doubtful()).tokens) == TEXT.encode()[5:7]
    assert context.state is not None
    context.state[2] = END
    assert bytes(proposer.propose(context, 9, Generous()).tokens) == TEXT.encode()[5:6]
    assert proposer.propose(replace(context, state=None), 9, Generous()) == NO_DRAFT


def test_chances_follow_what_came_of_guesses_also_of_those_that_were_not_drafted() -> None:
    proposer = HeadsProposer(FakeHeads(), VOCABULARY)
    context = context_of([*TEXT.encode()[:5]])
    for _ in range(60):  # the second guess is always wrong
        draft = proposer.propose(context, 1, Generous())
        proposer.observe(Verdict(draft, 1, (*draft.tokens, 0)))
    chances = proposer.propose(context, 4, Generous()).chances
    assert chances[0] > 0.9
    assert chances[1] < 0.3
    guesses, _ = proposer.take_guesses()
    assert (guesses.num_first, guesses.first_right, guesses.num_next, guesses.next_right) == (60, 60, 60, 0)
    assert proposer.take_guesses()[0].num_first == 0


def test_what_computes_no_numbers_is_given_up() -> None:
    target = FakeTarget(says(TEXT))
    speculation = drafting(HeadsProposer(FakeHeads(sure=float("nan")), VOCABULARY), length=3)
    assert bytes(written(target, speculation)[:-1]).decode() == TEXT
    assert not speculation.is_drafting


def test_other_tokens_of_a_head_stand_beside_its_likeliest_with_what_follows() -> None:
    proposer = HeadsProposer(FakeHeads(sure=0.5), VOCABULARY)
    context = replace(context_of([*TEXT.encode()[:5]]), max_branches=3)
    draft = proposer.propose(context, 3, Generous())
    first, second, third, *_ = TEXT.encode()[5:]
    assert draft.num_trunk == 3
    assert draft.tokens[:3] == (first, second, third)
    branches = {draft.line(place) for place in range(3, len(draft.tokens))}
    assert (first + 1, second, third) in branches
    assert draft.num_leaves <= 3
    assert (
        replace(draft, parents=()).tokens[:3]
        == proposer.propose(replace(context, max_branches=1), 3, Generous()).tokens
    )


def test_that_another_token_of_a_head_is_right_is_learned_too() -> None:
    proposer = HeadsProposer(FakeHeads(sure=0.5, error=-1), VOCABULARY)  # its second guess is the right one
    target = FakeTarget(says(TEXT), max_branches=8, context_size=4096)
    for _ in range(4):
        reply = written(target, choosing(proposer))
        assert bytes(reply[:-1]).decode() == TEXT
        target.roll_back(0)
    context = replace(context_of([*TEXT.encode()[:5]]), max_branches=2)
    draft = proposer.propose(context, 3, Generous())
    beside = draft.parents.index(-1, 1)
    assert draft.chances[beside] > 0.6 > draft.chances[0]


@pytest.mark.parametrize("is_found", [True, False])
def test_heads_of_a_target_are_chosen_loaded_and_draft_for_it(
    is_found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tiny_llama(tmp_path / "tiny.gguf")
    write(tmp_path / (FOLDER if is_found else "elsewhere") / "mine", path, weights(64))
    target = LlamaCppTarget.load(path, "tiny", TargetSettings(threads=1), lambda _: None, GO)
    chosen = AUTOMATIC if is_found else str(tmp_path / "elsewhere" / "mine")
    config = EngineConfig(tmp_path, SpeculationSettings(drafter=chosen))
    monkeypatch.setattr("engine.loading.measure_passes", lambda *_: FREE)
    monkeypatch.setattr("engine.speculation.proposers.supply._starter", lambda: None)
    monkeypatch.setattr(
        "engine.speculation.proposers.supply.built_in_source", lambda: heads_source(tmp_path / "nothing")
    )
    supply = DrafterSupply(config, target)
    speculation = speculate(config, target, GO, supply, at_once=True)
    assert supply.choice.chosen is not None
    assert supply.choice.chosen.runner is DrafterRunner.HEADS
    assert speculation.needs_states
    session = Session(target)
    rows = session.read([1, 270, 271], GO)
    decoder = Decoder(target, session, GREEDY, TURNS, speculation)
    for _ in zip(range(30), decoder.rounds(rows, GO), strict=False):
        pass
    assert decoder.figures.by_proposer["heads"].num_drafted
    target.close()
