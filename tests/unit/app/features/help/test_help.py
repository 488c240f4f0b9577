from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, Qt, QUrl
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from app.features.help.guide_dialog import FILE, GuideDialog
from app.features.help.help import HelpController
from app.main_window import MainWindow
from app.settings.shortcuts import fixed_keys
from app.theme import ThemeKeeper
from engine.backend.library.inspector import Inspector
from engine.values.targets import Runtime
from tests.fakes.bridge import FakeBridge
from tests.fakes.browser import Browser


@pytest.fixture
def window(qtbot: QtBot, keeper: ThemeKeeper) -> MainWindow:
    window = MainWindow(keeper, "1.2.3")
    qtbot.addWidget(window)
    window.show()
    return window


def test_about_tells_what_runs_the_models(window: MainWindow, keeper: ThemeKeeper, tmp_path: Path) -> None:
    bridge = FakeBridge()
    controller = HelpController(window, keeper, bridge, tmp_path)
    window.about_action.trigger()
    window.about_action.trigger()
    dialog = controller.dialog
    assert dialog is not None
    assert dialog.heading.text() == "Slipstream 1.2.3"
    (asked,) = bridge.asked(bridge.engine.inspector.runtime)
    assert ("Runs models with", "Loading…") in dialog.facts
    asked.answer(Runtime("llama-cpp-python 9.9", ("AVX2", "FMA")))
    assert dict(dialog.facts)["Runs models with"] == "llama-cpp-python 9.9"
    assert dict(dialog.facts)["Features in use"] == "AVX2, FMA"
    assert dict(dialog.facts)["Data folder"] == str(tmp_path)
    dialog.copy_button.click()
    assert "Slipstream 1.2.3\n" in QGuiApplication.clipboard().text()
    assert "Features in use: AVX2, FMA" in QGuiApplication.clipboard().text()
    dialog.close()
    assert controller.dialog is None
    window.about_action.trigger()
    assert len(bridge.all_asked) == 1, "it is known by now"


def test_a_runtime_that_cannot_be_read_is_told_of(window: MainWindow, keeper: ThemeKeeper, tmp_path: Path) -> None:
    bridge = FakeBridge()
    controller = HelpController(window, keeper, bridge, tmp_path)
    window.about_action.trigger()
    bridge.all_asked[0].fail("llama.cpp is missing.")
    assert controller.dialog is not None
    assert ("Runs models with", "llama.cpp is missing.") in controller.dialog.facts


def test_the_log_folder_is_opened_where_there_is_one(window: MainWindow, keeper: ThemeKeeper, tmp_path: Path) -> None:
    HelpController(window, keeper, FakeBridge(), tmp_path)
    window.logs_action.trigger()
    assert "There is no log" in window.toasts.shown[0].words.text()
    (tmp_path / "logs").mkdir()
    with Browser("file") as browser:
        window.logs_action.trigger()
    assert [Path(url.toLocalFile()) for url in browser.opened] == [tmp_path / "logs"]


def test_the_real_engine_tells_what_it_runs_on(tmp_path: Path) -> None:
    runtime = Inspector(tmp_path).runtime()
    assert runtime.build.startswith("llama-cpp-python ")
    assert runtime.features
    assert all(feature.strip() == feature and "=" not in feature for feature in runtime.features)


@pytest.fixture
def guide(window: MainWindow, keeper: ThemeKeeper, tmp_path: Path) -> GuideDialog:
    controller = HelpController(window, keeper, FakeBridge(), tmp_path)
    assert window.guide_action.shortcut().toString() == "F1"
    window.guide_action.trigger()
    assert controller.guide is not None
    QCoreApplication.processEvents()
    return controller.guide


def place(guide: GuideDialog) -> int:
    return guide.page.verticalScrollBar().value()


def test_the_guide_is_that_of_the_docs_and_its_contents_and_links_lead_to_their_places(guide: GuideDialog) -> None:
    titles = [line.removeprefix("## ") for line in FILE.read_text("utf-8").splitlines() if line.startswith("## ")]
    contents = guide.contents
    assert [contents.item(row).text() for row in range(contents.count())] == titles
    tops = []
    for row in range(contents.count()):
        contents.setCurrentRow(row)
        tops.append(place(guide))
    assert len(set(tops[:-1])) == len(titles) - 1, "each leads to a place of its own"
    assert sorted(tops) == tops
    contents.setCurrentRow(0)
    QTest.mouseClick(
        contents.viewport(), Qt.MouseButton.LeftButton, pos=contents.visualItemRect(contents.item(4)).center()
    )
    assert place(guide) == tops[4]


