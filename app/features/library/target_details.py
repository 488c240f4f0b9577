"""The facts about one model of the library, its options, and what can be done with it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFocusEvent, QResizeEvent
from PySide6.QtWidgets import QFormLayout, QLabel, QLineEdit, QWidget

from app.features.library.options_form import OptionsForm
from app.features.library.quantization_wording import (
    CHECKING_TIP,
    advice_words,
    checking,
    figures_of,
    speed_here,
    used_words,
    when_measured,
)
from app.models.target_rows import Library, target_title
from app.text.amounts import count_words, day_words, size_words
from app.text.drafters import drafted_by
from app.text.translation import QT_TRANSLATE_NOOP, translate
from app.text.unseen import in_tip, one_line, wrapped
from app.widgets.appearance import restyle
from app.widgets.flow import FlowLayout
from app.widgets.layouts import Placed, ScrollingPage, Stretch, in_column
from app.widgets.parts import button, line, set_up, words
from engine import SamplingSettings
from engine.values.drafters import DrafterChoice
from engine.values.targets import LibraryTarget

_NAMES = (
    QT_TRANSLATE_NOOP("TargetDetailsView", "Name"),
    QT_TRANSLATE_NOOP("TargetDetailsView", "Architecture"),
    QT_TRANSLATE_NOOP("TargetDetailsView", "Parameters"),
    QT_TRANSLATE_NOOP("TargetDetailsView", "Quantization"),
    QT_TRANSLATE_NOOP("TargetDetailsView", "Trained context"),
    QT_TRANSLATE_NOOP("TargetDetailsView", "Vocabulary"),
    QT_TRANSLATE_NOOP("TargetDetailsView", "Chat template"),
    QT_TRANSLATE_NOOP("TargetDetailsView", "Licence"),
    QT_TRANSLATE_NOOP("TargetDetailsView", "Size"),
    QT_TRANSLATE_NOOP("TargetDetailsView", "Last used"),
    QT_TRANSLATE_NOOP("TargetDetailsView", "Speed here"),
    QT_TRANSLATE_NOOP("TargetDetailsView", "Checking guesses"),
    QT_TRANSLATE_NOOP("TargetDetailsView", "Other quantizations"),
)
_INSIDE_PX = 6  # of a field, left and right of its text


class TargetDetailsView(ScrollingPage):
    """Shows one target, with its options below. The buttons are for the page to connect."""

    def __init__(self, sampling_for_all: SamplingSettings, parent: QWidget | None = None) -> None:
        super().__init__(Library.tr("About the model"), parent=parent)
        self.target: LibraryTarget | None = None  # the one that is shown
        self._choice: DrafterChoice | None = None
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Tab goes to its contents, and scrolls
        inside = QWidget(self)
        inside.setObjectName("inside")
        self.title = _Title(inside)
        self.state = words("", inside, kind="quiet")
        self.use_button = button(self.tr("Use"), "primary", inside)
        self.folder_button = button(self.tr("Show in folder"), "outlined", inside)
        self.remove_button = button(self.tr("Remove…"), "outlined", inside)
        buttons = FlowLayout([self.use_button, self.folder_button, self.remove_button])
        self.values = [words("", inside) for _ in _NAMES]
        self.file = set_up(PathField(inside), name=self.tr("File"))
        self.drafter = words("", inside)
        self.drafter_button = button(self.tr("Drafter…"), "link", inside)
        self.template_button = button(self.tr("Chat template…"), "link", inside)
        self.quantizations_button = button(self.tr("Compare quantizations…"), "link", inside)
        self.facts = self._make_facts(inside)
        self.form = OptionsForm(sampling_for_all, inside)
        self.line = line(inside)
        left = Qt.AlignmentFlag.AlignLeft
        buttons_below = self.drafter_button, self.template_button, self.quantizations_button
        links = in_column([Placed(each, alignment=left) for each in buttons_below])
        in_column(
            [self.title, self.state, buttons, self.facts, links, self.line, self.form, Stretch()],
            inside=inside,
            margins=(18, 4, 18, 14),
            spacing=10,
        )
        self.setWidget(inside)

    def show_target(self, target: LibraryTarget, is_in_use: bool) -> None:
        """Shows a target. If it is the one shown already, options that are being changed are kept."""
        is_another = self.target is None or self.target.path != target.path
        if is_another:
            self.form.flush()  # for the target before
        before, self.target = self.target, target
        self.title.set_words(target_title(target))
        self.state.setText(_state(target, is_in_use))
        restyle(self.state, kind="error" if target.problem and target.head is None else "quiet")
        self.use_button.setEnabled(not target.problem and not is_in_use)
        self.use_button.setText(self.tr("In use") if is_in_use else self.tr("Use"))
        self.remove_button.setEnabled(not target.is_starter)
        stays = self.tr("The starter model is part of Slipstream and cannot be removed.")
        self.remove_button.setToolTip(stays if target.is_starter else "")
        if before != target:
            self._show_facts(target)
        self.form.take_others(target.options)
        self.facts.setRowVisible(self._drafter_row, target.details is not None and target.details.can_speculate)
        self.show_drafter(target.options.drafter, self._choice if is_in_use else None)
        self.drafter_button.setVisible(is_in_use and self.facts.isRowVisible(self._drafter_row))
        has_options = target.details is not None and target.head is None  # one that cannot be read has none
        for part in (self.template_button, self.quantizations_button, self.line, self.form):
            part.setVisible(has_options)
        if is_another:
            trained = target.details.trained_context if target.details else 0
            self.form.show_options(target.options, trained)
            self.form.show_no_estimate()
            self.verticalScrollBar().setValue(0)

    def set_choice(self, choice: DrafterChoice | None) -> None:
        """Sets who drafts for the model in use; shown by the next `show_target`."""
        self._choice = choice

    def show_drafter(self, own: str | None, choice: DrafterChoice | None) -> None:
        self.drafter.setText(drafted_by(own, choice))
        self.drafter.setToolTip("" if choice is None else in_tip(choice.why))

    def _make_facts(self, inside: QWidget) -> QFormLayout:
        facts = QFormLayout(
            horizontalSpacing=16,
            verticalSpacing=5,
            labelAlignment=Qt.AlignmentFlag.AlignLeft,
            fieldGrowthPolicy=QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow,
        )
        for name, value in zip(_NAMES, self.values, strict=True):
            label = words(self.tr(name), inside, kind="quiet")
            label.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)  # level with the first line
            facts.addRow(label, value)
        facts.addRow(words(self.tr("File"), inside, kind="quiet"), self.file)
        self._drafter_row = facts.rowCount()
        facts.addRow(words(self.tr("Drafter"), inside, kind="quiet"), self.drafter)
        return facts

    def _show_facts(self, target: LibraryTarget) -> None:
        facts = _facts(target)
        for row, name in enumerate(_NAMES):
            self.values[row].setText(one_line(facts.get(name, "")))
            self.facts.setRowVisible(row, name in facts)
            self.values[row].setToolTip("")
        self._show_measured(target)
        self.file.show_path(str(target.path))

    def _show_measured(self, target: LibraryTarget) -> None:
        if target.tuned is not None:
            when, how = when_measured(target.tuned), translate("Quantizations", CHECKING_TIP)
            self.values[_NAMES.index("Speed here")].setToolTip(when)
            self.values[_NAMES.index("Checking guesses")].setToolTip(wrapped(how, "", when))


class _Title(QLabel):
    """A name that may break at its dots and dashes: names of files have no spaces."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent, textFormat=Qt.TextFormat.PlainText, wordWrap=True)
        self.setProperty("kind", "heading")

    def set_words(self, text: str) -> None:
        text = one_line(text)
        self.setText("".join(f"{letter}\u200b" if letter in "-_." else letter for letter in text))
        self.setAccessibleName(text)


