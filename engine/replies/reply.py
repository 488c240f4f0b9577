"""One reply of a target, from the turns before it to its last character. Synchronous; whoever calls it drives it."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from engine.config import ReplySettings
from engine.decoding.figures import DecodingFigures
from engine.decoding.loop import Decoder
from engine.decoding.session import Session
from engine.decoding.speculation import Speculation
from engine.errors import PromptTooLong
from engine.messages.conversations import ChatTurn
from engine.messages.learned import VerifiedReply
from engine.messages.origins import TARGET
from engine.messages.replies import OriginRun, ProposerCounts, ReplyStatistics, StopReason
from engine.messages.speed import LiveFigures
from engine.numerics.likeliest import DistributionNotes
from engine.replies.prompt import Prompt, PromptBuilder
from engine.replies.reply_pace import ReplyPace
from engine.replies.text_kind import text_kind
from engine.replies.text_origins import TextOrigins, origin_of
from engine.replies.text_stream import TextStream
from engine.stop_signal import StopSignal
from engine.target.interface import FloatRows, Interrupted, Target

_SEEN_BEFORE_TOLD = 4  # rounds without a draft, before plain decoding counts as known
_LONGEST_LOADING = 0.1  # of the time of a reply; when the drafter was loaded for longer, its speed is no measure


class ReplyListener(Protocol):
    """Told about a reply while it is being written, on the thread that writes it."""

    def on_prompt(self, num_tokens: int, num_left_out: int) -> None:
        """The prompt is rendered; so many of the oldest turns did not fit."""

    def on_prompt_progress(self, num_evaluated: int, num_total: int) -> None: ...

    def on_text(self, text: str, figures: LiveFigures, origins: tuple[OriginRun, ...]) -> None:
        """Text that is new since it was told last, with who thought of its characters first."""

    def on_trimmed(self, num_left_out: int) -> None:
        """The context filled up during the reply, and so many of the oldest turns are out now."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a target wrote."""

    text: str
    statistics: ReplyStatistics
    failure: Exception | None = None  # what ended it, where the reason is FAILED
    tokens: tuple[int, ...] = ()  # the target's
    figures: DecodingFigures = field(default_factory=DecodingFigures)
    verified: VerifiedReply | None = None  # where that was asked for


@dataclass(frozen=True, slots=True)
class PreparedReply:
    """What `ReplyWriter.write` needs; holds as long as nothing else is written."""

    turns: tuple[ChatTurn, ...]
    prompt: Prompt
    conversation: Hashable
    begun: str = ""  # of the reply, which goes on from there


