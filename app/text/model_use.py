"""How a model was used here, in plain words and numbers."""

from __future__ import annotations

from collections.abc import Iterator

from app.text.amounts import percent_words, span_words
from app.text.numbers import decimal
from app.text.speed import written_words
from app.text.translation import Words
from engine.values.learned import ModelUse

Use = Words("Use")
_LEAST_S = 0.5  # that is told as saved


def use_words(use: ModelUse) -> str:
    """Says how much it wrote, how fast, and what was saved by reusing earlier text."""
    return " ".join(_sentences(use))


def _sentences(use: ModelUse) -> Iterator[str]:
    replies = Use.tr("{number} repl(y|ies)", "", use.num_replies)
    tokens = Use.tr("{number} token(s)", "", use.num_tokens)
    yield Use.tr("{replies} with {tokens}.", replies=replies, tokens=tokens)
    yield _speed(use)
    if use.is_remote:
        yield Use.tr("It runs on a server, so nothing is guessed ahead here.")
        return
    if not use.num_recalled:
        yield Use.tr("No token was guessed from earlier text yet.")
        return
    share = percent_words(use.num_recalled / use.num_tokens)
    yield Use.tr("{number} token(s) ({share}) (was|were) guessed from earlier text.", "", use.num_recalled, share=share)
    if use.recall_saved_s is not None:
        yield _saved(*use.recall_saved_s)


def _speed(use: ModelUse) -> str:
    if use.speedup is not None:
        ratio, error = use.speedup
        about = f"{decimal(ratio, 2)}×" + (f" ± {decimal(error, 2)}" if error > 0 else "")
        return Use.tr("A typical reply came {ratio} as fast as without speed-up.", ratio=about)
    if use.tokens_per_s <= 0:
        return Use.tr("How fast it writes is not known yet.")
    speed = written_words(use.tokens_per_s)
    if use.is_remote:
        return Use.tr("It writes {speed}.", speed=speed)
    return Use.tr("It writes {speed}; its speed without speed-up is not known yet.", speed=speed)


def _saved(lately_s: float, whole_s: float) -> str:
    if whole_s < _LEAST_S:
        return Use.tr("That has saved no time yet.")
    if lately_s < _LEAST_S:
        return Use.tr("That saved {whole} in all, and no time in the last 7 days.", whole=span_words(whole_s))
    lately, whole = span_words(lately_s), span_words(whole_s)
    return Use.tr("That saved {lately} in the last 7 days, {whole} in all.", lately=lately, whole=whole)
