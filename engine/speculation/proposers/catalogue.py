"""The list of proposers. It imports no slow library, so that the window can name and colour them at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

from engine.values.drafters import DrafterRunner, DrafterSource
from engine.values.origins import Origin

if TYPE_CHECKING:
    from engine.speculation.numerics.draft_length import PassCosts
    from engine.speculation.proposers.interface import Proposer

__all__ = ["origins"]  # what the window may use


@dataclass(frozen=True)
class Listed:
    """A proposer by its origin and its class, which is imported when a target is loaded."""

    origin: Origin
    place: str  # module and class
    dearest_row: float = math.inf  # what a second row may cost at most, as a share of a pass: else it cannot pay

    def proposer_class(self) -> type[Proposer]:
        module, _, name = self.place.rpartition(".")
        return cast("type[Proposer]", getattr(import_module(module), name))


# In the order of the window's legend.
PROPOSERS = (
    LISTED_DRAFTER := Listed(
        DRAFTER := Origin("drafter", "Drafter", "#d9f0ea", "#15423f"),
        "engine.speculation.proposers.drafted.DrafterProposer",
    ),
    LISTED_HEADS := Listed(
        HEADS := Origin("heads", "Heads", "#e3e0f7", "#2e2a55"), "engine.speculation.proposers.heads.HeadsProposer"
    ),
    LISTED_BROUGHT := Listed(HEADS, "engine.speculation.proposers.brought.BroughtProposer"),
    Listed(
        RECALL := Origin("recall", "Earlier text", "#fbeccb", "#45361a"),
        "engine.speculation.proposers.recall.RecallProposer",
    ),
    Listed(
        LOOKAHEAD := Origin("lookahead", "Model's hints", "#f8dfe6", "#562f3b"),
        "engine.speculation.proposers.lookahead.LookaheadProposer",
        dearest_row=0.15,
    ),
)


SUPPLIED = (
    LISTED_DRAFTER,
    LISTED_HEADS,
    LISTED_BROUGHT,
)  # of which one at most drafts for a target: see `proposers.supply`


def supplied_by(runner: DrafterRunner) -> Listed:
    return {DrafterRunner.HEADS: LISTED_HEADS, DrafterRunner.BROUGHT: LISTED_BROUGHT}.get(runner, LISTED_DRAFTER)


def proposers(supplied: DrafterSource | None) -> tuple[Listed, ...]:
    """All proposers; of the supplied ones only that of this source."""
    wanted = None if supplied is None else supplied_by(supplied.runner)
    return tuple(listed for listed in PROPOSERS if listed is wanted or listed not in SUPPLIED)


def paying(passes: PassCosts, supplied: DrafterSource | None) -> tuple[Listed, ...]:
    """The proposers that may pay where passes cost this much: others would only take time in every round."""
    second_row = passes.of(2) / passes.of(1) - 1
    return tuple(listed for listed in proposers(supplied) if second_row <= listed.dearest_row)


def origins() -> tuple[Origin, ...]:
    """The origins of the proposers; the target has one of its own, `TARGET`."""
    return tuple(dict.fromkeys(listed.origin for listed in PROPOSERS))
