"""The words of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.text.amounts import percent_words
from app.text.numbers import decimal
from app.text.speed import hindrance_words, outcome_words
from app.text.translation import QT_TRANSLATE_NOOP, Words
from engine.values.comparison import Comparison, RunFigures, Side, TextFork
from engine.values.speed import SpeedOutcome

Compare = Words("Compare")
NUM_REPLIES = 4
HOW_IT_IS_FAIR = QT_TRANSLATE_NOOP(
    "Compare",
    "Each side answers twice, in the order without, with, with, without, so that a computer that slows down or "
    "speeds up affects both alike. Reading the prompt is not counted.",
)
HOW_SPEED_IS_MEASURED = QT_TRANSLATE_NOOP(
    "Compare",
    "Tokens written per second, from the end of the prompt to the last token. A round is one pass of the model; "
    "without speed-up, each writes one token.",
)
_NEAR_TIE = 0.5  # between two logits; rounding changes them far less on most models
_FEW_TOKENS = 32  # of a reply: a shorter one is hard to time
_EVEN = 0.02  # about the same speed


def progress_words(side: Side, turn: int, number: int) -> str:
    words = {
        (Side.PLAIN, False): Compare.tr("Reply {number} of {total}: plain."),
        (Side.PLAIN, True): Compare.tr("Reply {number} of {total}: plain again, only to measure."),
        (Side.SPED_UP, False): Compare.tr("Reply {number} of {total}: with speed-up."),
        (Side.SPED_UP, True): Compare.tr("Reply {number} of {total}: with speed-up again, only to measure."),
    }
    return words[side, bool(turn)].format(number=number, total=NUM_REPLIES)


def running_words(figures: RunFigures) -> str:
    return Compare.tr(
        "{speed} tok/s  ·  {tokens}  ·  {seconds} s",
        speed=decimal(figures.tokens_per_s, 1),
        tokens=_tokens(figures.num_tokens),
        seconds=decimal(figures.seconds, 1),
    )


def side_words(runs: Sequence[RunFigures]) -> str:
    """Summarizes the replies of one side."""
    if not runs:
        return ""
    first = runs[0]
    speeds = decimal(first.tokens_per_s, 1)
    for run in runs[1:]:
        speeds = Compare.tr("{first} and {second}", first=speeds, second=decimal(run.tokens_per_s, 1))
    return Compare.tr(
        "{speeds} tok/s  ·  {tokens} in {rounds}  ·  {seconds} s",
        speeds=speeds,
        tokens=_tokens(first.num_tokens),
        rounds=Compare.tr("{number} round(s)", "", first.num_rounds),
        seconds=decimal(first.seconds, 1),
    )


def result(comparison: Comparison) -> str:
    """The result in one sentence."""
    ratio = comparison.ratio
    if ratio is None:
        if comparison.is_stopped:
            return Compare.tr("Stopped before both sides had answered.")
        return Compare.tr("The replies are too short to be timed; try another prompt.")
    if abs(ratio - 1) < _EVEN:
        words = Compare.tr("{outcome} ({ratio}×); {texts}")
    elif ratio > 1:
        words = Compare.tr("{ratio}× faster; {texts}")
    else:
        words = Compare.tr("{ratio}× the normal speed: guessing cost time here; {texts}")
    normal = outcome_words(SpeedOutcome.NORMAL)
    return words.format(outcome=normal, ratio=decimal(ratio, 2), texts=_about_texts(comparison))


def reasons(comparison: Comparison) -> tuple[str, ...]:
    """What else to know about the result."""
    return tuple(_reasons(comparison))


def _reasons(comparison: Comparison) -> Iterator[str]:
    if comparison.fork is not None:
        yield _why(comparison.fork)
    elif not comparison.is_greedy and comparison.ratio is not None:
        yield Compare.tr(
            "With your sampling settings, words are drawn at random, so the two texts may differ; both are equally "
            "likely."
        )
    why = hindrance_words(comparison.sped_up[0].hindrance) if comparison.sped_up else ""
    if why and not sum(run.num_drafted for run in comparison.sped_up):
        yield Compare.tr("Nothing was guessed: {why}.", why=why)
    elif why and comparison.ratio is not None and comparison.ratio < 1 + _EVEN:
        yield Compare.tr("Why it was not faster: {why}.", why=why)
    if comparison.range is not None:
        least, most = comparison.range
        yield Compare.tr("Reply by reply, it was {least}× to {most}×.", least=decimal(least, 2), most=decimal(most, 2))
    elif comparison.ratio is not None:
        yield Compare.tr("Stopped before each side had answered twice, so the ratio is less certain.")
    shortest = min((run.num_tokens for run in (*comparison.plain, *comparison.sped_up)), default=_FEW_TOKENS)
    if comparison.ratio is not None and shortest < _FEW_TOKENS:
        yield Compare.tr("The reply is short; a longer one gives a better measurement.")


def _tokens(number: int) -> str:
    return Compare.tr("{number} token(s)", "", number)


def _about_texts(comparison: Comparison) -> str:
    if not comparison.is_greedy:
        return Compare.tr("the words were drawn at random.")
    if comparison.fork is None:
        return Compare.tr("the texts are the same.")
    return Compare.tr("the texts differ after {number} token(s).", "", comparison.fork.num_tokens)


def _why(fork: TextFork) -> str:
    plain, sped_up, gap = _went_on(fork.plain), _went_on(fork.sped_up), fork.logit_gap
    if gap is None or fork.plain_chance is None or fork.sped_up_chance is None:
        return Compare.tr(
            "There, plain writing {plain} and the other {sped_up}; how likely each was is unknown.",
            plain=plain,
            sped_up=sped_up,
        )
    if gap <= _NEAR_TIE:
        words = Compare.tr(
            "There, plain writing {plain} ({plain_chance}) and the other {sped_up} ({sped_up_chance}): nearly a "
            "tie. A pass that checks several guesses rounds slightly differently from one that writes a single "
            "token, so a tie may fall either way. Both texts are the model's own."
        )
    else:
        words = Compare.tr(
            "There, plain writing {plain} ({plain_chance}) and the other {sped_up} ({sped_up_chance}). Rounding "
            "does not explain that; please report it."
        )
    return words.format(
        plain=plain,
        plain_chance=percent_words(fork.plain_chance, 1),
        sped_up=sped_up,
        sped_up_chance=percent_words(fork.sped_up_chance, 1),
    )


def _went_on(words: str) -> str:
    """Continues `{plain}` and `{sped_up}` of other sentences."""
    return Compare.tr("continued with “{words}”", words=words.replace("\n", "⏎")) if words else Compare.tr("ended")
