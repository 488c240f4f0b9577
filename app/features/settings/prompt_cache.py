"""The prompt cache: how much of the disk it takes, and a button that deletes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec

from PySide6.QtCore import Slot
from PySide6.QtGui import QAction

from app.engine_bridge import EngineBridge
from app.features.controller import Controller
from app.features.settings.settings import SettingsController
from app.features.settings.settings_dialog import SettingsDialog
from app.main_window import MainWindow
from app.settings.declaration import SettingsPage
from app.settings.keeper import SettingsKeeper
from app.text.amounts import size_words
from app.theme import ThemeKeeper
from app.widgets.option_row import LinkRow

P = ParamSpec("P")


class PromptCacheController(Controller):
    """A row in the settings, below the limit of the cache."""

    def __init__(
        self,
        window: MainWindow,
        theme: ThemeKeeper,
        bridge: EngineBridge,
        keeper: SettingsKeeper,
        settings: SettingsController,
    ) -> None:
        super().__init__(window, bridge)
        self._theme = theme
        self._keeper = keeper
        self._in_use = keeper.settings.prompt_cache_settings()
        self._num_bytes = 0
        self._row: LinkRow | None = None
        self._delete = QAction(self.tr("Delete prompt caches"), self)
        self._delete.triggered.connect(lambda: self._ask(bridge.engine.prompt_cache.forget_all))
        settings.made.connect(self._add_row)
        window.settings_action.triggered.connect(lambda: self._ask(bridge.engine.prompt_cache.measure))
        keeper.changed.connect(self._follow)

    @Slot(object)
    def _add_row(self, dialog: SettingsDialog) -> None:
        self._row = LinkRow(self._theme, SettingsPage.GENERAL, self._delete, "", button_words=self.tr("Delete now"))
        dialog.add_link(self._row)
        self._show()

    @Slot()
    def _follow(self) -> None:
        wanted = self._keeper.settings.prompt_cache_settings()
        if wanted != self._in_use:
            self._in_use = wanted
            self._ask(self._bridge.engine.prompt_cache.use, wanted)

    def _ask(self, method: Callable[P, int], *args: P.args, **kwargs: P.kwargs) -> None:
        self._bridge.ask(method, *args, **kwargs).answered.connect(self._on_measured)

    @Slot(object)
    def _on_measured(self, num_bytes: int) -> None:
        self._num_bytes = num_bytes
        self._show()

    def _show(self) -> None:
        if self._row is None:
            return
        text = self.tr("No prompt caches are stored at the moment.")
        if self._num_bytes:
            text = self.tr("{size} in use. Chats stay; the model has to read a long one again before its next reply.")
        self._row.describe(text.format(size=size_words(self._num_bytes)))
        self._row.button.setEnabled(bool(self._num_bytes))
