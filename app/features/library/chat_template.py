"""The chat template of a model: seen, chosen among those of known families, and written by the user."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtWidgets import QComboBox, QPlainTextEdit, QWidget

from app.engine_bridge import EngineBridge, Request
from app.features.controller import Controller
from app.features.library.library_page import LibraryPage
from app.main_window import MainWindow
from app.text.translation import QT_TRANSLATE_NOOP
from app.widgets.appearance import code_font
from app.widgets.dialog_parts import Dialog, fill_dialog, show_in_front
from app.widgets.layouts import Stretch
from app.widgets.parts import button, set_up, show_text, words
from engine.values.conversations import ChatTurn, Role
from engine.values.requests import Failure
from engine.values.targets import TemplateFacts

_SIZE_PX = (760, 640)
_REST_MS = 400  # from the last key to the preview
_LONGEST = 128_000  # characters, as the engine takes them
_ABOUT = QT_TRANSLATE_NOOP(
    "ChatTemplateDialog",
    "A chat template makes one text of all messages: what the model reads. The wrong one makes even a good model "
    "write nonsense.",
)


class ChatTemplateDialog(Dialog):
    """Shows the template of one model and what it makes of a short conversation, and takes another."""

    preview_wanted = Signal(str)  # of this source
    chosen = Signal(object)  # this source (str); None: the usual one

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(_SIZE_PX, parent)
        self.setWindowTitle(self.tr("Chat template"))
        self._facts: TemplateFacts | None = None
        self._is_filling = False
        self.heading = words("", self, kind="title")
        self.about = words(self.tr(_ABOUT), self, kind="quiet")
        self.choice = set_up(QComboBox(self), name=self.tr("Chat template"))
        self.choice.activated.connect(self._on_chosen)
        self.note = words("", self, kind="warning")
        self.source = self._text(self.tr("Source of the template"), is_fixed=False)
        self.source.textChanged.connect(self._on_typed)
        self.preview_words = words(self.tr("What the model reads, for example:"), self, kind="quiet")
        self.preview = self._text(self.tr("What the model reads, for example:"), is_fixed=True)
        self.problem = words("", self, kind="problem")
        self.cancel_button = button(self.tr("Cancel"), "outlined", self, self.close)
        self.use_button = button(self.tr("Use this template"), "primary", self, self._on_use)
        self._rest = QTimer(self, singleShot=True, interval=_REST_MS)
        self._rest.timeout.connect(self._want_preview)
        parts = [self.heading, self.about, self.choice, self.note, self.source, self.preview_words, self.preview]
        parts.append(self.problem)
        fill_dialog(self, parts, [Stretch(), self.cancel_button, self.use_button], spacing=8)

    def show_templates(self, name: str, facts: TemplateFacts, own: str | None) -> None:
        """`own`: what the user chose for this model; None: nothing."""
        self.heading.setText(name)
        self._facts = facts
        self.choice.clear()
        self.choice.addItem(self._usual_words(facts))
        self.choice.addItems([each.name or self.tr("Continue the text") for each in facts.families])
        self.choice.addItem(self.tr("Custom"))
        known = [None, *(each.source for each in facts.families)]
        self.choice.setCurrentIndex(known.index(own) if own in known else len(known))
        self._show_source(facts.usual if own is None else own)

    def show_preview(self, text: str) -> None:
        self.preview.setPlainText(text)
        show_text(self.problem, "")
        self.use_button.setEnabled(True)

    def show_problem(self, sentence: str) -> None:
        """Shows why a template cannot be used."""
        self.preview.clear()
        show_text(self.problem, sentence)
        self.use_button.setEnabled(False)

    def _text(self, name: str, is_fixed: bool) -> QPlainTextEdit:
        field = set_up(QPlainTextEdit(self, readOnly=is_fixed, tabChangesFocus=True), kind="field", name=name)
        field.setFont(code_font())
        return field

    def _usual_words(self, facts: TemplateFacts) -> str:
        if facts.in_file:
            return self.tr("From the model's file")
        if facts.family:
            return self.tr("Default: {family}, whose marks it knows").format(family=facts.family)
        return self.tr("Default: continue the text, as it knows no marks")

    def _show_source(self, source: str) -> None:
        self._is_filling = True
        self.source.setPlainText(source)
        self._is_filling = False
        self._show_note()
        self._want_preview()

    def _show_note(self) -> None:
        assert self._facts is not None
        number = self.choice.currentIndex() - 1
        marks = self._facts.families[number].unknown_marks if 0 <= number < len(self._facts.families) else ()
        unknown = self.tr("This model has no token for {marks}; it may never end its replies.")
        show_text(self.note, unknown.format(marks=" ".join(marks)) if marks else "")

    @Slot(int)
    def _on_chosen(self, number: int) -> None:
        assert self._facts is not None
        if number == 0:
            self._show_source(self._facts.usual)
        elif number <= len(self._facts.families):
            self._show_source(self._facts.families[number - 1].source)
        else:
            self._show_note()

    @Slot()
    def _on_typed(self) -> None:
        if not self._is_filling:
            self.choice.setCurrentIndex(self.choice.count() - 1)
            self._show_note()
            self.use_button.setEnabled(False)  # until it was tried
            self._rest.start()

    @Slot()
    def _want_preview(self) -> None:
        self._rest.stop()
        self.preview_wanted.emit(self.source.toPlainText()[: _LONGEST + 1])

    @Slot()
    def _on_use(self) -> None:
        self.chosen.emit(None if self.choice.currentIndex() == 0 else self.source.toPlainText())
        self.close()


class ChatTemplateController(Controller):
    """Opens the dialog for a model, has prompts rendered for it, and hands on what the user chooses."""

    def __init__(self, window: MainWindow, page: LibraryPage, bridge: EngineBridge) -> None:
        super().__init__(window, bridge)
        self._page = page
        self._library = bridge.engine.library
        self._path = Path()
        self._facts: TemplateFacts | None = None
        self._rendering: Request[str] | None = None
        self.dialog = ChatTemplateDialog(window)
        self.dialog.preview_wanted.connect(self._render)
        self.dialog.chosen.connect(self._on_chosen)
        page.template_requested.connect(self._open)

    @Slot(object)
    def _open(self, path: Path) -> None:
        request = self._bridge.ask(self._library.templates, path)
        request.answered.connect(partial(self._show, path))
        request.failed.connect(self._on_failed)

    def _show(self, path: Path, facts: TemplateFacts) -> None:
        target = self._page.target
        if target is None or target.path != path:
            return  # another model is shown meanwhile
        self._path, self._facts = path, facts
        self.dialog.show_templates(target.name, facts, target.options.chat_template)
        show_in_front(self.dialog)

    @Slot(str)
    def _render(self, source: str) -> None:
        assert self._facts is not None
        if self._rendering is not None:
            self._rendering.drop()
        turns = (
            ChatTurn(Role.SYSTEM, self.tr("You are a helpful assistant who answers briefly.")),
            ChatTurn(Role.USER, self.tr("What is the capital of France?")),
            ChatTurn(Role.ASSISTANT, self.tr("Paris.")),
            ChatTurn(Role.USER, self.tr("And of Italy?")),
        )
        self._rendering = self._bridge.ask(self._library.preview_template, source, self._facts, turns)
        self._rendering.answered.connect(self.dialog.show_preview)
        self._rendering.failed.connect(lambda failure: self.dialog.show_problem(failure.sentence))

    @Slot(object)
    def _on_chosen(self, source: str | None) -> None:
        self._page.choose_template(self._path, source)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self._window.toasts.show_error(failure.sentence)
