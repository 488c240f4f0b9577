"""What the window tells of all that was learned: plain words and numbers, made from the engine's values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from engine.learned import FingerprintPair, LearnedSummary, ProfileSummary
from engine.records import AdapterSummary

_WORDS_PER_TOKEN = 0.75
_MB = 1_000_000
_MONTHS = (  # whatever the locale is
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_STRANGER = "A model that was not used here yet"


@dataclass(frozen=True, slots=True)
class AdapterView:
    """One line of the list; `number` None: the drafter as it came."""

    number: int | None
    name: str
    made: str
    gain: str
    about: str  # how the gain was measured
    is_used: bool


@dataclass(frozen=True, slots=True)
class PairView:
    """The adapters of one drafter for one model's vocabulary."""

    pair: FingerprintPair
    words: str  # which drafter, where that is to be said; else empty
    adapters: tuple[AdapterView, ...]  # newest first; the drafter as it came at the end


@dataclass(frozen=True, slots=True)
class ModelView:
    vocabulary: str
    name: str
    is_loaded: bool
    sentences: str
    details: str
    pairs: tuple[PairView, ...]


@dataclass(frozen=True, slots=True)
class ProfileView:
    """What a profile brings, before it is imported."""

    headline: str
    contents: tuple[str, ...]
    misfits: tuple[str, ...]  # what is not of use here, and why
    replaced: str  # what goes where it takes the place of what is here


def model_views(summary: LearnedSummary, in_use: FingerprintPair | None, loaded: str) -> tuple[ModelView, ...]:
    """The loaded model first. `in_use` is what is loaded, and `loaded` the model's name."""
    views = [_model_view(summary, vocabulary, in_use, loaded) for vocabulary in summary.vocabularies]
    return tuple(sorted(views, key=lambda view: (not view.is_loaded, view.name == _STRANGER, view.name)))


def profile_view(
    profile: ProfileSummary, here: LearnedSummary, in_use: FingerprintPair | None, loaded: str
) -> ProfileView:
    learned = profile.learned
    contents = [
        f"{_name(here, vocabulary, in_use, loaded)}: {_joined(_amounts(learned, vocabulary))}."
        for vocabulary in learned.vocabularies
    ]
    if learned.statistics:
        names = _joined([each.name for each in learned.statistics])
        contents.append(f"Figures of replies by {names}, to be read only: they tell of another machine.")
    return ProfileView(
        f"Made on {day(profile.created_at)} with Slipstream {profile.program}.",
        tuple(contents) or ("Nothing was learned when it was made.",),
        tuple(_misfits(learned, here, in_use)),
        _replaced(here),
    )


def ordinal_of(learned: LearnedSummary, number: int) -> int:
    """What an adapter is called by; its number in the store, where it is not known."""
    known = (each for found in learned.adapters.values() for each in found)
    return next((each.ordinal for each in known if each.number == number), number)


def day(moment: datetime) -> str:
    local = moment.astimezone()
    return f"{local.day} {_MONTHS[local.month - 1]} {local.year}"


def size(num_bytes: int) -> str:
    return f"{num_bytes / _MB:,.1f} MB" if num_bytes >= _MB / 10 else f"{max(1, round(num_bytes / 1000)):,} kB"


def counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _name(summary: LearnedSummary, vocabulary: str, in_use: FingerprintPair | None, loaded: str) -> str:
    names = list(summary.target_names.get(vocabulary, ()))
    if loaded and in_use is not None and in_use[0] == vocabulary:
        names = [loaded, *(name for name in names if name != loaded)]
    return ", ".join(names) or _STRANGER


def _model_view(summary: LearnedSummary, vocabulary: str, in_use: FingerprintPair | None, loaded: str) -> ModelView:
    drafters = sorted(
        (drafter for target, drafter in summary.adapters if target == vocabulary),
        key=lambda drafter: ((vocabulary, drafter) != in_use, drafter),
    )
    pairs = [
        PairView(
            (vocabulary, drafter),
            "" if len(drafters) == 1 and in_use in (None, (vocabulary, drafter)) else _which(drafter, in_use),
            tuple(_adapter_views(summary.adapters[vocabulary, drafter])),
        )
        for drafter in drafters
    ]
    main = summary.adapters[vocabulary, drafters[0]] if drafters else ()
    return ModelView(
        vocabulary,
        _name(summary, vocabulary, in_use, loaded),
        in_use is not None and in_use[0] == vocabulary,
        " ".join(_sentences(summary, vocabulary, main)),
        " · ".join(_details(summary, vocabulary)),
        tuple(pairs),
    )


