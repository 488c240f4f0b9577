"""What is known of a reply: why it ended, where its tokens came from, how fast it was written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from engine.values.speed import SLOWER, Hindrance, SpeedVerdict, verdict_of

REUSE = "recall"  # the key of the origin that quotes earlier text
MOSTLY_REUSED = 0.5  # of a reply's tokens, guessed by that origin: then it is text that comes again


class StopReason(StrEnum):
    """Why a reply ended."""

    END = "end"  # the target wrote an end-of-generation token
    STOP_STRING = "stop_string"  # one of the stop strings appeared, or nothing may follow by its grammar
    LENGTH = "length"  # the allowed number of tokens was reached
    CONTEXT_FULL = "context_full"  # the context is full and nothing older can leave
    STOPPED = "stopped"  # the user pressed Stop
    FAILED = "failed"  # an error ended it; the text so far is stored
    CUT_OFF = "cut_off"  # the app ended before it did; what was kept until then is stored


@dataclass(frozen=True, slots=True)
class OriginRun:
    """Neighbouring characters of a reply whose tokens come from one origin; the target checked them in any case."""

    num_characters: int
    origin: str  # the key of an `Origin`; one that another version stored may be unknown here


@dataclass(frozen=True, slots=True)
class ThoughtPiece:
    """What was added to a thought, or its end."""

    text: str = ""
    origins: tuple[OriginRun, ...] = ()  # of the text; empty: not known
    seconds: float = 0.0  # that it has taken since the piece before
    num_tokens: int = 0  # that it has added since the piece before
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class Thought:
    """One of a reply's thoughts. The reply's text is its answer; this stood among it."""

    place: int  # characters of the answer before it
    text: str = ""
    seconds: float = 0.0  # that it took
    num_tokens: int = 0
    is_whole: bool = False  # else the reply has ended in the middle of it, or is still being written
    origins: tuple[OriginRun, ...] = ()  # of the text; empty: not known


def joined_thoughts(thoughts: Iterable[Thought]) -> str:
    return "\n\n".join(each.text for each in thoughts)


@dataclass(frozen=True, slots=True)
class TokenLog:
    """A token of a reply, and the natural logarithm of its probability."""

    piece: bytes
    log: float
    beside: tuple[tuple[bytes, float], ...] = ()  # the likeliest tokens in its place, likeliest first


@dataclass(frozen=True, slots=True)
class ProposerCounts:
    """Tokens of the target that one proposer drafted, in one reply or in several."""

    key: str  # of its origin
    num_rounds: int  # in which it drafted
    num_drafted: int  # as `num_rounds`, 0 for a reply that was stored before these were
    num_accepted: int


def joined_counts(counts: Iterable[ProposerCounts]) -> tuple[ProposerCounts, ...]:
    """The sums for each proposer, by key."""
    by_key: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for each in counts:
        by_key[each.key].append((each.num_rounds, each.num_drafted, each.num_accepted))
    return tuple(ProposerCounts(key, *map(sum, zip(*by_key[key], strict=True))) for key in sorted(by_key))


class TextKind(StrEnum):
    """What a reply mostly is; how well it can be guessed depends on that."""

    PROSE = "prose"
    CODE = "code"
    NUMBERS = "numbers"
    LISTS = "lists"


@dataclass(frozen=True, slots=True)
class ReplyStatistics:
    """Counts are tokens of the target; times are wall-clock seconds.

    `reply_s` runs from the end of the prompt pass to the last token, so that it measures writing alone.
    Rounds: passes after the prompt; drafted/accepted: target tokens that were checked / that were accepted.
    """

    prompt_tokens: int  # length of the rendered prompt
    evaluated_tokens: int  # of these, evaluated for this reply; the others were still held from the turn before
    reply_tokens: int
    prompt_s: float
    reply_s: float
    stop_reason: StopReason
    context_used: int  # tokens held when the reply ended
    context_size: int
    left_out_messages: int = 0  # oldest messages that no longer fitted into the context
    num_rounds: int = 0
    num_drafted: int = 0
    num_accepted: int = 0
    plain_tokens_per_s: float = 0.0  # what this machine writes without drafts, measured meanwhile; 0 = not known
    plain_error: float = 0.0  # standard error of that, as a share of it
    draft_s: float = 0.0  # of `reply_s`, in proposing
    check_s: float = 0.0  # of `reply_s`, in the target's passes and the acceptance
    kind: TextKind = TextKind.PROSE
    origins: tuple[OriginRun, ...] = ()  # of the reply's text, in order; empty: not known
    ratio: float = 0.0  # to plain decoding, by counts; 0 = not known
    repeats: bool = False  # it repeated itself without end, so that its speed tells nothing
    seed: str = ""  # that writes it once more, in digits; empty: none does
    hindrance: Hindrance = Hindrance.UNKNOWN  # what kept it from being sped up
    proposers: tuple[ProposerCounts, ...] = ()  # those that drafted, by key; empty: none did, or not known

    @property
    def speedup(self) -> float | None:
        """The ratio to plain decoding: by counts, or if these are unknown, by this machine's clock; None if neither is
        known."""
        if self.ratio or not self.plain_tokens_per_s or not self.tokens_per_s:
            return self.ratio or None
        return self.tokens_per_s / self.plain_tokens_per_s

    @property
    def is_slow(self) -> bool:
        """True if plain decoding would have been faster, by counts."""
        return 0 < self.ratio < SLOWER

    @property
    def verdict(self) -> SpeedVerdict:
        """What is said of its speed; not of one that a server wrote."""
        return verdict_of(
            self.tokens_per_s,
            self.reply_tokens,
            self.num_drafted,
            self.ratio,
            self.plain_tokens_per_s,
            self.plain_error,
            self.hindrance,
        )

    @property
    def reuses_text(self) -> bool:
        """True if most of the text existed before."""
        reused = sum(each.num_accepted for each in self.proposers if each.key == REUSE)
        return 0 < MOSTLY_REUSED * self.reply_tokens <= reused

    @property
    def tokens_per_round(self) -> float:
        return (self.num_rounds + self.num_accepted) / self.num_rounds if self.num_rounds else 0.0

    @property
    def tokens_per_s(self) -> float:
        """Tokens written per second: the first was drawn from the prompt's logits, and where the target ended the
        reply, its end was one more."""
        num_passes = self.reply_tokens if self.stop_reason is StopReason.END else self.reply_tokens - 1
        return num_passes / self.reply_s if self.reply_s > 0 and num_passes > 0 else 0.0
