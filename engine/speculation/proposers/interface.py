"""What a proposer is: a new one subclasses `Proposer` in a file of its own and has a line in `catalogue.py`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.speculation.model.interface import StateRow, Target, TargetFeature
from engine.speculation.numerics.acceptance_head import AcceptanceHead
from engine.speculation.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.speculation.numerics.estimates import Calibration
from engine.speculation.numerics.habits import Expected
from engine.speculation.numerics.ngram_cache import NgramCache
from engine.speculation.numerics.sampling import Dice
from engine.speculation.numerics.string_trie import StringTrie
from engine.speculation.numerics.suffix_index import SuffixIndex
from engine.values.config import SamplingSettings
from engine.values.conversations import ChatTurn
from engine.values.drafters import UNNAMED_DRAFTER, Guesses
from engine.values.learned import NgramRecord
from engine.values.origins import Origin
from engine.values.owner import USER, Owner
from engine.values.sentences import say

StoreNgrams = Callable[[Sequence[NgramRecord]], None]


@dataclass(slots=True)  # not frozen: after a pass, that takes twice as long to make
class Context:
    turns: Sequence[ChatTurn]  # the conversation that is being answered; the prompt as text
    tokens: Sequence[int]  # held by the target, prompt and reply so far; a view that changes after the round
    pending: int  # the token that follows them, drawn but not evaluated yet
    reply_start: int  # where in `tokens` the reply begins
    sampling: SamplingSettings  # the target's distribution is made with these
    dice: Dice  # for proposers that draw
    is_certain: bool = False  # drafts must be certain of their tokens, whatever the temperature
    learns: bool = True  # whether proposers may learn from the reply
    max_branches: int = 1  # that a draft may have, beginning after the pending token
    ahead: tuple[int, ...] = ()  # another proposer's guess at the tokens after the pending one, to continue
    # What the target drew the pending token from: see `TellingTarget.states`. A view that its next pass
    # overwrites; None after the prompt, and where no proposer needs `TargetFeature.STATES`.
    state: StateRow | None = None
    owner: Owner = USER  # for whom it drafts
    # What usually follows in the user's texts, after the pending token and these.
    expect: Callable[[Sequence[int]], Expected | None] = lambda _ahead: None


class Worth(Protocol):
    """What guesses are worth, judged by `chances`: for each token so far, how likely it is accepted if those before it
    are.

    Ask before a token is drawn: a decision that depends on the draw would change the distribution.
    """

    def is_checked(self, chances: Sequence[float]) -> bool:
        """True if the last of these tokens should be in the draft."""

    def goes_on(self, chances: Sequence[float]) -> bool:
        """True if one more guess after these is worth its time."""


@dataclass(frozen=True, slots=True)
class Supplies:
    target: Target
    indexes: Callable[[Owner], Sequence[SuffixIndex]] = lambda _owner: ()  # texts of earlier chats that it may use
    load_drafter: Callable[[Callable[[], bool]], Proposer] | None = None  # given a function that says “cancelled”
    drafter_label: Callable[[], str] = lambda: UNNAMED_DRAFTER  # what sentences call the one that is being loaded


class Proposer(Protocol):
    """Guesses what the target writes next. It may be silent or wrong: only the speed changes, never the distribution.

    A subclass declares an origin and writes `propose`. The defaults fit a proposer that is built at once, needs nothing
    but a target that can roll back, keeps no books of its own, and may be asked whenever that pays.
    """

    origin: Origin  # `origin.key` names it in drafts, figures and the store
    label: str = ""  # within a sentence; empty: as the origin's
    needs: frozenset[TargetFeature] = frozenset({TargetFeature.ROLLBACK})  # without these it is switched off
    loads: bool = False  # takes long to build, so it joins from a thread of its own
    is_free: bool = False  # its guesses take no time: it is asked before every round, for all it has
    continues: bool = False  # can go on from another proposer's guess (`Context.ahead`)
    asks_what_is_wanted: bool = False  # looks at `Verdict.wanted`
    step_s: float = 0.0  # seconds of guessing one token, where they are known
    calibration: Calibration | None = None  # the learned chances of its guesses; kept from one start to the next
    head: AcceptanceHead | None = None  # what else tells the chances of its guesses; kept in the same way

    @classmethod
    def label_of(cls, supplies: Supplies) -> str:  # noqa: ARG003
        """Its label before it is built."""
        return label_of(cls)

    @classmethod
    def build(cls, supplies: Supplies, is_cancelled: Callable[[], bool]) -> Proposer:  # noqa: ARG003
        """Raises Cancelled soon after `is_cancelled`, where building takes long."""
        return cls()

    def measure_cost(self) -> float:
        """Seconds of guessing one token at best, measured right here, while no one waits for a reply."""
        return 0.0

    def num_unread(self, context: Context) -> int:  # noqa: ARG002
        """The number of tokens it would have to read before it can guess; of those written since, the target's."""
        return 0

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:
        """Guesses at most `limit` (at least 1) tokens of the target, with their chances, to follow the pending one and
        `context.ahead`; may be empty. Ends where `worth` says so; a free proposer need not ask, and its draft has no
        path, since it may be cut."""

    def follow(self, context: Context, limit: int) -> Draft:  # noqa: ARG002
        """Guesses at most `limit` tokens to follow `context.ahead`, as for `propose`. For free proposers that have
        proposed in this round."""
        return NO_DRAFT

    def widened(self, draft: Draft, room: int, branches: int, cost: Callable[[int], float]) -> Draft:  # noqa: ARG002
        """Adds at most `room` tokens in at most `branches` branches to the draft about to be checked, for what their
        rows show; `cost`: the tokens lost by a number of further rows. For free proposers that have proposed in this
        round."""
        return draft

    def expect(self, ahead: Sequence[int]) -> Expected | None:  # noqa: ARG002
        """The tokens that are likely after the pending one and these, for others to weigh against their own guesses.
        For free proposers that have proposed in this round."""
        return None

    def observe(self, verdict: Verdict) -> None:  # noqa: ARG002
        """Takes in the outcome of the round, whoever drafted in it."""
        return

    def end_reply(self) -> None:
        """Called when the reply is over; what it taught can be stored."""
        return

    def change_owner(self) -> None:
        """Called when the next draft is for another owner: drops what it holds of the texts of the one before."""
        return


def label_of(proposer: Proposer | type[Proposer]) -> str:
    """What sentences call it."""
    return proposer.label or say(proposer.origin.label.lower())


class SuppliedProposer(Proposer):
    """Counts its guesses, by which it is compared with others."""

    loads = True

    def __init__(self, label: str) -> None:
        self.label = label
        self._guesses = Guesses()  # since they were taken, of replies that may be learned from

    @classmethod
    def label_of(cls, supplies: Supplies) -> str:
        return supplies.drafter_label()

    @classmethod
    def build(cls, supplies: Supplies, is_cancelled: Callable[[], bool]) -> Proposer:
        assert supplies.load_drafter is not None
        return supplies.load_drafter(is_cancelled)

    @abstractmethod
    def measure_cost(self) -> float: ...

    def take_guesses(self) -> tuple[Guesses, float]:
        """The guesses since the last time, and the seconds of one as they are now."""
        guesses, self._guesses = self._guesses, Guesses()
        return guesses, self.step_s

    def offer_ngrams(self, trie: StringTrie, cache: NgramCache, store: StoreNgrams) -> None:  # noqa: ARG002
        """Switches to these with the next reply, if it translates. From any thread."""
        return
