"""The words of the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.features.history.figures import Grouping, Paying, Point
from app.text.amounts import day_words, percent_words, span_words
from app.text.benefits import gain_words, kind_words
from app.text.numbers import decimal
from app.text.speed import hindrance_words
from app.text.translation import QT_TRANSLATE_NOOP, Words, translate
from app.text.unseen import wrapped
from engine.values.history import AdapterNote, History, Tally, TotalSpeedup
from engine.values.outlook import Outlook, Span
from engine.values.speed import FASTER, Hindrance

Speed = Words("Speed")
NOTHING = "–"
EMPTY = QT_TRANSLATE_NOOP(
    "Speed",
    "No reply has been stored yet. Send a message; this page will show how fast its reply came, and how fast it "
    "would have come without speed-up.",
)
HOW_COMPARED = QT_TRANSLATE_NOOP(
    "Speed",
    "While replies are written, this computer times the model with and without guesses. The ratio of a reply is "
    "the time its words would have taken without guesses, divided by the average time its passes take on this "
    "computer. The figure shown is the median: half of the replies were faster, half slower, and no single one "
    "counts for more. Replies that kept repeating themselves are left out.\n± is the standard error, from how much "
    "replies differ. Reading the prompt is not counted.",
)
HOW_TIME_IS_PARTED = QT_TRANSLATE_NOOP(
    "Speed",
    "Wall-clock time of writing, from the end of the prompt to the last token. Checking: the model's passes and "
    "the choice of words. Guessing: the drafter and earlier text. Other: everything else.",
)
HOW_LEARNING_IS_TIMED = QT_TRANSLATE_NOOP(
    "Speed", "Time the drafter spent learning while no reply was being written; all models and kinds of text."
)
HOW_SCORED = QT_TRANSLATE_NOOP(
    "Speed",
    "Before the drafter learns from a reply, the passes of the model that the reply would take with its guesses "
    "are counted, four guesses at a time: with the original drafter, and with what it has learned so far. So no "
    "reply it learned from flatters the figures. Reused earlier text is not counted.\n± is the standard error, "
    "from how much chats differ; it takes six chats.",
)
WHERE_IT_PAYS = QT_TRANSLATE_NOOP(
    "Speed",
    "Text that comes again is a reply of which at least half was there before: quoted, corrected or changed text, "
    "whatever its kind. Other replies count by what they mostly are. Where you have no replies yet, the figure is an "
    "estimate: from what passes of the model take on this computer, and how often guesses are usually right.",
)
_SURE = 0.05  # a standard error beyond it leaves a ratio near 1 open


def tool_tip(text: str) -> str:
    """Wraps one of the texts above or in `columns.py`."""
    return wrapped(translate("Speed", text))


def headline(speedup: TotalSpeedup | None, when: str, hindrance: Hindrance = Hindrance.UNKNOWN) -> str:
    """`when`: as in `Over the last 7 days`; `hindrance`: what kept a typical reply from being faster."""
    if speedup is None:
        return Speed.tr("{when} no reply could be compared with writing without speed-up.", when=when)
    ratio, replies = ratio_words(speedup), _replies(speedup.num_replies)
    if abs(speedup.ratio - 1) <= speedup.error > _SURE:
        words = Speed.tr("{when} too little was written to tell whether speed-up helps: {ratio} ({replies}).")
        return words.format(when=when, ratio=ratio, replies=replies)
    words = Speed.tr("{when} a typical reply came {ratio} as fast as without speed-up ({replies}).")
    if abs(speedup.ratio - 1) <= max(speedup.error, 0.005):
        words = Speed.tr("{when} a typical reply came at normal speed: {ratio} ({replies}).")
    why = "" if speedup.ratio > FASTER else hindrance_words(hindrance)
    reason = Speed.tr("Most often, {why}.", why=why) if why else ""
    return " ".join(
        filter(None, (words.format(when=when, ratio=ratio, replies=replies), reason, _saved(speedup.saved_s)))
    )


def _saved(seconds: float) -> str:
    """The time saved; empty below a second."""
    if abs(seconds) < 1:
        return ""
    words = Speed.tr("Together, speed-up saved about {duration}.")
    if seconds < 0:
        words = Speed.tr("Together, speed-up cost about {duration}.")
    return words.format(duration=span_words(abs(seconds)))


def exceptions_words(tally: Tally) -> str:
    """Says which replies were too slow or are left out; empty if none."""
    slow, repeating = tally.num_slow, tally.num_repeating
    sentences = []
    if slow:
        sentences.append(
            Speed.tr(
                "{number} of {replies} (was|were) slower than without speed-up; the log says why.",
                "",
                slow,
                replies=_replies(len(tally.ratios)),
            )
        )
    if repeating:
        sentences.append(
            Speed.tr("{number} repl(y|ies) that kept repeating (itself|themselves) (is|are) left out.", "", repeating)
        )
    return " ".join(sentences)


def thinking_words(tally: Tally) -> str:
    """Says how fast models thought and answered; empty if none thought."""
    if tally.paces is None:
        return ""
    thinking, answering = (decimal(pace, 1) for pace in tally.paces)
    return Speed.tr(
        "Thinking: {thinking} tokens/s ({share} of all tokens); answering: {answering} tokens/s.",
        thinking=thinking,
        share=percent_words(tally.num_thought / tally.num_tokens),
        answering=answering,
    )


def ratio_words(speedup: TotalSpeedup) -> str:
    return (
        f"{decimal(speedup.ratio, 2)}× ± {decimal(speedup.error, 2)}"
        if speedup.error > 0
        else f"{decimal(speedup.ratio, 2)}×"
    )


def paying_rows(paying: Sequence[Paying], outlook: Outlook | None) -> tuple[tuple[str, str], ...]:
    """Kinds of text and their speed-up here, from the user's own replies, else as expected of the model in use."""
    rows = [
        (
            Speed.tr("Text that comes again") if each.kind is None else kind_words(each.kind),
            Speed.tr("{ratio}, {replies}", ratio=ratio_words(each.speedup), replies=_replies(each.speedup.num_replies)),
        )
        for each in paying
    ]
    if outlook is not None and all(each.kind is not None for each in paying):
        rows.insert(0, (Speed.tr("Text that comes again"), _expected(outlook.copies, outlook.name)))
    if outlook is not None and all(each.kind is None for each in paying):
        rows.append((Speed.tr("New text"), _expected(outlook.new_text, outlook.name)))
    return tuple(rows)


