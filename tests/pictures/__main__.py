"""Takes the pictures of README and guide: `python -m tests.pictures [FOLDER] [--real | --only NAME]`.

Every page of the window as users get it, in light and dark, in a temporary folder and without a network. Three are of
a real reply of the starter model: the animation `reply`, `chat` and `origins`. README and guide get a caption with what
was measured of it, so take these (`--real`, half a minute) on a quiet machine. All others are illustrations: the real
engine on made-up chats and figures.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QPoint, qInstallMessageHandler
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from app.features.library.quantizations_dialog import QuantizationsDialog
from app.settings.declaration import SettingsPage
from app.text.translation import install_translations
from app.widgets.shortcuts_dialog import ShortcutsDialog
from engine import BUILT_IN
from engine.backend.remote.address import way_notice
from engine.values.events import ServersListed, SpeculationChanged, TargetReady, TargetsListed
from engine.values.order import Folder
from tests.pictures.content import (
    BRANCHED_CHAT,
    CODE_CHAT,
    COMPARED_PROMPT,
    LARGE_NAME,
    NOTES_FILE,
    SEEN_CHAT,
    SERVERS,
    Chat,
    fill_store,
    keep_adapters,
)
from tests.pictures.real import NAMES as REAL
from tests.pictures.real import take_real, write_caption
from tests.pictures.studio import Studio

_PICTURES = Path(__file__).parents[2] / "docs" / "pictures"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.pictures", description="Takes the pictures of the guide.")
    parser.add_argument("folder", type=Path, nargs="?", default=_PICTURES)
    parser.add_argument("--only", default="", metavar="NAME", help="take the pictures whose names begin with NAME")
    parser.add_argument("--real", action="store_true", help="take only those of a real reply")
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    qInstallMessageHandler(lambda *_message: None)  # the offscreen platform reports what it cannot do
    application = QApplication(["slipstream", "-platform", "offscreen"])
    application.setCursorFlashTime(0)
    install_translations(application)
    with tempfile.TemporaryDirectory(prefix="slipstream-pictures-") as name:
        folder = Path(name)
        if any(each.startswith(chosen.only) for each in REAL):
            caption = take_real(application, folder / "real", chosen.folder, chosen.only)
            print(caption)
            if chosen.folder == _PICTURES:
                write_caption(caption, _PICTURES.parents[1])
        if chosen.real:
            return
        if "first-start".startswith(chosen.only):
            with closing(Studio(application, folder / "new", chosen.folder, chosen.only)) as studio:
                _first_start(studio)
        fill_store(folder / "store")
        (folder / "Garden club.md").write_text(NOTES_FILE, "utf-8")
        (folder / "holiday.gguf").write_bytes(b"GGUF" + b"\xff" * 4096)
        with closing(Studio(application, folder / "store", chosen.folder, chosen.only, BUILT_IN)) as studio:
            _wait_for_model(studio)
            studio.until(lambda: _is_drafting(studio))
            keep_adapters(studio.app.bridge, folder / "store")
            for take in _TAKES:
                take(studio, folder)


def _wait_for_model(studio: Studio) -> None:
    studio.until(lambda: studio.heard(TargetReady) and studio.heard(TargetsListed))
    studio.window.resize(1100, 760)
    studio.rest()


def _is_drafting(studio: Studio) -> bool:
    return any(isinstance(event, SpeculationChanged) and event.is_drafting for event in studio.events)


def _first_start(studio: Studio) -> None:
    _wait_for_model(studio)
    studio.shoot("first-start", studio.window)


def _open(studio: Studio, chat: Chat) -> None:
    model = studio.window.conversations.model
    wanted = next(model.summary(row).id for row in range(model.rowCount()) if model.summary(row).title == chat.title)
    studio.window.conversations.chosen.emit(wanted)
    studio.until(lambda: any(message.conversation_id == wanted for message in studio.window.transcript.messages))
    studio.rest()


def _menu(studio: Studio, _folder: Path) -> None:
    button = studio.window.target_bar.menu_button
    menu = button.menu()
    place = button.mapToGlobal(QPoint(button.width() - menu.sizeHint().width(), button.height() + 2))
    menu.popup(place)
    menu.move(place)  # the screen of the offscreen platform is smaller than the window
    chat = next(action for action in menu.actions() if action.text() == "This &chat")
    submenu = chat.menu()
    assert isinstance(submenu, QMenu)
    menu.setActiveAction(chat)
    beside = menu.mapToGlobal(menu.actionGeometry(chat).topLeft()) - QPoint(submenu.sizeHint().width(), 0)
    submenu.popup(beside)
    submenu.move(beside)
    studio.shoot("menu", studio.window, menu, submenu)
    submenu.close()
    menu.close()


def _picker(studio: Studio, _folder: Path) -> None:
    studio.window.target_bar.open_picker()
    picker = studio.window.target_bar.picker
    studio.until(lambda: picker.note.text().startswith("Takes"))
    studio.shoot("picker", studio.window, picker)
    picker.close()


def _servers(studio: Studio, _folder: Path) -> None:
    app = studio.app
    app.bridge._deliver(ServersListed(SERVERS))
    studio.window.target_bar.open_picker()
    picker = studio.window.target_bar.picker
    picker.view.point_at(SERVERS[-1].models[0].reference)
    studio.shoot("picker-servers", studio.window, picker)
    picker.close()
    studio.window.servers_action.trigger()
    dialog = app.model_servers.dialog
    dialog.open_form()
    dialog.form.address.setText("192.168.1.7:8000")
    found = replace(SERVERS[-1], name="192.168.1.7:8000", address="http://192.168.1.7:8000/v1")
    dialog.form.show_seen(found, way_notice(found))
    studio.shoot("model-servers", dialog)
    dialog.close()
    app.bridge._deliver(ServersListed(()))


def _branches(studio: Studio, _folder: Path) -> None:
    _open(studio, BRANCHED_CHAT)
    studio.shoot("branches", studio.window)
    studio.window.transcript.message_actions.revise_last()
    studio.shoot("edit", studio.window)
    studio.window.transcript.message_actions.end_revision(studio.window.transcript.messages[0].id)
    studio.window.conversation_action.trigger()
    dialog = studio.app.chat_settings.dialog
    studio.until(dialog.isVisible)
    studio.shoot("this-chat", dialog)
    dialog.reject()


def _presets(studio: Studio, _folder: Path) -> None:
    window, library = studio.window, studio.app.preset_library.dialog
    library.presets.examples_button.click()
    library.prompts.examples_button.click()
    studio.until(lambda: len(library.presets.presets) > 1 and len(library.prompts.prompts) > 1)
    window.new_action.trigger()
    studio.app.presets.apply(next(iter(studio.app.presets.presets)))
    window.toasts.clear()
    window.presets_action.trigger()
    studio.shoot("preset-choice", window, studio.app.presets.picker)
    studio.app.presets.picker.close()
    window.activateWindow()
    window.prompt_box.setFocus()
    QTest.keyClicks(window.prompt_box.editor, "/")
    studio.shoot("prompt-choice", window)
    window.prompt_box.set_text("")
    window.tour_action.trigger()
    studio.shoot("tour", window)
    assert studio.app.tour.tour is not None
    studio.app.tour.tour.end()
    window.new_action.trigger()
    studio.app.presets.picker.chosen.emit(0)
    window.toasts.clear()


def _search(studio: Studio, _folder: Path) -> None:
    _open(studio, CODE_CHAT)
    studio.window.conversations.begin_search()
    studio.window.conversations.search.setText("boat")
    studio.until(lambda: bool(studio.window.conversations.results.model.hits))
    studio.shoot("search", studio.window)
    studio.window.conversations.search.leave()


def _folders(studio: Studio, _folder: Path) -> None:
    _open(studio, CODE_CHAT)
    sidebar, model = studio.window.conversations, studio.window.conversations.model
    ask, editor = studio.app.bridge.ask, studio.app.bridge.engine.editor
    ids = [model.summary(row).id for row in range(model.rowCount())]
    for name, some in (("Garden club", ids[1:3]), ("Letters", ids[3:4])):
        ask(editor.create_folder, Folder(0, name, "Be kind."), tuple(some))
    ask(editor.pin, (ids[-1],), True)
    studio.until(lambda: any(each.is_pinned for each in model.summaries) and len(model.folders) == 2)
    sidebar.view.set_open(model.folders[0].id, True)
    studio.shoot("folders", studio.window)
    ask(editor.pin, (ids[-1],), False)
    for folder in model.folders:
        ask(editor.delete_folder, folder.id)
    studio.until(lambda: not model.folders)


def _attached(studio: Studio, folder: Path) -> None:
    studio.window.new_action.trigger()
    studio.window.prompt_box.set_text("Write a short invitation from these minutes.")
    studio.app.prompt.attach([str(folder / "Garden club.md")])
    studio.until(lambda: bool(studio.window.prompt_box.chips.attachments))
    studio.rest()
    studio.rest()
    studio.shoot("attached", studio.window)
    studio.window.prompt_box.set_text("")


def _seen(studio: Studio, _folder: Path) -> None:
    _open(studio, SEEN_CHAT)
    studio.window.transcript.column.verticalScrollBar().setValue(0)
    studio.rest()
    studio.shoot("seen", studio.window, keeps_colours=True)


def _incognito(studio: Studio, _folder: Path) -> None:
    studio.window.incognito_action.trigger()
    studio.window.prompt_box.set_text("Ideas for a surprise party for Sam")
    studio.rest()
    studio.shoot("incognito", studio.window)
    studio.window.prompt_box.set_text("")
    studio.window.new_action.trigger()


def _error(studio: Studio, folder: Path) -> None:
    _open(studio, CODE_CHAT)
    studio.window.target_bar.target_chosen.emit(str(folder / "holiday.gguf"))
    studio.until(lambda: bool(studio.window.toasts.shown))
    studio.rest()
    studio.shoot("error", studio.window)
    studio.window.toasts.clear()


def _library(studio: Studio, folder: Path) -> None:
    studio.window.library_action.trigger()
    library = studio.app.library
    assert library is not None
    dialog = library.dialog
    studio.rest()
    dialog.library.view.point_at(str(folder / "models" / f"{LARGE_NAME}.gguf"))
    studio.until(lambda: dialog.library.details.form.memory.text().startswith("Takes"))
    studio.shoot("library", dialog)
    scroll = dialog.library.details.verticalScrollBar()
    scroll.setValue(scroll.maximum())
    studio.shoot("library-options", dialog)
    dialog.library.details.quantizations_button.click()
    (forms,) = studio.window.findChildren(QuantizationsDialog)
    studio.until(lambda: len(forms.table.rows) > 1)
    forms.resize(920, forms.height())  # the screen of the offscreen platform is smaller
    studio.rest()
    studio.shoot("forms", forms)
    forms.close()
    dialog.open_hub()
    studio.until(lambda: dialog.hub.suggestions.view.rows.rowCount() > 0)
    studio.rest()
    studio.shoot("suggestions", dialog)
    dialog.hub.search.setText("qwen 7b")
    dialog.hub.search_button.click()
    studio.rest()
    dialog.hub.models_view.use_current()
    studio.shoot("find-models", dialog)
    dialog.close()


def _speed(studio: Studio, _folder: Path) -> None:
    studio.window.history_action.trigger()
    studio.until(lambda: studio.app.history.page is not None)
    studio.rest()
    page = studio.app.history.page
    assert page is not None
    studio.shoot("speed", page)
    page.close()
    _open(studio, CODE_CHAT)
    studio.window.compare_action.trigger()
    dialog = studio.app.comparing.dialog
    dialog.show_prompt(COMPARED_PROMPT, True)
    dialog.start_requested.emit()
    studio.shoot("compare", dialog)
    dialog.close()


def _personal(studio: Studio, _folder: Path) -> None:
    studio.window.personal_action.trigger()
    dialog = studio.app.personal.dialog
    studio.until(lambda: bool(dialog.learned.cards))
    for name, page in (
        ("learned", dialog.learned),
        ("learning", dialog.learning),
        ("profile", dialog.profile),
        ("forget", dialog.forget),
    ):
        dialog.show_page(page)
        studio.shoot(name, dialog)
    dialog.close()


def _settings(studio: Studio, _folder: Path) -> None:
    studio.window.settings_action.trigger()
    dialog = studio.app.settings.dialog
    for group in SettingsPage:
        dialog.show_page(group)
        studio.shoot(f"settings-{group.name.lower()}", dialog)
    dialog.close()
    studio.window.drafter_action.trigger()
    drafter = studio.app.drafters.dialog
    studio.shoot("drafter", drafter)
    drafter.close()
    studio.window.shortcuts_action.trigger()
    (shortcuts,) = (each for each in studio.window.findChildren(ShortcutsDialog) if each.isVisible())
    studio.shoot("shortcuts", shortcuts)
    shortcuts.close()


_TAKES: tuple[Callable[[Studio, Path], None], ...] = (
    _menu, _picker, _servers, _branches, _presets, _search, _folders, _attached, _seen, _incognito, _error, _library,
    _speed, _personal, _settings,
)  # fmt: skip


if __name__ == "__main__":
    main()
