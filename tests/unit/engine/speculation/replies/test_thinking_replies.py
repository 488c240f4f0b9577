"""Replies of a target that thinks: what is kept, what the next prompt reuses, and where a budget ends a thought."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.speculation.decoding.speculation import Speculation, open_speculation
from engine.speculation.numerics.draft_length import FixedCosts
from engine.speculation.proposers import catalogue
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.interface import Supplies
from engine.speculation.replies.reply import ReplyWriter
from engine.speculation.replies.writing import Reply
from engine.values.config import ReplySettings, SamplingSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.replies import StopReason, Thought
from engine.values.stop_signal import StopSignal
from tests.fakes.listener import RecordingReply
from tests.fakes.thinker import ANSWER, THOUGHT, Thinker
from tests.fakes.thinking_templates import OPEN_IN_PROMPT

SETTINGS = ReplySettings(SamplingSettings(temperature=0))
HI = ChatTurn(Role.USER, "Hi")
REPEATED = "so it is, and so it is, and so it is, and so it is, and so it is, and so it is"


def write(writer: ReplyWriter, *turns: ChatTurn, settings: ReplySettings = SETTINGS) -> Reply:
    prepared = writer.prepare(turns, 1, thinks=settings.asks_to_think)
    return writer.write(prepared, settings, StopSignal(), RecordingReply())


def recalling(target: Thinker) -> Speculation:
    """Checking guesses costs nothing."""
    costs = FixedCosts({1: 1.0, 16: 1.0})
    return open_speculation(DraftPolicy(costs), Supplies(target), catalogue.paying(costs, None), at_once=True)


@pytest.mark.parametrize("template", [None, OPEN_IN_PROMPT], ids=["opened by the reply", "opened by the prompt"])
def test_a_thought_is_no_part_of_the_reply_and_leaves_the_next_prompt(template: str | None) -> None:
    target = Thinker(**({} if template is None else {"chat_template": template}))
    writer = ReplyWriter(target)
    first = write(writer, HI)
    (thought,) = first.thoughts
    assert (first.text, thought.place, thought.text, thought.is_whole) == (ANSWER, 0, THOUGHT, True)
    assert sum(run.num_characters for run in thought.origins) == len(THOUGHT)
    assert sum(run.num_characters for run in first.statistics.origins) == len(ANSWER)
    second = write(writer, HI, ChatTurn(Role.ASSISTANT, first.text, thought.text), ChatTurn(Role.USER, "So?"))
    begun = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    assert target.text.startswith(f"{begun}{ANSWER}<|im_end|>\n<|im_start|>user\nSo?")
    known = second.statistics.prompt_tokens - second.statistics.evaluated_tokens
    assert known == len(target.tokenize(begun)), "the common beginning is reused, and nothing of the thought"


@pytest.mark.parametrize("budget", [1, 2, 9, 40, 41, 42])
def test_a_budget_ends_a_thought_after_so_many_tokens_also_where_drafts_run_on(budget: int) -> None:
    plain, drafted = Thinker(REPEATED), Thinker(REPEATED)
    settings = replace(SETTINGS, max_thought=budget)
    reply = write(ReplyWriter(plain), HI, settings=settings)
    sped_up = write(ReplyWriter(drafted, recalling(drafted)), HI, settings=settings)
    spelled = plain.text.split("<think>")[1].split("</think>")[0]
    assert spelled == f"\n{REPEATED}"[:budget] + "\n"
    assert (drafted.text, sped_up.text, sped_up.tokens) == (plain.text, ANSWER, reply.tokens)
    if budget >= 40:
        assert sped_up.statistics.num_accepted > 8, "earlier text is drafted inside thoughts, too"


def test_nothing_is_learned_from_what_a_budget_forces() -> None:
    settings = replace(SETTINGS, max_thought=9, keeps_distributions=True)
    reply = write(ReplyWriter(Thinker(REPEATED)), HI, settings=settings)
    assert reply.verified is not None
    assert reply.verified.tokens.tolist() == list(reply.tokens[: 1 + 9])


@pytest.mark.parametrize("most", [12, 36])
def test_a_reply_that_was_cut_off_goes_on_in_its_thought_or_its_answer(most: int) -> None:
    whole = Thinker()
    write(ReplyWriter(whole), HI)
    target = Thinker()
    writer = ReplyWriter(target)
    cut = write(writer, HI, settings=replace(SETTINGS, max_tokens=most))
    assert cut.statistics.stop_reason is StopReason.LENGTH
    prepared = writer.prepare([HI], 1, cut.text, cut.thoughts)
    rest = writer.write(prepared, SETTINGS, StopSignal(), RecordingReply())
    assert target.text == whole.text
    assert rest.statistics.evaluated_tokens == 1
    assert cut.text + rest.text == ANSWER
    assert "".join(each.text for each in (*cut.thoughts, *rest.thoughts)) == THOUGHT


def test_a_target_that_is_told_does_not_think() -> None:
    target = Thinker()
    writer = ReplyWriter(target)
    assert writer.thinks_unless_told is True
    reply = write(writer, HI, settings=replace(SETTINGS, thinks=False))
    assert (reply.text, reply.thoughts) == (ANSWER, ())
    assert ReplyWriter(Thinker(chat_template=OPEN_IN_PROMPT)).thinks_unless_told is None


def test_a_reply_that_ends_in_a_thought_has_no_text() -> None:
    reply = write(ReplyWriter(Thinker()), HI, settings=replace(SETTINGS, max_tokens=5))
    assert (reply.text, [(each.text, each.is_whole) for each in reply.thoughts]) == ("", [("Fir", False)])
    assert isinstance(reply.thoughts[0], Thought)
