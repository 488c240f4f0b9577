"""All that was learned, in plain words and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.text.amounts import day_words, size_words
from app.text.benefits import BenefitView, benefit_view, benefit_words
from app.text.learning_progress import ProgressView
from app.text.model_use import use_words
from app.text.numbers import decimal
from app.text.translation import Words
from engine.values.learned import (
    AdapterSummary,
    FingerprintPair,
    ImportOutcome,
    LearnedSummary,
    ModelUse,
    ProfileSummary,
    RecallSize,
)

_WORDS_PER_TOKEN = 0.75
Learned = Words("Learned")


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """The model in use, where this computer runs it, and its drafter."""

    name: str = ""
    vocabulary: str = ""  # its fingerprint; empty: no model is in use here
    pair: FingerprintPair | None = None  # None: nothing drafts for it
    identity: str = ""


@dataclass(frozen=True, slots=True)
class AdapterView:
    """One line of the list; `number` None: the original drafter."""

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
    words: str  # which drafter, where there are several; else empty
    adapters: tuple[AdapterView, ...]  # newest first; the original drafter at the end
    benefit: BenefitView | None  # None: too few chats to tell


@dataclass(frozen=True, slots=True)
class ModelView:
    vocabulary: str  # empty: unknown
    name: str
    is_loaded: bool
    uses: tuple[str, ...]  # how each model of this vocabulary was used
    sentences: str
    details: str
    pairs: tuple[PairView, ...]
    progress: ProgressView | None = None  # towards a first result
    compared: FingerprintPair | None = None  # whose replies can be compared with and without what was learned


@dataclass(frozen=True, slots=True)
class ProfileView:
    """What a profile contains, before it is imported."""

    headline: str
    contents: tuple[str, ...]
    misfits: tuple[str, ...]  # what cannot be used here, and why
    replaced: str  # what is deleted if it replaces what was learned here


def model_views(
    summary: LearnedSummary, loaded: ModelInUse, progress: ProgressView | None = None
) -> tuple[ModelView, ...]:
    """Views of all models that were used or learned from, with the loaded one first; `progress` is its own."""
    known = {*summary.vocabularies, loaded.vocabulary, *(use.vocabulary for use in summary.models)} - {""}
    views = [_model_view(summary, vocabulary, loaded, progress) for vocabulary in known]
    views += [_view_of_use(use, loaded) for use in summary.models if not use.vocabulary]
    return tuple(sorted(views, key=lambda view: (not view.is_loaded, view.name == _unknown(), view.name)))


def profile_view(profile: ProfileSummary, here: LearnedSummary, loaded: ModelInUse) -> ProfileView:
    learned = profile.learned
    contents = [
        Learned.tr(
            "{model} ({place}): {amounts}.",
            model=_name(here if vocabulary in here.target_names else learned, vocabulary, loaded),
            place=_place(vocabulary, here, loaded),
            amounts=_joined([*_amounts(learned, vocabulary)]),
        )
        for vocabulary in learned.vocabularies
    ]
    if learned.statistics:
        names = _joined([each.name for each in learned.statistics])
        contents.append(
            Learned.tr("Speed of {names}, for information only: it was measured on another computer.", names=names)
        )
    made = day_words(profile.created_at)
    return ProfileView(
        Learned.tr("Created on {day} with Slipstream {version}.", day=made, version=profile.program),
        tuple(contents) or (Learned.tr("Nothing had been learned when it was created."),),
        tuple(_misfits(learned, here, loaded)),
        _replaced(here),
    )


def ordinal_of(learned: LearnedSummary, number: int) -> int:
    """The adapter's ordinal; its number in the store if that is unknown."""
    known = (each for found in learned.adapters.values() for each in found)
    return next((each.ordinal for each in known if each.number == number), number)


def outcome_words(outcome: ImportOutcome) -> str:
    if not (outcome.num_ngrams or outcome.num_adapters or outcome.num_published or outcome.num_texts):
        return Learned.tr("All of it is already here.")
    adapters = _adapters(outcome.num_adapters)
    if outcome.num_published:
        adapters = Learned.tr("{snapshots} (%n now in use)", "", outcome.num_published, snapshots=adapters)
    texts = Learned.tr("{number} text(s) to reuse", "", outcome.num_texts)
    return Learned.tr("New: {amounts}.", amounts=", ".join((_ngrams(outcome.num_ngrams), adapters, texts)))


def kept_words(summary: LearnedSummary, loaded: ModelInUse) -> str:
    """Says what is reused of stored chats; empty if nothing."""
    sizes = [size for size in summary.recall.values() if size.num_chats]
    if not sizes:
        return ""
    size = summary.recall.get(loaded.vocabulary, max(sizes, key=lambda size: size.num_chats))
    return Learned.tr(
        "Still reused to guess ahead: the text of {amount}. To erase it too, delete the chats or forget everything.",
        amount=_text(size),
    )


