"""Drafters: where they come from, what was seen of them, and who drafts for a target."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from engine.values.sentences import Told, say
from engine.values.targets import HeadMethod

UNNAMED_DRAFTER = say("the drafter")
_OURS: dict[str, str] = {  # by their names: what sentences call them
    say("Built-in drafter"): say("the built-in drafter"),
    say("Starter"): say("the starter"),
    say("Starter in torch"): say("the starter in torch"),
}
_MOST_COUNTED = 2000  # guesses: what was seen before weighs less and less


class DrafterRunner(StrEnum):
    TORCH = "torch"
    LLAMA_CPP = "llama.cpp"
    HEADS = "heads"  # that guess from the target's states: see `drafter.heads`
    BROUGHT = "brought"  # heads that a model brings, run by llama.cpp


@dataclass(frozen=True, slots=True)
class DrafterSource:
    """A drafter before it is loaded."""

    key: str  # by which figures are stored; the same wherever its file is
    name: str  # for people, in a list
    runner: DrafterRunner
    path: Path  # a GGUF file, or a folder in Hugging Face's format
    size_bytes: int = 0  # of its weights
    trusted: bool = False  # ours, or run before: needs no first look in a process of its own
    is_ours: bool = False  # comes with the app
    method: HeadMethod | None = None  # of heads that a model brings; those in the target's own file have its path

    @property
    def guesses_at_once(self) -> bool:
        """True if one step makes all guesses of a draft."""
        return self.runner is DrafterRunner.HEADS or self.method in (HeadMethod.DFLASH, HeadMethod.DSPARK)

    @property
    def label(self) -> str:
        """The name within a sentence."""
        return _OURS.get(self.name, self.name) if self.is_ours else self.name


@dataclass(frozen=True, slots=True)
class Guesses:
    """How many guesses were made and how many of them were right: of the first token of a draft, and of those after it
    where all before it were right. One that was drawn is right by the chance that it is accepted."""

    num_first: float = 0
    first_right: float = 0
    num_next: float = 0
    next_right: float = 0

    def with_one(self, place: int, right: float) -> Guesses:
        """`place`: in the draft, from 0 on; `right`: 1, 0, or a chance between them."""
        if place == 0:
            return replace(self, num_first=self.num_first + 1, first_right=self.first_right + right)
        return replace(self, num_next=self.num_next + 1, next_right=self.next_right + right)

    def plus(self, more: Guesses) -> Guesses:
        """These and newer ones, so that the newest thousands count."""
        first = _kept(self.num_first, more.num_first)
        following = _kept(self.num_next, more.num_next)
        return Guesses(
            self.num_first * first + more.num_first,
            self.first_right * first + more.first_right,
            self.num_next * following + more.num_next,
            self.next_right * following + more.next_right,
        )


@dataclass(frozen=True, slots=True)
class DrafterRecord:
    """What was seen of a drafter with one target on this machine."""

    key: str  # of its source
    guesses: Guesses = Guesses()
    step_s: float = 0.0  # of guessing one token; 0: not measured


@dataclass(frozen=True, slots=True)
class DrafterProspect:
    """What a drafter would bring for the target in use."""

    source: DrafterSource
    chance_first: float  # that its first guess is right
    chance_next: float  # that a later one is, those before it being right
    num_seen: float  # guesses that this is known from; 0: expected of its kind
    step_s: float
    is_measured: bool  # whether the step was measured; else it is estimated from its size
    speedup: float  # tokens per second, over writing without guesses
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class DrafterOffer:
    """A small model of the target's family that is expected to draft clearly better than whatever is here."""

    hub_name: str  # to download it by: `OWNER/NAME:FILE`
    name: str  # for people
    size_bytes: int  # to download, roughly
    speedup: float  # expected with it, as in a prospect
    speedup_now: float  # expected as it is; 1 without a drafter


@dataclass(frozen=True, slots=True)
class DrafterChoice:
    """Who drafts for a target, and why."""

    chosen: DrafterSource | None  # None: no drafter
    why: Told  # a sentence
    prospects: tuple[DrafterProspect, ...] = ()  # of all that were considered, best first
    is_fixed: bool = False  # whether the user chose; else whatever writes most tokens per second
    offer: DrafterOffer | None = None  # to be downloaded, if the user wants

    @property
    def label(self) -> str:
        """The name of the chosen one within a sentence."""
        return say("no drafter") if self.chosen is None else self.chosen.label


def _kept(before: float, more: float) -> float:
    """The share of the earlier ones that still counts."""
    return max(0.0, 1 - (before + more - _MOST_COUNTED) / before) if before + more > _MOST_COUNTED and before else 1.0
