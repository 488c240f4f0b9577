"""The drafter behind the translation: what it reads, what it forgets, what it teaches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from engine.config import SamplingSettings
from engine.drafter.interface import LogitRow
from engine.messages.conversations import ChatTurn, Role
from engine.messages.learned import NgramRecord
from engine.numerics.sampling import RandomDice
from engine.proposers.interface import Context
from tests.fakes.drafter import END, PIECES, AsciiVocabulary, FakeDrafterVocabulary, random_logits
from tests.fakes.proposers import Generous
from tests.fakes.target import START
from tests.unit.engine.proposers.bench import TEXT, TURNS, Bench, bytes_of, tokens_of


def test_it_reads_the_turns_in_its_own_format_and_goes_on_with_the_reply() -> None:
    bench = Bench()
    guess = bench.propose(tokens_of("the "))
    assert bytes_of(guess).decode() == TEXT[4 : 4 + len(bytes_of(guess))]
    assert bench.held().startswith("<user>Say it.<assistant>the ")


def test_the_guess_is_in_tokens_of_the_target_merged_where_it_merges() -> None:
    bench = Bench("thing the ing")
    assert bench.propose(tokens_of("t"), limit=2) == tuple(tokens_of("hing ")[:2])
    bench = Bench("a haha")  # the drafter has neither ha nor hah
    assert bench.propose([ord("a"), ord(" ")], limit=2)[0] == tokens_of("hah")[0]


def test_no_more_tokens_than_were_asked_for() -> None:
    for limit in range(1, 9):
        assert len(Bench().propose(tokens_of("the "), limit)) <= limit


def test_only_what_was_written_since_is_read() -> None:
    bench = Bench()
    reply = tokens_of(TEXT)
    bench.propose(reply[:4])
    before = bench.drafter.num_read
    bench.propose(reply[:5])
    # At most the new token, the last ones that could be split otherwise now, and the steps of the draft.
    assert bench.drafter.num_read - before <= 4 + 4 * 4


def test_what_it_reads_of_a_prompt_is_counted_apart_from_its_steps() -> None:
    bench = Bench()
    first = bench.draft(tokens_of("the "), 2)
    assert first.num_read == len(FakeDrafterVocabulary().encode_prompt(TURNS)) + len(("the", " "))
    assert bench.draft(tokens_of("the i"), 2).num_read == 0


def test_it_is_rolled_back_to_the_first_token_that_changed() -> None:
    bench = Bench(logits=random_logits(0))
    bench.propose([ord("t")], limit=1)
    assert bench.drafter.held[: len(bench.drafter.held)][-1] != PIECES.index(b"the")
    bench.propose([ord("t"), ord("h"), ord("e")], limit=1)
    prompt = FakeDrafterVocabulary().encode_prompt(TURNS)
    assert bench.drafter.held[: len(prompt) + 1] == [*prompt, PIECES.index(b"the")]


def test_a_new_conversation_begins_anew_and_the_same_one_is_not_read_again() -> None:
    bench = Bench()
    bench.propose(tokens_of("the "))
    bench.propose(tokens_of("the "), turns=(ChatTurn(Role.USER, "Other."),))
    assert bench.held().startswith("<user>Other.<assistant>the ")
    before = bench.drafter.num_read
    bench.propose(tokens_of("the"), turns=[ChatTurn(Role.USER, "Other.")])  # the reply is written again
    assert bench.held().startswith("<user>Other.<assistant>the")
    assert bench.drafter.num_read - before < 24


def test_a_conversation_too_long_for_the_drafter_loses_its_beginning() -> None:
    bench = Bench(max_held=64, logits=random_logits(1))
    turns = (ChatTurn(Role.USER, "x" * 500),)
    reply = tokens_of(TEXT)
    for length in range(1, len(reply)):
        bench.propose(reply[:length], turns=turns)
        assert bytes_of(reply[:length])[-4:].decode() in bench.held()
    assert len(bench.drafter.held) <= 64


def test_special_tokens_of_the_target_are_no_text() -> None:
    bench = Bench()
    bench.propose([*tokens_of("the"), START, ord(" ")])
    assert "<assistant>the " in bench.held()


def test_where_the_drafter_would_end_the_reply_it_guesses_nothing() -> None:
    assert Bench("the ").propose(tokens_of("the ")) == ()
    assert Bench("the ").propose(tokens_of("the "), sampling=SamplingSettings(temperature=0.8)) == ()


def test_what_the_target_writes_is_learned_and_kept_after_the_reply() -> None:
    bench = Bench()
    reply = tokens_of(TEXT * 3)
    for length in range(1, len(reply)):
        bench.propose(reply[:length], limit=1)
    assert not bench.kept
    bench.proposer.end_reply()
    learned = {(record.token, record.string) for record in bench.kept}
    assert (tokens_of("ing")[0], (PIECES.index(b"ing"),)) in learned
    bench.kept.clear()
    bench.proposer.end_reply()
    assert not bench.kept  # each change once


def test_a_merge_that_the_target_does_not_make_is_given_up() -> None:
    """The target writes h, a, h where the longest match would be one token."""
    bench = Bench()
    hah = tokens_of("hah")[0]
    assert bench.trie.string_of(hah)
    reply = [value for _ in range(6) for value in b" hah it is in the inn"]
    for length in range(1, len(reply)):
        bench.propose(reply[:length], limit=1)
    assert not bench.trie.string_of(hah)


def test_a_sampled_draft_carries_the_distributions_it_was_drawn_from() -> None:
    bench = Bench(logits=random_logits(3))
    context = Context(TURNS, [1, 2, 3], ord("a"), 3, SamplingSettings(temperature=0.8), RandomDice(1))
    draft = bench.proposer.propose(context, 3, Generous())
    assert draft.path is not None
    assert len(draft.path.distributions) == len(draft.path.tokens) <= draft.num_steps
    for token, distribution in zip(draft.path.tokens, draft.path.distributions, strict=True):
        assert token in distribution.ids
        assert distribution.probabilities.sum() == pytest.approx(1)
        assert END not in distribution.ids
        assert len(distribution.ids) <= 64


def test_a_child_is_guessed_only_if_it_is_likelier_than_all_that_end_the_token() -> None:
    """After "h" the likeliest next draft token is "a", which would make "ha"; but that it is no "a" is likelier."""

    def logits(held: Sequence[int]) -> LogitRow:
        row = np.full(len(PIECES), -30.0, np.float32)
        if PIECES[held[-1]] == b"h":
            row[PIECES.index(b"a")] = np.log(0.4)
            row[PIECES.index(b"e")] = np.log(0.3)
            row[PIECES.index(b"i")] = np.log(0.3)
        else:
            row[PIECES.index(b"h")] = 0.0
        return row

    assert Bench(logits=logits).propose([ord(" ")], limit=2)[0] == ord("h")


def test_measuring_a_step_leaves_nothing_behind() -> None:
    bench = Bench()
    first = bench.propose(tokens_of("the "))
    assert bench.proposer.measure_cost() > 0
    assert bench.drafter.num_held == 0
    assert bench.propose(tokens_of("the ")) == first


def test_a_character_the_drafter_cannot_spell_does_not_end_learning(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    monkeypatch.setattr(bench.proposer, "_vocabulary", AsciiVocabulary())
    reply = [*tokens_of("the inn "), *"🙂".encode(), *tokens_of(" the thing" * 40)]
    for length in range(1, len(reply)):
        bench.propose(reply[:length], limit=1)
    bench.proposer.end_reply()
    assert any(record.token == tokens_of("ing")[0] for record in bench.kept)


def test_other_ngrams_are_taken_up_with_the_next_reply_and_kept_where_they_belong() -> None:
    bench = Bench()
    reply = tokens_of(TEXT)
    bench.propose(reply[:4])
    other, kept = Bench(), list[NgramRecord]()
    bench.proposer.offer_ngrams(other.trie, other.cache, kept.extend)
    bench.propose(reply)
    bench.proposer.end_reply()
    assert bench.kept, "this reply was begun with those of before"
    assert kept == []
    assert len(other.cache) == 0
    bench.kept.clear()
    bench.propose(reply, turns=(ChatTurn(Role.USER, "Again."),))
    bench.proposer.end_reply()
    assert bench.kept == []
    assert kept
    assert len(other.cache) > 0
