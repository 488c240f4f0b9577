"""The box that the user writes in."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QCheckBox, QFrame, QLabel, QSizePolicy, QWidget

from app.settings.shortcuts import native
from app.text.numbers import whole
from app.text.unseen import one_line
from app.theme import ThemeKeeper
from app.widgets.appearance import reading_font, restyle
from app.widgets.icon_button import IconButton
from app.widgets.layouts import Placed, in_column, in_row
from app.widgets.parts import Sentences, set_up
from app.widgets.prompt.attachment_chips import AttachmentChips
from app.widgets.prompt.pictures import Pictures
from app.widgets.prompt.prompt_editor import BUTTON_PX, SHARE_OF_WINDOW, PromptEditor, is_too_long
from app.widgets.prompt.prompt_library import PromptLibrary
from app.widgets.prompt.tools_button import ToolsButton
from engine.values.prompts import Attachment, join_prompt, split_prompt


class AttachmentNotice(QWidget):
    """Sentences, and where the attachments do not fit, a box to send passages of them instead. Hidden while there is
    nothing to say."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.failures = set_up(Sentences("", self), kind="problem")
        self.words = set_up(Sentences("", self), kind="quiet")
        about = self.tr(
            "Sends the passages of the files that share most words with your message, as many as fit, each with its "
            "page. The rest is not sent."
        )
        words = self.tr("Send only the passages closest to my question")
        self.box = set_up(QCheckBox(words, self), tip=about, about=about)
        in_column([self.failures, self.words, self.box], inside=self, margins=(4, 0, 4, 0), spacing=2)
        self._has_offer = False
        self._show_parts()

    @property
    def offers_passages(self) -> bool:
        return self._has_offer

    @property
    def sends_passages(self) -> bool:
        return self._has_offer and self.box.isChecked()

    def set_failures(self, sentences: tuple[str, ...]) -> None:
        self.failures.setText(" ".join(sentences))
        self._show_parts()

    def set_tokens(self, num_tokens: int, most: int, context_size: int) -> None:
        """Offers passages if the attachments take more than `most` tokens, which leave room for a reply."""
        self._has_offer = num_tokens > most > 0
        if self._has_offer:
            words = self.tr(
                "There is no room for a reply: the model reads at most {number} token(s) at once.", "", context_size
            )
            self.words.setText(words.format(number=whole(context_size)))
        else:
            self.box.setChecked(False)
        self._show_parts()

    def _show_parts(self) -> None:
        self.failures.setVisible(bool(self.failures.text()))
        self.words.setVisible(self._has_offer)
        self.box.setVisible(self._has_offer)
        self.setVisible(self._has_offer or bool(self.failures.text()))


COUNT_ROOM = 888_888  # tokens; there is always room for these words, so that nothing moves when a number appears
COUNT_FROM_PX = 420  # a narrower box has no room for them


