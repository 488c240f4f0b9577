"""What a reply is limited to by its sampling settings, for the tokens of one target: rules and a grammar."""

from __future__ import annotations

from collections.abc import Sequence

from engine.config import SamplingSettings
from engine.messages.tools import Tool
from engine.numerics.rules import Rules, TokenLetters, has_rules
from engine.stop_signal import StopSignal
from engine.target.call_grammar import CallGrammar, CallGrammars
from engine.target.grammar import Grammar, Grammars
from engine.target.interface import PromptReader, Vocabulary
from engine.target.tool_format import ToolFormat


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
