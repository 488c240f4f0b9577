"""A disk that is full or read-only at every write that the app makes: it says so, loses nothing, and works again when
there is room. The disk is a small file system in memory, mounted in a namespace of its own."""

from __future__ import annotations

import json
import logging
import os
import queue
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

import numpy as np

from app.crash.reports import CrashFolder
from app.crash.watch import log_to_file
from app.settings.app_settings import AppSettings, SettingsFile
from app.startup.instance_lock import InstanceLock
from engine import Engine, EngineConfig
from engine.backend.exchange.writing import write_chats
from engine.backend.hub.download import download_target
from engine.backend.hub.search import list_files
from engine.backend.library.saved_downloads import SavedDownloads
from engine.backend.profile.transfer import export_profile
from engine.backend.storage import Repository, connections
from engine.backend.storage.failures import as_store_errors
from engine.backend.storage.upgrade import MIGRATIONS, Migrations, upgrade
from engine.speculation.model.files.sources import StarterQuantization
from engine.speculation.numerics.vocabulary_map import VocabularyMap, open_map
from engine.values.config import OwnSampling, TargetOptions
from engine.values.conversations import ExportFormat, Role
from engine.values.errors import ConversationMissing, MendableError
from engine.values.events import DeletedErased
from engine.values.learned import NgramRecord, VerifiedReply
from engine.values.places import STORE
from engine.values.stop_signal import StopSignal
from engine.values.targets import TargetSource
from tests.attacks.archives import carried_out
from tests.attacks.attack import Outcome, Plan
from tests.attacks.desk import Desk
from tests.fakes.gguf import TINY, gguf
from tests.fakes.hub import FakeHub, serving
from tests.fakes.listener import EventQueue
from tests.fakes.older_store import with_next_revision, write_first_store

_SIZE = 64 << 20
_MODEL = "somebody/Tiny-GGUF"
_KEPT = "what was there before"
_LONG = "a text that needs room " * 2000
_DONE = "Done."
_STARTS = 4
_LEFT = (0, 4096, 8192, 20_000, 40_000, 100_000)  # bytes


