"""A drafter as a proposer: what every drafter does, whatever its vocabulary. It reads along and guesses on.

`translated.py` and `shared_vocabulary.py` say what it reads and how its guesses become tokens of the target.
"""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from engine.speculation.drafter.interface import Drafter, LogitRow
from engine.speculation.drafter.timing import measure_step
from engine.speculation.native import rows
from engine.speculation.numerics.draft import NO_DRAFT, Draft, DraftPath, Verdict, chain
from engine.speculation.numerics.estimates import Calibration
from engine.speculation.numerics.habits import SURE_ALONE
from engine.speculation.numerics.sampling import Distribution, make_distribution
from engine.speculation.proposers.blending import DraftOutlook, Hopes, blended, outlook_of
from engine.speculation.proposers.catalogue import DRAFTER, RECALL
from engine.speculation.proposers.guesses import (
    LEAST_BESIDE,
    Accepted,
    Alternative,
    Guess,
    GuessChances,
    features,
    kind_beside,
    sure_kind,
)
from engine.speculation.proposers.interface import Context, SuppliedProposer, Worth
from engine.speculation.proposers.window import ReadingWindow
from engine.values.config import SamplingSettings
from engine.values.conversations import ChatTurn
from engine.values.drafters import UNNAMED_DRAFTER
from engine.values.errors import DrafterUnusable

_MOST_CANDIDATES = 64  # of the drafter's distribution: its tail is not worth drawing from
_MOST_CAUGHT_UP = 8  # tokens that one round leaves to be read; more are a prompt, or text written without drafts
_NEWEST_STEP = 0.05  # weight of the newest step
_LEAST_BESIDE = math.log(LEAST_BESIDE) - 1e-3  # with room for rounding
_MOST_ALTERNATIVES = 8  # at one place


@dataclass(frozen=True, slots=True)
class Ending:
    """The tokens that the drafter should hold after those that it holds for good."""

    tokens: list[int]
    num_certain: int  # of them, to be held for good: nothing that is written changes them any more


