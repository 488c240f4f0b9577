"""Finds the calls of tools in what a model wrote: in the shape of its own template, or in one of those that models fall
into nevertheless."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from engine.speculation.model.chat.tool_format import Shape, ToolFormat, is_deeper, parsed_object

# What opens calls, whatever the template: of Hermes and Qwen, Mistral, Llama 3.1, Granite, LFM2, and Llama's own words.
TAGS = (
    "<tool_call>",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<|tool_call|>",
    "<|tool_call_start|>",
    "<|tool_call>",
    "<function=",
)
MOST_CALLS = 16  # of one reply
_MOST_TEXT = 1_000_000  # characters that are looked at
_MOST_ARGUMENTS = 200_000  # characters
_DEEPEST = 64
_NAME_KEYS = ("name", "tool_name", "function", "tool")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
_WORD = r"[A-Za-z_][\w.-]{0,127}"
_FENCED = re.compile(r"\A\s*```(?:json|tool_call)?[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_XML = re.compile(rf"<function=(?P<name>{_WORD})>(?P<body>.*?)(?P<end></function>|\Z)", re.DOTALL)
_XML_ARGUMENT = re.compile(r"<parameter=(?P<key>[^<>\n]{1,128})>(?P<value>.*?)(?:</parameter>|\Z)", re.DOTALL)
_GEMMA = re.compile(rf"call:(?P<name>{_WORD})\s*(?=\{{)")
_MISTRAL = re.compile(rf"\[TOOL_CALLS\]\s*(?P<name>{_WORD})(?:\[CALL_ID\]\w+)?\[ARGS\](?=\{{)")
_QUOTED = re.compile(r'<\|"\|>(.*?)<\|"\|>', re.DOTALL)
_BARE_KEY = re.compile(r"(?<=[{,])\s*([A-Za-z_]\w*)\s*:")
_PYTHON = re.compile(rf"\[\s*(?={_WORD}\()")
_DECODER = json.JSONDecoder()
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_KINDS: dict[str, tuple[type, ...]] = {
    **{"number": (int, float), "array": (list,), "object": (dict,), "null": (type(None),), "string": (str,)}
}


@dataclass(frozen=True, slots=True)
class WrittenCall:
    name: str
    arguments: str  # a JSON object


@dataclass(frozen=True, slots=True)
class _Found:
    call: WrittenCall
    begin: int
    end: int


def find_calls(text: str, form: ToolFormat, schemas: Mapping[str, str]) -> tuple[WrittenCall, ...]:
    """The calls in a text that begins with a tag that opens calls, or with an object. `schemas`: of the arguments of
    the tools that there are, by name; inside tags, others are calls, too, so that the model can be told."""
    if len(text) > _MOST_TEXT:
        return ()
    types = _Types(schemas)
    tagged, xml = partial(_tagged, types=types), partial(_xml, types=types)
    ways: tuple[Callable[[str, ToolFormat], Iterator[_Found]], ...] = {
        Shape.OBJECT: (_objects,),
        Shape.NAMED: (_named, _objects),
        Shape.TAGGED: (tagged, xml, _objects),
        Shape.OTHER: (),
    }[form.shape] + (_gemma, xml, _mistral, _objects, _python)
    is_tagged = begins_call(text, form)
    for way in ways:
        found = [each.call for each in _firsts(way, text, form) if is_tagged or each.call.name in schemas]
        if found:
            return tuple(found)
    return ()


def find_untagged(text: str, form: ToolFormat, names: Collection[str]) -> tuple[WrittenCall, ...]:
    """The calls in a whole answer that is nothing but calls of existing tools, maybe in a block of code."""
    fenced = _FENCED.match(text[:_MOST_TEXT])
    bare = (fenced[1] if fenced else text).strip()
    if not bare.startswith(("{", "[")):
        return ()
    for way in (_objects, _python):
        found = list(_firsts(way, bare, form))
        is_all = bool(found) and not bare[: found[0].begin].strip("[ \n") and not bare[found[-1].end :].strip("] \n;,")
        if is_all and all(each.call.name in names for each in found):
            return tuple(each.call for each in found)
    return ()


def begins_call(text: str, form: ToolFormat) -> bool:
    return text.lstrip().startswith(tuple(filter(None, (form.tag, *TAGS))))


def _firsts(way: Callable[[str, ToolFormat], Iterator[_Found]], text: str, form: ToolFormat) -> Iterator[_Found]:
    for number, each in enumerate(way(text, form)):
        if number == MOST_CALLS:
            return
        if len(each.call.arguments) <= _MOST_ARGUMENTS:
            yield each


def _objects(text: str, form: ToolFormat) -> Iterator[_Found]:
    """Objects with a name and arguments, one after the other or in a list."""
    place = 0
    while (place := text.find("{", place)) >= 0:
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        call = _call_of(value, form)
        if call is None:
            place += 1
        else:
            yield _Found(call, place, end)
            place = end


def _call_of(value: Any, form: ToolFormat) -> WrittenCall | None:
    if not isinstance(value, dict) or is_deeper(value, _DEEPEST):
        return None
    if isinstance(value.get("function"), dict):
        value = value["function"]
    if not form.name_key and len(value) == 1:
        ((name, arguments),) = value.items()
        return _call(name, arguments)
    name = next((value[key] for key in (form.name_key, *_NAME_KEYS) if isinstance(value.get(key), str)), None)
    keys = (form.arguments_key, *_ARGUMENT_KEYS)
    given = [value[key] for key in keys if key in value]
    if name is None or (not given and len(value) > 1):
        return None
    return _call(name, given[0] if given else {})


def _call(name: str, arguments: Any) -> WrittenCall | None:
    """The call; None if the arguments are no object."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            return None
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict) or is_deeper(arguments, _DEEPEST):
        return None
    return WrittenCall(name.strip().removeprefix("functions."), json.dumps(arguments, ensure_ascii=False))


