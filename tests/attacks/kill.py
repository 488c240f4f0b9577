"""`kill -9` at random, while the engine chats, learns, imports and forgets; each try goes on with the store of the one
before.

The child runs the real engine, mostly over a target of made-up words, which is loaded at once, and in every fifth try
over the starter, half of the time with the drafter that learns. It reports what it told the window; whatever of that
was said before the kill must be in the store, and whatever was told to be forgotten nowhere in the folder.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import random
import re
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from engine import BUILT_IN, STARTER, Engine, EngineConfig, ReplySettings, SamplingSettings, StopSignal
from engine import loading as engine_loading
from engine.backend.storage import FILE_NAME, Repository
from engine.values.config import SpeculationSettings
from engine.values.conversations import Message
from engine.values.errors import MendableError
from engine.values.events import (
    ConversationForgotten,
    Event,
    EverythingForgotten,
    MessageStored,
    OwnWorkFailed,
    PromptStored,
    ReplyFinished,
)
from engine.values.growing_reply import PieceReader, ReplySoFar
from engine.values.learned import VerifiedReply
from engine.values.orders import ContinueReply, Regenerate, ReplyOrder, Send
from engine.values.requests import Request, ignore
from engine.values.targets import LoadOrder
from tests.attacks.attack import Outcome, Plan
from tests.attacks.desk import Desk
from tests.fakes.target import END, PIECES, FakeTarget

_LOST_S = 5.0  # of a reply, at most
_PASS_S = 0.01  # of the made-up target
_FOLDER = "store"  # where the window looks for it in the end
_WORD = re.compile(rb"word\d+x\d+y")
_GREEDY = ReplySettings(SamplingSettings(temperature=0))


# In the child


def _live(folder: str, number: int, seed: int, kind: str, pipe: Connection) -> None:
    """Chats, learns, imports and forgets until it is killed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    life = _Life(Path(folder), number, random.Random(seed), pipe)
    if kind == "made up":
        engine_loading.load_target = life.load  # type: ignore[assignment]
    speculation = SpeculationSettings(drafter=BUILT_IN) if kind == "learning" else SpeculationSettings(enabled=False)
    life.run(Engine(EngineConfig(Path(folder), speculation), life.hear))


