"""The popup below the name of the model in use: the library and the servers, to choose another one from."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt, QTimer, Signal, SignalInstance, Slot
from PySide6.QtWidgets import QPushButton, QWidget

from app.models.server_rows import ServerKey, Sighting, server_rows
from app.models.target_rows import target_rows
from app.text.amounts import size_words
from app.text.places import server_words
from app.text.translation import QT_TRANSLATE_NOOP, translate
from app.theme import ThemeKeeper
from app.widgets.layouts import Placed, in_column, in_grid
from app.widgets.parts import Sentences, button, line, search_line, set_up
from app.widgets.popups import SearchedPopup, place_below
from app.widgets.rows_view import RowsView
from app.widgets.window_sizes import hold_on_screen
from engine.values.remote import RemoteServer, split_reference
from engine.values.targets import LibraryTarget, MemoryEstimate

WIDTH_PX = 480
HEIGHT_PX = 530
_LEAST_HEIGHT_PX = 260
_LEAST_ROWS = 2
_SPACES_PX = 58
_BUTTON_ROWS = 3
_REST_MS = 120  # from pointing at a model to the estimate of its memory
ONLY_STARTER = QT_TRANSLATE_NOOP(
    "TargetPicker", "Only the starter model is here. Add a file of your own, or find one to download."
)
NO_MODELS = QT_TRANSLATE_NOOP("TargetPicker", "No models yet. Add a model file, or find one to download.")


class TargetPicker(SearchedPopup):
    """A popup with a search field, the library's models, below them servers with theirs, and buttons to get more."""

    chosen = Signal(str)  # use the model with this reference
    estimate_wanted = Signal(str)  # show how much memory the model with this reference takes, which is in the library
    refresh_requested = Signal(str)  # ask the server at this address which models it has; the popup stays open
    opened = Signal()  # it is open now
    add_files_requested = Signal()  # this and the next five: its buttons were pressed; it is closed
    add_folder_requested = Signal()
    find_requested = Signal()
    library_requested = Signal()
    add_server_requested = Signal()
    servers_requested = Signal()

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Choose a model"))
        self._targets: tuple[LibraryTarget, ...] | None = None
        self._servers: tuple[RemoteServer, ...] = ()
        self._sightings: Mapping[str, Sighting] = {}
        self._in_use = ""  # a reference
        self.search = search_line(self.tr("Search your models"), self, self._show_rows)
        self.search.installEventFilter(self)
        self.view = RowsView(keeper, self.tr("Models"), parent=self)
        self.view.used.connect(self._use)
        self.view.pointed_at.connect(self._on_pointed_at)
        label = Sentences("", self)
        self.note = set_up(label, kind="quiet")
        self.add_files_button = self._button(self.tr("Add a model file…"), self.add_files_requested)
        self.add_folder_button = self._button(self.tr("Add a folder…"), self.add_folder_requested)
        self.find_button = self._button(self.tr("Find models…"), self.find_requested)
        self.library_button = self._button(self.tr("Library…"), self.library_requested)
        self.add_server_button = self._button(self.tr("Add a server…"), self.add_server_requested)
        self.servers_button = self._button(self.tr("Model servers…"), self.servers_requested)
        self._rest = QTimer(self, singleShot=True, interval=_REST_MS)
        self._rest.timeout.connect(self._ask_for_estimate)
        self._arrange()

    def set_targets(self, targets: tuple[LibraryTarget, ...]) -> None:
        self._targets = tuple(target for target in targets if target.head is None)
        self._show_rows()

    def set_servers(self, servers: tuple[RemoteServer, ...], sightings: Mapping[str, Sighting]) -> None:
        """`sightings`: outcomes of asking them, by address."""
        self._servers, self._sightings = servers, sightings
        self._show_rows()
        self._note_current()

    def set_in_use(self, reference: str) -> None:
        self._in_use = reference
        self._show_rows()

    def show_estimate(self, reference: str, estimate: MemoryEstimate) -> None:
        """Shows the memory that this model takes, if it is still the current one."""
        if reference == self.view.current_key:
            self.note.setText(" ".join(filter(None, (memory_words(estimate), self._hint()))))

    def open_below(self, widget: QWidget) -> None:
        """Opens below the widget, within its window, with the keyboard in the search field."""
        self.search.clear()
        self._show_rows()
        rows = max(_LEAST_ROWS, self.view.rows.rowCount()) * max(0, self.view.sizeHintForRow(0))
        place_below(self, widget, WIDTH_PX, (_LEAST_HEIGHT_PX, min(HEIGHT_PX, rows + self._besides_px())))
        self.show()
        hold_on_screen(self)  # its words may need more height
        self.search.setFocus(Qt.FocusReason.PopupFocusReason)
        self.view.point_at(self._in_use or None)
        self.view.point_at_first()
        self._rest.start()
        self.opened.emit()

    # Arrangement

    def _button(self, words: str, signal: SignalInstance) -> QPushButton:
        made = button(words, "menu", self, self.close)
        made.clicked.connect(signal)
        return made

    def _arrange(self) -> None:
        buttons = in_grid(
            [
                [self.add_files_button, self.add_folder_button],
                [self.find_button, self.library_button],
                [self.add_server_button, self.servers_button],
            ],
            spacing=(2, 2),
        )
        in_column(
            [self.search, Placed(self.view, 1), self.note, line(self), buttons],
            inside=self,
            margins=(10, 10, 10, 8),
            spacing=8,
        )

    def _besides_px(self) -> int:
        """The height of everything but the list, with two lines for the note."""
        buttons = _BUTTON_ROWS * self.library_button.sizeHint().height()
        return self.search.sizeHint().height() + 2 * self.note.fontMetrics().height() + buttons + _SPACES_PX

    # What happens

    @Slot()
    def _show_rows(self) -> None:
        if self._targets is None:
            self.note.setText(self.tr("Looking through the library…"))
            return
        words = self.search.text()
        servers = server_rows(self._servers, self._sightings, self._in_use, words)
        rows = (*target_rows(self._targets, self._in_use, words), *servers)
        self.view.set_rows(rows)
        if self.isVisible() and words:
            self.view.point_at_first()
        if not rows:
            self.note.setText(self._words_of_nothing(words.strip()))
        elif self.view.current_key is None:
            self.note.setText(self._hint())

    def _hint(self) -> str:
        if self._targets and not self._servers and all(target.is_starter for target in self._targets):
            return translate("TargetPicker", ONLY_STARTER)
        return ""

    def _words_of_nothing(self, sought: str) -> str:
        if sought:
            return self.tr("No model matches “{words}”.").format(words=sought)
        return translate("TargetPicker", NO_MODELS)

    @Slot(object)
    def _on_pointed_at(self, key: object) -> None:
        self._rest.stop()
        if key is None or not self.isVisible():
            return
        self.note.setText("")
        self._note_current()
        if not self._is_elsewhere(key):
            self._rest.start()

    @Slot()
    def _ask_for_estimate(self) -> None:
        key = self.view.current_key
        if self.isVisible() and isinstance(key, str) and not self._is_elsewhere(key):
            self.estimate_wanted.emit(key)

    def _note_current(self) -> None:
        """Shows a server's state, or where a server's model runs."""
        key = self.view.current_key
        if (server := self._server_of(key)) is None:
            return
        if isinstance(key, ServerKey):
            found = self._sightings.get(server.address, Sighting())
            again = self.tr("Enter asks {server} which models it has.").format(server=server_words(server))
            self.note.setText(found.sentence or again)
        else:
            self.note.setText(
                self.tr("Runs on {server}: your chats are sent there.").format(server=server_words(server))
            )

    def _server_of(self, key: object) -> RemoteServer | None:
        address = key.address if isinstance(key, ServerKey) else split_reference(key)[0] if isinstance(key, str) else ""
        return next((each for each in self._servers if each.address == address), None)

    def _is_elsewhere(self, key: object) -> bool:
        return self._server_of(key) is not None

    @Slot(object)
    def _use(self, key: object) -> None:
        if isinstance(key, ServerKey):
            self.refresh_requested.emit(key.address)
        else:
            self.close()
            self.chosen.emit(str(key))


def memory_words(estimate: MemoryEstimate) -> str:
    """Says how much memory the model takes, and how much is free."""
    taken, free = size_words(estimate.on_machine), size_words(estimate.available)
    gpu = estimate.gpu
    if gpu.num_bytes:
        on_card, room, card = size_words(gpu.num_bytes), size_words(gpu.room), gpu.support.description
        words = translate(
            "TargetPicker", "Takes about {on_card} on {card} ({room} free) and {taken} of other memory ({free} free)."
        )
        return words.format(on_card=on_card, card=card, room=room, taken=taken, free=free)
    too_much = translate("TargetPicker", "Takes about {taken} of memory; only {free} are free.")
    fits = translate("TargetPicker", "Takes about {taken} of memory; {free} are free.")
    return (too_much if estimate.is_too_much else fits).format(taken=taken, free=free)
