"""Prepares and writes the replies of one target, from the turns before them. Synchronous: the caller drives it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from hashlib import sha256

from engine.speculation.decoding.session import Session
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.model.chat.call_grammar import CallGrammar, CallGrammars, FormOrCalls, ReplyGrammar
from engine.speculation.model.chat.grammar import Grammar, Grammars
from engine.speculation.model.chat.tool_format import ToolFormat
from engine.speculation.model.files.prompt_cache import Chat
from engine.speculation.model.interface import PromptReader, Target, TargetFeature, Vocabulary, seeing
from engine.speculation.numerics.draft import common_prefix_length
from engine.speculation.numerics.draft_length import PassCosts
from engine.speculation.numerics.rules import Rules, TokenLetters, has_rules
from engine.speculation.replies.prompt import Prompt, PromptBuilder
from engine.speculation.replies.reopening import Reopening, UnkeptPart
from engine.speculation.replies.run import PreparedReply, ReplyRun
from engine.speculation.replies.writing import Breaks, Reply
from engine.values.asked import Names
from engine.values.config import ReplySettings, SamplingSettings
from engine.values.conversations import ChatTurn
from engine.values.errors import SettingInvalid
from engine.values.growing_reply import GrowingReply
from engine.values.owner import USER, Owner
from engine.values.pictures import Picture
from engine.values.replies import Thought
from engine.values.stop_signal import StopSignal
from engine.values.tools import Tool


class ReplyLimits:
    """Makes them, and keeps what takes long to make for the next reply. Where nothing is set, nothing is
    made or kept."""

    def __init__(self, vocabulary: Vocabulary, grammars: Grammars) -> None:
        self._vocabulary = vocabulary
        self._grammars = grammars
        self._spelling: TokenLetters | None = None
        self._rules: Rules | None = None
        self._known: SamplingSettings | None = None  # what the rules were made for
        self._calls: tuple[tuple[Tool, ...], CallGrammars] | None = None

    def of(self, settings: SamplingSettings, stop: StopSignal) -> tuple[Rules | None, Grammar | None]:
        """Raises SettingInvalid for a grammar that cannot be used, and Cancelled when `stop` gets set."""
        if settings != self._known:
            self._known, self._rules = settings, self._made(settings)
        if not settings.grammar.strip():
            return self._rules, None
        return self._rules, self._grammars.begin(settings.grammar, stop)

    def of_calls(
        self, target: PromptReader, form: ToolFormat | None, tools: Sequence[Tool], stop: StopSignal
    ) -> CallGrammar | None:
        """What calls of these tools may be, in a reply that ends with `stop`; None where that is not known, or there
        are none."""
        if form is None or not tools:
            self._calls = None
            return None
        if self._calls is None or self._calls[0] != tuple(tools):
            self._calls = tuple(tools), CallGrammars(target, form, tools)
        made = self._calls[1]
        return None if made.is_empty else made.begin(stop)

    def _made(self, settings: SamplingSettings) -> Rules | None:
        if not has_rules(settings):
            self._spelling = None
            return None
        known = self._vocabulary
        self._spelling = self._spelling or TokenLetters(known.pieces, known.special | known.end_of_generation)
        return Rules(settings, self._spelling)


class ReplyWriter:
    """Writes replies with one target, and reuses the tokens that the target holds from one reply to the next."""

    def __init__(
        self,
        target: Target,
        speculation: Speculation | None = None,
        reopening: Reopening | None = None,
        template: str = "",
    ) -> None:
        """`speculation` None: plain decoding. `reopening` None: nothing that is read is kept on the disk. `template`:
        of chats, in place of the target's own. Raises TemplateFailed if that cannot be used."""
        self._target = target
        self._speculation = speculation
        self.sees_pictures = TargetFeature.PICTURES in target.features
        see = partial(seeing(target).see, stop=StopSignal()) if self.sees_pictures else None
        self._prompts = PromptBuilder(target, see, template)
        self._session = Session(target)
        self._reopening = reopening  # of what the user's chats are kept of
        # Of the user and of programs: what a program makes of its process is no matter of the user's.
        self._grammars = Grammars(target.vocabulary), Grammars(target.vocabulary)
        self._limits = ReplyLimits(target.vocabulary, self._grammars[0])  # of the user's replies
        self._limits_of_last = USER, self._limits  # and of the program that was answered last
        self._left_out: tuple[Hashable, int] = (None, 0)  # the last conversation, and turns left out of its prompt

    @property
    def thinks_unless_told(self) -> bool | None:
        """True if the target thinks before it answers by default; None: it has no switch for that."""
        return self._prompts.thinks_unless_told

    @property
    def calls_tools(self) -> bool:
        """True if the target's own template has a place for tools."""
        return self._prompts.knows_tools

    @property
    def can_try_tools(self) -> bool:
        """True if tools can at least be described to the target, which was taught to answer."""
        return self._prompts.tool_format is not None

    @property
    def template(self) -> str:
        """The source of the chat template in use."""
        return self._prompts.template

    def close(self) -> None:
        """No more replies are written, and loading a drafter is given up. The target stays open."""
        if self._speculation is not None:
            self._speculation.close()

    @property
    def passes(self) -> PassCosts | None:
        """What passes of the target cost, where it is known."""
        return None if self._speculation is None else self._speculation.passes

    @property
    def target_name(self) -> str:
        return self._target.description.name

    def prepare(
        self,
        turns: Sequence[ChatTurn],
        conversation: Hashable = None,
        begun: str = "",
        thoughts: tuple[Thought, ...] = (),
        thinks: bool | None = None,
        tools: Sequence[Tool] = (),
        keeps_all: bool = False,
        must_call: str | None = None,
        more: Names = (),
        owner: Owner = USER,
        stop: StopSignal | None = None,
    ) -> PreparedReply:
        """The prompt for `turns`, not evaluated yet. Raises PromptTooLong, TemplateFailed, or Interrupted when `stop`
        gets set.

        `conversation` is a key that stays the same from reply to reply, so that turns once left out stay out. The reply
        continues from `begun` and its `thoughts`; only its continuation is written. `thinks`: whether the target
        should think, if it has a switch; None: as it does by default. `tools`: that it may call; only if it knows how
        to. `keeps_all`: no turn is left out, and what does not fit is too long. `must_call`: the tool that the reply
        has to call; empty: any. `more`: what the chat template is told besides. `owner`: whose turns these are.
        """
        known, num_left_out = self._left_out
        num_left_out = num_left_out if known == conversation else 0
        thinks = True if thoughts else thinks
        form = None if must_call is None else self._prompts.tool_format
        opens = "" if form is None else form.opening(must_call or "")

        def built(held: Sequence[int]) -> Prompt:
            return self._prompts.build(
                _told_apart(turns, owner),
                held=held,
                num_left_out=num_left_out,
                begun=begun,
                thoughts=thoughts,
                thinks=thinks,
                tools=tools,
                keeps_all=keeps_all,
                opens=opens,
                more=more,
                stop=stop,
            )

        held = self._session.held_of(owner)
        prompt = built(held)
        reopening = self._reopening_of(owner)
        if reopening is not None and reopening.is_worth(held, prompt.tokens):
            kept = reopening.known(conversation)
            if kept != held[: len(kept)]:  # else it holds all of that
                other = built(kept)
                if common_prefix_length(kept, other.tokens) > common_prefix_length(held, prompt.tokens):
                    prompt = other
        return PreparedReply(
            turns=tuple(turns),
            prompt=prompt,
            conversation=conversation,
            begun=begun,
            thoughts=thoughts,
            thinks=thinks,
            tools=tuple(tools),
            keeps_all=keeps_all,
            opens=opens,
            owner=owner,
        )

    def prepare_bare(
        self, text: str | Sequence[int], owner: Owner = USER, stop: StopSignal | None = None
    ) -> PreparedReply:
        """Prepares a reply to text without a chat template. Raises PromptTooLong, TargetUnusable and Interrupted."""
        prompt = self._prompts.build_bare(text, self._session.held_of(owner), stop)
        return PreparedReply(turns=(), prompt=prompt, keeps_all=True, is_bare=True, owner=owner)

    def write(
        self,
        prepared: PreparedReply,
        settings: ReplySettings,
        stop: StopSignal,
        growing: GrowingReply | None = None,
        breaks: Breaks | None = None,
    ) -> Reply:
        """Writes the reply that was prepared last into `growing`. A reply that is stopped or fails is returned as far
        as it came, with the error in it. In its breaks, others may be prepared and written. Before it begins, raises
        SettingInvalid if its grammar cannot be used, and Cancelled if it is stopped."""
        speculation = self._speculation if settings.speculate else None
        limits = self._limits_of(prepared.owner)
        rules, grammar = limits.of(settings.sampling, stop)
        calls = limits.of_calls(self._target, self._prompts.tool_format, prepared.tools, stop)
        if calls is not None and prepared.opens:
            try:
                calls.accept(self._target.tokenize(prepared.opens))
            except SettingInvalid:  # the template begins calls in another way than it is known for
                calls = None
        shared = self._target, self._prompts, self._session, self._reopening_of(prepared.owner)
        growing = growing or GrowingReply()
        if grammar is not None and calls is not None and (form := self._prompts.tool_format) is not None:
            limit: ReplyGrammar | None = FormOrCalls(grammar, calls, form.tag or form.opening())
        else:
            limit = grammar or calls
        run = ReplyRun(*shared, speculation, prepared, settings, stop, growing, breaks, rules, limit)
        with nullcontext() if self._speculation is None else self._speculation.spare.taken():
            reply = run.finish()
            if speculation is not None:
                speculation.end_reply()
        if prepared.owner.is_user:
            self._left_out = (prepared.conversation, reply.statistics.left_out_messages)
        return reply

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Replies written inside belong to no conversation: the next one continues from the one before."""
        left_out = self._left_out
        try:
            with self._session.aside():
                yield
        finally:
            self._left_out = left_out

    @contextmanager
    def apart(self) -> Iterator[Target]:
        """The target alone, which holds nothing and is to hold nothing afterwards; then as after `aside`."""
        with self.aside():
            self._session.keep(0)
            yield self._target

    def copy_unkept(self, chat: Chat) -> UnkeptPart | None:
        """The first part of what the target holds that is not kept yet; None: nothing is left to keep, or a client has
        come. The user's last reply must be of this chat."""
        reopening = self._reopening_of(self._session.owner)
        return None if reopening is None else reopening.copy(self._session, chat)

    def text_of(self, tokens: Sequence[int]) -> str:
        vocabulary = self._target.vocabulary
        pieces = (vocabulary.pieces[token] for token in tokens if token not in vocabulary.special)
        return b"".join(pieces).decode("utf-8", "replace")

    def _reopening_of(self, owner: Owner) -> Reopening | None:
        """Only the user's chats are kept."""
        return self._reopening if owner.is_user else None

    def _limits_of(self, owner: Owner) -> ReplyLimits:
        """Limits of one owner alone: how long a grammar takes to begin must not reveal another owner's replies."""
        if owner.is_user:
            return self._limits
        if owner != self._limits_of_last[0]:
            self._limits_of_last = owner, ReplyLimits(self._target.vocabulary, self._grammars[1])
        return self._limits_of_last[1]


def _told_apart(turns: Sequence[ChatTurn], owner: Owner) -> Sequence[ChatTurn]:
    """A target keeps what it has seen of a picture by its digest: of a client's, by one that no other owner has."""
    if owner.is_user or not any(turn.pictures for turn in turns):
        return turns

    def apart(picture: Picture) -> Picture:
        return replace(picture, digest=sha256(f"{owner.key} {picture.digest}".encode()).hexdigest())

    return [replace(turn, pictures=tuple(map(apart, turn.pictures))) for turn in turns]