def _named(text: str, form: ToolFormat) -> Iterator[_Found]:
    """Finds a name, what stands between, and an object. What the template writes between may hold the number of the
    call."""
    middle = next((each for each in re.findall(r"[<\[]\|?[^<>\[\]\s]*[>\]]", form.middle)), form.middle.strip())
    tags = re.findall(r"[<\[][^<>\[\]\s]*[>\]]", form.open)
    opened = re.escape(tags[-1] if tags else form.open.strip()) or r"\A"
    head = re.compile(
        rf"(?:{opened}|functions\.|<function=)\s*(?:functions\.)?(?P<name>{_WORD})(?=[^{{}}]{{0,200}}\{{)"
    )
    place = 0
    while found := head.search(text, place):
        start = text.index("{", found.end())
        between = text[found.end() : start]
        place = found.end()
        if middle and middle.strip() not in between and between.strip():
            continue
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if (call := _call(found["name"], value)) is not None:
            yield _Found(call, found.start(), end)
            place = end


def _mistral(text: str, _form: ToolFormat) -> Iterator[_Found]:
    """`[TOOL_CALLS]f[ARGS]{"a": 1}`"""
    for found in _MISTRAL.finditer(text):
        try:
            value, end = _DECODER.raw_decode(text, found.end())
        except (ValueError, RecursionError):
            continue
        if (call := _call(found["name"], value)) is not None:
            yield _Found(call, found.start(), end)


def _tagged(text: str, form: ToolFormat, types: _Types) -> Iterator[_Found]:
    """Finds a name, and for each argument tags around its key and its value."""
    if not form.key_open.strip(" >\n"):
        return
    before = re.escape(_core(form.open))
    head = re.compile(rf"{before}\s*(?P<name>{_WORD})") if before else re.compile(rf"(?P<name>{_WORD})")
    key_open, key_close = re.escape(_core(form.key_open)), re.escape(form.key_close.strip()).replace('"true"', r'"\w+"')
    value_close = re.escape(form.value_close.strip())
    argument = re.compile(rf"{key_open}(?P<key>[^<>\n]{{1,128}}?){key_close}(?P<value>.*?){value_close}", re.DOTALL)
    heads = list(head.finditer(text))[: MOST_CALLS + 1]
    for number, found in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        arguments = {
            (key := each["key"].strip('" ')): types.value(found["name"], key, each["value"])
            for each in argument.finditer(text, found.end(), end)
        }
        if (call := _call(found["name"], arguments)) is not None:
            yield _Found(call, found.start(), end)


def _core(tag: str) -> str:
    """A piece between tags without the end of the tag before it."""
    place = max(tag.rfind("\n"), tag.rfind("><") if not tag.startswith("<") else -1)
    return tag[place + 1 :].strip() if place >= 0 else tag.strip()