def test_every_link_and_picture_of_the_guide_is_there(guide: GuideDialog) -> None:
    html = guide.page.document().toHtml()
    links = {link for link in re.findall(r'href="([^"]+)"', html) if not link.startswith("https://")}
    assert links
    for link in sorted(links):
        guide.page.verticalScrollBar().setValue(1)
        guide.page.anchorClicked.emit(QUrl(link))
        assert place(guide) != 1, link
    pictures = re.findall(r'<img src="([^"]+)"', html)
    assert len(pictures) > 20
    for picture in pictures:
        assert not guide.page.document().resource(2, QUrl(picture)).isNull(), picture


def text_before_sections(guide: GuideDialog) -> int:
    """How often it stands above the first heading."""
    first = guide.page.document().find(guide.contents.item(0).text().rsplit(" (", 1)[0]).selectionStart()
    return sum(each.cursor.selectionStart() < first for each in guide.page.extraSelections())


def test_words_of_the_guide_are_found_one_after_the_other(guide: GuideDialog) -> None:
    QTest.keyClick(guide.page, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert guide.search.hasFocus()
    QTest.keyClicks(guide.search, "incognito")
    marks = guide.page.extraSelections()
    assert len(marks) > 2
    places = []
    for number in range(1, len(marks) + 1):
        assert guide.found.text() == f"{number} of {len(marks)}"
        marked = [each.format.background().color().name() for each in guide.page.extraSelections()]
        assert marked.count(marked[number - 1]) == 1, "the one that is shown stands out"
        places.append(guide.page.textCursor().position())
        QTest.keyClick(guide.search, Qt.Key.Key_Return)
    assert len(set(places)) == len(marks)
    assert guide.page.textCursor().position() == places[0], "it goes round"
    QTest.keyClick(guide.search, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert guide.page.textCursor().position() == places[-1]
    assert guide.found.text() == f"{len(marks)} of {len(marks)}"
    listed = [guide.contents.item(row).text() for row in range(guide.contents.count())]
    counted = [int(found[1]) for text in listed if (found := re.search(r"\((\d+)\)$", text))]
    assert sum(counted) == len(marks) - text_before_sections(guide), "the contents tell where they are"
    assert any(text.startswith("Incognito chats (") for text in listed)
    assert [guide.contents.item(row).toolTip() for row in range(guide.contents.count())] == listed, "if it is shortened"
    QTest.keyClicks(guide.search, "zzz")
    assert guide.found.text() == "Not found"
    assert not any("(" in guide.contents.item(row).text() for row in range(guide.contents.count()))
    QTest.keyClick(guide.search, Qt.Key.Key_Escape)
    assert guide.isVisible()
    assert not guide.page.extraSelections()


def test_the_guide_names_its_sections_menus_and_keys_as_the_window_has_them(window: MainWindow) -> None:
    text = FILE.read_text("utf-8")
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert re.findall(r"^- \[(.+)\]\(#", text, re.MULTILINE) == sections, "its list of contents"
    window.add_page("server", "Server…", lambda: None)
    menu = window.target_bar.menu_button.menu()
    inside = {_plain(each.title()): each for each in menu.findChildren(QMenu)}
    for path in re.findall(r"☰ → ((?:(?:This chat|Messages|All chats|Model|View|Help) → )?)\*\*([^*→]+?)\*\*", text):
        submenu = path[0].removesuffix(" → ")
        there = inside[submenu].actions() if submenu else menu.actions()
        assert _plain(path[1]) in {_plain(each.text()) for each in there}, path
    keys = [each.toString() for action in window.actions() for each in action.shortcuts() if not each.isEmpty()]
    table = text.split("## Shortcuts")[1].split("## ")[0]
    told = {key for row in re.findall(r"^\| (.+?) \|", table, re.MULTILINE) for key in row.split(", ")}
    assert {each for each in keys if each not in ("Ctrl+=",)} - told == set(), "keys that the guide does not tell"
    fixed = {key for keys, _ in fixed_keys(sends_with_ctrl=False) for key in keys.split("; ")}
    others = {"Shift+Tab", "Ctrl+Q"}  # of the box, where there are variables; of the system, which has none here
    assert {each for each in told if each.startswith(("Ctrl", "Shift", "F"))} - {*keys, *fixed} - others == set()


def _plain(words: str) -> str:
    return words.replace("&", "").removesuffix("…")
