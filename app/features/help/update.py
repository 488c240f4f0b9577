"""Checks for a newer version: when the user asks, and once a day if the user has switched that on."""

from __future__ import annotations

import time
from functools import partial
from urllib.parse import urlsplit

from PySide6.QtCore import QTimer, QUrl, Slot
from PySide6.QtGui import QDesktopServices

from app.engine_bridge import EngineBridge, Request
from app.features.controller import Controller
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from app.text.translation import translate
from engine.values.requests import Failure
from engine.values.targets import Release

SUBJECT = "update"
DAY_S = 24 * 60 * 60
_FIRST_MS = 10_000  # by then the model is loaded
_AGAIN_MS = 60 * 60_000  # for an app that stays open for days


def update_description(url: str) -> str:
    """Says what the setting does: which site is asked, and what is sent."""
    if not url:
        return translate("Updates", "This build cannot check for updates; look where you got it.")
    words = translate(
        "Updates",
        "Asks {site} for the newest version once a day. Only Slipstream's version is sent; like any site, it sees "
        "your internet address. Nothing is downloaded or installed.",
    )
    return words.format(site=urlsplit(url).netloc)


class UpdateController(Controller):
    """Has the engine ask the site of this build, at most once a day by itself, and shows a notice if there is a newer
    version. Without an address nothing is asked or offered."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, keeper: SettingsKeeper, url: str) -> None:
        super().__init__(window, bridge)
        self._keeper = keeper
        self._url = url
        self._under_way: Request[Release | None] | None = None
        self._is_by_hand = False  # the user asked, and waits
        self._newer: Release | None = None  # that the notice is about
        window.update_action.setVisible(bool(url))
        window.update_action.setEnabled(bool(url))
        if not url:
            return
        window.update_action.triggered.connect(self._ask_by_hand)
        keeper.changed.connect(self._ask_if_due)
        again = QTimer(self, interval=_AGAIN_MS)
        again.timeout.connect(self._ask_if_due)
        again.start()
        QTimer.singleShot(_FIRST_MS, self, self._ask_if_due)

    @Slot()
    def _ask_if_due(self) -> None:
        settings = self._keeper.settings
        since_s = time.time() - settings.update_checked_at
        is_due = since_s >= DAY_S or since_s < 0  # the clock was set back
        if settings.check_updates and is_due and self._under_way is None:
            self._ask(by_hand=False)

    @Slot()
    def _ask_by_hand(self) -> None:
        if self._under_way is None or not self._is_by_hand:
            self._window.toasts.show_info(self.tr("Asking {site}…").format(site=urlsplit(self._url).netloc))
            self._ask(by_hand=True)

    def _ask(self, by_hand: bool) -> None:
        """Asks the site. Failed checks count, too: it is asked at most once a day."""
        if self._under_way is not None:
            self._under_way.drop()
        self._is_by_hand = by_hand
        self._keeper.note(update_checked_at=time.time())
        self._under_way = self._bridge.ask(self._bridge.engine.hub.newer_release)
        self._under_way.answered.connect(self._on_checked)
        self._under_way.failed.connect(self._on_failed)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self._under_way = None
        if self._is_by_hand:
            self._window.toasts.show_error(failure.sentence)

    @Slot(object)
    def _on_checked(self, release: Release | None) -> None:
        self._under_way, by_hand = None, self._is_by_hand
        if release is None:
            self._window.notices.dismiss(SUBJECT)
            if by_hand:
                words = self.tr("Slipstream {version} is the newest version.").format(version=self._window.version)
                self._window.toasts.show_info(words)
        elif by_hand or release.version != self._keeper.settings.skipped_version:
            self._show(release)

    def kept(self) -> Release | None:
        return self._newer if SUBJECT in self._window.notices.shown else None

    def resume(self, kept: Release | None) -> None:
        if kept is not None:
            self._show(kept)

    def _show(self, release: Release) -> None:
        self._newer = release
        words = self.tr("Slipstream {newer} is available; this is {version}.")
        self._window.notices.show_notice(
            SUBJECT,
            words.format(newer=release.version, version=self._window.version),
            (
                (self.tr("Open the download page"), partial(QDesktopServices.openUrl, QUrl(release.page))),
                (self.tr("Skip this version"), partial(self._skip, release)),
            ),
        )

    def _skip(self, release: Release) -> None:
        self._keeper.note(skipped_version=release.version)
        self._window.notices.dismiss(SUBJECT)
