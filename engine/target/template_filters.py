"""The methods, filters and tests that chat templates may use. What is not in the tables below cannot be called."""

from __future__ import annotations

import html
import json
import operator
import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jinja2.filters
import jinja2.tests
from jinja2 import TemplateError, Undefined
from jinja2.runtime import LoopContext

from engine.sentences import say
from engine.target.prompt_text import PromptText, interleaved, joined, part, recased, replaced, split, stripped
from engine.target.template_formats import Formats, Group
from engine.target.template_values import (
    COMPARISONS,
    ITEM,
    PIECE,
    TOO_LARGE,
    Callee,
    calculated,
    length_of,
    unfit,
)

_MAX_SORTED = 10_000
_MAX_DIGITS = 15  # that round() may be asked for
_MAX_INDENT = 100
_FORMAT_SPEC = re.compile(r"[<>^+]?0?\d{0,2},?(?:\.\d{1,2})?[a-zA-Z%]?")
_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


class Filters(Formats):
    """By the names that templates give them, where Python allows it."""

    def method_of(self, value: Any, name: str) -> Callable[..., Any] | None:
        kind = next((kind for kind in _METHODS if isinstance(value, kind)), None)
        return None if kind is None else _METHODS[kind].get(name)

    def filter(self, name: str, value: Any, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        if name not in _FILTERS:
            raise TemplateError(say("it uses the filter “{name}”, which is not known", name=name[:40]))
        return _FILTERS[name](self, value, *arguments, **named)

    def test(self, name: str, value: Any, arguments: Sequence[Any]) -> Any:
        if name in _TESTS:
            return _TESTS[name](value)
        if name in COMPARISONS:
            return self.compare(COMPARISONS[name], value, *arguments)
        if name in ("odd", "even"):
            return calculated(operator.mod, value, 2) == (name == "odd")
        if name == "divisibleby":
            return calculated(operator.mod, value, *arguments) == 0
        if name == "in":
            return self.contains(value, *arguments)
        if name in ("lower", "upper"):
            return self._asked(getattr(str, f"is{name}"), self.text_of(value))
        raise TemplateError(say("it uses the test “{name}”, which is not known", name=name[:40]))

    def default(self, value: Any, default_value: Any = "", boolean: bool = False) -> Any:
        return default_value if isinstance(value, Undefined) or (boolean and not value) else value

    def length(self, value: Any) -> int:
        if isinstance(value, Callee | LoopContext):
            raise TypeError("this has no length")
        return len(value)

    def first(self, value: Any) -> Any:
        return next(iter(self.items_of(value)), Undefined(say("there is no first item")))

    def last(self, value: Any) -> Any:
        return next(iter(self.reverse(value)), Undefined(say("there is no last item")))

    def reverse(self, value: Any) -> Any:
        return self.slice(value, None, None, -1) if isinstance(value, str) else self.list_of(value)[::-1]

    def join(self, value: Any, d: str = "", attribute: Any = None) -> str:
        parts = [self.text_of(self._attribute_of(each, attribute)) for each in self._paid(self.items_of(value))]
        self.budget.take(sum(map(len, parts)) + len(parts) * len(d))
        return interleaved(parts, self.text_of(d))

    def replace(self, text: Any, old: str, new: str, count: int | None = None) -> str:
        text, count = self.text_of(text), -1 if count is None else count
        self._search(text, old)
        self.budget.take(ITEM + len(text) + text.count(old) * (PIECE + len(new)))
        return replaced(text, old, new, count)

    def trim(self, value: Any, chars: str | None = None) -> str:
        return self._strip(str.strip, self.text_of(value), chars)

    def indent(self, text: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
        indention = " " * min(width, _MAX_INDENT + 1) if isinstance(width, int) else width
        if len(indention) > _MAX_INDENT:
            raise TemplateError(TOO_LARGE)
        lines = self._lines(joined((text, "\n")))
        self.budget.take((1 + len(indention)) * len(lines) + len(text))
        rest = [joined((indention, line)) if line or blank else line for line in lines[1:]]
        return interleaved([joined((indention if first else "", lines[0])), *rest], "\n")

    def json(
        self,
        value: Any,
        ensure_ascii: bool = False,
        indent: int | str | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        """As transformers has it; jinja2's own escapes for HTML."""
        if indent is not None and (indent if isinstance(indent, int) else len(indent)) > _MAX_INDENT:
            raise TemplateError(TOO_LARGE)
        self.weigh(value)
        pieces: list[str] = []
        encoder = json.JSONEncoder(ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
        for piece in encoder.iterencode(value):
            self.budget.take(ITEM + len(piece))
            pieces.append(piece)
        return PromptText("".join(pieces))

    def round(self, value: Any, precision: int = 0, method: Any = "common") -> Any:
        if abs(precision) > _MAX_DIGITS:
            raise TemplateError(TOO_LARGE)
        return jinja2.filters.do_round(value, precision, method)

    def sort(self, value: Any, reverse: bool = False, case_sensitive: bool = False, attribute: Any = None) -> list[Any]:
        items = self._few(value)
        keys = [self._sort_key(self._attribute_of(each, attribute), case_sensitive) for each in self._paid(items)]
        return [items[place] for place in self._order(keys, reverse)]

    def _few(self, value: Any) -> list[Any]:
        """Items that can be sorted."""
        items = self.list_of(value)
        if len(items) > _MAX_SORTED:
            raise TemplateError(TOO_LARGE)
        return items

    def _order(self, keys: Sequence[Any], reverse: bool = False) -> list[int]:
        self.budget.take(self.weigh(keys) * len(keys).bit_length())
        return sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)

    def groupby(self, value: Any, attribute: Any, default: Any = None, case_sensitive: bool = False) -> list[Group]:
        items = self._few(value)
        found = [self._attribute_of(each, attribute) for each in self._paid(items)]
        found = [default if isinstance(each, Undefined) and default is not None else each for each in found]
        keys = [self._sort_key(each, case_sensitive) for each in found]
        order = self._order(keys)
        groups: list[Group] = []
        for before, place in zip([None, *order], order, strict=False):
            if before is None or keys[before] != keys[place]:
                groups.append(Group(found[place], []))
            groups[-1].list.append(items[place])
        return groups

    def dictsort(
        self, value: dict[Any, Any], case_sensitive: bool = False, by: str = "key", reverse: bool = False
    ) -> list[Any]:
        return self.sort(self._dict_items(value), reverse, case_sensitive, 0 if by == "key" else 1)

    def min(self, value: Any, case_sensitive: bool = False, attribute: Any = None) -> Any:
        return self.first(self.sort(value, False, case_sensitive, attribute))

    def max(self, value: Any, case_sensitive: bool = False, attribute: Any = None) -> Any:
        return self.first(self.sort(value, True, case_sensitive, attribute))

    def unique(self, value: Any, case_sensitive: bool = False, attribute: Any = None) -> Iterator[Any]:
        seen: set[Any] = set()
        for each in self._paid(self.items_of(value)):
            key = self.key(self._sort_key(self._attribute_of(each, attribute), case_sensitive))
            if key not in seen:
                seen.add(key)
                yield each

    def sum(self, value: Any, attribute: Any = None, start: Any = 0) -> Any:
        for each in self._paid(self.items_of(value)):
            start = self.add(start, self._attribute_of(each, attribute))
        return start

    def map(self, value: Any, name: str = "", *arguments: Any, attribute: Any = None, default: Any = None) -> Any:
        for each in self._paid(self.items_of(value)) if value else ():
            if attribute is None:
                yield self.filter(name, each, arguments, {})
            else:
                found = self._attribute_of(each, attribute)
                yield default if isinstance(found, Undefined) and default is not None else found

    def select(self, value: Any, *test: Any, attribute: Any = None, wanted: bool = True) -> Iterator[Any]:
        for each in self._paid(self.items_of(value)) if value else ():
            looked_at = self._attribute_of(each, attribute)
            if bool(self.test(test[0], looked_at, test[1:]) if test else looked_at) == wanted:
                yield each

    def escape(self, value: Any) -> str:
        text = self.text_of(value)
        self.budget.take(6 * len(text))
        return recased(text, html.escape)

    def cased(self, method: Callable[[str], str], value: Any) -> str:
        text = self.text_of(value)
        self.budget.take(len(text))
        return recased(text, method)

    def title(self, value: Any) -> str:
        self.budget.take(PIECE * length_of(value))
        return self.cased(jinja2.filters.do_title, value)

    # Methods

    def _asked(self, method: Callable[..., Any], text: str, *arguments: Any) -> Any:
        """For methods of str that make no text."""
        for wanted in arguments[0] if arguments and isinstance(arguments[0], tuple) else (*arguments[:1], ""):
            self._search(text, wanted)
        return method(text, *arguments)

    def _strip(self, method: Callable[..., str], text: str, characters: str | None = None) -> str:
        self._search(text, characters or "")
        self.budget.take(len(text))
        return stripped(text, method, characters)

    def _split(
        self, method: Callable[..., Sequence[str]], text: str, sep: str | None = None, maxsplit: int = -1
    ) -> Sequence[str]:
        self._search(text, sep or "")
        num = len(text) // 2 if sep is None else text.count(sep)
        self.budget.take(len(text) + PIECE * (num if maxsplit < 0 else min(num, maxsplit)))
        return split(text, method, sep, maxsplit)

    def _parted(self, method: Callable[..., Sequence[str]], text: str, sep: str) -> Sequence[str]:
        self._search(text, sep)
        self.budget.take(len(text))
        return split(text, method, sep)

    def _lines(self, text: str, keepends: bool = False) -> Sequence[str]:
        self.budget.take(len(text) + PIECE * sum(map(text.count, _LINE_ENDS)))
        return split(text, str.splitlines, keepends)

    def _cut(self, text: str, prefix: str = "", suffix: str = "") -> str:
        self.budget.take(len(text))
        start = len(prefix) if text.startswith(prefix) else 0
        stop = len(text) - len(suffix) if text.endswith(suffix) else len(text)
        return part(text, slice(start, stop))

    def _format(self, text: str, *arguments: Any, **named: Any) -> str:
        self.budget.take(ITEM * len(text))
        pieces: list[str] = []
        num_used = 0
        for literal, field, spec, conversion in string.Formatter().parse(text):
            pieces.append(literal)
            if field is None:
                continue
            if conversion or not _FORMAT_SPEC.fullmatch(spec or ""):
                raise TemplateError(say("it formats a value in a forbidden way"))
            if field.isdecimal() or not field:
                value = arguments[int(field) if field else num_used]
                num_used += 1
            else:
                value = named[field]
            pieces.append(format(value, spec) if spec and not isinstance(value, str) else self.text_of(value))
        return self.concatenated(pieces)

    def _dict_items(self, value: Any) -> list[Any]:
        if isinstance(value, Undefined):
            return []
        if not isinstance(value, dict):
            raise unfit(value)
        self.budget.take(4 * ITEM * len(value))
        return list(value.items())

    def _dict_get(self, value: dict[Any, Any], key: Any, default: Any = None) -> Any:
        return value.get(self.key(key), default)

    def _in_list(self, method: Callable[..., int], value: Sequence[Any], wanted: Any) -> int:
        self.weigh(value)
        self.weigh(wanted)
        return method(list(value), wanted)

    def _sort_key(self, value: Any, case_sensitive: bool) -> Any:
        return value if case_sensitive or not isinstance(value, str) else self.cased(str.lower, value)


def _whole(_values: Filters, value: Any, default: int = 0, base: int = 10) -> int:
    return int(calculated(operator.add, jinja2.filters.do_int(value, default, base), 0))


_PURE_TESTS = (
    *("boolean", "defined", "false", "float", "integer", "iterable", "mapping"),
    *("none", "number", "sequence", "string", "true", "undefined"),
)
_TESTS: dict[str, Any] = {name: jinja2.tests.TESTS[name] for name in _PURE_TESTS}
_TESTS["callable"] = lambda value: isinstance(value, Callee | Undefined)  # jinja2's, too, is true of the latter

_CASES = {name: getattr(str, name) for name in ("capitalize", "casefold", "lower", "swapcase", "title", "upper")}
_QUESTIONS = ("count", "endswith", "find", "index", "rfind", "rindex", "startswith")
_STATES = ("isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "islower", "isnumeric", "isspace", "isupper")

_STR_METHODS: dict[str, Callable[..., Any]] = {
    "format": Filters._format,
    "join": lambda values, separator, parts: values.join(parts, separator),
    "removeprefix": lambda values, text, prefix: values._cut(text, prefix=prefix),
    "removesuffix": lambda values, text, suffix: values._cut(text, suffix=suffix),
    "replace": Filters.replace,
    "splitlines": Filters._lines,
}


def _bound(function: Callable[..., Any], method: Callable[..., Any]) -> Callable[..., Any]:
    return lambda values, *arguments, **named: function(values, method, *arguments, **named)


for _names, _function in (
    (_CASES, Filters.cased),
    ((*_QUESTIONS, *_STATES), Filters._asked),
    (("lstrip", "rstrip", "strip"), Filters._strip),
    (("rsplit", "split"), Filters._split),
    (("partition", "rpartition"), Filters._parted),
    (("center", "ljust", "rjust", "zfill"), Filters.padded),
):
    _STR_METHODS |= {name: _bound(_function, getattr(str, name)) for name in _names}

_DICT_METHODS: dict[str, Callable[..., Any]] = {
    "get": Filters._dict_get,
    "items": Filters._dict_items,
    "keys": Filters.list_of,
    "values": lambda values, value: [each for _, each in values._dict_items(value)],
}
_LIST_METHODS: dict[str, Callable[..., Any]] = {
    name: _bound(Filters._in_list, getattr(list, name)) for name in ("count", "index")
}

_METHODS: Mapping[type, Mapping[str, Callable[..., Any]]] = {
    str: _STR_METHODS,
    dict: _DICT_METHODS,
    list: _LIST_METHODS,
    tuple: _LIST_METHODS,
}

_FILTERS: dict[str, Callable[..., Any]] = {
    "abs": lambda _values, value: calculated(operator.mul, value, 1 if value >= 0 else -1),
    "batch": Filters.batch,
    "capitalize": _bound(Filters.cased, str.capitalize),
    "center": lambda values, value, width=80: values.padded(str.center, value, width),
    "count": Filters.length,
    "d": Filters.default,
    "default": Filters.default,
    "dictsort": Filters.dictsort,
    "e": Filters.escape,
    "escape": Filters.escape,
    "first": Filters.first,
    "float": lambda _values, value, default=0.0: jinja2.filters.do_float(value, default),
    "format": lambda values, text, *given, **named: values.filled_in(values.text_of(text), named or given),
    "groupby": Filters.groupby,
    "indent": Filters.indent,
    "int": _whole,
    "items": Filters._dict_items,
    "join": Filters.join,
    "last": Filters.last,
    "length": Filters.length,
    "list": Filters.list_of,
    "lower": _bound(Filters.cased, str.lower),
    "map": Filters.map,
    "max": Filters.max,
    "min": Filters.min,
    "reject": lambda values, value, *test: values.select(value, *test, wanted=False),
    "rejectattr": lambda values, value, name, *test: values.select(value, *test, attribute=name, wanted=False),
    "replace": Filters.replace,
    "reverse": Filters.reverse,
    "round": Filters.round,
    "safe": Filters.text_of,
    "select": lambda values, value, *test: values.select(value, *test),
    "selectattr": lambda values, value, name, *test: values.select(value, *test, attribute=name),
    "slice": Filters.rows,
    "sort": Filters.sort,
    "string": Filters.text_of,
    "sum": Filters.sum,
    "title": Filters.title,
    "tojson": Filters.json,
    "trim": Filters.trim,
    "truncate": Filters.truncate,
    "unique": Filters.unique,
    "upper": _bound(Filters.cased, str.upper),
    "wordcount": Filters.count_words,
}
