"""What learning brought, in plain words and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.text.amounts import percent_words
from app.text.numbers import decimal
from app.text.translation import QT_TRANSLATE_NOOP, Words, translate
from engine.values.learned import FEWEST_CHATS, RECENT_REPLIES, Benefit, PairBenefit
from engine.values.replies import TextKind

Benefits = Words("Benefits")
KINDS = {
    TextKind.PROSE: QT_TRANSLATE_NOOP("Benefits", "Prose"),
    TextKind.CODE: QT_TRANSLATE_NOOP("Benefits", "Code"),
    TextKind.NUMBERS: QT_TRANSLATE_NOOP("Benefits", "Numbers"),
    TextKind.LISTS: QT_TRANSLATE_NOOP("Benefits", "Lists"),
}
_FINE = 0.01  # errors below that are shown with another digit


@dataclass(frozen=True, slots=True)
class BenefitView:
    """Tokens per pass of the model, with what was learned and without."""

    rows: tuple[tuple[str, str, str, str], ...]  # which replies, without, with, and the gain
    note: str


def kind_words(kind: TextKind | None) -> str:
    """None: all kinds."""
    return Benefits.tr("All kinds") if kind is None else translate("Benefits", KINDS[kind])


def gain_words(benefit: Benefit) -> str:
    """`+12 % ± 2 %`; without an error where it is not known."""
    sign = "+" if benefit.gain >= 0 else "\N{MINUS SIGN}"
    return f"{sign}{_share(benefit)}"


def benefit_cells(benefit: Benefit) -> tuple[str, str, str]:
    """Without, with, and the gain."""
    return decimal(benefit.before, 2), decimal(benefit.after, 2), gain_words(benefit)


def benefit_words(recent: Benefit) -> str:
    """Says what the last replies would have taken without what was learned, as far as that is sure."""
    if recent.error is None:
        return Benefits.tr(
            "It takes replies in {number} chats to tell whether what was learned saves passes of the model.",
            "",
            FEWEST_CHATS,
        )
    if abs(recent.gain) <= recent.error:
        return Benefits.tr(
            "It is too early to tell whether what was learned saves passes of the model: {gain} over your last "
            "{number} repl(y|ies).",
            "",
            recent.num_replies,
            gain=gain_words(recent),
        )
    if recent.gain > 0:
        return Benefits.tr(
            "Without what was learned, your last {number} repl(y|ies) would have taken {share} more passes of the "
            "model.",
            "",
            recent.num_replies,
            share=_share(recent),
        )
    return Benefits.tr(
        "Without what was learned, your last {number} repl(y|ies) would have taken {share} fewer passes of the model; "
        "if that goes on, an earlier snapshot will be used again.",
        "",
        recent.num_replies,
        share=_share(recent),
    )


def benefit_view(benefit: PairBenefit) -> BenefitView | None:
    """None while there are too few chats to tell."""
    if benefit.whole.error is None:
        return None
    few = [kind_words(kind) for kind, each in benefit.kinds.items() if each.error is None]
    note = Benefits.tr(
        "Each reply was scored before the drafter learned from it, so none flatters the figures. Guesses from "
        "earlier text count on both sides."
    )
    if few:
        note = f"{Benefits.tr('Too few chats to tell: {kinds}.', kinds=', '.join(few))} {note}"
    return BenefitView(tuple(_rows(benefit)), note)


def _rows(benefit: PairBenefit) -> Iterator[tuple[str, str, str, str]]:
    whole = benefit.whole
    if whole.num_replies > RECENT_REPLIES:
        yield _row(Benefits.tr("Last {number} replies", "", RECENT_REPLIES), benefit.recent)
    yield _row(Benefits.tr("All {number} replies", "", whole.num_replies), whole)
    for kind, each in benefit.kinds.items():
        if each.error is not None and len(benefit.kinds) > 1:
            words = Benefits.tr("{number} repl(y|ies)", "", each.num_replies)
            yield _row(Benefits.tr("{kind}, {replies}", kind=kind_words(kind), replies=words), each)


def _row(name: str, benefit: Benefit) -> tuple[str, str, str, str]:
    return (name, *benefit_cells(benefit))


def _share(benefit: Benefit) -> str:
    """The gain without its sign."""
    error = benefit.error
    digits = 1 if error is not None and error < _FINE else 0
    share = percent_words(abs(benefit.gain), digits)
    return share if error is None else f"{share} ± {percent_words(error, digits)}"
