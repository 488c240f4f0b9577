from __future__ import annotations

from dataclasses import replace

from app.widgets.transcript.answers import grouped, is_unfinished, joined, unanswered, versions
from engine.values.conversations import Message
from engine.values.replies import StopReason, Thought
from tests.unit.app.widgets.calls import call, calling, conversation, last, result
from tests.unit.app.widgets.messages import STATISTICS, prompt, reply


def ids(groups: list[tuple[Message, ...]]) -> list[list[int]]:
    return [[message.id for message in group] for group in groups]


def test_replies_with_results_between_them_are_one_answer() -> None:
    messages = (*conversation(), prompt(6), reply(7), reply(8), prompt(9), prompt(10))
    assert ids(grouped(messages)) == [[1], [2, 3, 4, 5], [6], [7], [8], [9], [10]]
    assert ids(grouped(conversation()[2:])) == [[3, 4, 5]], "also where its beginning is not there"
    assert grouped(()) == []


def test_an_answer_that_ends_with_calls_or_results_can_go_on() -> None:
    assert [is_unfinished(message) for message in conversation()[1:]] == [True, True, True, False]


def test_calls_without_results_are_known() -> None:
    _, asked, first, second, answer = conversation()
    assert unanswered((asked,)) == asked.calls
    assert unanswered((asked, first)) == asked.calls[1:]
    assert unanswered((asked, first, second)) == ()
    assert unanswered((asked, first, second, answer)) == ()
    assert unanswered(()) == ()


def test_an_answer_has_one_line_of_figures() -> None:
    thought = Thought(0, "Hm.", 1.0, 3, True)
    asked = replace(calling(2, 1, call(1)), thoughts=(thought,))
    answer = joined((asked, result(3, 2, call(1)), last(4, 3)))
    assert (answer.id, answer.text, answer.thoughts) == (4, "Let me look.\n\nTake an umbrella.", (thought,))
    assert answer.statistics is not None
    assert answer.statistics.reply_tokens == 2 * STATISTICS.reply_tokens
    assert answer.statistics.reply_s == 2 * STATISTICS.reply_s
    assert answer.statistics.prompt_tokens == STATISTICS.prompt_tokens


def test_one_that_was_stopped_in_the_middle_says_so() -> None:
    done = replace(STATISTICS, stop_reason=StopReason.END)
    asked = replace(calling(2, 1, call(1)), statistics=done)
    found = joined((asked, result(3, 2, call(1)))).statistics
    assert found is not None
    assert found.stop_reason is StopReason.STOPPED
    assert joined((result(3, 2, call(1)),)).id == 3


def test_all_versions_of_an_answer_can_be_reached() -> None:
    answer = conversation()[1:]
    assert versions(answer, {}) == ((), 2)
    assert versions(answer, {2: (2, 9)}) == ((2, 9), 2), "it was written again from the start"
    assert versions(answer, {5: (5, 8)}) == ((5, 8), 5), "its end was continued"
    assert versions(answer, {2: (2, 9), 5: (5, 8)}) == ((5, 8, 9), 5)
    assert versions(answer, {2: (2,)}) == ((), 2)
