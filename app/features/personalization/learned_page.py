"""What was learned for each model, and the adapters that can be used instead."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QWidget

from app.text.benefits import BenefitView
from app.text.learned import AdapterView, ModelView, PairView
from app.text.learning_progress import ProgressView
from app.text.translation import QT_TRANSLATE_NOOP, translate
from app.widgets.layouts import Part, Placed, ScrollingPage, Stretch, add_row, in_column, in_grid, in_row
from app.widgets.parts import ElidedLabel, ProgressLine, button, set_up, words

_ROW_PX = 28
_LINK_PX = 8  # left and right of the words of a link
_NOTHING = QT_TRANSLATE_NOOP(
    "LearnedPage",
    "Nothing has been learned yet. Earlier text is reused from the first chat on.",
)
_READING = QT_TRANSLATE_NOOP("LearnedPage", "Loading…")
_UNREAD = QT_TRANSLATE_NOOP("LearnedPage", "What was learned cannot be read.")


class LearnedPage(ScrollingPage):
    """A card for each model.

    Signals:
        adapter_chosen(target, drafter, number): fingerprints of the pair; number None: the original drafter.
        compare_requested(name, pair): show this model's replies with and without what was learned.
    """

    adapter_chosen = Signal(str, str, object)
    compare_requested = Signal(str, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(translate("LearnedPage", "What was learned"), parent=parent)
        self.cards: tuple[ModelCard, ...] = ()
        self._models: tuple[ModelView, ...] | None = None
        self._is_busy = False
        self._open: set[str] = set()  # vocabularies whose adapters are shown
        self._inside = QWidget(self)
        self._inside.setObjectName("chat")  # for the background of the window
        self.notice = words(self.tr(_READING), self._inside, kind="quiet")
        self._column = in_column([self.notice, Stretch()], inside=self._inside, margins=(0, 4, 12, 4), spacing=10)
        self.setWidget(self._inside)

    def show_models(self, models: tuple[ModelView, ...]) -> None:
        if models == self._models:
            return
        first = self._models is None
        self._models = models
        if first:
            self._open = {model.vocabulary for model in models if model.is_loaded}
        focus = self.focusWidget()
        focused = next((card.vocabulary for card in self.cards if focus is not None and card.isAncestorOf(focus)), None)
        place = self.verticalScrollBar().value()
        for card in self.cards:
            self._column.removeWidget(card)
            card.deleteLater()
        self.cards = tuple(self._card(model) for model in models)
        for index, card in enumerate(self.cards):
            self._column.insertWidget(index, card)
            card.show()
            if card.vocabulary == focused:
                card.toggle.setFocus()
        self.notice.setText(self.tr(_NOTHING))
        self.notice.setVisible(not models)
        self._inside.adjustSize()
        self.verticalScrollBar().setValue(place)

    def show_unread(self) -> None:
        """It could not be read; models that were shown before stay."""
        if self._models is None:
            self.notice.setText(self.tr(_UNREAD))

    def set_busy(self, is_busy: bool) -> None:
        self._is_busy = is_busy
        for card in self.cards:
            card.set_busy(is_busy)

    def _card(self, model: ModelView) -> ModelCard:
        card = ModelCard(model, model.vocabulary in self._open, self._inside)
        card.adapter_chosen.connect(self.adapter_chosen)
        card.compare_requested.connect(self.compare_requested)
        card.opened.connect(self._note_opened)
        card.set_busy(self._is_busy)
        return card

    @Slot(str, bool)
    def _note_opened(self, vocabulary: str, is_open: bool) -> None:
        (self._open.add if is_open else self._open.discard)(vocabulary)


class ModelCard(QFrame):
    """One model.

    Signals:
        adapter_chosen(target, drafter, number), compare_requested(name, pair): as of the page.
        opened(vocabulary, is_open): its adapters are shown or hidden.
    """

    adapter_chosen = Signal(str, str, object)
    compare_requested = Signal(str, object)
    opened = Signal(str, bool)

    def __init__(self, model: ModelView, is_open: bool, parent: QWidget) -> None:
        super().__init__(parent)
        self.vocabulary = model.vocabulary
        self.setProperty("kind", "card")
        self.use_buttons: list[QPushButton] = []
        name = set_up(ElidedLabel(self), kind="title", tip=model.name)
        name.set_words(model.name)
        loaded = [_label(self.tr("loaded now"), self, "faint")] if model.is_loaded else []
        parts: list[Part] = [in_row([name, *loaded, Stretch()], spacing=10)]
        parts += [words(use, self) for use in model.uses]
        if model.sentences:
            parts.append(words(model.sentences, self))
        if model.progress is not None:
            parts.append(self._progress(model.progress))
        told = [(pair.words, pair.benefit) for pair in model.pairs if pair.benefit is not None]
        parts += [self._benefit(which if len(told) > 1 else "", benefit) for which, benefit in told]
        if model.details:
            about = self.tr("What this computer keeps for models with this vocabulary.")
            parts.append(set_up(words(model.details, self), kind="faint", tip=about))
        self._num_adapters = sum(len(pair.adapters) - 1 for pair in model.pairs)
        self.toggle = button("", "fold", self)
        self.toggle.setCheckable(True)
        self.toggle.setVisible(bool(model.pairs))
        self.adapters = QWidget(self)
        self._grid = in_grid([], inside=self.adapters, spacing=(22, 3), stretches=(0, 0, 1))
        for pair in model.pairs:
            self._add_rows(pair, model.name)
        self.compare = button(
            self.tr("Compare with and without"),
            "link",
            self,
            lambda: self.compare_requested.emit(model.name, model.compared),
            tip=self.tr("Shows your last replies one by one, with what was learned and without."),
        )
        self.compare.setVisible(model.compared is not None)
        self.compare.setAccessibleName(self.tr("Compare with and without: {model}").format(model=model.name))
        buttons = in_row([self.toggle, self.compare, Stretch()])
        in_column([*parts, buttons, self.adapters], inside=self, margins=(16, 12, 16, 12), spacing=7)
        self.toggle.setChecked(is_open)
        self._show_open(is_open)
        self.toggle.toggled.connect(self._on_toggled)

    def set_busy(self, is_busy: bool) -> None:
        for use in self.use_buttons:
            use.setEnabled(not is_busy)

    def _progress(self, progress: ProgressView) -> QWidget:
        shown = QWidget(self)
        parts: list[Part] = [words(progress.words, shown)]
        if progress.share is not None:
            bar = ProgressLine(self.tr("Progress towards a first result"), shown)
            bar.show_share(progress.share)
            parts.append(bar)
        if progress.hint:
            parts.append(words(progress.hint, shown, kind="faint"))
        in_column(parts, inside=shown, spacing=6)
        return shown

    def _benefit(self, drafter: str, benefit: BenefitView) -> QWidget:
        table = QWidget(self)
        head = self.tr("{drafter}: tokens per pass").format(drafter=drafter) if drafter else self.tr("Tokens per pass")
        heads = (head, self.tr("Without learning"), self.tr("With learning"), self.tr("Gain"))
        rows = [[_label(text, table, "faint") for text in heads]]
        rows += [[_label(text, table) for text in row] for row in benefit.rows]
        about = self.tr(
            "Tokens that one pass of the model brings: its own and the accepted guesses. ± is the standard error, "
            "from how much chats differ."
        )
        for label in (label for row in rows for label in row):
            set_up(label, tip=about)
        grid = in_grid(rows, spacing=(22, 3), stretches=(0, 0, 0, 1))
        in_column([grid, words(benefit.note, table, kind="faint")], inside=table, spacing=6)
        return table

    def _add_rows(self, pair: PairView, model: str) -> None:
        heads = (pair.words, self.tr("Created"), self.tr("Right guesses in a row"))
        add_row(self._grid, [_label(head, self.adapters, "faint") for head in heads])
        for adapter in pair.adapters:
            name = set_up(_label(adapter.name, self.adapters), tip=adapter.about)
            use = Placed(self._use(pair, adapter, model), alignment=Qt.AlignmentFlag.AlignRight)
            if adapter.number is None:
                row = add_row(self._grid, [Placed(name, columns=3), use])
            else:
                made, gain = (_label(text, self.adapters, "quiet") for text in (adapter.made, adapter.gain))
                set_up(gain, tip=adapter.about, about=adapter.about)
                row = add_row(self._grid, [name, made, gain, use])
            self._grid.setRowMinimumHeight(row, _ROW_PX)

    def _use(self, pair: PairView, adapter: AdapterView, model: str) -> QWidget:
        if adapter.is_used:
            used = _label(self.tr("In use"), self.adapters, "title")
            used.setContentsMargins(0, 0, _LINK_PX, 0)
            return used
        target, drafter = pair.pair
        use = button(
            self.tr("Use this one") if adapter.number is not None else self.tr("Undo learning"),
            "link",
            self.adapters,
            lambda: self.adapter_chosen.emit(target, drafter, adapter.number),
            tip=self.tr("Applies from the next reply on. With learning on, learning continues from here."),
        )
        use.setAccessibleName(self.tr("Use for {model}: {snapshot}").format(model=model, snapshot=adapter.name))
        self.use_buttons.append(use)
        return use

    @Slot(bool)
    def _on_toggled(self, is_open: bool) -> None:
        self._show_open(is_open)
        self.opened.emit(self.vocabulary, is_open)

    def _show_open(self, is_open: bool) -> None:
        self.adapters.setVisible(is_open and bool(self._num_adapters))
        hide = self.tr("Hide %n snapshot(s)", "", self._num_adapters)
        self.toggle.setText(hide if is_open else self.tr("Show %n snapshot(s)", "", self._num_adapters))


def _label(text: str, parent: QWidget, kind: str = "") -> QLabel:
    return set_up(QLabel(text, parent, textFormat=Qt.TextFormat.PlainText), kind=kind)
