"""The state of the draft policy for one target, in the store."""

from __future__ import annotations

from dataclasses import dataclass

from engine.backend.storage import Repository
from engine.values.draft_policy import LearnedPolicy


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """Implements `engine.loading.PolicyMemory`. Raises StoreUnusable."""

    repository: Repository
    target_identity: str  # empty: nothing is stored
    build: str  # of llama.cpp, as `Runtime.key`
    threads: int

    def load(self) -> LearnedPolicy | None:
        if not self.target_identity:
            return None
        return self.repository.learned_policy(self.target_identity, self.build, self.threads)

    def save(self, policy: LearnedPolicy) -> None:
        if self.target_identity:
            self.repository.save_policy(self.target_identity, self.build, self.threads, policy)
