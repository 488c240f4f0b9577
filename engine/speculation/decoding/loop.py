"""Writes a reply, round by round: draft, verify, accept, commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from engine.speculation.decoding.figures import Recorder
from engine.speculation.decoding.session import Session
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.model.chat.call_grammar import ReplyGrammar
from engine.speculation.model.interface import FloatRows, StateRow, Target
from engine.speculation.numerics.acceptance import accept
from engine.speculation.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.speculation.numerics.likeliest import NUM_NOTED, DistributionNotes, RowScan, TokenLogs
from engine.speculation.numerics.rules import Rules
from engine.speculation.numerics.sampling import Dice, Distribution, RandomDice, distribution_of, num_penalised
from engine.speculation.proposers.interface import Context
from engine.values.config import SamplingSettings
from engine.values.conversations import ChatTurn
from engine.values.owner import USER, Owner
from engine.values.stop_signal import StopSignal


class Decoder:
    """Draws the tokens that follow the session's. They follow the target's distribution, whoever drafts.

    The last token of a round is *pending*: the next round evaluates it together with the draft of the tokens after it.
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
        rules: Rules | None = None,
        grammar: ReplyGrammar | None = None,
        seed: int | None = None,
        ending: Sequence[int] = (),
        max_thought: int | None = None,
        logs: TokenLogs | None = None,
        owner: Owner = USER,
    ) -> None:
        """`turns`: the conversation being answered, for proposers to read. Without `speculation` nothing is drafted.
        `learns`: whether proposers may learn from the reply. `notes` gets every token and the logits before it, up to
        an `ending`: these tokens are written, whatever the target would write, when the caller has set `thought_end`
        and the reply has that many tokens. `max_thought`: tokens from the start of a thought to its `thought_end`.
        `logs` gets every token, too. `owner`: whose reply it is. `rules` and `grammar` are those of the reply; the
        grammar advances with it.

        With a seed, drafts are certain of their tokens: so the target alone draws, once for each token that is written,
        and the reply is the same whatever is drafted. `seed`, where the sampling has none: for dice that the user did
        not ask for; drafts may be drawn then.
        """
        self._limits = target.limits
        self._ends = target.vocabulary.end_of_generation
        self._session = session
        self._sampling = sampling
        self._turns = turns
        self._speculation = speculation
        self._learns = learns
        self._notes = notes
        self._logs = logs
        self._owner = owner
        self._ending = tuple(ending)
        self._max_thought = max_thought if ending else None
        self.thought_end: int | None = None
        self._num_noted = 0 if notes is None else NUM_NOTED
        self._dice = dice or RandomDice(seed if sampling.seed is None else sampling.seed)
        self._guessers_dice = dice or RandomDice(None)  # else the target's draws would depend on what is drafted
        self._rules = rules
        self._grammar = grammar
        self._num_looked_at = max(num_penalised(sampling), 0 if rules is None else rules.num_looked_at)
        self._recorder = Recorder()
        self.figures = self._recorder.figures
        self.verdict = Verdict(NO_DRAFT, 0, ())  # of the last round
        self.is_over = False  # whether the grammar has ended, so that nothing may follow
        self.is_repeatable = True  # whether the target alone drew every token, so that the seed gives the same reply
        self._state: StateRow | None = None  # that the pending token was drawn from, if a proposer guesses by it
        self._num_before = 0  # tokens of the session, the pending one included, before the draft of this round

    def rounds(
        self, rows: FloatRows, stop: StopSignal, num_written: int = 0, max_tokens: int | None = None
    ) -> Iterator[tuple[int, ...]]:
        """The tokens of the reply, round by round, until it ends, the caller stops, or the session is full.

        `rows` are the logits after the session's tokens, from which the first token is drawn. The last `num_written`
        tokens are the reply so far; no draft goes beyond its `max_tokens`. Raises Interrupted when `stop` gets set.
        """
        reply_start = len(self._session.tokens) - num_written
        end = None if max_tokens is None else reply_start + max_tokens
        first = RowScan(rows[0], self._num_noted)
        pending = self._distribution(first, len(self._session.tokens)).draw(self._dice)
        self.verdict = Verdict(NO_DRAFT, 0, (pending,))
        self._note((pending,), (first,))
        self._move_on((pending,))
        yield (pending,)
        self._recorder.start()
        while self._session.room > 0 and not self.is_over:
            if self._is_to_end_thought(reply_start):
                self._end_thought(pending, stop)
                yield self._ending
                pending = self._ending[-1]
                continue
            draft = self._draft(pending, reply_start, end)
            rows = self._verify(pending, draft, stop)
            verdict = self._accept(draft, rows)
            self._commit(verdict)
            self._move_on(verdict.tokens)
            yield verdict.tokens
            pending = verdict.tokens[-1]
            if pending in self._ends:
                return

    def go_on(self) -> None:
        """Resumes between two rounds, after something else took time and used the target, which holds the session's
        tokens again."""
        self._state = None
        self._recorder.start()

    def _is_to_end_thought(self, reply_start: int) -> bool:
        num_written = len(self._session.tokens) + 1 - reply_start
        is_due = self.thought_end is not None and num_written >= self.thought_end
        return is_due and self._session.room > len(self._ending) > 0

    def _end_thought(self, pending: int, stop: StopSignal) -> None:
        """Makes the target read tokens it did not choose: nothing guessed them, and nothing is learned from or after
        them."""
        most = self._limits.max_tokens
        tokens = (pending, *self._ending[:-1])
        for start in range(0, len(tokens), most):
            self._session.extend(tokens[start : start + most], stop, num_rows=1)
        self.verdict = Verdict(NO_DRAFT, 0, self._ending)
        self.thought_end = self._state = self._notes = None
        if self._logs is not None:
            self._logs.skip(len(self._ending))
        self._recorder.start()

    def _draft(self, pending: int, reply_start: int, end: int | None) -> Draft:
        """`end`: where among the session's tokens the reply must end."""
        self._recorder.begin()
        draft = NO_DRAFT
        if self._speculation is not None:
            tokens = self._session.tokens
            longest = min(self._session.room, self._limits.max_rows, self._limits.max_tokens) - 1
            longest = min(longest, self._limits.max_rollback)
            thought_end = None if self.thought_end is None else reply_start + self.thought_end
            for limit in (end, thought_end):
                if limit is not None:
                    longest = min(longest, limit - len(tokens) - 2)  # a pass writes one token more, and one is pending
            if self._max_thought is not None:  # a thought that begins in this round does not outgrow it
                longest = min(longest, self._max_thought)
            context = Context(
                self._turns,
                tokens,
                pending,
                reply_start,
                self._sampling,
                self._guessers_dice,
                self._sampling.seed is not None,
                self._learns,
                self._limits.max_branches,
                state=self._state,
                owner=self._owner,
            )
            draft = self._speculation.propose(context, longest)
            if self._grammar is not None and draft.tokens:
                draft = draft.within(self._grammar.following(draft.lines))
            self.is_repeatable = self.is_repeatable and draft.path is None
        self._recorder.step()
        return draft

    def _verify(self, pending: int, draft: Draft, stop: StopSignal) -> FloatRows:
        """One pass of the target: the logits after the pending token and after each token of the draft, chain or
        tree."""
        self._num_before = len(self._session.tokens) + 1
        with_states = self._speculation is not None and self._speculation.needs_states
        rows = self._session.check(pending, draft, stop, with_states)
        self._recorder.step()
        return rows

    def _accept(self, draft: Draft, rows: FloatRows) -> Verdict:
        seen: list[RowScan] = []  # one for each token that is written

        def distribution_at(row: int) -> Distribution:
            seen.append(RowScan(rows[row], self._num_noted))
            return self._distribution(seen[-1], self._num_before, draft.line(row - 1) if row else ())

        verdict = accept(draft, distribution_at, self._ends, self._dice)
        self._note(verdict.tokens, seen)
        if draft.tokens and self._speculation is not None and self._speculation.asks_what_is_wanted:
            unwritten = sorted({*range(len(draft.tokens))} - {*verdict.places})
            wanted = ((place, int(rows[place + 1].argmax())) for place in unwritten)
            verdict = replace(verdict, wanted=tuple(each for each in wanted if each[1] not in self._ends))
        self._recorder.step()
        return verdict

    def _commit(self, verdict: Verdict) -> None:
        """Drops the rejected tokens, and adds the round to what proposers and figures know."""
        self.verdict, states = verdict, self._session.states
        self._state = None if states is None else states[1 + verdict.places[-1] if verdict.places else 0]
        kept = self._session.settle(verdict)
        self._recorder.step()
        if self._speculation is not None:
            self._speculation.observe(verdict, self._recorder.round_s, self._recorder.pass_s)
            if not kept:
                self._speculation.stop_drafting()
        self._recorder.complete(verdict)

    def _note(self, tokens: Sequence[int], rows: Sequence[RowScan]) -> None:
        if self._notes is not None:
            for token, row in zip(tokens, rows, strict=True):
                self._notes.note(token, row)
        if self._logs is not None:
            for token, row in zip(tokens, rows, strict=True):
                self._logs.note(token, row)

    def _move_on(self, tokens: Sequence[int]) -> None:
        if self._grammar is not None:
            self._grammar.accept(tokens)
            self.is_over = self._grammar.is_over

    def _distribution(self, row: RowScan, num_before: int, line: Sequence[int] = ()) -> Distribution:
        """The distribution after the session's first `num_before` tokens and these, whose logits are in that row."""
        history: Sequence[int] = ()
        if self._num_looked_at:
            history = [*self._session.tokens[max(0, num_before - self._num_looked_at) : num_before], *line]
        allowed = None if self._grammar is None else self._grammar.allowed(line)
        return distribution_of(row, self._sampling, history, self._rules, allowed)
