"""The models that the app suggests, best for this computer first."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QSplitter, QWidget

from app.models.target_rows import suggestion_row
from app.text.amounts import size_words
from app.text.hub_files import ABOUT_FIT
from app.text.suggestions import SuggestionAdvice, details
from app.text.translation import translate
from app.theme import ThemeKeeper
from app.widgets.layouts import Placed, ScrollingPage, Stretch, in_column, in_row
from app.widgets.parts import button, words
from app.widgets.rows_view import RowsView
from engine.values.targets import HubFile


class SuggestionsView(QWidget):
    """A list, next to facts about the current model and a button to download it."""

    download_requested = Signal(HubFile)  # download this file
    check_requested = Signal()  # ask the hub whether it has these files

    def __init__(self, keeper: ThemeKeeper, host: str, parent: QWidget | None = None) -> None:
        """`host` is the hub's."""
        super().__init__(parent)
        self._host = host
        self._advice: dict[HubFile, SuggestionAdvice] = {}
        self._busy: frozenset[HubFile] = frozenset()
        self._wanted: HubFile | None = None  # to be pointed at
        self.title = words(self.tr("Best for this computer"), self, kind="title")
        about = self.tr("First the most capable ones that fit and write faster than you read.")
        self.about = words(about, self, kind="quiet")
        self.view = RowsView(keeper, self.title.text(), uses_on_click=False, parent=self)
        self.view.pointed_at.connect(self._show_current)
        self.view.used.connect(self._download)
        self.check_button = button(self.tr("Check the list"), "link", self, self.check_requested)
        self.check_button.setToolTip(self.tr("Asks {host} whether it still has these files").format(host=host))
        self.state = words("", self, kind="quiet")
        inside = QWidget(self)
        inside.setObjectName("inside")
        self.name = words("", inside, kind="heading")
        self.details = words("", inside)
        in_column([self.name, self.details, Stretch()], inside=inside, margins=(4, 0, 4, 0), spacing=8)
        self._page = ScrollingPage(self.tr("About the model"), inside, self)
        self.download_button = button("", "primary", self, self.view.use_current)
        self._arrange()
        self._show_current()

    def show_suggestions(self, advice: Sequence[SuggestionAdvice]) -> None:
        """Shows the suggestions, keeping the current one."""
        self._advice = {each.suggestion.file: each for each in advice}
        self.view.set_rows([suggestion_row(each) for each in advice])
        self.view.point_at_first()
        self._point_at_wanted()

    def point_at(self, file: HubFile) -> None:
        """Selects a file, once it is listed."""
        self._wanted = file
        self._point_at_wanted()

    def show_state(self, sentence: str, can_check: bool = True, can_retry: bool = False) -> None:
        """Shows the outcome of asking the hub."""
        self.state.setText(sentence)
        self.check_button.setText(self.tr("Retry") if can_retry else self.tr("Check the list"))
        self.check_button.setEnabled(can_check)

    def set_busy_files(self, files: frozenset[HubFile]) -> None:
        """Sets files that need no download, as they are here or on their way."""
        self._busy = files
        self._show_current()

    def _arrange(self) -> None:
        left, right = QWidget(self), QWidget(self)
        foot = in_row([Placed(self.state, 1), self.check_button], spacing=8)
        in_column([self.title, self.about, Placed(self.view, 1), foot], inside=left, margins=(0, 0, 10, 0), spacing=4)
        below = in_row([Stretch(), self.download_button])
        in_column([Placed(self._page, 1), below], inside=right, margins=(10, 0, 0, 0), spacing=6)
        splitter = QSplitter(Qt.Orientation.Horizontal, self, handleWidth=1, childrenCollapsible=False)
        splitter.addWidget(left)
        splitter.addWidget(right)
        splitter.setSizes([1100, 900])
        in_column([splitter], inside=self)

    def _point_at_wanted(self) -> None:
        if self._wanted in self._advice:
            self.view.point_at(self._wanted)
            self._wanted = None
        self._show_current()

    def _current(self) -> SuggestionAdvice | None:
        key = self.view.current_key
        return self._advice.get(key) if isinstance(key, HubFile) else None

    @Slot()
    def _show_current(self) -> None:
        advice = self._current()
        file = None if advice is None else advice.file
        self.download_button.setVisible(file is not None)
        self.download_button.setEnabled(file not in self._busy)
        if advice is not None:
            self.name.setText(advice.suggestion.name)
            self.details.setText("\n\n".join(details(advice, self._host, translate("Hub", ABOUT_FIT[advice.fit]))))
        if file is not None:
            download = self.tr("Download {size}").format(size=size_words(file.download_bytes))
            self.download_button.setText(self.tr("Downloads") if file in self._busy else download)

    @Slot()
    def _download(self) -> None:
        advice = self._current()
        if advice is not None and advice.file is not None and advice.file not in self._busy:
            self.download_requested.emit(advice.file)
