"""Finding and downloading models, on a bridge without an engine."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from app.features.library.downloads_panel import DownloadRow
from app.features.library.hub import SUBJECT as NUDGE
from app.features.library.hub import HubController
from app.features.library.library_dialog import LibraryDialog
from app.main_window import MainWindow
from app.theme import ThemeKeeper
from engine import SamplingSettings
from engine.backend.hub.hub_service import HubService
from engine.values.events import TargetInfo, TargetReady
from engine.values.quantizations import QuantizationSpeed
from engine.values.targets import Downloaded, Downloading, HubFile, HubFiles, HubModel, LoadOrder, Purpose, Suggestion
from tests.fakes.bridge import Asked, FakeBridge
from tests.unit.app.library_samples import Q4, Q8

MODELS = (HubModel("owner/model", 12_345, 67, None), HubModel("other/thing", 1, 1, None))
PATH = Path("/models/model-Q4_K_M.gguf")
SEEN = ("https://example.org/list",), date(2026, 10, 7)
SUGGESTIONS = (
    Suggestion("Slow", Purpose.CHAT, Q8, "Apache 2.0", 1.0, *SEEN, tokens_per_s=3.0),
    Suggestion("Quick", Purpose.SMALL, Q4, "MIT", 1.0, *SEEN, tokens_per_s=20.0),
)
MEMORY = 32_000_000_000


class Desk:
    def __init__(self, window: MainWindow, keeper: ThemeKeeper, folder: Path) -> None:
        self.window = window
        self.bridge = FakeBridge()
        self.bridge.unhandled.connect(window.toasts.show_error)
        self.dialog = LibraryDialog(keeper, SamplingSettings(), "hub.example", window)
        self.controller = HubController(window, self.dialog, self.bridge, folder / "models" / "not")
        self.page = self.dialog.hub

    def search(self, words: str) -> None:
        self.page.search.setText(words)
        QTest.keyClick(self.page.search, Qt.Key.Key_Return)

    @property
    def hub(self) -> HubService:
        return self.bridge.engine.hub

    def asked(self, method: object) -> Asked:
        """The latest."""
        return self.bridge.asked(method)[-1]

    def suggest(self, suggestions: tuple[Suggestion, ...]) -> None:
        self.asked(self.bridge.engine.library.suggestions).answer(suggestions)

    @property
    def fetching(self) -> Asked:
        return self.asked(self.bridge.engine.models.fetch)

    def list_downloads(self, *downloads: tuple[HubFile, int]) -> None:
        self.asked(self.bridge.engine.downloads.list).answer(downloads)

    @property
    def discarded(self) -> list[HubFile]:
        return [each.args[0] for each in self.bridge.asked(self.bridge.engine.downloads.discard)]

    @property
    def row(self) -> DownloadRow:
        (row,) = self.page.downloads.rows
        return row

    def press(self, button: QPushButton) -> None:
        assert button.isVisibleTo(self.dialog)
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        QCoreApplication.processEvents()


@pytest.fixture
def desk(qtbot: QtBot, keeper: ThemeKeeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr(HubController, "_room", lambda _self: (MEMORY, 10 * MEMORY))
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    window.show()
    desk = Desk(window, keeper, tmp_path)
    desk.dialog.open_hub()
    return desk


@pytest.fixture
def downloading(desk: Desk) -> Desk:
    desk.page.download_requested.emit(Q4)
    return desk


def test_nothing_is_asked_of_the_network_until_something_is_pressed(desk: Desk) -> None:
    about_this_machine = [desk.bridge.engine.library.suggestions, desk.bridge.engine.downloads.list]
    assert [each.method for each in desk.bridge.all_asked] == about_this_machine
    assert "hub.example" in desk.page.note.text()
    desk.dialog.close()
    desk.dialog.open_hub()
    desk.suggest(SUGGESTIONS)
    assert [each.method for each in desk.bridge.all_asked] == about_this_machine * 2


def test_a_search_leads_to_files_and_one_of_them_to_a_download(desk: Desk) -> None:
    desk.search("  model ")
    assert desk.asked(desk.hub.search).args == ("model",)
    assert desk.page.models.words.text() == "Searching…"
    desk.asked(desk.hub.search).answer(MODELS)
    assert [row.subtitle for row in desk.page.models_view.rows.rows] == [
        "owner · 12.3k downloads · 67 likes",
        "other · 1 download · 1 like",
    ]
    assert desk.page.models_view.hasFocus()
    assert not desk.bridge.asked(desk.hub.files), "pointing at it asks nothing"
    QTest.keyClick(desk.page.models_view, Qt.Key.Key_Return)
    assert desk.asked(desk.hub.files).args == ("owner/model",)
    desk.asked(desk.hub.files).answer(HubFiles((Q4, Q8)))
    assert [row.key for row in desk.page.files_view.rows.rows] == [Q4, Q8]
    desk.page.files_view.point_at(Q4)
    assert desk.page.download_button.text() == "Download 4.0 GB"
    desk.press(desk.page.download_button)
    assert desk.fetching.args == (Q4,)
    assert not desk.page.download_button.isEnabled(), "once is enough"


def test_files_in_the_form_that_was_fastest_here_are_marked(desk: Desk) -> None:
    desk.page.files_requested.emit("owner/model")
    desk.asked(desk.hub.files).answer(HubFiles((Q4, Q8)))
    assert not any("fast" in row.tag for row in desk.page.files_view.rows.rows)
    desk.page.files_requested.emit("owner/model")
    desk.asked(desk.hub.files).answer(
        HubFiles((Q4, Q8), (QuantizationSpeed("Q4_K_M", 1.0), QuantizationSpeed("Q8_0", 0.6)))
    )
    assert [row.tag.startswith("fast here, ") for row in desk.page.files_view.rows.rows] == [True, False]


def test_only_the_latest_search_is_shown(desk: Desk) -> None:
    desk.search("first")
    first = desk.asked(desk.hub.search)
    desk.search("second")
    assert first.request.signal.is_set()
    first.answer(MODELS)
    assert desk.page.models.words.text() == "Searching…"
    desk.asked(desk.hub.search).answer(())
    assert desk.page.models.words.text() == "No results for “second”. Try fewer words."


def test_failures_stand_where_the_answer_was_awaited(desk: Desk) -> None:
    desk.search("x")
    desk.asked(desk.hub.search).fail("There is no connection.")
    assert desk.page.models.words.text() == "There is no connection."
    desk.page.files_requested.emit("owner/model")
    desk.asked(desk.hub.files).fail("It is gone.")
    assert desk.page.files.words.text() == "It is gone."
    assert desk.window.toasts.shown == ()


def test_a_download_under_way_ends_the_notice_about_bigger_models(downloading: Desk) -> None:
    downloading.window.notices.show_notice(NUDGE, "Only the starter is installed.", ())
    downloading.fetching.tell(Downloading(1, 4_000_000_000))
    assert NUDGE not in downloading.window.notices.shown, "it was done"


def test_progress_speed_and_time_left_are_told(downloading: Desk) -> None:
    assert downloading.row.words.words == "Waiting to start, 4.0 GB"
    downloading.fetching.tell(Downloading(1_000_000_000, 4_000_000_000, 10_000_000.0))
    assert downloading.row.words.words == "1.0 GB of 4.0 GB, 10.0 MB per second, about 5 min left"
    assert downloading.row.progress.value() == 250


def test_a_download_is_paused_and_resumed(downloading: Desk) -> None:
    desk = downloading
    fetching = desk.fetching
    fetching.tell(Downloading(1_000_000_000, 4_000_000_000, 10_000_000.0))
    desk.press(desk.row.pause_button)
    assert fetching.request.signal.is_set()
    assert desk.row.words.words == "Pausing, 1.0 GB of 4.0 GB"
    fetching.fail("The download was stopped.")
    assert desk.row.words.words == "Paused, 1.0 GB of 4.0 GB"
    desk.press(desk.row.resume_button)
    assert desk.fetching.args == (Q4,)
    assert desk.row.words.words == "Waiting to continue, 1.0 GB of 4.0 GB"


def test_one_that_waits_is_paused_at_once_and_its_late_end_changes_nothing(downloading: Desk) -> None:
    desk = downloading
    first = desk.fetching
    desk.press(desk.row.pause_button)
    assert desk.row.words.words.startswith("Paused")
    desk.press(desk.row.resume_button)
    first.fail("The download was stopped.")
    assert desk.row.words.words == "Waiting to start, 4.0 GB"


def test_a_failure_is_told_and_can_be_tried_again(downloading: Desk) -> None:
    desk = downloading
    desk.fetching.fail("The disk is full.")
    assert desk.row.words.words == "The disk is full."
    assert desk.row.resume_button.text() == "Retry"
    desk.press(desk.row.resume_button)
    assert desk.fetching.args == (Q4,)


def test_those_of_before_are_listed_after_a_restart_and_discarded_after_a_question(desk: Desk) -> None:
    desk.list_downloads((Q4, 1_000_000_000), (Q8, 0))
    first, second = desk.page.downloads.rows
    assert first.words.words == "Paused, 1.0 GB of 4.0 GB"
    desk.press(first.discard_button)
    box = next(box for box in desk.dialog.findChildren(QMessageBox) if box.isVisible())
    assert box.text() == "Discard the 1.0 GB of model-Q4_K_M.gguf that have arrived?"
    desk.press(next(button for button in box.findChildren(QPushButton) if button.text() == "Discard"))
    assert desk.discarded == [Q4]
    desk.press(second.discard_button)
    assert desk.discarded == [Q4, Q8], "nothing is lost, so nothing is asked"
    assert desk.page.downloads.isHidden()


def test_a_finished_one_can_be_used(qtbot: QtBot, downloading: Desk) -> None:
    downloading.fetching.answer(Downloaded(PATH))
    assert downloading.row.words.words == "Downloaded and checked, 4.0 GB"
    with qtbot.waitSignal(downloading.controller.use_requested) as used:
        downloading.press(downloading.row.use_button)
    assert used.args == [str(PATH)]
    assert downloading.page.downloads.rows == ()


def test_the_end_is_told_in_the_window_while_the_library_is_closed(qtbot: QtBot, downloading: Desk) -> None:
    downloading.dialog.close()
    downloading.fetching.answer(Downloaded(PATH))
    (toast,) = downloading.window.toasts.shown
    assert toast.words.text() == "model-Q4_K_M.gguf is downloaded and in the library."
    assert toast.action_button is not None
    with qtbot.waitSignal(downloading.controller.use_requested):
        QTest.mouseClick(toast.action_button, Qt.MouseButton.LeftButton)


def test_a_drafter_alone_is_fetched_for_its_model_and_not_used_itself(desk: Desk) -> None:
    desk.page.download_requested.emit(replace(Q4, is_head=True))
    desk.dialog.close()
    desk.fetching.answer(Downloaded(PATH, "It is a drafter made for one model."))
    (toast,) = desk.window.toasts.shown
    assert (toast.words.text(), toast.action_button) == ("It is a drafter made for one model.", None)
    assert not desk.row.use_button.isVisibleTo(desk.row)


def test_the_best_suggestion_is_the_first_and_one_key_or_click_from_its_download(desk: Desk) -> None:
    view = desk.page.suggestions
    desk.suggest(SUGGESTIONS)
    assert [(row.title, row.tag) for row in view.view.rows.rows] == [("Quick", "best here"), ("Slow", "slow here")]
    assert view.view.hasFocus()
    assert view.download_button.text() == "Download 4.0 GB"
    told = view.details.text()
    for word in ("about 20 tok/s", "estimate", "MIT", "owner/model", "model-Q4_K_M.gguf", "7 October 2026"):
        assert word in told
    QTest.keyClick(view.view, Qt.Key.Key_Down)
    assert "slower than most people read" in view.details.text()
    desk.press(view.download_button)
    assert desk.fetching.args == (Q8,)
    assert not view.download_button.isEnabled(), "once is enough"
    view.view.point_at(Q4)
    QTest.keyClick(view.view, Qt.Key.Key_Return)
    assert desk.fetching.args == (Q4,)


def test_speeds_are_estimated_again_when_a_model_was_loaded(desk: Desk) -> None:
    unknown = tuple(replace(each, tokens_per_s=0.0) for each in SUGGESTIONS)
    desk.suggest(unknown)
    view = desk.page.suggestions
    assert [row.title for row in view.view.rows.rows] == ["Slow", "Quick"], "as they are suggested"
    assert not any("tok/s" in row.subtitle for row in view.view.rows.rows)
    ready = TargetReady(TargetInfo("S", "/s.gguf", "llama", 1000, 10, 2), LoadOrder("starter"))
    desk.bridge.all_asked.clear()
    desk.bridge.tell(ready)
    assert [each.method for each in desk.bridge.all_asked] == [desk.bridge.engine.library.suggestions]
    desk.dialog.close()
    desk.bridge.all_asked.clear()
    desk.bridge.tell(ready)
    assert desk.bridge.all_asked == [], "nobody looks"


def test_a_stale_suggestion_says_so_on_its_row_after_a_check(desk: Desk) -> None:
    view = desk.page.suggestions
    desk.suggest(SUGGESTIONS)
    desk.press(view.check_button)
    assert not view.check_button.isEnabled()
    desk.asked(desk.hub.check_suggestions).fail("hub.example cannot be reached.")
    assert (view.state.text(), view.check_button.text()) == ("hub.example cannot be reached.", "Retry")
    desk.press(view.check_button)
    larger = replace(Q8, size_bytes=9_000_000_000)
    desk.asked(desk.hub.check_suggestions).answer(((Q4, None), (Q8, larger)))
    assert [(row.title, row.tag) for row in view.view.rows.rows] == [
        ("Slow", "file has changed"),
        ("Quick", "no longer offered"),
    ]
    view.view.point_at(Q4)
    assert "no longer offers this file" in view.details.text()
    assert view.download_button.isHidden()
    view.view.point_at(Q8)
    assert "(9.0 GB)" in view.details.text()
    desk.press(view.download_button)
    assert desk.fetching.args == (larger,)
    desk.press(view.check_button)
    desk.asked(desk.hub.check_suggestions).answer(((Q4, Q4), (Q8, Q8)))
    assert [row.tag for row in view.view.rows.rows] == ["best here", "slow here"]
    assert view.state.text() == "The list was checked."


def test_without_a_network_what_was_wanted_can_be_tried_again(desk: Desk) -> None:
    desk.search("qwen")
    assert not desk.page.models.retry_button.isVisible()
    desk.asked(desk.hub.search).fail("hub.example cannot be reached.")
    desk.press(desk.page.models.retry_button)
    assert desk.asked(desk.hub.search).args == ("qwen",)
    assert not desk.page.models.retry_button.isVisible()
    desk.asked(desk.hub.search).answer(MODELS)
    QTest.keyClick(desk.page.models_view, Qt.Key.Key_Return)
    desk.asked(desk.hub.files).fail("hub.example cannot be reached.")
    desk.press(desk.page.files.retry_button)
    assert desk.asked(desk.hub.files).args == ("owner/model",)
    desk.press(desk.page.back_button)
    assert desk.page.suggestions.isVisible()
    assert not desk.page.back_button.isVisible()


def test_beside_a_large_model_the_small_one_of_its_family_is_named(desk: Desk) -> None:
    large = HubFile("Qwen/Qwen2.5-7B-Instruct-GGUF", "q4.gguf", 4_430_000_000, "Q4_0")
    desk.search("")
    desk.page.files_requested.emit(large.repository)
    desk.asked(desk.hub.files).answer(HubFiles((large,)))
    assert desk.page.hint.isVisible()
    assert desk.page.hint.text().startswith("Qwen 2.5 0.5B (429 MB) is a small model of this family")
    desk.page.files_requested.emit("owner/model")
    assert not desk.page.hint.isVisible()
    desk.asked(desk.hub.files).answer(HubFiles((Q4,)))
    assert not desk.page.hint.isVisible()
