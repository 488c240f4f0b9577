"""The speed of replies by day and by chat, in sums that can be added, and what was learned meanwhile."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import date, datetime
from operator import attrgetter
from typing import Any

from engine.messages.replies import ProposerCounts, TextKind, joined_counts


@dataclass(frozen=True, slots=True)
class TotalSpeedup:
    """Over plain decoding on this machine: the time that the same tokens would have taken without drafts, divided by
    the time they took."""

    ratio: float
    error: float  # its standard error
    num_replies: int  # that were compared
    saved_s: float  # negative: drafting cost time


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over replies. Tokens are the target's, times are wall-clock seconds of writing, without the prompt.

    *Compared* replies are those whose time without drafts is known.
    """

    num_replies: int = 0
    num_tokens: int = 0
    num_timed: int = 0  # tokens written in these seconds: the first of a reply comes with its prompt
    seconds: float = 0.0
    num_rounds: int = 0
    num_in_rounds: int = 0  # tokens written in the rounds
    num_drafted: int = 0
    num_accepted: int = 0
    parted_s: float = 0.0  # of replies whose time was split; parts of it are `draft_s` and `check_s`
    draft_s: float = 0.0
    check_s: float = 0.0
    num_compared: int = 0
    plain_s: float = 0.0  # that compared replies would have taken without drafts
    compared_s: float = 0.0  # that they took
    plain_squares: float = 0.0  # sums over compared replies, for the spread between them
    compared_squares: float = 0.0
    products: float = 0.0
    plain_variance: float = 0.0  # from the standard errors of plain speeds
    proposers: tuple[ProposerCounts, ...] = ()  # by key

    @property
    def tokens_per_s(self) -> float:
        return self.num_timed / self.seconds if self.seconds > 0 else 0.0

    @property
    def tokens_per_round(self) -> float:
        return self.num_in_rounds / self.num_rounds if self.num_rounds else 0.0

    @property
    def accepted_share(self) -> float | None:
        """Of the drafted tokens; None if there are none."""
        return self.num_accepted / self.num_drafted if self.num_drafted else None

    @property
    def other_s(self) -> float:
        """Neither drafting nor checking."""
        return max(0.0, self.parted_s - self.draft_s - self.check_s)

    @property
    def speedup(self) -> TotalSpeedup | None:
        """None if no reply was compared. A ratio of sums, so that longer replies weigh more; its error comes from the
        spread of the replies and from the errors of the plain speeds."""
        if not self.num_compared or self.compared_s <= 0:
            return None
        ratio = self.plain_s / self.compared_s
        squares = self.plain_squares - 2 * ratio * self.products + ratio**2 * self.compared_squares
        spread = max(0.0, squares) * self.num_compared / (self.num_compared - 1) if self.num_compared > 1 else 0.0
        error = math.sqrt(spread + self.plain_variance) / self.compared_s
        return TotalSpeedup(ratio, error, self.num_compared, self.plain_s - self.compared_s)


def total(tallies: Iterable[Tally]) -> Tally:
    found = tuple(tallies)
    if len(found) == 1:
        return found[0]
    sums: dict[str, Any] = {name: sum(map(attrgetter(name), found)) for name in NUMBERS}
    return Tally(**sums, proposers=joined_counts(counts for tally in found for counts in tally.proposers))


NUMBERS = tuple(field.name for field in fields(Tally) if field.name != "proposers")


@dataclass(frozen=True, slots=True)
class Portion:
    """Replies of one day or of one chat, by one target and of one kind."""

    conversation_id: int  # of the first one
    began_at: datetime  # when the first one was stored
    day: date  # of that, in local time
    target_name: str
    kind: TextKind
    tally: Tally


@dataclass(frozen=True, slots=True)
class AdapterNote:
    """An adapter that a drafter used."""

    number: int
    created_at: datetime
    before: float  # tokens accepted per round, on replies that it did not learn from
    after: float
    num_learned: int  # replies learned from
    is_published: bool  # in use now
    target_names: tuple[str, ...]  # that it drafts for; empty: unknown


@dataclass(frozen=True, slots=True)
class LearningDay:
    day: date  # in local time
    seconds: float  # of learning


@dataclass(frozen=True, slots=True)
class History:
    """Of all stored replies, without those of deleted and incognito chats."""

    days: tuple[Portion, ...] = ()  # oldest first
    chats: tuple[Portion, ...] = ()  # oldest first
    adapters: tuple[AdapterNote, ...] = ()  # oldest first
    learning: tuple[LearningDay, ...] = ()  # oldest first
    num_ngrams: int = 0
    num_recall_texts: int = 0
    num_recall_tokens: int = 0
