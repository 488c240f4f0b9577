"""What is learned, in plain words and numbers."""

from __future__ import annotations

from engine.messages.learned import AdapterSummary, ImportOutcome, LearnedSummary, TargetStatistics

_SHORT = 12  # characters of a fingerprint: enough to tell one from another


def learned_lines(learned: LearnedSummary) -> list[str]:
    lines = []
    for vocabulary in learned.vocabularies:
        names = ", ".join(learned.target_names.get(vocabulary, ()))
        lines.append(f"Models with the vocabulary {vocabulary[:_SHORT]}" + (f" ({names})" if names else ""))
        lines += [f"  {line}" for line in _vocabulary_lines(learned, vocabulary)]
    if learned.statistics:
        lines.append("Replies")
        lines += [f"  {_statistics_line(each)}" for each in learned.statistics]
    return lines or ["Nothing is learned yet."]


def outcome_line(outcome: ImportOutcome) -> str:
    if not (outcome.num_ngrams or outcome.num_adapters or outcome.num_published or outcome.num_texts):
        return "All of this was known already."
    new = [
        _counted(outcome.num_ngrams, "n-gram"),
        _counted(outcome.num_adapters, "adapter") + _now_used(outcome.num_published),
        _counted(outcome.num_texts, "text") + " to recall",
    ]
    return f"New: {', '.join(new)}."


def _vocabulary_lines(learned: LearnedSummary, vocabulary: str) -> list[str]:
    lines = []
    for (target, drafter), num_ngrams in sorted(learned.ngrams.items()):
        if target == vocabulary:
            count = _counted(num_ngrams, "n-gram")
            lines.append(f"{count} of the drafter vocabulary {drafter[:_SHORT]}")
    for (target, drafter), adapters in sorted(learned.adapters.items()):
        if target == vocabulary:
            lines.append(f"{_counted(len(adapters), 'adapter')} of the drafter {drafter[:_SHORT]}")
            lines += [f"  {_adapter_line(adapter)}" for adapter in adapters]
    if num_lessons := learned.lessons.get(vocabulary):
        lines.append(f"{_counted(num_lessons, 'reply', 'replies')} to learn from")
    if size := learned.recall.get(vocabulary):
        lines.append(f"{_counted(size.num_texts, 'text')} to recall, of {_counted(size.num_tokens, 'token')}")
    return lines


def _adapter_line(adapter: AdapterSummary) -> str:
    judged = f"{adapter.before:.2f} -> {adapter.after:.2f} tokens accepted per round on {adapter.num_replies} replies"
    made = f"learned from {adapter.num_learned}, {adapter.created_at.astimezone():%Y-%m-%d %H:%M}"
    return f"{adapter.number}: {judged}, {made}" + (", in use" if adapter.is_published else "")


def _statistics_line(statistics: TargetStatistics) -> str:
    parts = [_counted(statistics.num_replies, "reply", "replies"), _counted(statistics.num_tokens, "token")]
    if statistics.tokens_per_round:
        parts.append(f"{statistics.tokens_per_round:.2f} tokens per round")
    if statistics.speedup is not None:
        parts.append(f"{statistics.speedup:.2f}x as fast as without drafts")
    return f"{statistics.name}: {', '.join(parts)}"


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _now_used(num_published: int) -> str:
    return f" ({num_published:,} now in use)" if num_published else ""