def _state(target: LibraryTarget, is_in_use: bool) -> str:
    if target.problem:
        return target.problem
    about = target.details.speculation if target.details else ""
    answers = Library.tr("Loaded.") if is_in_use else ""
    sees = Library.tr("Sees pictures.") if target.sees_pictures else ""
    brings = "" if target.brings is None else Library.tr("Brings its own drafter ({method}).", method=target.brings)
    return " ".join(filter(None, (answers, sees, about, brings, target.unfit_drafter)))


def _facts(target: LibraryTarget) -> dict[str, str]:
    """The known facts, by their keys in `_NAMES`."""
    used = day_words(target.last_used_at) if target.last_used_at else Library.tr("never")
    file = {"Size": size_words(target.size_bytes), "Last used": used}
    details = target.details
    if details is None:
        return file
    unknown = Library.tr("not stated in the file")
    vocabulary = _tokens(details.vocabulary_size) if details.vocabulary_size else ""
    return {
        "Name": details.name or unknown,
        "Architecture": details.architecture or unknown,
        "Parameters": count_words(details.num_parameters) if details.num_parameters else unknown,
        "Quantization": details.quantization or unknown,
        "Trained context": _tokens(details.trained_context) if details.trained_context else unknown,
        "Vocabulary": ", ".join(filter(None, (vocabulary, details.vocabulary_kind))) or unknown,
        "Chat template": _template_words(target.options.chat_template is not None, details.has_chat_template),
        "Licence": details.licence or unknown,
        **file,
        **_measured(target),
    }


def _template_words(is_chosen: bool, is_in_file: bool) -> str:
    if is_chosen:
        return Library.tr("chosen by you")
    return Library.tr("in the file") if is_in_file else Library.tr("none in the file")


def _measured(target: LibraryTarget) -> dict[str, str]:
    """Figures of the quantization in use; unknown ones are left out."""
    figures = figures_of(target.starter_quantization, target.tuned)
    found = {} if figures is None else {"Speed here": speed_here(figures), "Checking guesses": checking(figures)}
    if target.starter_quantization:
        original = "" if target.tuned is None else target.tuned.original.quantization
        found["Other quantizations"] = used_words(target.starter_quantization, original, target.tuned)
    elif target.tuned is not None:
        found["Other quantizations"] = advice_words(target.tuned)
    return {name: words for name, words in found.items() if words}


def _tokens(number: int) -> str:
    return Library.tr("{number} token(s)", "", number)


class PathField(QLineEdit):
    """A path to read and copy. Its middle is left out where there is no room for it, except while it has the focus."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, readOnly=True)
        self._path = ""
        self.setProperty("kind", "fact")
        self.setTextMargins(-2, 0, 0, 0)

    def show_path(self, path: str) -> None:
        self._path = path
        self.setToolTip(in_tip(path))
        self.setAccessibleDescription(path)
        self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._show(whole=True)
        super().focusInEvent(event)  # selects all of it

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() is not Qt.FocusReason.PopupFocusReason:  # its own menu, which copies what is selected
            self._show()

    def _show(self, whole: bool = False) -> None:
        room = self.width() - _INSIDE_PX
        short = self.fontMetrics().elidedText(one_line(self._path), Qt.TextElideMode.ElideMiddle, room)
        text = self._path if whole or self.hasFocus() else short
        if text != self.text():
            self.setText(text)
            self.setCursorPosition(0)
