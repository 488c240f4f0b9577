"""Answers and modes with known figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from engine.lab.measuring.modes import ModeAnswer
from engine.lab.measuring.prompts import BenchQuestion, ScriptedChat
from engine.speculation.decoding.figures import DecodingFigures, ProposerFigures
from engine.values.stop_signal import StopSignal

TOKENS = (5, 6, 7)


def answer(
    wall_s: float = 1.0,
    tokens: tuple[int, ...] = TOKENS,
    figures: DecodingFigures | None = None,
    prompt: tuple[int, ...] = (1, 2),
    text: str = "said",
) -> ModeAnswer:
    """As many tokens in the rounds as in the reply, and as many passes, unless figures say otherwise."""
    if figures is None:
        figures = DecodingFigures(num_rounds=2, num_written=len(tokens), passes=Counter({1: len(tokens)}))
        figures.pass_s[1] = wall_s
    return ModeAnswer(text, prompt, tokens, 0.5, wall_s, figures)


def drafted() -> DecodingFigures:
    """4 rounds with 10 tokens in a second."""
    return DecodingFigures(
        num_rounds=4,
        num_written=10,
        num_drafted=8,
        num_accepted=6,
        num_steps=9,
        draft_s=0.1,
        translate_s=0.02,
        target_s=0.8,
        accept_s=0.03,
        passes=Counter({1: 1, 3: 2, 5: 1}),
        by_proposer={"drafter": ProposerFigures(3, 8, 6)},
    )


class FakeMode:
    """Implements `engine.lab.measuring.modes.Mode`; writes down what it is asked."""

    def __init__(self, name: str, log: list[tuple[str, str]], answers: Callable[[BenchQuestion], ModeAnswer]) -> None:
        self._name = name
        self._log = log
        self._answers = answers
        self.questions: list[BenchQuestion] = []

    def answer(self, question: BenchQuestion, stop: StopSignal) -> ModeAnswer:  # noqa: ARG002
        self._log.append((self._name, question.id))
        self.questions.append(question)
        return self._answers(question)


def chat(name: str, *prompts: str, task: str = "") -> ScriptedChat:
    return ScriptedChat(name, task, (), prompts or ("Hello?",))
