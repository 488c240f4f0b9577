"""How a target is told of tools, calls them, and is told what came of that, in the words of its own chat template.

As with thoughts, all of it is found from what the template does with a small conversation; nothing is known of any
model by its name. Templates write calls in one of three shapes:

    object   <tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>, or a list of such objects
    named    [TOOL_CALLS]f[ARGS]{"a": 1}
    tagged   <function=f><parameter=a>1</parameter></function>

If a template describes tools and calls have another shape, `call_parsing.py` knows some more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

from engine.speculation.model.chat.thinking import Written
from engine.speculation.model.prompt_text import PromptText, joined
from engine.values.conversations import Role
from engine.values.errors import TemplateFailed
from engine.values.tools import Tool, ToolCall, told_names

_NAME, _SECOND, _KEY, _VALUE, _NEXT_KEY, _NEXT_VALUE = "wodan", "heimdall", "baldur", "loki", "frigg", "njord"
_QUESTION, _ANSWER, _RESULT, _ID = "Freya?", "Qwertz.", "thor", "aBcD12345"
_TAG = re.compile(r"[<\[][^<>\[\]\s]*[>\]]")
_THINKING = re.compile("think|reason|thought", re.IGNORECASE)
_DEEPEST = 64  # arrays and objects within each other, of arguments and schemas


class Shape(Enum):
    OBJECT = auto()
    NAMED = auto()
    TAGGED = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class ToolFormat:
    shape: Shape
    open: str  # before the object, the list of them, or the name
    close: str  # after it; empty: the end of the reply
    middle: str = ""  # between the name and the arguments
    name_key: str = "name"  # of the object; empty: the name is the key of the arguments
    arguments_key: str = "arguments"  # of the object
    id_key: str = ""  # of the object; empty: it has none
    is_list: bool = False
    key_open: str = ""  # of tagged arguments: before each key, between key and value, after each value
    key_close: str = ""
    value_close: str = ""
    takes_text: bool = False  # the template wants the arguments as a text
    takes_many: bool = True  # a message may have several calls
    writes_calls: bool = True  # else the template leaves calls of earlier replies out: they are written as text

    @property
    def tag(self) -> str:
        """The first letters that show that a call begins; empty: an object at the beginning of the reply is one."""
        tags = [each for each in _TAG.findall(self.open) if not _THINKING.search(each)]
        return tags[0] if tags else self.open.strip()

    def opening(self, name: str = "") -> str:
        """The beginning of a call, as the template writes it: of this tool, or of any. Empty if that is not known."""
        if self.shape is Shape.OBJECT and self.name_key == "name":
            begun = f'{self.open.lstrip()}{"[" if self.is_list else ""}{{"name": "'
            return f'{begun}{name}", "{self.arguments_key}": ' if name else begun
        if self.shape in (Shape.NAMED, Shape.TAGGED):
            return self.open.lstrip() + name
        return ""

    def message(self, text: Any, calls: Sequence[ToolCall], names: Mapping[ToolCall, str]) -> dict[str, Any]:
        """A reply that calls, as the template sees it. `names`: as the model was given them."""
        if not self.writes_calls:
            called = "\n".join(spelled(names[call], call.arguments) for call in calls)
            return {"role": Role.ASSISTANT.value, "content": joined(filter(None, (text, PromptText(called))))}
        told = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": PromptText(names[call]),
                    "arguments": PromptText(call.arguments) if self.takes_text else said(parsed_object(call.arguments)),
                },
            }
            for call in calls
        ]
        return {"role": Role.ASSISTANT.value, "content": text, "tool_calls": told}


# For templates that know no tools: they are described in the system text, as Hermes and Qwen were taught.
DESCRIBED = ToolFormat(Shape.OBJECT, "<tool_call>\n", "\n</tool_call>", writes_calls=False)
DESCRIPTION = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with function "
    "signatures within <tools></tools> XML tags:\n<tools>\n{tools}\n</tools>\n\nFor each function call, return a json "
    "object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n"
    '{{"name": <function-name>, "arguments": <args-json-object>}}\n</tool_call>'
)


def description_of(tools: Sequence[Tool]) -> str:
    """The tools in words for a model whose template has no place for them."""
    return DESCRIPTION.format(tools="\n".join(json.dumps(each, ensure_ascii=False) for each in declared(tools)))


def spelled(name: str, arguments: str) -> str:
    told = {"name": name, "arguments": parsed_object(arguments)}
    return f"<tool_call>\n{json.dumps(told, ensure_ascii=False)}\n</tool_call>"


def declared(tools: Sequence[Tool], is_described: bool = False) -> list[dict[str, Any]]:
    """The tools as templates read them. All letters of servers count as said. `is_described`: each argument has a
    description, as some templates insist."""
    found = []
    for name, tool in told_names(tools).items():
        schema = parsed_object(tool.schema) or {"type": "object", "properties": {}}
        if is_described and isinstance(properties := schema.get("properties"), dict):
            told = {key: {"description": "", **each} for key, each in properties.items() if isinstance(each, dict)}
            schema = schema | {"properties": properties | told}
        about = {"name": name, "description": tool.description, "parameters": schema}
        found.append({"type": "function", "function": said(about)})
    return found


def parsed_object(text: str) -> dict[str, Any]:
    """The object in a text of JSON; empty if it is no object, or nested too deeply."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and not is_deeper(found, _DEEPEST) else {}