def _name(summary: LearnedSummary, vocabulary: str, loaded: ModelInUse) -> str:
    names = list(summary.target_names.get(vocabulary, ()))
    if loaded.name and loaded.vocabulary == vocabulary:
        names = [loaded.name, *(name for name in names if name != loaded.name)]
    return ", ".join(names) or _unknown()


def _place(vocabulary: str, here: LearnedSummary, loaded: ModelInUse) -> str:
    if vocabulary == loaded.vocabulary:
        return Learned.tr("loaded now")
    return Learned.tr("used here") if vocabulary in here.used_here else Learned.tr("not used here yet")


def _unknown() -> str:
    return Learned.tr("A model that was not used here")


def _view_of_use(use: ModelUse, loaded: ModelInUse) -> ModelView:
    is_loaded = bool(use.identity) and use.identity == loaded.identity
    return ModelView("", use.name, is_loaded, (use_words(use),), "", "", ())


def _uses(summary: LearnedSummary, vocabulary: str, name: str) -> Iterator[str]:
    """With their names, where the card has another one."""
    for use in summary.models:
        if use.vocabulary == vocabulary:
            words = use_words(use)
            yield words if use.name == name else Learned.tr("{model}: {words}", model=use.name, words=words)


def _model_view(
    summary: LearnedSummary, vocabulary: str, loaded: ModelInUse, progress: ProgressView | None
) -> ModelView:
    in_use, is_loaded = loaded.pair, vocabulary == loaded.vocabulary
    drafters = sorted(
        (drafter for target, drafter in summary.adapters if target == vocabulary),
        key=lambda drafter: ((vocabulary, drafter) != in_use, drafter),
    )
    pairs = [
        PairView(
            (vocabulary, drafter),
            "" if len(drafters) == 1 and in_use in (None, (vocabulary, drafter)) else _which(drafter, in_use),
            tuple(_adapter_views(summary.adapters[vocabulary, drafter])),
            benefit_view(summary.benefits[vocabulary, drafter]) if (vocabulary, drafter) in summary.benefits else None,
        )
        for drafter in drafters
    ]
    main = pairs[0].pair if pairs else (vocabulary, "")
    compared = [pair for pair in summary.benefits if pair[0] == vocabulary]
    name = _name(summary, vocabulary, loaded)
    return ModelView(
        vocabulary,
        name,
        is_loaded,
        tuple(_uses(summary, vocabulary, name)),
        " ".join(_sentences(summary, main, is_loaded)),
        " · ".join(_details(summary, vocabulary)),
        tuple(pairs),
        progress if is_loaded else None,
        min(compared, key=lambda pair: (pair != in_use, pair != main, pair), default=None),
    )


def _which(drafter: str, in_use: FingerprintPair | None) -> str:
    if in_use is not None and drafter == in_use[1]:
        return Learned.tr("The drafter in use")
    return Learned.tr("Another drafter")


def _adapter_views(adapters: Sequence[AdapterSummary]) -> Iterator[AdapterView]:
    for each in adapters:
        judged = Learned.tr("What it brings is measured with the next replies.")
        if each.is_measured:
            judged = Learned.tr(
                "Right guesses in a row, before learning and with this snapshot, in {number} repl(y|ies) that it did "
                "not learn from.",
                "",
                each.num_replies,
            )
        if each.is_measured and each.error:
            judged += " " + Learned.tr("The error of the difference is ±{error}.", error=decimal(each.error, 2))
        made = Learned.tr("It had learned from {number} repl(y|ies).", "", each.num_learned)
        yield AdapterView(
            each.number,
            Learned.tr("Snapshot {number}", number=str(each.ordinal)),
            day_words(each.created_at),
            f"{decimal(each.before, 2)} → {decimal(each.after, 2)}" if each.is_measured else "",
            f"{judged} {made}",
            each.is_published,
        )
    is_original = not any(each.is_published for each in adapters)
    name, about = Learned.tr("Original drafter"), Learned.tr("As it was before it learned anything.")
    yield AdapterView(None, name, "", "", about, is_original)


