"""The chat template that a GGUF file carries: a program from a stranger that turns messages into a prompt's text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from engine.errors import TemplateExhausted, TemplateFailed
from engine.messages.conversations import ChatTurn, Role
from engine.messages.tools import Tool
from engine.sentences import Sentence, say, shortened
from engine.target.interface import Interrupted
from engine.target.prompt_text import PromptText, num_pictures_in
from engine.target.template_program import Program
from engine.target.template_values import Budget, OverBudget, Patience
from engine.target.thinking import NO_THINKING, Thinking, Written, thinking_of
from engine.target.tool_format import ToolFormat, declared, tool_format_of
from engine.target.tool_turns import as_plain, is_plain, messages_of, num_said_in, num_told_of

# What llama.cpp falls back to as well for models that carry none.
CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

# Characters that a template may write, where tools count as said: little comes of what was not said. Those of seventy
# models write up to six for each that was said, sixty for each message, and some thousands by themselves.
_WRITTEN_PER_CHARACTER, _WRITTEN_PER_MESSAGE, _WRITTEN = 8, 500, 100_000
_PART = re.compile(r"""\[\s*['"]type['"]\s*\]|\.type\b""")  # a message may be a list of parts, each of a type
_TOOLS = "tools"  # the name by which templates are told of them
_MAX_REASON = 120  # characters of what a template says for itself


class ChatTemplate:
    """Renders turns the way the target was trained to read them. Constructor and `render` raise TemplateFailed, and
    `render` raises Interrupted when its patience is stopped. Used by
    one thread at a time."""

    def __init__(self, source: str | None, begin: str, end: str) -> None:
        """`begin` and `end` are the texts of the target's own first and last special token ("" where it has none)."""
        self._tokens = {"bos_token": begin, "eos_token": end}
        self._source = source or CHATML
        self._reads_parts = bool(_PART.search(self._source))
        try:
            self._program = Program(self._source)
        # The parser meets what a stranger wrote, and can raise whatever Python can.
        except Exception as error:
            raise _failed(error) from error

    def render(
        self,
        turns: Sequence[ChatTurn],
        patience: Patience | None = None,
        thinking: Thinking = NO_THINKING,
        thinks: bool | None = None,
        tools: Sequence[Tool] = (),
    ) -> PromptText:
        """The prompt up to where the reply begins. Renderings for one prompt share their patience. `thinks`: whether
        the target is to think, where the template has a switch for it; None: as the template has it. `tools`: that it
        may call, where the template knows any."""
        if self.tool_format is None:
            turns, tools = as_plain(turns), ()
        asked = _Asked(thinking, thinking.names(thinks) | ({"tools": declared(tools)} if tools else {}), tools)
        patience = patience or Patience()
        with patience.lent() as seconds:
            budget = Budget(sum(map(num_said_in, turns)) + num_told_of(tools), seconds, patience.stop)
            turns = _joined(turns)
            system = [turn.text for turn in turns if turn.role is Role.SYSTEM]
            if not system:
                return self._render(turns, budget, asked)
            try:
                text = self._render(turns, budget, asked)
            except TemplateFailed:
                text = PromptText("")
            # Some models know no system role: their template refuses it, or leaves it out without a word.
            is_told = system[0].strip() in text
            return text if is_told else self._render(_system_within_prompt(turns), budget, asked)

    def thinking(self, pieces: Sequence[bytes]) -> Thinking:
        """What it does with thoughts, as it shows in small conversations, within the patience for one prompt.
        `pieces`: the tokens of the vocabulary."""
        return thinking_of(self._source, self._patiently(), pieces)

    @cached_property
    def tool_format(self) -> ToolFormat | None:
        """How the target calls tools, as it shows in small conversations, too; None: it does not know how to."""
        return tool_format_of(self._patiently()) if _TOOLS in self._source else None

    def _patiently(self) -> Written:
        """Writes small conversations, within the patience for one prompt."""
        patience = Patience()

        def written(messages: Sequence[Mapping[str, Any]], begins: bool, names: Mapping[str, Any]) -> str:
            with patience.lent() as seconds:
                return self._run(messages, begins, names, Budget(0, seconds))

        return written

    def _render(self, turns: Sequence[ChatTurn], budget: Budget, asked: _Asked) -> PromptText:
        if self.tool_format is None or all(map(is_plain, turns)):
            messages: list[dict[str, Any]] = [asked.thinking.message(turn) for turn in turns]
        else:
            messages = messages_of(turns, asked.thinking, self.tool_format, asked.tools)
        text = self._run(messages, True, asked.names, budget)
        if self._reads_parts and not _is_told(text, turns):  # some read messages only where they come in parts
            in_parts = self._run([_in_parts(message) for message in messages], True, asked.names, budget)
            text = in_parts if _is_told(in_parts, turns) else text
        if num_pictures_in(text) != sum(len(turn.pictures) for turn in turns):
            raise _failed(say("it has no place for pictures"))
        if not text:
            raise _failed(say("it writes nothing"))
        num_said = sum(map(num_said_in, turns)) + num_told_of(asked.tools)
        if len(text) > _WRITTEN + _WRITTEN_PER_MESSAGE * len(turns) + _WRITTEN_PER_CHARACTER * num_said:
            raise _failed(OverBudget(say("it writes far more than was said")))
        return text if isinstance(text, PromptText) else PromptText(text, bytes(len(text)))

    def _run(
        self, messages: Sequence[Mapping[str, Any]], begins: bool, names: Mapping[str, Any], budget: Budget
    ) -> str:
        known = {"messages": [*messages], "add_generation_prompt": begins, **self._tokens, **names}
        try:
            return self._program.run(known, budget)
        except Interrupted:
            raise
        # The same goes for what the template does.
        except Exception as error:
            raise _failed(error) from error


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one prompt is rendered with."""

    thinking: Thinking
    names: Mapping[str, Any]  # that the template is told
    tools: Sequence[Tool]


def _joined(turns: Sequence[ChatTurn]) -> list[ChatTurn]:
    """Joins neighbouring turns of one role: many templates insist on alternation, and a prompt may have no reply."""
    joined: list[ChatTurn] = []
    for turn in turns:
        if joined and joined[-1].role is turn.role and is_plain(joined[-1]) and is_plain(turn):
            before = joined[-1]
            thought = "\n\n".join(filter(None, (before.thought, turn.thought)))
            text = f"{before.text}\n\n{turn.text}"
            joined[-1] = ChatTurn(turn.role, text, thought, (*before.pictures, *turn.pictures))
        else:
            joined.append(turn)
    return joined


def _is_told(text: str, turns: Sequence[ChatTurn]) -> bool:
    """Whether a prompt says what was said last, and has all pictures."""
    num_pictures = sum(len(turn.pictures) for turn in turns)
    return num_pictures_in(text) == num_pictures and (not turns or turns[-1].text.strip() in text)


def _in_parts(message: Mapping[str, Any]) -> dict[str, Any]:
    return {**message, "content": [{"type": "text", "text": message["content"]}]}


def _system_within_prompt(turns: Sequence[ChatTurn]) -> list[ChatTurn]:
    system = "\n\n".join(turn.text for turn in turns if turn.role is Role.SYSTEM)
    others = [turn for turn in turns if turn.role is not Role.SYSTEM]
    return [replace(others[0], text=f"{system}\n\n{others[0].text}"), *others[1:]] if others else []


def _failed(reason: Exception | str) -> TemplateFailed:
    if isinstance(reason, RecursionError):
        reason = say("it is nested too deeply")
    why = reason.args[0] if isinstance(reason, Exception) and reason.args else reason
    if not isinstance(why, Sentence):  # Python's words, or the template's own
        why = shortened(next(iter(str(reason).strip().splitlines()), ""), _MAX_REASON)
        why = "".join(filter(str.isprintable, why)) or say("it does not say why")
    kind = TemplateExhausted if isinstance(reason, OverBudget) else TemplateFailed
    return kind(
        say(
            "The chat template inside this model cannot be used ({reason}); choose another model, or another file of "
            "it.",
            reason=why,
        )
    )
