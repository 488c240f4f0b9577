"""One reply while it is written, from its prompt to its last character."""

from __future__ import annotations

import math
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from engine.speculation.decoding.loop import Decoder
from engine.speculation.decoding.session import Runs, Session, before_pictures
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.model.chat.call_grammar import ReplyGrammar
from engine.speculation.model.interface import FloatRows, Interrupted, Target
from engine.speculation.numerics.likeliest import DistributionNotes, TokenLogs
from engine.speculation.numerics.repetition import LOOK_EVERY, repeats
from engine.speculation.numerics.rules import Rules
from engine.speculation.replies.calls import CallSplitter
from engine.speculation.replies.prompt import Prompt, PromptBuilder
from engine.speculation.replies.reopening import Reopening
from engine.speculation.replies.speed import ReplyClock
from engine.speculation.replies.text import TextOrigins, TextStream, fitted_runs, num_whole, origin_of, text_kind
from engine.speculation.replies.thoughts import PartKind, ReplyPart, ThoughtSplitter, add_parts
from engine.speculation.replies.writing import Breaks, Prepared, Reply
from engine.values.clock import now
from engine.values.config import ReplySettings
from engine.values.errors import PromptTooLong
from engine.values.growing_reply import GrowingReply
from engine.values.origins import TARGET
from engine.values.owner import USER, Owner
from engine.values.replies import ProposerCounts, ReplyStatistics, StopReason, TokenLog
from engine.values.speed import Hindrance, LiveFigures
from engine.values.stop_signal import StopSignal

_FIGURES_S = 0.2  # for which the figures of a reply in progress stay: no one could read them faster
_SEED_BITS = 32  # of a seed that is drawn: short enough to be typed


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedReply(Prepared):
    prompt: Prompt
    opens: str = ""  # the beginning of a call, with which it goes on
    is_bare: bool = False  # no template made the prompt: the reply has no thoughts, and calls nothing
    owner: Owner = USER