def _sentences(summary: LearnedSummary, pair: FingerprintPair, is_loaded: bool) -> Iterator[str]:
    vocabulary, adapters, benefit = pair[0], summary.adapters.get(pair, ()), summary.benefits.get(pair)
    used = _published(adapters)
    if used is not None and benefit is not None and benefit.whole.error is not None:
        yield Learned.tr("The drafter has learned from {number} repl(y|ies).", "", used.num_learned)
        yield benefit_words(benefit.recent)
    elif used is not None and not used.is_measured:
        yield Learned.tr(
            "After {number} repl(y|ies), the drafter has improved; the next ones will show by how much.",
            "",
            used.num_learned,
        )
    elif used is not None:
        yield Learned.tr(
            "After {number} repl(y|ies), the drafter guesses {after} tokens right in a row, up from {before}.",
            "",
            used.num_learned,
            after=decimal(used.after, 2),
            before=decimal(used.before, 2),
        )
    elif adapters:
        yield Learned.tr("The original drafter is in use.")
    elif not is_loaded and (num_scored := sum(n for (target, _), n in summary.scored.items() if target == vocabulary)):
        yield Learned.tr(
            "{number} repl(y|ies) (has|have) been scored towards a first result of learning, which goes on once this "
            "model is loaded.",
            "",
            num_scored,
        )
    if since := summary.since.get(vocabulary):
        yield Learned.tr("Learning since {day}.", day=day_words(since))
    if recalled := summary.recall.get(vocabulary):
        yield Learned.tr("Earlier text ready to be reused: {amount}.", amount=_text(recalled))
    else:
        yield Learned.tr("Earlier text is reused from the first chat on.")


def _text(size: RecallSize) -> str:
    """Says how much text is reused; text from a profile belongs to no chat."""
    num_words = Learned.tr("about {number} word(s)", "", _rounded(size.num_tokens * _WORDS_PER_TOKEN))
    if not size.num_chats:
        return num_words
    return Learned.tr("{number} chat(s), {words}", "", size.num_chats, words=num_words)


def _published(adapters: Sequence[AdapterSummary]) -> AdapterSummary | None:
    return next((each for each in adapters if each.is_published), None)


def _rounded(number: float) -> int:
    """Two significant digits, the precision of the estimate."""
    digits = max(0, len(str(int(number))) - 2)
    return max(1, int(round(number, -digits)))


def _details(summary: LearnedSummary, vocabulary: str) -> Iterator[str]:
    if num_ngrams := _num_ngrams(summary, vocabulary):
        yield _ngrams(num_ngrams)
    if num_lessons := summary.lessons.get(vocabulary):
        yield Learned.tr("{number} repl(y|ies) to learn from", "", num_lessons)
    if num_self_distilled := summary.self_distilled.get(vocabulary):
        yield Learned.tr("{number} practised", "", num_self_distilled)
    if num_bytes := summary.num_bytes.get(vocabulary):
        yield size_words(num_bytes)


def _num_ngrams(learned: LearnedSummary, vocabulary: str) -> int:
    return sum(number for (target, _), number in learned.ngrams.items() if target == vocabulary)


def _amounts(learned: LearnedSummary, vocabulary: str) -> Iterator[str]:
    adapters = [each for (target, _), found in learned.adapters.items() if target == vocabulary for each in found]
    used = _published(adapters)
    if used is not None and used.is_measured:
        yield Learned.tr(
            "{snapshots} ({before} → {after} right guesses in a row, from {number} repl(y|ies))",
            "",
            used.num_learned,
            snapshots=_adapters(len(adapters)),
            before=decimal(used.before, 2),
            after=decimal(used.after, 2),
        )
    elif adapters:
        yield _adapters(len(adapters))
    if num_ngrams := _num_ngrams(learned, vocabulary):
        yield _ngrams(num_ngrams)
    if texts := learned.recall.get(vocabulary):
        tokens = Learned.tr("{number} token(s)", "", texts.num_tokens)
        yield Learned.tr("{number} text(s) to reuse, of {tokens}", "", texts.num_texts, tokens=tokens)


def _misfits(learned: LearnedSummary, here: LearnedSummary, loaded: ModelInUse) -> Iterator[str]:
    in_use = loaded.pair
    if not {*learned.vocabularies} <= here.used_here | {loaded.vocabulary}:
        yield Learned.tr(
            "What was learned for a model not used here yet takes effect once a model with its vocabulary is loaded."
        )
    if in_use is not None:
        num_others = sum(len(found) for (_, drafter), found in learned.adapters.items() if drafter != in_use[1])
        if num_others:
            yield Learned.tr(
                "%n snapshot(s) (belongs|belong) to another drafter and can only be used with that one.",
                "",
                num_others,
            )


def _replaced(here: LearnedSummary) -> str:
    num_adapters = sum(len(found) for found in here.adapters.values())
    gone = [
        *([_adapters(num_adapters)] if num_adapters else []),
        *([_ngrams(sum(here.ngrams.values()))] if here.ngrams else []),
        Learned.tr("texts from an earlier profile"),
    ]
    return Learned.tr(
        "This deletes, for all models: {amounts}. Your chats stay, with the text to reuse and the replies to "
        "learn from.",
        amounts=_joined(gone),
    )


def _adapters(number: int) -> str:
    return Learned.tr("{number} snapshot(s)", "", number)


def _ngrams(number: int) -> str:
    return Learned.tr("{number} word pattern(s)", "", number)


def _joined(words: Sequence[str]) -> str:
    if len(words) == 1:
        return words[0]
    return Learned.tr("{some} and {last}", some=", ".join(words[:-1]), last=words[-1])
