"""Windows fit on their screen, and what is in them is seen: a quick sample of `python -m tests.pages`, and its checks
themselves. The screen of the platform without a display is 800 × 800 pixels."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QLabel, QLineEdit, QPushButton, QScrollArea, QTabBar, QWidget
from pytestqt.qtbot import QtBot

from app.features.chat.conversation_dialog import ConversationDialog
from app.features.history.page import HistoryPage
from app.features.personalization.personal_dialog import PersonalDialog
from app.features.settings.settings_dialog import SettingsDialog
from app.main_window import MainWindow
from app.theme import ThemeKeeper
from app.widgets.dialog_parts import Dialog
from app.widgets.option_row import SettingRow
from app.widgets.parts import Sign
from app.widgets.prompt.prompt_editor import PromptRevision
from app.widgets.shortcuts_dialog import ShortcutsDialog
from app.widgets.table import Table
from app.widgets.window_sizes import WindowSizes, room_for
from engine import LearningSettings
from tests.pages.exceptions import is_excepted
from tests.pages.findings import findings
from tests.unit.app.top_levels import TOP_LEVELS
from tests.unit.app.widgets.messages import prompt, reply


def opened(qtbot: QtBot, window: QWidget) -> QWidget:
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()
    return settled(window)


def settled(window: QWidget) -> QWidget:
    for _ in range(4):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
        QCoreApplication.processEvents()
    return window


@pytest.mark.parametrize("scale", [80, 120])
def test_every_window_fits_and_nothing_in_it_is_cut_off(qtbot: QtBot, keeper: ThemeKeeper, scale: int) -> None:
    keeper.choose("light", scale)
    found = []
    looked_at = set()
    for name, make in TOP_LEVELS.items():
        window = opened(qtbot, make(keeper))
        looked_at.add(type(window).__qualname__)  # by their names, as another test imports a page a second time
        found += [f"{name}: {each}" for each in findings(window) if not is_excepted(each.kind, each.widget)]
        window.close()
    assert found == []
    assert {dialog.__qualname__ for dialog in Dialog.__subclasses__()} - looked_at == set()


@pytest.mark.usefixtures("keeper")
def test_whatever_is_wrong_with_a_window_is_found(qtbot: QtBot) -> None:
    window = QWidget()
    window.resize(900, 300)  # wider than the screen, and without a title
    label = QLabel("These words have no room", window)
    label.setGeometry(0, 0, 20, 20)
    button = QPushButton("Beyond", window)
    button.setGeometry(880, 0, 100, 30)
    QLineEdit(window).setGeometry(0, 50, 100, 30)
    kinds = {each.kind for each in findings(opened(qtbot, window))}
    assert kinds == {"cut off", "outside its window", "outside the screen", "without a name"}
    window.setWindowTitle("Fits")
    window.resize(400, 300)
    label.adjustSize()
    button.move(200, 0)
    window.findChildren(QLineEdit)[0].setAccessibleName("Field")
    assert list(findings(settled(window))) == []


@pytest.mark.usefixtures("keeper")
def test_lines_without_blanks_are_broken_between_letters(qtbot: QtBot) -> None:
    window = QWidget(windowTitle="Fits")
    label = QLabel("模型在这台电脑上运行，没有任何内容会离开它。", window, wordWrap=True)
    label.setGeometry(0, 0, 120, 200)
    assert list(findings(opened(qtbot, window))) == []
    label.setText("Donaudampfschifffahrtsgesellschaft")
    assert [each.kind for each in findings(settled(window))] == ["cut off"]


def test_a_window_has_the_size_that_it_was_left_with_on_this_screen(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    window = MainWindow(keeper)
    opened(qtbot, window)
    dialog = ShortcutsDialog((), (), window)
    usual = opened(qtbot, dialog).size()
    dialog.resize(444, 333)
    dialog.close()
    dialog.show()
    assert dialog.size() == QSize(444, 333) != usual
    window.resize(777, 555)
    other = MainWindow(keeper)
    qtbot.addWidget(other)
    other.restore(window.state())
    assert other.size() == QSize(777, 555)
    again = ShortcutsDialog((), (), other)
    again.show()
    assert again.size() == QSize(444, 333), "also after the next start"
    sizes = WindowSizes.of(other)
    assert sizes is not None
    kept = json.loads(sizes.to_text())
    sizes.take_text(json.dumps({name.replace("800", "1600"): size for name, size in kept.items()} | {"x": "y"}))
    elsewhere = ShortcutsDialog((), (), other)
    elsewhere.show()
    assert elsewhere.size() == usual, "the other screen has sizes of its own"
    sizes.take_text("nonsense")


def test_a_dialog_is_as_high_as_its_contents_and_scrolls_only_on_a_small_screen(
    qtbot: QtBot, keeper: ThemeKeeper
) -> None:
    for scale in (80, 100):
        keeper.choose("light", scale)
        about = opened(qtbot, TOP_LEVELS["about"](keeper))
        (area,) = about.findChildren(QScrollArea)
        assert not area.verticalScrollBar().isVisible()
        assert area.height() == area.widget().heightForWidth(area.width()), "and no room is left"  # type: ignore[union-attr]
    keeper.choose("light", 200)
    dialog = ConversationDialog()
    opened(qtbot, dialog)
    assert dialog.height() <= room_for(dialog).height()
    assert dialog.rect().contains(dialog.save_button.geometry()), "its buttons stay in sight"


def test_a_narrow_window_folds_its_sidebar_away(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    window = MainWindow(keeper)
    opened(qtbot, window)
    sidebar, button = window.conversations, window.target_bar.sidebar_button

    def widened_to(width_px: int) -> bool:
        window.resize(width_px, 600)
        settled(window)
        return not sidebar.isHidden()

    assert [widened_to(width) for width in (790, 740, 790)] == [True, False, True]
    assert not widened_to(700)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert sidebar.isVisible(), "a button opens it beside the chat"
    assert [widened_to(width) for width in (690, 1000, 690)] == [True, True, False]
    widened_to(1000)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert [widened_to(width) for width in (1000, 690, 1000)] == [False, False, False], "who hid it has it hidden"
    keeper.choose("light", 150)
    assert not widened_to(1200)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert [widened_to(width) for width in (1200, 1100, 1200)] == [True, False, True], "it grows with the text"


def test_an_earlier_prompt_is_edited_wholly_in_sight(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    window = MainWindow(keeper)
    opened(qtbot, window)
    transcript = window.transcript
    transcript.show_messages((prompt(0), reply(1, "- item\n" * 8)))
    for height in range(420, 520, 5):  # some of these leave room for the prompt, and none for the box
        window.resize(790, height)
        transcript.column.scroll_to_end()
        settled(window)
        transcript.message_actions.revise_last()
        settled(window)
        (box,) = transcript.findChildren(PromptRevision)
        top = box.mapTo(transcript.column.viewport(), QPoint(0, 0)).y()
        assert 0 <= top <= transcript.column.viewport().height() - box.height(), height
        transcript.message_actions.end_revision(0)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


def test_signs_and_boxes_grow_with_the_text_and_stay_at_their_words(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    window = MainWindow(keeper)
    opened(qtbot, window)
    attach = window.prompt_box.attach_button
    (sign,) = window.conversations.search.findChildren(Sign)

    def sizes() -> list[int]:
        settled(window)
        return [attach.width(), attach.iconSize().width(), sign.pixmap().width(), sign.width()]

    usual = sizes()
    keeper.choose("light", 150)
    assert sizes() == [round(px * 1.5) for px in usual]
    assert attach.sizeHint().width() <= attach.width(), "else the icon is drawn smaller"
    settings = TOP_LEVELS["settings, chat"](keeper)
    assert isinstance(settings, SettingsDialog)
    rows = [row for row in opened(qtbot, settings).findChildren(SettingRow) if isinstance(row.control, QCheckBox)]
    assert rows
    for row in rows:
        switch, label = row.control, row.findChildren(QLabel)[0]
        assert abs(switch.geometry().center().y() - label.geometry().center().y()) < switch.height()


def test_the_speed_table_loses_no_column(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    keeper.choose("light", 150)
    page = TOP_LEVELS["speed"](keeper)
    assert isinstance(page, HistoryPage)
    (table,) = opened(qtbot, page).findChildren(Table)
    used = table.horizontalHeader().length()
    assert used <= table.viewport().width() or table.horizontalScrollBar().isVisible()
    assert page.width() <= room_for(page).width()


def test_letters_shrink_back_in_every_widget(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    """Qt tells widgets in an order that differs from start to start, so several windows are looked at."""
    dialogs = [PersonalDialog(LearningSettings()) for _ in range(4)]
    bars = [opened(qtbot, dialog).findChildren(QTabBar)[0] for dialog in dialogs]
    usual = bars[0].size()
    for scale in (150, 100, 200, 100):
        keeper.choose("light", scale)
        settled(dialogs[0])
        assert {bar.font().pointSizeF() for bar in bars} == {QApplication.font().pointSizeF()}
    assert {bar.height() for bar in bars} == {usual.height()}
    for first, second in pairwise(bars):
        assert first.tabRect(0) == second.tabRect(0)
