"""Fetching from a hub on the loopback, with huggingface_hub as it is."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import filelock
import pytest
from huggingface_hub import close_session

from engine.backend.hub import fetching
from engine.backend.hub.drafters import KINDS, fetch_drafter
from engine.speculation.drafter import config_file
from engine.speculation.drafter.checkpoint import load_drafter
from engine.speculation.drafter.choice import drafter_source, is_fetched
from engine.values.errors import Cancelled, DrafterUnusable, FetchFailed
from engine.values.stop_signal import StopSignal
from engine.values.targets import Downloading
from tests.fakes.hub import COMMIT, FakeHub, serving
from tests.unit.engine.speculation.drafter.checkpoints import random_llama, save

NAME = "somebody/tiny-llama"
WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(random_llama(), tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture
def server(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setattr(fetching, "_PAUSE_S", 0.01)
    with serving() as server:
        server.add(NAME, checkpoint)
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server
        close_session()


def fetch(data_dir: Path, name: str = NAME, stop: StopSignal | None = None) -> list[Downloading]:
    told: list[Downloading] = []
    fetch_drafter(name, data_dir, stop or StopSignal(), told.append)
    return told


def stored(data_dir: Path, pattern: str = "*") -> list[str]:
    return sorted(path.name for path in (data_dir / "drafters" / "somebody--tiny-llama").glob(pattern))


def sentence(data_dir: Path, name: str = NAME) -> str:
    with pytest.raises(FetchFailed) as raised:
        fetch(data_dir, name)
    assert str(raised.value).endswith(".")
    return str(raised.value)


def test_a_drafter_arrives_whole_and_can_be_loaded(server: FakeHub, tmp_path: Path, checkpoint: Path) -> None:
    told = fetch(tmp_path)
    folder = drafter_source(NAME, tmp_path).path
    assert load_drafter(folder, "cpu").fingerprint == load_drafter(checkpoint, "cpu").fingerprint
    assert stored(tmp_path) == ["config.json", "fetched.json", "model.safetensors", "tokenizer.json"]
    assert json.loads((folder / "fetched.json").read_text())["commit"] == COMMIT
    sizes = [progress.num_bytes for progress in told]
    assert sizes == sorted(sizes)
    assert (
        told[-1].num_bytes
        == told[-1].total_bytes
        == sum((checkpoint / name).stat().st_size for name in ("config.json", "tokenizer.json", WEIGHTS))
    )
    assert not any(asked.authorization for asked in server.asked)


def test_what_is_here_is_not_asked_for_again(server: FakeHub, tmp_path: Path) -> None:
    fetch(tmp_path)
    server.asked.clear()
    assert fetch(tmp_path) == []
    assert server.asked == []


def test_a_file_that_was_lost_is_fetched_again_and_the_others_are_not(server: FakeHub, tmp_path: Path) -> None:
    fetch(tmp_path)
    (tmp_path / "drafters" / "somebody--tiny-llama" / WEIGHTS).unlink()
    with pytest.raises(DrafterUnusable, match="not on this computer"):
        drafter_source(NAME, tmp_path)
    server.asked.clear()
    fetch(tmp_path)
    assert (server.ranges(WEIGHTS), server.ranges("tokenizer.json")) == ([""], [])
    assert is_fetched(tmp_path / "drafters" / "somebody--tiny-llama")


def test_shards_are_fetched_and_pickles_are_not(server: FakeHub, tmp_path: Path) -> None:
    sharded = save(random_llama(), tmp_path / "sharded", max_shard_size="100KB")
    (sharded / "pytorch_model.bin").write_bytes(b"a program")
    server.add(NAME, sharded)
    fetch(tmp_path)
    assert len(stored(tmp_path, "model-0*.safetensors")) > 1
    assert not any(".bin" in asked.path for asked in server.asked)
    folder = drafter_source(NAME, tmp_path).path
    load_drafter(folder, "cpu")


def test_a_broken_line_is_taken_up_where_it_broke(server: FakeHub, tmp_path: Path) -> None:
    server.cut_after[WEIGHTS] = [1000, 500]
    fetch(tmp_path)
    assert server.ranges(WEIGHTS) == ["", "bytes=1000-", "bytes=1500-"]


def test_a_line_that_stays_broken_is_a_sentence_and_the_next_try_goes_on(server: FakeHub, tmp_path: Path) -> None:
    server.cut_after[WEIGHTS] = [1000, 0, 0, 0]
    assert "cannot be reached" in sentence(tmp_path)
    assert len(stored(tmp_path, f"{WEIGHTS}.*.part")) == 1
    assert not is_fetched(tmp_path / "drafters" / "somebody--tiny-llama")
    server.asked.clear()
    told = fetch(tmp_path)
    assert server.ranges(WEIGHTS) == ["bytes=1000-"]
    assert server.ranges("config.json") == []
    assert stored(tmp_path, "*.part") == []
    assert told[-2].num_bytes > 1000


def test_a_server_that_knows_no_ranges_begins_anew(server: FakeHub, tmp_path: Path) -> None:
    server.cut_after[WEIGHTS] = [1000]
    server.ignores_ranges = True
    fetch(tmp_path)
    assert is_fetched(tmp_path / "drafters" / "somebody--tiny-llama")


def test_a_stopped_download_keeps_what_it_has(server: FakeHub, tmp_path: Path) -> None:
    stop = StopSignal()
    server.cut_after[WEIGHTS] = [1000]
    server.on_cut = stop.set
    with pytest.raises(Cancelled, match="start it again to resume it"):
        fetch(tmp_path, stop=stop)
    fetch(tmp_path)
    assert server.ranges(WEIGHTS) == ["", "bytes=1000-"]


def test_a_part_of_another_version_is_not_gone_on_with(server: FakeHub, tmp_path: Path) -> None:
    stop = StopSignal()
    server.cut_after[WEIGHTS] = [1000]
    server.on_cut = stop.set
    with pytest.raises(Cancelled, match="download was stopped"):
        fetch(tmp_path, stop=stop)
    server.add(NAME, save(random_llama(num_hidden_layers=1), tmp_path / "new"))
    server.asked.clear()
    fetch(tmp_path)
    assert server.ranges(WEIGHTS) == [""]
    assert stored(tmp_path, "*.part") == []


def test_damaged_bytes_are_thrown_away(server: FakeHub, tmp_path: Path) -> None:
    server.body = json.dumps(server.listing(NAME)).encode()
    whole = server.models[NAME][WEIGHTS]
    server.models[NAME][WEIGHTS] = whole[:-1] + bytes([whole[-1] ^ 1])
    assert "arrived damaged" in sentence(tmp_path)
    assert stored(tmp_path, "model*") == []


@pytest.mark.parametrize(("change", "words"), [(-1, "arrived damaged"), (1, "was cut off; try again later")])
def test_another_size_than_announced_is_refused(server: FakeHub, tmp_path: Path, change: int, words: str) -> None:
    server.false_sizes[WEIGHTS] = len(server.models[NAME][WEIGHTS]) + change
    assert words in sentence(tmp_path)
    assert WEIGHTS not in stored(tmp_path)


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        ((404, "RepoNotFound"), "There is no model somebody/tiny-llama on 127.0.0.1"),
        ((401, "RepoNotFound"), "or it is private; check the name."),
        ((403, "GatedRepo"), "is gated: request access"),
        ((500, ""), "answered with an error (500); try again later."),
    ],
)
def test_what_the_hub_refuses_is_a_sentence(
    server: FakeHub, tmp_path: Path, refusal: tuple[int, str], words: str
) -> None:
    server.refused[NAME] = refusal
    assert words in sentence(tmp_path)


def test_without_a_network_one_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as gone:
        monkeypatch.setenv("HF_ENDPOINT", gone.url)
    assert sentence(tmp_path).startswith(f"{gone.url.removeprefix('http://')} cannot be reached; check that")


@pytest.mark.parametrize("told", [b"<html>Log in.</html>", b"[]", b"{}", b'{"id": 1, "siblings": [{}]}'])
def test_a_page_that_is_no_hub_is_a_sentence(server: FakeHub, tmp_path: Path, told: bytes) -> None:
    server.body = told
    assert "does not answer like a model hub" in sentence(tmp_path)


def test_a_digest_that_is_none_is_refused(server: FakeHub, tmp_path: Path) -> None:
    listing = json.dumps(server.listing(NAME))
    digest = hashlib.sha256(server.models[NAME][WEIGHTS]).hexdigest()
    server.body = listing.replace(digest, "/../../../x").encode()
    assert "does not answer like a model hub" in sentence(tmp_path)
    assert stored(tmp_path) == []


def test_the_offline_switch_of_the_hub_is_named(
    server: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert sentence(tmp_path).startswith("HF_HUB_OFFLINE or")
    assert server.asked == []


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"config.json", "tokenizer.json", "pytorch_model.bin"}, "can run programs when it is read"),
        ({"config.json", "tokenizer.json", "model.gguf"}, "it has no model.safetensors"),
        ({"config.json", WEIGHTS}, "it has no tokenizer"),
        ({"tokenizer.json", WEIGHTS}, "it has no config.json"),
    ],
)
def test_what_cannot_draft_is_refused_before_anything_is_fetched(
    server: FakeHub, tmp_path: Path, files: set[str], words: str
) -> None:
    server.models[NAME] = dict.fromkeys(files, b"{}")
    assert words in sentence(tmp_path)
    assert stored(tmp_path) == []


def test_another_kind_of_model_is_refused_before_its_weights_are_fetched(server: FakeHub, tmp_path: Path) -> None:
    server.models[NAME]["config.json"] = b'{"model_type": "bert"}'
    assert "is a model of type “bert”" in sentence(tmp_path)
    assert server.ranges(WEIGHTS) == []


def test_the_kinds_are_those_that_are_read_later() -> None:
    assert KINDS == config_file._LLAMA_TYPES


def test_a_giant_is_refused(server: FakeHub, tmp_path: Path) -> None:
    server.false_sizes[WEIGHTS] = 9_000_000_000
    assert "has 9.0 GB; a drafter may have at most 8 GB" in sentence(tmp_path)


def test_a_sentencepiece_model_is_taken_where_there_is_no_tokenizer_json(server: FakeHub, tmp_path: Path) -> None:
    server.models[NAME]["tokenizer.model"] = b"pieces"
    fetch(tmp_path)
    assert "tokenizer.model" not in stored(tmp_path)
    del server.models[NAME]["tokenizer.json"]
    fetch(tmp_path / "other")
    assert "tokenizer.model" in stored(tmp_path / "other")


@pytest.mark.usefixtures("server")
def test_a_full_disk_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(fetching, "_append", fail)
    assert "the disk is full; free some space" in sentence(tmp_path)


def test_room_is_looked_for_before_the_download(
    server: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: free)
    assert "the disk is full; free some space" in sentence(tmp_path)
    assert len(server.asked) == 1


def test_two_at_a_time_do_not_spoil_each_other(server: FakeHub, tmp_path: Path) -> None:
    (tmp_path / "drafters").mkdir()
    with filelock.FileLock(tmp_path / "drafters" / ".somebody--tiny-llama.lock"):
        assert "is already being downloaded" in sentence(tmp_path)
    assert server.asked == []


@pytest.mark.parametrize("name", ["../x", "a/../b", "/etc", "a", "a/b/c", "a/b--c", "C:/x", "a\\b/c", "-a/b", "a/b."])
def test_only_names_of_the_right_form_are_asked_for(server: FakeHub, tmp_path: Path, name: str) -> None:
    assert "it must have the form owner/name" in sentence(tmp_path, name)
    assert server.asked == []
    assert list(tmp_path.iterdir()) == []