class _Life:
    def __init__(self, folder: Path, number: int, dice: random.Random, pipe: Connection) -> None:
        self._folder = folder
        self._dice = dice
        self._pipe = pipe
        self._words = (f"word{number}x{count}y" for count in itertools.count())
        self._sending = threading.Lock()
        self._ended = threading.Condition()
        self._unfinished: list[Request[Any]] = []
        self._chats: list[int] = []
        self._last = 0  # the last reply

    def load(self, *_: Any) -> FakeTarget:
        target = FakeTarget(context_size=200_000, max_tokens=256)
        target.next_token = _answer
        target.on_evaluate = lambda: time.sleep(_PASS_S)
        return target

    def hear(self, event: Event) -> None:
        match event:
            case PromptStored(message) | ReplyFinished(message):
                if message.id > 0:  # else the store refused it for now, which the window says
                    self._tell("said", message)
                if message.conversation_id not in self._chats:
                    self._chats.append(message.conversation_id)
                self._last = message.id
            case MessageStored(_, message):
                self._tell("said", message)
            case ConversationForgotten(summary):
                self._tell("forgotten", summary.id)
            case EverythingForgotten():
                self._tell("all forgotten")
            case OwnWorkFailed(sentence):
                self._tell("failed", "OwnWorkFailed", sentence)

    def _tell(self, *news: object) -> None:
        with self._sending:
            self._pipe.send(news)

    def _end(self, request: Request[Any]) -> None:
        with self._ended:
            self._unfinished.remove(request)
            self._ended.notify_all()

    def _wait(self, limit_s: float) -> None:
        with self._ended:
            self._ended.wait_for(lambda: not self._unfinished, limit_s)

    def run(self, engine: Engine) -> None:
        self._engine = engine
        engine.ask(engine.target.load, LoadOrder(STARTER)).result(120)
        self._tell("ready")
        threading.Thread(target=self._learn, daemon=True).start()
        acts = (
            self._ask,
            self._ask,
            self._ask,
            self._again,
            self._import,
            self._forget,
            self._delete,
            self._forget_more,
        )
        while True:
            stop = self._dice.choice(acts)()
            if self._dice.random() < 0.6:
                self._wait(self._dice.uniform(0.0, 3.0))
            elif stop is not None and self._dice.random() < 0.3:
                stop.set()

    def _write(self, order: ReplyOrder) -> StopSignal:
        reader = PieceReader()

        def tell_more(so_far: ReplySoFar) -> None:
            if text := "".join(piece.text for piece in reader.new_in(so_far)):
                self._tell("more", so_far.conversation_id, text, time.monotonic())

        return self._ask_for(self._engine.chat.answer, order, progress=tell_more)

    def _ask_for(
        self,
        method: Callable[..., object],
        *args: object,
        then: tuple[object, ...] = (),
        progress: Callable[[ReplySoFar], object] = ignore,
    ) -> StopSignal:
        """Tells `then` when it is done."""
        with self._ended:
            request = self._engine.begin(method, args, {}, progress)
            self._unfinished.append(request)

        def end(_settled: object) -> None:
            if failure := request.failure:
                self._tell("failed", failure.error.__name__, failure.sentence)
            elif then:
                self._tell(*then)
            self._end(request)

        request.future.add_done_callback(end)
        return request.signal

    def _ask(self) -> StopSignal:
        chat = self._dice.choice([None, *self._chats[-5:]])
        return self._write(Send(f"Say {next(self._words)}.", chat, _GREEDY))

    def _again(self) -> StopSignal | None:
        if not self._chats:
            return None
        chat = self._chats[-1]
        orders: tuple[ReplyOrder, ...] = Regenerate(chat, _GREEDY), ContinueReply(chat, _GREEDY)
        return self._write(self._dice.choice(orders))

    def _import(self) -> StopSignal:
        word = next(self._words)
        chats = [{"messages": [{"role": "user", "content": f"{word} {count}"}]} for count in range(50)]
        path = self._folder.parent / f"{word}.json"
        path.write_text(json.dumps(chats))
        return self._ask_for(self._engine.files.import_conversations, path, then=("imported", f"{word} 0"))

    def _forget(self) -> StopSignal | None:
        if not self._chats:
            return None
        chat = self._chats.pop(self._dice.randrange(len(self._chats)))
        self._tell("forgetting", chat)
        return self._ask_for(self._engine.editor.forget, chat)

    def _forget_more(self) -> StopSignal:
        if self._dice.random() < 0.7:
            return self._ask_for(self._engine.personal.forget_learned)
        self._tell("forgetting all")
        self._chats.clear()
        return self._ask_for(self._engine.forgetting.forget_everything)

    def _delete(self) -> StopSignal | None:
        """And bring it back: one that stays deleted is purged by the next start."""
        if not self._chats:
            return None
        chat = self._chats[-1]
        self._tell("deleting", chat)
        self._ask_for(self._engine.editor.delete, (chat,))
        return self._ask_for(self._engine.editor.restore, (chat,), then=("brought back", chat))

    def _learn(self) -> None:
        """Stores what the learner would."""
        repository = Repository.open(self._folder)
        reply = VerifiedReply(np.arange(8, dtype=np.int32), np.zeros((8, 4), np.int32), np.zeros((8, 4), np.float16))
        while True:
            try:
                repository.save_adapter("target", "drafter", 1.0, 1.5, 4, 4, os.urandom(100_000))
                if self._last:
                    repository.save_lesson("target", self._last, reply, 100)
            except MendableError:  # the reply is gone
                continue
            time.sleep(0.05)


def _answer(tokens: Sequence[int]) -> int:
    """A short text or a long one, with the word of the last prompt."""
    asked, _, said = b"".join(PIECES[token] for token in tokens).rpartition(b"assistant\n")
    word = _WORD.findall(asked)[-1]
    length = (2, 5, 60)[len(asked) % 3]
    text = b" ".join(b"%s %d" % (word, count) for count in range(length))
    return text[len(said)] if len(said) < len(text) else END


# Around it


