"""What a chat template may do with values: their parts, operators and comparisons, all within a budget.

A template is a program from a stranger. Whatever makes a value pays for its size before it is made, and whatever looks
at one pays for looking, so that no step takes long or much memory, whatever the steps before it made.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

from jinja2 import TemplateError, Undefined
from jinja2.runtime import LoopContext

from engine.target.prompt_text import PromptText, joined, part
from engine.target.template_budget import COMPARED_AT_ONCE, ITEM, MAX_ITEMS, PIECE, TOO_LARGE, Budget, JoinedText

_MAX_NUMBER = 2**63
_Number = (int, float)
_Sequence = (list, tuple, range)
_MISSING = object()

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

Methods = Mapping[type, Mapping[str, Callable[..., Any]]]  # of texts, of dictionaries and of lists; by name


class Namespace:
    """`namespace()`: the only value that can change."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values


class Callee:
    """What a template may call. Nothing else is callable, whatever Python says."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call


class Operations:
    """Everything raises TemplateError, or what Python raises for values that do not fit."""

    def __init__(self, methods: Methods) -> None:
        """A method is called with this object and the value."""
        self.budget = Budget(0)
        self._methods = methods

    # Looking at values

    def weigh(self, value: Any) -> int:
        """About the characters of its text; paid for as they are counted."""
        total, waiting = 0, [value]
        while waiting:
            each = waiting.pop()
            weight = len(each) if isinstance(each, str) else ITEM * (1 + length_of(each))
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
            self.budget.take(PIECE * len(value))
            return [part(value, place) for place in range(len(value))]
        if isinstance(value, list | tuple | dict | range):
            self.budget.take(len(value))
            return value
        if isinstance(value, Undefined | Iterator):
            return iter(value)
        raise unfit(value)

    def list_of(self, value: Any) -> list[Any]:
        self.budget.take(ITEM * length_of(value))
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
        method: Callable[..., Any] | None
        if isinstance(value, dict):
            method = self._methods[dict].get(name)
            if method is None:
                found = value.get(name, _MISSING)
                return Undefined(obj=value, name=name) if found is _MISSING else found
        elif isinstance(value, str):
            method = self._methods[str].get(name)
        elif isinstance(value, Namespace):
            return value.values.get(name, Undefined(obj=value, name=name))
        elif isinstance(value, LoopContext) and name in _LOOP_NAMES:
            if name == "changed":
                return Callee(lambda *now: self.compare(lambda one, _: value.changed(*one), now, ()))
            return Callee(value.cycle) if name == "cycle" else getattr(value, name)
        elif isinstance(value, Undefined):
            raise unfit(value)
        else:
            method = self._methods[list].get(name) if isinstance(value, list | tuple) else None
        return Undefined(obj=value, name=name) if method is None else Callee(partial(method, self, value))

    def slice(self, value: Any, start: Any, stop: Any, step: Any) -> Any:
        key = slice(start, stop, step)
        if isinstance(value, str):
            self.budget.take(len(value))
            return part(value, key)
        if isinstance(value, _Sequence):
            self.budget.take(len(value))
            return value[key]
        raise unfit(value)

    def call(self, callee: Any, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        if not isinstance(callee, Callee):
            raise unfit(callee)
        return callee.call(*arguments, **named)

    # Operators

    def concatenated(self, parts: Sequence[str]) -> str:
        self.budget.take(sum(map(len, parts)))
        return JoinedText(parts, self.budget)

    def add(self, left: Any, right: Any) -> Any:
        if isinstance(left, str) and isinstance(right, str):
            return self.concatenated((left, right))
        if isinstance(left, list | tuple) and type(left) is type(right):
            self.budget.take(len(left) + len(right))
            return operator.add(left, right)
        return calculated(operator.add, left, right)

    def multiply(self, left: Any, right: Any) -> Any:
        if isinstance(right, str | list | tuple):
            left, right = right, left
        if isinstance(left, str | list | tuple) and isinstance(right, int):
            if len(left) * right > MAX_ITEMS:
                raise TemplateError(TOO_LARGE)
            self.budget.take(ITEM * len(left) * max(right, 0))
            return joined([left] * right) if isinstance(left, str) else left * right
        return calculated(operator.mul, left, right)

    def compare(self, compared: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
        for value in (left, right):
            if isinstance(value, str):
                self.budget.take(len(value) >> COMPARED_AT_ONCE)
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

    # Parts of filters

    def _paid(self, items: Iterable[Any]) -> Iterator[Any]:
        for each in items:
            self.budget.take(ITEM)
            yield each

    def _search(self, text: str, wanted: str) -> None:
        """Python's own search compares each place with all of what is wanted, in the worst case."""
        compared = len(text) * (1 + len(wanted) // 16)
        self.budget.take(1 + (compared >> COMPARED_AT_ONCE))

    def key(self, key: Any) -> Any:
        """A tuple of tuples could take for ever to hash."""
        if isinstance(key, str):
            self.budget.take(len(key) >> COMPARED_AT_ONCE)
        elif key is not None and not isinstance(key, int | float | Undefined):
            raise TypeError(f"{type(key).__name__} is no key")
        return key

    def _attribute_of(self, value: Any, path: Any) -> Any:
        if path is None:
            return value
        for name in path.split(".") if isinstance(path, str) else (path,):
            value = self.item(value, int(name) if isinstance(name, str) and name.isdecimal() else name)
        return value


def length_of(value: Any) -> int:
    return len(value) if isinstance(value, str | list | tuple | dict | range) else 0


def calculated(operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    for value in (left, right):
        if isinstance(value, Undefined):
            raise unfit(value)
    for value in (left, right):
        if not isinstance(value, _Number):
            raise unfit(value)
    result = operation(left, right)
    if isinstance(result, int) and abs(result) > _MAX_NUMBER:
        raise TemplateError(TOO_LARGE)
    return result


def _no_power(_left: Any, _right: Any) -> NoReturn:
    raise TemplateError(TOO_LARGE)


def unfit(value: Any) -> TypeError:
    """Says what is missing, or of what kind a value is."""
    if isinstance(value, Undefined):
        value()  # raises
    return TypeError(f"a value of the type “{type(value).__name__}” where it does not fit")


CALCULATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "-": partial(calculated, operator.sub),
    "/": partial(calculated, operator.truediv),
    "//": partial(calculated, operator.floordiv),
    "%": partial(calculated, operator.mod),
    "**": _no_power,
}
