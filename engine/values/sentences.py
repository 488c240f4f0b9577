"""Sentences for the user that can be shown in another language.

The engine speaks English, and knows nothing of the screen. What it says to the user is a `Sentence`: a string, shown,
logged and compared as any other, that also knows the template it was made of and what was filled in. The window looks
the template up in the user's language and fills in the same values; the command line prints the string.

    say("{name} takes {size:.1f} GB.", name=path.name, size=num_bytes / 1e9)
    TargetMissing("There is no file {path}; choose another.", path=path)     # errors say theirs themselves

Placeholders are names, with a format where a number needs one: `{size:.1f}`, `{count:,}`, `{share:.0%}`. One with a
capital, `{Drafter}`, begins its value with one. A sentence that depends on a number has it as `{number}`, and writes
its English plurals as the window does: `file(s)`, `box(es)`, `repl(y|ies)`. A value may be a sentence itself, or a part
of one, which never stands alone.

`packaging/translations.py` collects the templates from these calls, so they are literals there; one that is held as
data is marked by `template`. A test makes sure that no other words of the engine reach the user.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

Value = str | int | float  # a `Sentence` among them

_PLACEHOLDER = re.compile(r"\{([A-Z]?[a-z_]+)(?::(,|,?\.\df|\.\d%|g))?\}")
_FORMS = re.compile(r"\((?:([^()|]*)\|([^()|]*)|(e?s))\)")  # "y|ies", or what the plural has more
_DEEPEST = 4  # sentences within sentences, as another process may send them
_LONGEST_TEXT = 40_000  # characters of what `as_text` makes
_LONGEST = 4_000  # characters of a template, or of a value


class Sentence(str):
    """`template` is English; of `values`, those that are sentences are translated, too."""

    template: str
    values: Mapping[str, Value]

    def __new__(cls, template: str, values: Mapping[str, Value]) -> Sentence:
        self = super().__new__(cls, filled(english(template, values), values))
        self.template = template
        self.values = values
        return self

    def __str__(self) -> Sentence:  # so that `str(error)` still knows its template
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.template, dict(self.values))

    def __deepcopy__(self, _known: dict[int, Any]) -> Sentence:
        return self


class _Told:
    """pydantic keeps what a sentence was made of; a schema is a plain dictionary, for which it need not be imported."""

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Callable[[Any], Any]) -> dict[str, Any]:
        reading = {"type": "no-info", "function": unpacked}
        writing = {"type": "function-plain", "function": packed}
        return {"type": "function-plain", "function": reading, "serialization": writing}


Told = Annotated[str, _Told()]  # marks a field that holds a sentence of the engine: the window shows it translated


def say(template: str, /, **values: object) -> Sentence:
    """A sentence stays as it is if there are no values."""
    if isinstance(template, Sentence) and not values:
        return template
    return Sentence(str.__str__(template), {name: _kept(value) for name, value in values.items()})


def template(words: str) -> str:
    """The template as it is, to be held as data."""
    return words


def together(*sentences: str) -> str:
    """One after the other; empty ones are left out."""
    first, *others = [*filter(None, sentences)] or [""]
    for other in others:
        first = say("{first} {second}", first=first, second=other)
    return first


def english(template: str, values: Mapping[str, Value]) -> str:
    """The template with the forms that `{number}` asks for, if it has one."""
    number = values.get("number")
    return template if number is None else in_english(template, number)


def in_english(template: str, number: Value) -> str:
    """Makes `1 file` and `2 files` of `file(s)`, `1 reply` and `2 replies` of `repl(y|ies)`."""
    return _FORMS.sub(r"\1" if number == 1 else r"\2\3", template)


def filled(template: str, values: Mapping[str, Value], show: Callable[[Value, str], str] = format) -> str:
    """The template with its values; `show` is given each of them and its format. What is no placeholder stays."""

    def shown(found: re.Match[str]) -> str:
        name, form = found.groups(default="")
        if name.lower() not in values:
            return found[0]
        words = show(values[name.lower()], form)
        return words if name.islower() else capitalized(words)

    return _PLACEHOLDER.sub(shown, template)


def capitalized(words: str) -> str:
    """The words as they begin a sentence; a name such as `owner/model-1b` stays as it is."""
    return words[:1].upper() + words[1:] if words.partition(" ")[0].isalpha() else words


def placeholders(template: str) -> list[str]:
    """The placeholders as written, in alphabetical order; a translation has the same."""
    return sorted(found[0] for found in _PLACEHOLDER.finditer(template))


def shortened(text: str, most: int) -> str:
    """Its beginning, up to the end of a word where there is one; `…` says that there is more."""
    if len(text) <= most:
        return text
    head = text[: most - 1]
    words = head.rpartition(" ")[0] if not text[most - 1].isspace() else head
    return (words if len(words) > most // 2 else head).rstrip() + "…"


def packed(sentence: str) -> Any:
    """The sentence in a form that JSON can hold, to be sent to another process or stored."""
    if not isinstance(sentence, Sentence):
        return sentence
    return {"template": sentence.template, "values": {name: _packed(value) for name, value in sentence.values.items()}}


def unpacked(data: Any, depth: int = 0) -> str:
    """What `packed` made of a sentence. Raises ValueError for anything else."""
    match data:
        case str():
            return data[:_LONGEST]
        case {"template": str(template), "values": dict(values)} if depth < _DEEPEST:
            return Sentence(template[:_LONGEST], {str(key): _unpacked(value, depth) for key, value in values.items()})
    raise ValueError("no sentence")


def as_text(sentence: str) -> str:
    """The sentence for a process that takes only a text."""
    return json.dumps(packed(sentence))


def from_text(text: str) -> str:
    """What `as_text` made; any other text as it is."""
    try:
        return unpacked(json.loads(text[:_LONGEST_TEXT]))
    except (ValueError, RecursionError):
        return text[:_LONGEST]


def _packed(value: Value) -> Any:
    return packed(value) if isinstance(value, str) else value


def _unpacked(value: Any, depth: int) -> Value:
    return value if isinstance(value, int | float) else unpacked(value, depth + 1)


def _kept(value: object) -> Value:
    return value if isinstance(value, str | int | float) else str(value)