class Disk:
    """Mounted at `path` as long as this process and its namespace live."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"
        path.mkdir(exist_ok=True)
        _mount("-t", "tmpfs", "-o", f"size={_SIZE},mode=700", "tmpfs", str(path))

    def fill(self, left: int) -> None:
        with self._filler.open("wb", buffering=0) as file:
            with suppress(OSError):
                while file.write(bytes(1 << 20)):
                    pass
            with suppress(OSError):
                while file.write(bytes(4096)):
                    pass
            file.truncate(max(0, file.tell() - left))

    def free(self) -> None:
        self._filler.unlink(missing_ok=True)

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """No file may be open to be written."""
        _mount("-o", "remount,ro", str(self.path))
        try:
            yield
        finally:
            _mount("-o", "remount,rw", str(self.path))


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


@dataclass(slots=True)
class Scene:
    """The data folder, with a chat in the store, and what an act needs besides."""

    folder: Path
    hub: FakeHub
    opened: Repository | None = None
    ids: list[int] = field(default_factory=list)  # of the messages of `chat`
    chat: int = 0
    written: dict[int, str] = field(default_factory=dict)  # the first message of each chat that the store has taken
    migrations: Migrations = MIGRATIONS  # with one more

    @property
    def store(self) -> Repository:
        """Opened when it is first needed."""
        if self.opened is None:
            self.opened = Repository.open(self.folder)
        return self.opened

    def prepare(self) -> None:
        kept = self.store.create_conversation(_KEPT, "").id
        self.store.add_message(kept, None, Role.USER, _KEPT)
        self.written[kept] = _KEPT
        self.chat = self.store.create_conversation("chat", "").id
        for place, text in enumerate(("one", "1", "two", _LONG)):
            role = Role.ASSISTANT if place % 2 else Role.USER
            self.ids.append(self.store.add_message(self.chat, self.ids[-1] if self.ids else None, role, text).id)
        self.store.add_target(TargetSource(self.folder / "t.gguf", "t", 1, "file:1"))
        SettingsFile(self.folder).save(AppSettings(draft=_KEPT))
        write_first_store(self.folder / "old" / STORE, self.folder)
        self.migrations = with_next_revision(self.folder / "migrations")

    def close(self) -> None:
        if self.opened is not None:
            self.opened.close()
            self.opened = None


Act = Callable[[Scene], object]


def _write(scene: Scene) -> None:
    number = scene.store.create_conversation("new", "").id
    scene.store.add_message(number, None, Role.USER, _LONG)
    scene.written[number] = _LONG


def _delete_and_restore(scene: Scene) -> None:
    """Undo is possible until the next start, also where it was refused once."""
    if len(scene.store.open_conversation(scene.chat).messages) == len(scene.ids):
        scene.store.delete_message(scene.chat, scene.ids[-1])
    with suppress(ConversationMissing):
        scene.store.restore_message(scene.chat, scene.ids[-1])


def _forget_chat(scene: Scene) -> None:
    with suppress(ConversationMissing):  # it worked although the disk was full, and is done again
        scene.store.forget_conversation(scene.chat)
    scene.store.finish_erasure()


def _forget_everything(scene: Scene) -> None:
    scene.store.forget_everything()
    scene.written.clear()
    scene.store.finish_erasure()
    assert not scene.store.list_conversations()


def _learn(scene: Scene) -> None:
    numbers, logs = np.zeros((2000, 8), np.int32), np.zeros((2000, 8), np.float16)
    scene.store.save_recall("t", {scene.ids[0]: list(range(5000))})
    scene.store.save_lesson("t", scene.ids[-1], VerifiedReply(numbers[:, 0], numbers, logs), 10)
    scene.store.save_ngrams("t", "d", [NgramRecord((n,), n, 1, 0, 0) for n in range(2000)])
    scene.store.save_adapter("t", "d", 0.1, 0.2, 1, 1, bytes(100_000))
    scene.store.add_learning_time(date(2026, 1, 31), 3.0)


def _change(scene: Scene) -> None:
    scene.store.rename_conversation(scene.chat, "renamed")
    scene.store.save_draft(scene.chat, _LONG)
    scene.store.change_conversation(scene.chat, _LONG, OwnSampling(top_k=3))
    scene.store.change_target_options(scene.folder / "t.gguf", TargetOptions(system_prompt=_LONG))
    found = scene.store.open_conversation(scene.chat)
    stored = found.summary.title, found.draft, found.system_prompt, found.sampling
    assert stored == ("renamed", _LONG, _LONG, OwnSampling(top_k=3)), "it is not stored"
    assert [each.options.system_prompt for each in scene.store.list_targets()] == [_LONG], "it is not stored"


def _migrate(scene: Scene) -> None:
    """A store of the first revision, copied and migrated."""
    path = scene.folder / "old" / STORE
    engine = connections.engine_for(path)
    try:
        with as_store_errors(path):
            upgrade(engine, path, scene.migrations)
    finally:
        engine.dispose()
        assert not list(path.parent.glob("*.part*")), "an unfinished copy stays"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT title, colour FROM conversations WHERE id = 1").fetchall()


def _save_settings(scene: Scene) -> None:
    before = SettingsFile(scene.folder).load()[0]
    try:
        SettingsFile(scene.folder).save(AppSettings(draft=_LONG))
    except OSError:  # which the keeper of settings tells in a sentence
        assert SettingsFile(scene.folder).load() == (before, "")
        raise MendableError("The settings could not be saved.") from None


def _log(scene: Scene) -> None:
    logger = logging.getLogger("slipstream")
    before = list(logger.handlers)
    log_to_file(scene.folder)
    logging.raiseExceptions = False  # as in the app
    for number in range(300):
        logger.info("line %d %s", number, "x" * 200)
    for handler in [each for each in logger.handlers if each not in before]:
        logger.removeHandler(handler)
        with suppress(OSError):
            handler.close()


def _report(scene: Scene) -> None:
    crashes = CrashFolder(scene.folder)
    crashes.write("It failed.", "trace " * 2000)
    with crashes.native_file():
        pass
    crashes.take_new()


def _take_lock(scene: Scene) -> None:
    with closing(InstanceLock(scene.folder)) as lock:
        assert lock.take()
        lock.publish("address")


def _export(scene: Scene) -> None:
    trees = [scene.store.read_tree(each.id) for each in scene.store.list_conversations()]
    for form in ExportFormat:
        write_chats(scene.folder / f"chats.{form.value}", trees, form, overwrite=True)
    export_profile(scene.store, scene.folder / "me.slipstream", True, overwrite=True)


def _save_map(scene: Scene) -> None:
    open_map(scene.folder / "vocabulary-maps", "t", "d", _made_map)


def _made_map() -> VocabularyMap:
    pieces = [bytes([number]) for number in range(97, 123)] * 100
    return VocabularyMap.build(pieces, frozenset(), pieces, lambda texts: [[0] for _ in texts])


def _use_form(scene: Scene) -> None:
    StarterQuantization(scene.folder, "file:1234567890").use(None, is_wish=True)


def _download(scene: Scene) -> None:
    file = next(each for each in list_files(_MODEL))
    path = download_target(file, SavedDownloads(scene.folder / "models"), StopSignal(), lambda _told: None)
    assert path.read_bytes() == scene.hub.models[_MODEL][file.name]


ACTS: tuple[Act, ...] = (
    _write,
    _change,
    _delete_and_restore,
    _forget_chat,
    _forget_everything,
    _learn,
    _migrate,
    _save_settings,
    _log,
    _report,
    _take_lock,
    _export,
    _save_map,
    _use_form,
    _download,
)


def _attempt(disk: Disk, dice: random.Random, act: Act, hub: FakeHub, outcome: Outcome) -> None:
    """The act on a disk that refuses, and then on one that does not."""
    folder = disk.path / f"try{dice.randrange(10**9)}"
    folder.mkdir()
    name = act.__name__.strip("_")
    scene = Scene(folder, hub)
    scene.prepare()
    is_full, is_open, left = dice.random() < 0.7, dice.random() < 0.5, dice.choice(_LEFT)
    what = f"{name}, {f'full but for {left} bytes' if is_full else 'read-only'}{', open' if is_open else ''}"
    outcome.tried += 1
    if not (is_full and is_open):
        scene.close()
    try:
        if is_full:
            disk.fill(left)
            told = _told(act, scene)
            disk.free()
        else:
            with disk.read_only():
                told = _told(act, scene)
                scene.close()
        outcome.check(told.endswith("."), f"{what}: {told}")
        outcome.figures["refused"] = str(int(outcome.figures.get("refused", "0")) + (told != _DONE))
        if dice.random() < 0.5:
            scene.close()  # the next start
        again = _told(act, scene)
        outcome.check(again == _DONE, f"{what}, and then with room: {again}")
        outcome.check(_is_kept(scene), f"{what}: something is lost")
        outcome.check(_is_whole(folder), f"{what}: the store is damaged")
    finally:
        disk.free()
        scene.close()
        subprocess.run(["rm", "-rf", str(folder)], check=True)


def _told(act: Act, scene: Scene) -> str:
    """What the user is told: a sentence."""
    try:
        act(scene)
    except MendableError as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error} "
    return _DONE


def _is_kept(scene: Scene) -> bool:
    """All that the store has taken, but for what was forgotten."""
    there = {each.id for each in scene.store.list_conversations()}
    return scene.written.keys() <= there and all(
        scene.store.open_conversation(number).messages[0].text == text for number, text in scene.written.items()
    )


def _is_whole(folder: Path) -> bool:
    with closing(sqlite3.connect(folder / STORE)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def _at_the_start(disk: Disk, dice: random.Random, outcome: Outcome) -> None:
    """A large chat that was deleted before a start with little room: nobody says that it is erased until it is."""
    folder = disk.path / "start"
    secret = f"secret {dice.randrange(10**9)} "
    with closing(Repository.open(folder)) as store:
        for title, text in (("kept", _KEPT), ("gone", secret * (5_000_000 // len(secret)))):
            number = store.create_conversation(title, "").id
            store.add_message(number, None, Role.USER, text)
        store.delete_conversations([number])
    events = EventQueue()
    num_left = dice.choice([0, 300_000, 1_000_000, 2_000_000])
    disk.fill(num_left)
    engine = Engine(EngineConfig(folder), events)
    try:
        listed = engine.ask(engine.chats.list_all)
        if num_left:
            left = events.wait_for(DeletedErased).left
            outcome.check(bool(left), "start: a chat is told as erased for which there was no room")
            outcome.check(_holds(folder, secret), "start: there was room, so nothing is tried here")
            disk.free()
        else:  # the store cannot even be opened
            told = listed.failure
            outcome.check(told is not None and "is full" in told.sentence, f"start: on a full disk it is told: {told}")
            disk.free()
            engine.ask(engine.chats.list_all)
        left = events.wait_for(DeletedErased).left
        outcome.check(not left, f"start: with room it is told: {left}")
        outcome.check(not _holds(folder, secret), "start: a chat is told as erased and is not")
    except queue.Empty:
        outcome.failures.append("start: what was deleted is not tried again when there is room")
    finally:
        disk.free()
        engine.close()
    outcome.check(_is_whole(folder), "start: the store is damaged")
    outcome.tried += 1
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def _holds(folder: Path, words: str) -> bool:
    return any(words.encode() in file.read_bytes() for file in folder.rglob("*") if file.is_file())


def _at_the_window(disk: Disk, outcome: Outcome) -> None:
    """A chat goes on while the disk is full, and all of it is stored when there is room."""
    folder = disk.path / "window"
    folder.mkdir()
    with Desk(folder) as desk:
        desk.ask("Name a colour.")
        first = desk.studio.app.conversations.open_id
        told: list[str] = []
        desk.studio.app.keeper.failed.connect(told.append)
        disk.fill(0)
        desk.studio.rest()
        with desk.watching() as held:
            reply = desk.ask("Name two colours.")
            desk.studio.app.keeper.change("top_k", 7)
            desk.window.prompt_box.set_text("unsent")
            desk.studio.rest()
        outcome.check(bool(reply), "window: there is no reply while the disk is full")
        disk.free()
        store = desk.store / STORE
        asked = "SELECT count(*) FROM messages WHERE conversation_id = ? AND length(text) > 0"

        def num_stored() -> int:
            with closing(sqlite3.connect(store)) as connection:
                return int(connection.execute(asked, (first,)).fetchone()[0])

        try:
            desk.until(lambda: num_stored() == 4)
        except TimeoutError:
            outcome.failures.append(f"window: {num_stored()} of 4 messages are stored when there is room")
        desk.ask("Name three colours.")
        _forget_in_window(disk, desk, outcome)
    outcome.tried += 1
    top_k = SettingsFile(folder / "store").load()[0].sampling.top_k  # saved at the end at the latest
    outcome.check(top_k == 7 and bool(told), f"window: top_k was set to 7 and is {top_k}; it was said: {told}")
    outcome.check(held.is_within_bar, f"window: the interface thread was {held}")
    outcome.check(_is_whole(folder / "store"), "window: the store is damaged")
    outcome.figures["interface"] = str(held)


def _forget_in_window(disk: Disk, desk: Desk, outcome: Outcome) -> None:
    """Everything, once while the disk is full and once when there is room."""
    disk.fill(0)
    failed = carried_out(desk, desk.bridge.engine.forgetting.forget_everything)
    is_told = failed is None or failed.sentence.endswith(".")
    outcome.check(is_told, f"window: forgetting on a full disk tells {failed}")
    disk.free()
    failed = carried_out(desk, desk.bridge.engine.forgetting.forget_everything)
    outcome.check(failed is None, f"window: with room, forgetting fails: {failed}")
    desk.studio.pass_time(1.0)
    for file in desk.store.rglob("*"):
        is_there = file.is_file() and b"colours" in file.read_bytes()
        outcome.check(not is_there, f"window: {file.name} holds what was forgotten")
    outcome.check(bool(desk.ask("Name a river.")), "window: the chat does not go on when all is forgotten")


def _inside(seed: str, count: str, folder: str) -> None:
    """In the namespace. Prints the outcome in JSON, on the last line."""
    plan, outcome = Plan(int(seed), int(count), Path(folder)), Outcome()
    disk = Disk(plan.folder / "disk")
    with serving() as hub:
        os.environ["HF_ENDPOINT"] = hub.url
        hub.models[_MODEL] = {"tiny-Q4_K_M.gguf": gguf({**TINY, "filler": "x" * 200_000})}
        for number in range(plan.count):
            _attempt(disk, plan.dice(number), ACTS[number % len(ACTS)], hub, outcome)
    for number in range(_STARTS):
        _at_the_start(disk, plan.dice(plan.count + number), outcome)
    _at_the_window(disk, outcome)
    outcome.figures["acts"] = str(len(ACTS))
    print(json.dumps(asdict(outcome)), flush=True)


def run(plan: Plan) -> Outcome:
    program = [sys.executable, "-m", "tests.attacks.disk", str(plan.seed), str(plan.count), str(plan.folder)]
    done = subprocess.run(["unshare", "-Urm", *program], check=False, capture_output=True, text=True)
    if done.returncode:
        return Outcome(plan.count, [f"its process ended with {done.returncode}: {done.stderr[-2000:]}"])
    return Outcome(**json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    _inside(*sys.argv[1:])
