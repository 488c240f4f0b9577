from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.backend.storage import Repository

if TYPE_CHECKING:
    from tests.unit.engine.backend.chats.test_chat_service import Desk


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    repository = Repository.open(tmp_path / "store")
    yield repository
    repository.close()


@pytest.fixture
def desk(repository: Repository, tmp_path: Path) -> Desk:
    # Imported here, because it needs Qt or torch, and plain tests use this file too.
    from tests.unit.engine.backend.chats.test_chat_service import Desk

    return Desk(repository, tmp_path)
