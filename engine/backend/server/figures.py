"""Counts and times of a reply, named as OpenAI and llama-server name them; what only Slipstream knows follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.values.asked import Answered
from engine.values.replies import StopReason

_DIGITS = 3


def usage_of(ended: Sequence[Answered]) -> dict[str, Any]:
    """Token counts of all replies to one request, which share their prompt."""
    prompt = ended[0].statistics.prompt_tokens if len({each.statistics.prompt_tokens for each in ended}) == 1 else None
    prompt = sum(each.statistics.prompt_tokens for each in ended) if prompt is None else prompt
    written = sum(num_written(each) for each in ended)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": written,
        "total_tokens": prompt + written,
        "prompt_tokens_details": {"cached_tokens": num_cached(ended[0])},
        "completion_tokens_details": {
            "reasoning_tokens": sum(thought.num_tokens for each in ended for thought in each.thoughts),
            "accepted_prediction_tokens": sum(each.statistics.num_accepted for each in ended),
            "rejected_prediction_tokens": sum(
                each.statistics.num_drafted - each.statistics.num_accepted for each in ended
            ),
        },
    }


def num_written(ended: Answered) -> int:
    """Tokens of the reply, with the one that ended it."""
    return ended.statistics.reply_tokens + (ended.statistics.stop_reason is StopReason.END)


def num_cached(ended: Answered) -> int:
    return max(0, ended.statistics.prompt_tokens - ended.statistics.evaluated_tokens)


def timings_of(ended: Answered) -> dict[str, Any]:
    """`speedup`: the ratio to plain decoding that the window shows, with its standard error; null where too little is
    known."""
    told = ended.statistics
    verdict = told.verdict
    written = num_written(ended)
    return {
        "cache_n": num_cached(ended),
        "prompt_n": told.evaluated_tokens,
        "prompt_ms": _ms(told.prompt_s),
        "prompt_per_token_ms": _ms(_share(told.prompt_s, told.evaluated_tokens)),
        "prompt_per_second": _rounded(_share(told.evaluated_tokens, told.prompt_s)),
        "predicted_n": written,
        "predicted_ms": _ms(told.reply_s),
        "predicted_per_token_ms": _ms(_share(told.reply_s, written)),
        "predicted_per_second": _rounded(told.tokens_per_s),
        "draft_n": told.num_drafted,
        "draft_n_accepted": told.num_accepted,
        "speedup": None if verdict.ratio is None else _rounded(verdict.ratio),
        "speedup_error": None if verdict.ratio is None else _rounded(verdict.error * verdict.ratio),
        "plain_per_second": verdict.plain_tokens_per_s or None,
        "seed": told.seed or None,
    }


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _ms(seconds: float) -> float:
    return _rounded(1000 * seconds)


def _rounded(value: float) -> float:
    return round(value, _DIGITS)
