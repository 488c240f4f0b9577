"""A search for models on the hub, and their downloads."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QLineEdit, QSplitter, QStackedWidget, QWidget

from app.features.library.downloads_panel import DownloadsPanel
from app.features.library.suggestions_view import SuggestionsView
from app.models.target_rows import hub_file_row, hub_model_row
from app.text.amounts import size_words
from app.text.hub_files import FileAdvice
from app.text.translation import QT_TRANSLATE_NOOP
from app.theme import ThemeKeeper
from app.widgets.layouts import Placed, Stretch, in_column, in_row
from app.widgets.parts import Sentences, button, set_up, show_text, words
from app.widgets.rows_view import RowsOrWords, RowsView
from engine.values.targets import HubFile, HubModel

_NO_REPOSITORY = QT_TRANSLATE_NOOP("HubPage", "Choose a model on the left to see its files.")


class HubPage(QWidget):
    """What the app suggests; after a search, the models that match on the left and the files of one of them on the
    right. Downloads are below."""

    search_requested = Signal(str)  # ask the hub for models by these words
    files_requested = Signal(str)  # list the files of this repository
    download_requested = Signal(HubFile)  # download this file
    check_requested = Signal()  # ask the hub about the suggested files

    def __init__(self, keeper: ThemeKeeper, host: str, parent: QWidget | None = None) -> None:
        """`host` is the hub's, such as `huggingface.co`."""
        super().__init__(parent)
        note = self.tr(
            "This page contacts {host} only when you press a button or choose a model. The hub learns what you "
            "search for and which files you download, nothing about your chats."
        )
        self.note = words(note.format(host=host), self, kind="quiet")
        example = self.tr("Name of a model, as in “qwen 7b”")
        self.search = set_up(QLineEdit(self, placeholderText=example), name=self.tr("Search the hub for models"))
        self.search.returnPressed.connect(self._on_search)
        self.search_button = button(self.tr("Search"), "outlined", self, self._on_search)
        self.back_button = button(self.tr("Best for this computer"), "link", self, self.show_suggestions)
        self.suggestions = SuggestionsView(keeper, host, self)
        self.suggestions.download_requested.connect(self.download_requested)
        self.suggestions.check_requested.connect(self.check_requested)
        self.models_view = RowsView(keeper, self.tr("Models on the hub"), parent=self)
        self.models_view.used.connect(self.files_requested.emit)
        self.models = RowsOrWords(self.models_view, self)
        self.models.retry_requested.connect(self._on_search)
        label = Sentences("", self)
        self.repository = set_up(label, kind="title")
        self.files_view = RowsView(keeper, self.tr("Files of the model"), uses_on_click=False, parent=self)
        self.files_view.pointed_at.connect(self._on_file)
        self.files_view.used.connect(self._on_download)
        self.files = RowsOrWords(self.files_view, self)
        self.files.retry_requested.connect(lambda: self.files_requested.emit(self.repository.text()))
        self.files.show_words(self.tr(_NO_REPOSITORY))
        self.hint = words("", self, kind="quiet")
        self.download_button = button(self.tr("Download"), "primary", self, self.files_view.use_current)
        self.downloads = DownloadsPanel(self)
        self._busy: frozenset[HubFile] = frozenset()
        self._arrange()
        self.show_hint("")
        self._on_file(None)
        self.show_suggestions()

    @Slot()
    def show_suggestions(self) -> None:
        """Replaces the search results by suggestions."""
        self.back_button.hide()
        self._stack.setCurrentWidget(self.suggestions)
        self.focus_list()

    def focus_list(self) -> None:
        """Gives the keyboard to the list that is shown."""
        view = self.suggestions.view if self._stack.currentWidget() is self.suggestions else self.models_view
        view.setFocus()

    def show_searching(self) -> None:
        self.back_button.show()
        self._stack.setCurrentIndex(1)
        self.models.show_words(self.tr("Searching…"))
        self.show_no_repository()

    def show_models(self, models: Sequence[HubModel], sought: str) -> None:
        self.models.show_rows(
            [hub_model_row(model) for model in models],
            self.tr("No results for “{words}”. Try fewer words.").format(words=sought)
            if sought
            else self.tr("The hub lists no models."),
        )
        if models:
            self.models_view.point_at_first()  # before it gets the focus, when Qt would not select the row
            self.models_view.setFocus()

    def show_search_failed(self, sentence: str) -> None:
        self.models.show_words(sentence, can_retry=True)

    def show_no_repository(self) -> None:
        self.show_hint("")
        self.repository.setText("")
        self.files.show_words(self.tr(_NO_REPOSITORY))
        self.files_view.set_rows(())

    def show_asking(self, repository: str) -> None:
        self.show_hint("")
        self.repository.setText(repository)
        self.files_view.set_rows(())
        self.files.show_words(self.tr("Asking for its files…"))

    def show_files(self, advice: Sequence[FileAdvice]) -> None:
        self.files.show_rows([hub_file_row(each) for each in advice], self.tr("It has no usable model files."))
        best = next((each.file for each in advice if each.is_recommended), None)
        if best is not None:
            self.files_view.point_at(best)
        else:
            self.files_view.point_at_first()

    def show_files_failed(self, sentence: str) -> None:
        self.files_view.set_rows(())
        self.files.show_words(sentence, can_retry=True)

    def show_hint(self, text: str) -> None:
        """Shows a sentence about the model besides its files, or none."""
        show_text(self.hint, text)

    def set_busy_files(self, files: frozenset[HubFile]) -> None:
        """Sets files that need no download, as they are here or on their way."""
        self._busy = files
        self.suggestions.set_busy_files(files)
        self._on_file(self.files_view.current_key)

    def _arrange(self) -> None:
        search = in_row([self.back_button, Placed(self.search, 1), self.search_button], spacing=8)
        right = QWidget(self)
        below = in_row([Stretch(), self.download_button])
        in_column(
            [self.repository, Placed(self.files, 1), self.hint, below],
            inside=right,
            margins=(10, 0, 0, 0),
            spacing=6,
        )
        left = QWidget(self)
        in_column([self.models], inside=left, margins=(0, 0, 10, 0))
        splitter = QSplitter(Qt.Orientation.Horizontal, self, handleWidth=1, childrenCollapsible=False)
        splitter.addWidget(left)
        splitter.addWidget(right)
        splitter.setSizes([1000, 1000])
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self.suggestions)
        self._stack.addWidget(splitter)
        in_column([self.note, search, Placed(self._stack, 1), self.downloads], inside=self, spacing=10)

    @Slot()
    def _on_search(self) -> None:
        self.search_requested.emit(self.search.text().strip())

    @Slot(object)
    def _on_file(self, key: object) -> None:
        file = key if isinstance(key, HubFile) else None
        is_busy = file in self._busy
        self.download_button.setVisible(file is not None)
        self.download_button.setEnabled(not is_busy)
        if file is not None:
            download = self.tr("Download {size}").format(size=size_words(file.download_bytes))
            self.download_button.setText(self.tr("Downloads") if is_busy else download)

    @Slot(object)
    def _on_download(self, key: object) -> None:
        if isinstance(key, HubFile) and key not in self._busy:
            self.download_requested.emit(key)
