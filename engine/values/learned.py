"""What was learned from chats: the contents of a profile, and how much of it there is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from engine.values.config import OwnSampling
from engine.values.conversations import ChatTurn
from engine.values.remote import SERVER_IDENTITY
from engine.values.replies import TextKind

if TYPE_CHECKING:  # the window is up before numpy is needed
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class VerifiedReply:
    """The tokens of a reply, with the target's likeliest tokens in the place of each."""

    tokens: npt.NDArray[np.int32]  # shape (n,), with the one that ended it
    top_tokens: npt.NDArray[np.int32]  # shape (n, k), likeliest first
    top_logs: npt.NDArray[np.float16]  # shape (n, k), natural logarithms of their probabilities at temperature 1
    temperature: float = 0.0  # that it was written at; 0 also where that is unknown


@dataclass(frozen=True, slots=True)
class NgramRecord:
    """A string of drafter tokens that spelled one target token."""

    string: tuple[int, ...]  # the drafter's tokens, shape (n,), n >= 1
    token: int  # the target's
    count: int  # how often the target wrote it, plus one if the bytes alone match; 0: it was removed
    doubts: int  # how often the target wrote other tokens instead
    last_use: int  # in the cache's own time, which counts its lessons; larger is later


@dataclass(frozen=True, slots=True)
class RecallText:
    """A message in the tokens of one target's vocabulary."""

    message_id: int
    conversation_id: int
    tokens: npt.NDArray[np.int32]  # shape (n,)


@dataclass(frozen=True, slots=True)
class Lesson:
    """A stored reply that a drafter learns from."""

    message_id: int  # of the reply; negative: minus its number in self-distillation, as it is no message
    conversation_id: int  # negative for the reply to a shipped prompt: it belongs to none, so it has one of its own
    created_at: datetime
    # What it answers, as rendered: the system prompt if there is one, then the branch down to the reply's parent
    turns: tuple[ChatTurn, ...]
    reply: VerifiedReply


@dataclass(frozen=True, slots=True)
class TextLesson:
    """A stored reply of a target with another vocabulary, which a drafter can learn from all the same."""

    message_id: int
    conversation_id: int
    turns: tuple[ChatTurn, ...]  # that it answers, as those of a lesson
    text: str


@dataclass(frozen=True, slots=True)
class Exercise:
    """A prompt that may be answered to be learned from: one of a stored chat again, or a shipped one."""

    message_id: int | None  # of the prompt; None: it is shipped
    conversation_id: int | None
    turns: tuple[ChatTurn, ...]  # the system prompt if there is one, then the branch down to the prompt
    sampling: OwnSampling  # of its chat
    number: int = 0  # of a shipped one: how many are before it


@dataclass(frozen=True, slots=True)
class SelfDistilledRead:
    """How much of its target's self-distilled replies a drafter has read."""

    until: int = 0  # the `message_id` of the last one, which is negative
    num_tokens: int = 0  # in all, of the target; those of replies that are no longer stored included
    num_unread: int = 0  # tokens that are stored and follow


@dataclass(frozen=True, slots=True)
class Gain:
    """What an adapter brought, on replies that were written since it is in use and were scored before anything was
    learned from them. An adapter without any has zeros."""

    before: float = 0.0  # tokens accepted per round by the original drafter
    after: float = 0.0  # and with the adapter
    error: float = 0.0  # standard error of the difference; 0: unknown
    num_replies: int = 0
    num_chats: int = 0  # that they belong to
    num_tokens: int = 0  # the drafter's


NO_GAIN = Gain()
FEWEST_CHATS = 6  # that there is an error of


@dataclass(frozen=True, slots=True)
class ScoredReplies:
    """Replies of one conversation, each scored before anything was learned from it."""

    conversation_id: int
    num_replies: int
    num_tokens: int  # the drafter's
    before: float  # rounds in expectation, as the judge counts them, with the original drafter
    after: float  # and with what was in use


@dataclass(frozen=True, slots=True)
class ComparedReply:
    """A reply that came while an adapter was in use."""

    title: str  # of its chat
    created_at: datetime
    scored: ScoredReplies  # this one


