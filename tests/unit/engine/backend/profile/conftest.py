"""A store that has learned something of every kind, another one to import into, and a good profile to damage."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from engine.backend.profile.archive import read_archive
from engine.backend.profile.transfer import export_profile
from engine.backend.storage import Repository
from engine.values.conversations import Role
from engine.values.learned import Gain, NgramRecord
from engine.values.replies import ReplyStatistics, StopReason
from tests.unit.engine.backend.storage.made import reply_of

TARGET, TOKENIZER, DRAFTER = "7a" * 32, "d0" * 32, "f1" * 32
TYPED = [41, 42, 43]  # the tokens of what a user typed
WEIGHTS = [save({"down": np.full((2, 3), number, np.float32), "up": np.zeros(3, np.float16)}) for number in (1, 2)]


@pytest.fixture(scope="session")
def taught_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store that nothing has open, with a profile of it at its side."""
    folder = tmp_path_factory.mktemp("taught")
    with closing(Repository.open(folder / "store")) as repository:
        summary = repository.create_conversation("chat", "Be kind.")
        prompt = repository.add_message(summary.id, None, Role.USER, "a secret")
        statistics = ReplyStatistics(1, 1, 41, 1.0, 2.0, StopReason.LENGTH, 1, 1, 0, 20, 30, 20, 10.0)
        reply = repository.add_message(summary.id, prompt.id, Role.ASSISTANT, "text", "tiny\x1b[2J", statistics)
        repository.save_ngrams(
            TARGET, TOKENIZER, [NgramRecord((5, 2**31 - 1), 128_000, 3, 1, 2**39), NgramRecord((5,), 0, 1, 0, 0)]
        )
        repository.save_ngrams("x", TOKENIZER, [NgramRecord((9, 9, 9), 4, 2**62, 0, 7)])
        repository.save_recall(TARGET, {prompt.id: TYPED, reply.id: [7]})
        repository.save_lesson(TARGET, reply.id, reply_of([51, 52], [[1], [2]], np.zeros((2, 1))), 10)
        first = repository.save_adapter(TARGET, DRAFTER, 2.0, 2.5, 30, 200, WEIGHTS[0])
        repository.save_adapter(TARGET, DRAFTER, 2.0, 2.75, 30, 260, WEIGHTS[1])
        repository.note_trial(TARGET, DRAFTER, Gain(2.0, 2.75, 0.05, 30, 12, 4000), 1, ())
        repository.publish_adapter(TARGET, DRAFTER, first.number)
        export_profile(repository, folder / "me.slipstream", with_recall=True)
    return folder


@pytest.fixture
def taught(taught_once: Path, tmp_path: Path) -> Iterator[Repository]:
    shutil.copytree(taught_once / "store", tmp_path / "taught")
    with closing(Repository.open(tmp_path / "taught")) as repository:
        yield repository


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Repository]:
    with closing(Repository.open(tmp_path / "other")) as repository:
        yield repository


@pytest.fixture
def profile(taught_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(taught_once / "me.slipstream", tmp_path))


class Members:
    """The members of a profile, to be changed and written again with a manifest that tells of them."""

    def __init__(self, path: Path) -> None:
        self.contents = dict(read_archive(path))
        self.manifest: dict[str, Any] = json.loads(self.contents.pop("manifest.json"))

    def member_of(self, kind: str, place: int = 0) -> str:
        return str(self.manifest[kind][place]["member"])

    def list_anew(self) -> None:
        """Sizes and hashes of the members as they are now."""
        self.manifest["members"] = [
            {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in self.contents.items()
        ]

    def write(self, path: Path, compression: int = zipfile.ZIP_STORED) -> Path:
        return write_zip(path, {"manifest.json": json.dumps(self.manifest).encode()} | self.contents, compression)


def write_zip(path: Path, members: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path
