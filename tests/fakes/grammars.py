"""Grammars that are worked on in this process, for tests of what they allow: a child takes half a second to start."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from engine.speculation.model.chat import grammar
from engine.speculation.model.chat.grammar import Grammars, _Desk
from engine.speculation.model.chat.grammar_apart import Matchers, answered, packed_vocabulary
from engine.speculation.model.interface import Vocabulary
from engine.values.stop_signal import StopSignal


class DeskHere(_Desk):
    has_ended = False

    def _open(self, vocabulary: Vocabulary, stop: StopSignal) -> None:  # noqa: ARG002
        self._matchers = Matchers(packed_vocabulary(vocabulary.pieces, vocabulary.silent))

    def _said(self, question: tuple[str, int, Any], seconds: float, stop: StopSignal) -> bytes:  # noqa: ARG002
        answer = answered(self._matchers, *json.loads(json.dumps(question)))
        self._matchers.look_ahead(lambda: None)
        return answer


@contextmanager
def grammars_here() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grammar, "_Desk", DeskHere)
        grammar._letters.cache_clear()
        yield
    grammar._letters.cache_clear()


def grammars_of(vocabulary: Vocabulary) -> Grammars:
    made = Grammars(vocabulary)
    made._desk = DeskHere(vocabulary, StopSignal())
    return made
