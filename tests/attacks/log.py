"""Everything that can be asked of the engine, with made-up words in each of its texts and paths: names of files, of
chats, folders, presets, programs, servers and tools, prompts, grammars, keys, searches. Nearly all of it fails, each in
its own way. Then the log is searched for the words, and so are crash reports and what went to the standard error."""

from __future__ import annotations

import dataclasses
import inspect
import logging
import os
import random
import socket
import string
import typing
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, redirect_stderr
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, cast
from unittest.mock import patch

import engine.loading
import engine.opening
from app.crash.qt_messages import log_qt_messages
from app.crash.reports import CrashFolder
from app.crash.watch import log_to_file, watching
from engine import Engine, EngineConfig
from engine.backend.remote.keys import Keys
from engine.backend.remote.servers import Servers
from engine.values.config import LearningSettings, SpeculationSettings
from engine.values.places import LOG
from engine.values.requests import Door, Method, ignore
from engine.values.targets import LoadOrder
from tests.attacks.attack import Outcome, Plan
from tests.fakes.caller import Caller

_MARK = "zq"  # begins every planted word, and no word of ours
_PATIENCE_S = 30.0
_LEFT_OUT = {  # they end the log or what is running, take minutes, or wait for somebody
    *("close", "join", "pause", "watched", "exchanging", "wait", "begin", "hear", "locked", "detach"),
    *("tune", "tune_starter", "measure_machine", "acquit", "prove", "note_ahead", "forget_everything"),
    "end_self_distillation",
}


class _Words:
    """Values of any type, with planted words wherever there is a text."""

    def __init__(self, dice: random.Random, folder: Path) -> None:
        self._dice = dice
        self._folder = folder
        self.places: dict[str, str] = {}  # where each was planted
        self._place = ""

    def arguments(self, method: Method, hints: dict[str, Any]) -> dict[str, Any]:
        self._place = method.name
        return {name: self._value(hint, name) for name, hint in hints.items()}

    def word(self) -> str:
        word = _MARK + "".join(self._dice.choices(string.ascii_lowercase, k=9))
        self.places[word] = self._place
        return word

    def _made(self, kind: Any) -> Any:
        try:
            hints = typing.get_type_hints(kind)
        except NameError:  # of types that only type checkers see
            return None
        given = {}
        for each in dataclasses.fields(kind):
            if not each.init or (each.default is not dataclasses.MISSING and self._dice.random() < 0.3):
                continue
            given[each.name] = self._value(hints[each.name], each.name)
        try:
            return kind(**given)
        except (ValueError, TypeError):  # settings check what they are given
            return None

    def _value(self, hint: Any, name: str) -> Any:
        origin, arguments, dice = typing.get_origin(hint), typing.get_args(hint), self._dice
        if origin is typing.Annotated:
            return self._value(arguments[0], name)
        if origin in (typing.Union, UnionType):
            return self._value(
                dice.choice([each for each in arguments if each is not NoneType or dice.random() < 0.3] or arguments),
                name,
            )
        if origin is typing.Literal:
            return dice.choice(arguments)
        if origin in (Collection, Sequence):
            return tuple(self._value(arguments[0], name) for _ in range(dice.randrange(3)))
        if origin in (tuple, frozenset, list):
            kinds = arguments[:1] * dice.randrange(3) if arguments[-1] is ... or origin is not tuple else arguments
            return origin(self._value(each, name) for each in kinds)
        if origin is dict:
            return {self._value(arguments[0], name): self._value(arguments[1], name) for _ in range(dice.randrange(3))}
        if dataclasses.is_dataclass(hint):
            return self._made(hint)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return dice.choice([*hint])
        return self._plain(hint, name)

    def _plain(self, hint: Any, name: str) -> Any:
        dice = self._dice
        if hint is str:
            return self._text(name)
        if hint is Path:
            return self._path()
        if hint is bool:
            return dice.random() < 0.5
        if hint is int:
            return dice.choice((0, 1, 2, 99))
        if hint is float:
            return dice.random()
        if hint is bytes:
            return dice.choice((b"", b"GIF89a", self.word().encode()))
        return None

    def _text(self, name: str) -> str:
        word, dice = self.word(), self._dice
        forms = (
            *(
                word,
                f"{word} {self.word()}",
                f"'{word}'",
                f"“{word}”",
                f"{word}\n{self.word()}",
                f"/{word}/{word}.gguf",
            ),
            *(f"{word}/{self.word()}", f"root ::= {word}", f'{{"type": "{word}"}}', f'{{"{word}": 1', f"%s {word} %d"),
            *(f"http://127.0.0.1:9/{word}?key={word}", f"http://{word}:{self.word()}@127.0.0.1:9", f"sk-{word}"),
        )
        return str(self._path()) if name in ("target", "drafter") and dice.random() < 0.5 else dice.choice(forms)

    def _path(self) -> Path:
        """Of a file that is there or not, and that nothing can be made of."""
        folder = self._folder / self.word()
        path = (
            folder / f"{self.word()}{self._dice.choice(('.gguf', '.json', '.pdf', '.png', '.slipstream', '.txt', ''))}"
        )
        kind = self._dice.randrange(4)
        if kind:
            folder.mkdir()
            path.write_bytes((b"GGUF", b'{"format": ', b"%PDF-1.4 ")[kind - 1] + self.word().encode() * 3)
        return path


