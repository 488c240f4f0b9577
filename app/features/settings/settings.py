"""The settings, as the user changes them in their window."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QWidget

from app.features.controller import WindowPart
from app.features.help.update import update_description
from app.features.library.target import TargetController
from app.features.settings.settings_dialog import DialogState, SettingsDialog
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings
from app.settings.declaration import SettingsPage, SettingValue, shown_settings
from app.settings.keeper import SettingsKeeper
from app.settings.look import TEXT_SIZE
from app.settings.shortcuts import Shortcuts
from app.text.translation import translate
from app.theme import ThemeKeeper
from app.widgets.dialog_parts import show_in_front
from app.widgets.option_row import LinkRow
from engine import TargetSettings, update_url


class SettingsController(WindowPart):
    """Shows the settings window, and applies a changed setting at once. Made after everything that adds actions to the
    main window, as it sets their shortcuts."""

    made = Signal(object)  # (SettingsDialog) the window of settings is there, and takes more rows

    def __init__(
        self,
        window: MainWindow,
        theme: ThemeKeeper,
        keeper: SettingsKeeper,
        target: TargetController,
    ) -> None:
        super().__init__(window)
        self._theme = theme
        self._keeper = keeper
        self._target = target
        self._shortcuts = Shortcuts(window)
        self._target_settings = keeper.settings.target_settings()  # that a model was loaded with last
        complaint = self._shortcuts.use(keeper.settings.shortcuts)
        if complaint:
            window.toasts.show_error(complaint)
            keeper.note(shortcuts=self._shortcuts.chosen())
        window.prompt_box.set_sends_with_ctrl(keeper.settings.send_with == "ctrl+enter")
        self._dialog: SettingsDialog | None = None
        window.settings_action.triggered.connect(self._open)
        window.shortcut_settings_requested.connect(self._open_shortcuts)
        window.larger_action.triggered.connect(partial(self._resize, TEXT_SIZE.step))
        window.smaller_action.triggered.connect(partial(self._resize, -TEXT_SIZE.step))
        window.usual_size_action.triggered.connect(partial(self._change, "text_size", TEXT_SIZE.default))
        window.closing.connect(self._finish)
        keeper.changed.connect(self._apply)
        keeper.failed.connect(window.toasts.show_error, Qt.ConnectionType.QueuedConnection)
        target.loading_begun.connect(self._on_loading)

    @property
    def dialog(self) -> SettingsDialog:
        """The dialog, made on first use: building it takes longer than the rest of the window."""
        if self._dialog is None:
            self._dialog = self._make_dialog()
            self.made.emit(self._dialog)
        return self._dialog

    def _make_dialog(self) -> SettingsDialog:
        dialog = SettingsDialog(self._theme, shown_settings(AppSettings), self._window)
        about_drafter = translate("Settings", "The small model that guesses ahead, so that replies come faster.")
        about_learning = translate("Settings", "What was learned from your chats, and how to export or forget it.")
        dialog.add_link(LinkRow(self._theme, SettingsPage.MODELS, self._window.drafter_action, about_drafter))
        dialog.add_link(LinkRow(self._theme, SettingsPage.MODELS, self._window.personal_action, about_learning))
        about_presets = translate("Settings", "Settings to apply to a chat at once, and prompts to use again.")
        dialog.add_link(LinkRow(self._theme, SettingsPage.CHAT, self._window.library_of_presets_action, about_presets))
        about_tools = translate("Settings", "Servers whose tools models may ask for, and what they are allowed.")
        dialog.add_link(LinkRow(self._theme, SettingsPage.CHAT, self._window.tools_action, about_tools))
        dialog.rows["check_updates"].describe(update_description(update_url()))
        dialog.rows["check_updates"].control.setEnabled(bool(update_url()))
        dialog.chosen.connect(self._change)
        dialog.keys_chosen.connect(self._change_keys)
        dialog.swap_requested.connect(self._swap_keys)
        dialog.all_reset.connect(self._keeper.reset)
        dialog.load_requested.connect(self._target.load_again)
        return dialog

    # What the user wants

    @Slot()
    def _open(self) -> None:
        self._show_all()
        show_in_front(self.dialog)

    @Slot()
    def _open_shortcuts(self) -> None:
        self._open()
        self.dialog.show_page(SettingsPage.SHORTCUTS)

    @Slot(str, object)
    def _change(self, name: str, value: SettingValue) -> None:
        problem = self._keeper.change(name, value)
        if self._dialog is not None:
            self._dialog.show_problem(name, problem)

    @Slot(str, str)
    def _change_keys(self, name: str, keys: str) -> None:
        problem = self._shortcuts.problem(name, keys)
        if problem is None:
            self._keeper.change("shortcuts", self._shortcuts.chosen({name: keys}))
            self._show_all()
        else:
            self.dialog.refuse_keys(name, keys, problem)

    @Slot(str, str, str)
    def _swap_keys(self, name: str, keys: str, owner: str) -> None:
        self._keeper.change("shortcuts", self._shortcuts.swapped(name, keys, owner))
        self._show_all()

    def _resize(self, step: float) -> None:
        wanted = self._keeper.settings.text_size + step
        self._change("text_size", min(max(wanted, TEXT_SIZE.low), TEXT_SIZE.high))

    @Slot()
    def _finish(self) -> None:
        if self._dialog is not None:
            self._dialog.finish()

    # In another window

    def kept(self) -> tuple[TargetSettings, DialogState | None]:
        self._finish()
        is_open = self._dialog is not None and self._dialog.isVisible()
        return self._target_settings, self.dialog.state if is_open else None

    def resume(self, kept: tuple[TargetSettings, DialogState | None]) -> None:
        self._target_settings, state = kept
        if state is not None:
            QTimer.singleShot(0, self, partial(self._open_again, state))  # in front of the window, which is shown first

    def _open_again(self, state: DialogState) -> None:
        self._window.settings_action.trigger()
        self.dialog.restore(state)

    def is_dialog(self, window: QWidget) -> bool:
        return window is self._dialog

    def show_note(self, name: str, sentence: str) -> None:
        """Shows a note below a setting, while the dialog exists."""
        if self._dialog is not None:
            self._dialog.rows[name].show_note(sentence)

    # What follows

    @Slot()
    def _apply(self) -> None:
        settings = self._keeper.settings
        self._theme.choose(settings.theme, settings.text_size)
        self._window.prompt_box.set_sends_with_ctrl(settings.send_with == "ctrl+enter")
        self._shortcuts.use(settings.shortcuts)
        if self._dialog is not None:
            self._show_all()

    def _show_all(self) -> None:
        settings = self._keeper.settings
        self.dialog.show_values(settings.model_dump())
        self.dialog.show_shortcuts(self._shortcuts.shown())
        self.dialog.show_loading_needed(settings.target_settings() != self._target_settings)

    @Slot(TargetSettings)
    def _on_loading(self, target_settings: TargetSettings) -> None:
        self._target_settings = target_settings
        if self._dialog is not None:
            self._show_all()
