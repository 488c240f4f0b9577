"""What holds for every proposer of the list, built as the engine builds it."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from engine.speculation.decoding.speculation import Speculation
from engine.speculation.numerics.draft import NO_DRAFT, Verdict, common_prefix_length
from engine.speculation.numerics.draft_length import MAX_LENGTH, FixedCosts
from engine.speculation.numerics.suffix_index import SuffixIndex
from engine.speculation.proposers.catalogue import (
    HEADS,
    LISTED_BROUGHT,
    LOOKAHEAD,
    PROPOSERS,
    RECALL,
    Listed,
    origins,
    paying,
)
from engine.speculation.proposers.heads import HeadsProposer
from engine.speculation.proposers.interface import Proposer, Supplies, label_of
from engine.speculation.replies.reply import ReplyWriter
from engine.speculation.replies.writing import Reply
from engine.values.config import ReplySettings, SamplingSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.owner import Owner
from engine.values.sentences import capitalized
from engine.values.stop_signal import StopSignal
from tests.fakes.drafter import guesses
from tests.fakes.heads import FakeHeads
from tests.fakes.listener import RecordingReply
from tests.fakes.proposers import Generous, choosing, neural_proposer
from tests.fakes.target import FakeTarget, says
from tests.fakes.toy import LINE
from tests.unit.app.commands.test_cli import slow_imports_of
from tests.unit.engine.speculation.proposers.bench import TEXT, TURNS, context_of

OTHER_TURNS = (ChatTurn(Role.USER, "Say something else."),)
SAMPLED = SamplingSettings(temperature=0.8)
# Heads that a model brings follow a real target: see `test_brought.py`.
_ALONE = [listed for listed in PROPOSERS if listed is not LISTED_BROUGHT]
every_proposer = pytest.mark.parametrize("listed", [*_ALONE, LINE], ids=lambda listed: listed.origin.key)


def built(listed: Listed) -> Proposer:
    target = FakeTarget()

    def load_drafter(_is_cancelled: Callable[[], bool]) -> Proposer:
        if listed.origin == HEADS:
            return HeadsProposer(FakeHeads(), target.vocabulary)
        return neural_proposer(target.vocabulary, guesses(TEXT))

    indexes = [SuffixIndex([[*TEXT.encode()]])]
    return listed.proposer_class().build(Supplies(target, lambda _owner: indexes, load_drafter), lambda: False)


def test_each_has_an_origin_of_its_own_and_the_window_knows_it_without_slow_libraries() -> None:
    known = origins()
    assert len({origin.key for origin in known}) == len({origin.label for origin in known}) == len(known)
    assert slow_imports_of("engine.speculation.proposers.catalogue") == []


def test_what_cannot_pay_where_rows_are_dear_is_not_there() -> None:
    def there(second_row: float) -> set[str]:
        passes = FixedCosts({1: 1.0, 2: second_row, MAX_LENGTH + 1: 8.0})
        return {each.origin.key for each in paying(passes, None)} & {RECALL.key, LOOKAHEAD.key}

    assert there(1.5) == {RECALL.key}
    assert there(1.1) == {RECALL.key, LOOKAHEAD.key}


@every_proposer
def test_it_declares_what_the_list_says_of_it(listed: Listed) -> None:
    proposer = built(listed)
    assert proposer.origin == listed.origin == listed.proposer_class().origin
    for colour in (listed.origin.light, listed.origin.dark):
        assert re.fullmatch("#[0-9a-f]{6}", colour)
    assert proposer.measure_cost() >= 0
    assert proposer.num_unread(context_of([1])) >= 0


@every_proposer
@pytest.mark.parametrize("sampling", [SamplingSettings(temperature=0), SAMPLED], ids=["greedy", "sampled"])
def test_drafts_are_as_long_as_allowed_and_have_chances(listed: Listed, sampling: SamplingSettings) -> None:
    proposer = built(listed)
    num_drafted = 0
    for place in range(1, 40):
        for limit in (1, 2, 7):
            context = replace(context_of([*TEXT.encode()[:place]]), sampling=sampling)
            draft = proposer.propose(context, limit, Generous())
            assert len(draft.tokens) == len(draft.chances) <= limit
            assert all(0 <= chance <= 1 for chance in draft.chances)
            assert all(0 <= token < len(FakeTarget().vocabulary) for token in draft.tokens)
            assert draft is NO_DRAFT or draft.proposer == listed.origin.key
            assert draft.path is None or not proposer.is_free
            num_drafted += len(draft.tokens)
    assert num_drafted


@every_proposer
def test_it_bears_every_verdict_and_any_order_of_replies(listed: Listed) -> None:
    proposer, random = built(listed), np.random.default_rng(0)

    def play(reply: Sequence[int], turns: Sequence[ChatTurn]) -> None:
        context = context_of(reply, turns)
        draft = proposer.propose(context, 5, Generous()) if random.random() < 0.7 else NO_DRAFT
        num_accepted = int(random.integers(0, len(draft.tokens) + 1))
        proposer.observe(Verdict(draft, num_accepted, (*draft.tokens[:num_accepted], 7)))

    for turns in (TURNS, OTHER_TURNS, TURNS):
        for length in (1, 2, 5, 9, 3, 20):
            play([*TEXT.encode()[:length]], turns)
        proposer.end_reply()
        proposer.end_reply()


@every_proposer
@pytest.mark.parametrize("turns", [TURNS, OTHER_TURNS], ids=["same turns", "other turns"])
def test_for_another_owner_it_guesses_as_one_that_nobody_has_used(listed: Listed, turns: Sequence[ChatTurn]) -> None:
    """And reads as much. How far it guesses may depend on how guesses fared."""
    stranger, used, unused = Owner("stranger"), built(listed), built(listed)
    for length in range(1, 20):
        draft = used.propose(context_of([*TEXT.encode()[:length]], TURNS), 5, Generous())
        used.observe(Verdict(draft, 0, (TEXT.encode()[length],), wanted=((0, 7),) if draft.tokens else ()))
    used.end_reply()
    used.change_owner()
    for length in range(1, 20):
        context = replace(context_of([*TEXT.encode()[:length]], turns), owner=stranger)
        one, other = (proposer.propose(context, 5, Generous()) for proposer in (used, unused))
        common = common_prefix_length(one.tokens, other.tokens)
        assert common == min(len(one.tokens), len(other.tokens))
        assert (common > 0, one.num_read) == (bool(one.tokens or other.tokens), other.num_read)


continuing = [listed for listed in PROPOSERS if listed.proposer_class().continues]


@pytest.mark.parametrize("listed", continuing, ids=lambda listed: listed.origin.key)
def test_one_that_continues_guesses_after_the_tokens_ahead(listed: Listed) -> None:
    proposer = built(listed)
    ahead = (*TEXT.encode()[5:9],)
    draft = proposer.propose(replace(context_of([*TEXT.encode()[:5]]), ahead=ahead), 6, Generous())
    pieces = FakeTarget().vocabulary.pieces
    assert TEXT.encode()[9:].startswith(b"".join(pieces[token] for token in draft.tokens))
    assert draft.tokens


def written(speculation: Speculation | None) -> Reply:
    writer = ReplyWriter(FakeTarget(says(TEXT)), speculation)
    return writer.write(
        writer.prepare(TURNS), ReplySettings(SamplingSettings(temperature=0)), StopSignal(), RecordingReply()
    )


@every_proposer
def test_greedy_text_is_that_of_plain_decoding(listed: Listed) -> None:
    speculation = choosing(built(listed))
    for _ in range(2):  # also with what was learned
        reply = written(speculation)
        assert reply.tokens == written(None).tokens
        assert reply.figures.by_proposer[listed.origin.key].num_accepted


@every_proposer
@pytest.mark.parametrize("method", ["propose", "observe", "end_reply"])
def test_one_that_raises_is_given_up_while_the_reply_goes_on(
    listed: Listed, method: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_arguments: object) -> None:
        raise ZeroDivisionError

    proposer = built(listed)
    monkeypatch.setattr(proposer, method, fail)
    speculation = choosing(proposer)
    with caplog.at_level(logging.CRITICAL):
        assert written(speculation).text == TEXT
    assert speculation.state.startswith(f"{capitalized(label_of(proposer))} failed (ZeroDivisionError)")
    assert written(speculation).figures.num_drafted == 0
