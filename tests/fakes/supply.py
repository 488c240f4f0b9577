"""A supply of fake drafters: who drafts is decided as in the app, and what is loaded guesses a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from engine.speculation.proposers.drafting import Drafting
from engine.speculation.proposers.supply import DrafterSupply, Known
from engine.values.config import AUTOMATIC, STARTER, EngineConfig, SpeculationSettings
from engine.values.drafters import DrafterChoice, DrafterRunner, DrafterSource, Guesses
from engine.values.errors import DrafterUnusable
from tests.fakes.drafter import guesses
from tests.fakes.proposers import neural_proposer
from tests.fakes.target import END, FakeTarget, NextToken, says

TEXT = "the thing in the inn, then nothing; the theme: haha, end"
FAKE_STARTER = DrafterSource(STARTER, "Starter", DrafterRunner.LLAMA_CPP, Path("starter.gguf"), 90_000_000, True, True)


def large_target(next_token: NextToken = says(TEXT, END), size_bytes: int = 8_000_000_000) -> FakeTarget:  # noqa: B008
    """One that says so of its weights."""
    target = FakeTarget(next_token)
    target.description = replace(target.description, size_bytes=size_bytes)
    return target


class FakeSupply(DrafterSupply):
    """Records what it loads and tells."""

    def __init__(
        self,
        folder: Path,
        target: FakeTarget | None = None,
        drafter: str = AUTOMATIC,
        identity: str = "",
        known: Known = Known(),  # noqa: B008
    ) -> None:
        self.target = target or large_target()
        self.told: list[Drafting | None] = []
        self.choices: list[DrafterChoice] = []
        self.opened: list[str] = []  # keys
        self.unusable: set[str] = set()  # keys
        self.is_quick = False  # whether loading takes so little that it waits for nothing
        config = EngineConfig(folder, SpeculationSettings(drafter=drafter))
        super().__init__(config, self.target, identity, known, self.told.append, self.choices.append)

    def open(
        self,
        source: DrafterSource,
        is_cancelled: Callable[[], bool] = lambda: False,  # noqa: ARG002
        pause: Callable[[], None] = lambda: None,
    ) -> Drafting:
        if not self.is_quick:
            pause()
        self.opened.append(source.key)
        if source.key in self.unusable:
            raise DrafterUnusable(f"{source.name} cannot draft: it is damaged.")
        vocabulary = self.target.vocabulary
        proposer = neural_proposer(vocabulary, guesses(TEXT), label=source.label)
        return Drafting(source, source.key, vocabulary, proposer, None)

    def note(self, guesses: Guesses) -> None:
        """As if the drafter in use had made them."""
        drafting = self.told[-1]
        assert drafting is not None
        drafting.proposer._guesses = drafting.proposer._guesses.plus(guesses)
