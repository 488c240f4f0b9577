"""Writes a reply, round by round: draft, verify, accept, commit."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from engine.config import SamplingSettings
from engine.decoding.figures import DecodingFigures
from engine.decoding.session import Session
from engine.decoding.speculation import Speculation
from engine.messages.conversations import ChatTurn
from engine.numerics.acceptance import accept
from engine.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.numerics.likeliest import DistributionNotes
from engine.numerics.sampling import Dice, Distribution, RandomDice, make_distribution
from engine.proposers.interface import Context
from engine.stop_signal import StopSignal
from engine.target.interface import FloatRows, Target


class Decoder:
    """Draws what follows the session's tokens.

    A token that was drawn is *pending* until the next round evaluates it, together with the draft of what comes after
    it. What comes out follows the target's distribution, whoever drafts.
    """

    def __init__(
        self,
        target: Target,
        session: Session,
        sampling: SamplingSettings,
        turns: Sequence[ChatTurn] = (),
        speculation: Speculation | None = None,
        dice: Dice | None = None,
        learns: bool = True,
        notes: DistributionNotes | None = None,
    ) -> None:
        """`turns` are what is being answered, for proposers to read; without `speculation` nobody drafts. `learns`:
        whether what is written may teach proposers. `notes` is told of every token and the logits before it."""
        self._limits = target.limits
        self._ends = target.vocabulary.end_of_generation
        self._session = session
        self._sampling = sampling
        self._turns = turns
        self._speculation = speculation
        self._learns = learns
        self._notes = notes
        self._dice = dice or RandomDice(sampling.seed)
        self.figures = DecodingFigures()
        self.verdict = Verdict(NO_DRAFT, 0, ())  # of the last round

    def rounds(
        self, rows: FloatRows, stop: StopSignal, num_written: int = 0, max_tokens: int | None = None
    ) -> Iterator[tuple[int, ...]]:
        """The tokens of the reply, those of one round at a time, for as long as they are asked for and the session has
        room. The first round is the token drawn from `rows`.

        `rows` are the logits after what the session holds, whose last `num_written` tokens are the reply so far; no
        draft goes beyond `max_tokens` of it. Raises Interrupted when `stop` gets set.
        """
        reply_start = len(self._session.tokens) - num_written
        pending = self._distribution(rows, 0, len(self._session.tokens)).draw(self._dice)
        self.verdict = Verdict(NO_DRAFT, 0, (pending,))
        self._note((pending,), rows)
        yield (pending,)
        while self._session.room > 0:
            num_left = None if max_tokens is None else max_tokens - (len(self._session.tokens) + 1 - reply_start)
            began = time.perf_counter()
            draft = self._draft(pending, reply_start, num_left)
            drafted = time.perf_counter()
            rows = self._session.extend([pending, *draft.tokens], stop, num_rows=len(draft.tokens) + 1)
            verified = time.perf_counter()
            verdict = self.verdict = self._accept(draft, rows)
            accepted = time.perf_counter()
            self._session.keep(len(self._session.tokens) - len(draft.tokens) + verdict.num_accepted)
            kept = time.perf_counter()
            pending = verdict.tokens[-1]
            if self._speculation is not None:
                self._speculation.observe(verdict, kept - drafted)
            self._note(verdict.tokens, rows)
            self._count(verdict, verified - drafted)
            self.figures.draft_s += draft.drafter_s
            self.figures.reading_s += draft.reading_s
            self.figures.num_readings += draft.reading_s > 0
            self.figures.translate_s += drafted - began + time.perf_counter() - kept - draft.drafter_s
            self.figures.target_s += verified - drafted + kept - accepted
            self.figures.accept_s += accepted - verified
            yield verdict.tokens
            if pending in self._ends:
                return

    def _draft(self, pending: int, reply_start: int, num_left: int | None) -> Draft:
        if self._speculation is None:
            return NO_DRAFT
        longest = min(self._session.room, self._limits.max_rows, self._limits.max_tokens) - 1
        if num_left is not None:
            longest = min(longest, num_left - 1)
        context = Context(
            self._turns, self._session.tokens, pending, reply_start, self._sampling, self._dice, self._learns
        )
        return self._speculation.propose(context, longest)

    def _accept(self, draft: Draft, rows: FloatRows) -> Verdict:
        num_before = len(self._session.tokens) - len(draft.tokens)

        def distribution_at(place: int) -> Distribution:
            return self._distribution(rows, place, num_before + place)

        return accept(draft, distribution_at, self._ends, self._dice)

    def _note(self, tokens: Sequence[int], rows: FloatRows) -> None:
        if self._notes is not None:
            for token, row in zip(tokens, rows, strict=False):
                self._notes.note(token, row)

    def _count(self, verdict: Verdict, pass_s: float) -> None:
        draft = verdict.draft
        self.figures.num_rounds += 1
        self.figures.num_written += len(verdict.tokens)
        self.figures.passes[len(draft.tokens) + 1] += 1
        self.figures.pass_s[len(draft.tokens) + 1] += pass_s
        if draft.tokens or draft.num_steps:
            self.figures.count_draft(draft.parts, verdict.num_accepted, draft.num_steps)

    def _distribution(self, rows: FloatRows, row: int, num_before: int) -> Distribution:
        """The distribution after the session's first `num_before` tokens, whose logits are in that row."""
        window = self._session.tokens[max(0, num_before - self._sampling.penalty_window) : num_before]
        return make_distribution(rows[row], self._sampling, window)