def _which(drafter: str, in_use: FingerprintPair | None) -> str:
    return "The drafter in use" if in_use is not None and drafter == in_use[1] else "Another drafter"


def _adapter_views(adapters: Sequence[AdapterSummary]) -> Iterator[AdapterView]:
    for each in adapters:
        yield AdapterView(
            each.number,
            f"Adapter {each.ordinal}",
            day(each.created_at),
            f"{each.before:.2f} → {each.after:.2f}",
            f"Guesses that stand in each round, before it learned and with this adapter, on "
            f"{counted(each.num_replies, 'reply', 'replies')} that it did not learn from. It had learned from "
            f"{counted(each.num_learned, 'reply', 'replies')}.",
            each.is_published,
        )
    as_it_came = not any(each.is_published for each in adapters)
    yield AdapterView(None, "The drafter as it came", "", "", "Without anything that it learned.", as_it_came)


def _sentences(summary: LearnedSummary, vocabulary: str, adapters: Sequence[AdapterSummary]) -> Iterator[str]:
    used = next((each for each in adapters if each.is_published), None)
    num_lessons = summary.lessons.get(vocabulary, 0)
    if used is not None:
        yield (
            f"From {counted(used.num_learned, 'reply', 'replies')} the drafter learned to guess {used.after:.2f} "
            f"tokens right per round; before it learned, {used.before:.2f}."
        )
    elif adapters:
        yield "The drafter is used as it came."
    elif num_lessons:
        yield "The drafter has nothing better to show yet; a first result comes after some tens of replies."
    if since := summary.since.get(vocabulary):
        yield f"Learning since {day(since)}."
    if remembered := summary.recall.get(vocabulary):
        num_words = _rounded(remembered.num_tokens * _WORDS_PER_TOKEN)
        yield f"It remembers about {counted(num_words, 'word')} of your chats, to guess what is said again."


def _rounded(number: float) -> int:
    """To two digits: more would say more than is known."""
    digits = max(0, len(str(int(number))) - 2)
    return max(1, int(round(number, -digits)))


def _details(summary: LearnedSummary, vocabulary: str) -> Iterator[str]:
    if num_ngrams := sum(number for (target, _), number in summary.ngrams.items() if target == vocabulary):
        yield counted(num_ngrams, "n-gram")
    if num_lessons := summary.lessons.get(vocabulary):
        yield f"{counted(num_lessons, 'reply', 'replies')} to learn from"
    if num_bytes := summary.num_bytes.get(vocabulary):
        yield size(num_bytes)


def _amounts(learned: LearnedSummary, vocabulary: str) -> list[str]:
    adapters = [each for (target, _), found in learned.adapters.items() if target == vocabulary for each in found]
    used = next((each for each in adapters if each.is_published), None)
    num_ngrams = sum(number for (target, _), number in learned.ngrams.items() if target == vocabulary)
    amounts = []
    if adapters:
        words = counted(len(adapters), "adapter")
        if used is not None:
            replies = counted(used.num_learned, "reply", "replies")
            words += f" ({used.before:.2f} → {used.after:.2f} right guesses per round, from {replies})"
        amounts.append(words)
    if num_ngrams:
        amounts.append(counted(num_ngrams, "n-gram"))
    if texts := learned.recall.get(vocabulary):
        amounts.append(f"{counted(texts.num_texts, 'text')} to recall, of {counted(texts.num_tokens, 'token')}")
    return amounts


def _misfits(learned: LearnedSummary, here: LearnedSummary, in_use: FingerprintPair | None) -> Iterator[str]:
    known = set(here.vocabularies) | ({in_use[0]} if in_use else set())
    if unknown := [vocabulary for vocabulary in learned.vocabularies if vocabulary not in known]:
        what = "One model is" if len(unknown) == 1 else f"{len(unknown):,} models are"
        yield f"{what} not known here; what was learned for such a model waits until one with its vocabulary is loaded."
    if in_use is not None:
        num_others = sum(len(found) for (_, drafter), found in learned.adapters.items() if drafter != in_use[1])
        if num_others:
            what = f"{counted(num_others, 'adapter')} {'was' if num_others == 1 else 'were'}"
            yield f"{what} learned by another drafter than the one in use, and can only be used with that one."


def _replaced(here: LearnedSummary) -> str:
    num_adapters = sum(len(found) for found in here.adapters.values())
    gone = [
        *([counted(num_adapters, "adapter")] if num_adapters else []),
        *([counted(sum(here.ngrams.values()), "n-gram")] if here.ngrams else []),
        "texts that came with an earlier profile",
    ]
    return (
        f"These go, of all models: {_joined(gone)}. Your chats stay, with what is recalled of them and the replies "
        "that are kept to learn from."
    )


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
