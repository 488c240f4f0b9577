"""What a chat template may do with values: operators, methods, filters and tests, all within a budget.

A template is a program from a stranger. Whatever makes a value pays for its size before it is made, and whatever looks
at one pays for looking, so that no step takes long or much memory, whatever the steps before it made.
"""

from __future__ import annotations

import html
import json
import operator
import re
import string
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NoReturn, Self

import jinja2.filters
import jinja2.tests
from jinja2 import TemplateError, Undefined
from jinja2.runtime import LoopContext

from engine.target.prompt_text import PromptText, interleaved, joined, part, recased, replaced, said_in, split, stripped

# What one rendering may make, in characters. The templates of seventy models take a few thousand by themselves, and at
# most eight for each character that was said.
_ROOM = 16_000_000
_ROOM_PER_CHARACTER = 16
_SECONDS = 0.7  # of processor time, a multiple of what those templates take for a chat of 5,000 messages
_LOOK_EVERY = 20_000  # characters or steps: milliseconds
_ITEM = 32  # characters take as long and as much memory as an item of a list
_PIECE = 48  # … and as a short text with what is known of it
_COMPARED_AT_ONCE = 4  # a power of two: of characters, in the time of a step
_MAX_NUMBER = 2**63
_MAX_ITEMS = 100_000  # of range() and of what `*` makes
_MAX_SORTED = 10_000
_MAX_DIGITS = 15  # that round() may be asked for
_MAX_INDENT = 100
_MAX_TIME_FORMAT = 100
_TIME_FORMAT = re.compile(r"(?:[^%]|%[-#]?[A-Za-z%])*")
_FORMAT_SPEC = re.compile(r"[<>^+]?0?\d{0,2},?(?:\.\d{1,2})?[a-zA-Z%]?")
_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_TOO_LARGE = "it makes values that are too large"

_Number = (int, float)
_Sequence = (list, tuple, range)
_MISSING = object()


class Budget:
    """What is left of memory and time."""

    def __init__(self, num_said: int) -> None:
        """`num_said`: characters in the messages."""
        self._left = _ROOM + _ROOM_PER_CHARACTER * num_said
        self._end = time.thread_time() + _SECONDS
        self._taken, self._next_look = 0, _LOOK_EVERY

    def take(self, amount: int) -> None:
        """`amount`: of characters about to be made, or of steps. Raises TemplateError."""
        self._left -= amount
        self._taken += amount
        if self._taken > self._next_look or self._left < 0:
            if self._left < 0:
                raise TemplateError(_TOO_LARGE)
            if time.thread_time() > self._end:
                raise TemplateError("it takes too long")
            self._next_look = self._taken + _LOOK_EVERY

    def give_back(self, amount: int) -> None:
        self._left += amount


class _Joined(PromptText):
    """Gives back what it took when it is gone: templates may lengthen one text with every message."""

    __slots__ = ("_budget",)
    _budget: Budget

    def __new__(cls, parts: Sequence[str], budget: Budget) -> Self:
        self = super().__new__(cls, "".join(parts), b"".join(map(said_in, parts)))
        self._budget = budget
        return self

    def __del__(self) -> None:
        self._budget.give_back(len(self))


class Namespace:
    """`namespace()`: the only value that can change."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values


class Callee:
    """What a template may call. Nothing else is callable, whatever Python says."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call


