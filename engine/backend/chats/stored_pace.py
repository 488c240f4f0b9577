"""What the pace knows of one target, in the store."""

from __future__ import annotations

from dataclasses import dataclass

from engine.backend.storage import Repository
from engine.values.pace import KnownPace


@dataclass(frozen=True, slots=True)
class StoredPace:
    """Implements `engine.loading.PaceMemory`. Raises StoreUnusable."""

    repository: Repository
    target_identity: str  # empty: nothing is stored
    build: str  # of llama.cpp, as `Runtime.key`
    threads: int

    def load(self) -> KnownPace | None:
        if not self.target_identity:
            return None
        return self.repository.known_pace(self.target_identity, self.build, self.threads)

    def save(self, pace: KnownPace) -> None:
        if self.target_identity:
            self.repository.save_pace(self.target_identity, self.build, self.threads, pace)
