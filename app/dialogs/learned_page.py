"""What was learned for each model, and the adapters that the drafter can go back to."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.dialogs.parts import button, words
from app.text.learned import AdapterView, ModelView, PairView
from app.text.marked_words import QT_TRANSLATE_NOOP
from app.text.translation import translate
from app.widgets.layouts import ScrollingPage, in_column, in_row
from app.widgets.parts import ElidedLabel

_ROW_PX = 28
_LINK_PX = 8  # beside the words of a link
_NOTHING = QT_TRANSLATE_NOOP(
    "LearnedPage",
    "Nothing is learned yet. Chat for a while: recall remembers what was said at once, and after some tens of replies "
    "the drafter guesses better too.",
)
_READING = QT_TRANSLATE_NOOP("LearnedPage", "Looking at what is learned…")
_UNREAD = QT_TRANSLATE_NOOP("LearnedPage", "What is learned cannot be read.")


class LearnedPage(ScrollingPage):
    """Shows what it is given.

    Signals:
        adapter_chosen(target, drafter, number): fingerprints of the pair; number None: the drafter as it came.
    """

    adapter_chosen = Signal(str, str, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(translate("LearnedPage", "What is learned"), parent=parent)
        self.cards: tuple[ModelCard, ...] = ()
        self._models: tuple[ModelView, ...] | None = None
        self._is_busy = False
        self._open: set[str] = set()  # vocabularies whose adapters are shown
        self._inside = QWidget(self)
        self._inside.setObjectName("chat")  # on the window's own ground
        self._column = QVBoxLayout(self._inside)
        self._column.setContentsMargins(0, 4, 12, 4)
        self._column.setSpacing(10)
        self.notice = words(self.tr(_READING), self._inside, kind="quiet")
        self._column.addWidget(self.notice)
        self._column.addStretch(1)
        self.setWidget(self._inside)

    def show_models(self, models: tuple[ModelView, ...]) -> None:
        if models == self._models:
            return
        first = self._models is None
        self._models = models
        if first:
            self._open = {model.vocabulary for model in models if model.is_loaded}
        focus = self.focusWidget()
        focused = next((card.vocabulary for card in self.cards if focus is not None and card.isAncestorOf(focus)), "")
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
        """It could not be read; what was shown before stays."""
        if self._models is None:
            self.notice.setText(self.tr(_UNREAD))

    def set_busy(self, is_busy: bool) -> None:
        self._is_busy = is_busy
        for card in self.cards:
            card.set_busy(is_busy)

    def _card(self, model: ModelView) -> ModelCard:
        card = ModelCard(model, model.vocabulary in self._open, self._inside)
        card.adapter_chosen.connect(self.adapter_chosen)
        card.opened.connect(self._note_opened)
        card.set_busy(self._is_busy)
        return card

    @Slot(str, bool)
    def _note_opened(self, vocabulary: str, is_open: bool) -> None:
        (self._open.add if is_open else self._open.discard)(vocabulary)


class ModelCard(QFrame):
    """One model.

    Signals:
        adapter_chosen(target, drafter, number): as of the page.
        opened(vocabulary, is_open): its adapters are shown or hidden.
    """

    adapter_chosen = Signal(str, str, object)
    opened = Signal(str, bool)

    def __init__(self, model: ModelView, is_open: bool, parent: QWidget) -> None:
        super().__init__(parent)
        self.vocabulary = model.vocabulary
        self.setProperty("kind", "card")
        self.use_buttons: list[QPushButton] = []
        name = ElidedLabel(self)
        name.setProperty("kind", "title")
        name.set_words(model.name)
        name.setToolTip(model.name)
        head = in_row([name], spacing=10)
        if model.is_loaded:
            head.addWidget(_label(self.tr("loaded now"), self, "faint"))
        head.addStretch(1)
        column = in_column([head], inside=self, margins=(16, 12, 16, 12), spacing=7)
        if model.sentences:
            column.addWidget(words(model.sentences, self))
        if model.details:
            details = words(model.details, self, kind="faint")
            details.setToolTip(self.tr("What is kept on this machine for models with this vocabulary."))
            column.addWidget(details)
        self._num_adapters = sum(len(pair.adapters) - 1 for pair in model.pairs)
        self.toggle = button("", "fold", self)
        self.toggle.setCheckable(True)
        self.toggle.setVisible(bool(model.pairs))
        self.adapters = QWidget(self)
        self._grid = QGridLayout(self.adapters)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(22)
        self._grid.setVerticalSpacing(3)
        self._grid.setColumnStretch(2, 1)
        for pair in model.pairs:
            self._add_rows(pair, model.name)
        column.addWidget(self.toggle, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self.adapters)
        self.toggle.setChecked(is_open)
        self._show_open(is_open)
        self.toggle.toggled.connect(self._on_toggled)

    def set_busy(self, is_busy: bool) -> None:
        for use in self.use_buttons:
            use.setEnabled(not is_busy)

    def _add_rows(self, pair: PairView, model: str) -> None:
        grid = self._grid
        first = grid.rowCount()
        for column, head in enumerate((pair.words, self.tr("Made"), self.tr("Right guesses per round"))):
            grid.addWidget(_label(head, self.adapters, "faint"), first, column)
        for row, adapter in enumerate(pair.adapters, first + 1):
            name = _label(adapter.name, self.adapters, "")
            if adapter.number is None:
                grid.addWidget(name, row, 0, 1, 3)
            else:
                grid.addWidget(name, row, 0)
                grid.addWidget(_label(adapter.made, self.adapters, "quiet"), row, 1)
                gain = _label(adapter.gain, self.adapters, "quiet")
                gain.setToolTip(adapter.about)
                gain.setAccessibleDescription(adapter.about)
                grid.addWidget(gain, row, 2)
            name.setToolTip(adapter.about)
            grid.addWidget(self._use(pair, adapter, model), row, 3, Qt.AlignmentFlag.AlignRight)
            grid.setRowMinimumHeight(row, _ROW_PX)

    def _use(self, pair: PairView, adapter: AdapterView, model: str) -> QWidget:
        if adapter.is_used:
            used = _label(self.tr("In use"), self.adapters, "title")
            used.setContentsMargins(0, 0, _LINK_PX, 0)
            return used
        use = button(
            self.tr("Use this one") if adapter.number is not None else self.tr("Use it"), "link", self.adapters
        )
        use.setAccessibleName(self.tr("Use for {model}: {adapter}").format(model=model, adapter=adapter.name))
        use.setToolTip(self.tr("From the next reply on. Where learning is on, it goes on from there."))
        target, drafter = pair.pair
        use.clicked.connect(lambda: self.adapter_chosen.emit(target, drafter, adapter.number))
        self.use_buttons.append(use)
        return use

    @Slot(bool)
    def _on_toggled(self, is_open: bool) -> None:
        self._show_open(is_open)
        self.opened.emit(self.vocabulary, is_open)

    def _show_open(self, is_open: bool) -> None:
        self.adapters.setVisible(is_open and bool(self._num_adapters))
        hide, show = (
            self.tr("Hide %n adapter(s)", "", self._num_adapters),
            self.tr("Show %n adapter(s)", "", self._num_adapters),
        )
        self.toggle.setText(hide if is_open else show)


def _label(text: str, parent: QWidget, kind: str) -> QLabel:
    label = QLabel(text, parent, textFormat=Qt.TextFormat.PlainText)
    if kind:
        label.setProperty("kind", kind)
    return label
