"""A GGUF file of the hub as drafter: `OWNER/NAME:FILE`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import close_session

from app.commands.terminal import chosen_drafter
from engine import EngineConfig, StopSignal, open_library
from engine.backend.hub.fetcher import DrafterFetcher
from engine.opening import saved_downloads
from engine.speculation.drafter.choice import downloaded_file, drafter_source, hub_file, hub_name
from engine.values.drafters import DrafterRunner
from engine.values.errors import Cancelled, DrafterUnusable, FetchFailed
from engine.values.events import Event, TargetsListed
from engine.values.targets import Downloading
from tests.fakes.gguf import TINY, gguf
from tests.fakes.hub import FakeHub, serving

REPOSITORY = "somebody/Tiny-GGUF"
FILE = "tiny-Q4_0.gguf"
NAME = f"{REPOSITORY}:{FILE}"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with serving() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        content = gguf(TINY) + bytes(20_000)
        hub.models[REPOSITORY] = {FILE: content, "parts/a-00001-of-00002.gguf": content}
        yield hub
        close_session()


def fetch(data_dir: Path, name: str = NAME, stop: StopSignal | None = None) -> tuple[Path, list[Downloading]]:
    said, config = list[Downloading](), EngineConfig(data_dir)
    with open_library(config) as library:
        fetcher = DrafterFetcher(data_dir, saved_downloads(config), lambda: library)
        return fetcher.fetch(name, stop or StopSignal(), said.append), said


def test_it_is_downloaded_once_and_then_found_without_the_network(hub: FakeHub, tmp_path: Path) -> None:
    assert hub_name(NAME) == NAME
    with pytest.raises(DrafterUnusable, match="is not on this computer"):
        drafter_source(NAME, tmp_path)
    path, said = fetch(tmp_path)
    size = len(hub.models[REPOSITORY][FILE])
    assert path == tmp_path / "models" / "somebody--Tiny-GGUF" / FILE
    assert (said[-1].num_bytes, said[-1].total_bytes) == (size, size)
    asked = len(hub.asked)
    source = drafter_source(NAME, tmp_path)
    assert (source.path, source.runner, source.size_bytes) == (path, DrafterRunner.LLAMA_CPP, size)
    assert fetch(tmp_path) == (path, [])
    assert len(hub.asked) == asked


def test_a_stopped_download_is_no_drafter_and_goes_on_later(hub: FakeHub, tmp_path: Path) -> None:
    stop = StopSignal()
    hub.cut_after[FILE] = [1000]
    hub.on_cut = stop.set
    with pytest.raises(Cancelled):
        fetch(tmp_path, stop=stop)
    assert downloaded_file(NAME, tmp_path) is None
    path, _ = fetch(tmp_path)
    assert path == downloaded_file(NAME, tmp_path)
    assert hub.ranges(FILE) == ["", "bytes=1000-"]


@pytest.mark.usefixtures("hub")
def test_a_file_that_the_repository_does_not_hold_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(FetchFailed, match=r"has no model other\.gguf"):
        fetch(tmp_path, f"{REPOSITORY}:other.gguf")
    assert not list(tmp_path.rglob("*.gguf*"))


@pytest.mark.usefixtures("hub")
def test_of_a_repository_with_gguf_files_one_is_to_be_named(tmp_path: Path) -> None:
    with pytest.raises(FetchFailed, match=f"as in {NAME}"):
        fetch(tmp_path, REPOSITORY)


@pytest.mark.parametrize(
    "name", ["a/b", "a/b:", "a/b:x.bin", "a:x.gguf", "C:/models/x.gguf", "../b:x.gguf", "models/x.gguf", ":x.gguf"]
)
def test_other_names_are_no_files_of_the_hub(name: str) -> None:
    assert hub_file(name) is None
    assert hub_name(name) == (name if name == "a/b" else None)


def test_a_file_on_this_machine_wins_over_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"")
    assert hub_name("a/b") is None


def test_no_name_leads_out_of_the_folder(tmp_path: Path) -> None:
    outside = tmp_path / "x.gguf"
    outside.write_bytes(b"GGUF")
    assert downloaded_file("a/b:../../../x.gguf", tmp_path / "data" / "deep") is None
    assert downloaded_file("a/b:1/2/3/4/5/6.gguf", tmp_path) is None


@pytest.mark.usefixtures("hub")
def test_the_service_puts_it_into_the_library(tmp_path: Path) -> None:
    config, events = EngineConfig(tmp_path), list[Event]()
    with open_library(config, events.append) as library:
        fetched = DrafterFetcher(tmp_path, saved_downloads(config), lambda: library).fetch(NAME)
        assert [target.path for target in library.list() if not target.is_starter] == [fetched]
    assert fetched.name == FILE
    assert [type(event) for event in events] == [TargetsListed]


@pytest.mark.usefixtures("hub")
def test_the_command_line_fetches_it_too(tmp_path: Path) -> None:
    assert chosen_drafter(NAME, tmp_path) == NAME
    assert drafter_source(NAME, tmp_path).path.name == FILE
    with open_library(EngineConfig(tmp_path)) as library:
        assert FILE in {target.path.name for target in library.list()}
