"""The drafter goes on from what somebody else guessed, and after rounds in which it was not asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.speculation.numerics.draft import NO_DRAFT
from engine.values.conversations import ChatTurn, Role
from tests.fakes.drafter import AsciiVocabulary, FakeDrafterVocabulary
from tests.fakes.proposers import Generous
from tests.fakes.target import START
from tests.unit.engine.speculation.proposers.bench import TEXT, TURNS, Bench, bytes_of, context_of, tokens_of


def test_it_goes_on_from_what_is_ahead() -> None:
    bench = Bench()
    ahead = tokens_of("thing is ")
    draft = bench.draft(tokens_of("the "), ahead=ahead)
    written = b"the thing is " + bytes_of(draft.tokens)
    assert TEXT.encode().startswith(written)
    assert len(draft.tokens) == 4


def test_a_wrong_guess_ahead_is_taken_back_and_teaches_nothing() -> None:
    bench, other = Bench(), Bench()
    reply = tokens_of(TEXT * 3)
    for length in range(1, len(reply)):
        bench.draft(reply[:length], 1, ahead=tokens_of(" hahing ing the hah"))
        assert bench.draft(reply[:length], 2).tokens == other.draft(reply[:length], 2).tokens
    assert bench.cache.entries() == other.cache.entries()
    assert len(other.cache) > 0
    assert bench.proposer._tail.tokens == other.proposer._tail.tokens


def test_a_reply_that_is_not_to_be_learned_from_teaches_nothing() -> None:
    bench, other = Bench(), Bench()
    reply = tokens_of(TEXT * 3)
    for length in range(1, len(reply)):
        context = context_of(reply[:length])
        private = bench.proposer.propose(replace(context, learns=False), 1, Generous())
        assert private.tokens == other.proposer.propose(context, 1, Generous()).tokens
    assert bench.cache.entries() != other.cache.entries()
    bench.proposer.end_reply()
    assert bench.kept == []


def test_after_a_special_token_it_does_not_go_on() -> None:
    assert Bench().draft(tokens_of("the "), ahead=[*tokens_of("thing"), START]) == NO_DRAFT


def test_where_the_drafter_cannot_spell_what_is_ahead_it_does_not_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    monkeypatch.setattr(bench.proposer, "_vocabulary", AsciiVocabulary())
    monkeypatch.setattr(bench.proposer._tail, "_vocabulary", AsciiVocabulary())
    assert bench.draft(tokens_of("the "), ahead=[*"🙂".encode()]) == NO_DRAFT
    assert bench.draft(tokens_of("the ")).tokens


def test_unread_is_what_was_written_since_it_was_asked() -> None:
    bench = Bench()
    reply = tokens_of(TEXT)
    assert bench.proposer.num_unread(context_of(reply[:1])) == len(FakeDrafterVocabulary().encode_prompt(TURNS)) + 1
    bench.draft(reply[:1])
    assert bench.proposer.num_unread(context_of(reply[:2])) == 1
    assert bench.proposer.num_unread(context_of(reply[:9])) == 8
    bench.draft(reply[:9], ahead=reply[9:12])
    assert bench.proposer.num_unread(context_of(reply[:10])) == 1


def test_the_next_prompt_of_a_chat_is_unread_from_its_new_turns_on_and_another_chat_is_unread() -> None:
    bench, encode = Bench(), FakeDrafterVocabulary().encode_prompt
    reply = tokens_of(TEXT)
    bench.draft(reply[:9])
    held = len(encode(TURNS)) + len(FakeDrafterVocabulary().encode(bytes_of(reply[:9])) or ())
    going_on = [*TURNS, ChatTurn(Role.ASSISTANT, TEXT), ChatTurn(Role.USER, "Again.")]
    unread = bench.proposer.num_unread(context_of(reply[:20], going_on))
    assert unread == pytest.approx(len(encode(going_on)) - held + 20, abs=2)
    other = (ChatTurn(Role.USER, "Other."),)
    alike = len(encode((ChatTurn(Role.USER, ""),))) - len(encode(())) - 1
    assert bench.proposer.num_unread(context_of(reply[:20], other)) == len(encode(other)) - alike + 20
