"""All that is learned from chats, as values: what travels in a profile, and how much of it there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from engine.messages.conversations import ChatTurn

if TYPE_CHECKING:  # the window is up before numpy is needed
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class VerifiedReply:
    """A reply to learn from: what was written, and the target's likeliest tokens before each of them."""

    tokens: npt.NDArray[np.int32]  # shape (n,), the one that ended it included
    top_tokens: npt.NDArray[np.int32]  # shape (n, k), likeliest first
    top_logs: npt.NDArray[
        np.float16
    ]  # shape (n, k): natural logarithms of their probabilities at temperature 1, others left out


@dataclass(frozen=True, slots=True)
class NgramRecord:
    """A string of a drafter's tokens that one token of a target was seen to be made of."""

    string: tuple[int, ...]  # the drafter's tokens, shape (n,), n >= 1
    token: int  # the target's
    count: int  # how often the target wrote it, one more for what the bytes alone tell; 0: the n-gram is gone
    doubts: int  # how often the target wrote other tokens in its place
    last_use: int  # in the cache's own time, which counts what it learned; larger is later


@dataclass(frozen=True, slots=True)
class RecallText:
    """A message in the tokens of one target's vocabulary."""

    message_id: int
    conversation_id: int
    tokens: npt.NDArray[np.int32]  # shape (n,)


@dataclass(frozen=True, slots=True)
class Lesson:
    """A stored reply that a drafter learns from."""

    message_id: int  # of the reply
    conversation_id: int
    created_at: datetime
    # What it answers, as rendered: the system prompt if there is one, then the branch down to the reply's parent
    turns: tuple[ChatTurn, ...]
    reply: VerifiedReply


@dataclass(frozen=True, slots=True)
class AdapterSummary:
    """What a drafter has learned for one target, judged by replies that it did not learn from."""

    number: int  # never given twice in a store; larger is later
    created_at: datetime
    before: float  # tokens accepted per round on the replies it was judged by, without it
    after: float  # and with it
    num_replies: int  # it was judged by
    num_learned: int  # replies it has learned from so far
    is_published: bool  # in use
    ordinal: int = field(default=0, kw_only=True)  # among all that its target ever had here, from 1; 0: not counted


@dataclass(frozen=True, slots=True)
class AdapterRecord(AdapterSummary):
    weights: bytes = field(repr=False)  # a safetensors file


FingerprintPair = tuple[str, str]  # of a target's vocabulary, then of a drafter or of its vocabulary


@dataclass(frozen=True, slots=True)
class TargetStatistics:
    """How a target wrote the replies that are kept."""

    name: str
    num_replies: int
    num_tokens: int
    seconds: float  # of writing them
    tokens_per_round: float  # 0 = no rounds were counted
    speedup: float | None  # over plain decoding, of the replies where that is known; a longer one weighs more


@dataclass(frozen=True, slots=True)
class Learned:
    """What travels in a profile. Lessons do not: they hold what was typed."""

    ngrams: Mapping[FingerprintPair, tuple[NgramRecord, ...]]
    adapters: Mapping[FingerprintPair, tuple[AdapterRecord, ...]]  # oldest first, at most one of them in use
    recall: Mapping[str, tuple[npt.NDArray[np.int32], ...]]  # texts in the tokens of a vocabulary, oldest first
    statistics: tuple[TargetStatistics, ...]


@dataclass(frozen=True, slots=True)
class RecallSize:
    num_texts: int
    num_tokens: int


@dataclass(frozen=True, slots=True)
class LearnedSummary:
    """How much is learned. What there is nothing of is not named."""

    ngrams: Mapping[FingerprintPair, int]
    adapters: Mapping[FingerprintPair, tuple[AdapterSummary, ...]]  # newest first
    recall: Mapping[str, RecallSize]  # by vocabulary
    lessons: Mapping[str, int]
    target_names: Mapping[str, tuple[str, ...]]  # of targets known to have this vocabulary
    statistics: tuple[TargetStatistics, ...]
    num_bytes: Mapping[str, int] = field(default_factory=dict)  # of the store, by vocabulary
    since: Mapping[str, datetime] = field(default_factory=dict)  # of the oldest lesson or adapter, by vocabulary

    @property
    def vocabularies(self) -> tuple[str, ...]:
        """The fingerprints of all targets' vocabularies that something is known for."""
        of_pairs = {target for target, _ in (*self.ngrams, *self.adapters)}
        return tuple(sorted(of_pairs | set(self.recall) | set(self.lessons)))


@dataclass(frozen=True, slots=True)
class ProfileSummary:
    """What a profile holds."""

    created_at: datetime
    program: str  # the version that wrote it
    learned: LearnedSummary


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What a profile changed in the store."""

    num_ngrams: int  # new or changed
    num_adapters: int  # new
    num_published: int  # pairs that have an adapter in use now, and had none
    num_texts: int  # to recall, new
