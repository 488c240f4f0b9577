"""The chat template in a GGUF file: a stranger's program that turns messages into the text of a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from engine.speculation.model.chat import template_apart, template_rendering
from engine.speculation.model.chat.families import CHATML, FAMILIES, TEXT, family_of
from engine.speculation.model.chat.template_apart import Patience
from engine.speculation.model.chat.template_rendering import Refused
from engine.speculation.model.chat.thinking import NO_THINKING, ThinkingStyle, Written, thinking_of
from engine.speculation.model.chat.tool_format import ToolFormat, declared, tool_format_of
from engine.speculation.model.interface import Vocabulary
from engine.speculation.model.prompt_text import PromptText, num_pictures_in
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import TemplateExhausted, TemplateFailed
from engine.values.sentences import Sentence, say, shortened, template
from engine.values.tools import Tool, ToolCall, told_names

# The starter's own. Templates that come with the app are rendered here, those of strangers in a process of their own.
_STARTER = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}"
    "{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
OURS = frozenset({TEXT, _STARTER, *(each.source for each in FAMILIES)})

# Characters that a template may write; tools count as said. The templates of seventy models write up to six for each
# character that was said, sixty for each message, and some thousands in any case.
_WRITTEN_PER_CHARACTER, _WRITTEN_PER_MESSAGE, _WRITTEN = 8, 500, 100_000
_LONGEST_SOURCE = 128_000  # characters: the longest of seventy has 17,000
_PART = re.compile(r"""\[\s*['"]type['"]\s*\]|\.type\b""")  # a message may be a list of parts, each of a type
_TOOLS = "tools"  # the name by which templates are told of them
_MAX_REASON = 120  # characters of what a template says for itself
CHOSEN_TEMPLATE = template(
    "The chat template that you chose cannot be used ({reason}); choose another one on the model's page in the library."
)


def usual_template(vocabulary: Vocabulary, names: str) -> str:
    """The template of a model that brings none. `names`: those that its file has for it."""
    family = family_of(vocabulary.pieces, names)
    return TEXT if family is None else family.source


class ChatTemplate:
    """Renders turns the way the target was trained to read them. The constructor and `render` raise TemplateFailed;
    `render` raises Interrupted when its patience is stopped. One thread at a time may use it."""

    def __init__(self, source: str | None, begin: str, end: str) -> None:
        """`begin` and `end`: the texts of the target's first and last special token ("" if it has none)."""
        self._tokens = {"bos_token": begin, "eos_token": end}
        self.source = source or CHATML
        self._reads_parts = bool(_PART.search(self.source))
        if len(self.source) > _LONGEST_SOURCE:
            raise _failed(say("it has more than {most:,} characters", most=_LONGEST_SOURCE))
        if self.source not in OURS:
            try:
                template_apart.check(self.source)
            except Refused as error:
                raise _failed(error.reason) from error

    def render(
        self,
        turns: Sequence[ChatTurn],
        patience: Patience | None = None,
        thinking: ThinkingStyle = NO_THINKING,
        thinks: bool | None = None,
        tools: Sequence[Tool] = (),
    ) -> PromptText:
        """The prompt up to where the reply begins. All renderings of one prompt share their patience. `thinks`: whether
        the target shall think, if the template has a switch for that; None: the template's default. `tools`: those the
        target may call, if the template supports tools."""
        if self.tool_format is None:
            turns, tools = as_plain(turns), ()
        names = thinking.names(thinks) | ({"tools": declared(tools)} if tools else {})
        asked = _Asked(thinking, names, tools, patience or Patience())
        turns = _joined(turns)
        system = [turn.text for turn in turns if turn.role is Role.SYSTEM]
        if not system:
            return self._render(turns, asked)
        try:
            text = self._render(turns, asked)
        except TemplateFailed:
            text = PromptText("")
        # Some models know no system role: their template refuses it, or leaves it out without a word.
        is_told = system[0].strip() in text
        return text if is_told else self._render(_system_within_prompt(turns), asked)

    def thinking(self, pieces: Sequence[bytes]) -> ThinkingStyle:
        """How the template treats thoughts, found by rendering small conversations within the time for one prompt.
        `pieces`: the tokens of the vocabulary."""
        return thinking_of(self.source, self._patiently(), pieces)

    @cached_property
    def tool_format(self) -> ToolFormat | None:
        """How the target calls tools, found in the same way; None: it cannot."""
        return tool_format_of(self._patiently()) if _TOOLS in self.source else None

    def _patiently(self) -> Written:
        """A function that renders small conversations, all within the patience for one prompt."""
        patience = Patience()

        def written(messages: Sequence[Mapping[str, Any]], begins: bool, names: Mapping[str, Any]) -> str:
            return self._run(messages, begins, names, _WRITTEN, patience)

        return written

    def _render(self, turns: Sequence[ChatTurn], asked: _Asked) -> PromptText:
        if self.tool_format is None or all(map(is_plain, turns)):
            messages: list[dict[str, Any]] = [asked.thinking.message(turn) for turn in turns]
        else:
            messages = messages_of(turns, asked.thinking, self.tool_format, asked.tools)
        num_said = sum(map(num_said_in, turns)) + num_told_of(asked.tools)
        most = _WRITTEN + _WRITTEN_PER_MESSAGE * len(turns) + _WRITTEN_PER_CHARACTER * num_said
        text = self._run(messages, True, asked.names, most, asked.patience)
        if self._reads_parts and not _is_told(text, turns):  # some read messages only where they come in parts
            parts = [{**each, "content": [{"type": "text", "text": each["content"]}]} for each in messages]
            in_parts = self._run(parts, True, asked.names, most, asked.patience)
            text = in_parts if _is_told(in_parts, turns) else text
        if num_pictures_in(text) != sum(len(turn.pictures) for turn in turns):
            raise _failed(say("it has no place for pictures"))
        if not text:
            raise _failed(say("it writes nothing"))
        return text

    def _run(
        self,
        messages: Sequence[Mapping[str, Any]],
        begins: bool,
        names: Mapping[str, Any],
        most: int,
        patience: Patience,
    ) -> PromptText:
        known = {"messages": [*messages], "add_generation_prompt": begins, **self._tokens, **names}
        try:
            if self.source in OURS:
                return template_rendering.rendered(self.source, known, most)
            return template_apart.rendered(self.source, known, most, patience)
        except Refused as error:
            raise _failed(error.reason, error.is_exhausted) from error


@dataclass(frozen=True, slots=True)
class _Asked:
    """The options of one prompt."""

    thinking: ThinkingStyle
    names: Mapping[str, Any]  # more variables of the template
    tools: Sequence[Tool]
    patience: Patience


def _joined(turns: Sequence[ChatTurn]) -> list[ChatTurn]:
    """Joins adjacent turns of one role: many templates insist on alternation, and a prompt may lack its reply."""
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
    """True if a prompt contains the last message and all pictures."""
    num_pictures = sum(len(turn.pictures) for turn in turns)
    return num_pictures_in(text) == num_pictures and (not turns or turns[-1].text.strip() in text)


def _system_within_prompt(turns: Sequence[ChatTurn]) -> list[ChatTurn]:
    system = "\n\n".join(turn.text for turn in turns if turn.role is Role.SYSTEM)
    others = [turn for turn in turns if turn.role is not Role.SYSTEM]
    return [replace(others[0], text=f"{system}\n\n{others[0].text}"), *others[1:]] if others else []


def _failed(reason: str, is_exhausted: bool = False) -> TemplateFailed:
    if not isinstance(reason, Sentence):  # Python's words, or the template's own
        first = shortened(next(iter(reason.strip().splitlines()), ""), _MAX_REASON)
        reason = "".join(filter(str.isprintable, first)) or say("it does not say why")
    kind = TemplateExhausted if is_exhausted else TemplateFailed
    return kind(
        say(
            "The chat template inside this model cannot be used ({reason}); choose another model, or another file of "
            "it.",
            reason=reason,
        )
    )


def num_said_in(turn: ChatTurn) -> int:
    return len(turn.text) + len(turn.thought) + sum(len(each.arguments) for each in turn.calls)


def num_told_of(tools: Sequence[Tool]) -> int:
    return sum(len(each.name) + len(each.description) + len(each.schema) for each in tools)


def is_plain(turn: ChatTurn) -> bool:
    return not turn.calls and turn.role is not Role.TOOL


def as_plain(turns: Sequence[ChatTurn]) -> list[ChatTurn]:
    """The turns for a target that knows no tools: what was called, and what came of it, as text."""
    plain: list[ChatTurn] = []
    for turn in turns:
        if turn.role is Role.TOOL:
            name = "a tool" if turn.answers is None else turn.answers.tool
            plain.append(ChatTurn(Role.USER, f"[{name} answered: {turn.text}]"))
        elif turn.calls:
            called = "\n".join(f"[Called {each.tool} with {each.arguments}]" for each in turn.calls)
            plain.append(replace(turn, text="\n\n".join(filter(None, (turn.text, called))), calls=()))
        else:
            plain.append(turn)
    return plain


def messages_of(
    turns: Sequence[ChatTurn], thinking: ThinkingStyle, form: ToolFormat, tools: Sequence[Tool]
) -> list[dict[str, Any]]:
    told = {(tool.server, tool.name): name for name, tool in told_names(tools).items()}
    messages: list[dict[str, Any]] = []
    for turn in turns if form.takes_many else _one_by_one(turns):
        message: dict[str, Any] = dict(thinking.message(turn))
        if turn.calls:
            names = {each: _name(each, told) for each in turn.calls}
            message |= form.message(message["content"], turn.calls, names)
        if turn.answers is not None:
            message |= {"tool_call_id": turn.answers.id, "name": PromptText(_name(turn.answers, told))}
        messages.append(message)
    return messages


def _name(call: ToolCall, told: dict[tuple[str, str], str]) -> str:
    return told.get((call.server, call.tool), call.tool)


def _one_by_one(turns: Sequence[ChatTurn]) -> Iterator[ChatTurn]:
    """Each call as a separate reply, followed by its result."""
    waiting: list[ChatTurn] = []
    for turn in turns:
        if len(turn.calls) > 1:
            waiting = [
                replace(turn, calls=(call,), text=turn.text if not place else "", thought="" if place else turn.thought)
                for place, call in enumerate(turn.calls)
            ]
            yield waiting.pop(0)
        elif turn.role is Role.TOOL:
            found = next((each for each in waiting if each.calls[0] == turn.answers), None)
            if found is not None:
                waiting.remove(found)
                yield found
            yield turn
        else:
            yield turn