class Values:
    """Everything raises TemplateError, or what Python raises for values that do not fit."""

    def __init__(self) -> None:
        self.budget = Budget(0)
        self.functions = {
            "range": Callee(_range),
            "dict": Callee(lambda **values: values),
            "namespace": Callee(self._namespace),
            "raise_exception": Callee(_raise),
            "strftime_now": Callee(_now),
        }

    # Looking at values

    def weigh(self, value: Any) -> int:
        """About the characters of its text; paid for as they are counted."""
        total, waiting = 0, [value]
        while waiting:
            each = waiting.pop()
            weight = len(each) if isinstance(each, str) else _ITEM * (1 + _length(each))
            self.budget.take(weight)
            total += weight
            if isinstance(each, dict):
                waiting += each.keys()
                waiting += each.values()
            elif isinstance(each, list | tuple):
                waiting += each
        return total

    def text_of(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        if value is None or isinstance(value, Undefined | int | float | range):
            return str(value)
        if isinstance(value, list | tuple | dict):
            self.weigh(value)
            return PromptText(str(value))
        return f"<{type(value).__name__}>"

    def items_of(self, value: Any) -> Iterable[Any]:
        if isinstance(value, str):
            self.budget.take(_PIECE * len(value))
            return [part(value, place) for place in range(len(value))]
        if isinstance(value, list | tuple | dict | range):
            self.budget.take(len(value))
            return value
        if isinstance(value, Undefined | Iterator):
            return iter(value)
        raise _unfit(value)

    def list_of(self, value: Any) -> list[Any]:
        self.budget.take(_ITEM * _length(value))
        if isinstance(value, Iterator):
            return list(self._paid(value))
        return list(self.items_of(value))

    def item(self, value: Any, key: Any) -> Any:
        """`value[key]`."""
        if isinstance(value, dict):
            found = value.get(self.key(key), _MISSING)
            if found is not _MISSING:
                return found
        elif isinstance(value, str | list | tuple | range) and isinstance(key, int):
            try:
                return part(value, key) if isinstance(value, str) else value[key]
            except IndexError:
                return Undefined("there is no such item")
        return self.attribute(value, key) if isinstance(key, str) else Undefined("there is no such item")

    def attribute(self, value: Any, name: str) -> Any:
        """`value.name`."""
        if isinstance(value, dict):
            method = _DICT_METHODS.get(name)
            if method is None:
                found = value.get(name, _MISSING)
                return Undefined(obj=value, name=name) if found is _MISSING else found
        elif isinstance(value, str):
            method = _STR_METHODS.get(name)
        elif isinstance(value, Namespace):
            return value.values.get(name, Undefined(obj=value, name=name))
        elif isinstance(value, LoopContext) and name in _LOOP_NAMES:
            if name == "changed":
                return Callee(lambda *now: self.compare(lambda one, _: value.changed(*one), now, ()))
            return Callee(value.cycle) if name == "cycle" else getattr(value, name)
        elif isinstance(value, Undefined):
            raise _unfit(value)
        else:
            method = _LIST_METHODS.get(name) if isinstance(value, list | tuple) else None
        return Undefined(obj=value, name=name) if method is None else Callee(partial(method, self, value))

    def slice(self, value: Any, start: Any, stop: Any, step: Any) -> Any:
        key = slice(start, stop, step)
        if isinstance(value, str):
            self.budget.take(len(value))
            return part(value, key)
        if isinstance(value, _Sequence):
            self.budget.take(len(value))
            return value[key]
        raise _unfit(value)

    def call(self, callee: Any, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        if not isinstance(callee, Callee):
            raise _unfit(callee)
        return callee.call(*arguments, **named)

    # Operators

    def concatenated(self, parts: Sequence[str]) -> str:
        self.budget.take(sum(map(len, parts)))
        return _Joined(parts, self.budget)

    def add(self, left: Any, right: Any) -> Any:
        if isinstance(left, str) and isinstance(right, str):
            return self.concatenated((left, right))
        if isinstance(left, list | tuple) and type(left) is type(right):
            self.budget.take(len(left) + len(right))
            return operator.add(left, right)
        return _calculated(operator.add, left, right)

    def multiply(self, left: Any, right: Any) -> Any:
        if isinstance(right, str | list | tuple):
            left, right = right, left
        if isinstance(left, str | list | tuple) and isinstance(right, int):
            if len(left) * right > _MAX_ITEMS:
                raise TemplateError(_TOO_LARGE)
            self.budget.take(_ITEM * len(left) * max(right, 0))
            return joined([left] * right) if isinstance(left, str) else left * right
        return _calculated(operator.mul, left, right)

    def compare(self, compared: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
        for value in (left, right):
            if isinstance(value, str):
                self.budget.take(len(value) >> _COMPARED_AT_ONCE)
            elif isinstance(value, list | tuple | dict):
                self.weigh(value)
        return compared(left, right)

    def contains(self, value: Any, container: Any) -> bool:
        if isinstance(container, str):
            self._search(container, value)
            return value in container
        if isinstance(container, dict):
            return self.key(value) in container
        items = self.list_of(container)
        self.weigh(value)
        self.weigh(items)
        return value in items

    # Filters and tests

    def filter(self, name: str, value: Any, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        if name not in _FILTERS:
            raise TemplateError(f"it uses the filter “{name[:40]}”, which is not known")
        return _FILTERS[name](self, value, *arguments, **named)

    def test(self, name: str, value: Any, arguments: Sequence[Any]) -> Any:
        if name in _TESTS:
            return _TESTS[name](value)
        if name in COMPARISONS:
            return self.compare(COMPARISONS[name], value, *arguments)
        if name in ("odd", "even"):
            return _calculated(operator.mod, value, 2) == (name == "odd")
        if name == "divisibleby":
            return _calculated(operator.mod, value, *arguments) == 0
        if name == "in":
            return self.contains(value, *arguments)
        raise TemplateError(f"it uses the test “{name[:40]}”, which is not known")

    def default(self, value: Any, default_value: Any = "", boolean: bool = False) -> Any:
        return default_value if isinstance(value, Undefined) or (boolean and not value) else value

    def length(self, value: Any) -> int:
        if isinstance(value, Callee | LoopContext):
            raise TypeError("this has no length")
        return len(value)

    def first(self, value: Any) -> Any:
        return next(iter(self.items_of(value)), Undefined("there is no first item"))

    def last(self, value: Any) -> Any:
        return next(iter(self.reverse(value)), Undefined("there is no last item"))

    def reverse(self, value: Any) -> Any:
        return self.slice(value, None, None, -1) if isinstance(value, str) else self.list_of(value)[::-1]

    def join(self, value: Any, d: str = "", attribute: Any = None) -> str:
        parts = [self.text_of(self._attribute_of(each, attribute)) for each in self._paid(self.items_of(value))]
        self.budget.take(sum(map(len, parts)) + len(parts) * len(d))
        return interleaved(parts, self.text_of(d))

    def replace(self, text: Any, old: str, new: str, count: int | None = None) -> str:
        text, count = self.text_of(text), -1 if count is None else count
        self._search(text, old)
        self.budget.take(_ITEM + len(text) + text.count(old) * (_PIECE + len(new)))
        return replaced(text, old, new, count)

    def trim(self, value: Any, chars: str | None = None) -> str:
        return self._strip(str.strip, self.text_of(value), chars)

    def indent(self, text: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
        indention = " " * min(width, _MAX_INDENT + 1) if isinstance(width, int) else width
        if len(indention) > _MAX_INDENT:
            raise TemplateError(_TOO_LARGE)
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
            raise TemplateError(_TOO_LARGE)
        self.weigh(value)
        pieces: list[str] = []
        encoder = json.JSONEncoder(ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
        for piece in encoder.iterencode(value):
            self.budget.take(_ITEM + len(piece))
            pieces.append(piece)
        return PromptText("".join(pieces))

    def round(self, value: Any, precision: int = 0, method: Any = "common") -> Any:
        if abs(precision) > _MAX_DIGITS:
            raise TemplateError(_TOO_LARGE)
        return jinja2.filters.do_round(value, precision, method)

    def sort(self, value: Any, reverse: bool = False, case_sensitive: bool = False, attribute: Any = None) -> list[Any]:
        items = self.list_of(value)
        keys = [self._sort_key(self._attribute_of(each, attribute), case_sensitive) for each in items]
        if len(keys) > _MAX_SORTED:
            raise TemplateError(_TOO_LARGE)
        self.budget.take(self.weigh(keys) * len(keys).bit_length())
        order = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
        return [items[place] for place in order]

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
        self.budget.take(_PIECE * _length(value))
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
        self.budget.take(len(text) + _PIECE * (num if maxsplit < 0 else min(num, maxsplit)))
        return split(text, method, sep, maxsplit)

    def _parted(self, method: Callable[..., Sequence[str]], text: str, sep: str) -> Sequence[str]:
        self._search(text, sep)
        self.budget.take(len(text))
        return split(text, method, sep)

    def _lines(self, text: str, keepends: bool = False) -> Sequence[str]:
        self.budget.take(len(text) + _PIECE * sum(map(text.count, _LINE_ENDS)))
        return split(text, str.splitlines, keepends)

    def _cut(self, text: str, prefix: str = "", suffix: str = "") -> str:
        self.budget.take(len(text))
        start = len(prefix) if text.startswith(prefix) else 0
        stop = len(text) - len(suffix) if text.endswith(suffix) else len(text)
        return part(text, slice(start, stop))

    def _format(self, text: str, *arguments: Any, **named: Any) -> str:
        self.budget.take(_ITEM * len(text))
        pieces: list[str] = []
        num_used = 0
        for literal, field, spec, conversion in string.Formatter().parse(text):
            pieces.append(literal)
            if field is None:
                continue
            if conversion or not _FORMAT_SPEC.fullmatch(spec or ""):
                raise TemplateError("it formats a value in a way that is not allowed")
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
            raise _unfit(value)
        self.budget.take(4 * _ITEM * len(value))
        return list(value.items())

    def _dict_get(self, value: dict[Any, Any], key: Any, default: Any = None) -> Any:
        return value.get(self.key(key), default)

    def _in_list(self, method: Callable[..., int], value: Sequence[Any], wanted: Any) -> int:
        self.weigh(value)
        self.weigh(wanted)
        return method(list(value), wanted)

    # Helpers

    def _namespace(self, given: dict[str, Any] | None = None, **values: Any) -> Namespace:
        self.budget.take(_ITEM * _length(given))
        return Namespace({**(given or {}), **values})

    def _paid(self, items: Iterable[Any]) -> Iterator[Any]:
        for each in items:
            self.budget.take(_ITEM)
            yield each

    def _search(self, text: str, wanted: str) -> None:
        """Python's own search compares each place with all of what is wanted, in the worst case."""
        compared = len(text) * (1 + len(wanted) // 16)
        self.budget.take(1 + (compared >> _COMPARED_AT_ONCE))

    def key(self, key: Any) -> Any:
        """A tuple of tuples could take for ever to hash."""
        if isinstance(key, str):
            self.budget.take(len(key) >> _COMPARED_AT_ONCE)
        elif key is not None and not isinstance(key, int | float | Undefined):
            raise TypeError(f"{type(key).__name__} is no key")
        return key

    def _attribute_of(self, value: Any, path: Any) -> Any:
        if path is None:
            return value
        for name in path.split(".") if isinstance(path, str) else (path,):
            value = self.item(value, int(name) if isinstance(name, str) and name.isdecimal() else name)
        return value

    def _sort_key(self, value: Any, case_sensitive: bool) -> Any:
        return value if case_sensitive or not isinstance(value, str) else self.cased(str.lower, value)


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | list | tuple | dict | range) else 0


def _calculated(operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    for value in (left, right):
        if isinstance(value, Undefined):
            raise _unfit(value)
    for value in (left, right):
        if not isinstance(value, _Number):
            raise _unfit(value)
    result = operation(left, right)
    if isinstance(result, int) and abs(result) > _MAX_NUMBER:
        raise TemplateError(_TOO_LARGE)
    return result


def calculation(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return partial(_calculated, operation)


def no_power(_left: Any, _right: Any) -> NoReturn:
    raise TemplateError(_TOO_LARGE)


def _unfit(value: Any) -> TypeError:
    """Says what is missing, or of what kind a value is."""
    if isinstance(value, Undefined):
        value()  # raises
    return TypeError(f"a value of the type “{type(value).__name__}” where it does not fit")


def _range(*arguments: int) -> range:
    made = range(*arguments)
    if len(made) > _MAX_ITEMS:
        raise TemplateError(_TOO_LARGE)
    return made


def _raise(message: Any = "") -> NoReturn:
    raise TemplateError(message if isinstance(message, str) else "")


def _now(form: str) -> str:
    if len(form) > _MAX_TIME_FORMAT or not _TIME_FORMAT.fullmatch(form):
        raise TemplateError("it asks for the time in a form that is not allowed")
    return datetime.now().strftime(form)


def _whole(_values: Values, value: Any, default: int = 0, base: int = 10) -> int:
    return int(_calculated(operator.add, jinja2.filters.do_int(value, default, base), 0))


_LOOP_NAMES = frozenset(
    {"changed", "cycle", "depth", "depth0", "first", "index", "index0", "last"}
    | {"length", "nextitem", "previtem", "revindex", "revindex0"}
)

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    name: compared
    for names, compared in (
        (("eq", "equalto", "=="), operator.eq),
        (("ne", "!="), operator.ne),
        (("gt", "greaterthan", ">"), operator.gt),
        (("ge", "gteq", ">="), operator.ge),
        (("lt", "lessthan", "<"), operator.lt),
        (("le", "lteq", "<="), operator.le),
        (("sameas",), operator.is_),
    )
    for name in names
}

_PURE_TESTS = (
    *("boolean", "defined", "false", "float", "integer", "iterable", "mapping"),
    *("none", "number", "sequence", "string", "true", "undefined"),
)
_TESTS: dict[str, Any] = {name: jinja2.tests.TESTS[name] for name in _PURE_TESTS}

_CASES = {name: getattr(str, name) for name in ("capitalize", "casefold", "lower", "swapcase", "title", "upper")}
_QUESTIONS = ("count", "endswith", "find", "index", "rfind", "rindex", "startswith")
_STATES = ("isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "islower", "isnumeric", "isspace", "isupper")

_STR_METHODS: dict[str, Callable[..., Any]] = {
    "format": Values._format,
    "join": lambda values, separator, parts: values.join(parts, separator),
    "removeprefix": lambda values, text, prefix: values._cut(text, prefix=prefix),
    "removesuffix": lambda values, text, suffix: values._cut(text, suffix=suffix),
    "replace": Values.replace,
    "splitlines": Values._lines,
}


def _bound(function: Callable[..., Any], method: Callable[..., Any]) -> Callable[..., Any]:
    return lambda values, *arguments, **named: function(values, method, *arguments, **named)


for _names, _function in (
    (_CASES, Values.cased),
    ((*_QUESTIONS, *_STATES), Values._asked),
    (("lstrip", "rstrip", "strip"), Values._strip),
    (("rsplit", "split"), Values._split),
    (("partition", "rpartition"), Values._parted),
):
    _STR_METHODS |= {name: _bound(_function, getattr(str, name)) for name in _names}

_DICT_METHODS: dict[str, Callable[..., Any]] = {
    "get": Values._dict_get,
    "items": Values._dict_items,
    "keys": Values.list_of,
    "values": lambda values, value: [each for _, each in values._dict_items(value)],
}
_LIST_METHODS: dict[str, Callable[..., Any]] = {
    name: _bound(Values._in_list, getattr(list, name)) for name in ("count", "index")
}

_FILTERS: dict[str, Callable[..., Any]] = {
    "abs": lambda _values, value: _calculated(operator.mul, value, 1 if value >= 0 else -1),
    "capitalize": _bound(Values.cased, str.capitalize),
    "count": Values.length,
    "d": Values.default,
    "default": Values.default,
    "dictsort": Values.dictsort,
    "e": Values.escape,
    "escape": Values.escape,
    "first": Values.first,
    "float": lambda _values, value, default=0.0: jinja2.filters.do_float(value, default),
    "indent": Values.indent,
    "int": _whole,
    "items": Values._dict_items,
    "join": Values.join,
    "last": Values.last,
    "length": Values.length,
    "list": Values.list_of,
    "lower": _bound(Values.cased, str.lower),
    "map": Values.map,
    "max": Values.max,
    "min": Values.min,
    "reject": lambda values, value, *test: values.select(value, *test, wanted=False),
    "rejectattr": lambda values, value, name, *test: values.select(value, *test, attribute=name, wanted=False),
    "replace": Values.replace,
    "reverse": Values.reverse,
    "round": Values.round,
    "safe": Values.text_of,
    "select": lambda values, value, *test: values.select(value, *test),
    "selectattr": lambda values, value, name, *test: values.select(value, *test, attribute=name),
    "sort": Values.sort,
    "string": Values.text_of,
    "sum": Values.sum,
    "title": Values.title,
    "tojson": Values.json,
    "trim": Values.trim,
    "unique": Values.unique,
    "upper": _bound(Values.cased, str.upper),
}