def is_deeper(value: Any, most: int) -> bool:
    """True if more than `most` arrays and objects are nested."""
    level = [value]
    for _ in range(most):
        level = [each for one in level for each in _inside(one)]
        if not level:
            return False
    return True


def _inside(value: Any) -> list[Any]:
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for each in values if isinstance(each, dict | list)]


def said(value: Any) -> Any:
    """The value with texts that count as said by people or models."""
    if isinstance(value, str):
        return PromptText(value)
    if isinstance(value, dict):
        return {PromptText(str(key)): said(each) for key, each in value.items()}
    return [said(each) for each in value] if isinstance(value, list) else value


def tool_format_of(written: Written) -> ToolFormat | None:
    """The format; None for a template that does not describe tools to the model."""
    probe = _ToolProbe(written)
    if not probe.tells_tools():
        return None
    other = ToolFormat(Shape.OTHER, "", "", writes_calls=False)
    for takes_text in (False, True):
        arguments = {_KEY: _VALUE, _NEXT_KEY: _NEXT_VALUE}
        call = probe.call(json.dumps(arguments) if takes_text else arguments)
        found = _object(call) or _named(call) or (None if takes_text else _tagged(call))
        if found is not None:
            return probe.completed(found, takes_text)
        if call and not other.writes_calls:
            other = probe.completed(replace(other, writes_calls=True), takes_text)
    return other


@dataclass(frozen=True, slots=True)
class _ToolProbe:
    """Has a template write small conversations. What it refuses to write is empty."""

    written: Written

    def tells_tools(self) -> bool:
        return _NAME in self._write([_asked()], True)

    def call(self, arguments: Any) -> str:
        """The part that a reply with this call has and one without it has not."""
        plain = self._write([_asked(), _replied(_ANSWER)], False)
        called = self._write([_asked(), _replied("", _called(_NAME, arguments)), _resulted()], False)
        before, found, after = plain.partition(_ANSWER)
        alone = self._write([_asked(), _replied("", _called(_NAME, arguments))], False)
        if not found or _NAME not in (alone or called):
            return ""
        text = alone if _NAME in alone else called
        start = _num_shared(before, text)
        while start and text[:start].rfind("<") > text[:start].rfind(">") and text[start - 1] != "\n":
            start = text.rfind("<", 0, start)  # in the middle of a tag that both have the beginning of
        end = len(text) - _num_shared(after[::-1], text[start:][::-1])
        if text is called:
            end = text.find(_RESULT) if _RESULT in text else len(text)
        while end < len(text) and text.rfind("<", start, end) > text.rfind(">", start, end):
            end = text.find(">", end) + 1 or len(text)  # the same at the end
        return text[start:end]

    def completed(self, found: ToolFormat, takes_text: bool) -> ToolFormat:
        arguments: Any = {_KEY: _VALUE}
        arguments = json.dumps(arguments) if takes_text else arguments
        two = [*_called(_NAME, arguments), *_called(_SECOND, arguments)]
        text = self._write([_asked(), _replied("", two), _resulted(), _resulted()], True)
        return replace(found, takes_text=takes_text, takes_many=_SECOND in text[text.find(_QUESTION) :])

    def _write(self, messages: Sequence[Mapping[str, Any]], begins: bool) -> str:
        try:
            return self.written(messages, begins, {"tools": [_TOOL, _OTHER_TOOL]})
        except TemplateFailed:
            return ""