class ReplyRun:
    """The state of one reply while it is being written."""

    def __init__(
        self,
        target: Target,
        prompts: PromptBuilder,
        session: Session,
        reopening: Reopening | None,
        speculation: Speculation | None,
        prepared: PreparedReply,
        settings: ReplySettings,
        stop: StopSignal,
        growing: GrowingReply,
        breaks: Breaks | None,
        rules: Rules | None,
        grammar: ReplyGrammar | None,
    ) -> None:
        """Raises SettingInvalid where what it continues does not keep to the grammar."""
        self._vocabulary = target.vocabulary
        tags = None if prepared.is_bare else prompts.tags
        self._splitter = ThoughtSplitter(tags, prepared.prompt.is_open, bool(prepared.begun or prepared.thoughts))
        self._calls = CallSplitter(prompts.tool_format, prepared.tools, prepared.opens)
        shown = self._calls.tags + ("" if tags is None else f"{tags.open}{tags.close}{tags.lead}")
        spelled = target.tokenize(shown) if shown else ()
        self._hidden = self._vocabulary.special - {*spelled}  # no text, as most tags of the chat template are not
        self._context_size = target.limits.context_size
        self._prompts = prompts
        self._session = session
        self._reopening = reopening
        self._prepared = prepared
        self._prompt = prepared.prompt  # a shorter one when the context filled up
        self._settings = settings
        self._stop = stop
        self._growing = growing
        self._breaks = breaks
        self._notes = DistributionNotes(settings.sampling.temperature) if settings.keeps_distributions else None
        self._seed = secrets.randbits(_SEED_BITS) if settings.sampling.seed is None else settings.sampling.seed
        if grammar is not None and prepared.prompt.num_begun:
            grammar.accept(prepared.prompt.tokens[-prepared.prompt.num_begun :])
        num_logs = settings.num_logs
        self._logs = None if num_logs is None else TokenLogs(num_logs, self._vocabulary.pieces)
        self._decoder = Decoder(
            target,
            session,
            sampling=settings.sampling,
            turns=prepared.turns,
            speculation=speculation,
            learns=settings.learns,
            notes=self._notes,
            rules=rules,
            grammar=grammar,
            seed=self._seed,
            ending=prompts.ending if tags is not None and settings.max_thought is not None else (),
            max_thought=settings.max_thought,
            logs=self._logs,
            owner=prepared.owner,
        )
        self._stream = TextStream(settings.stop_strings)
        self._origins = TextOrigins()
        self._clock = ReplyClock(speculation)
        self._figures, self._figures_until = LiveFigures(), -math.inf
        self._num_released = 0  # characters of everything
        self._tokens: list[int] = []
        self._logged: deque[tuple[int, TokenLog]] = deque()  # not passed on yet, with the characters up to their end
        self._speculation = speculation
        self._num_evaluated = 0
        self._breaks_s = 0.0
        self._repeats = False

    def finish(self) -> Reply:
        self._growing.begin(len(self._prompt.tokens), self._prompt.num_left_out)
        failure: Exception | None = None
        try:
            reason = self._write()
        except Interrupted:
            reason = StopReason.STOPPED
        except Exception as error:  # the text so far is the user's, whatever happened
            reason, failure = StopReason.FAILED, error
        self._clock.stop()
        self._show([*self._splitter.feed(self._stream.finish()), *self._splitter.finish()])
        self._show_parts(self._calls.finish())
        divided = self._calls.divided(self._growing.text, self._growing.thoughts)
        statistics = self._statistics(reason)
        if self._prepared.tools:
            statistics = replace(statistics, origins=fitted_runs(statistics.origins, len(divided.text)))
        tokens = tuple(self._tokens[: self._num_shown(self._num_released)] if self._stream.stopped else self._tokens)
        verified = None if self._notes is None else self._notes.first(len(tokens) + (reason is StopReason.END))
        figures = self._decoder.figures
        return Reply(divided.text, statistics, failure, divided.thoughts, tokens, figures, verified, divided.calls)

    def _write(self) -> StopReason:
        rows: FloatRows | None = self._read_prompt()
        while rows is not None:
            reason = self._fill_context(rows)
            if reason is not None:
                return reason
            rows = self._make_room()
        return StopReason.CONTEXT_FULL

    def _read_prompt(self) -> FloatRows:
        evaluated_before = self._session.num_evaluated
        try:
            with self._clock.reading():
                self._session.take_over(self._prepared.owner)
                if self._reopening is not None:
                    readable = before_pictures(self._prompt.tokens, self._prompt.runs)
                    self._reopening.reopen(self._session, readable, self._stop)
                return self._read(self._prompt.tokens, self._prompt.runs, self._growing.read)
        finally:
            self._num_evaluated = self._session.num_evaluated - evaluated_before
            self._clock.prompt_s -= self._breaks_s
            if self._reopening is not None:
                self._reopening.note_speed(self._num_evaluated, self._clock.prompt_s)

    def _read(
        self, tokens: Sequence[int], runs: Runs, on_progress: Callable[[int, int], None] = lambda _done, _total: None
    ) -> FloatRows:
        """Again after each break, as far as that is necessary."""
        while True:
            stop = self._stop if self._breaks is None else self._breaks.signal(self._stop)
            try:
                return self._session.read(tokens, stop, on_progress, runs)
            except Interrupted:
                if self._stop.is_set():
                    raise
                self._give_way()

    def _take_break(self) -> None:
        """Gives way between two rounds. The target then holds what it held before, or reads it again."""
        began, tokens, runs = now(), [*self._session.tokens], dict(self._session.runs)
        self._give_way()
        if self._session.tokens != tokens:
            self._read(tokens, runs)
        self._decoder.go_on()
        took = now() - began
        self._clock.leave_out(took)
        self._growing.leave_out(took)

    def _give_way(self) -> None:
        assert self._breaks is not None
        began = now()
        try:
            with self._session.aside():
                self._breaks.give_way()
        finally:
            self._breaks_s += now() - began

    def _fill_context(self, rows: FloatRows) -> StopReason | None:
        """Writes until the reply ends; None when the context is full."""
        num_begun, most = self._prompt.num_begun, self._settings.max_tokens
        most = None if most is None else num_begun + most
        if not self._tokens and self._splitter.is_inside:
            self._begin_thought()
        for tokens in self._decoder.rounds(rows, self._stop, num_begun + len(self._tokens), most):
            parts, reason = self._take(tokens)
            self._clock.note(len(self._tokens))
            self._show(parts)
            if reason is not None:
                return reason
            if self._growing.is_part_due:
                self._clock.stop()
                self._growing.tell_part(self._statistics(StopReason.CUT_OFF))
            if self._breaks is not None and self._breaks.is_due:
                self._take_break()
        return StopReason.STOP_STRING if self._decoder.is_over else None

    def _take(self, tokens: Sequence[int]) -> tuple[list[ReplyPart], StopReason | None]:
        """The text of a round, and why the reply ends with it, if it does."""
        vocabulary, stream, verdict = self._vocabulary, self._stream, self._decoder.verdict
        parts: list[ReplyPart] = []
        places = verdict.places
        for place, token in enumerate(tokens):
            if token in vocabulary.end_of_generation:
                return parts, StopReason.END
            self._add(token)
            if token not in self._hidden:
                num_before, was_inside = stream.num_decoded, self._splitter.is_inside
                add_parts(parts, self._splitter.feed(stream.push(vocabulary.pieces[token])))
                origin = origin_of(verdict.draft, places[place]) if place < len(places) else TARGET.key
                self._origins.note(stream.num_decoded - num_before, origin)
                if self._logs is not None:
                    self._note_log(self._logs, token)
                if self._splitter.is_inside is not was_inside:
                    self._decoder.thought_end = None
                    if not was_inside:
                        self._begin_thought()
            if stream.stopped:
                return parts, StopReason.STOP_STRING
            if self._settings.max_tokens is not None and len(self._tokens) >= self._settings.max_tokens:
                return parts, StopReason.LENGTH
        return parts, None

    def _begin_thought(self) -> None:
        """Counts tokens and time as those of a thought from now on."""
        self._growing.begin_thought(len(self._tokens))
        if self._settings.max_thought is not None:
            num_before = self._prompt.num_begun + len(self._tokens)
            self._decoder.thought_end = num_before + self._settings.max_thought

    def _add(self, token: int) -> None:
        self._tokens.append(token)
        if not self._repeats and len(self._tokens) % LOOK_EVERY == 0 and repeats(self._tokens):
            self._repeats = True
            self._growing.repeat()

    def _make_room(self) -> FloatRows | None:
        """Leaves out the oldest turns, and reads the others and the reply so far again; None if nothing can leave."""
        num_left_out, prepared = self._prompt.num_left_out, self._prepared
        if prepared.keeps_all:
            return None
        try:
            prompt = self._prompts.build(
                prepared.turns,
                self._session.tokens,
                num_left_out,
                len(self._tokens),
                prepared.begun,
                prepared.thoughts,
                prepared.thinks,
                prepared.tools,
                opens=prepared.opens,
            )
        except PromptTooLong:
            return None
        if prompt.num_left_out == num_left_out:
            return None
        self._prompt = prompt
        self._growing.trim(prompt.num_left_out)
        return self._session.read([*prompt.tokens, *self._tokens], self._stop, runs=prompt.runs)

    def _num_shown(self, num_characters: int) -> int:
        """The number of tokens, from the first, that lie wholly within the first `num_characters` of the text."""
        pieces, hidden = self._vocabulary.pieces, self._hidden
        return num_whole([b"" if token in hidden else pieces[token] for token in self._tokens], num_characters)

    def _show(self, parts: Sequence[ReplyPart]) -> None:
        """Passes on the parts, and finds the calls in those of the answer."""
        for part in parts:
            said = self._calls.feed(part.text) if part.kind is PartKind.ANSWER else [*self._calls.finish(), part]
            self._show_parts(said)

    def _show_parts(self, parts: Sequence[ReplyPart]) -> None:
        for part in parts:
            self._num_released += len(part.text)
            origins = self._origins.release(len(part.text), counts=part.kind is PartKind.ANSWER)
            logs, figures = self._logs_released(), self._figures_now()
            if part.kind is PartKind.ANSWER:
                self._growing.say(part.text, figures, origins, logs)
            elif part.kind is PartKind.CALL:
                self._growing.call(figures)
            elif part.kind is PartKind.THOUGHT:
                self._growing.think(part.text, figures, origins, len(self._tokens))
            elif part.kind is PartKind.CLOSING:
                self._growing.end_thought(figures, len(self._tokens))

    def _note_log(self, logs: TokenLogs, token: int) -> None:
        log = logs.of(len(self._tokens) - 1)
        if log is not None:
            assert log.piece == self._vocabulary.pieces[token]
            self._logged.append((self._stream.num_decoded, log))

    def _logs_released(self) -> tuple[TokenLog, ...]:
        """The logs of the tokens whose text is released."""
        if not self._logged:
            return ()
        released: list[TokenLog] = []
        while self._logged and self._logged[0][0] <= self._num_released:
            released.append(self._logged.popleft()[1])
        return tuple(released)

    def _figures_now(self) -> LiveFigures:
        if now() >= self._figures_until:
            self._figures, self._figures_until = self._live_figures(), now() + _FIGURES_S
        return self._figures

    @property
    def _ratio(self) -> float:
        return 0.0 if self._speculation is None else self._speculation.ratio(self._decoder.figures)

    @property
    def _plain(self) -> tuple[float, float]:
        return (0.0, 0.0) if self._speculation is None else self._speculation.plain

    @property
    def _hindrance(self) -> Hindrance:
        return Hindrance.OFF if self._speculation is None else self._speculation.hindrance(self._decoder.figures)

    def _live_figures(self) -> LiveFigures:
        figures, speed = self._decoder.figures, self._clock.speed
        plain_tokens_per_s, plain_error = self._plain
        return LiveFigures(
            num_tokens=len(self._tokens),
            tokens_per_s=speed.now,
            mean_tokens_per_s=speed.mean,
            plain_tokens_per_s=plain_tokens_per_s,
            plain_error=plain_error,
            num_rounds=figures.num_rounds,
            num_drafted=figures.num_drafted,
            num_accepted=figures.num_accepted,
            context_used=self._session.num_cells,
            ratio=self._ratio,
            hindrance=self._hindrance,
        )

    def _statistics(self, reason: StopReason) -> ReplyStatistics:
        figures = self._decoder.figures
        plain_tokens_per_s, plain_error = self._plain
        return ReplyStatistics(
            prompt_tokens=self._prepared.prompt.num_cells,
            evaluated_tokens=self._num_evaluated,
            reply_tokens=len(self._tokens),
            prompt_s=self._clock.prompt_s,
            reply_s=self._clock.reply_s,
            stop_reason=reason,
            context_used=self._session.num_cells,
            context_size=self._context_size,
            left_out_messages=self._prompt.num_left_out,
            num_rounds=figures.num_rounds,
            num_drafted=figures.num_drafted,
            num_accepted=figures.num_accepted,
            plain_tokens_per_s=plain_tokens_per_s,
            plain_error=plain_error,
            draft_s=figures.draft_s + figures.translate_s,
            check_s=figures.target_s + figures.accept_s,
            kind=text_kind(self._growing.text),
            origins=self._origins.runs,
            proposers=tuple(
                ProposerCounts(key, counts.num_rounds, counts.num_drafted, counts.num_accepted)
                for key, counts in sorted(figures.by_proposer.items())
            ),
            ratio=self._ratio,
            hindrance=self._hindrance,
            repeats=self._repeats,
            seed=str(self._seed) if self._settings.sampling.temperature and self._decoder.is_repeatable else "",
        )