class PromptBox(QWidget):
    """A rounded box that grows with its text.

    Enter sends, Shift+Enter breaks the line. The user can always write; a prompt is sent only while a target is ready
    and no reply is under way, and until then it stays in the box.
    """

    attach_requested = Signal()  # choose a file to attach to the prompt
    passages_requested = Signal()  # find what to send of the attachments, and send that
    long_pasted = Signal(object)  # (str) a text that is too long to be shown in the box (a str that Qt need not copy)
    submitted = Signal(object)  # (str) a prompt to answer; the box is empty again (a str that Qt need not copy)
    # (str) a prompt to answer that stays in the box, which is guarded: the user must be asked first (so is this)
    consent_wanted = Signal(object)
    stop_requested = Signal()  # stop the reply under way
    pages_requested = Signal(int)  # scroll the conversation by this many pages
    edit_last_requested = Signal()  # edit the prompt that was sent last
    edited = Signal()  # the text has changed
    thinking_switched = Signal(bool)  # whether the model is to think before it answers

    def __init__(self, keeper: ThemeKeeper, pictures: Pictures, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._ready = False
        self._busy = False
        self._is_guarded = False
        self._keeper = keeper
        self._reason = ""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.frame = set_up(QFrame(self), kind="prompt")
        self.editor = PromptEditor(self.frame)
        self.editor.submit_requested.connect(self.submit)
        self.editor.stop_requested.connect(self._on_escape)
        self.editor.pages_requested.connect(self.pages_requested)
        self.editor.up_pressed_while_empty.connect(self.edit_last_requested)
        self.editor.focused.connect(lambda focused: restyle(self.frame, active="true" if focused else "false"))
        self.editor.long_pasted.connect(self.long_pasted)
        self.editor.textChanged.connect(self._on_text_changed)
        self.editor.document().documentLayout().documentSizeChanged.connect(self._fit)
        self.library = PromptLibrary(keeper, self.editor, self.frame)
        self.library.variable_asked.connect(self._show_variable)
        self.button = IconButton(keeper, "send", "", self._on_button, token="on_accent", kind="send", parent=self.frame)
        attach = self.tr("Attach a file or picture  (Ctrl+Shift+A)")
        self.attach_button = IconButton(keeper, "attach", attach, self.attach_requested, parent=self.frame)
        self.tools = ToolsButton(keeper, self.frame)
        words = self.tr("Think")
        self.think_button = IconButton(
            keeper, "think", words, self._on_think, words=words, kind="think", parent=self.frame
        )
        self.think_button.setCheckable(True)
        self.think_button.hide()
        self.chips = AttachmentChips(keeper, pictures, self.frame)
        self.chips.changed.connect(self._on_chips_changed)
        self.notice = AttachmentNotice(self.frame)
        self.notice.box.toggled.connect(self.chips.set_excerpted)
        self.notice.box.toggled.connect(self._on_text_changed)
        self.hint = set_up(QLabel(self, alignment=Qt.AlignmentFlag.AlignCenter), kind="quiet")
        self.hint.hide()
        self.count = set_up(QLabel(self.frame), kind="count")
        self.count.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        bottom = Qt.AlignmentFlag.AlignBottom
        tools = Placed(in_row([self.attach_button, self.tools], spacing=0), alignment=bottom)
        think_button, count, send = (
            Placed(part, alignment=bottom) for part in (self.think_button, self.count, self.button)
        )
        row = in_row([tools, Placed(self.editor, 1), count, think_button, send], spacing=8)
        in_column([self.chips, self.notice, row], inside=self.frame, margins=(8, 7, 8, 7), spacing=6)
        in_column([self.hint, self.frame], inside=self, spacing=5)
        self.setFocusProxy(self.editor)
        self.set_target_name("")
        self._update_button()
        keeper.changed.connect(self._draw_again)
        self._draw_again()

    @property
    def text(self) -> str:
        return join_prompt(self.chips.attachments, self.editor.toPlainText())

    @property
    def counted_text(self) -> str:
        """The part whose tokens can be counted ahead: all but its pictures."""
        return join_prompt(self.chips.texts, self.editor.toPlainText()).strip()

    def set_text(self, text: str) -> None:
        """Restores a sent prompt with its attachments."""
        attachments, words = split_prompt(text)
        if is_too_long(words):
            attachments, words = (*attachments, self.pasted(words)), ""
        self.chips.set_attachments(attachments)
        self.editor.set_text(words)

    def pasted(self, text: str) -> Attachment:
        """Makes a long pasted text an attachment."""
        return Attachment(self.tr("Pasted text.txt"), text)

    def show_count(self, num_tokens: int | None, most: int) -> None:
        """Shows the number of tokens, of `most` that fit; None: too many to count."""
        fits = num_tokens is not None and num_tokens <= most
        self.count.setText(self.tr("Too long") if num_tokens is None else self._words_of_count(num_tokens))
        about = self.tr("Counted as the model reads it, without the chat so far and the chat template.")
        if not fits:
            words = self.tr("This is more than the model can read at once ({number} token(s)): shorten it.", "", most)
            about = f"{words.format(number=whole(most))} {about}"
        set_up(self.count, tip=about, about=about)
        restyle(self.count, level="" if fits else "error")

    def clear_count(self) -> None:
        self.count.clear()
        self.count.setToolTip("")

    def set_target_name(self, name: str, completes: bool = False) -> None:
        """`completes`: it goes on with what is written, instead of answering it."""
        words = self.tr("Message {name}…").format(name=one_line(name)) if name else self.tr("Write a message…")
        if completes:
            words = self.tr("Begin a text that {name} is to continue…").format(name=one_line(name))
        self.editor.set_hint(words)
        self._fit()

    def show_sight(self, name: str, sees: bool, is_elsewhere: bool = False) -> None:
        """Sets whether this model sees pictures. `is_elsewhere`: it runs on a server."""
        words = self.tr(
            "{model} cannot see pictures. Choose a model with a projector file (mmproj) beside it, or remove the "
            "picture."
        )
        if is_elsewhere:
            words = self.tr(
                "{model} cannot see pictures, according to its server. Choose another model, or remove the picture."
            )
        self.chips.set_blindness("" if sees else words.format(model=one_line(name)))

    def show_thinking(self, thinks: bool | None) -> None:
        """Sets the switch; None: whether the model thinks is unknown, and there is no switch."""
        self.think_button.setVisible(thinks is not None)
        self.think_button.setChecked(bool(thinks))
        on, off = self.tr("The model thinks before it answers"), self.tr("The model answers without thinking first")
        set_up(self.think_button, tip=on if thinks else off, about=on if thinks else off)
        self.think_button.set_icon("think", "accent" if thinks else "quiet")

    def switch_thinking(self, thinks: bool) -> None:
        """Switches as the user would."""
        if self.think_button.isChecked() != thinks:
            self.think_button.click()

    @property
    def sends_with_ctrl(self) -> bool:
        return self.editor.sends_with_ctrl

    def set_sends_with_ctrl(self, with_ctrl: bool) -> None:
        """Sets whether Ctrl+Enter sends and Enter breaks the line, instead of Enter and Shift+Enter."""
        self.editor.set_sends_with_ctrl(with_ctrl)
        self._update_button()

    def set_ready(self, ready: bool, reason: str = "") -> None:
        """Sets whether there is a target to send to, or one that is loading. `reason` is shown if the user tries
        without one; empty: the program has just started."""
        self._ready = ready
        self._reason = reason
        if ready:
            self.hint.hide()
        self._update_button()

    def set_guarded(self, is_guarded: bool) -> None:
        """Sets whether the user must be asked before anything is sent."""
        self._is_guarded = is_guarded

    def set_busy(self, busy: bool) -> None:
        """Turns the Send button into a Stop button while a reply is under way."""
        self._busy = busy
        if not busy:
            self.hint.hide()
        self._update_button()

    @Slot()
    def submit(self) -> None:
        text = join_prompt(self.chips.attachments, self.editor.toPlainText().strip())
        if not text:
            return
        if self._busy:
            self.show_hint(self.tr("Wait for the reply to end, or stop it with Esc"))
        elif not self._ready:
            self.show_hint(self._reason or self.tr("The model is still loading"))
        elif self.chips.is_reading:
            self.show_hint(self.tr("Wait until the file is read, or remove it"))
        elif self.chips.blindness:
            self.show_hint(self.tr("This model cannot see pictures"))
        elif self.notice.sends_passages:
            self.show_hint(self.tr("Looking for passages…"))
            self.passages_requested.emit()
        else:
            self.send(text)

    def send(self, text: str) -> None:
        """Sends the text and clears the attachments."""
        if self._is_guarded:
            self.hint.hide()
            self.consent_wanted.emit(text)
            return
        self.editor.clear()
        self.chips.set_attachments(())
        self.submitted.emit(text)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.count.setVisible(self.width() >= self._keeper.px(COUNT_FROM_PX))
        self._fit()

    def _words_of_count(self, num_tokens: int) -> str:
        return self.tr("{number} token(s)", "", num_tokens).format(number=whole(num_tokens))

    def show_hint(self, words: str) -> None:
        """Shows a hint above the box until something is typed or the reply ends."""
        self.hint.setText(words)
        self.hint.show()

    def hide_hint(self) -> None:
        self.hint.hide()

    @Slot(str)
    def _show_variable(self, name: str) -> None:
        """Shows which variable is to be filled in; empty: none."""
        if name:
            self.show_hint(self.tr("Type “{name}” · Tab: next · Esc: leave the rest").format(name=one_line(name)))
        else:
            self.hide_hint()

    @Slot()
    def _on_button(self) -> None:
        if self._busy:
            self.stop_requested.emit()
        else:
            self.submit()

    @Slot()
    def _on_think(self) -> None:
        thinks = self.think_button.isChecked()
        self.show_thinking(thinks)
        self.thinking_switched.emit(thinks)

    @Slot()
    def _on_escape(self) -> None:
        if self._busy:
            self.stop_requested.emit()

    @Slot()
    def _on_chips_changed(self) -> None:
        self.notice.set_failures((*self.chips.failures, *filter(None, [self.chips.blindness])))
        self._on_text_changed()

    @Slot()
    def _on_text_changed(self) -> None:
        self._fit()
        self.hint.hide()
        self._update_button()
        self.edited.emit()

    def _update_button(self) -> None:
        possible = self._busy or (self._ready and not (self.editor.document().isEmpty() and not self.chips.attachments))
        self.button.setEnabled(possible)
        self.button.set_icon("stop" if self._busy else "send")
        keys = "Ctrl+Enter" if self.sends_with_ctrl else "Enter"
        send = self.tr("Send  ({keys})").format(keys=native(keys))
        self.button.set_name(self.tr("Stop  (Esc)") if self._busy else send)

    @Slot()
    def _draw_again(self) -> None:
        button_px = self._keeper.px(BUTTON_PX)
        for button in (self.button, self.attach_button, self.tools):
            button.setFixedSize(button_px, button_px)
        self.think_button.setFixedHeight(button_px)
        self.count.setFixedSize(self.count.fontMetrics().horizontalAdvance(self._words_of_count(COUNT_ROOM)), button_px)
        self.editor.setFont(reading_font())
        self.editor.viewport().setFont(reading_font())  # for the placeholder, which a style sheet keeps as it was
        self.editor.set_least_height(button_px)
        self._fit()

    @Slot()
    def _fit(self) -> None:
        self.editor.fit(int(self.window().height() * SHARE_OF_WINDOW))