def _num_shared(one: str, other: str) -> int:
    """The number of equal letters at the beginning."""
    return next(
        (place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )


def _tool(name: str) -> dict[str, Any]:
    properties = {key: {"type": "string", "description": "A text."} for key in ("first", "second")}
    schema = {"type": "object", "properties": properties, "required": []}
    return {"type": "function", "function": {"name": name, "description": "A tool.", "parameters": schema}}


_TOOL, _OTHER_TOOL = _tool(_NAME), _tool("sleipnir")


def _asked() -> dict[str, Any]:
    return {"role": Role.USER.value, "content": _QUESTION}


def _replied(text: str, calls: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    return {"role": Role.ASSISTANT.value, "content": text, **({"tool_calls": [*calls]} if calls else {})}


def _called(name: str, arguments: Any) -> list[dict[str, Any]]:
    return [{"id": _ID, "type": "function", "function": {"name": name, "arguments": arguments}}]


def _resulted() -> dict[str, Any]:
    return {"role": Role.TOOL.value, "content": _RESULT, "tool_call_id": _ID, "name": _NAME}


def _object(call: str) -> ToolFormat | None:
    for start in (place for place, letter in enumerate(call) if letter in "[{"):
        try:
            value, end = json.JSONDecoder().raw_decode(call, start)
        except ValueError:
            continue
        is_list = isinstance(value, list)
        first = value[0] if is_list and value else value
        if not isinstance(first, dict):
            continue
        keys = {str(each): key for key, each in first.items() if isinstance(each, str)}
        arguments = next((key for key, each in first.items() if _is_arguments(each)), None)
        if arguments is None or (_NAME not in keys and arguments != _NAME):
            continue
        name_key = keys.get(_NAME, "")
        id_key = next((key for key in first if key not in (name_key, arguments)), "")
        found = ToolFormat(Shape.OBJECT, call[:start], call[end:], is_list=is_list)
        return replace(found, name_key=name_key, arguments_key=arguments if name_key else "", id_key=id_key)
    return None


def _is_arguments(value: Any) -> bool:
    return (parsed_object(value) if isinstance(value, str) else value) == {_KEY: _VALUE, _NEXT_KEY: _NEXT_VALUE}


def _named(call: str) -> ToolFormat | None:
    place = call.find(_NAME)
    after = place + len(_NAME)
    start = call.find("{", after)
    if place < 0 or start < 0:
        return None
    if call[start - 1 : start] == '"':  # a text of JSON
        start -= 1
    try:
        value, end = json.JSONDecoder().raw_decode(call, start)
    except ValueError:
        return None
    if not _is_arguments(value):
        return None
    return ToolFormat(Shape.NAMED, call[:place], call[end:], call[after:start])


def _tagged(call: str) -> ToolFormat | None:
    places = [call.find(each) for each in (_NAME, _KEY, _VALUE, _NEXT_KEY, _NEXT_VALUE)]
    if -1 in places or places != sorted(places):
        return None
    name, key, value, next_key, next_value = places
    before_key = call[name + len(_NAME) : key]
    key_close = call[key + len(_KEY) : value]
    between = call[value + len(_VALUE) : next_key]
    after = call[next_value + len(_NEXT_VALUE) :]
    key_open = before_key[len(before_key) - _num_shared(before_key[::-1], between[::-1]) :]
    key_open = key_open[key_open.find(">") + 1 :] if ">" in key_open.partition("<")[0] else key_open  # of a tag before
    value_close = between[: _num_shared(between, after)]
    if not (key_open.strip() and value_close.strip() and key_close):
        return None
    value_close = value_close[: len(between) - len(key_open)] or value_close
    middle = before_key[: len(before_key) - len(key_open)]
    close = after[len(value_close) :]
    found = ToolFormat(Shape.TAGGED, call[:name], close, middle)
    return replace(found, key_open=key_open, key_close=key_close, value_close=value_close)
