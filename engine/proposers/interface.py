"""What the round needs of a proposer, whoever guesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.config import SamplingSettings
from engine.messages.conversations import ChatTurn
from engine.numerics.draft import Draft, Verdict
from engine.numerics.sampling import Dice
from engine.target.interface import TargetFeature


@dataclass(frozen=True, slots=True)
class Context:
    """All that a proposer may look at before a round."""

    turns: Sequence[ChatTurn]  # what is being answered; the prompt as text
    tokens: Sequence[int]  # what the target holds, prompt and reply so far; a view that changes after the round
    pending: int  # the token that follows them, drawn but not evaluated yet
    reply_start: int  # where in `tokens` the reply begins
    sampling: SamplingSettings  # what the target's distribution is made with
    dice: Dice  # for those who draw
    learns: bool = True  # whether what is written may teach those who draft
    ahead: tuple[int, ...] = ()  # what somebody else guessed to follow the pending token, to go on from


class Worth(Protocol):
    """What guesses are worth, judged by `chances`: for each token so far, how likely it stands if those before it do.

    To be asked before a token is drawn: what depends on the draw itself would change the distribution.
    """

    def is_checked(self, chances: Sequence[float]) -> bool:
        """Whether the last of these tokens should be in the draft."""
        ...

    def goes_on(self, chances: Sequence[float]) -> bool:
        """Whether one more guess after these is worth the time it takes."""
        ...


class Proposer(Protocol):
    """Guesses what the target writes next. It may be silent or wrong: only the speed changes, never what comes out."""

    @property
    def name(self) -> str: ...
    @property
    def needs(self) -> frozenset[TargetFeature]:
        """What the target must offer; unmet needs switch the proposer off."""
        ...

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:
        """At most `limit` (at least 1) tokens of the target, with their chances, to follow the pending one and what is
        ahead of it; may be empty. Ends where `worth` says so; one whose guesses take no time need not ask."""
        ...

    def observe(self, verdict: Verdict) -> None:
        """What came of the round since it was asked, whoever drafted in it."""
        ...

    def end_reply(self) -> None:
        """The reply is over; what it taught can be kept."""
        ...


class SlowProposer(Proposer, Protocol):
    """One whose guesses take time."""

    def measure_cost(self) -> float:
        """Seconds that drafting one token takes at best, tried out here and now."""
        ...

    def num_unread(self, context: Context) -> int:
        """About how many tokens of the target it would have to read before it can guess."""
        ...
