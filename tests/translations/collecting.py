"""Finds the words that the window says: in `tr`, `translate` and `QT_TRANSLATE_NOOP` of the app, in the templates of
the engine's sentences, and in what is declared (settings, parameters, origins).

A context is the class in which `self.tr` stands, or the name before the dot: `Amounts.tr`. What the engine says has the
context `engine`. Words depend on a number if they are said with one, or have `{number}` in the engine.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import app
import engine
from app.settings.app_settings import AppSettings
from app.settings.declaration import SettingsPage, shown_settings
from app.text.languages import LANGUAGES
from app.text.translation import ENGINE
from engine import origins
from engine.values import errors
from engine.values.config import OWN_PARAMETERS, OWN_TEXTS, LearningSettings, SamplingSettings, TargetSettings
from engine.values.errors import MendableError
from engine.values.origins import SERVER, TARGET
from engine.values.parameters import Scope, parameters
from engine.values.sentences import placeholders

ROOT = Path(app.__file__).parents[1]
TERMINAL = ("engine/lab", "engine/use_cases", "app/commands")  # speak English
_ERRORS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, MendableError)}
TEMPLATES = {"say", "template", "Unreadable"} | _ERRORS
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Message:
    """One text to translate. `places` are files and lines, to look at where it is said."""

    context: str
    source: str
    is_plural: bool = False
    places: tuple[str, ...] = ()
    shown_by: str = ""  # the call that they are given to: `button`, `setToolTip`


def collected() -> list[Message]:
    """Each once, by context and in the order of the files."""
    found: dict[tuple[str, str], Message] = {}
    for message in (
        *_in_files(Path(app.__file__).parent, _app_messages),
        *_of_engine(),
        *_declared(),
    ):
        known = found.setdefault((message.context, message.source), message)
        if known is not message:
            places = tuple(dict.fromkeys(known.places + message.places))
            both = replace(known, is_plural=known.is_plural or message.is_plural, places=places)
            found[message.context, message.source] = both
    return sorted(found.values(), key=lambda each: each.context)


def declared_words() -> set[str]:
    """Those of settings and of the engine's parameters, which are in no call."""
    words = {group.value for group in SettingsPage}
    for setting in shown_settings(AppSettings):
        words |= {
            setting.label,
            setting.description,
            setting.number.unit,
            setting.number.unset,
            *(each for _, each in setting.choices),
        }
    of_practice = (each for each in parameters(LearningSettings) if each.about)
    of_targets = (*parameters(SamplingSettings, Scope.TARGET), *parameters(TargetSettings))
    for each in (*OWN_PARAMETERS, *of_targets, *of_practice):
        words |= {each.title, each.explanation, each.about, each.unit, each.unset}
    for text in OWN_TEXTS:
        words |= {text.title, text.about}
    return words - {"", *(language.own_name for language in LANGUAGES)}


def _declared() -> Iterator[Message]:
    for words in sorted(declared_words()):
        yield Message("Settings", words, places=("settings and parameters",))
    yield Message("Origin", SERVER.label, places=("who guessed, of what a server counts",))
    for origin in (*origins(), TARGET):
        yield Message("Origin", origin.label, places=("who guessed a piece of text",))
        yield Message(ENGINE, origin.label.lower(), places=("who guesses, within a sentence",))


def _of_engine() -> Iterator[Message]:
    yield from _in_files(Path(engine.__file__).parent, _engine_messages)


def _in_files(folder: Path, find: object) -> Iterator[Message]:
    assert callable(find)
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(TERMINAL):
            yield from find(ast.parse(path.read_text("utf-8")), name)


def _engine_messages(tree: ast.Module, file: str) -> Iterator[Message]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or _name(node) not in TEMPLATES or not node.args:
            continue
        for literal in _literals(node.args[0]):
            if _LETTER.search(literal):
                is_plural = any(each.startswith("{number") for each in placeholders(literal))
                yield Message(ENGINE, literal, is_plural, (f"{file}:{node.lineno}",))


def _app_messages(tree: ast.Module, file: str) -> Iterator[Message]:
    counted = {_held(call.args[0]) for call in ast.walk(tree) if isinstance(call, ast.Call) and _is_counted(call)}
    yield from _within(tree, "", file, counted - {""})


def _within(node: ast.AST, context: str, file: str, counted: set[str], shown_by: str = "") -> Iterator[Message]:
    """`counted`: names under which words are held that are said with a number."""
    for child in ast.iter_child_nodes(node):
        inner = child.name if isinstance(child, ast.ClassDef) else context
        if isinstance(child, ast.Assign):
            names = {target.id for target in child.targets if isinstance(target, ast.Name)}
            for message in _within(child, inner, file, counted, shown_by):
                yield replace(message, is_plural=message.is_plural or bool(names & counted))
            continue
        if isinstance(child, ast.Call):
            yield from _said(child, inner, file, shown_by)
        yield from _within(child, inner, file, counted, _shower(child) or shown_by)


def _said(call: ast.Call, context: str, file: str, shown_by: str) -> Iterator[Message]:
    name, place = _name(call), (f"{file}:{call.lineno}",)
    match call.func, call.args:
        case ast.Attribute(ast.Name(owner), "tr"), [words, *_]:
            context = context if owner in ("self", "cls") else owner
        case ast.Attribute(attr="tr"), [words, *_]:
            pass
        case _, [ast.Constant(str(told)), words, *_] if name in ("translate", "QT_TRANSLATE_NOOP"):
            context = told
        case _:
            return
    for literal in _literals(words):
        yield Message(context, literal, "%n" in literal or _is_counted(call), place, shown_by)


def _shower(node: ast.AST) -> str:
    name = _name(node) if isinstance(node, ast.Call) else ""
    return "" if name in ("tr", "translate", "format", "QT_TRANSLATE_NOOP") else name


def _is_counted(call: ast.Call) -> bool:
    """Whether words are said with a number: the third argument of `tr`, the fourth of `translate`."""
    least = {"tr": 3, "translate": 4}.get(_name(call))
    return least is not None and len(call.args) >= least


def _held(words: ast.expr) -> str:
    return words.id if isinstance(words, ast.Name) else ""


def _literals(words: ast.expr) -> Iterator[str]:
    if isinstance(words, ast.Constant) and isinstance(words.value, str) and words.value:
        yield words.value
    elif isinstance(words, ast.IfExp):
        yield from _literals(words.body)
        yield from _literals(words.orelse)
    elif isinstance(words, ast.BoolOp):
        for each in words.values:
            yield from _literals(each)


def _name(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))
