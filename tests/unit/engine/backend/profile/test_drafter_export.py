"""A drafter is exported whole and checked, or not at all; and nothing is promised that was not seen."""

from __future__ import annotations

import json
import stat
from collections import namedtuple
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.backend.profile import drafter_export
from engine.backend.storage import Repository
from engine.speculation.drafter.choice import built_in_source, file_drafter, folder_source
from engine.speculation.drafter.gguf_export import in_8_bits
from engine.speculation.drafter.gguf_shape import read_gguf_model
from engine.speculation.model.files.sources import file_source
from engine.speculation.model.llama.vocabulary import load_vocabulary
from engine.values.config import EngineConfig
from engine.values.errors import AdapterUnusable, DrafterUnusable, FileUnusable
from engine.values.exports import DrafterExported, ExportEngine, ExportOrder
from engine.values.targets import TargetSource
from tests.fakes.tiny_models import tiny_gemma3, tiny_llama, tiny_qwen2
from tests.unit.engine.speculation.drafter.checkpoints import random_llama, save
from tests.unit.engine.speculation.drafter.test_export import learned


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A target, and another model with its vocabulary."""
    folder = tmp_path_factory.mktemp("models")
    tiny_llama(folder / "target.gguf")
    tiny_qwen2(folder / "drafter.gguf")
    save(random_llama(), folder / "other-words")
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    with closing(Repository.open(tmp_path / "data")) as repository:
        yield repository


class Desk:
    def __init__(self, files: Path, repository: Repository, home: Path) -> None:
        self.files, self.repository, self.home = files, repository, home
        self.target: TargetSource = file_source(files / "target.gguf")
        self.drafter = files / "drafter.gguf"

    def learn(self) -> int:
        """The drafter learns something about the target; the number of the snapshot."""
        with closing(load_vocabulary(self.target.path)) as words:
            fingerprint = words.vocabulary.fingerprint
        weights = learned(read_gguf_model(self.drafter).shape).to_bytes()
        key = file_drafter(self.drafter).key
        return self.repository.save_adapter(fingerprint, key, 1.0, 2.0, 30, 40, weights).number

    def export(
        self, engine: ExportEngine, name: str, drafter: str | None = None, snapshot: int | None = None
    ) -> DrafterExported:
        order = ExportOrder(engine, str(self.target.path), self.home / name, drafter, snapshot)
        config = EngineConfig(self.repository.data_dir)
        return drafter_export.export_drafter(
            config, order, self.target, self.repository, self.repository.list_targets()
        )

    @property
    def left(self) -> list[str]:
        return sorted(path.name for path in self.home.iterdir())


@pytest.fixture
def desk(files: Path, repository: Repository, tmp_path: Path) -> Desk:
    home = tmp_path / "home"
    home.mkdir()
    return Desk(files, repository, home)


def test_what_was_learned_goes_along(desk: Desk) -> None:
    number = desk.learn()
    with_it = desk.export(ExportEngine.LLAMA_CPP, "with.gguf", str(desk.drafter))
    without = desk.export(ExportEngine.LLAMA_CPP, "without.gguf", str(desk.drafter), 0)
    assert with_it.snapshot is not None
    assert (with_it.snapshot.number, with_it.snapshot.num_learned) == (number, 40)
    assert without.snapshot is None
    assert "llama.cpp loads it and computes what Slipstream computes" in with_it.check.proven[0]
    assert with_it.command.startswith("llama-server --model ")
    assert f"--spec-draft-model {desk.home / 'with.gguf'}" in with_it.command
    assert desk.left == ["with.gguf", "without.gguf"]
    assert stat.S_IMODE((desk.home / "with.gguf").stat().st_mode) == 0o600
    assert (desk.home / "with.gguf").stat().st_size == with_it.size_bytes
    changed = [(desk.home / name).read_bytes()[-4096:] for name in ("with.gguf", "without.gguf")]
    assert changed[0] != changed[1]
    assert desk.export(ExportEngine.LLAMA_CPP, "named.gguf", str(desk.drafter), number).snapshot == with_it.snapshot
    with pytest.raises(AdapterUnusable, match="has no snapshot 99"):
        desk.export(ExportEngine.LLAMA_CPP, "gone.gguf", str(desk.drafter), 99)


def test_a_folder_for_the_others_with_the_line_that_serves_it(desk: Desk) -> None:
    desk.learn()
    done = desk.export(ExportEngine.VLLM, "folder", str(desk.drafter))
    assert "transformers loads it" in done.check.proven[0]
    assert "not proven" in done.check.unproven[0]
    line, _, settings = done.command.partition("--speculative-config ")
    assert line == "vllm serve MODEL "
    assert json.loads(settings.strip("'")) == {
        "method": "draft_model",
        "model": str(desk.home / "folder"),
        "num_speculative_tokens": 4,
    }
    assert "MODEL is target" in done.hint
    assert "comes from chats" in (desk.home / "folder" / "README.md").read_text()
    assert stat.S_IMODE((desk.home / "folder").stat().st_mode) == 0o700
    ours = desk.export(ExportEngine.TRANSFORMERS, "other", str(desk.drafter))
    assert "assistant_tokenizer" not in ours.command
    assert not ours.check.unproven


def test_another_vocabulary_is_only_for_those_who_translate(desk: Desk) -> None:
    folder = str(desk.files / "other-words")
    with pytest.raises(DrafterUnusable, match="--vocabulary target --out FOLDER"):
        desk.export(ExportEngine.LLAMA_CPP, "a.gguf", folder)
    done = desk.export(ExportEngine.TRANSFORMERS, "folder", folder)
    assert not done.shares_vocabulary
    assert "assistant_tokenizer=AutoTokenizer" in done.command
    assert "use_heterogeneous_vocab" in desk.export(ExportEngine.VLLM, "again", folder).command


def test_families_that_no_copy_of_ours_runs_are_not_exported(desk: Desk) -> None:
    path = tiny_gemma3(desk.home / "gemma.gguf")
    with pytest.raises(DrafterUnusable, match="type “gemma3”; only drafters of the Llama type"):
        desk.export(ExportEngine.LLAMA_CPP, "a.gguf", str(path))


def test_the_one_that_learned_most_is_taken(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [file_drafter(desk.files / "target.gguf"), file_drafter(desk.drafter), built_in_source()]
    monkeypatch.setattr(drafter_export, "candidates", lambda _data_dir, _library: iter(sources))
    with pytest.raises(AdapterUnusable, match="No drafter has learned from chats"):
        desk.export(ExportEngine.LLAMA_CPP, "a.gguf")
    desk.learn()
    assert desk.export(ExportEngine.LLAMA_CPP, "a.gguf").drafter == "drafter"


def test_nothing_is_written_over_or_left_behind(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk.home / "mine").mkdir()
    with pytest.raises(FileUnusable, match="already exists"):
        desk.export(ExportEngine.TRANSFORMERS, "mine", str(desk.drafter))
    with monkeypatch.context() as full:
        usage = namedtuple("usage", "free")
        full.setattr("shutil.disk_usage", lambda _folder: usage(1 << 20))
        with pytest.raises(FileUnusable, match="free some space"):
            desk.export(ExportEngine.LLAMA_CPP, "a.gguf", str(desk.drafter))
    with monkeypatch.context() as wrong:
        wrong.setattr("engine.speculation.drafter.gguf_export.in_8_bits", lambda rows, seed: in_8_bits(-rows, seed))
        desk.learn()
        with pytest.raises(AdapterUnusable, match="nothing was kept"):
            desk.export(ExportEngine.LLAMA_CPP, "a.gguf", str(desk.drafter))
    (desk.home / "a-file").write_text("")
    with pytest.raises(FileUnusable, match="cannot be written"):
        desk.export(ExportEngine.LLAMA_CPP, "a-file/a.gguf", str(desk.drafter))
    assert desk.left == ["a-file", "mine"]


def test_a_damaged_snapshot_is_told(desk: Desk) -> None:
    with closing(load_vocabulary(desk.target.path)) as words:
        fingerprint = words.vocabulary.fingerprint
    desk.repository.save_adapter(fingerprint, file_drafter(desk.drafter).key, 1.0, 2.0, 30, 40, b"nothing of use")
    with pytest.raises(AdapterUnusable, match="damaged"):
        desk.export(ExportEngine.LLAMA_CPP, "a.gguf", str(desk.drafter))
    assert desk.left == []


def test_folders_and_their_snapshots(desk: Desk) -> None:
    """A snapshot of a folder's drafter is found by what is in the folder, wherever it is."""
    from engine.speculation.drafter.checkpoint import load_drafter

    folder = desk.files / "other-words"
    drafter = load_drafter(folder, "cpu")
    with closing(load_vocabulary(desk.target.path)) as words:
        pair = words.vocabulary.fingerprint, drafter.fingerprint
    desk.repository.save_adapter(*pair, 1.0, 2.0, 30, 40, learned(drafter.model.shape).to_bytes())
    done = desk.export(ExportEngine.TRANSFORMERS, "folder", folder_source(folder).path.as_posix())
    assert done.snapshot is not None
