"""The speed of replies by day and by chat, in sums that can be added, and what was learned meanwhile."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from itertools import chain
from operator import attrgetter
from statistics import median
from typing import Any

from engine.values.learned import Benefit, ScoredReplies
from engine.values.replies import ProposerCounts, TextKind, joined_counts
from engine.values.speed import Hindrance


@dataclass(frozen=True, slots=True)
class TotalSpeedup:
    """The speed-up over plain decoding on this machine of a typical reply: the median of the replies' ratios.

    Half of all replies may be as odd as they like without moving it far (Huber 1981, a breakdown point of one half),
    so that no single long reply earns the figure; and it is the same for ratios as for their logarithms, which a mean
    of ratios is not (Fleming and Wallace 1986). Benchmarks print the same median.
    """

    ratio: float
    error: float  # its standard error
    num_replies: int  # that were compared
    saved_s: float  # by all of them together; negative: drafting cost time


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over replies. Tokens are the target's, times are wall-clock seconds of writing, without the prompt.

    *Compared* replies are those whose time without drafts is known. Replies that repeated themselves without end are
    counted, and left out of all other figures.
    """

    num_replies: int = 0
    num_tokens: int = 0
    num_timed: int = 0  # tokens written in these seconds: the first of a reply comes with its prompt
    seconds: float = 0.0
    num_thought: int = 0  # of these tokens, those of thoughts
    thought_s: float = 0.0  # that those took
    num_rounds: int = 0
    num_in_rounds: int = 0  # tokens written in the rounds
    num_drafted: int = 0
    num_accepted: int = 0
    parted_s: float = 0.0  # of replies whose time was split; parts of it are `draft_s` and `check_s`
    draft_s: float = 0.0
    check_s: float = 0.0
    saved_s: float = 0.0  # over plain decoding, by all compared replies
    recall_saved_s: float = 0.0  # that recall brought of it: its tokens written plainly, less its share of checking
    num_slow: int = 0  # of these, slower than plain by counts
    num_unpaid: int = 0  # that checking guesses kept from being faster, as it costs too much here (`Hindrance.COSTS`)
    num_unrepeated: int = 0  # the same, as nothing or little came up again
    num_repeating: int = 0  # that repeated themselves
    ratios: tuple[float, ...] = ()  # of compared replies to plain decoding, in any order
    proposers: tuple[ProposerCounts, ...] = ()  # by key
    scored: tuple[ScoredReplies, ...] = ()  # with a drafter that learns; any number of one conversation

    @property
    def tokens_per_s(self) -> float:
        return self.num_timed / self.seconds if self.seconds > 0 else 0.0

    @property
    def paces(self) -> tuple[float, float] | None:
        """Tokens per second, thinking and answering; None where not both were timed."""
        num_answered, answer_s = self.num_timed - self.num_thought, self.seconds - self.thought_s
        if min(self.num_thought, self.thought_s, num_answered, answer_s) <= 0:
            return None
        return self.num_thought / self.thought_s, num_answered / answer_s

    @property
    def tokens_per_round(self) -> float:
        return self.num_in_rounds / self.num_rounds if self.num_rounds else 0.0

    @property
    def accepted_share(self) -> float | None:
        """The share of drafted tokens; None if there are none."""
        return self.num_accepted / self.num_drafted if self.num_drafted else None

    @property
    def other_s(self) -> float:
        """Neither drafting nor checking."""
        return max(0.0, self.parted_s - self.draft_s - self.check_s)

    @property
    def speedup(self) -> TotalSpeedup | None:
        """None if no reply was compared."""
        if not self.ratios:
            return None
        ordered = sorted(self.ratios)
        return TotalSpeedup(median(ordered), _error_of_median(ordered), len(ordered), self.saved_s)

    @property
    def hindrance(self) -> Hindrance:
        """What kept a typical reply from being faster; unknown unless it is known of half of them."""
        number, hindrance = max((self.num_unpaid, Hindrance.COSTS), (self.num_unrepeated, Hindrance.NOTHING))
        return hindrance if 2 * number >= max(1, self.num_replies) else Hindrance.UNKNOWN

    @property
    def benefit(self) -> Benefit | None:
        """None if no reply was scored."""
        return Benefit.of(self.scored)


def _error_of_median(ordered: Sequence[float]) -> float:
    """Half of what lies within √n / 2 ranks of the middle: whatever the distribution, the true median is as likely
    between these as within one standard error (David and Nagaraja 2003, section 7.1)."""
    middle, reach = (len(ordered) - 1) / 2, math.sqrt(len(ordered)) / 2
    low, high = max(0, math.floor(middle - reach)), min(len(ordered) - 1, math.ceil(middle + reach))
    return (ordered[high] - ordered[low]) / 2


def total(tallies: Iterable[Tally]) -> Tally:
    found = tuple(tallies)
    if len(found) == 1:
        return found[0]
    sums: dict[str, Any] = {name: sum(map(attrgetter(name), found)) for name in NUMBERS}
    ratios = tuple(chain.from_iterable(tally.ratios for tally in found))
    proposers = joined_counts(counts for tally in found for counts in tally.proposers)
    scored = tuple(chain.from_iterable(tally.scored for tally in found))
    return Tally(**sums, ratios=ratios, proposers=proposers, scored=scored)


NUMBERS = tuple(field.name for field in fields(Tally) if field.name not in ("ratios", "proposers", "scored"))


@dataclass(frozen=True, slots=True)
class Portion:
    """Replies of one day or of one chat, by one target, of one kind, and alike in whether they reuse text."""

    conversation_id: int  # of the first one
    began_at: datetime  # when the first one was stored
    day: date  # of that, in local time
    target_name: str
    kind: TextKind
    tally: Tally
    reuses: bool = False  # most of their text was there before


@dataclass(frozen=True, slots=True)
class AdapterNote:
    """An adapter that a drafter used."""

    number: int
    created_at: datetime
    before: float  # tokens accepted per round, on replies that it did not learn from; 0: not known yet
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
    """All stored replies, without those of deleted and incognito chats."""

    days: tuple[Portion, ...] = ()  # oldest first
    chats: tuple[Portion, ...] = ()  # oldest first
    adapters: tuple[AdapterNote, ...] = ()  # oldest first
    learning: tuple[LearningDay, ...] = ()  # oldest first
    num_ngrams: int = 0
    num_recall_texts: int = 0
    num_recall_tokens: int = 0
