from __future__ import annotations

from dataclasses import replace

import pytest

from engine.speculation.numerics.vocabulary_map import fingerprint
from tests.fakes.target import FakeTarget

VOCABULARY = FakeTarget().vocabulary


def test_the_fingerprint_of_a_vocabulary_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[frozenset[int]] = []

    def counted(pieces: tuple[bytes, ...], special: frozenset[int]) -> str:
        computed.append(special)
        return fingerprint(pieces, special)

    monkeypatch.setattr("engine.speculation.model.interface.fingerprint", counted)
    vocabulary = replace(VOCABULARY)
    assert vocabulary.fingerprint == vocabulary.fingerprint
    assert computed == [vocabulary.special | vocabulary.end_of_generation]


def test_a_vocabulary_with_other_tokens_has_another_fingerprint() -> None:
    assert replace(VOCABULARY, pieces=(*VOCABULARY.pieces, b"more")).fingerprint != VOCABULARY.fingerprint
    assert replace(VOCABULARY, end_of_generation=frozenset({0})).fingerprint != VOCABULARY.fingerprint
    assert replace(VOCABULARY, begin=None, end=None).fingerprint == VOCABULARY.fingerprint