class ReplyWriter:
    """Writes replies with one target, keeping what it holds from one reply to the next."""

    def __init__(self, target: Target, speculation: Speculation | None = None) -> None:
        """Without `speculation` nobody drafts. Raises TemplateFailed when the target's chat template cannot be used."""
        self._target = target
        self._speculation = speculation
        self._prompts = PromptBuilder(target)
        self._session = Session(target)
        self._left_out: tuple[Hashable, int] = (None, 0)  # of the conversation that was answered last

    def close(self) -> None:
        """No reply is written any more; a drafter that is still being loaded is given up. The target stays open."""
        if self._speculation is not None:
            self._speculation.close()

    @property
    def target_name(self) -> str:
        return self._target.description.name

    def prepare(self, turns: Sequence[ChatTurn], conversation: Hashable = None, begun: str = "") -> PreparedReply:
        """The prompt for `turns`, without evaluating it. Raises PromptTooLong or TemplateFailed.

        `conversation` is any key that stays the same from reply to reply, so that turns which left once stay out. With
        `begun` the reply goes on from there, and what is written is only what follows.
        """
        prompt = self._prompts.build(turns, self._session.tokens, self._left_out_of(conversation), begun=begun)
        return PreparedReply(tuple(turns), prompt, conversation, begun)

    def write(
        self, prepared: PreparedReply, settings: ReplySettings, stop: StopSignal, listener: ReplyListener
    ) -> Reply:
        """Writes the reply that was prepared last. Stopping is an ordinary end of a reply: what was written until then
        comes back. A failure on the way is in the reply."""
        listener.on_prompt(len(prepared.prompt.tokens), prepared.prompt.num_left_out)
        speculation = self._speculation if settings.speculate else None
        run = _Run(self._target, self._prompts, self._session, speculation, prepared, settings, stop, listener)
        reply = run.finish()
        if speculation is not None:
            speculation.end_reply()
        self._left_out = (prepared.conversation, run.num_left_out)
        return reply

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What is written meanwhile belongs to no conversation: the next reply goes on from the one before."""
        left_out = self._left_out
        try:
            with self._session.aside():
                yield
        finally:
            self._left_out = left_out

    def text_of(self, tokens: Sequence[int]) -> str:
        vocabulary = self._target.vocabulary
        pieces = (vocabulary.pieces[token] for token in tokens if token not in vocabulary.special)
        return b"".join(pieces).decode("utf-8", "replace")

    def _left_out_of(self, conversation: Hashable) -> int:
        known, num_left_out = self._left_out
        return num_left_out if known == conversation else 0


class _Run:
    """What one reply needs to remember while it is written."""

    def __init__(
        self,
        target: Target,
        prompts: PromptBuilder,
        session: Session,
        speculation: Speculation | None,
        prepared: PreparedReply,
        settings: ReplySettings,
        stop: StopSignal,
        listener: ReplyListener,
    ) -> None:
        self._vocabulary = target.vocabulary
        self._context_size = target.limits.context_size
        self._prompts = prompts
        self._session = session
        self._turns = prepared.turns
        self._prompt = prepared.prompt
        self._begun = prepared.begun
        self._num_begun = prepared.prompt.num_begun  # tokens
        self._settings = settings
        self._stop = stop
        self._listener = listener
        self._speculation = speculation
        self._notes = DistributionNotes() if settings.keeps_distributions else None
        self._decoder = Decoder(
            target, session, settings.sampling, prepared.turns, speculation, learns=settings.learns, notes=self._notes
        )
        self._stream = TextStream(settings.stop_strings)
        self._origins = TextOrigins()
        self._pieces: list[str] = []
        self._tokens: list[int] = []
        self._num_evaluated = 0
        self._prompt_s = 0.0
        self._reply_s = 0.0
        self._began_at = 0.0
        self._pace = ReplyPace(0.0)
        self._was_loading = False
        self._loading_s = 0.0  # of the reply
        self.num_left_out = prepared.prompt.num_left_out

    def finish(self) -> Reply:
        failure: Exception | None = None
        try:
            reason = self._write()
        except Interrupted:
            reason = StopReason.STOPPED
        except Exception as error:  # what was written until now is the user's, whatever happened
            reason, failure = StopReason.FAILED, error
        if self._began_at:
            self._reply_s = time.perf_counter() - self._began_at
        self._show(self._stream.finish())
        statistics = self._statistics(reason)
        num_verified = len(self._tokens) + (reason is StopReason.END)
        verified = None if self._notes is None else self._notes.first(num_verified)
        return Reply("".join(self._pieces), statistics, failure, tuple(self._tokens), self._decoder.figures, verified)

    def _write(self) -> StopReason:
        rows = self._read_prompt()
        self._began_at = time.perf_counter()
        self._pace = ReplyPace(self._began_at)
        self._was_loading = self._is_loading
        while True:
            reason = self._write_into_room(rows)
            if reason is not None:
                return reason
            refreshed = self._make_room()
            if refreshed is None:
                return StopReason.CONTEXT_FULL
            rows = refreshed

    def _read_prompt(self) -> FloatRows:
        start = time.perf_counter()
        evaluated_before = self._session.num_evaluated
        try:
            return self._session.read(self._prompt.tokens, self._stop, self._listener.on_prompt_progress)
        finally:
            self._num_evaluated = self._session.num_evaluated - evaluated_before
            self._prompt_s = time.perf_counter() - start

    def _write_into_room(self, rows: FloatRows) -> StopReason | None:
        """Writes until the reply ends, or None when the context is full."""
        most = self._settings.max_tokens
        rounds = self._decoder.rounds(
            rows, self._stop, self._num_begun + len(self._tokens), None if most is None else self._num_begun + most
        )
        for tokens in rounds:
            text, reason = self._take(tokens)
            self._note_round()
            self._show(text)
            if reason is not None:
                return reason
        return None

    def _take(self, tokens: Sequence[int]) -> tuple[str, StopReason | None]:
        """The text that a round has brought, and why the reply ends with it, if it does."""
        vocabulary, stream, verdict = self._vocabulary, self._stream, self._decoder.verdict
        text = ""
        for place, token in enumerate(tokens):
            if token in vocabulary.end_of_generation:
                return text, StopReason.END
            self._tokens.append(token)
            if token not in vocabulary.special:  # a template's own marks are no text
                num_before = stream.num_decoded
                text += stream.push(vocabulary.pieces[token])
                origin = origin_of(verdict.draft, place) if place < verdict.num_accepted else TARGET.key
                self._origins.note(stream.num_decoded - num_before, origin)
            if stream.stopped:
                return text, StopReason.STOP_STRING
            if self._settings.max_tokens is not None and len(self._tokens) >= self._settings.max_tokens:
                return text, StopReason.LENGTH
        return text, None

    @property
    def _is_loading(self) -> bool:
        return self._speculation is not None and self._speculation.is_loading

    def _note_round(self) -> None:
        now = time.perf_counter()
        if len(self._tokens) == 1:  # it was drawn from the prompt's logits
            self._pace = ReplyPace(now, 1)
            return
        self._pace.note(now, len(self._tokens))
        if self._was_loading:
            self._loading_s = now - self._began_at
            if not self._is_loading:
                self._was_loading = False
                self._pace.begin_anew()

    def _make_room(self) -> FloatRows | None:
        """Let the oldest turns leave and read the rest with the reply so far anew; None when nothing can leave."""
        try:
            prompt = self._prompts.build(
                self._turns, self._session.tokens, self.num_left_out, len(self._tokens), self._begun
            )
        except PromptTooLong:
            return None
        if prompt.num_left_out == self.num_left_out:
            return None
        self.num_left_out = prompt.num_left_out
        self._num_begun = prompt.num_begun
        self._listener.on_trimmed(self.num_left_out)
        return self._session.read([*prompt.tokens, *self._tokens], self._stop)

    def _show(self, text: str) -> None:
        if text:
            self._pieces.append(text)
            self._listener.on_text(text, self._live_figures(), self._origins.release(len(text)))

    def _live_figures(self) -> LiveFigures:
        counts, pace = self._decoder.figures, self._pace
        plain_tokens_per_s, plain_error = (0.0, 0.0) if self._was_loading else self._plain()
        return LiveFigures(
            num_tokens=len(self._tokens),
            tokens_per_s=pace.now,
            mean_tokens_per_s=pace.mean,
            mean_error=pace.error,
            num_measured=pace.num_measured,
            plain_tokens_per_s=plain_tokens_per_s,
            plain_error=plain_error,
            num_rounds=counts.num_rounds,
            num_drafted=counts.num_drafted,
            num_accepted=counts.num_accepted,
            context_used=len(self._session.tokens),
            is_compared=self._speculation is not None and self._speculation.baseline is not None,
        )

    def _plain(self) -> tuple[float, float]:
        """How fast this machine writes without drafts, in tokens per second, and the standard error of that as a share
        of it; zeros while that is not known."""
        baseline = None if self._speculation is None else self._speculation.baseline
        if baseline is None or baseline.num_seen < _SEEN_BEFORE_TOLD:
            return 0.0, 0.0
        return 1 / baseline.seconds, baseline.error

    def _statistics(self, reason: StopReason) -> ReplyStatistics:
        figures = self._decoder.figures
        plain_tokens_per_s, plain_error = self._plain()
        if self._loading_s > _LONGEST_LOADING * self._reply_s:
            plain_tokens_per_s = plain_error = 0.0
        return ReplyStatistics(
            prompt_tokens=len(self._prompt.tokens),
            evaluated_tokens=self._num_evaluated,
            reply_tokens=len(self._tokens),
            prompt_s=self._prompt_s,
            reply_s=self._reply_s,
            stop_reason=reason,
            context_used=len(self._session.tokens),
            context_size=self._context_size,
            left_out_messages=self.num_left_out,
            num_rounds=figures.num_rounds,
            num_drafted=figures.num_drafted,
            num_accepted=figures.num_accepted,
            plain_tokens_per_s=plain_tokens_per_s,
            plain_error=plain_error,
            draft_s=figures.draft_s + figures.translate_s,
            check_s=figures.target_s + figures.accept_s,
            kind=text_kind("".join(self._pieces)),
            origins=self._origins.runs,
            proposers=tuple(
                ProposerCounts(key, counts.num_rounds, counts.num_drafted, counts.num_accepted)
                for key, counts in sorted(figures.by_proposer.items())
            ),
        )
