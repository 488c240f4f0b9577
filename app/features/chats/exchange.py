"""Exports conversations to files, and imports them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date
from functools import partial
from pathlib import Path

from PySide6.QtCore import QStandardPaths, Qt, Slot
from PySide6.QtWidgets import QFileDialog

from app.engine_bridge import EngineBridge, Request
from app.features.controller import Controller
from app.main_window import MainWindow
from app.text.numbers import whole
from app.text.translation import Words
from app.widgets.toast import Toast
from engine.values.conversations import ExportFormat, ImportedConversations, LeftOut, Missing
from engine.values.requests import Failure

_FORMATS = {".json": ExportFormat.JSON, ".md": ExportFormat.MARKDOWN}
_MOST_TITLES = 3  # that are named
_NOT_IN_NAMES = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')  # in names of files, forbidden by some system
_NAME_LENGTH = 80
_IMPORT_MS = 30 * 60_000
_RESULT_MS = 15_000
Exchange = Words("Exchange")


class ExchangeController(Controller):
    """Asks for the file, has the engine write or read it, and shows the outcome in toasts. `attach` takes the paths of
    files that turn out to hold no conversations."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, attach: Callable[[list[str]], None]) -> None:
        super().__init__(window, bridge)
        self._attach = attach
        self._folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
        self._underway: dict[Path, tuple[Request[ImportedConversations], Toast]] = {}  # imports
        window.conversations.export_requested.connect(self._choose_for_some)
        window.export_all_action.triggered.connect(self._choose_for_all)
        window.import_action.triggered.connect(self._choose_import)
        window.chats_dropped.connect(self.import_chats)

    @Slot(str)
    def import_chats(self, name: str) -> None:
        path = Path(name)
        if path in self._underway:
            return
        request = self._bridge.ask(self._bridge.engine.files.import_conversations, path)
        request.answered.connect(partial(self._on_imported, path))
        request.failed.connect(partial(self._on_import_failed, path))
        words = self.tr("Importing chats from {file}…").format(file=path.name)
        toast = self._window.toasts.show_info(words, self.tr("Cancel"), request.stop, _IMPORT_MS)
        self._underway[path] = request, toast

    @Slot(object)
    def _choose_for_some(self, conversation_ids: tuple[int, ...]) -> None:
        if len(conversation_ids) > 1:
            caption = self.tr("Export %n chat(s)", "", len(conversation_ids))
            self._choose(caption, self._name_for_many(), conversation_ids)
        elif summary := self._window.conversations.model.find(conversation_ids[0]):
            self._choose(self.tr("Export this chat"), _file_name(summary.title), conversation_ids)

    @Slot()
    def _choose_for_all(self) -> None:
        self._choose(self.tr("Export all chats"), self._name_for_many(), None)

    def _name_for_many(self) -> str:
        return self.tr("Chats {date}").format(date=date.today().isoformat())

    def _choose(self, caption: str, name: str, conversation_ids: tuple[int, ...] | None) -> None:
        dialog = QFileDialog(self._window, caption, self._folder)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters(list(_suffixes()))
        dialog.selectFile(f"{name}.json")
        dialog.filterSelected.connect(partial(_fit_suffix, dialog))
        dialog.fileSelected.connect(lambda path: self._export(path, dialog.selectedNameFilter(), conversation_ids))
        dialog.open()

    def _export(self, chosen: str, name_filter: str, conversation_ids: tuple[int, ...] | None) -> None:
        path = Path(chosen)
        overwrite = path.suffix.lower() in _FORMATS  # the dialog asked, but only about this name
        if not overwrite:
            path = path.with_name(path.name + _suffixes()[name_filter])
        self._folder = str(path.parent)
        form, export = _FORMATS[path.suffix.lower()], self._bridge.engine.files.export_conversations
        request = self._bridge.ask(export, path, conversation_ids, form, overwrite)
        request.answered.connect(partial(self._on_exported, path))

    @Slot()
    def _choose_import(self) -> None:
        files = self.tr("Chats (*.json *.jsonl *.zip);;All files (*)")
        dialog = QFileDialog(self._window, self.tr("Import chats"), self._folder, files)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self.import_chats)
        dialog.open()

    def _on_exported(self, path: Path, num_conversations: int) -> None:
        words = self.tr("{number} chat(s) exported to {file}.", "", num_conversations)
        self._window.toasts.show_info(words.format(number=whole(num_conversations), file=path.name))

    def _on_imported(self, path: Path, imported: ImportedConversations) -> None:
        self._end(path)
        words = words_of_import(imported.num_conversations, imported.left_out, imported.missing)
        self._window.toasts.show_info(words, time_ms=_RESULT_MS)

    def _on_import_failed(self, path: Path, failure: Failure) -> None:
        self._end(path)
        if failure.is_stopped:
            self._window.toasts.show_info(failure.sentence)
        elif path.suffix.lower() == ".zip":
            self._window.toasts.show_error(failure.sentence)
        else:
            attach = self.tr("Attach it as text")
            self._window.toasts.show_error(failure.sentence, attach, partial(self._attach, [str(path)]))

    def _end(self, path: Path) -> None:
        _, toast = self._underway.pop(path)
        self._window.toasts.dismiss(toast)


