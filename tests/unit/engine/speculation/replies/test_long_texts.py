"""Long texts are the same tokens in pieces, and whoever leaves is heard between two of them."""

from __future__ import annotations

import pytest

from engine.speculation.model.interface import Interrupted
from engine.speculation.model.prompt_text import PromptText
from engine.speculation.replies.long_texts import LongTexts
from engine.values.stop_signal import StopSignal
from tests.fakes.target import FakeTarget

WORDS = "the house, being large, has a hall\n" * 2_000


class Counting(FakeTarget):
    """Stops after so many texts. `adds_space`: as SentencePiece does."""

    def __init__(self, adds_space: bool = False) -> None:
        super().__init__()
        self.adds_space, self.stop, self.lengths = adds_space, StopSignal(), list[int]()

    def _tokenize(self, text: str, with_special: bool) -> list[int]:  # noqa: ARG002
        self.lengths.append(len(text))
        if len(self.lengths) == 3:
            self.stop.set()
        return list(f" {text}".encode() if self.adds_space else text.encode())


@pytest.mark.parametrize("adds_space", [False, True])
@pytest.mark.parametrize("text", [WORDS, WORDS.replace("\n", "\n\n"), "é" * 50_000, "short"], ids=range(4))
def test_a_text_in_pieces_spells_the_same(text: str, adds_space: bool) -> None:
    target = Counting(adds_space)
    spelled = LongTexts(target).tokenize(PromptText(text), None)
    assert bytes(spelled) == (f" {text}" if adds_space else text).encode()
    if " " in text:
        assert max(target.lengths) <= 16_000


def test_who_leaves_is_heard_between_two_pieces() -> None:
    target = Counting()
    with pytest.raises(Interrupted):
        LongTexts(target).tokenize(PromptText(WORDS), target.stop)
    assert len(target.lengths) == 3
