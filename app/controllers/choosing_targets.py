"""Puts together what choosing and finding models takes."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from app.controllers.chat import ChatController
from app.controllers.hub import HubController
from app.controllers.library import LibraryController
from app.dialogs.library.library_dialog import LibraryDialog
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.theme import ThemeKeeper
from engine import SamplingSettings, TargetSettings

_HUB = "https://huggingface.co"


def connect_library(
    window: MainWindow,
    keeper: ThemeKeeper,
    bridge: EngineBridge,
    chats: ChatController,
    folder: Path,
    settings_for_all: TargetSettings,
    sampling_for_all: SamplingSettings,
) -> LibraryController:
    """`folder` is the one that everything is kept in. The window owns what is made here."""
    endpoint = os.environ.get("HF_ENDPOINT") or _HUB
    dialog = LibraryDialog(keeper, sampling_for_all, urlsplit(endpoint).netloc or endpoint, window)
    library = LibraryController(window, dialog, bridge, settings_for_all)
    hub = HubController(window, dialog, bridge, folder)
    library.load_requested.connect(chats.choose_target)
    library.own_settings_changed.connect(chats.use_own_settings)
    hub.use_requested.connect(library.choose)
    return library
