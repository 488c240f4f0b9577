"""What clients of the server ask, with a real store and a fake target."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from engine.backend.chats.remembering import Remembering
from engine.backend.storage import Repository
from engine.speculation.model.interface import Interrupted
from engine.values.asked import Asked, Refusal
from engine.values.commands import Answer
from engine.values.config import ReplySettings
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import NotPossible
from engine.values.events import AnswerEnded, AnswerRefused, AnswerText
from engine.values.owner import USER as USER_OWNER
from engine.values.owner import Owner
from engine.values.replies import StopReason
from engine.values.stop_signal import StopSignal
from engine.values.targets import LoadOrder
from tests.fakes.target import FakeTarget, says
from tests.unit.engine.backend.chats.test_chat_service import GREEDY, Desk

USER = ChatTurn(Role.USER, "Hello.")
TEXT = "Hello there, you."


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    repository = Repository.open(tmp_path)
    yield Desk(repository, tmp_path)
    repository.close()


def loaded(desk: Desk, target: FakeTarget) -> Desk:
    desk.load(LoadOrder(desk.add("model", target)))
    return desk


def ended(desk: Desk, asked: Asked, settings: ReplySettings = GREEDY, is_remembered: bool = False) -> AnswerEnded:
    desk.do(Answer(1, asked, settings, is_remembered))
    (found,) = desk.told(AnswerEnded)
    assert isinstance(found, AnswerEnded)
    return found


def test_nothing_of_a_request_is_stored_unless_it_is_remembered(desk: Desk) -> None:
    target = FakeTarget(says(TEXT))
    loaded(desk, target)
    assert ended(desk, Asked((USER,))).text == TEXT
    assert desk.repository.list_conversations() == ()
    assert desk.remembered(target) == []
    ended(desk, Asked((USER,)), is_remembered=True)
    assert len(desk.repository.list_conversations()) == 1
    assert desk.remembered(target) == ["Hello.", TEXT]


def test_a_chat_that_was_deleted_meanwhile_begins_anew(desk: Desk) -> None:
    loaded(desk, FakeTarget(says(TEXT)))
    ended(desk, Asked((USER,)), is_remembered=True)
    (chat,) = desk.repository.list_conversations()
    desk.repository.forget_conversation(chat.id)
    again = ended(desk, Asked((USER, ChatTurn(Role.ASSISTANT, TEXT), USER)), is_remembered=True)
    assert again.text == TEXT
    (chat,) = desk.repository.list_conversations()
    assert len(desk.repository.open_conversation(chat.id).messages) == 4


def test_what_is_expected_is_quoted_and_then_forgotten(desk: Desk) -> None:
    text = "one two three four five six seven eight nine ten eleven twelve"
    desk.drafts_from_recall = True
    loaded(desk, FakeTarget(says(text), 4_096))
    without = ended(desk, Asked((USER,))).statistics
    expected = ended(desk, Asked((USER,), expected=text)).statistics
    assert expected.num_accepted > without.num_accepted + 20
    assert expected.num_rounds < without.num_rounds / 2
    assert desk.recall.indexes()[-1].num_tokens == 0  # that of the store, which is empty
    assert ended(desk, Asked((USER,))).statistics.num_accepted == without.num_accepted


def test_what_does_not_fit_is_refused_and_nothing_left_out(desk: Desk) -> None:
    loaded(desk, FakeTarget(says(TEXT), 256))
    before = (ChatTurn(Role.USER, "x" * 150), ChatTurn(Role.ASSISTANT, "Yes."))
    desk.do(Answer(7, Asked((*before, ChatTurn(Role.USER, "y" * 90))), GREEDY))
    (refused,) = desk.told(AnswerRefused)
    assert isinstance(refused, AnswerRefused)
    assert (refused.number, refused.refusal) == (7, Refusal.TOO_LONG)


def test_a_reply_that_fills_the_context_ends_there(desk: Desk) -> None:
    loaded(desk, FakeTarget(says("a" * 500), 256))
    assert ended(desk, Asked((USER, ChatTurn(Role.ASSISTANT, "b" * 60), USER))).statistics.stop_reason is (
        StopReason.CONTEXT_FULL
    )


def test_without_a_target_it_is_not_ready_and_nobody_answers_who_has_gone(desk: Desk) -> None:
    desk.do(Answer(1, Asked((USER,)), GREEDY))
    (refused,) = desk.told(AnswerRefused)
    assert isinstance(refused, AnswerRefused)
    assert refused.refusal is Refusal.NOT_READY
    gone = StopSignal()
    gone.set()
    desk.do(Answer(2, Asked((USER,)), GREEDY), gone)
    assert desk.events == []


def test_probabilities_are_told_with_the_text_that_they_are_of(desk: Desk) -> None:
    loaded(desk, FakeTarget(says(TEXT)))
    ended(desk, Asked((USER,), num_logs=1, stop_strings=("you",)))
    told = [each for each in desk.told(AnswerText) if isinstance(each, AnswerText)]
    assert b"".join(log.piece for each in told for log in each.logs).decode() == "Hello there, "


@pytest.mark.parametrize("error", [Interrupted(), NotPossible("The user loads another model.")])
def test_nothing_is_left_of_a_new_chat_that_is_given_up_while_it_is_stored(desk: Desk, error: Exception) -> None:
    loaded(desk, FakeTarget(says(TEXT)))
    numbers = count()

    def look_up() -> None:
        if next(numbers) == 5:
            raise error

    remembering = Remembering(desk.repository, desk.keeper, desk.events.append)
    turns = [USER, ChatTurn(Role.ASSISTANT, TEXT)] * 10
    with pytest.raises(type(error)):
        remembering.keep("a program", [*turns, USER], look_up)
    assert desk.repository.list_conversations() == ()
    kept = remembering.keep("a program", [*turns, USER], lambda: None)
    assert len(desk.repository.open_conversation(kept.conversation_id).messages) == 21


def test_a_prediction_is_bounded_and_of_its_owner_alone(desk: Desk) -> None:
    target = FakeTarget(says(TEXT))
    loaded(desk, target)
    owner = Owner("a program")

    def stop() -> None:
        raise Interrupted

    with desk.recall.beside("ab " * 10**6, owner, lambda: None):
        (index,) = desk.recall.indexes(owner)
        assert 50_000 < len(index.tokens) < 200_000
        assert index not in desk.recall.indexes(USER_OWNER)
    assert desk.recall.indexes(owner) == ()
    with pytest.raises(Interrupted), desk.recall.beside("ab", owner, stop):
        pass
