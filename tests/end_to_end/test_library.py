"""The library of targets through the engine of the window, with a hub on the loopback."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import close_session

from engine import Engine, EngineConfig, ReplySettings, SamplingSettings, TargetOptions, TargetSettings, starter_path
from engine.values.errors import Cancelled, FetchFailed, NotPossible
from engine.values.events import ReplyFinished, TargetReady, TargetsListed
from engine.values.orders import Send
from engine.values.requests import Request
from engine.values.targets import Downloaded, Downloading, LoadOrder
from tests.fakes import gguf
from tests.fakes.hub import FakeHub, serving
from tests.fakes.listener import EventQueue

NAME = "somebody/Tiny-GGUF"
FILE = "tiny-Q8_0.gguf"


@pytest.fixture
def events() -> EventQueue:
    return EventQueue()


@pytest.fixture
def engine(tmp_path: Path, events: EventQueue) -> Iterator[Engine]:
    engine = Engine(EngineConfig(tmp_path / "data"), events)
    yield engine
    assert engine.close()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setattr("engine.backend.hub.fetching._PAUSE_S", 0.01)
    with serving() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        hub.models[NAME] = {FILE: gguf.gguf({**gguf.TINY, "filler": "x" * 20_000})}
        yield hub
        close_session()


def test_a_model_is_found_downloaded_paused_and_gone_on_with(
    engine: Engine, events: EventQueue, hub: FakeHub, tmp_path: Path
) -> None:
    (model,) = engine.ask(engine.hub.search, "tiny").result()
    (file,) = engine.ask(engine.hub.files, model.repository).result().files
    assert (file.name, file.quantization) == (FILE, "Q8_0")

    hub.cut_after[FILE] = [9000]
    asked: list[Request[Downloaded]] = []
    begun = threading.Event()

    def pause() -> None:
        assert begun.wait(30.0)
        asked[0].stop()

    hub.on_cut = pause
    asked.append(engine.ask(engine.models.fetch, file))
    begun.set()
    with pytest.raises(Cancelled, match="The download was stopped"):
        asked[0].result()
    assert engine.ask(engine.downloads.list).result() == ((file, 9000),)

    told: list[Downloading] = []
    downloaded = engine.begin(engine.models.fetch, (file,), {}, told.append).result()
    listed = events.wait_for(TargetsListed)
    assert engine.ask(engine.downloads.list).result() == ()
    assert hub.ranges(FILE) == ["", "bytes=9000-"]
    assert downloaded.path == tmp_path / "data" / "models" / "somebody--Tiny-GGUF" / FILE
    assert downloaded.path.read_bytes() == hub.models[NAME][FILE]
    (added,) = [target for target in listed.targets if not target.is_starter]
    assert (added.path, added.name, added.problem) == (downloaded.path, "tiny-Q8_0", "")
    assert not any(asked.authorization for asked in hub.asked)
    assert told[-1].num_bytes == told[-1].total_bytes == file.size_bytes


def test_searching_does_not_wait_for_a_download(engine: Engine, hub: FakeHub) -> None:
    gate, is_under_way = threading.Event(), threading.Event()

    def held_up() -> None:
        assert gate.wait(30.0)

    hub.cut_after[FILE] = [9000]
    hub.on_cut = held_up  # the rest of the file is long in coming
    (file,) = engine.ask(engine.hub.files, NAME).result().files
    download = engine.begin(engine.models.fetch, (file,), {}, lambda _told: is_under_way.set())
    assert is_under_way.wait(30.0)
    assert [model.repository for model in engine.ask(engine.hub.search, "").result()] == [NAME]
    assert not download.future.done()
    gate.set()
    download.result()


def test_a_paused_download_is_known_after_a_restart_and_can_be_discarded(
    engine: Engine, hub: FakeHub, tmp_path: Path
) -> None:
    (file,) = engine.ask(engine.hub.files, NAME).result().files
    hub.cut_after[FILE] = [9000, 0, 0, 0]
    with pytest.raises(FetchFailed, match="cannot be reached"):
        engine.ask(engine.models.fetch, file).result()
    other = Engine(EngineConfig(tmp_path / "data"), EventQueue())
    assert other.ask(other.downloads.list).result() == ((file, 9000),)
    other.ask(other.downloads.discard, file).result()
    assert other.ask(other.downloads.list).result() == ()
    assert other.close()
    assert list((tmp_path / "data" / "models").rglob("*.gguf*")) in (
        [],
        [next(iter((tmp_path / "data" / "models").glob(".*.lock")))],
    )


@pytest.mark.starter
def test_what_the_user_set_for_a_target_holds_where_it_is_loaded(
    engine: Engine, events: EventQueue, tmp_path: Path
) -> None:
    path = tmp_path / "chosen" / "copy.gguf"
    path.parent.mkdir()
    shutil.copy(starter_path(), path)
    (copy,) = engine.ask(engine.library.add, (path.parent,)).result().targets
    assert [target.is_starter for target in events.wait_for(TargetsListed).targets] == [True, False]
    assert copy.details is not None
    assert (copy.details.architecture, copy.details.quantization) == ("llama", "Q4_1")
    assert copy.last_used_at is None

    options = TargetOptions(TargetSettings(context_size=512), SamplingSettings(temperature=0, seed=1), "Be brief.")
    engine.ask(engine.library.change_options, path, options)
    assert events.wait_for(TargetsListed).targets[1].options == options
    small = engine.ask(engine.library.estimate, path, TargetSettings()).result()
    large = engine.ask(engine.library.estimate, path, TargetSettings(context_size=4096)).result()
    assert large.context == 8 * small.context

    engine.ask(engine.target.load, LoadOrder("copy"))
    assert events.wait_for(TargetReady).target.context_size == 512
    for _ in range(2):
        settings = ReplySettings(SamplingSettings(temperature=2.0), max_tokens=8, speculate=False)
        engine.ask(engine.chat.answer, Send("Hi", None, settings))
    first, second = (events.wait_for(ReplyFinished).message.text for _ in range(2))
    assert first == second

    with pytest.raises(NotPossible, match="choose another model first"):
        engine.ask(engine.library.remove, path, delete_file=True).result()
    engine.ask(engine.target.load, LoadOrder("starter"))
    events.wait_for(TargetReady)
    engine.ask(engine.library.remove, path, delete_file=True)
    assert [target.is_starter for target in events.wait_for(TargetsListed).targets] == [True]
    assert not path.exists()
    assert len(engine.ask(engine.library.list).result()) == 1
