"""What the page says, in words."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from app.amounts import day_words
from app.dialogs.history.figures import Grouping, Point, Row
from engine.history import AdapterNote, History, Tally, TotalSpeedup
from engine.records import TextKind

NOTHING = "–"
KINDS = {TextKind.PROSE: "Prose", TextKind.CODE: "Code", TextKind.NUMBERS: "Numbers", TextKind.LISTS: "Lists"}
ALL_KINDS = "All kinds"
EMPTY = (
    "No reply has been kept yet. Write a message in a chat; how fast its reply came will be shown here, and how fast "
    "it would have come without guesses."
)
HOW_COMPARED = (
    "While a reply is written, some passes are made without guesses; they tell how fast this machine writes without "
    "them. The ratio is what the same words would have taken at that speed, divided by what they took. A long reply "
    "counts for more than a short one.\n"
    "± is the standard error: it comes from how far the replies are from one another, and from how well the plain "
    "speed is known. Reading the prompt is not counted."
)
HOW_TIME_IS_PARTED = (
    "Wall-clock time of writing, from the end of the prompt to the last token. Checking: the model's passes and the "
    "choice of words. Guessing: the drafter and recall. Other: everything else."
)
HOW_LEARNING_IS_TIMED = "Time in which the drafter learned, while no reply was being written; of all models and kinds."
_SURE = 0.05  # a standard error beyond it leaves a ratio near 1 open
_CSV_FIELDS = (
    *("model", "kind", "replies", "tokens", "seconds", "tokens_per_s", "ratio", "ratio_error", "compared_replies"),
    *("saved_s", "tokens_per_round", "accepted_share", "drafter_share", "recall_share"),
)


def headline(speedup: TotalSpeedup | None, when: str) -> str:
    """`when`: as in `Over the last 7 days`."""
    if speedup is None:
        return f"{when} no reply could be compared with writing without guesses."
    replies = count(speedup.num_replies, "reply", "replies")
    if abs(speedup.ratio - 1) <= speedup.error > _SURE:
        return f"{when} too little was written to tell whether guesses help: {ratio_words(speedup)} ({replies})."
    if abs(speedup.ratio - 1) <= max(speedup.error, 0.005):
        return f"{when} replies came about as fast as without guesses: {ratio_words(speedup)} ({replies})."
    came = f"{when} replies came {ratio_words(speedup)} as fast as without guesses ({replies})"
    if speedup.saved_s >= 0:
        return f"{came}; about {duration(speedup.saved_s)} saved."
    return f"{came}; guessing cost about {duration(-speedup.saved_s)}."


def ratio_words(speedup: TotalSpeedup) -> str:
    return f"{speedup.ratio:.2f}× ± {speedup.error:.2f}" if speedup.error > 0 else f"{speedup.ratio:.2f}×"


def duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds:.1f} seconds"
    if seconds < 60:
        return count(round(seconds), "second", "seconds")
    minutes = round(seconds / 60)
    if minutes < 60:
        return count(minutes, "minute", "minutes")
    if minutes < 600:
        hours, minutes = divmod(minutes, 60)
        return f"{hours} h {minutes} min" if minutes else count(hours, "hour", "hours")
    return count(round(seconds / 3600), "hour", "hours")


def count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def point_words(point: Point, grouping: Grouping) -> str:
    first, last = day_words(point.first.day), day_words(point.last.day)
    when = first if first == last else f"{first} to {last}"
    if grouping is Grouping.CHAT:
        when = f"{count(point.num_groups, 'chat', 'chats')}, {when}"
    return f"{when}\n{ratio_words(point.speedup)}, {count(point.speedup.num_replies, 'reply', 'replies')} compared"


def plot_words(points: Sequence[Point], grouping: Grouping) -> str:
    """What a point stands for."""
    most = max((point.num_groups for point in points), default=1)
    if grouping is Grouping.CHAT:
        return "Each point is one chat." if most == 1 else f"Each point is {most} chats, one after the other."
    return "Each point is one day." if most == 1 else f"Each point is up to {most} days, one after the other."


def note_words(note: AdapterNote) -> str:
    """Of a line in the plot."""
    return f"Learned since {day_words(note.created_at)}: {note.before:.2f} → {note.after:.2f} guesses stand in a round"


def cells(row: Row) -> tuple[str, ...]:
    """In the order of the table's columns."""
    tally, speedup = row.tally, row.tally.speedup
    accepted = tally.accepted_share
    return (
        ALL_KINDS if row.kind is None else KINDS[row.kind],
        f"{tally.num_replies:,}",
        f"{tally.num_tokens:,}",
        f"{tally.tokens_per_s:.1f}" if tally.num_timed else NOTHING,
        NOTHING if speedup is None else ratio_words(speedup),
        f"{tally.tokens_per_round:.2f}" if tally.num_rounds else NOTHING,
        NOTHING if accepted is None else f"{accepted:.0%}",
        who_guessed(tally),
    )


def who_guessed(tally: Tally) -> str:
    known = tally.drafter_accepted + tally.recall_accepted
    if not known:
        return NOTHING
    return f"Drafter {tally.drafter_accepted / known:.0%}, recall {tally.recall_accepted / known:.0%}"


def learned_words(history: History) -> tuple[str, ...]:
    """Sentences, and then a line for each adapter, newest first."""
    lines = []
    if history.num_ngrams:
        lines.append(
            f"{count(history.num_ngrams, 'n-gram', 'n-grams')} tell how words of your models are put together."
        )
    if history.num_recall_tokens:
        words, texts = count(history.num_recall_tokens, "token", "tokens"), history.num_recall_texts
        lines.append(f"{words} of {count(texts, 'message', 'messages')} can be recalled when they come up again.")
    seconds = sum(day.seconds for day in history.learning)
    if seconds > 0:
        first = day_words(history.learning[0].day)
        lines.append(f"Since {first} the drafter has spent {duration(seconds)} learning, while nobody waited.")
    for note in reversed(history.adapters):
        state = ", in use" if note.is_published else ""
        models = f" for {' and '.join(note.target_names)}" if note.target_names else ""
        lines.append(
            f"{day_words(note.created_at)}{models}: after {count(note.num_learned, 'reply', 'replies')}, "
            f"{note.before:.2f} → {note.after:.2f} guesses stand in each round{state}."
        )
    return tuple(lines) or ("Nothing has been learned yet.",)


def csv_text(rows: Iterable[Row]) -> str:
    """The table with all its digits; a field is empty where nothing is known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CSV_FIELDS)
    for row in rows:
        tally, speedup = row.tally, row.tally.speedup
        guessed = tally.drafter_accepted + tally.recall_accepted
        ratio = (
            ("", "", 0, "")
            if speedup is None
            else (_exact(speedup.ratio), _exact(speedup.error), speedup.num_replies, _exact(speedup.saved_s))
        )
        writer.writerow(
            (
                *(row.target_name, "all" if row.kind is None else row.kind.value, tally.num_replies, tally.num_tokens),
                *(_exact(tally.seconds), _exact(tally.tokens_per_s) if tally.num_timed else "", *ratio),
                _exact(tally.tokens_per_round) if tally.num_rounds else "",
                "" if tally.accepted_share is None else _exact(tally.accepted_share),
                _exact(tally.drafter_accepted / guessed) if guessed else "",
                _exact(tally.recall_accepted / guessed) if guessed else "",
            )
        )
    return text.getvalue()


def _exact(number: float) -> str:
    return f"{number:.6g}"
