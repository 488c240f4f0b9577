from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

import app
from app.text.origin_marks import proposers
from app.theme import ICONS, ThemeKeeper, app_icon, load_theme

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