@dataclass(frozen=True, slots=True)
class Benefit:
    """What learning brought on such replies."""

    before: float  # tokens per round with the original drafter
    after: float  # and with what was in use
    error: float | None  # standard error of `gain`; None: too few conversations to tell
    num_replies: int

    @property
    def gain(self) -> float:
        """The share by which a round brought more; as large is the share of rounds that were saved, of those left."""
        return self.after / self.before - 1

    @classmethod
    def of(cls, scored: Iterable[ScoredReplies]) -> Benefit | None:
        """None if there are none. The error is that of a ratio of two sums over conversations that are drawn one by
        one (Cochran 1977, section 6.4): replies of one conversation are alike."""
        found = tuple(scored)
        chats: dict[int, list[float]] = {}
        for each in found:
            rounds = chats.setdefault(each.conversation_id, [0.0, 0.0])
            rounds[0] += each.before
            rounds[1] += each.after
        before, after = (sum(rounds[side] for rounds in chats.values()) for side in (0, 1))
        if not found or min(before, after) <= 0:
            return None
        error, number = None, len(chats)
        if number >= FEWEST_CHATS:
            left = sum((each - other * before / after) ** 2 for each, other in chats.values())
            error = math.sqrt(left * number / (number - 1)) / after
        num_tokens = sum(each.num_tokens for each in found)
        return cls(num_tokens / before, num_tokens / after, error, sum(each.num_replies for each in found))


@dataclass(frozen=True, slots=True)
class PairBenefit:
    """What learning brought to a drafter and its target, on replies that came while an adapter was in use."""

    whole: Benefit
    recent: Benefit  # of the last RECENT_REPLIES
    kinds: Mapping[TextKind, Benefit]


RECENT_REPLIES = 50


@dataclass(frozen=True, slots=True)
class AdapterSummary:
    """What a drafter learned for one target."""

    number: int  # never given twice in a store; larger is later
    created_at: datetime
    before: float  # see `Gain`
    after: float
    num_replies: int
    num_learned: int  # replies learned from so far
    is_published: bool  # in use
    ordinal: int = field(default=0, kw_only=True)  # among all adapters its target ever had here, from 1; 0: unknown
    error: float = field(default=0.0, kw_only=True)  # see `Gain`
    num_chats: int = field(default=0, kw_only=True)
    num_tokens: int = field(default=0, kw_only=True)  # 0: its figures are of replies that judged it, or it has none

    @property
    def is_measured(self) -> bool:
        """True if its figures come from enough conversations to be shown."""
        return self.num_replies > 0 and (self.num_tokens == 0 or self.num_chats >= FEWEST_CHATS)

    @property
    def gain(self) -> Gain:
        return Gain(self.before, self.after, self.error, self.num_replies, self.num_chats, self.num_tokens)


@dataclass(frozen=True, slots=True)
class AdapterRecord(AdapterSummary):
    weights: bytes = field(repr=False)  # a safetensors file


@dataclass(frozen=True, slots=True)
class CandidateRecord:
    """What training has come to since an adapter was put in use, and what its judge knows."""

    adapter: int | None  # the number of the one in use; None: the original drafter
    scored_until: int  # the message of the last reply that was scored
    learned_until: int  # the message of the last reply that `weights` have learned from
    num_learned: int  # replies learned from by then
    capital: tuple[float, ...]  # what is known of it, see `learning.judge.Evidence`
    weights: bytes = field(repr=False)  # a safetensors file; empty: what is in use


FingerprintPair = tuple[str, str]  # of a target's vocabulary, then of a drafter or of its vocabulary


@dataclass(frozen=True, slots=True)
class TargetStatistics:
    """The stored replies of a target."""

    name: str
    num_replies: int
    num_tokens: int
    seconds: float  # spent writing them
    tokens_per_round: float  # 0 = no rounds were counted
    speedup: float | None  # over plain decoding, weighted by length, where it is known


@dataclass(frozen=True, slots=True)
class ModelUse:
    """How a target has written here: the sums of the speed page."""

    name: str
    identity: str  # empty: unknown
    vocabulary: str  # its fingerprint; empty: unknown, as of those on servers
    num_replies: int
    num_tokens: int
    tokens_per_s: float
    speedup: tuple[float, float] | None = None  # over plain decoding, and its standard error; None: not known
    num_recalled: int = 0  # of the tokens, those that recall had guessed
    recall_saved_s: tuple[float, float] | None = None  # in the last seven days, and in all; None: not known

    @property
    def is_remote(self) -> bool:
        """True if it is on a server."""
        return self.identity.startswith(SERVER_IDENTITY)


