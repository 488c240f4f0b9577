"""What everything that is learned about a target's vocabulary is kept under."""

from __future__ import annotations

from engine.numerics.vocabulary_map import fingerprint
from engine.target.interface import Vocabulary


def vocabulary_fingerprint(vocabulary: Vocabulary) -> str:
    """The same for all targets that mean the same by their tokens."""
    return fingerprint(vocabulary.pieces, vocabulary.special | vocabulary.end_of_generation)
