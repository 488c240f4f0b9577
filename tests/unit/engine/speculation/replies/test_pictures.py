"""Replies to prompts with pictures: what is looked at, what is held, and what that costs of the context."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.speculation.decoding.speculation import Speculation
from engine.speculation.replies.reply import ReplyWriter
from engine.speculation.replies.writing import Reply
from engine.values.config import ReplySettings, SamplingSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import TargetUnusable
from engine.values.pictures import Picture
from engine.values.replies import StopReason
from engine.values.stop_signal import StopSignal
from tests.fakes.listener import RecordingReply
from tests.fakes.seer import MARK, Seer, picture
from tests.fakes.target import FakeTarget
from tests.unit.engine.speculation.replies.test_thinking_replies import recalling

SETTINGS = ReplySettings(SamplingSettings(temperature=0))
A, B = picture("a"), picture("b")


def asked(text: str, *pictures: Picture) -> ChatTurn:
    return ChatTurn(Role.USER, text, pictures=pictures)


def said(text: str) -> ChatTurn:
    return ChatTurn(Role.ASSISTANT, text)


def write(writer: ReplyWriter, *turns: ChatTurn, stop: StopSignal | None = None, begun: str = "") -> Reply:
    return writer.write(writer.prepare(turns, 1, begun), SETTINGS, stop or StopSignal(), RecordingReply())


@pytest.mark.parametrize("can_roll_back", [True, False])
def test_a_picture_is_looked_at_once_as_long_as_its_chat_goes_on(can_roll_back: bool) -> None:
    target = Seer(can_roll_back=can_roll_back)
    writer = ReplyWriter(target)
    first = write(writer, asked("Which?", A))
    assert (first.text, target.looked_at) == ("a1", ["a", "a"])
    second = write(writer, asked("Which?", A), said("a1"), asked("And this?", B))
    assert (second.text, target.looked_at) == ("ab2", ["a", "a", "b", "b"])
    other = write(writer, asked("Which?", A), said("a1"), asked("And this?", A))
    assert other.text == "aa2", "another picture in the same places"
    assert target.looked_at[4:] == (["a", "a"] if can_roll_back else ["a"] * 4)


def test_letters_that_stand_for_pictures_are_letters_where_somebody_says_them() -> None:
    target = Seer()
    reply = write(ReplyWriter(target), asked("\ufffc <pic>", A))
    assert (reply.text, target.looked_at) == ("a1", ["a", "a"])
    assert b"".join(target.vocabulary.pieces[token] for token in target.held[-60:] if token < 300).count(
        "\ufffc".encode()
    )


def test_a_picture_comes_where_the_template_has_its_turn() -> None:
    target = Seer()
    write(ReplyWriter(target), asked("Hm.", A, B))
    held = ["*" if token >= 1000 else target.vocabulary.pieces[token].decode() for token in target.held]
    mark = bytes(MARK).decode()
    assert "".join(held).startswith(f"<|im_start|>user\n{mark}***\n*{mark}***\n*Hm.<|im_end|>")


def test_a_template_may_take_messages_in_parts_only() -> None:
    source = (
        "{% for message in messages %}{{ message['role'] }}: {% for part in message['content'] %}"
        "{% if part['type'] == 'text' %}{{ part['text'] }}{% endif %}{% endfor %}\n{% endfor %}"
        "{{ 'assistant\n' }}"
    )
    target = Seer()
    target.description = replace(target.description, chat_template=source)
    assert write(ReplyWriter(target), asked("Which?", B)).text == "b1"


def test_what_is_looked_at_counts_as_it_fills_the_context() -> None:
    target = Seer(num_more_cells=20, context_size=160)
    writer = ReplyWriter(target)
    bare = write(writer, asked("Which?")).statistics
    with_picture = write(writer, asked("Which?", A)).statistics
    assert with_picture.context_used == bare.context_used + len(MARK) + 4 + 1 + 2 * 20 + 1
    again = write(writer, asked("Which?", A), said("a1"), asked("What else?", A), said("aa2"), asked("And?", B))
    assert (again.text, again.statistics.left_out_messages) == ("b1", 4)
    assert again.statistics.context_used <= 160


def test_a_reply_that_is_stopped_at_a_picture_leaves_what_was_read_before() -> None:
    target, stop = Seer(), StopSignal()
    writer = ReplyWriter(target)
    target.on_evaluate = lambda: stop.set() if target.looked_at == ["a"] else None
    stopped = write(writer, asked("Which?", A), stop=stop)
    assert (stopped.text, stopped.statistics.stop_reason) == ("", StopReason.STOPPED)
    target.on_evaluate = lambda: None
    assert write(writer, asked("Which?", A)).text == "a1"
    assert target.looked_at == ["a", "a"], "the first run stayed"


def test_a_reply_about_a_picture_goes_on_and_others_are_written_aside() -> None:
    target = Seer()
    writer = ReplyWriter(target)
    write(writer, asked("Which?", A))
    with writer.aside():
        assert write(writer, asked("Which?", B)).text == "b1"
    assert write(writer, asked("Which?", A), begun="a").text == "1"
    assert target.looked_at == ["a", "a", "b", "b"]


def test_drafts_behind_a_picture_change_nothing() -> None:
    """Recall drafts from the prompt."""
    target = Seer()
    speculation: Speculation = recalling(target)  # type: ignore[arg-type]
    writer = ReplyWriter(target, speculation)
    turns = asked("abababababab", *[A, B] * 6), said("abababababab1 it is"), asked("Again, abababababab2")
    reply = write(writer, *turns)
    assert reply.text == "abababababab2"
    assert reply.figures.num_accepted > 0


def test_a_target_that_does_not_see_is_shown_no_pictures() -> None:
    writer = ReplyWriter(FakeTarget())
    assert not writer.sees_pictures
    with pytest.raises(TargetUnusable, match="fake cannot see pictures"):
        writer.prepare([asked("Which?", A)])
