"""Answering one prompt plain and sped up: with a real store, a fake target, and recall that drafts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from engine.backend.storage import Repository
from engine.speculation.model.interface import FloatRows
from engine.values.comparison import ChatSampling, Comparison, ComparisonOrder, ComparisonStep, Side
from engine.values.config import OwnSampling, ReplySettings, SamplingSettings, TargetOptions
from engine.values.errors import ConversationMissing, NotPossible, PromptTooLong
from engine.values.events import ReplyFinished
from engine.values.growing_reply import ReplySoFar
from engine.values.orders import Send
from engine.values.stop_signal import StopSignal
from engine.values.targets import LoadOrder
from tests.fakes.target import FakeTarget, says
from tests.unit.engine.backend.chats.test_chat_service import Desk

Load = Callable[[FakeTarget], FakeTarget]
GREEDY = ReplySettings(SamplingSettings(temperature=0))
SONG = "row row row your boat row row row your boat row row row your boat."
PLAIN_TALK = "zigzag, by jove!"  # no pair of letters comes twice


class TornTarget(FakeTarget):
    """Passes over several tokens round in such a way that a near-tie falls the other way."""

    def __init__(self, text: str, place: int) -> None:
        super().__init__(says(text))
        self._place = place

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        rows = super().evaluate(tokens, num_rows, stop)
        for row in range(num_rows):
            held = self.held[: len(self.held) - (num_rows - 1 - row)]
            spoken = b"".join(self.vocabulary.pieces[token] for token in held).rsplit(b"assistant\n", 1)[-1]
            if len(spoken) == self._place:
                rows[row, ord("X")] = 30.1 if num_rows > 1 else 29.9
        return rows


class Comparing(Desk):
    def __init__(self, repository: Repository, folder: Path) -> None:
        super().__init__(repository, folder)
        self.steps: list[ComparisonStep] = []

    def compare(self, order: ComparisonOrder, stop: StopSignal | None = None) -> Comparison:
        self.events.clear()
        self.steps.clear()
        return self.trials.compare(order, stop or StopSignal(), self.steps.append)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Comparing]:
    repository = Repository.open(tmp_path / "store")
    desk = Comparing(repository, tmp_path)
    desk.drafts_from_recall = True
    yield desk
    repository.close()


@pytest.fixture
def load(desk: Comparing) -> Load:
    def load(target: FakeTarget) -> FakeTarget:
        desk.load(LoadOrder(desk.add("fake", target)))
        return target

    return load


def compare(
    desk: Comparing, prompt: str = "Sing.", conversation_id: int | None = None, num_tokens: int = 200
) -> Comparison:
    return desk.compare(ComparisonOrder(prompt, conversation_id, GREEDY, num_tokens))


def send(desk: Comparing, prompt: str, conversation_id: int | None = None) -> ReplyFinished:
    desk.do(Send(prompt, conversation_id, GREEDY))
    (finished,) = desk.told(ReplyFinished)
    assert isinstance(finished, ReplyFinished)
    return finished


def test_both_sides_answer_twice_and_write_the_same(desk: Comparing, load: Load) -> None:
    load(FakeTarget(says(SONG)))
    comparison = compare(desk)
    ends = [(event.side, event.turn) for event in desk.steps if event.is_finished]
    assert ends == [(Side.PLAIN, 0), (Side.SPED_UP, 0), (Side.SPED_UP, 1), (Side.PLAIN, 1)]
    for end in ends:
        assert "".join(event.text for event in desk.steps if (event.side, event.turn) == end) == SONG
    assert not comparison.is_stopped
    assert comparison.fork is None
    assert comparison.ratio is not None
    assert comparison.range is not None
    assert {run.num_rounds for run in comparison.plain} == {len(SONG)}
    assert {run.num_drafted for run in comparison.plain} == {0}
    for run in comparison.sped_up:
        assert run.num_rounds < len(SONG) / 2
        assert run.num_rounds + run.num_accepted == len(SONG)


def test_a_reply_is_no_longer_than_was_asked_for(desk: Comparing, load: Load) -> None:
    load(FakeTarget(says(SONG)))
    comparison = compare(desk, num_tokens=20)
    assert {run.num_tokens for run in (*comparison.plain, *comparison.sped_up)} == {20}


def test_nothing_of_it_is_kept_or_remembered(desk: Comparing, load: Load) -> None:
    target = load(FakeTarget(says(SONG)))
    desk.wanted.clear()
    compare(desk)
    assert desk.repository.list_conversations() == ()
    assert desk.repository.read_history().days == ()
    assert desk.remembered(target) == []
    assert desk.wanted == []
    assert desk.told(ReplySoFar) == []


def test_the_chat_goes_on_as_if_nothing_had_been(desk: Comparing, load: Load) -> None:
    load(FakeTarget(says(PLAIN_TALK), context_size=200))
    chat = send(desk, "One? " + "a" * 100).message.conversation_id
    second = send(desk, "Two? " + "b" * 60, chat).message.statistics
    assert second is not None
    assert second.left_out_messages == 2
    compare(desk, "Sing.", chat, num_tokens=4)
    compare(desk, "Something else altogether.", num_tokens=4)
    third = send(desk, "Three?", chat).message
    assert third.text == PLAIN_TALK
    assert third.statistics is not None
    assert third.statistics.left_out_messages == 2, "had it been forgotten, more would have left than need be"
    assert len(desk.repository.open_conversation(chat).messages) == 6


def test_what_was_held_of_the_chat_is_held_afterwards(desk: Comparing, load: Load) -> None:
    target = load(FakeTarget(says("Yes.")))
    chat = send(desk, "One?").message.conversation_id
    held = target.held.copy()
    compare(desk, "Something else altogether.", num_tokens=4)
    assert target.held == held
    second = send(desk, "Two?", chat).message.statistics
    assert second is not None
    assert second.evaluated_tokens <= second.prompt_tokens - len(held)
    target.save = lambda: None  # type: ignore[method-assign]  # no memory is left for it
    compare(desk, "Something else altogether.", num_tokens=4)
    assert send(desk, "Three?", chat).message.text == "Yes."


def test_it_is_sampled_as_the_chat_would_be_answered(desk: Comparing, load: Load) -> None:
    fake = load(FakeTarget(says("Yes.")))
    warm = ReplySettings(SamplingSettings(temperature=1.0))

    def is_greedy(sampled_as: ChatSampling | None) -> bool:
        return desk.compare(ComparisonOrder("Sing.", None, warm, 4, sampled_as=sampled_as)).is_greedy

    chat = send(desk, "One?").message.conversation_id
    assert not is_greedy(None)
    assert not is_greedy(ChatSampling(chat))
    assert is_greedy(ChatSampling(None, OwnSampling(temperature=0)))
    desk.repository.change_conversation(chat, "", OwnSampling(temperature=0))
    assert is_greedy(ChatSampling(chat))
    desk.repository.change_conversation(chat, "", OwnSampling())
    (target,) = desk.repository.list_targets()
    fake.description = replace(fake.description, path=target.path)
    desk.repository.change_target_options(target.path, TargetOptions(sampling=SamplingSettings(temperature=0)))
    assert is_greedy(ChatSampling(chat))
    assert not is_greedy(None)
    desk.repository.change_conversation(chat, "", OwnSampling(temperature=0.5))
    assert not is_greedy(ChatSampling(chat)), "what is set for the chat counts for more"


def test_it_answers_in_place_of_the_last_prompt_of_a_chat(desk: Comparing, load: Load) -> None:
    prompts: list[str] = []

    def remember(tokens: Sequence[int]) -> int:
        prompts.append(b"".join(target.vocabulary.pieces[token] for token in tokens).decode())
        return says("Yes.")(tokens)

    target = load(FakeTarget(remember))
    chat = send(desk, "First.").message.conversation_id
    send(desk, "Second.", chat)
    prompts.clear()
    compare(desk, "Other.", chat)
    assert "First." in prompts[0]
    assert "Other." in prompts[0]
    assert "Second." not in prompts[0]
    prompts.clear()
    compare(desk, "Other.")
    assert "First." not in prompts[0]


def test_what_was_answered_before_is_not_recalled_meanwhile(desk: Comparing, load: Load) -> None:
    load(FakeTarget(says(PLAIN_TALK)))
    for _ in range(2):
        send(desk, "Speak.")
    known = [index.num_tokens for index in desk.recall.indexes()]
    drafted = send(desk, "Speak.").message.statistics
    assert drafted is not None
    assert drafted.num_accepted > 0, "a chat may repeat another"
    comparison = compare(desk, "Speak.")
    assert [run.num_accepted for run in comparison.sped_up] == [0, 0]
    assert sum(index.num_tokens for index in desk.recall.indexes()) > sum(known), "all of it is found again"
    again = send(desk, "Speak.").message.statistics
    assert again is not None
    assert again.num_accepted > 0


def test_a_chat_that_is_deleted_meanwhile_is_not_recalled_again(desk: Comparing, load: Load) -> None:
    target = load(FakeTarget(says(PLAIN_TALK)))
    chat = send(desk, "Speak.").message.conversation_id

    def delete() -> None:
        desk.repository.delete_conversations([chat])
        desk.recall.forget(chat)

    target.on_evaluate = delete
    compare(desk, "Speak.")
    assert sum(index.num_tokens for index in desk.recall.indexes()) == 0


def test_where_texts_part_it_is_told_how_nearly_tied_they_were(desk: Comparing, load: Load) -> None:
    place = SONG.index("boat", 30)
    load(TornTarget(SONG, place))
    comparison = compare(desk, num_tokens=len(SONG))
    fork = comparison.fork
    assert fork is not None
    assert (fork.num_tokens, fork.plain[:1], fork.sped_up[:1]) == (place, "b", "X")
    assert fork.logit_gap == pytest.approx(0.1, abs=0.01)
    assert fork.plain_chance == pytest.approx(0.525, abs=0.01)


def test_drawn_by_chance_the_plain_replies_are_the_same_and_no_fork_is_told(desk: Comparing, load: Load) -> None:
    load(TornTarget(SONG, 3))
    comparison = desk.compare(ComparisonOrder("Sing.", None, ReplySettings(SamplingSettings(temperature=1.0)), 20))
    assert not comparison.is_greedy
    assert comparison.fork is None
    first, second = (
        "".join(event.text for event in desk.steps if (event.side, event.turn) == (Side.PLAIN, turn)) for turn in (0, 1)
    )
    assert first == second


def test_a_stop_leaves_what_was_finished(desk: Comparing, load: Load) -> None:
    target = load(FakeTarget(says(SONG)))
    stop = StopSignal()

    def stop_later() -> None:
        ends = [event for event in desk.steps if event.is_finished]
        if len(ends) == 2:
            stop.set()

    target.on_evaluate = stop_later
    comparison = desk.compare(ComparisonOrder("Sing.", None, GREEDY, 50), stop)
    assert comparison.is_stopped
    assert (len(comparison.plain), len(comparison.sped_up)) == (1, 1)
    assert comparison.ratio is not None
    assert comparison.range is None
    target.on_evaluate = lambda: None
    assert send(desk, "Hi").message.text == SONG


def test_stopped_at_once_there_is_nothing_to_tell(desk: Comparing, load: Load) -> None:
    load(FakeTarget(says(SONG)))
    stop = StopSignal()
    stop.set()
    comparison = desk.compare(ComparisonOrder("Sing.", None, GREEDY, 50), stop)
    assert comparison == Comparison((), (), is_greedy=True, is_stopped=True, fork=None)


def test_what_cannot_be_compared_is_refused(desk: Comparing, load: Load) -> None:
    with pytest.raises(NotPossible, match="No model is loaded yet"):
        desk.compare(ComparisonOrder("Sing.", None, GREEDY, 50))
    target = load(FakeTarget(says(SONG)))
    with pytest.raises(ConversationMissing):
        desk.compare(ComparisonOrder("Sing.", 99, GREEDY, 50))
    with pytest.raises(PromptTooLong):
        desk.compare(ComparisonOrder("x" * 5000, None, GREEDY, 50))

    def fail() -> None:
        raise RuntimeError("broken")

    target.on_evaluate = fail
    with pytest.raises(RuntimeError, match="broken"):
        desk.compare(ComparisonOrder("Sing.", None, GREEDY, 50))
    target.on_evaluate = lambda: None
    assert compare(desk).ratio is not None
