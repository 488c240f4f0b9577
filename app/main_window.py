"""The window: its widgets, actions and menus, and no decisions."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QByteArray, QDataStream, QIODevice, QSize, Qt, QTimer, Signal, SignalInstance, Slot
from PySide6.QtGui import QAction, QCloseEvent, QDragEnterEvent, QDragLeaveEvent, QDropEvent, QKeySequence, QShowEvent
from PySide6.QtWidgets import QMainWindow, QMenu, QWidget

from app.settings.shortcuts import Shortcuts, fixed_keys
from app.theme import ThemeKeeper, app_icon
from app.widgets.chats.conversation_list import ConversationList
from app.widgets.icon_button import KeyHint
from app.widgets.keyboard_home import KeyboardHome
from app.widgets.layouts import Placed, Stretch, in_column, in_row
from app.widgets.meter.sides import SIDEBAR_PX, Sides
from app.widgets.meter.speed_meter import SpeedMeter
from app.widgets.notice_bar import Banner, NoticeBars
from app.widgets.popups import WindowMenu
from app.widgets.prompt.dropped_files import DroppedFiles, Landing
from app.widgets.prompt.pictures import Pictures
from app.widgets.prompt.prompt_box import PromptBox
from app.widgets.shortcuts_dialog import ShortcutsDialog
from app.widgets.target.target_bar import TargetBar
from app.widgets.toast import Toasts
from app.widgets.transcript.transcript import Transcript
from app.widgets.transcript.virtual_column import COLUMN_PX, MARGIN_PX
from app.widgets.window_sizes import WindowSizes, room_for

_USUAL_PX = (1100, 760)
PREPARE_AFTER_MS = 400  # long after the first paint
_Keys = QKeySequence | str


class MainWindow(QMainWindow):
    """Holds the widgets, which controllers set and listen to."""

    closing = Signal()  # the window is about to close
    chats_dropped = Signal(str)  # a file of chats was dropped on it
    texts_dropped = Signal(list)  # other files were dropped on it, by their paths
    profile_dropped = Signal(str)  # show the contents of a profile
    shortcut_settings_requested = Signal()  # the user wants other keys

    def __init__(self, keeper: ThemeKeeper, version: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self.may_close: Callable[[], bool] = lambda: True  # asked before it closes
        self.version = version
        self.setWindowTitle("Slipstream")
        self.setWindowIcon(app_icon())
        self.resize(QSize(*map(keeper.px, _USUAL_PX)).boundedTo(room_for(self)))
        self.sizes = WindowSizes(self)
        self.setAcceptDrops(True)
        self.conversations = ConversationList(keeper)
        self.target_bar = TargetBar(keeper)
        self.signs = self.target_bar.signs
        in_memory = self.tr("It exists only in memory and is gone when the app is closed.")
        self.incognito_banner = Banner(keeper, "incognito")
        self.incognito_banner.setToolTip(in_memory)
        self.incognito_banner.words.setText(self.tr("Incognito: this chat is not stored, reused or learned from."))
        self.folder_banner = Banner(keeper, "folder")
        self.pictures = Pictures(self)
        self.transcript = Transcript(keeper, self.pictures)
        self.notices = NoticeBars(keeper, self.transcript)
        self.notices.height_changed.connect(self.transcript.set_covered)
        self.toasts = Toasts(keeper)
        self.prompt_box = PromptBox(keeper, self.pictures)
        self.meter = SpeedMeter(keeper)
        self._sides = Sides(keeper, self.conversations, self._chat())
        self.setCentralWidget(self._sides)
        self.landing = Landing(keeper, self)
        self._make_actions()
        self._name_actions()
        self._make_menus()
        self.target_bar.sidebar_requested.connect(self.toggle_sidebar)
        self.transcript.example_chosen.connect(self.prompt_box.set_text)
        self.transcript.changed.connect(self._enable_last)
        self.transcript.message_actions.edit_refused.connect(self.toasts.show_info)
        self.transcript.welcome.file_requested.connect(self.target_bar.choose)
        self.transcript.welcome.models_requested.connect(self.models_action.trigger)
        self.prompt_box.pages_requested.connect(self.transcript.scroll_pages)
        self.prompt_box.edit_last_requested.connect(self.transcript.message_actions.revise_last)
        sidebar = self.conversations
        for signal in (sidebar.new_requested, sidebar.incognito_requested, sidebar.left):
            signal.connect(self.prompt_box.setFocus)  # also from the search
        self.conversations.has_current_changed.connect(self._enable_current)
        keeper.changed.connect(self._fit)
        self._fit()
        KeyHint(self.target_bar.sidebar_button, self.sidebar_action)
        KeyHint(self.target_bar.name, self.choose_action)
        KeyHint(self.target_bar.chat_settings, self.conversation_action)
        KeyHint(self.conversations.incognito_button, self.incognito_action)
        KeyHint(self.prompt_box.attach_button, self.attach_action)
        KeyHint(self.conversations.new_button, self.new_action)
        KeyHint(self.conversations.filter_button, self.filter_action)
        KeyHint(self.conversations.new_folder_button, self.new_folder_action)
        KeyHint(self.prompt_box.tools, self.chat_tools_action)
        self.set_busy(False)
        self._enable_current(False)
        self._keyboard = KeyboardHome(self, self.prompt_box)
        self.prompt_box.setFocus()

    def set_busy(self, busy: bool) -> None:
        self.prompt_box.set_busy(busy)
        self.transcript.set_busy(busy)
        self.stop_action.setEnabled(busy)

    @property
    def is_busy(self) -> bool:
        """True while a reply is under way."""
        return self.stop_action.isEnabled()

    def state(self) -> bytes:
        """The place, size and sidebar for `restore`."""
        state = QByteArray()
        stream = QDataStream(state, QIODevice.OpenModeFlag.WriteOnly)
        stream << self.saveGeometry() << QByteArray.number(self._sides.sidebar_px)
        stream.writeBool(self._sides.is_sidebar_wanted)
        self.sizes.keep(self)
        stream.writeQString(self.sizes.to_text())
        return bytes(state.data())

    def restore(self, state: bytes) -> None:
        """Restores an earlier `state`; ignores anything else."""
        stream = QDataStream(QByteArray(state))
        geometry, sidebar = QByteArray(), QByteArray()
        stream >> geometry >> sidebar
        shown = stream.readBool()
        if stream.status() != QDataStream.Status.Ok or not self.restoreGeometry(geometry):
            return
        width = bytes(sidebar.data())  # an older state has Qt's own there
        self._sides.restore_sidebar(shown, int(width) if width.isdigit() else SIDEBAR_PX)
        self.sizes.take_text(stream.readQString())  # empty in an older state
        if not self.isMaximized() and not self.isFullScreen():
            self.resize((self.sizes.kept(self) or self.size()).boundedTo(room_for(self)))

    @Slot()
    def toggle_sidebar(self) -> None:
        self._sides.show_sidebar(self.conversations.isHidden())

    def take_files(self, dropped: DroppedFiles) -> None:
        """Emits a signal for each kind of file."""
        if dropped.model:
            self.target_bar.target_chosen.emit(dropped.model)
        if dropped.profile:
            self.profile_dropped.emit(dropped.profile)
        if dropped.chats:
            self.chats_dropped.emit(dropped.chats)
        if dropped.texts:
            self.texts_dropped.emit(list(dropped.texts))

    def come_forward(self) -> None:
        """Raises the window above others, as far as the desktop allows."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    # Qt's own

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._keyboard.watch()
        QTimer.singleShot(PREPARE_AFTER_MS, self.transcript.lexing.prepare)

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self.may_close():
            event.ignore()
            return
        self.closing.emit()
        super().closeEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        dropped = DroppedFiles.of(event.mimeData())
        if dropped is not None:
            event.acceptProposedAction()
            self.landing.show_over(*self._landing_of(dropped))

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:  # noqa: ARG002
        self.landing.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self.landing.hide()
        dropped = DroppedFiles.of(event.mimeData())
        if dropped is not None:
            event.acceptProposedAction()
            self.take_files(dropped)

    def _landing_of(self, dropped: DroppedFiles) -> tuple[QWidget, str]:
        """Where the files would go, and what happens to them."""
        if dropped.texts:
            return self.prompt_box, self.tr("Attach to your message")
        if dropped.model:
            return self.transcript, self.tr("Use this model")
        if dropped.profile:
            return self.transcript, self.tr("Show what this profile holds")
        return (self.conversations if self.conversations.isVisible() else self.transcript), self.tr("Import chats")

    # Arrangement

    def _chat(self) -> QWidget:
        chat = QWidget()
        chat.setObjectName("chat")
        foot = QWidget(chat)
        self._foot = foot
        in_column(
            [self.toasts, self.prompt_box, self.meter], inside=foot, margins=(MARGIN_PX, 4, MARGIN_PX, 8), spacing=6
        )
        centred = in_row([Stretch(), Placed(foot, 1000), Stretch()])
        in_column(
            [
                self.target_bar,
                self.incognito_banner,
                self.folder_banner,
                Placed(self.transcript, 1),
                centred,
            ],
            inside=chat,
            spacing=0,
        )
        return chat

    @Slot()
    def _fit(self) -> None:
        self._foot.setMaximumWidth(self._keeper.px(COLUMN_PX) + 2 * MARGIN_PX)

    def _make_actions(self) -> None:
        sidebar, box = self.conversations, self.prompt_box
        role = QAction.MenuRole
        self.new_action = self._action(self.tr("New chat"), "Ctrl+N", sidebar.new_requested)
        incognito = self.tr("New incognito chat")
        self.incognito_action = self._action(incognito, "Ctrl+Shift+N", sidebar.incognito_requested)
        self.search_action = self._action(self.tr("Search chats"), ("Ctrl+F", "Ctrl+K"), sidebar.begin_search)
        self.filter_action = self._action(self.tr("Filter chats"), "Ctrl+Shift+K", sidebar.open_filter)
        self.new_folder_action = self._action(self.tr("New folder…"), "Ctrl+Shift+D", sidebar.request_folder)
        self.move_action = self._action(self.tr("Move to a folder…"), "Ctrl+Shift+F", sidebar.move_current)
        self.pin_action = self._action(self.tr("Pin or unpin"), does=sidebar.pin_current)
        self.archive_action = self._action(self.tr("Archive or unarchive"), does=sidebar.archive_current)
        self.attach_action = self._action(self.tr("Attach a file or picture…"), "Ctrl+Shift+A", box.attach_requested)
        self.chat_tools_action = self._action(self.tr("Tools of this chat"), "Ctrl+Shift+U", box.tools.open_menu)
        self.call_action = self._action(self.tr("Go to the tool call that waits"), "Ctrl+Shift+J")
        self.call_action.setEnabled(False)
        self.import_action = self._action(self.tr("Import chats…"))
        self.export_all_action = self._action(self.tr("Export all chats…"))
        self.export_action = self._action(self.tr("Export this chat…"), does=sidebar.export_current)
        self.forget_action = self._action(self.tr("Delete permanently…"), does=sidebar.forget_current)
        choose = ("Ctrl+M", "Ctrl+Shift+M")
        self.choose_action = self._action(self.tr("Choose a model"), choose, self.target_bar.open_picker)
        self.library_action = self._action(self.tr("Library…"))
        self.models_action = self._action(self.tr("Find models…"))
        self.servers_action = self._action(self.tr("Model servers…"), role=role.NoRole)
        self.open_action = self._action(self.tr("Open a model file…"), "Ctrl+O", self.target_bar.choose)
        leave = QKeySequence(QKeySequence.StandardKey.Quit)
        self.quit_action = self._action(self.tr("Quit"), leave, self.close, role.QuitRole)
        stop = (QKeySequence("Esc"), "Ctrl+.")
        self.stop_action = self._action(self.tr("Stop the reply"), stop, box.stop_requested)
        self.regenerate_action = self._action(self.tr("Regenerate"), "Ctrl+R", self._on_regenerate)
        self.continue_action = self._action(
            self.tr("Continue"), "Ctrl+Shift+R", self.transcript.message_actions.continue_requested
        )
        delete = self.tr("Delete last message")
        self.delete_message_action = self._action(delete, "Ctrl+Shift+Del", self._on_delete_message)
        chat = self.tr("Settings of this chat…")
        self.conversation_action = self._action(chat, "Ctrl+Shift+,", role=role.NoRole)
        self.target_bar.chat_settings.clicked.connect(self.conversation_action.trigger)
        self.presets_action = self._action(self.tr("Choose a preset"), "Ctrl+P")
        manage = self.tr("Presets and prompts…")
        self.library_of_presets_action = self._action(manage, "Ctrl+Shift+L", role=role.NoRole)
        self.rename_action = self._action(self.tr("Rename this chat"), does=sidebar.rename_current)
        self.delete_action = self._action(self.tr("Delete this chat"), does=sidebar.delete_current)
        self.restore_action = self._action(self.tr("Restore the last deleted chat"), "Ctrl+Shift+T")
        self.restore_action.setEnabled(False)
        self.speed_up_action = self._action(self.tr("Speed-up"))
        self.speed_up_action.setCheckable(True)
        self.speed_up_action.setChecked(True)
        self.speed_up_action.toggled.connect(self.meter.set_speed_up)
        self.meter.switched.connect(self.speed_up_action.setChecked)
        self.starter_action = self._action(self.tr("Use the starter model"))
        self.drafter_action = self._action(self.tr("Drafter…"), role=role.NoRole)
        self.personal_action = self._action(self.tr("Personalization…"), "Ctrl+Shift+P", role=role.NoRole)
        self.tools_action = self._action(self.tr("Tools…"), role=role.NoRole)
        box.tools.settings_requested.connect(self.tools_action.trigger)
        self.signs.settings_requested.connect(self.conversation_action.trigger)
        self.signs.preset_requested.connect(self.presets_action.trigger)
        self.settings_action = self._action(self.tr("Settings…"), "Ctrl+,", role=role.PreferencesRole)
        self.larger_action = self._action(self.tr("Larger text"), ("Ctrl++", "Ctrl+="))
        self.smaller_action = self._action(self.tr("Smaller text"), "Ctrl+-")
        self.usual_size_action = self._action(self.tr("Default text size"), "Ctrl+0")
        self.sidebar_action = self._action(self.tr("Show or hide the sidebar"), "Ctrl+B", self.toggle_sidebar)
        self.origins_action = self._action(self.tr("Highlight guessed text"), "Ctrl+Shift+O")
        self.origins_action.setCheckable(True)
        self.origins_action.toggled.connect(self.transcript.set_colouring)
        self.focus_action = self._action(self.tr("Go to the message box"), "Ctrl+L", box.setFocus)
        self.history_action = self._action(self.tr("Speed…"), "Ctrl+Shift+S")
        self.meter.history_requested.connect(self.history_action.trigger)
        self.compare_action = self._action(self.tr("Compare with and without speed-up…"))
        self.guide_action = self._action(self.tr("User guide"), "F1")
        self.guided_action = self._action(self.tr("Guided start…"))
        self.tour_action = self._action(self.tr("Show the tour"))
        self.shortcuts_action = self._action(self.tr("Keyboard shortcuts"), "Ctrl+/", self._show_shortcuts)
        self.update_action = self._action(self.tr("Check for updates now"))
        self.logs_action = self._action(self.tr("Open the log folder"))
        self.about_action = self._action(self.tr("About Slipstream"), role=role.AboutRole)

    def _action(
        self,
        words: str,
        keys: _Keys | tuple[_Keys, ...] = (),
        does: Callable[..., object] | SignalInstance | None = None,
        role: QAction.MenuRole = QAction.MenuRole.TextHeuristicRole,
    ) -> QAction:
        """`does` is called, or emitted if it is a signal; `role` places it in a Mac's menus."""
        action = QAction(words, self, menuRole=role)
        action.setShortcuts([QKeySequence(each) for each in (keys if isinstance(keys, tuple) else (keys,))])
        if does is not None:
            action.triggered.connect(does)
        self.addAction(action)
        return action

    def add_page(self, name: str, words: str, opens: Callable[..., object]) -> QAction:
        """Adds a feature's window to the menu, above the settings; `name` is that of its keys."""
        action = self._action(words, does=opens, role=QAction.MenuRole.NoRole)
        action.setObjectName(name)
        for place in (self, self._pages_menu):
            place.insertAction(self.settings_action, action)
        return action

    def _name_actions(self) -> None:
        """Names actions after their attributes (`new_action` is "new"): keys are stored under names independent of
        words and languages."""
        for name, action in vars(self).items():
            if isinstance(action, QAction):
                action.setObjectName(name.removesuffix("_action"))

    def _make_menus(self) -> None:
        """Puts frequent actions on the first level, the rest in submenus by subject."""
        chats = (self.new_action, self.incognito_action, self.search_action)
        speeds = (self.speed_up_action, self.history_action)
        pages = (self.library_action, self.personal_action, self.tools_action, self.settings_action)
        submenus: tuple[tuple[str, tuple[tuple[QAction, ...], ...]], ...] = (
            (
                self.tr("This &chat"),
                (
                    (self.conversation_action, self.presets_action),
                    (self.rename_action, self.move_action, self.pin_action, self.archive_action),
                    (self.export_action, self.delete_action, self.forget_action),
                ),
            ),
            (
                self.tr("M&essages"),
                (
                    (self.attach_action, self.chat_tools_action, self.call_action),
                    (self.stop_action, self.regenerate_action, self.continue_action, self.delete_message_action),
                ),
            ),
            (
                self.tr("&All chats"),
                (
                    (self.filter_action, self.new_folder_action, self.restore_action),
                    (self.import_action, self.export_all_action),
                    (self.library_of_presets_action,),
                ),
            ),
            (
                self.tr("&Model"),
                (
                    (self.choose_action, self.starter_action),
                    (self.open_action, self.models_action, self.servers_action),
                    (self.drafter_action, self.compare_action),
                ),
            ),
            (
                self.tr("&View"),
                (
                    (self.sidebar_action, self.focus_action, self.origins_action),
                    (self.larger_action, self.smaller_action, self.usual_size_action),
                ),
            ),
            (
                self.tr("&Help"),
                (
                    (self.guide_action, self.guided_action, self.tour_action, self.shortcuts_action),
                    (self.logs_action, self.update_action, self.about_action),
                ),
            ),
        )
        if self.menuBar().isNativeMenuBar():  # the bar at the top of the screen
            self._pages_menu = self.menuBar().addMenu(self.tr("&File"))
            _fill(self._pages_menu, (chats, speeds, pages, (self.quit_action,)))
            for name, groups in submenus:
                _fill(self.menuBar().addMenu(name), groups)
            self.target_bar.menu_button.hide()
            return
        self.menuBar().hide()
        menu = self._pages_menu = WindowMenu(self.target_bar.menu_button)
        _fill(menu, (chats, speeds, pages))
        for name, groups in submenus:
            submenu = WindowMenu(menu)
            submenu.setTitle(name)
            menu.addMenu(submenu)
            _fill(submenu, groups)
        menu.addSeparator()
        menu.addAction(self.quit_action)  # last, as everywhere
        self.target_bar.menu_button.setMenu(menu)
        self.menu_action = self._action(self.tr("Open the menu"), "F10", self.target_bar.menu_button.showMenu)
        self.menu_action.setObjectName("menu")
        KeyHint(self.target_bar.menu_button, self.menu_action)

    # What actions do

    @Slot()
    def _enable_last(self) -> None:
        """Enables the actions on the last message."""
        self.regenerate_action.setEnabled(self.transcript.can_regenerate())
        self.delete_message_action.setEnabled(self.transcript.can_regenerate())
        self.continue_action.setEnabled(self.transcript.can_continue())

    @Slot(bool)
    def _enable_current(self, has_current: bool) -> None:
        """Enables the actions that need an open chat."""
        order = self.move_action, self.pin_action, self.archive_action
        for action in (self.rename_action, *order, self.export_action, self.delete_action, self.forget_action):
            action.setEnabled(has_current)

    @Slot()
    def _on_regenerate(self) -> None:
        self.transcript.message_actions.regenerate_requested.emit(self.transcript.messages[-1].id)

    @Slot()
    def _on_delete_message(self) -> None:
        self.transcript.message_actions.delete_requested.emit(self.transcript.messages[-1].id)

    @Slot()
    def _show_shortcuts(self) -> None:
        dialog = ShortcutsDialog(Shortcuts(self).shown(), fixed_keys(self.prompt_box.sends_with_ctrl), self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.change_requested.connect(self.shortcut_settings_requested)
        dialog.open()


def _fill(menu: QMenu, groups: tuple[tuple[QAction, ...], ...]) -> None:
    for group in groups:
        menu.addActions(group)
        menu.addSeparator()
