"""Start-up of the app, step by step: check what Qt needs, show the window, and only then wake the engine.

llama.cpp, SQLAlchemy and torch are never imported here: the engine does that on its own threads, after the first paint.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from app import system_libraries
from engine.config import EngineConfig, SamplingSettings, SpeculationSettings, TargetSettings, data_dir
from engine.errors import MendableError

_SIGNAL_INTERVAL_MS = 250
_HEADLESS_PLATFORMS = ("offscreen", "minimal", "vnc")


class CannotOpenWindow(MendableError):
    """This machine lacks something that a window needs."""


def run(target: str | None, smoke: Path | None, speculation: SpeculationSettings) -> int:
    """Opens the window and returns the exit code when it is closed. Raises CannotOpenWindow."""
    check_machine()
    logging.raiseExceptions = False  # a full disk is no reason to fill the terminal
    with _data_folder(temporary=smoke is not None) as folder:
        return _run(folder, target, smoke, speculation)


def check_machine() -> None:
    """Qt itself would end the process with a message for developers."""
    if not sys.platform.startswith("linux"):
        return
    platform = os.environ.get("QT_QPA_PLATFORM", "").split(":")[0]
    headless = platform in _HEADLESS_PLATFORMS
    missing = system_libraries.missing_packages()
    if missing and (not headless or system_libraries.cannot_import_qt()):
        raise CannotOpenWindow(f"Slipstream's window needs these system packages: sudo apt install {' '.join(missing)}")
    if not headless and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise CannotOpenWindow(
            "There is no display to open a window on; start Slipstream on a desktop, "
            "or use `slipstream chat` in the terminal."
        )


@contextmanager
def _data_folder(temporary: bool) -> Iterator[Path]:
    """A smoke run leaves nothing in the user's own folder."""
    if temporary:
        with tempfile.TemporaryDirectory(prefix="slipstream-") as folder:
            yield Path(folder)
    else:
        yield data_dir()


def _run(folder: Path, target: str | None, smoke: Path | None, speculation: SpeculationSettings) -> int:
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from app.first_paint import wait_for_first_paint
    from app.garbage import InterfaceGarbage
    from app.logs import log_to_file
    from app.main_window import MainWindow
    from app.settings import SettingsFile
    from app.theme import apply_theme
    from app.translation import install_translations

    application = QApplication([sys.argv[0]])
    application.setApplicationName("Slipstream")
    application.setDesktopFileName("slipstream")
    InterfaceGarbage(application)
    log_to_file(folder)
    settings_file = SettingsFile(folder)
    settings, complaint = settings_file.load()
    install_translations(application)
    theme = apply_theme(application, settings.theme, settings.text_size)
    window = MainWindow(theme, version("slipstream"))
    window.restore(settings.window)
    window.transcript.welcome.show_introduction(not settings.has_chatted)
    window.show()
    wait_for_first_paint(window)

    # All of this is made when the window is seen already.
    from app.attachments_controller import AttachmentsController
    from app.branch_controller import BranchController
    from app.chat_controller import ChatController
    from app.compare_controller import CompareController
    from app.conversation_controller import ConversationController
    from app.draft_keeper import DraftKeeper
    from app.drafter_controller import DrafterController
    from app.engine_bridge import EngineBridge
    from app.exchange_controller import ExchangeController
    from app.first_start import FirstStart
    from app.forget_controller import ForgetController
    from app.history_controller import HistoryController
    from app.library import connect_library
    from app.library_controller import LibraryController
    from app.notifier import Notifier
    from app.personal_controller import PersonalController
    from app.remembering import Remembering
    from app.search_controller import SearchController
    from app.settings_controller import SettingsController
    from app.settings_keeper import SettingsKeeper
    from app.smoke import SmokeRun, smoke_settings
    from app.store_trouble import StoreTrouble
    from app.token_counting import TokenCounting

    bridge = EngineBridge(EngineConfig(folder, speculation, settings.learning_settings()))
    controller = ChatController(
        window,
        bridge,
        smoke_settings() if smoke else settings.reply_settings(),
        settings.target_settings(),
        settings.system_prompt,
    )
    window.origins_action.setChecked(settings.colour_origins)
    BranchController(window, bridge, controller)
    ConversationController(window, bridge, controller)
    TokenCounting(window.prompt_box, bridge)

    keeper = SettingsKeeper(settings_file, settings, application)
    drafts = DraftKeeper(window.prompt_box, bridge, controller, settings.draft, keeper.keep_draft)
    drafters = DrafterController(window, bridge, folder, settings.drafter)
    personal = PersonalController(window, bridge, settings.learning_settings())
    history = HistoryController(window, bridge, theme)
    comparing = CompareController(window, bridge, lambda: controller.reply_settings, lambda: controller.system_prompt)
    history.compare_requested.connect(comparing.open)
    controller.loading_begun.connect(comparing.stop)
    SearchController(window, bridge)
    attachments = AttachmentsController(window, bridge)
    ExchangeController(window, bridge, attachments)
    ForgetController(window, bridge)
    SettingsController(window, theme, keeper, controller)
    remembering = Remembering(window, bridge, keeper, controller, drafters, personal)
    FirstStart(window, bridge, keeper)
    Notifier(window, bridge, keeper)
    if complaint:
        window.toasts.show_error(complaint)
    check = SmokeRun(window, bridge, smoke) if smoke else None

    library: LibraryController | None = None

    def begin() -> None:
        """Also once more, when the store could not be opened and is tried again."""
        nonlocal library
        drafters.start()
        controller.start(target or settings.target)
        if library is None:
            library = connect_library(window, theme, bridge, controller, folder, *for_all())
            keeper.changed.connect(follow)
        library.start()

    def for_all() -> tuple[TargetSettings, SamplingSettings]:
        return keeper.settings.target_settings(), keeper.settings.reply_settings().sampling

    def follow() -> None:
        if library is not None:
            library.set_for_all(*for_all())

    StoreTrouble(window, bridge, folder, begin)
    QTimer.singleShot(0, controller, begin)

    def close() -> None:
        drafts.keep()
        remembering.remember()
        try:
            keeper.close()
        except OSError as error:
            print(f"The settings could not be saved: {error.strerror}.", file=sys.stderr)
        bridge.close()

    window.closing.connect(close)
    signal.signal(signal.SIGINT, lambda _number, _frame: window.close())
    awake = QTimer(window)
    awake.timeout.connect(lambda: None)  # Python looks at signals only when Python code runs, however little
    awake.start(_SIGNAL_INTERVAL_MS)
    try:
        code = application.exec()
    finally:
        bridge.close()  # does nothing when the window has closed it
    if check is not None and check.failure:
        raise CannotOpenWindow(check.failure)
    return code