def words_of_import(
    num_imported: int, left_out: Iterable[tuple[LeftOut, str]], missing: Iterable[tuple[Missing, int]] = ()
) -> str:
    titles: dict[LeftOut, list[str]] = {}
    for why, title in left_out:
        titles.setdefault(why, []).append(title)
    if num_imported:
        imported = Exchange.tr("Imported {number} chat(s)", "", num_imported)
    else:
        imported = Exchange.tr("Nothing was imported")
    without = (_words_of_missing(what, number) for what, number in missing)
    return "; ".join([imported, *without, *(_words_of_left_out(why, names) for why, names in titles.items())]) + "."


def _words_of_missing(what: Missing, number: int) -> str:
    match what:
        case Missing.PICTURE:
            return Exchange.tr("without %n picture(s)", "", number)
        case Missing.FILE:
            return Exchange.tr("without %n attached file(s)", "", number)
        case Missing.RECORDING:
            return Exchange.tr("without %n recording(s)", "", number)
        case Missing.STEP:
            return Exchange.tr("without %n step(s) of tools", "", number)
        case Missing.MESSAGE:
            return Exchange.tr("without %n message(s) that (is|are) damaged", "", number)


def _words_of_left_out(why: LeftOut, titles: list[str]) -> str:
    number = len(titles)
    match why:
        case LeftOut.KNOWN:
            words = Exchange.tr("%n (was|were) skipped because (it is|they are) already here", "", number)
        case LeftOut.EMPTY:
            words = Exchange.tr("%n (was|were) skipped because (it has|they have) no messages", "", number)
        case LeftOut.TOO_LARGE:
            words = Exchange.tr("%n (was|were) skipped because (it is|they are) too large", "", number)
        case LeftOut.UNREADABLE:
            words = Exchange.tr("%n (was|were) skipped because (it is|they are) damaged", "", number)
    named = [Exchange.tr("“{title}”", title=title) for title in titles if title][:_MOST_TITLES]
    if not named:
        return words
    names = ", ".join(named)
    if number > len(named):
        names = Exchange.tr("{titles} and %n more", "", number - len(named), titles=names)
    return f"{words} ({names})"


def _suffixes() -> dict[str, str]:
    """File suffixes, by their descriptions in the dialog."""
    return {
        Exchange.tr("Chats, for importing again (*.json)"): ".json",
        Exchange.tr("Text for reading, in Markdown (*.md)"): ".md",
    }


def _file_name(title: str) -> str:
    return " ".join(_NOT_IN_NAMES.sub(" ", title).split())[:_NAME_LENGTH].strip(" .") or Exchange.tr("Chat")


def _fit_suffix(dialog: QFileDialog, name_filter: str) -> None:
    """Fits the file name in the dialog to the chosen kind of file."""
    path = Path(next(iter(dialog.selectedFiles()), ""))
    if path.suffix.lower() in _FORMATS:
        dialog.selectFile(path.with_suffix(_suffixes()[name_filter]).name)
