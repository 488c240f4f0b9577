"""What a reply is limited to by its sampling settings, for the tokens of one target: rules and a grammar."""

from __future__ import annotations

from engine.config import SamplingSettings
from engine.numerics.rules import Rules, Spelling, has_rules
from engine.target.grammar import Grammar, Grammars
from engine.target.interface import Vocabulary


class Limits:
    """Makes them, and keeps what takes long to make for the next reply. Where nothing is set, nothing is
    made or kept."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._grammars: Grammars | None = None
        self._spelling: Spelling | None = None
        self._rules: Rules | None = None
        self._known: SamplingSettings | None = None  # what the rules were made for

    def of(self, settings: SamplingSettings) -> tuple[Rules | None, Grammar | None]:
        """Raises SettingInvalid for a grammar that cannot be used."""
        if settings != self._known:
            self._known, self._rules = settings, self._made(settings)
        if not settings.grammar.strip():
            self._grammars = None
            return self._rules, None
        self._grammars = self._grammars or Grammars(self._vocabulary)
        return self._rules, self._grammars.begin(settings.grammar)

    def _made(self, settings: SamplingSettings) -> Rules | None:
        if not has_rules(settings):
            self._spelling = None
            return None
        known = self._vocabulary
        self._spelling = self._spelling or Spelling(known.pieces, known.special | known.end_of_generation)
        return Rules(settings, self._spelling)
