"""What a chat template may do with values: operators, methods, filters and tests, all within a budget.

A template is a program from a stranger. Whatever makes a value pays for its size before it is made, and whatever looks
at one pays for looking, so that no step takes long or much memory, whatever the steps before it made.
"""

from __future__ import annotations

import operator
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, NoReturn, Self

from jinja2 import TemplateError, Undefined
from jinja2.runtime import LoopContext

from engine.sentences import say
from engine.stop_signal import StopSignal
from engine.target.interface import Interrupted
from engine.target.prompt_text import PromptText, joined, part, said_in

# What one rendering may make, in characters. The templates of seventy models take a few thousand by themselves, and at
# most eight for each character that was said.
_ROOM = 16_000_000
_ROOM_PER_CHARACTER = 16
_SECONDS = 0.6  # of processor time, a multiple of what those templates take for a chat of 5,000 messages
_SECONDS_IN_ALL = 0.9  # of the renderings for one prompt, of which each is given a share of what is left
_SHARE, _LEAST_SECONDS = 2 / 3, 0.01  # the least is enough for the last turn alone
_LOOK_EVERY = 20_000  # characters or steps: milliseconds
ITEM = 32  # characters take as long and as much memory as an item of a list
PIECE = 48  # … and as a short text with what is known of it
_COMPARED_AT_ONCE = 4  # a power of two: of characters, in the time of a step
_MAX_NUMBER, _MAX_POWER = 2**63, 64
_MAX_ITEMS = 100_000  # of range() and of what `*` makes
_MAX_TIME_FORMAT = 100
_TIME_FORMAT = re.compile(r"(?:[^%]|%[-#]?[A-Za-z%])*")
TOO_LARGE = say("it makes values that are too large")

_Number = (int, float)
_Sequence = (list, tuple, range)
_MISSING = object()


class OverBudget(TemplateError):
    """A step would take more than is left."""


class Patience:
    """The time of all renderings for one prompt."""

    def __init__(self, stop: StopSignal | None = None) -> None:
        self._left = _SECONDS_IN_ALL
        self.stop = stop

    @contextmanager
    def lent(self) -> Iterator[float]:
        """Processor seconds for the next rendering, which is done inside."""
        start = time.thread_time()
        try:
            yield max(_LEAST_SECONDS, _SHARE * self._left)
        finally:
            self._left -= time.thread_time() - start


class Budget:
    """What is left of memory and time."""

    def __init__(self, num_said: int, seconds: float = _SECONDS, stop: StopSignal | None = None) -> None:
        """`num_said`: characters in the messages. `seconds`: of the processor."""
        self._stop = stop
        self._left = _ROOM + _ROOM_PER_CHARACTER * num_said
        self._end = time.thread_time() + seconds
        self._taken, self._next_look = 0, _LOOK_EVERY

    def take(self, amount: int) -> None:
        """`amount`: of characters about to be made, or of steps. Raises OverBudget, and Interrupted when it is
        stopped."""
        self._left -= amount
        self._taken += amount
        if self._taken > self._next_look or self._left < 0:
            if self._left < 0:
                raise OverBudget(TOO_LARGE)
            if self._stop is not None and self._stop.is_set():
                raise Interrupted
            if time.thread_time() > self._end:
                raise OverBudget(say("it takes too long"))
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
        self.operations: dict[str, Callable[[Any, Any], Any]] = {
            "+": self.add,
            "-": partial(calculated, operator.sub),
            "*": self.multiply,
            "/": partial(calculated, operator.truediv),
            "//": partial(calculated, operator.floordiv),
            "**": _power,
        }

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
                return Undefined(say("there is no such item"))
        return self.attribute(value, key) if isinstance(key, str) else Undefined(say("there is no such item"))

    def attribute(self, value: Any, name: str) -> Any:
        """`value.name`."""
        if isinstance(value, LoopContext) and name in _LOOP_NAMES:
            if name == "changed":
                return Callee(lambda *now: self.compare(lambda one, _: value.changed(*one), now, ()))
            return Callee(value.cycle) if name == "cycle" else getattr(value, name)
        if isinstance(value, Undefined):
            raise unfit(value)
        method = self.method_of(value, name)
        if method is not None:
            return Callee(partial(method, self, value))
        inside = value.values if isinstance(value, Namespace) else value
        return inside[name] if isinstance(inside, dict) and name in inside else Undefined(obj=value, name=name)

    def method_of(self, value: Any, name: str) -> Callable[..., Any] | None:
        """Called with `self` and the value before its own arguments. None where it has no such method."""
        raise NotImplementedError

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
        return _Joined(parts, self.budget)

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
            if len(left) * right > _MAX_ITEMS:
                raise TemplateError(TOO_LARGE)
            self.budget.take(ITEM * len(left) * max(right, 0))
            return joined([left] * right) if isinstance(left, str) else left * right
        return calculated(operator.mul, left, right)

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

    # Helpers

    def _namespace(self, given: dict[str, Any] | None = None, **values: Any) -> Namespace:
        self.budget.take(ITEM * length_of(given))
        return Namespace({**(given or {}), **values})

    def _paid(self, items: Iterable[Any]) -> Iterator[Any]:
        for each in items:
            self.budget.take(ITEM)
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


def _power(left: Any, right: Any) -> Any:
    if isinstance(right, int) and abs(right) > _MAX_POWER:
        raise TemplateError(TOO_LARGE)
    return calculated(operator.pow, left, right)


def unfit(value: Any) -> TypeError:
    """Says what is missing, or of what kind a value is."""
    if isinstance(value, Undefined):
        value()  # raises
    return TypeError(f"a value of the type “{type(value).__name__}” where it does not fit")


def _range(*arguments: int) -> range:
    made = range(*arguments)
    if len(made) > _MAX_ITEMS:
        raise TemplateError(TOO_LARGE)
    return made


def _raise(message: Any = "") -> NoReturn:
    raise TemplateError(message if isinstance(message, str) else "")


def _now(form: str) -> str:
    if len(form) > _MAX_TIME_FORMAT or not _TIME_FORMAT.fullmatch(form):
        raise TemplateError(say("it asks for the time in a forbidden form"))
    return datetime.now().strftime(form)


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
