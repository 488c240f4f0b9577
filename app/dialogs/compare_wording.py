"""What a comparison says, in words."""

from __future__ import annotations

from collections.abc import Sequence

from engine.comparison import Comparison, RunFigures, Side, TextFork

NUM_REPLIES = 4
HOW_IT_IS_FAIR = (
    "Each side answers twice, in the order plain, sped up, sped up, plain, so that a machine that grows slower or "
    "faster meanwhile does so for both; reading the prompt is not counted."
)
HOW_SPEED_IS_MEASURED = (
    "Tokens written per second, from the end of the prompt to the last token. A round is one pass of the model; "
    "without guesses each brings one token."
)
SIDES = {Side.PLAIN: "plain", Side.SPED_UP: "sped up"}
_NEAR_TIE = 0.5  # between two logits; what rounding moves is far less on most models
_FEW_TOKENS = 32  # of a reply: less is hard to time
_EVEN = 0.02  # about the same speed


def progress_words(side: Side, turn: int, number: int) -> str:
    again = " again, only to measure" if turn else ""
    return f"Reply {number} of {NUM_REPLIES}: {SIDES[side]}{again}."


def running_words(figures: RunFigures) -> str:
    return f"{figures.tokens_per_s:.1f} tok/s  ·  {figures.num_tokens:,} tokens  ·  {figures.seconds:.1f} s"


def side_words(runs: Sequence[RunFigures]) -> str:
    """Of the replies of one side."""
    if not runs:
        return ""
    speeds = " and ".join(f"{run.tokens_per_s:.1f}" for run in runs)
    first = runs[0]
    rounds = f"{first.num_rounds:,} round{'' if first.num_rounds == 1 else 's'}"
    return f"{speeds} tok/s  ·  {first.num_tokens:,} tokens in {rounds}  ·  {first.seconds:.1f} s"


def result(comparison: Comparison) -> str:
    """In a sentence."""
    ratio = comparison.ratio
    if ratio is None:
        if comparison.is_stopped:
            return "Stopped before both sides had answered."
        return "The replies are too short to be timed; try another prompt."
    same = _about_texts(comparison)
    if abs(ratio - 1) < _EVEN:
        return f"About as fast ({ratio:.2f}×); {same}"
    return f"{ratio:.2f}× as fast; {same}" if ratio > 1 else f"{ratio:.2f}× as fast: here guessing cost time; {same}"


def reasons(comparison: Comparison) -> tuple[str, ...]:
    """What is to be known about the result, in sentences."""
    told: list[str] = []
    if comparison.fork is not None:
        told.append(_why(comparison.fork))
    elif not comparison.is_greedy and comparison.ratio is not None:
        told.append(
            "With your sampling, words are drawn by chance and the two sides draw differently: their words need not "
            "be the same, but they are as likely as each other."
        )
    if comparison.sped_up and not sum(run.num_drafted for run in comparison.sped_up):
        told.append("Nothing was guessed: guesses are off for this model, or none promised to pay on this text.")
    if comparison.range is not None:
        told.append("From reply to reply, it was {:.2f}× to {:.2f}×.".format(*comparison.range))
    elif comparison.ratio is not None:
        told.append("Stopped before each side had answered twice, so the ratio is less sure.")
    shortest = min((run.num_tokens for run in (*comparison.plain, *comparison.sped_up)), default=_FEW_TOKENS)
    if comparison.ratio is not None and shortest < _FEW_TOKENS:
        told.append("The reply is short; a longer one is timed better.")
    return tuple(told)


def _about_texts(comparison: Comparison) -> str:
    if not comparison.is_greedy:
        return "the words were drawn by chance."
    if comparison.fork is None:
        return "the texts are the same."
    return f"the texts part after {comparison.fork.num_tokens:,} token{'' if comparison.fork.num_tokens == 1 else 's'}."


def _why(fork: TextFork) -> str:
    gap = fork.logit_gap
    if gap is None:
        return (
            f"There the plain reply {_went_on(fork.plain)} and the other {_went_on(fork.sped_up)}; how likely both "
            "were is not known."
        )
    chances = f"There plain writing {_went_on(fork.plain)} ({fork.plain_chance:.1%}) and the other "
    chances += f"{_went_on(fork.sped_up)} ({fork.sped_up_chance:.1%})"
    if gap <= _NEAR_TIE:
        return (
            f"{chances}: nearly a tie. A pass that checks several guesses rounds a little differently from one that "
            "writes a single token, and a tie may then fall the other way. Both texts are the model's own."
        )
    return f"{chances}. That is more than rounding explains; please report it."


def _went_on(words: str) -> str:
    shown = words.replace("\n", "⏎")
    return f"went on with “{shown}”" if words else "ended"
