"""Drafters in words: what a choice is called, what is expected of each, and who drafts for a model."""

from __future__ import annotations

from pathlib import Path

from app.text.amounts import percent_words, size_words
from app.text.numbers import decimal
from app.text.translation import QT_TRANSLATE_NOOP, Words, translate, translated
from engine import AUTOMATIC, BUILT_IN, STARTER, STARTER_TORCH
from engine.values.drafters import DrafterChoice, DrafterOffer, DrafterProspect
from engine.values.sentences import capitalized

COLUMNS = (
    (
        QT_TRANSLATE_NOOP("Drafters", "Drafter"),
        QT_TRANSLATE_NOOP("Drafters", "Small models that could guess ahead for this one"),
    ),
    (
        QT_TRANSLATE_NOOP("Drafters", "Expected speed"),
        QT_TRANSLATE_NOOP("Drafters", "Times as fast as without speed-up, based on measurements on this computer"),
    ),
    (
        QT_TRANSLATE_NOOP("Drafters", "First guesses right"),
        QT_TRANSLATE_NOOP("Drafters", "How often its first guess is right, and out of how many"),
    ),
    (
        QT_TRANSLATE_NOOP("Drafters", "Time per guess"),
        QT_TRANSLATE_NOOP("Drafters", "Measured on this computer; “about” means estimated from its size"),
    ),
    (QT_TRANSLATE_NOOP("Drafters", "Memory"), QT_TRANSLATE_NOOP("Drafters", "On top of the model")),
)
NAMES = {
    AUTOMATIC: QT_TRANSLATE_NOOP("Drafters", "Automatic"),
    BUILT_IN: QT_TRANSLATE_NOOP("Drafters", "Built-in"),
    STARTER: QT_TRANSLATE_NOOP("Drafters", "Starter"),
    STARTER_TORCH: QT_TRANSLATE_NOOP("Drafters", "Starter in torch"),
}
Drafters = Words("Drafters")


def choice_words(choice: str) -> str:
    """The name of a choice; a file or folder by its name."""
    if choice in NAMES:
        return translate("Drafters", NAMES[choice])
    path = Path(choice)
    return path.name if path.is_absolute() else choice


def cells(prospect: DrafterProspect, is_chosen: bool) -> tuple[str, ...]:
    """A row of the table with `COLUMNS`."""
    name, seen = translated(prospect.source.name), round(prospect.num_seen)
    right = percent_words(prospect.chance_first)
    expected = Drafters.tr("{share}, expected", share=right)
    step = Drafters.tr("{number} ms", number=decimal(prospect.step_s * 1e3, 1))
    return (
        f"✓ {name}" if is_chosen else name,
        f"{decimal(prospect.speedup, 2)}\u00a0×",
        Drafters.tr("{share} ({number} seen)", "", seen, share=right) if seen else expected,
        step if prospect.is_measured else Drafters.tr("about {step}", step=step),
        size_words(prospect.memory_bytes),
    )


def cannot_learn_words() -> str:
    return Drafters.tr(
        "The drafter in use cannot learn from your chats. Word patterns, earlier text and the reliability of its "
        "guesses are still learned."
    )


def heading(choice: DrafterChoice | None, model: str, is_drafting: bool, awaits: bool) -> str:
    """Says who drafts for the model in use."""
    if choice is None or choice.chosen is None or not (is_drafting or awaits):
        return Drafters.tr("{model} has no drafter at the moment.", model=model)
    label = capitalized(translated(choice.label))
    if awaits:
        return Drafters.tr("{drafter} is being loaded for {model}.", drafter=label, model=model)
    return Drafters.tr("{drafter} guesses ahead for {model}.", drafter=label, model=model)


def drafted_by(own: str | None, choice: DrafterChoice | None) -> str:
    """Says who drafts for one model: `own` is the user's choice for it, `choice` the drafter while it is in use."""
    if own is not None and own != AUTOMATIC:
        return Drafters.tr("{drafter}, chosen for this model", drafter=choice_words(own))
    if choice is None:
        return Drafters.tr("automatic, for this model") if own else Drafters.tr("default")
    if choice.chosen is None:
        return Drafters.tr("none") if choice.is_fixed else Drafters.tr("automatic (none)")
    if choice.is_fixed:
        return Drafters.tr("{drafter}, chosen for all models", drafter=translated(choice.label))
    return Drafters.tr("automatic ({drafter})", drafter=translated(choice.label))


def sibling_words(name: str, size_bytes: int) -> str:
    """Introduces the small model in the details of a large one of its family."""
    return Drafters.tr(
        "{name} ({size}) is a small model of this family that can guess ahead for it. It is offered when you use "
        "this model, if it pays on this computer.",
        name=name,
        size=size_words(size_bytes),
    )


def offer_words(offer: DrafterOffer, model: str) -> str:
    """Says what a small model of the family would bring."""
    now = (
        Drafters.tr("now {now}×", now=decimal(offer.speedup_now, 1))
        if offer.speedup_now > 1
        else Drafters.tr("no drafter now")
    )
    return Drafters.tr(
        "With {name} as its drafter, {model} should be {speedup}× as fast as without speed-up ({now}). The download "
        "is {size}.",
        name=offer.name,
        model=model,
        speedup=decimal(offer.speedup, 1),
        now=now,
        size=size_words(offer.size_bytes),
    )