class DrafterProposer(SuppliedProposer):
    """One drafter for one target.

    It drafts until as many tokens as may be checked are begun: whether the last one would grow is not worth another
    step. Drafts that must be certain are the drafter's likeliest path; others carry their path and its distributions,
    each token drawn from what the target could write, or taken as certain where that is likelier to be accepted. Where
    rows are cheap, other tokens that are almost as likely branch off. `guesses.py` says how likely each is accepted.
    """

    origin = DRAFTER
    continues = True

    def __init__(self, drafter: Drafter, label: str = UNNAMED_DRAFTER) -> None:
        """The drafter is this proposer's alone. `label`: what sentences call it."""
        super().__init__(label)
        self._drafter = drafter
        self._turns: Sequence[ChatTurn] | None = None
        self._to_read: tuple[Sequence[ChatTurn], int, int] | None = None  # turns, where their reply starts, its prompt
        self._reply_start = 0
        self._is_over = False  # whether the last reply that was followed has ended
        self._num_followed = 0  # tokens of the target, prompt and reply, that were taken in
        self._last = -1  # of these
        self._window = ReadingWindow(drafter)
        self._drafting: tuple[SamplingSettings | None, SamplingSettings] = (
            None,
            SamplingSettings(),
        )  # target's, drafter's
        self._learned = GuessChances()
        self.calibration: Calibration = self._learned.calibration
        self.head = self._learned.head
        self._counts = True  # whether the guesses of the draft under way are to be noted in `_guesses`
        self._drafted: list[Guess] = []  # at each token of the draft under way
        self._refused: Guess | None = None  # the one after them, which was not worth checking
        self._alternatives: list[Alternative] = []  # to them
        self._most_branches = 0  # beyond the first, in the draft
        self._drafter_s, self._reading_s, self._num_passes, self._num_read = 0.0, 0.0, 0, 0  # of the draft under way

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:
        self._drafter_s, self._reading_s, self._num_passes, self._num_read = 0.0, 0.0, 0, 0
        self._drafted, self._refused = [], None
        self._counts = context.learns and context.owner.drafts_from_chats  # else it is the original that guesses
        self._alternatives, self._most_branches = [], context.max_branches - 1
        own = self._begun(context, limit)
        if own is None:
            return NO_DRAFT
        if context.is_certain or context.sampling.temperature == 0:
            return self._guess(own, limit, worth, context)
        return self._sample(own, limit, worth, context)

    def observe(self, verdict: Verdict) -> None:
        start, length = verdict.draft.place_of(self.origin.key)
        length = min(length, verdict.draft.num_trunk - start, len(self._drafted))
        guesses = self._drafted if self._refused is None else [*self._drafted, self._refused]
        num_reached = max(0, len(verdict.tokens) - start)
        for place, guess in enumerate(guesses[:num_reached]):
            if guess.blend is not None:
                share = guess.blend.share_of(self._first_of(verdict.tokens[start + place]))
                self._learned.note_blend(guess.blend.kind, share)
            if place > verdict.num_straight - start:  # another branch stands
                break
            accepted = self._judged(guess, verdict, start + place, is_drafted=place < length)
            self._learned.note(guess, accepted)
            if self._counts and accepted.in_its_way is not None:
                self._guesses = self._guesses.with_one(place, accepted.in_its_way)
        for other in self._alternatives:
            at = start + other.place
            if at <= verdict.num_straight and at < len(verdict.tokens):
                self._learned.note_alternative(other, verdict.tokens[at] == other.token)
        self._drafted, self._refused, self._alternatives = [], None, []

    def num_unread(self, context: Context) -> int:
        if self._goes_on_from_last(context):
            return self._window.num_unread_after(len(context.tokens) + 1 - self._num_followed)
        known = self._to_read
        if known is None or known[0] is not context.turns or known[1] != context.reply_start:
            num_of_prompt = self._window.num_unread_of(self._prompt_of(context))
            known = self._to_read = context.turns, context.reply_start, num_of_prompt
        return known[2] + len(context.tokens) + 1 - context.reply_start

    def measure_cost(self) -> float:
        self.step_s = measure_step(self._drafter)
        if self._drafter.num_held < len(self._held):
            self._window.forget_end()
            self._is_over = True  # what is missing is to be found again
        return self.step_s

    def end_reply(self) -> None:
        self._drafted, self._refused, self._alternatives, self._is_over = [], None, [], True
        self._to_read = None

    def change_owner(self) -> None:
        self._turns, self._to_read, self._is_over = None, None, True
        self._window.clear()
        self._drafter.roll_back(0)

    def _begun(self, context: Context, limit: int) -> DraftOutlook | None:  # noqa: ARG002
        """What it guesses first, after reading what was written since the last draft; None if there is nothing to read.
        `limit`: of guesses in this draft."""
        ending = self._ending(self._follow(context), context)
        if ending is None or not self._window.num_certain + len(ending.tokens):
            return None
        return self._read(self._window.unread(ending.tokens, ending.num_certain))

    @property
    def _held(self) -> Sequence[int]:
        return self._window.held

    @abstractmethod
    def _prompt_of(self, context: Context) -> Sequence[int]:
        """The conversation in the drafter's tokens, up to where the reply begins."""

    @abstractmethod
    def _begin(self, context: Context) -> None:
        """Begins to follow another reply."""

    @abstractmethod
    def _ending(self, new: Sequence[int], context: Context) -> Ending | None:
        """What the drafter should hold after the tokens it holds for good, once the target has written these `new`
        ones; None if it has no tokens for their end."""

    @abstractmethod
    def _guess(self, own: DraftOutlook, limit: int, worth: Worth, context: Context) -> Draft:
        """The drafter's likeliest path."""

    @abstractmethod
    def _sample(self, own: DraftOutlook, limit: int, worth: Worth, context: Context) -> Draft:
        """A path drawn from its distributions. Whether it goes on may depend on what was drafted so far, but not on
        what would be drawn next."""

    @abstractmethod
    def _first_of(self, written: int) -> int:
        """The drafter's token with which that one of the target begins; -1 where it has none."""

    @abstractmethod
    def _alone(self, guess: int) -> int | None:
        """The target's token that is made of that one of the drafter; None where there is none."""

    @abstractmethod
    def _begins_word(self, guess: int) -> bool:
        """True if that one of the drafter's tokens begins with a space, or stands for no text."""

    @abstractmethod
    def _is_right(self, guess: int, written: int) -> bool:
        """True if the target wrote what the drafter guessed."""

    @abstractmethod
    def _ways(self, guess: Guess, wanted: Distribution, recovered: int | None) -> Accepted:
        """How likely the guess is to be accepted in each way where the target wants `wanted`; `recovered` is what was
        written in its place if it was drafted and rejected."""

    def _judged(self, guess: Guess, verdict: Verdict, place: int, is_drafted: bool) -> Accepted:
        """How likely the guess at that place of the draft was to be accepted: the draws say the same with much noise,
        and nothing about a guess that was not worth drawing."""
        if guess.proposed is not None:
            is_rejected = is_drafted and place >= verdict.num_accepted
            return self._ways(guess, verdict.distributions[place], verdict.tokens[place] if is_rejected else None)
        if guess.drawn is not None:
            return Accepted(drawn=float(place < verdict.num_straight))
        if is_drafted:
            return Accepted(verdict.chance(place, verdict.draft.tokens[place]))
        return Accepted(float(self._is_right(guess.token, verdict.tokens[place])))

    def _follow(self, context: Context) -> Sequence[int]:
        """The tokens written since the last draft, which it should read."""
        start = self._num_followed
        if not self._goes_on_from_last(context):
            start = context.reply_start
            self._begin(context)
            self._turns, self._reply_start, self._is_over = context.turns, start, False
            self._to_read = None
            self._window.begin()
            if self._drafter.refresh(is_original=not context.owner.drafts_from_chats):
                self._window.clear()
        self._num_followed, self._last = len(context.tokens) + 1, context.pending
        return [*context.tokens[start:], context.pending] if start <= len(context.tokens) else ()

    def _goes_on_from_last(self, context: Context) -> bool:
        """True if this is the reply that was followed last, only longer."""
        if self._is_over or context.turns is not self._turns or context.reply_start != self._reply_start:
            return False
        place = self._num_followed - 1
        if place < len(context.tokens):
            return context.tokens[place] == self._last
        return place == len(context.tokens) and context.pending == self._last

    def _read(self, tokens: list[int]) -> DraftOutlook:
        """What the drafter guesses after these."""
        began = time.perf_counter()
        logits = self._drafter.read(tokens)
        seconds = time.perf_counter() - began
        own = outlook_of(logits)
        if not math.isfinite(own.total):
            raise DrafterUnusable("{label} does not compute numbers; choose another drafter.", label=self.label)
        self._drafter_s += seconds
        if len(tokens) > _MOST_CAUGHT_UP:
            self._reading_s += seconds
            self._num_read += len(tokens)
        elif len(tokens) == 1:
            self.step_s += _NEWEST_STEP * (min(seconds, 2 * self.step_s) - self.step_s)
        self._num_passes += 1
        self._window.held += tokens
        return own

    def _outlook(self, own: DraftOutlook, hopes: Callable[[int], Hopes | None]) -> DraftOutlook:
        """What to draft from: the drafter's own guess, blended with what is expected where that may matter. `hopes` is
        given the drafter's likeliest token."""
        found = hopes(own.likeliest) if own.probability(own.likeliest) < SURE_ALONE else None
        return own if found is None else blended(own, found, self._learned.weight(found.kind))

    def _decided(
        self, outlook: DraftOutlook, mask: LogitRow, context: Context, worth: Worth, inner: Collection[int] = ()
    ) -> tuple[Guess, Distribution] | None:
        """The guess at the next place of the draft, and what it was truly taken from, where it may be drawn; None if
        nothing may be, or it is not worth checking. What has a `mask` of 0 may be drafted, and what is `inner`."""
        if self._drafting[0] is not context.sampling:
            self._drafting = context.sampling, drafting(context.sampling)
        ids, logits = rows.largest(outlook.logits, _MOST_CANDIDATES)
        may_be = (mask[ids] == 0) & np.isfinite(logits)
        if inner:
            may_be |= np.array([token in inner for token in ids.tolist()])
        ids, logits = ids[may_be], logits[may_be]
        if not len(ids):
            return None
        among = make_distribution(logits, self._drafting[1], ())
        proposed = Distribution(ids[among.ids], among.probabilities)
        guess = self._judged_guess(outlook, int(proposed.ids[0]), proposed, inner)
        return self._learned.decide(guess, context.dice) if self._is_worth_checking(guess, worth) else None

    def _judged_guess(
        self, outlook: DraftOutlook, likeliest: int, proposed: Distribution | None = None, inner: Collection[int] = ()
    ) -> Guess:
        """A guess that is yet to be made. `likeliest`: the likeliest token, or that of those not ruled out."""
        probability = outlook.probability(likeliest)
        sure = sure_kind(probability)
        about = features(probability, self._drafted, self._begins_word(likeliest), outlook.blend)
        chance = self._learned.chance(sure, about, proposed is not None)
        return Guess(sure, likeliest, proposed, inner, outlook.blend, about=about, chance=chance)

    def _note_alternatives(self, outlook: DraftOutlook, guess: Guess, place: int, others: Collection[int] = ()) -> None:
        """Keeps the likeliest tokens besides that guess and `others`, at that place of the draft, where branches are
        wanted."""
        if not self._most_branches or outlook.probability(guess.token) > 1 - LEAST_BESIDE:
            return
        ids, _ = rows.reaching(outlook.logits, outlook.total + _LEAST_BESIDE)
        beside = (token for token in ids.tolist() if token != guess.token and token not in others)
        for found in islice(beside, _MOST_ALTERNATIVES):
            kind = kind_beside(guess, outlook.probability(found))
            if kind is None:
                break
            if (token := self._alone(found)) is not None:
                self._alternatives.append(Alternative(place, token, kind))

    def _is_worth_checking(self, guess: Guess, worth: Worth) -> bool:
        """Returns whether that guess, which is yet to be made, belongs at the next place of the draft; notes it as
        refused otherwise."""
        if worth.is_checked([*self._chances(), guess.chance]):
            return True
        self._refused = guess
        return False

    def _chances(self) -> list[float]:
        return [guess.chance for guess in self._drafted]

    def _draft(self, tokens: Sequence[int], limit: int, path: DraftPath | None = None) -> Draft:
        """A draft of the first `limit` tokens, with alternatives to them."""
        if len(tokens) > limit:
            del self._drafted[limit:]
            self._refused = None  # was meant for a place further on
        passes = self._num_passes, self._drafter_s, self._reading_s
        chances, own, texts = tuple(self._chances()), self.origin.key, RECALL.key
        of_texts = [guess.is_of_texts for guess in self._drafted]
        origins = tuple(texts if each else own for each in of_texts) if any(of_texts) else ()
        draft = Draft(tuple(tokens[:limit]), path, chances, *passes, own, num_read=self._num_read, origins=origins)
        return self._with_alternatives(draft) if self._alternatives else draft

    def _with_alternatives(self, draft: Draft) -> Draft:
        num_tokens, reached = len(draft.tokens), (1.0, *draft.reached)
        inside = [
            each for each in self._alternatives if each.place < num_tokens and each.token != draft.tokens[each.place]
        ]
        inside.sort(key=lambda each: -reached[each.place] * self._learned.of_alternative(each))
        del inside[self._most_branches :]
        if not inside:
            return draft
        return replace(
            draft,
            tokens=(*draft.tokens, *(each.token for each in inside)),
            chances=(*draft.chances, *(self._learned.of_alternative(each) for each in inside)),
            origins=(*draft.origins, *[self.origin.key] * len(inside)) if draft.origins else (),
            parents=(*chain(num_tokens), *(each.place - 1 for each in inside)),
        )


def drafting(sampling: SamplingSettings) -> SamplingSettings:
    """The settings of a drafter's distribution: as the target's, so that the two are alike."""
    return replace(
        sampling,
        top_k=min(sampling.top_k or _MOST_CANDIDATES, _MOST_CANDIDATES),
        repetition_penalty=1.0,
        presence_penalty=0.0,
        frequency_penalty=0.0,
    )