class _Types:
    """The types that tools declare for their arguments. Tagged values are written as they are: what is a text there
    may look like a number, or be `null`."""

    def __init__(self, schemas: Mapping[str, str]) -> None:
        self._schemas = schemas

    def value(self, tool: str, key: str, text: str) -> Any:
        bare = text.strip()
        if bare.startswith("<![CDATA[") and bare.endswith("]]>"):
            return bare[9:-3]
        types = self._of(tool, key)
        if not types:
            return _guessed(text, bare)
        plain = text.removeprefix("\n").removesuffix("\n")
        if types == {"string"}:
            return plain
        try:
            value = json.loads(_PYTHON_WORDS.get(bare, bare))
        except (ValueError, RecursionError):
            return plain
        is_same = "string" not in types or json.dumps(value) == bare  # 007 is none of the numbers
        return value if is_same and any(_is_of(value, each) for each in types) else plain

    def _of(self, tool: str, key: str) -> frozenset[str]:
        """Empty: the tool does not say."""
        properties = parsed_object(self._schemas.get(tool, "")).get("properties")
        declared = properties.get(key) if isinstance(properties, dict) else None
        return frozenset(_types_in(declared, 0))


def _types_in(schema: object, depth: int) -> Iterator[str]:
    if not isinstance(schema, dict) or depth == _DEEPEST:
        return
    types = schema.get("type")
    yield from (types,) if isinstance(types, str) else filter(_is_text, types) if isinstance(types, list) else ()
    values = schema.get("enum")
    if types is None and isinstance(values, list) and values and all(map(_is_text, values)):
        yield "string"
    for word in ("anyOf", "oneOf"):
        forms = schema.get(word)
        for form in forms if isinstance(forms, list) else ():
            yield from _types_in(form, depth + 1)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_of(value: object, declared: str) -> bool:
    if isinstance(value, bool):
        return declared == "boolean"
    if declared == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, _KINDS.get(declared, ()))


def _guessed(text: str, bare: str) -> Any:
    """A value of which no type is known: only what is surely no text is read as JSON."""
    if bare[:1] in ("{", "[") or bare in ("true", "false", "null") or re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", bare):
        try:
            return json.loads(bare)
        except (ValueError, RecursionError):
            return bare
    return text.removeprefix("\n").removesuffix("\n")


def _xml(text: str, _form: ToolFormat, types: _Types) -> Iterator[_Found]:
    for found in _XML.finditer(text):
        body = found["body"]
        arguments: Any = {
            (key := each["key"].strip()): types.value(found["name"], key, each["value"])
            for each in _XML_ARGUMENT.finditer(body)
        }
        if not arguments and body.strip().startswith("{"):
            arguments = body.strip()
        if not arguments and not found["end"]:
            continue  # a text about calls
        if (call := _call(found["name"], arguments)) is not None:
            yield _Found(call, found.start(), found.end())


def _gemma(text: str, _form: ToolFormat) -> Iterator[_Found]:
    """`call:f{a:<|"|>text<|"|>,b:1}`"""
    for found in _GEMMA.finditer(text):
        quoted = _QUOTED.split(text[found.end() :])  # texts are at the odd places
        plain = "\0".join(quoted[::2])
        pieces = _BARE_KEY.sub(r'"\1":', plain).split("\0")
        texts = [json.dumps(each) for each in quoted[1::2]]
        body = "".join(each for pair in zip(pieces, [*texts, ""], strict=False) for each in pair)
        try:
            value, _ = _DECODER.raw_decode(body)
        except (ValueError, RecursionError):
            continue
        if (call := _call(found["name"], value)) is not None:
            yield _Found(call, found.start(), len(text))


def _python(text: str, _form: ToolFormat) -> Iterator[_Found]:
    """`[f(a="text", b=1), g()]`"""
    import ast

    for found in _PYTHON.finditer(text):
        end = text.find("]", found.end())
        while 0 <= end < found.end() + 20_000:
            try:
                tree = ast.parse(text[found.start() : end + 1].strip(), mode="eval").body
                break
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                end = text.find("]", end + 1)
        else:
            continue
        for each in tree.elts if isinstance(tree, ast.List) else ():
            if not isinstance(each, ast.Call) or each.args:
                continue
            try:
                arguments = {one.arg: ast.literal_eval(one.value) for one in each.keywords if one.arg}
                call = _call(ast.unparse(each.func), json.loads(json.dumps(arguments)))
            except (ValueError, TypeError, RecursionError):
                continue
            if call is not None:
                yield _Found(call, found.start(), end + 1)