@dataclass
class _Known:
    """What must be in the store, and what must not."""

    messages: dict[int, dict[int, str]] = field(default_factory=dict)  # by chat and id
    uncertain: set[int] = field(default_factory=set)  # chats that were about to be forgotten
    deleted: Counter[int] = field(default_factory=Counter)  # chats that were about to be, how many times
    is_forgetting: bool = False  # everything: what is stored meanwhile may go, too
    forgotten: set[int] = field(default_factory=set)
    secrets: set[bytes] = field(default_factory=set)  # words of forgotten chats
    imported: list[str] = field(default_factory=list)
    growing: dict[int, list[tuple[str, float]]] = field(default_factory=dict)  # pieces of a reply, by chat
    failures: list[str] = field(default_factory=list)

    def hear(self, news: tuple[Any, ...]) -> None:
        match news:
            case ("said", Message() as message):
                self.messages.setdefault(message.conversation_id, {})[message.id] = message.text
                self.growing.clear()  # one reply at a time
                if self.is_forgetting:
                    self.uncertain.add(message.conversation_id)
            case ("more", chat, text, at):
                self.growing.setdefault(chat, []).append((text, at))
            case ("forgetting", chat):
                self.uncertain.add(chat)
            case ("deleting", chat):
                self.deleted[chat] += 1
            case ("brought back", chat):
                self.deleted[chat] -= 1
            case ("forgetting all",):
                self.uncertain.update(self.messages)
                self.imported.clear()
                self.is_forgetting = True
            case ("forgotten", chat):
                self._forget(chat)
            case ("all forgotten",):
                for chat in list(self.messages):
                    self._forget(chat)
                self.is_forgetting = False
            case ("imported", first) if not self.is_forgetting:
                self.imported.append(first)
            case ("failed", what, sentence) if "Something went wrong" in sentence:
                self.failures.append(f"{what}: {sentence}")

    def _forget(self, chat: int) -> None:
        self.forgotten.add(chat)
        said = self.messages.pop(chat, {})
        self.secrets |= {word for text in said.values() for word in _WORD.findall(text.encode())}
        self.growing.pop(chat, None)


def run(plan: Plan) -> Outcome:
    if sys.platform == "linux":  # with all that is imported: no second is lost on that
        multiprocessing.set_start_method("fork", force=True)
    outcome, known = Outcome(), _Known()
    folder = plan.folder / _FOLDER
    folder.mkdir()
    most_lost_s, num_cut_off, kinds = 0.0, 0, {"made up": 0, "starter": 0, "learning": 0}
    for number in range(plan.count):
        dice = plan.dice(number)
        kind = "made up" if number % 5 else ("starter" if number % 10 else "learning")
        kinds[kind] += 1
        slow_s = {"made up": 0.0, "starter": 3.0, "learning": 8.0}[kind]
        after_s = dice.choice([dice.uniform(0.0, 1.5), dice.uniform(0.5, 3.0), dice.uniform(5.0, 9.0)])
        killed_at = _kill_after(after_s + dice.uniform(0, slow_s), folder, number, dice.getrandbits(32), kind, known)
        outcome.tried += 1
        lost_s, is_cut_off = _check(number, folder, known, killed_at, outcome)
        most_lost_s, num_cut_off = max(most_lost_s, lost_s), num_cut_off + is_cut_off
    outcome.failures += known.failures
    with Desk(plan.folder) as desk, desk.watching() as held:
        outcome.check(bool(desk.ask("Name two colours.")), "the window does not answer afterwards")
    outcome.check(held.is_within_bar, f"the interface thread was {held}")
    outcome.figures = {
        "engines": ", ".join(f"{count} {kind}" for kind, count in kinds.items()),
        "replies cut off": str(num_cut_off),
        "most lost of one": f"{most_lost_s:.1f} s",
        "forgotten": f"{len(known.forgotten)} chats, {len(known.secrets)} words",
        "kept": f"{sum(map(len, known.messages.values()))} messages",
        "interface": str(held),
    }
    return outcome


