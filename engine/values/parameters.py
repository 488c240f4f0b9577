"""Numbers and texts that can be set. A `Parameter` or `TextParameter` in the annotation of a dataclass's field is all
there is to declare: the code that checks the field, reads it from a file, shows it in a window or asks for it on the
command line takes it from there.

    top_k: Annotated[int, Parameter("Top-k", 0, 1_000_000, 5, "Chooses among this many…", off=0)] = 40
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Flag, auto
from math import inf, nan
from types import NoneType
from typing import Any, get_args, get_type_hints

from engine.values.errors import SettingInvalid
from engine.values.sentences import say

_MOST_BIAS = 100.0


class Scope(Flag):
    """Where a user can set a parameter."""

    SETTINGS = auto()  # for all chats
    TARGET = auto()  # for one target
    CHAT = auto()  # for one chat
    COMMAND = auto()  # for one reply, on the command line


_found: dict[type[Any], tuple[Parameter | TextParameter, ...]] = {}  # by dataclass, whose annotations are read once


@dataclass(frozen=True, slots=True)
class Parameter:
    """The range and the words of a number. The words are English; the window translates them, and `make translations`
    collects them from here."""

    title: str
    low: float
    high: float
    step: float = 1  # of the arrow keys
    about: str = ""  # a sentence that explains it; where `off` is one, without how to switch it off
    off: float | None = None  # the value that switches it off
    least_above_zero: float = 0.0  # smaller values are refused, but for 0 itself
    unit: str = ""
    unset: str = ""  # what None means
    suggested: float = 0  # the first number that is offered in place of None
    option: str = ""  # about its option on the command line
    scope: Scope = ~Scope(0)
    is_special: bool = False  # few look for it: windows show it apart
    # Of the field, filled in by `parameters`:
    name: str = ""
    kind: Any = float  # int, float, or one of them and None
    default: Any = None

    @property
    def explanation(self) -> str:
        """The text that the window shows."""
        return f"{self.about}; {self._how_off}" if self.about and self._how_off else self.about

    @property
    def option_help(self) -> str:
        """The text on the command line."""
        return self.option or self._how_off

    @property
    def is_whole(self) -> bool:
        return int in (get_args(self.kind) or (self.kind,))

    @property
    def is_optional(self) -> bool:
        return NoneType in get_args(self.kind)

    def check(self, value: float | None) -> None:
        """Raises SettingInvalid. None is for the type of the field to refuse."""
        if value is None:
            return
        if not self.low <= value <= self.high:  # also refuses NaN
            choices = say("choose a value from {low} to {high}", low=_shown(self.low), high=_shown(self.high))
        elif 0 < value < self.least_above_zero:
            choices = say("choose 0 or at least {least}", least=_shown(self.least_above_zero))
        else:
            return
        raise SettingInvalid(
            "{title} is {value}; {choices}.", title=say(self.title), value=_shown(value), choices=choices
        )

    def accepts(self, value: object) -> bool:
        """True if a value that was read from a file is valid; None is not."""
        is_number = not isinstance(value, bool) and isinstance(value, int if self.is_whole else int | float)
        return is_number and _passes(self.check, value)

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> dict[str, Any]:
        """Has pydantic make this check, too, where it reads a file: an error then names its field. A schema is a plain
        dictionary, for which pydantic need not be imported."""
        return {
            "type": "function-after",
            "function": {"type": "no-info", "function": self._checked},
            "schema": handler(source),
        }

    @property
    def _how_off(self) -> str:
        return "" if self.off is None else f"{self.off:g} switches this off."

    def _checked(self, value: Any) -> Any:
        self.check(value)
        return value


@dataclass(frozen=True, slots=True)
class TextParameter:
    """A text that can be set, and its words, as in a `Parameter`. Empty, it is off."""

    title: str
    most: int  # characters
    about: str = ""
    example: str = ""
    option: str = ""
    scope: Scope = ~Scope(0)
    look: Callable[[str], object] = len  # raises SettingInvalid for a text that makes no sense
    name: str = ""  # of the field, filled in by `texts`

    def check(self, value: str) -> None:
        """Raises SettingInvalid."""
        if len(value) > self.most:
            raise SettingInvalid(
                "{title} is too long; it may have {most:,} characters.", title=say(self.title), most=self.most
            )
        self.look(value)

    def accepts(self, value: object) -> bool:
        """True if a value that was read from a file is valid; an empty one is not."""
        return isinstance(value, str) and bool(value) and _passes(self.check, value)


def _passes(check: Callable[[Any], None], value: object) -> bool:
    try:
        check(value)
    except SettingInvalid:
        return False
    return True


NO_NUMBER = Parameter("", -inf, inf)  # of a setting that is none


def parameters(owner: type[Any], scope: Scope | None = None) -> tuple[Parameter, ...]:
    """The numbers that a dataclass declares, in its order; with a scope, those that can be set there."""
    return tuple(each for each in _declared_by(owner) if isinstance(each, Parameter) and _is_in(scope, each))


def texts(owner: type[Any], scope: Scope | None = None) -> tuple[TextParameter, ...]:
    """The texts that it declares, as with `parameters`."""
    return tuple(each for each in _declared_by(owner) if isinstance(each, TextParameter) and _is_in(scope, each))


def _is_in(scope: Scope | None, declared: Parameter | TextParameter) -> bool:
    return scope is None or scope in declared.scope


def _declared_by(owner: type[Any]) -> tuple[Parameter | TextParameter, ...]:
    if owner not in _found:
        _found[owner] = tuple(_read_from(owner))
    return _found[owner]


def _read_from(owner: type[Any]) -> Iterator[Parameter | TextParameter]:
    hints = get_type_hints(owner, include_extras=True)
    for field in dataclasses.fields(owner):
        for part in getattr(hints[field.name], "__metadata__", ()):
            if isinstance(part, Parameter):
                kind = hints[field.name].__origin__
                yield dataclasses.replace(part, name=field.name, kind=kind, default=field.default)
            elif isinstance(part, TextParameter):
                yield dataclasses.replace(part, name=field.name)


def parameter(owner: type[Any], name: str) -> Parameter:
    """The number that the field `name` of a dataclass declares."""
    return next(each for each in parameters(owner) if each.name == name)


def check_parameters(settings: Any) -> None:
    """Checks all fields of a dataclass that declare one. Raises SettingInvalid."""
    for each in _declared_by(type(settings)):
        each.check(getattr(settings, each.name))


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def read_biases(text: str) -> tuple[tuple[str, float], ...]:
    """The words of a logit bias, each on a line of its own as in `sure = -3`, and what is added to their logits; in
    quotes where spaces count. Raises SettingInvalid."""
    biases: list[tuple[str, float]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        word, _, number = (part.strip() for part in line.rpartition("="))
        try:
            bias = float(number)
        except ValueError:
            bias = nan
        if not word or not abs(bias) <= _MOST_BIAS:
            raise SettingInvalid(
                "“{line}” is not a logit bias; write a word, “=” and a number from -100 to 100, as in: sure = -3",
                line=line[:40],
            )
        biases.append((word, bias))
    return tuple(biases)
