"""The list of proposers. It imports no slow library, so that the window can name and colour them at once."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

from engine.messages.origins import Origin

if TYPE_CHECKING:
    from engine.proposers.interface import Proposer

__all__ = ["origins"]  # what the window may use


@dataclass(frozen=True)
class Listed:
    """A proposer by its origin and its class, which is imported when a target is loaded."""

    origin: Origin
    place: str  # module and class

    def proposer_class(self) -> type[Proposer]:
        module, _, name = self.place.rpartition(".")
        return cast("type[Proposer]", getattr(import_module(module), name))


# In the order of the window's legend.
PROPOSERS = (
    LISTED_DRAFTER := Listed(
        DRAFTER := Origin("drafter", "Drafter", "#d9f0ea", "#15423f"), "engine.proposers.drafted.DrafterProposer"
    ),
    Listed(RECALL := Origin("recall", "Earlier text", "#fbeccb", "#45361a"), "engine.proposers.recall.RecallProposer"),
    Listed(
        LOOKAHEAD := Origin("lookahead", "Model's hints", "#e7e2f8", "#38335c"),
        "engine.proposers.lookahead.LookaheadProposer",
    ),
)


def proposers(with_drafter: bool) -> tuple[Listed, ...]:
    """All, or all but the drafter."""
    return tuple(listed for listed in PROPOSERS if with_drafter or listed is not LISTED_DRAFTER)


def origins() -> tuple[Origin, ...]:
    """Those of the proposers; the target has one of its own, `TARGET`."""
    return tuple(listed.origin for listed in PROPOSERS)
