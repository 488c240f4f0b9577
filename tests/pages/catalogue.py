"""Every page and dialog of the window, opened as a user would, in the states in which it shows most.

Each function opens some of them one after the other, yields a name and the window that shows it, and leaves the app as
it was. The pages of tabs and lists within a window are turned by whoever looks at it (`turned`). A class of a widget
that no page shows is told by `unseen`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QListWidget, QMenu, QTabWidget, QWidget

import app
from app.features.chat.pictures import PictureDialog
from app.features.chats.store_notice import StoreDialog
from app.features.guided.steps import State
from app.features.help.guide_dialog import GuideDialog
from app.features.help.help import AboutDialog
from app.features.library.quantizations_dialog import QuantizationsDialog
from app.features.library.questions import ask_discard, ask_load_anyway
from app.text.hub_files import Download, DownloadState
from app.text.outlooks import machine_facts
from app.text.tool_calls import CallPhase
from app.widgets.meter.meter_text import Readiness
from app.widgets.shortcuts_dialog import ShortcutsDialog
from app.widgets.transcript.prompt_view import PromptView
from app.widgets.transcript.reply_view import ReplyView
from engine import write_tool_servers
from engine.values.conversations import Message, Role
from engine.values.events import ServersListed, SpeculationChanged, TargetReady, TargetsListed, ToolAsked
from engine.values.history import History
from engine.values.order import Folder
from engine.values.outlook import MachineFigures
from engine.values.prompts import Attachment, join_prompt
from engine.values.serving import Client
from engine.values.speed import LiveFigures
from engine.values.targets import MemoryEstimate
from engine.values.tools import AllowedTool, Change, Redefined, ServerState, Tool, ToolServer, definition_of
from tests.pictures.content import (
    BRANCHED_CHAT,
    CODE_CHAT,
    COMPARED_PROMPT,
    HUB_FILES,
    LARGE_NAME,
    NOTES_FILE,
    SEEN_CHAT,
    SERVERS,
    Chat,
    rainbow,
)
from tests.pictures.studio import Studio
from tests.pictures.tool_chat import ASKING, TOOL_CHAT, WRITE

Page = tuple[str, QWidget]
_GIB = 1 << 30
_FAILED = DownloadState.FAILED
_SENTENCE = "The store /home/robin/.local/share/slipstream/slipstream.sqlite is damaged; put a backup in its place."
_LIVE = LiveFigures(214, 31.2, 30.0, 20.0, 0.02, 120, 160, 93, 1204)
_MACHINE = MachineFigures("tiny", "file:1", 98_000_000, {1: 0.01, 2: 0.017, 4: 0.03, 8: 0.05}, 560.0, is_busy=True)
_PARTS = {  # that no page shows for long enough, and why
    "Flash": "a tint that fades within two seconds",
    "RowView": "what all rows of a chat have in common",
}

_REDEFINED = Redefined((Change.PROGRAM, Change.DESCRIPTION, Change.ARGUMENTS), "Writes notes.", ("mode",))


def welcome(studio: Studio, _folder: Path) -> Iterator[Page]:
    studio.window.new_action.trigger()
    yield "new chat", studio.window
    studio.window.transcript.welcome.show_introduction(True)
    yield "first start", studio.window
    studio.window.transcript.welcome.show_introduction(False)


def chat(studio: Studio, _folder: Path) -> Iterator[Page]:
    window = studio.window
    open_chat(studio, CODE_CHAT)
    yield "chat", window
    window.transcript.column.verticalScrollBar().setValue(0)
    yield "chat from its beginning", window
    window.origins_action.setChecked(True)
    yield "guessed text highlighted", window
    window.meter.show_details()
    assert window.meter.details is not None
    yield "figures of a reply", window.meter.details
    window.meter.details.close()
    signs = (window.signs.writing, window.signs.server, window.signs.form, window.signs.banned, window.signs.preset)
    for sign in signs:
        sign.tell("What this sign stands for")
    yield "signs", window
    for sign in signs:
        sign.tell("")
    window.landing.show_over(window.prompt_box, "Attach to your message")
    yield "a file is dragged", window
    window.landing.hide()
    window.origins_action.setChecked(False)
    window.transcript.column.scroll_to_end()
    window.set_busy(True)
    window.meter.show_live(_LIVE, 8192, ())
    window.transcript.begin_reply()
    window.transcript.show_prompt_progress(400, 1200)
    yield "a reply is prepared", window
    window.transcript.show_note("The oldest messages no longer fit into the context and are left out.")
    window.transcript.append_reply_text("A reply that is being written, " * 12)
    window.prompt_box.set_text("And another question")
    window.prompt_box.submit()
    yield "a reply is written", window
    window.prompt_box.set_text("")
    window.transcript.abandon_reply()
    window.set_busy(False)
    window.meter.clear()


def branches(studio: Studio, _folder: Path) -> Iterator[Page]:
    open_chat(studio, BRANCHED_CHAT)
    yield "versions", studio.window
    studio.window.transcript.message_actions.revise_last()
    yield "edit", studio.window
    studio.window.transcript.message_actions.end_revision(studio.window.transcript.messages[0].id)
    studio.window.conversation_action.trigger()
    dialog = studio.app.chat_settings.dialog
    studio.until(dialog.isVisible)
    yield "settings of a chat", dialog
    dialog.reject()


def notes(studio: Studio, folder: Path) -> Iterator[Page]:
    """Toasts, notices, a model that loads, an incognito chat, attached files."""
    window = studio.window
    window.new_action.trigger()
    window.toasts.show_error(_SENTENCE)
    window.toasts.show_info("“Weekend in the Lake District” was deleted.", "Undo")
    yield "toasts", window
    window.toasts.clear()
    window.notices.show_notice("crash", f"Slipstream ended unexpectedly. {_SENTENCE}", (("Show folder", print),))
    window.notices.show_notice(
        "update", "Slipstream 1.3 is available.", (("Open the download page", print), ("Skip this version", print))
    )
    yield "notices", window
    for subject in ("crash", "update"):
        window.notices.dismiss(subject)
    window.incognito_action.trigger()
    window.prompt_box.set_text("Write a short invitation from these minutes.")
    studio.app.prompt.attach([str(folder / "Garden club.md")])
    studio.until(lambda: window.prompt_box.chips.num_tokens > 0)
    yield "incognito, a file attached", window
    sent = Message(1, 1, None, Role.USER, window.prompt_box.text, datetime.now(UTC))
    window.prompt_box.set_text("")
    window.new_action.trigger()
    window.transcript.show_messages((sent,))
    yield "a file sent", window
    window.transcript.clear()


def attachments(studio: Studio, folder: Path) -> Iterator[Page]:
    """A picture, a thought and a file in a chat; a picture and a damaged file beside the message box."""
    window, column = studio.window, studio.window.transcript.column
    open_chat(studio, SEEN_CHAT)
    answer = column.built_rows()[-1][1]
    assert isinstance(answer, ReplyView)
    answer.thought_views[0].button.click()
    studio.until(lambda: window.pictures.small(rainbow().digest) is not None)
    yield "a thought unfolded", window
    answer.thought_views[0].button.click()
    column.verticalScrollBar().setValue(0)
    yield "a picture in a chat", window
    sent = column.built_rows()[0][1]
    assert isinstance(sent, PromptView)
    assert sent.pictures is not None
    sent.pictures.buttons[0].click()
    studio.until(lambda: any(each.isVisible() for each in window.findChildren(PictureDialog)))
    (dialog,) = (each for each in window.findChildren(PictureDialog) if each.isVisible())
    yield "a picture, large", dialog
    dialog.close()
    (folder / "Rainbow.png").write_bytes(rainbow().data)
    (folder / "Minutes of the last meeting.pdf").write_bytes(b"%PDF-1.7 is damaged")
    window.new_action.trigger()
    window.prompt_box.set_text("What do you see?")
    studio.app.prompt.attach([str(folder / name) for name in ("Rainbow.png", "Minutes of the last meeting.pdf")])
    chips = window.prompt_box.chips
    studio.until(lambda: window.prompt_box.notice.isVisible() and bool(chips.attachments) and not chips.is_reading)
    studio.rest()
    yield "a picture and a damaged file attached", window
    window.prompt_box.set_text("")
    chips.set_attachments(())
    window.new_action.trigger()
    text = join_prompt([Attachment("Garden club.md", NOTES_FILE)], "Write a short invitation from these minutes.")
    window.transcript.show_messages((Message(1, 1, None, Role.USER, text, datetime.now(UTC)),))
    sent = column.built_rows()[0][1]
    assert isinstance(sent, PromptView)
    assert sent.files is not None
    sent.files.buttons[0].click()
    yield "a file unfolded", window
    window.transcript.clear()


def lists(studio: Studio, _folder: Path) -> Iterator[Page]:
    """The list of chats, searched; its menu, the main menu, and the list of models."""
    window = studio.window
    window.conversations.begin_search()
    window.conversations.search.setText("boat")
    studio.until(lambda: bool(window.conversations.results.model.hits))
    yield "search", window
    window.conversations.search.setText("nothing has these words")
    studio.rest()
    yield "nothing found", window
    window.conversations.search.leave()
    yield from _menus(window.target_bar.menu_button.menu(), window)
    window.target_bar.open_picker()
    picker = window.target_bar.picker
    studio.until(lambda: _has_number(picker.note.text()))
    yield "choose a model", picker
    picker.close()


def library(studio: Studio, folder: Path) -> Iterator[Page]:
    studio.window.library_action.trigger()
    library = studio.app.library
    assert library is not None
    dialog = library.dialog
    page = dialog.library
    page.view.point_at(str(folder / "models" / f"{LARGE_NAME}.gguf"))
    studio.until(lambda: _has_number(page.details.form.memory.text()))
    yield "library", dialog
    page.details.verticalScrollBar().setValue(page.details.verticalScrollBar().maximum())
    yield "options of a model", dialog
    page.details.form.gpu.help_button.click()
    (box,) = _message_boxes()
    yield "how to use a graphics card", box
    box.close()
    assert page.target is not None
    page.remove_requested.emit(page.target.path)
    (box,) = _message_boxes()
    yield "remove a model", box
    box.close()
    estimate = MemoryEstimate(9 * _GIB, 2 * _GIB, 1 * _GIB, 4 * _GIB)
    box = ask_load_anyway(LARGE_NAME, estimate, dialog, print)
    yield "too little memory", box
    box.close()
    page.details.quantizations_button.click()
    (forms,) = studio.window.findChildren(QuantizationsDialog)
    studio.until(lambda: len(forms.table.rows) > 1)
    forms.show_words(f"{LARGE_NAME}: timing Q4_0.")
    forms.show_busy(True)
    yield "forms", forms
    forms.show_busy(False)
    forms.show_model(LARGE_NAME, "The starter model uses Q8_0, where it writes 1.24 times as fast.", True)
    yield "forms of the starter", forms
    forms.close()
    dialog.open_hub()
    dialog.hub.search.clear()
    yield "find models", dialog
    dialog.hub.search.setText("qwen 7b")
    dialog.hub.search_button.click()
    studio.rest()
    dialog.hub.models_view.use_current()
    downloads = [
        Download(file, state, _GIB, 12e6, "The hub does not answer; try again later." if state is _FAILED else "")
        for file, state in zip(HUB_FILES, (DownloadState.RUNNING, _FAILED, DownloadState.FINISHED), strict=False)
    ]
    dialog.hub.downloads.show_downloads(downloads)
    yield "models found", dialog
    box = ask_discard(downloads[0], dialog, print)
    yield "discard a download", box
    box.close()
    dialog.hub.downloads.show_downloads(())
    dialog.close()


def speed(studio: Studio, _folder: Path) -> Iterator[Page]:
    studio.window.history_action.trigger()
    studio.until(lambda: studio.app.history.page is not None)
    studio.rest()
    page = studio.app.history.page
    assert page is not None
    yield "speed", page
    shown = page._history
    page.show_history(History())
    yield "speed, no replies", page
    page.show_history(shown)
    page.close()
    open_chat(studio, CODE_CHAT)
    studio.window.compare_action.trigger()
    dialog = studio.app.comparing.dialog
    yield "compare", dialog
    dialog.show_prompt(COMPARED_PROMPT, True)
    dialog.start_requested.emit()
    yield "compared", dialog
    dialog.close()


def guided(studio: Studio, _folder: Path) -> Iterator[Page]:
    window = studio.window
    window.guided_action.trigger()
    dialog = studio.app.guided.dialog
    assert dialog is not None
    dialog.show_step(0)
    yield "guided start", dialog
    dialog.begun.emit()
    studio.until(lambda: dialog.machine.state is State.DONE)
    dialog.machine.finish(machine_facts(_MACHINE, 0.011), is_busy=True)
    yield "this computer, measured", dialog
    dialog.show_step(1)
    dialog.begun.emit()
    studio.until(lambda: dialog.proof.state is State.DONE)
    yield "without and with speed-up", dialog
    dialog.show_step(2)
    yield "what to expect of models", dialog
    dialog.close()
    sentence = "See in two minutes what speed-up does on this computer, and which model suits it."
    window.notices.show_notice("guided", sentence, (("Guided start", print),))
    yield "the guided start is offered", window
    window.notices.dismiss("guided")


def personal(studio: Studio, _folder: Path) -> Iterator[Page]:
    studio.window.personal_action.trigger()
    dialog = studio.app.personal.dialog
    studio.until(lambda: bool(dialog.learned.cards))
    yield "personalization", dialog
    next(card for card in dialog.learned.cards if not card.compare.isHidden()).compare.click()
    studio.until(dialog.compared.isVisible)
    yield "replies with and without what was learned", dialog.compared
    dialog.compared.close()
    dialog.show_words("Adapter 3 is used for SmolLM2-135M-Instruct again.", can_undo=True)
    dialog.show_page(dialog.forget)
    for ask in (dialog.forget.learned_button, dialog.forget.everything_button):
        ask.click()
        yield f"{ask.text()} asked", dialog
    dialog.forget.close_questions()
    dialog.clear_words()
    dialog.close()


def tools(studio: Studio, _folder: Path) -> Iterator[Page]:
    window, box = studio.window, studio.window.prompt_box
    servers = (
        ToolServer("files", "npx", ("-y", "@modelcontextprotocol/server-filesystem", "/home/robin/notes")),
        ToolServer("weather", url="https://weather.example.org/mcp"),
    )
    window.tools_action.trigger()
    dialog = studio.app.tools.dialog
    studio.rest()  # what is always allowed has been read
    dialog.servers.show_servers(servers)
    dialog.json.show_json(write_tool_servers(servers))
    dialog.servers.show_states({"files": (ServerState.READY, ""), "weather": (ServerState.FAILED, _SENTENCE)})
    dialog.servers.show_tools("files", (Tool("files", "read_text_file", "Reads a file. " * 9), WRITE))
    dialog.allowed.show_allowed((AllowedTool("files", "read_text_file", definition_of(servers[0], WRITE)),), ())
    dialog.servers.form.open_form()
    yield "tools", dialog
    dialog.servers.form.close_form()
    dialog.servers.cards["files"].remove_button.click()
    (box_of_question,) = _message_boxes()
    yield "remove a server", box_of_question
    box_of_question.close()
    dialog.close()
    window.new_action.trigger()
    box.tools.show_servers(("files", "weather"), ("files",), {}, "")
    box.tools.open_menu()
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    yield "tools of a chat", menu
    menu.close()
    window.transcript.show_messages(TOOL_CHAT[:-1])
    yield "calls", window
    answer = window.transcript.column.built_rows()[-1][1]
    assert isinstance(answer, ReplyView)
    answer.call_views[0].button.click()
    yield "a call unfolded", window
    answer.call_views[0].button.click()
    window.transcript.append_message(TOOL_CHAT[-1])
    window.transcript.begin_reply()
    window.transcript.finish_reply(ASKING)
    asked = ToolAsked(1, ASKING.id, ASKING.calls[0], WRITE, _REDEFINED)
    window.transcript.calls.set_phase(asked.call.id, CallPhase.ASKED, asked)
    window.transcript.show_question()
    yield "a call is asked for", window
    window.transcript.calls.clear()
    window.transcript.clear()


def servers(studio: Studio, _folder: Path) -> Iterator[Page]:
    """Models on servers: where they are chosen, set up and asked for."""
    window, app = studio.window, studio.app
    window.new_action.trigger()
    app.bridge._deliver(ServersListed(SERVERS))
    window.target_bar.open_picker()
    picker = window.target_bar.picker
    picker.view.point_at(SERVERS[-1].models[0].reference)
    yield "choose a model of a server", picker
    picker.close()
    window.servers_action.trigger()
    dialog = app.model_servers.dialog
    yield "model servers", dialog
    dialog.change(SERVERS[0].address)
    dialog.form.show_problem(_SENTENCE)
    yield "change a server", dialog
    dialog.open_form()
    dialog.form.address.setText("https://box.local:8443")
    dialog.form.show_untrusted("ab12" * 16, "No authority vouches for the certificate of box.local.")
    yield "trust a certificate", dialog
    dialog.form.show_seen(SERVERS[-1], "The connection is not encrypted: others on the network can read along.")
    yield "a server was found", dialog
    dialog.form.close_form()
    dialog.cards[SERVERS[0].address].remove_button.click()
    (box,) = _message_boxes()
    yield "remove a server of models", box
    box.close()
    dialog.close()
    here = app.target.in_use
    assert here is not None
    model = SERVERS[-1].models[0]
    app.target.in_use = replace(here, name=model.name, path="", identity=model.identity, server=SERVERS[-1])
    window.target_bar.set_target(app.target.in_use)
    app.consent.is_asked_first(print)
    (box,) = _message_boxes()
    yield "a new place", box
    box.close()
    window.meter.show_readiness(Readiness.ELSEWHERE, "")
    yield "a model on a server", window
    app.target.in_use = here
    window.target_bar.set_target(here)
    window.meter.show_readiness(Readiness.READY, "")
    app.bridge._deliver(ServersListed(()))


def settings(studio: Studio, _folder: Path) -> Iterator[Page]:
    studio.window.settings_action.trigger()
    dialog = studio.app.settings.dialog
    dialog.show_loading_needed(True)
    yield "settings", dialog
    dialog.search.setText("text")
    yield "settings, searched", dialog
    dialog.search.setText("no such words")
    yield "settings, nothing found", dialog
    dialog.search.clear()
    dialog.reset_all_button.click()
    (box,) = _message_boxes()
    yield "reset all settings", box
    box.close()
    dialog.show_loading_needed(False)
    studio.app.server.action.trigger()
    server = studio.app.server.dialog
    server.show_state("http://127.0.0.1:8642", "")
    server.show_clients((Client("my editor", is_remembered=True), Client("phone")))
    server.show_key("phone", "slip-" + "x" * 43)
    yield "server", server
    server.close()
    dialog.close()


def presets(studio: Studio, _folder: Path) -> Iterator[Page]:
    """Presets and prompts, where they are kept and where they are chosen; and the tour."""
    window, app = studio.window, studio.app
    window.library_of_presets_action.trigger()
    dialog = app.preset_library.dialog
    yield "presets, none", dialog
    dialog.presets.examples_button.click()
    dialog.prompts.examples_button.click()
    studio.until(lambda: len(dialog.presets.presets) > 1 and len(dialog.prompts.prompts) > 1)
    yield "presets", dialog
    dialog.presets.sampling_button.click()
    (sampling,) = (each for each in dialog.findChildren(QDialog) if each.isVisible())
    yield "how a preset answers", sampling
    sampling.close()
    dialog.close()
    window.presets_action.trigger()
    yield "choose a preset", app.presets.picker
    app.presets.picker.save_button.click()
    studio.until(app.presets.save_dialog.isVisible)
    yield "save a preset", app.presets.save_dialog
    app.presets.save_dialog.close()
    window.activateWindow()
    window.prompt_box.setFocus()
    QTest.keyClicks(window.prompt_box.editor, "/")
    yield "choose a prompt", window
    QTest.keyClick(window.prompt_box.editor, Qt.Key.Key_Return)
    yield "fill in a prompt", window
    window.prompt_box.set_text("")
    window.tour_action.trigger()
    for step in range(1, 4):
        yield f"tour {step}", window
        assert app.tour.tour is not None
        app.tour.tour.next_button.click()
    for number in dialog.presets.presets:
        app.bridge.ask(app.bridge.engine.presets.delete_preset, number)
    for number in dialog.prompts.prompts:
        app.bridge.ask(app.bridge.engine.presets.delete_prompt, number)
    studio.until(lambda: not (dialog.presets.presets or dialog.prompts.prompts))


def others(studio: Studio, _folder: Path) -> Iterator[Page]:
    window = studio.window
    window.drafter_action.trigger()
    drafter = studio.app.drafters.dialog
    yield "drafter", drafter
    drafter.show_words("Downloading somebody/a-model-with-a-long-name: 1.5 of 3.0 MB.")
    drafter.show_downloading(True)
    yield "drafter, downloading", drafter
    drafter.show_downloading(False)
    drafter.show_words("")
    drafter.close()
    window.shortcuts_action.trigger()
    (shortcuts,) = (each for each in window.findChildren(ShortcutsDialog) if each.isVisible())
    yield "shortcuts", shortcuts
    shortcuts.close()
    window.guide_action.trigger()
    (guide,) = (each for each in window.findChildren(GuideDialog) if each.isVisible())
    guide.search.setText("speed")
    yield "user guide", guide
    guide.search.clear()
    guide.close()
    window.about_action.trigger()
    (about,) = (each for each in window.findChildren(AboutDialog) if each.isVisible())
    yield "about", about
    about.close()
    store = StoreDialog(window)
    store.show_sentence(_SENTENCE)
    store.open()
    yield "damaged store", store
    store.close()
    store.deleteLater()
    open_chat(studio, CODE_CHAT)
    window.forget_action.trigger()
    (box,) = _message_boxes()
    yield "forget a chat", box
    box.close()


def order(studio: Studio, _folder: Path) -> Iterator[Page]:
    """Folders, several chats selected, the filter; and what is asked on the way."""
    window, sidebar, model = studio.window, studio.window.conversations, studio.window.conversations.model
    window.new_folder_action.trigger()
    dialog = studio.app.order.dialog
    dialog.save_button.click()
    yield "new folder", dialog
    dialog.close()
    ids, editor = [each.id for each in model.summaries], studio.app.bridge.engine.editor
    for name, number in zip(("Garden club", "Letters"), ids[:2], strict=True):
        studio.app.bridge.ask(editor.create_folder, Folder(0, name, "Be kind."), (number,))
        studio.until(lambda name=name: name in [each.name for each in model.folders])  # type: ignore[misc]
    first, second = (folder.id for folder in model.folders)
    studio.until(lambda: bool(model.inside(first) and model.inside(second)))
    sidebar.view.set_open(first, True)
    sidebar.view.setFocus()
    QTest.keyClick(sidebar.view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    yield "several chats", window
    window.move_action.trigger()
    yield "move to a folder", sidebar.folder_picker
    sidebar.folder_picker.close()
    window.filter_action.trigger()
    sidebar.filter_popup.days.setCurrentIndex(sidebar.filter_popup.days.count() - 1)
    sidebar.filter_popup.days.activated.emit(sidebar.filter_popup.days.currentIndex())
    yield "filter", sidebar.filter_popup
    sidebar.filter_popup.close()
    yield "filtered", window
    sidebar.clear_filter()
    sidebar.new_in_folder_requested.emit(first)
    yield "a chat in a folder", window
    sidebar.folder_deleted.emit(first)
    (box,) = _message_boxes()
    yield "delete a folder", box
    box.close()
    for folder in model.folders:
        studio.app.bridge.ask(editor.delete_folder, folder.id)
    studio.until(lambda: not model.folders)
    window.new_action.trigger()


PAGES: tuple[Callable[[Studio, Path], Iterator[Page]], ...] = (
    welcome, chat, branches, notes, attachments, lists, library, speed, guided, personal, tools, servers, settings,
    presets, order, others,
)  # fmt: skip


def turned(window: QWidget) -> Iterator[str]:
    """Turns to every page of the tabs and lists of pages within the window. Yields the name of each."""
    books = [each for each in window.findChildren(QTabWidget) if each.isVisible()]
    indexes = [
        each for each in window.findChildren(QListWidget) if each.isVisible() and each.property("kind") == "pages"
    ]
    if not (books or indexes):
        yield ""
        return
    for book in books:
        first = book.currentIndex()
        for number in range(book.count()):
            book.setCurrentIndex(number)
            yield book.tabText(number)
        book.setCurrentIndex(first)
    for index in indexes:
        for number in range(index.count()):
            index.setCurrentRow(number)
            yield index.item(number).text()
        index.setCurrentRow(0)


def unseen(seen: Iterable[str]) -> set[str]:
    """The classes of widgets of the app that are not among those that were seen, by their names."""
    for module in pkgutil.walk_packages(app.__path__, "app."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    ours = {each.__name__ for each in _subclasses(QWidget) if each.__module__.startswith("app.")}
    return ours - set(seen) - set(_PARTS)


def classes(widget: QWidget) -> set[str]:
    return {each.__name__ for each in type(widget).__mro__ if each.__module__.startswith("app.")}


def _subclasses(base: type[QWidget]) -> Iterator[type[QWidget]]:
    for each in base.__subclasses__():
        yield each
        yield from _subclasses(each)


def open_chat(studio: Studio, chat: Chat) -> None:
    model = studio.window.conversations.model
    wanted = next(model.summary(row).id for row in range(model.rowCount()) if model.summary(row).title == chat.title)
    studio.window.conversations.chosen.emit(wanted)
    studio.until(lambda: any(message.conversation_id == wanted for message in studio.window.transcript.messages))


def _menus(menu: QMenu, window: QWidget) -> Iterator[Page]:
    menu.popup(window.mapToGlobal(QPoint(window.width() // 2, 40)))
    yield "menu", menu
    for action in menu.actions():
        submenu = action.menu()
        if isinstance(submenu, QMenu):
            submenu.popup(menu.mapToGlobal(menu.actionGeometry(action).topRight()))
            yield f"menu {action.text()}", submenu
            submenu.close()
    menu.close()


def _message_boxes() -> list[QDialog]:
    return [
        each
        for each in QApplication.topLevelWidgets()
        if isinstance(each, QDialog) and each.inherits("QMessageBox") and each.isVisible()
    ]


def wait_until_ready(studio: Studio) -> None:
    studio.until(lambda: studio.heard(TargetReady) and studio.heard(TargetsListed))
    studio.until(lambda: any(isinstance(event, SpeculationChanged) and event.is_drafting for event in studio.events))


def settle(window: QWidget) -> None:
    """Until its layouts have come to rest."""
    for _ in range(4):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
        QCoreApplication.processEvents()
    assert window.isVisible()


def _has_number(text: str) -> bool:
    """Of gigabytes, in whatever language."""
    return any(sign.isdigit() for sign in text)
