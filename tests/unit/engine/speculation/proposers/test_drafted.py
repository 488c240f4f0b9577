"""The drafter behind the translation: what it reads, what it forgets, what it teaches."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from engine.speculation.drafter.interface import LogitRow
from engine.speculation.drafter.timing import measure_step
from engine.speculation.numerics.draft import Verdict
from engine.speculation.numerics.sampling import RandomDice
from engine.speculation.proposers.drafted import DrafterProposer
from engine.speculation.proposers.interface import Context
from engine.speculation.proposers.shared_vocabulary import SharedVocabularyDrafter
from engine.values.config import SamplingSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import DrafterUnusable
from engine.values.learned import NgramRecord
from engine.values.owner import USER, Owner
from tests.fakes.drafter import END, PIECES, AsciiVocabulary, FakeDrafter, FakeDrafterVocabulary, Logits, random_logits
from tests.fakes.proposers import Generous, neural_proposer
from tests.fakes.target import START, FakeTarget
from tests.unit.engine.speculation.proposers.bench import GREEDY, TEXT, TURNS, Bench, bytes_of, tokens_of


def test_it_reads_the_turns_in_its_own_format_and_goes_on_with_the_reply() -> None:
    bench = Bench()
    guess = bench.propose(tokens_of("the "))
    assert bytes_of(guess).decode() == TEXT[4 : 4 + len(bytes_of(guess))]
    assert bench.held().startswith("<user>Say it.<assistant>the ")


def test_it_reads_a_text_that_is_no_conversation() -> None:
    bench = Bench()
    for text in ("once there was", "another text"):
        tokens = [*tokens_of(text), *tokens_of("in")]
        start = len(tokens_of(text))
        context = Context((), tokens[:-1], tokens[-1], start, GREEDY, RandomDice(0))
        bench.proposer.propose(context, 4, Generous())
        assert bench.held().startswith(text + "in")
        bench.proposer.end_reply()


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


def test_of_a_conversation_of_millions_only_the_end_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(max_held=64, logits=random_logits(1))
    split: list[int] = []
    encode = FakeDrafterVocabulary.encode

    def counting(self: FakeDrafterVocabulary, data: bytes) -> list[int] | None:
        split.append(len(data))
        return encode(self, data)

    monkeypatch.setattr(FakeDrafterVocabulary, "encode", counting)
    bench.propose(tokens_of("the"), turns=(ChatTurn(Role.USER, "x" * 10**6), ChatTurn(Role.ASSISTANT, "y" * 100)))
    assert sum(split) < 64 * 20
    assert "y" * 8 + "<assistant>the" in bench.held()


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_drafter_that_computes_no_numbers_is_told_apart(number: float) -> None:
    """It would spoil the distributions that a reply is drawn from."""
    row = np.zeros(len(PIECES), np.float32)
    row[7] = number
    with pytest.raises(DrafterUnusable, match="does not compute numbers"):
        Bench(logits=lambda _held: row).propose(tokens_of("the "))


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


def test_measuring_a_step_takes_nothing_away() -> None:
    bench = Bench()
    first = bench.propose(tokens_of("the "))
    held, num_read = [*bench.drafter.held], bench.drafter.num_read
    assert bench.proposer.measure_cost() == bench.proposer.step_s > 0
    assert bench.drafter.held == held
    num_measured = bench.drafter.num_read - num_read
    assert bench.propose(tokens_of("the ")) == first
    assert bench.drafter.num_read - num_read - num_measured <= 8, "the prompt is not read again"


def test_where_there_is_no_room_for_a_step_the_end_is_read_again() -> None:
    bench = Bench(logits=random_logits(1))
    reply = tokens_of("the thing")
    bench.propose(reply, limit=1)
    bench.drafter.max_held = bench.drafter.num_held
    assert bench.proposer.measure_cost() > 0
    bench.drafter.max_held = 4096
    fresh = Bench(logits=random_logits(1))
    assert bench.propose(reply, limit=1) == fresh.propose(reply, limit=1)
    assert bench.drafter.held == fresh.drafter.held


class Threaded(FakeDrafter):
    """Has a favourite number of threads."""

    def __init__(self, most: int, quickest: int) -> None:
        super().__init__(random_logits(0))
        self.most_threads = most
        self._quickest = quickest
        self.tried: list[int] = []

    def use_threads(self, num_threads: int) -> None:
        self.tried.append(num_threads)

    def read(self, tokens: Sequence[int]) -> LogitRow:
        time.sleep(0.0002 if self.tried[-1] == self._quickest else 0.004)
        return super().read(tokens)


@pytest.mark.parametrize(("most", "numbers"), [(1, {1}), (2, {1, 2}), (8, {1, 2, 8})])
def test_the_quickest_number_of_threads_is_found_and_kept(most: int, numbers: set[int]) -> None:
    for quickest in numbers:
        drafter = Threaded(most, quickest)
        assert measure_step(drafter) < 0.004
        assert set(drafter.tried) == numbers
        assert drafter.tried[-1] == quickest
        assert drafter.num_held == 0


def test_an_adapter_that_is_taken_up_changes_nothing_of_what_is_known_about_guesses() -> None:
    """It is published since it guesses better; most of what was learned holds for it as well."""
    bench = Bench(logits=random_logits(2))
    for _ in range(30):
        draft = bench.draft(tokens_of("in"), 1)
        bench.proposer.observe(Verdict(draft, 0, (ord("?"),)))
    known = bench.draft(tokens_of("in"), 1).chances
    bench.drafter.refresh = lambda is_original=False: not is_original  # type: ignore[method-assign]
    bench.drafter.held.clear()
    assert bench.draft(tokens_of("in"), 1, turns=[ChatTurn(Role.USER, "Say it.")]).chances == known


def test_what_the_user_taught_drafts_for_the_user_and_for_a_client_that_may() -> None:
    """Its n-grams and its weights."""
    bench = Bench("a haha")
    for _ in range(9):
        bench.cache.doubt(tokens_of("hah")[0])  # which the user's texts never had
    owners = (USER, Owner("editor"), Owner("assistant", drafts_from_chats=True), USER)
    drafts = []
    for number, owner in enumerate(owners):
        turns = [ChatTurn(Role.USER, f"{number}")]  # of another reply
        drafts.append(bench.draft(tokens_of("a "), 2, turns=turns, owner=owner).tokens)
        assert bench.drafter.is_original is not owner.drafts_from_chats
    assert drafts[0] == drafts[2] == drafts[3] != drafts[1] == Bench("a haha").propose(tokens_of("a "), 2)


class Counting(list[int]):
    """Counts the tokens that are looked at."""

    num_touched = 0

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        found = super().__getitem__(place)
        Counting.num_touched += len(found) if isinstance(place, slice) else 1
        return found

    def __iter__(self):  # type: ignore[no-untyped-def]
        Counting.num_touched += len(self)
        return super().__iter__()


def touched_per_round(proposer: DrafterProposer, num_before: int) -> float:
    """By rounds of a reply that has so many tokens already, where nothing is accepted of some drafts."""
    turns = (ChatTurn(Role.USER, "x" * num_before),)
    tokens = Counting([ord("x")] * num_before)
    context = Context(turns, tokens, ord("a"), 0, GREEDY, RandomDice(0))
    proposer.propose(context, 4, Generous())
    proposer._window.held = Counting(proposer._window.held)
    Counting.num_touched = 0
    for place in range(20):
        tokens.append(context.pending)
        context = replace(context, pending=ord("a") + place)
        assert proposer.propose(context, 4, Generous()).tokens
        assert proposer.num_unread(context) == 0
    return Counting.num_touched / 20


def falling(num_tokens: int) -> Logits:
    """Each token is less likely than the one before it."""
    row = -np.arange(num_tokens, dtype=np.float32)
    row[: END + 1] = -np.inf
    return lambda _held: row


def translated() -> DrafterProposer:
    return neural_proposer(FakeTarget().vocabulary, falling(len(PIECES)), max_held=40_000)


def shared() -> DrafterProposer:
    target = FakeTarget().vocabulary
    drafter = FakeDrafter(falling(len(target)), 40_000)
    return SharedVocabularyDrafter(drafter, target.pieces, target)


@pytest.mark.parametrize("make", [translated, shared])
def test_a_round_looks_at_as_few_tokens_of_a_long_text_as_of_a_short_one(make: Callable[[], DrafterProposer]) -> None:
    short, long = touched_per_round(make(), 200), touched_per_round(make(), 8000)
    assert 0 < long <= short + 1
    assert long < 100


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