def _expected(times: Span, name: str) -> str:
    return Speed.tr(
        "about {middle}× ({low} to {high}), estimated for {model}",
        middle=decimal(times.middle, 1),
        low=decimal(times.low, 1),
        high=decimal(times.high, 1),
        model=name,
    )


def point_words(point: Point, grouping: Grouping) -> str:
    first, last = day_words(point.first.day), day_words(point.last.day)
    when = first if first == last else Speed.tr("{first} to {last}", first=first, last=last)
    if grouping is Grouping.CHAT:
        when = Speed.tr("{number} chat(s), {when}", "", point.num_groups, when=when)
    if isinstance(point.figure, TotalSpeedup):
        ratio, number = ratio_words(point.figure), point.figure.num_replies
        return f"{when}\n" + Speed.tr("{ratio}, {number} repl(y|ies) compared", "", number, ratio=ratio)
    return f"{when}\n" + Speed.tr(
        "{after} tokens per pass with what was learned, {before} without: {gain} ({replies})",
        after=decimal(point.figure.after, 2),
        before=decimal(point.figure.before, 2),
        gain=gain_words(point.figure),
        replies=_replies(point.figure.num_replies),
    )


def plot_words(points: Sequence[Point], grouping: Grouping) -> str:
    """Explains the points of the plot and their height."""
    most = max((point.num_groups for point in points), default=1)
    if grouping is Grouping.WEEK:
        each = Speed.tr("Each point is one week, named after its Monday.")
        if most > 1:
            each = Speed.tr("Each point is up to %n weeks, one after the other.", "", most)
        sides = Speed.tr(
            "Filled points: with what was learned; rings: without. Each reply was scored both ways before the "
            "drafter learned from it."
        )
        return f"{each} {sides}"
    if grouping is Grouping.CHAT:
        each = Speed.tr("Each point is one chat.")
        if most > 1:
            each = Speed.tr("Each point is %n chats, one after the other.", "", most)
    else:
        each = Speed.tr("Each point is one day.")
        if most > 1:
            each = Speed.tr("Each point is up to %n days, one after the other.", "", most)
    return f"{each} {Speed.tr('At 1, speed-up makes no difference.')}"


def note_words(note: AdapterNote) -> str:
    """The label of a line in the plot."""
    if not note.after:
        return Speed.tr("Learned since {day}", day=day_words(note.created_at))
    return Speed.tr(
        "Learned since {day}: {before} → {after} guesses are accepted in a round",
        day=day_words(note.created_at),
        before=decimal(note.before, 2),
        after=decimal(note.after, 2),
    )


def learned_words(history: History) -> tuple[str, ...]:
    """Sentences, then a line for each adapter, newest first."""
    return tuple(_learned(history)) or (Speed.tr("Nothing has been learned yet."),)


def _learned(history: History) -> Iterator[str]:
    if history.num_ngrams:
        number = history.num_ngrams
        yield Speed.tr("{number} word pattern(s) (tells|tell) how your models' words are put together.", "", number)
    if history.num_recall_tokens:
        yield Speed.tr(
            "{tokens} of {messages} are reused when they come up again.",
            tokens=Speed.tr("{number} token(s)", "", history.num_recall_tokens),
            messages=Speed.tr("{number} message(s)", "", history.num_recall_texts),
        )
    seconds = sum(day.seconds for day in history.learning)
    if seconds > 0:
        yield Speed.tr(
            "Since {day}, the drafter has spent {duration} learning while no reply was being written.",
            day=day_words(history.learning[0].day),
            duration=span_words(seconds),
        )
    yield from map(_adapter_words, reversed(history.adapters))


def _adapter_words(note: AdapterNote) -> str:
    if not note.after:
        words = Speed.tr("{day}: learned from {replies}; the next ones will show what that brings.")
    elif note.target_names:
        words = Speed.tr("{day} for {models}: after {replies}, {before} → {after} guesses are accepted in each round.")
        if note.is_published:
            words = Speed.tr(
                "{day} for {models}: after {replies}, {before} → {after} guesses are accepted in each round, in use."
            )
    else:
        words = Speed.tr("{day}: after {replies}, {before} → {after} guesses are accepted in each round.")
        if note.is_published:
            words = Speed.tr("{day}: after {replies}, {before} → {after} guesses are accepted in each round, in use.")
    return words.format(
        day=day_words(note.created_at),
        models=_listed(note.target_names),
        replies=_replies(note.num_learned),
        before=decimal(note.before, 2),
        after=decimal(note.after, 2),
    )


def _listed(names: Sequence[str]) -> str:
    listed = names[0] if names else ""
    for name in names[1:]:
        listed = Speed.tr("{names} and {name}", names=listed, name=name)
    return listed


def _replies(number: int) -> str:
    return Speed.tr("{number} repl(y|ies)", "", number)
