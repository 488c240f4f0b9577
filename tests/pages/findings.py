"""What is wrong with a window as it stands on the screen: something cut off, out of reach, or without a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

from PySide6.QtCore import QMargins, QModelIndex, QPoint, QRect, QSize, Qt, QTextBoundaryFinder
from PySide6.QtGui import QAccessible, QFontMetrics, QTextDocument
from PySide6.QtGui import Qt as TextQt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QListWidget,
    QMenu,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QSlider,
    QStackedWidget,
    QStyle,
    QStyleOptionButton,
    QStyleOptionComboBox,
    QStyleOptionFrame,
    QTabBar,
    QTableWidget,
    QTextBrowser,
    QTextEdit,
    QToolButton,
    QWidget,
)

from app.widgets.chats.conversation_list import ConversationList
from app.widgets.parts import ElidedLabel
from app.widgets.rows_view import RowsView
from app.widgets.target.target_bar import NameButton

TITLE_BAR_PX = 36  # of a usual desktop; the platform without a display draws none
_SLACK_PX = 1  # widths of text are rounded
_MENU_EDGE_PX = 2
_CONTROLS = (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
    QSlider,
    QTabBar,
    QTextEdit,
)


@dataclass(frozen=True, slots=True)
class Finding:
    kind: str  # cut off, outside its window, overlapping, outside the screen, without a name, tags
    widget: str
    about: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.widget}: {self.about}"


def findings(window: QWidget) -> Iterator[Finding]:
    """`window` is shown, and its layouts have come to rest."""
    yield from _window_findings(window)
    for widget in shown_parts(window):
        cut = cut_off(widget)
        if cut:
            yield Finding("cut off", _words_of(widget), cut)
        outside = _outside(window, widget) if isinstance(widget, _CONTROLS) else ""
        if outside:
            yield Finding("outside its window", _words_of(widget), outside)
        if _needs_name(widget) and not _name(widget):
            yield Finding("without a name", _words_of(widget), "a screen reader has nothing to say")
        if TextQt.mightBeRichText(widget.toolTip()):
            yield Finding("tags", _words_of(widget), f"its tooltip shows {widget.toolTip()[:48]!r}")
        yield from _overlaps(widget)


def shown_parts(window: QWidget) -> list[QWidget]:
    """All parts of the window that are visible, but for windows of their own and what Qt makes of its own widgets."""
    return [
        widget
        for widget in window.findChildren(QWidget)
        if widget.isVisible()
        and widget.window() is window
        and not widget.objectName().startswith("qt_")
        and not isinstance(widget.parentWidget(), QLineEdit)
        and not widget.size().isEmpty()
    ]


def cut_off(widget: QWidget) -> str:
    """What of its text or icon has no room; empty where all of it is seen, or said when the mouse rests on it."""
    for kind, about in _ABOUT_KINDS:
        if isinstance(widget, kind):
            return about(widget)
    return ""


# The window


def _window_findings(window: QWidget) -> Iterator[Finding]:
    room = window.screen().availableGeometry()
    name, at = type(window).__name__, f"{_size(window.size())} on {_size(room.size())}"
    is_framed = not isinstance(window, QMenu) and window.windowType() != Qt.WindowType.Popup
    # Qt lets the edge of a menu that is as high as the screen stand out.
    frame = window.frameGeometry() if is_framed else window.geometry().adjusted(0, 0, 0, -_MENU_EDGE_PX)
    if not room.contains(frame):
        yield Finding("outside the screen", name, at)
    elif is_framed and not window.isMaximized() and window.height() + TITLE_BAR_PX > room.height():
        yield Finding("outside the screen", name, f"no room for a title bar with its close button: {at}")
    if is_framed and window.windowFlags() & Qt.WindowType.FramelessWindowHint:
        yield Finding("outside the screen", name, "it has no title bar to close it by")
    if is_framed and not window.windowTitle() and not window.inherits("QMessageBox"):
        yield Finding("without a name", name, "the window has no title")


def _outside(window: QWidget, widget: QWidget) -> str:
    """Where a part of it can neither be seen nor scrolled to."""
    area = QRect(QPoint(0, 0), widget.size())
    inner, outer = widget, widget.parentWidget()
    while outer is not None and inner is not window:
        area.translate(inner.pos())
        scrolled = _scrolls(outer)
        if scrolled is not None:
            sideways, down = scrolled
            seen = QRect(
                area.x() if sideways else 0,
                area.y() if down else 0,
                area.width() if sideways else outer.width(),
                area.height() if down else outer.height(),
            )
        else:
            seen = outer.rect()
        if not seen.adjusted(-_SLACK_PX, -_SLACK_PX, _SLACK_PX, _SLACK_PX).contains(area):
            return f"{_rect(area)} within {_size(outer.size())} of {type(outer).__name__}"
        if scrolled is not None:
            area = area.intersected(outer.rect()) or outer.rect()
        inner, outer = outer, outer.parentWidget()
    return ""


def _scrolls(viewport: QWidget) -> tuple[bool, bool] | None:
    """Sideways, and down, what is inside this widget can be scrolled; None if it is not the port of such an area."""
    area = viewport.parentWidget()
    if not isinstance(area, QAbstractScrollArea) or area.viewport() is not viewport:
        return None
    off = Qt.ScrollBarPolicy.ScrollBarAlwaysOff
    sideways = area.horizontalScrollBarPolicy() != off and area.horizontalScrollBar().maximum() > 0
    down = area.verticalScrollBarPolicy() != off and area.verticalScrollBar().maximum() > 0
    return sideways, down


def _overlaps(parent: QWidget) -> Iterator[Finding]:
    """Parts that a layout has put over one another: it had too little room."""
    layout = parent.layout()
    if layout is None or isinstance(parent, QStackedWidget) or layout.inherits("QStackedLayout"):
        return
    parts = [each for each in parent.children() if isinstance(each, QWidget) and each.isVisible()]
    parts = [each for each in parts if not each.isWindow() and layout.indexOf(each) >= 0]
    for first, second in combinations(parts, 2):
        shared = first.geometry().intersected(second.geometry())
        if shared.width() > _SLACK_PX and shared.height() > _SLACK_PX:
            yield Finding("overlapping", _words_of(first), f"{_words_of(second)} by {_size(shared.size())}")


# Names


def _needs_name(widget: QWidget) -> bool:
    if isinstance(widget, QLabel) or widget.focusProxy() is not None:
        return False
    return widget.focusPolicy() != Qt.FocusPolicy.NoFocus or isinstance(widget, QAbstractButton | QProgressBar)


def _name(widget: QWidget) -> str:
    interface = QAccessible.queryAccessibleInterface(widget)
    return "" if interface is None else interface.text(QAccessible.Text.Name).strip()


def _words_of(widget: QWidget) -> str:
    text = _plain(getattr(widget, "words", "") if isinstance(widget, ElidedLabel) else _text(widget)) or _name(widget)
    return f"{type(widget).__name__} “{text[:48]}”"


def _text(widget: QWidget) -> str:
    if isinstance(widget, QLabel | QAbstractButton | QLineEdit):
        return widget.text()
    return ""


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text)).replace("\u200b", "").strip()


def _size(size: QSize) -> str:
    return f"{size.width()}×{size.height()}"


def _rect(area: QRect) -> str:
    return f"{area.x()},{area.y()} {_size(area.size())}"


# Kinds of widgets


def _lacks(widget: QWidget, wanted_px: int, room_px: int, whole: str) -> str:
    """A text that is too wide may be shortened where the mouse brings up all of it."""
    if wanted_px <= room_px + _SLACK_PX or (whole and _plain(whole) in _plain(widget.toolTip())):
        return ""
    return f"takes {wanted_px} px, has {room_px}"


def _lower(widget: QWidget, wanted_px: int) -> str:
    return "" if widget.height() >= wanted_px - _SLACK_PX else f"takes {wanted_px} px of height, has {widget.height()}"


def _elided(label: ElidedLabel) -> str:
    wanted = label.fontMetrics().horizontalAdvance(label.words)
    return _lower(label, label.fontMetrics().height()) or _lacks(label, wanted, label.width(), label.words)


def _label(label: QLabel) -> str:
    room = label.contentsRect().marginsRemoved(QMargins(*[label.margin()] * 4))
    pixmap = label.pixmap()
    if not pixmap.isNull():
        wanted = pixmap.deviceIndependentSize().toSize()
        is_seen = wanted.width() <= room.width() and wanted.height() <= room.height()
        return "" if is_seen else f"a picture of {_size(wanted)} in {_size(room.size())}"
    if not label.text():
        return ""
    if not label.wordWrap():
        hint = label.minimumSizeHint() if label.textFormat() == Qt.TextFormat.RichText else _extent(label)
        return _lower(label, hint.height()) or _lacks(label, hint.width(), room.width(), label.text())
    return _lower(label, label.heightForWidth(label.width())) or _lacks(label, _widest_word(label), room.width(), "")


def _extent(label: QLabel) -> QSize:
    return label.fontMetrics().size(0, label.text())


def _is_rich(label: QLabel) -> bool:
    if label.textFormat() == Qt.TextFormat.AutoText:
        return bool(re.search(r"<\w", label.text()))
    return label.textFormat() != Qt.TextFormat.PlainText


def _widest_word(label: QLabel) -> int:
    if _is_rich(label):
        document = QTextDocument()
        document.setDefaultFont(label.font())
        document.setDocumentMargin(0)
        document.setHtml(label.text())
        document.setTextWidth(1)
        return int(document.idealWidth())
    return max(label.fontMetrics().horizontalAdvance(word) for word in _words(label.text()))


def _words(text: str) -> Iterator[str]:
    """What no line is broken within: of Chinese and Japanese, single letters with the signs beside them."""
    breaks = QTextBoundaryFinder(QTextBoundaryFinder.BoundaryType.Line, text)
    start = 0
    while (end := breaks.toNextBoundary()) >= 0:
        yield text[start:end].strip("\u200b \n")
        start = end


def _name_button(made: NameButton) -> str:
    return _lacks(made, made.sizeHint().width(), made.width(), made.text()) or _lower(made, made.sizeHint().height())


def _push_button(made: QPushButton) -> str:
    option = QStyleOptionButton()
    made.initStyleOption(option)
    room = made.style().subElementRect(QStyle.SubElement.SE_PushButtonContents, option, made)
    size = made.fontMetrics().size(Qt.TextFlag.TextShowMnemonic, made.text())
    wanted = size.width() + (0 if made.icon().isNull() else made.iconSize().width() + 4)
    return _lower(made, size.height()) or _lacks(made, wanted, room.width(), made.text())


def _tool_button(made: QToolButton) -> str:
    hint = made.sizeHint()
    return _lower(made, hint.height()) or _lacks(made, hint.width(), made.width(), "") or _coarse(made)


def _coarse(made: QAbstractButton) -> str:
    """Icons grow with the text."""
    if made.icon().isNull():
        return ""
    drawn = made.icon().actualSize(made.iconSize())
    return (
        ""
        if drawn.width() >= made.iconSize().width()
        else f"an icon of {drawn.width()} px for {_size(made.iconSize())}"
    )


def _switch(made: QAbstractButton) -> str:
    hint = made.sizeHint()
    return _lower(made, hint.height()) or _lacks(made, hint.width(), made.width(), made.text())


def _combo(combo: QComboBox) -> str:
    option = QStyleOptionComboBox()
    combo.initStyleOption(option)
    part = QStyle.SubControl.SC_ComboBoxEditField
    room = combo.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, part, combo)
    wanted = combo.fontMetrics().horizontalAdvance(combo.currentText())
    height = combo.fontMetrics().height()
    low = "" if room.height() >= height else f"takes {height} px of height, has {room.height()}"
    return low or _lacks(combo, wanted, room.width(), combo.currentText())


def _line_edit(field: QLineEdit) -> str:
    option = QStyleOptionFrame()
    field.initStyleOption(option)
    room = field.style().subElementRect(QStyle.SubElement.SE_LineEditContents, option, field)
    margins = field.textMargins()
    beside = sum(each.width() for each in field.findChildren(QToolButton) if each.isVisible())
    px = room.width() - margins.left() - margins.right() - beside - 4
    low = "" if room.height() >= field.fontMetrics().height() - _SLACK_PX else f"has {room.height()} px of height"
    if field.text():
        is_fixed = field.isReadOnly() or isinstance(field.parentWidget(), QAbstractSpinBox)
        return low or (
            _lacks(field, field.fontMetrics().horizontalAdvance(field.text()), px, field.text()) if is_fixed else ""
        )
    return low or _lacks(
        field, field.fontMetrics().horizontalAdvance(field.placeholderText()), px, field.placeholderText()
    )


def _plain_text(field: QPlainTextEdit) -> str:
    if field.toPlainText() or not field.placeholderText():
        return ""
    room = field.viewport().rect()
    margin = round(field.document().documentMargin())
    area = room.adjusted(margin, margin, -margin, -margin)
    wrapped = field.fontMetrics().boundingRect(area, Qt.TextFlag.TextWordWrap, field.placeholderText())
    if wrapped.height() <= area.height() + _SLACK_PX or field.placeholderText() in field.toolTip():
        return ""
    return f"its hint takes {wrapped.height()} px of height, has {area.height()}"


def _browser(text: QTextBrowser) -> str:
    off = Qt.ScrollBarPolicy.ScrollBarAlwaysOff
    size = text.document().size().toSize()
    if text.horizontalScrollBarPolicy() == off and size.width() > text.viewport().width() + _SLACK_PX:
        return f"takes {size.width()} px, has {text.viewport().width()}"
    if text.verticalScrollBarPolicy() == off and size.height() > text.viewport().height() + _SLACK_PX:
        return f"takes {size.height()} px of height, has {text.viewport().height()}"
    return ""


def _tab_bar(bar: QTabBar) -> str:
    for index in range(bar.count()):
        area, wanted = bar.tabRect(index), bar.fontMetrics().horizontalAdvance(bar.tabText(index))
        if not bar.rect().contains(area) or wanted > area.width() + _SLACK_PX:
            return f"“{bar.tabText(index)}” is at {_rect(area)} of {_size(bar.size())}"
    return ""


def _table(table: QTableWidget) -> str:
    header, columns = table.horizontalHeader(), range(table.columnCount())
    used = sum(header.sectionSize(column) for column in columns)
    is_scrolled = table.horizontalScrollBarPolicy() != Qt.ScrollBarPolicy.ScrollBarAlwaysOff
    if used > table.viewport().width() + _SLACK_PX and not is_scrolled:
        return f"its columns take {used} px, have {table.viewport().width()}"
    for column in columns:
        title = table.horizontalHeaderItem(column)
        if (
            title is not None
            and not header.isHidden()
            and header.sectionSizeHint(column) > header.sectionSize(column) + _SLACK_PX
        ):
            return (
                f"heading “{title.text()}” takes {header.sectionSizeHint(column)} px, has {header.sectionSize(column)}"
            )
        for row in range(table.rowCount()):
            spanned = range(column, column + table.columnSpan(row, column))
            room = sum(header.sectionSize(each) for each in spanned)
            cut = _cell(table, table.model().index(row, column), room)
            if cut:
                return cut
    return ""


def _cell(view: QAbstractItemView, index: QModelIndex, room_px: int) -> str:
    text = str(index.data(Qt.ItemDataRole.DisplayRole) or "")
    font = index.data(Qt.ItemDataRole.FontRole)
    metrics = view.fontMetrics() if font is None else QFontMetrics(font)
    wanted = metrics.horizontalAdvance(text)
    if wanted <= room_px or text in str(index.data(Qt.ItemDataRole.ToolTipRole) or ""):
        return ""
    return f"“{text}” takes {wanted} px, has {room_px}"


def _list(view: QListWidget) -> str:
    """An item that is too wide may be shortened where the mouse brings up all of it."""
    room = view.viewport().width()
    items = (view.item(row) for row in range(view.count()))
    cut = [each for each in items if view.sizeHintForIndex(view.indexFromItem(each)).width() > room + _SLACK_PX]
    told = [each for each in cut if each.text() in each.toolTip()]
    return "" if cut == told else _lacks(view, view.sizeHintForColumn(0), room, "")


def _chats(chats: ConversationList) -> str:
    model, view = chats.model, chats.view
    cuts = (_cell(view, model.index(row), view.viewport().width() - 12) for row in range(model.rowCount()))
    return next(filter(None, cuts), "")


def _rows(view: RowsView) -> str:
    room = view.viewport().width() - 40
    for row in view.rows.rows:
        for line in (row.title, row.subtitle):
            wanted = view.fontMetrics().horizontalAdvance(line)
            if wanted > room and line not in row.about:
                return f"“{line}” takes {wanted} px, has {room}"
    return ""


def _area(area: QScrollArea) -> str:
    inside = area.widget()
    is_off = area.horizontalScrollBarPolicy() == Qt.ScrollBarPolicy.ScrollBarAlwaysOff
    if inside is None or not is_off or inside.width() <= area.viewport().width():
        return ""
    return f"what is inside takes {inside.width()} px, has {area.viewport().width()}"


_ABOUT_KINDS: tuple[tuple[type[QWidget], Callable[..., str]], ...] = (  # the first that fits
    (ElidedLabel, _elided),
    (QLabel, _label),
    (NameButton, _name_button),
    (QPushButton, _push_button),
    (QCheckBox, _switch),
    (QRadioButton, _switch),
    (QToolButton, _tool_button),
    (QComboBox, _combo),
    (QLineEdit, _line_edit),
    (QPlainTextEdit, _plain_text),
    (QTextBrowser, _browser),
    (QTabBar, _tab_bar),
    (QTableWidget, _table),
    (QListWidget, _list),
    (ConversationList, _chats),
    (RowsView, _rows),
    (QScrollArea, _area),
)
