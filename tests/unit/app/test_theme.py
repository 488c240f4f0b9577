from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QPushButton, QSpinBox, QWidget
from pytestqt.qtbot import QtBot

import app
from app.text.origin_marks import proposers
from app.theme import ICONS, ThemeKeeper, app_icon, load_theme
from app.widgets.dialog_parts import Dialog, fill_dialog
from tests.unit.app.top_levels import TOP_LEVELS

THEMES = ("light", "dark")


def contrast(first: str, second: str) -> float:
    """The contrast ratio of the Web Content Accessibility Guidelines."""

    def luminance(colour: str) -> float:
        parts = (QColor(colour).redF(), QColor(colour).greenF(), QColor(colour).blueF())
        linear = [part / 12.92 if part <= 0.04045 else math.pow((part + 0.055) / 1.055, 2.4) for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", THEMES)
def test_the_style_sheet_has_no_open_words(name: str) -> None:
    sheet = re.sub(r"/\*.*?\*/", "", load_theme(name).style_sheet(), flags=re.DOTALL)
    assert "@" not in sheet


@pytest.mark.parametrize("name", THEMES)
def test_the_pictures_of_the_style_sheet_are_there_in_its_colours(name: str) -> None:
    pictures = re.findall(r'url\("(.+?)"\)', load_theme(name).style_sheet())
    assert pictures
    for picture in pictures:
        theme, drawn = load_theme(name), Path(picture).read_text("utf-8")
        assert theme.on_accent in drawn or theme.quiet in drawn


@pytest.mark.parametrize("name", THEMES)
def test_text_can_be_read(name: str) -> None:
    theme = load_theme(name)
    grounds = (theme.window, theme.sidebar, theme.surface)
    for ground in grounds:
        assert contrast(theme.text, ground) > 10
        assert contrast(theme.quiet, ground) > 4.5
        assert contrast(theme.faint, ground) > 3.5
    assert contrast(theme.on_accent, theme.accent) > 4.5
    assert contrast(theme.text, theme.bubble) > 7
    assert contrast(theme.link, theme.window) > 4.5
    tints = {theme.tint(origin) for origin in proposers()}
    assert len(tints - {theme.window}) == len(proposers()), "each has a colour of its own"
    for tint in tints:
        assert contrast(theme.text, tint) > 7
        assert contrast(theme.link, tint) > 4.5
        for field in ("keyword", "name", "string", "number", "comment", "type", "error"):
            assert contrast(getattr(theme, f"code_{field}"), tint) > 3, (field, tint)
    for field in ("keyword", "name", "string", "number", "comment", "type", "error"):
        assert contrast(getattr(theme, f"code_{field}"), theme.code_background) > 3.8, field


def test_another_scheme_changes_palette_and_says_so(qtbot: QtBot, qapp: QApplication, keeper: ThemeKeeper) -> None:
    with qtbot.waitSignal(keeper.changed) as changed:
        keeper.show_scheme(Qt.ColorScheme.Dark)
    assert changed.args == [load_theme("dark")]
    assert qapp.palette().color(QPalette.ColorRole.Window) == QColor(load_theme("dark").window)
    with qtbot.assertNotEmitted(keeper.changed):
        keeper.show_scheme(Qt.ColorScheme.Dark)


def test_icons_take_the_colour_of_the_theme(keeper: ThemeKeeper) -> None:
    def strongest() -> QColor:
        image = keeper.icon("stop", "text").pixmap(48, 48).toImage()
        return image.pixelColor(image.width() // 2, image.height() // 2)

    assert strongest() == QColor(load_theme("light").text)
    keeper.show_scheme(Qt.ColorScheme.Dark)
    assert strongest() == QColor(load_theme("dark").text)


def test_every_icon_can_be_drawn(keeper: ThemeKeeper) -> None:
    names = [entry.name.removesuffix(".svg") for entry in ICONS.iterdir() if entry.name.endswith(".svg")]
    assert len(names) > 10
    for name in names:
        assert not keeper.icon(name).isNull()
    assert not app_icon().pixmap(16, 16).isNull()


def test_another_choice_than_the_system_stays(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    with qtbot.waitSignal(keeper.changed) as changed:
        keeper.choose("dark", 100)
    assert changed.args == [load_theme("dark")]
    with qtbot.assertNotEmitted(keeper.changed):
        keeper.show_scheme(Qt.ColorScheme.Light)
        keeper.choose("dark", 100)
    keeper.choose("system", 100)
    keeper.show_scheme(Qt.ColorScheme.Dark)
    keeper.show_scheme(Qt.ColorScheme.Light)
    assert not keeper.theme.dark


def test_everything_grows_with_the_text(qapp: QApplication, keeper: ThemeKeeper) -> None:
    usual = qapp.font().pointSizeF()
    keeper.choose("light", 150)
    assert qapp.font().pointSizeF() == pytest.approx(usual * 1.5)
    assert keeper.px(32) == 48
    assert "border-radius: 16px" in load_theme("light").style_sheet()
    assert "border-radius: 24px" in qapp.styleSheet()
    assert "1px solid" in qapp.styleSheet(), "lines stay thin"
    keeper.choose("light", 100)
    assert qapp.font().pointSizeF() == usual


def test_another_keeper_begins_with_the_usual_size(qapp: QApplication, keeper: ThemeKeeper) -> None:
    usual = qapp.font().pointSizeF()
    keeper.choose("light", 200)
    other = ThemeKeeper(qapp, "light", 120)
    assert qapp.font().pointSizeF() == pytest.approx(usual * 1.2)
    other.choose("light", 100)
    other.deleteLater()


def test_every_kind_that_the_app_uses_has_a_rule_and_no_rule_is_there_twice() -> None:
    """Rules get lost, and are written twice, when the sheet is changed in two places at once."""
    sheet = re.sub(r"/\*.*?\*/", "", load_theme("light").style_sheet(), flags=re.DOTALL)
    selectors = [" ".join(selector.split()) for selector in re.findall(r"([^{}]+)\{", sheet)]
    assert sorted(set(selectors)) == sorted(selectors)
    ruled = set(re.findall(r'\[kind="([\w-]+)"\]', sheet))
    used = set()
    for file in (Path(app.__file__).parent).rglob("*.py"):
        source = file.read_text("utf-8")
        used |= set(re.findall(r'(?:setProperty\("kind", |kind=)"([\w-]+)"', source))
        used |= set(re.findall(r'\bbutton\(.*, "([\w-]+)", ', source))
    assert used - ruled == set()


class _Told(QLabel):
    """Counts how often it is told of another style."""

    num_told = 0

    def changeEvent(self, event: QEvent) -> None:
        self.num_told += event.type() == QEvent.Type.StyleChange
        super().changeEvent(event)


def test_a_hidden_window_takes_the_size_of_text_when_it_is_shown(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    """Every step of the size would polish and lay out all hidden dialogs else, which are most widgets of the app."""
    dialog = Dialog((300, 0))
    qtbot.addWidget(dialog)
    part = _Told("Words", dialog)
    fill_dialog(dialog, [part], [], 8)
    dialog.show()
    dialog.hide()
    part.num_told = 0
    keeper.choose("dark", 150)
    assert part.num_told == 0
    dialog.show()
    assert part.num_told > 0
    assert dialog.width() == 450


@pytest.mark.parametrize("name", ["settings", "library", "personalization", "this chat", "speed"])
def test_a_window_that_was_hidden_looks_like_one_made_afterwards(qtbot: QtBot, keeper: ThemeKeeper, name: str) -> None:
    make = next(make for title, make in TOP_LEVELS.items() if title.startswith(name))
    early = make(keeper)
    qtbot.addWidget(early)
    early.show()
    QApplication.processEvents()
    early.hide()
    keeper.choose("dark", 150)
    late = make(keeper)
    qtbot.addWidget(late)
    for each in (early, late):
        each.show()
        QApplication.processEvents()
    pairs = list(zip(early.findChildren(QLabel), late.findChildren(QLabel), strict=True))
    assert pairs
    for one, other in pairs:
        assert one.font() == other.font(), one.text()
        assert one.palette().text().color() == other.palette().text().color(), one.text()
        assert one.sizeHint().height() == other.sizeHint().height(), one.text()
    assert {each.sizeHint().height() for each in early.findChildren(QPushButton)} == {
        each.sizeHint().height() for each in late.findChildren(QPushButton)
    }


def test_icons_are_drawn_once_for_each_colour(keeper: ThemeKeeper) -> None:
    drawn = keeper.icon("menu")
    keeper.choose("system", 150)
    assert keeper.icon("menu") is drawn


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_list_of_a_combo_box_and_the_arrows_of_a_spin_box_are_the_themes(
    qtbot: QtBot, keeper: ThemeKeeper, scheme: str
) -> None:
    keeper.choose(scheme, 100)
    window = QWidget()
    qtbot.addWidget(window)
    combo, box = QComboBox(window), QSpinBox(window)
    combo.addItems(["One", "Two", "Three"])
    box.setGeometry(0, 60, 120, 34)
    window.show()
    combo.showPopup()
    qtbot.waitUntil(combo.view().isVisible)
    picture = combo.view().viewport().grab().toImage()
    row = combo.view().visualRect(combo.model().index(0, 0))
    assert picture.pixelColor(row.right() - 8, row.center().y()).name() == keeper.theme.selected
    assert row.height() >= 26
    combo.hidePopup()
    shown, ground = box.grab().toImage(), QColor(keeper.theme.surface).lightness()
    places = ((x, y) for x in range(box.width() - 20, box.width() - 4) for y in range(6, box.height() - 6))
    assert any(abs(shown.pixelColor(*place).lightness() - ground) > 40 for place in places), "there are arrows"