class _Desk:
    def __init__(self, folder: Path) -> None:
        self.num_failed = 0
        config = EngineConfig(folder, SpeculationSettings(enabled=False), LearningSettings(enabled=False))
        self.engine = Engine(config, ignore)

    def asked(self, method: Method, arguments: dict[str, Any]) -> bool:
        request = self.engine.begin(cast(Any, method), (), arguments)
        try:
            self.num_failed += request.future.exception(_PATIENCE_S) is not None
        except TimeoutError:
            request.stop()
            return False
        return True


def run(plan: Plan) -> Outcome:
    outcome = Outcome()
    store, errors = plan.folder / "store", plan.folder / "stderr.txt"
    (plan.folder / "files").mkdir()
    words = _Words(plan.dice(0), plan.folder / "files")
    with ExitStack() as stack:
        stack.enter_context(patch.object(engine.loading, "load_target", lambda *_arguments: Caller()))
        stack.enter_context(patch.object(engine.opening, "open_servers", _without_keyring))
        stack.enter_context(patch.object(socket, "getaddrinfo", _nobody))
        stack.enter_context(patch.dict(os.environ, {"HF_ENDPOINT": "http://127.0.0.1:9"}))
        stack.enter_context(redirect_stderr(stack.enter_context(errors.open("w"))))
        log_to_file(store)
        stack.enter_context(watching(CrashFolder(store)))
        log_qt_messages()
        desk = _Desk(store)
        (plan.folder / "caller.gguf").write_bytes(b"GGUF")
        desk.engine.ask(desk.engine.target.load, LoadOrder(str(plan.folder / "caller.gguf"))).result()
        methods = [*_methods(desk.engine)]
        for number in range(plan.count):
            method, hints = methods[number % len(methods)]
            is_over = desk.asked(method, words.arguments(method, hints))
            outcome.check(is_over, f"{number}: {method.name} came to no end")
            _say_something(words)
            outcome.tried += 1
        desk.engine.close()
    told = [store / LOG, *store.glob(f"{LOG}.*"), *store.glob("crashes/*"), errors]
    text = "\n".join(file.read_text("utf-8", "replace") for file in told if file.exists()).lower()
    for word, planted in words.places.items():
        outcome.check(word not in text, f"{planted}: {_around(text, word)}")
    outcome.check(desk.num_failed > plan.count // 4, "hardly anything failed")
    outcome.check("mendableerror" in text or "notpossible" in text, "the log says nothing of what failed")
    outcome.figures = {
        "words": str(len(words.places)),
        "failed": str(desk.num_failed),
        "log": f"{len(text):,} characters",
    }
    return outcome


def _methods(engine: Engine) -> Iterator[tuple[Method, dict[str, Any]]]:
    """All of the services, with the types of their arguments: also those that nobody asks for, which fail."""
    for door in vars(engine).values():
        if not isinstance(door, Door):
            continue
        for name, method in inspect.getmembers(type(door.build()), inspect.isfunction):
            if name.startswith("_") or name in _LEFT_OUT:
                continue
            try:
                hints = typing.get_type_hints(method)
            except NameError:  # of types that only type checkers see: nobody asks with these
                continue
            hints = {each: hints[each] for each in hints.keys() - {"stop", "progress", "return"}}
            orders = typing.get_args(hints.get("order"))  # each of which is carried out in its own way
            yield from ((Method(door, name), {**hints, "order": each}) for each in orders)
            if not orders:
                yield Method(door, name), hints


def _say_something(words: _Words) -> None:
    """As libraries do."""
    words._place = "what libraries say"
    for name in ("slipstream.llama_cpp", "slipstream.qt", "httpx", "sqlalchemy.pool"):
        logging.getLogger(name).warning("model name:   %s (%s) of %s", words.word(), words.word(), words.word())
    try:
        getattr(words, words.word())
    except AttributeError:
        logging.getLogger("slipstream.worker").exception("a name is missing")


def _without_keyring(config: EngineConfig) -> Servers:
    """The system's own is the user's."""
    return Servers(config.data_dir, Keys(lambda: None))


def _nobody(host: str, *_arguments: Any, **_options: Any) -> Any:
    if host in ("127.0.0.1", "localhost"):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 9))]
    raise socket.gaierror(socket.EAI_NONAME, f"nobody knows {host}")


def _around(text: str, word: str) -> str:
    at = text.find(word)
    return text[max(0, at - 120) : at + 60].replace("\n", " ")