@dataclass(frozen=True, slots=True)
class Learned:
    """The contents of a profile; those of one that is imported are read whenever they are asked for, and may raise
    FileUnusable. Lessons stay out of it: they contain what the user typed."""

    ngrams: Mapping[FingerprintPair, tuple[NgramRecord, ...]]
    adapters: Mapping[FingerprintPair, Sequence[AdapterRecord]]  # oldest first, at most one of them in use
    recall: Mapping[str, tuple[npt.NDArray[np.int32], ...]]  # texts in the tokens of a vocabulary, oldest first
    statistics: tuple[TargetStatistics, ...]
    target_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # as in `LearnedSummary`


@dataclass(frozen=True, slots=True)
class RecallSize:
    num_texts: int
    num_tokens: int
    num_chats: int = 0  # that they belong to; those of a profile belong to none


@dataclass(frozen=True, slots=True)
class LearnedSummary:
    """How much was learned. A pair or vocabulary without anything has no entry."""

    ngrams: Mapping[FingerprintPair, int]
    adapters: Mapping[FingerprintPair, tuple[AdapterSummary, ...]]  # newest first
    recall: Mapping[str, RecallSize]  # by vocabulary
    lessons: Mapping[str, int]
    target_names: Mapping[str, tuple[str, ...]]  # of targets known to have this vocabulary
    statistics: tuple[TargetStatistics, ...]
    num_bytes: Mapping[str, int] = field(default_factory=dict)  # of the store, by vocabulary
    since: Mapping[str, datetime] = field(default_factory=dict)  # of the oldest lesson or adapter, by vocabulary
    self_distilled: Mapping[str, int] = field(default_factory=dict)  # replies, by vocabulary
    self_distilled_read: Mapping[FingerprintPair, int] = field(default_factory=dict)  # tokens, see SelfDistilledRead
    benefits: Mapping[FingerprintPair, PairBenefit] = field(default_factory=dict)
    used_here: frozenset[str] = frozenset()  # vocabularies of targets that were loaded here
    scored: Mapping[FingerprintPair, int] = field(default_factory=dict)  # replies, each before it was learned from
    models: tuple[ModelUse, ...] = ()  # that have written here

    @property
    def vocabularies(self) -> tuple[str, ...]:
        """The fingerprints of all target vocabularies with an entry."""
        of_pairs = {target for target, _ in (*self.ngrams, *self.adapters)}
        return tuple(sorted(of_pairs | set(self.recall) | set(self.lessons) | set(self.self_distilled)))


@dataclass(frozen=True, slots=True)
class LearningProgress:
    """How far it is until it is sure that what the drafter in use has learned helps."""

    num_scored: int  # replies
    num_left: int  # roughly, if learning goes as it usually does
    awaits_power: bool = False  # the machine is on battery, and is not to learn then

    @property
    def num_replies(self) -> int:
        """Roughly how many in all, at least one."""
        return max(1, self.num_scored + self.num_left)


@dataclass(frozen=True, slots=True)
class PracticeState:
    """How far the drafter in use has come with the self-distilled replies of the target in use."""

    num_read: int  # tokens
    tokens_per_s: float | None  # that the target writes meanwhile, roughly; None: not known yet


# Tokens read, how much more a round brings then, and its standard error: measured on recorded chats of Llama 3 8B up to
# 15,000 tokens (decision 71); beyond by 1.7 % for every threefold, as with all layers up to 50,000, with a wide error.
_MEASURED, _FAR = (15_000, 0.035, 0.01), (1_000_000, 0.1, 0.03)


def expected_gain(num_tokens: int) -> tuple[float, float]:
    """The share by which a round brings more tokens once a drafter has read so many of its target, and the standard
    error of that."""
    if num_tokens < 1:
        return 0.0, 0.0
    (low, gain, error), (high, far_gain, far_error) = _MEASURED, _FAR
    place = math.log(num_tokens / low) / math.log(high / low)
    return max(0.0, gain + place * (far_gain - gain)), max(error, error + place * (far_error - error))


@dataclass(frozen=True, slots=True)
class LearnedState:
    """How much is learned, and what it is to the models in use."""

    summary: LearnedSummary
    in_use: FingerprintPair | None  # of the loaded target and drafter
    vocabulary: str = ""  # of the loaded target; empty: none is, or it is on a server
    progress: LearningProgress | None = None  # None: it is sure already, or no drafter in use can learn
    practice: PracticeState | None = None  # None: no drafter in use can learn


@dataclass(frozen=True, slots=True)
class ProfileSummary:
    created_at: datetime
    program: str  # version that wrote it
    learned: LearnedSummary


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What the import of a profile changed."""

    num_ngrams: int  # new or changed
    num_adapters: int  # new
    num_published: int  # pairs that use an adapter now, and used none before
    num_texts: int  # new ones to recall
