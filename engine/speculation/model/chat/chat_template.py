"""The chat template in a GGUF file: a stranger's program that turns messages into the text of a prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import product
from types import MappingProxyType
from typing import Any

from engine.speculation.model.chat import template_apart, template_rendering
from engine.speculation.model.chat.families import CHATML, FAMILIES, TEXT, family_of
from engine.speculation.model.chat.template_apart import Patience
from engine.speculation.model.chat.template_rendering import Refused
from engine.speculation.model.chat.thinking import NO_THINKING, ThinkingStyle, Written, thinking_of
from engine.speculation.model.chat.told_turns import as_plain, is_plain, messages_of, tellings, with_described
from engine.speculation.model.chat.tool_format import ToolFormat, declared, said, tool_format_of
from engine.speculation.model.interface import Vocabulary
from engine.speculation.model.prompt_text import PromptText, num_pictures_in
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import TemplateExhausted, TemplateFailed
from engine.values.sentences import Sentence, say, shortened, template
from engine.values.tools import Tool

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
_EFFORT = "reasoning_effort"
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
        more: Mapping[str, Any] = MappingProxyType({}),
    ) -> PromptText:
        """The prompt up to where the reply begins. All renderings of one prompt share their patience. `thinks`: whether
        the target shall think, if the template has a switch for that; None: the template's default. `tools`: those the
        target may call, described in the system text if the template has no place for them. `more`: what a program
        tells the template besides."""
        if self.tool_format is None:
            turns, tools = with_described(turns, tools) if tools else as_plain(turns), ()
        asked = _Asked(thinking, {**thinking.names(thinks), **said(dict(more))}, tools, patience or Patience())
        system = [turn.text.strip() for turn in turns if turn.role is Role.SYSTEM]
        text: PromptText | None = None
        failure: TemplateFailed | None = None
        described = [declared(tools), declared(tools, is_described=True)] if tools else [[]]
        for told, telling in product(described, tellings(turns)):
            named = replace(asked, names={**asked.names, _TOOLS: told} if told else asked.names)
            try:
                text = self._render(telling, named)
            except TemplateExhausted:
                raise
            except TemplateFailed as error:  # some refuse late system texts, a call without its result, and more
                failure = failure or error
                continue
            if all(each in text for each in system):  # some leave them out without a word
                break
        if text is None and _EFFORT in more:  # in a word that this template does not know
            others = {name: value for name, value in more.items() if name != _EFFORT}
            return self.render(turns, patience, thinking, thinks, tools, others)
        if text is None:
            raise failure or _failed("")
        return text

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
        told = [each["function"] for each in names.get(_TOOLS, ())]
        # Firefunction's own names for the tools, as a text, and for the day.
        makers = {"functions": PromptText(json.dumps(told, indent=4) if told else ""), "datetime": f"{date.today()}"}
        makers = makers if "functions" in self.source else {}
        known = {**makers, **names, "messages": [*messages], "add_generation_prompt": begins, **self._tokens}
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


def _is_told(text: str, turns: Sequence[ChatTurn]) -> bool:
    """True if a prompt contains the last message and all pictures."""
    num_pictures = sum(len(turn.pictures) for turn in turns)
    return num_pictures_in(text) == num_pictures and (not turns or turns[-1].text.strip() in text)


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
