"""Who drafts: what is known of all candidates, and the user's choice."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QWidget

from app.features.drafter.drafter_choice import DrafterChoiceForm
from app.text.drafters import COLUMNS, cells, offer_words
from app.text.translation import QT_TRANSLATE_NOOP, translate, translated
from app.widgets.appearance import restyle
from app.widgets.dialog_parts import Dialog, fill_dialog
from app.widgets.layouts import Part, Placed, Stretch, in_row
from app.widgets.parts import ProgressLine, announce, button, line, show_text, words
from app.widgets.table import Heading, Table
from engine.values.drafters import DrafterChoice, DrafterOffer

_MOST_ROWS_SHOWN = 5
_LEAST_LETTERS = 9  # of a column


class DrafterTable(Table):
    """The best one first, the chosen one in bold. Hidden while empty."""

    def __init__(self, parent: QWidget | None = None) -> None:
        headings = [
            Heading(translate("Drafters", title), translate("Drafters", about), is_words=not number)
            for number, (title, about) in enumerate(COLUMNS)
        ]
        super().__init__(headings, _MOST_ROWS_SHOWN, _LEAST_LETTERS, parent, first_grows=True)
        self.setAccessibleName(self.tr("Drafters for this model"))
        self.hide()

    def show_choice(self, choice: DrafterChoice | None) -> None:
        prospects = choice.prospects if choice is not None else ()
        self.setRowCount(len(prospects))
        for number, prospect in enumerate(prospects):
            is_chosen = choice is not None and prospect.source == choice.chosen
            self.show_row(number, cells(prospect, is_chosen), tip=translated(prospect.source.name), is_bold=is_chosen)
        self.setVisible(bool(prospects))
        self._fit()


_WIDTH_PX = 680
_ABOUT = QT_TRANSLATE_NOOP(
    "DrafterDialog",
    "A drafter guesses the next words, and your model checks them. The drafter affects how fast replies are "
    "written, not what they say.",
)


class DrafterDialog(Dialog):
    """Shows who drafts for the model in use, and takes another choice. It stays open while a drafter is downloaded; the
    download goes on when it is closed."""

    # a choice in words, empty where nothing is filled in; whether it is for the model in use only
    chosen = Signal(str, bool)
    offer_taken = Signal(str)  # download this small model, by its name on the hub
    cancel_requested = Signal()  # stop the download

    def __init__(self, hub_examples: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__((_WIDTH_PX, 0), parent)
        self.setWindowTitle(self.tr("Drafter"))
        self.heading = words("", self, kind="title")
        self.state = words("", self)
        self.table = DrafterTable(self)
        self._offer: DrafterOffer | None = None
        self.offer = QFrame(self)
        self.offer.setProperty("kind", "card")
        self.offer_words = words("", self.offer)
        self.offer_button = button(self.tr("Download and use it"), "outlined", self.offer, self._on_offer)
        self.form = DrafterChoiceForm(hub_examples, self)
        self.words = words("", self)
        self.progress = ProgressLine(self.tr("Downloading the drafter"), self)
        self.cancel_button = button(self.tr("Stop the download"), "link", self, self._on_cancel)
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        self.use_button = button(self.tr("Use"), "outlined", self, self._on_use)
        self.use_button.setDefault(True)
        self._arrange()
        self.show_state("", "")
        self.show_choice(None, "")
        self.show_words("")
        self.show_downloading(False)

    def show_state(self, heading: str, state: str) -> None:
        """Says who drafts now, and why."""
        self.heading.setText(heading)
        show_text(self.state, state)

    def show_choice(self, choice: DrafterChoice | None, model: str) -> None:
        """Shows all drafters known for the model in use, and what is offered for it."""
        self.table.show_choice(choice)
        self._offer = None if choice is None else choice.offer
        self.offer.setVisible(self._offer is not None)
        if self._offer is not None:
            self.offer_words.setText(offer_words(self._offer, model))

    def show_words(self, text: str) -> None:
        """Shows the state of the download, or the outcome of the user's choice."""
        show_text(self.words, text)
        restyle(self.words, kind="")

    def show_problem(self, sentence: str) -> None:
        """Shows why the choice cannot be used."""
        self.show_words(sentence)
        restyle(self.words, kind="error")
        announce(self.words, sentence)

    def show_downloading(self, downloading: bool) -> None:
        self.progress.setVisible(downloading)
        self.cancel_button.setVisible(downloading)
        self.cancel_button.setEnabled(downloading)
        self.use_button.setEnabled(not downloading)
        self.offer_button.setEnabled(not downloading)
        if not downloading:
            self.progress.setValue(0)

    def show_progress(self, share: float) -> None:
        self.progress.show_share(share)

    # Qt's own

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.form.begin()

    def _arrange(self) -> None:
        in_row([Placed(self.offer_words, 1), self.offer_button], inside=self.offer, margins=(12, 8, 8, 8), spacing=12)
        about = words(self.tr(_ABOUT), self, kind="quiet")
        state: list[Part] = [about, self.heading, self.state, self.table, self.offer]
        buttons: list[Part] = [self.cancel_button, Stretch(), self.close_button, self.use_button]
        fill_dialog(
            self, [*state, line(self), self.form, Stretch()], buttons, spacing=10, below=[self.words, self.progress]
        )

    @Slot()
    def _on_use(self) -> None:
        self.chosen.emit(self.form.choice, self.form.is_own)

    @Slot()
    def _on_offer(self) -> None:
        if self._offer is not None:
            self.offer_taken.emit(self._offer.hub_name)

    @Slot()
    def _on_cancel(self) -> None:
        self.cancel_button.setEnabled(False)  # the network may be silent for some seconds
        self.cancel_requested.emit()
