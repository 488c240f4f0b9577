"""What clients of the server ask, with a real store and a fake target."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from engine.backend.chats.remembering import Remembering
from engine.backend.storage import Repository
from engine.speculation.model.interface import Interrupted
from engine.values.asked import Asked, Refusal, Refused
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import Cancelled, NotPossible
from engine.values.growing_reply import TextPiece
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


def test_nothing_of_a_request_is_stored_unless_it_is_remembered(desk: Desk) -> None:
    target = FakeTarget(says(TEXT))
    loaded(desk, target)
    assert desk.reply_to(Asked((USER,))).text == TEXT
    assert desk.repository.list_conversations() == ()
    assert desk.remembered(target) == []
    desk.reply_to(Asked((USER,)), is_remembered=True)
    assert len(desk.repository.list_conversations()) == 1
    assert desk.remembered(target) == ["Hello.", TEXT]


def test_a_chat_that_was_deleted_meanwhile_begins_anew(desk: Desk) -> None:
    loaded(desk, FakeTarget(says(TEXT)))
    desk.reply_to(Asked((USER,)), is_remembered=True)
    (chat,) = desk.repository.list_conversations()
    desk.repository.forget_conversation(chat.id)
    again = desk.reply_to(Asked((USER, ChatTurn(Role.ASSISTANT, TEXT), USER)), is_remembered=True)
    assert again.text == TEXT
    (chat,) = desk.repository.list_conversations()
    assert len(desk.repository.open_conversation(chat.id).messages) == 4


def test_what_is_expected_is_quoted_and_then_forgotten(desk: Desk) -> None:
    text = "one two three four five six seven eight nine ten eleven twelve"
    desk.drafts_from_recall = True
    loaded(desk, FakeTarget(says(text), 4_096))
    without = desk.reply_to(Asked((USER,))).statistics
    expected = desk.reply_to(Asked((USER,), expected=text)).statistics
    assert expected.num_accepted > without.num_accepted + 20
    assert expected.num_rounds < without.num_rounds / 2
    assert desk.recall.indexes()[-1].num_tokens == 0  # that of the store, which is empty
    assert desk.reply_to(Asked((USER,))).statistics.num_accepted == without.num_accepted


def test_what_does_not_fit_is_refused_and_nothing_left_out(desk: Desk) -> None:
    loaded(desk, FakeTarget(says(TEXT), 256))
    before = (ChatTurn(Role.USER, "x" * 150), ChatTurn(Role.ASSISTANT, "Yes."))
    with pytest.raises(Refused) as refused:
        desk.reply_to(Asked((*before, ChatTurn(Role.USER, "y" * 90))))
    assert refused.value.refusal is Refusal.TOO_LONG


def test_a_reply_that_fills_the_context_ends_there(desk: Desk) -> None:
    loaded(desk, FakeTarget(says("a" * 500), 256))
    assert desk.reply_to(Asked((USER, ChatTurn(Role.ASSISTANT, "b" * 60), USER))).statistics.stop_reason is (
        StopReason.CONTEXT_FULL
    )


def test_without_a_target_it_is_not_ready(desk: Desk) -> None:
    with pytest.raises(Refused) as refused:
        desk.reply_to(Asked((USER,)))
    assert refused.value.refusal is Refusal.NOT_READY


def test_one_that_goes_before_its_reply_began_is_told_nothing(desk: Desk) -> None:
    loaded(desk, FakeTarget(says(TEXT)))
    gone = StopSignal()
    gone.set()
    with pytest.raises(Cancelled):
        desk.answering.answer(Asked((USER,)), GREEDY, is_remembered=False, owner=USER_OWNER, stop=gone)


def test_probabilities_are_told_with_the_text_that_they_are_of(desk: Desk) -> None:
    loaded(desk, FakeTarget(says(TEXT)))
    desk.reply_to(Asked((USER,), num_logs=1, stop_strings=("you",)))
    logs = [log for each in desk.replies[-1].since(0) if isinstance(each, TextPiece) for log in each.logs]
    assert b"".join(log.piece for log in logs).decode() == "Hello there, "


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
