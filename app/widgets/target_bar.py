"""The bar above the conversation: which target answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QProgressBar, QPushButton, QWidget

from app.text.amounts import percent_words, size_words
from app.text.translation import translate
from app.theme import ThemeKeeper
from app.widgets.icon_button import IconButton
from app.widgets.layouts import Placed, in_column, in_row
from app.widgets.name_button import NameButton
from app.widgets.parts import ElidedLabel
from app.widgets.target_picker import TargetPicker

if TYPE_CHECKING:  # needed only once there is a target
    from engine.messages.events import TargetInfo

_PROGRESS_STEPS = 1_000


class TargetBar(QWidget):
    """Name and kind of the target, and the progress while one is loading. The name opens `picker`, whose signals are
    for others to listen to.

    Signals:
        target_chosen(str): the path of a model file that is to be loaded.
        cancel_requested(): the loading under way is to end.
        sidebar_requested(): the sidebar is to be shown or hidden.
    """

    target_chosen = Signal(str)
    cancel_requested = Signal()
    sidebar_requested = Signal()

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("target_bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.sidebar_button = IconButton(keeper, "sidebar", self.tr("Show or hide the sidebar  (Ctrl+B)"), parent=self)
        self.sidebar_button.clicked.connect(self.sidebar_requested)
        self.picker = TargetPicker(keeper, self)
        self.name = NameButton(keeper, self)
        self.name.setAccessibleDescription(self.tr("Chooses another model"))
        self.name.clicked.connect(self.open_picker)
        self.description = ElidedLabel(self)
        self.description.setProperty("kind", "quiet")
        self.cancel_button = QPushButton(self.tr("Cancel"), self)
        self.cancel_button.setProperty("kind", "link")
        self.cancel_button.setAccessibleDescription(self.tr("Stops loading the model"))
        self.cancel_button.clicked.connect(self.cancel_requested)
        self.menu_button = IconButton(keeper, "menu", self.tr("Menu"), parent=self)
        self.menu_button.setPopupMode(self.menu_button.ToolButtonPopupMode.InstantPopup)
        self.progress = QProgressBar(self, textVisible=False)
        self.progress.setRange(0, _PROGRESS_STEPS)
        self.progress.setFixedHeight(3)
        self.progress.setAccessibleName(self.tr("Loading the model"))
        row = in_row(
            [self.sidebar_button, self.name, Placed(self.description, 1), self.cancel_button, self.menu_button],
            margins=(10, 7, 10, 4),
            spacing=8,
        )
        in_column([row, self.progress], inside=self, margins=(0, 0, 0, 1), spacing=0)
        size = self.progress.sizePolicy()
        size.setRetainSizeWhenHidden(True)
        self.progress.setSizePolicy(size)
        self.set_target(None)

    def set_target(self, target: TargetInfo | None) -> None:
        """Shows a target that is ready, or that there is none; loading is over either way."""
        self.progress.hide()
        self.cancel_button.hide()
        if target is None:
            self._set_name(self.tr("No model"), "")
            self.description.set_words(self.tr("Choose a model to begin"))
        else:
            facts = f"{target.path}\n{self._facts(target)}"
            if target.num_gpu_layers:
                on_card = self.tr("Layers on {card}: {number}")
                facts += "\n" + on_card.format(card=target.gpu, number=target.num_gpu_layers)
            self._set_name(target.name, facts)
            self.description.set_words(target.description)

    def show_loading(self, name: str, progress: float) -> None:
        """Shows that a target is being loaded; `progress` runs from 0 to 1."""
        self._set_name(name, "")
        self.description.set_words(self.tr("Loading… {share}").format(share=percent_words(progress)))
        self.progress.setValue(round(progress * _PROGRESS_STEPS))
        self.progress.show()
        self.cancel_button.show()

    def show_waiting(self, name: str) -> None:
        """Shows that a target is to be loaded when the reply under way is finished."""
        self.show_loading(name, 0.0)
        self.description.set_words(self.tr("Loads when the reply is finished"))

    @Slot()
    def open_picker(self) -> None:
        self.picker.open_below(self.name)

    @Slot()
    def choose(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self.window(), self.tr("Open a model"), "", model_files())
        if path:
            self.target_chosen.emit(path)

    def _facts(self, target: TargetInfo) -> str:
        words = self.tr("{size} on disk, {context} tokens of context, %n thread(s)", "", target.threads)
        return words.format(size=size_words(target.size_bytes), context=f"{target.context_size:,}")

    def _set_name(self, name: str, facts: str) -> None:
        self.name.setText(name)
        self.name.setToolTip("\n".join(filter(None, (self.tr("Choose another model  (Ctrl+M)"), facts))))
        self.name.updateGeometry()


def model_files() -> str:
    """What a dialog for files lists."""
    return translate("TargetBar", "Models (*.gguf)")