def _kill_after(seconds: float, folder: Path, number: int, seed: int, kind: str, known: _Known) -> float:
    """Lives for so long, and hears what is told until it is dead. Returns when it was killed."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.Process(target=_live, args=(str(folder), number, seed, kind, theirs))
    child.start()
    theirs.close()
    end = time.monotonic() + seconds
    known.growing.clear()
    try:
        while (left_s := end - time.monotonic()) > 0:
            if ours.poll(left_s):
                known.hear(ours.recv())
    except EOFError:
        known.failures.append(f"{number}: the engine ended by itself")
    child.kill()
    killed_at = time.monotonic()
    for news in _rest(ours):
        known.hear(news)
    child.join()
    return killed_at


def _rest(pipe: Connection) -> Iterator[tuple[Any, ...]]:
    while True:
        try:
            yield pipe.recv()
        except (EOFError, OSError):  # the last one may be half
            return


def _check(number: int, folder: Path, known: _Known, killed_at: float, outcome: Outcome) -> tuple[float, bool]:
    """How many seconds of the reply in progress are not in the store, and whether there was one."""
    try:
        repository = Repository.open(folder)
        repository.purge_deleted()
        repository.finish_erasure()  # as a start does, where the kill came between forgetting and overwriting
    except MendableError as error:
        outcome.check(False, f"{number}: {error}")
        return 0.0, False
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        found = connection.execute("PRAGMA integrity_check").fetchall()
        outcome.check(found == [("ok",)], f"{number}: {found[:2]}")
        stored: dict[int, dict[int, tuple[str, int | None, str]]] = {}
        rows = connection.execute("SELECT conversation_id, id, text, parent_id, role FROM messages ORDER BY id")
        for chat, message_id, text, parent_id, role in rows:
            stored.setdefault(chat, {})[message_id] = (text, parent_id, role)
    repository.close()
    known.uncertain |= (+known.deleted).keys()  # the kill came before they were brought back
    for chat in sorted(known.uncertain & known.messages.keys()):
        if chat not in stored:  # it was forgotten, and the kill came before that was told
            known._forget(chat)
    known.uncertain.clear()
    known.deleted.clear()
    known.is_forgetting = False
    for chat, messages in known.messages.items():
        for message_id, text in messages.items():
            is_there = stored.get(chat, {}).get(message_id, ("", None, ""))[0] == text
            outcome.check(is_there, f"{number}: message {message_id} of chat {chat} is lost: {text[:40]!r}")
    outcome.check(not known.forgotten & stored.keys(), f"{number}: a forgotten chat is there again")
    texts = {text for messages in stored.values() for text, _, _ in messages.values()}
    for first in known.imported:
        outcome.check(not first or first in texts, f"{number}: the import of {first} is lost")
    data = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    for word in known.secrets:
        outcome.check(word not in data, f"{number}: the forgotten {word.decode()} is in a file")
    return _lost(number, stored, known, killed_at, outcome)


def _lost(
    number: int,
    stored: dict[int, dict[int, tuple[str, int | None, str]]],
    known: _Known,
    killed_at: float,
    outcome: Outcome,
) -> tuple[float, bool]:
    lost_s, is_cut_off = 0.0, False
    for chat, pieces in known.growing.items():
        if chat not in known.messages:
            continue
        told = "".join(text for text, _ in pieces)
        new = [text for each, (text, _, role) in stored[chat].items() if each not in known.messages[chat]]
        kept = max((_num_equal(text[at:], told) for text in new for at in _begins(text, told)), default=0)
        missing_since = next((at for length, at in _lengths(pieces) if length > kept), killed_at)
        lost_s, is_cut_off = max(lost_s, killed_at - missing_since), True
        outcome.check(lost_s <= _LOST_S, f"{number}: the last {lost_s:.1f} s of a reply are lost")
    return lost_s, is_cut_off


def _begins(text: str, told: str) -> Iterator[int]:
    """Where in a stored text that which was told may begin: it may continue another one."""
    yield 0
    place = text.find(told[:20])
    if place > 0:
        yield place


def _num_equal(one: str, other: str) -> int:
    """Of characters, from the first on."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))


def _lengths(pieces: list[tuple[str, float]]) -> Iterator[tuple[int, float]]:
    length = 0
    for text, at in pieces:
        length += len(text)
        yield length, at
