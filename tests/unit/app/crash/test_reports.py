"""What a report says and what it never says, when there is one, and how many are kept."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.crash.folder import CrashFolder
from app.crash.logs import log_file
from app.crash.text import error_text, log_tail, machine_text, settings_text, without_home
from app.crash.watch import MOST_REPORTS, CrashWatch, watching
from app.settings.app_settings import AppSettings

SECRET = "my dear diary"


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/alice")
    monkeypatch.setenv("USERPROFILE", "/home/alice")
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "alice")


def caught(error: Exception) -> Exception:
    try:
        raise error
    except Exception as raised:
        return raised


def test_an_error_is_told_with_its_place_and_without_foreign_words() -> None:
    text = error_text(caught(KeyError(SECRET)))
    assert f'File "{__file__}", line' in text
    assert "in caught" in text
    assert "KeyError (its words are left out" in text
    assert SECRET not in text


def test_words_of_code_are_told() -> None:
    assert "AttributeError: 'NoneType' object has no attribute 'x'" in error_text(
        caught(AttributeError("'NoneType' object has no attribute 'x'"))
    )
    assert "PermissionError: [Errno 13] Permission denied" in error_text(
        caught(PermissionError(13, "Permission denied", f"/home/alice/{SECRET}.json"))
    )


def test_what_an_error_came_from_is_told_too() -> None:
    error = caught(TypeError("no number"))
    error.__cause__ = caught(ValueError(SECRET))
    text = error_text(error)
    assert "TypeError: no number\n\nwhich came from\n" in text
    assert "ValueError" in text
    assert SECRET not in text
    assert "/home/alice/" not in text


def test_the_user_has_no_name() -> None:
    assert (
        without_home("/home/alice/x, /media/alice/y, C:\\Users\\alice\\z") == "~/x, /media/user/y, C:\\Users\\user\\z"
    )


def test_of_the_log_remains_what_happened_and_where() -> None:
    lines = [
        f"2026-01-02 03:04:05,678 INFO slipstream.worker slipstream-files: ImportConversations: {SECRET}.json is odd.",
        f"2026-01-02 03:04:06,000 WARNING slipstream.learning slipstream-chat: The file /x/{SECRET} is odd",
        "2026-01-02 03:04:06,000 WARNING slipstream.llama_cpp slipstream-chat: load: file /home/alice/x.gguf: odd",
        "2026-01-02 03:04:07,000 ERROR slipstream.worker slipstream-chat: Send failed",
        "Traceback (most recent call last):",
        '  File "/home/alice/app/engine/services/worker.py", line 7, in run',
        f"    raise ValueError({SECRET!r})",
        f"ValueError: {SECRET}",
        SECRET,
    ]
    assert log_tail(lines).splitlines() == [
        "2026-01-02 03:04:05,678 INFO slipstream.worker slipstream-files: ImportConversations",
        "2026-01-02 03:04:06,000 WARNING slipstream.learning slipstream-chat: The file ",
        "2026-01-02 03:04:06,000 WARNING slipstream.llama_cpp slipstream-chat: load: file ~/x.gguf: odd",
        "2026-01-02 03:04:07,000 ERROR slipstream.worker slipstream-chat: Send failed",
        '  File "~/app/engine/services/worker.py", line 7, in run',
    ]


def test_settings_are_told_without_texts() -> None:
    settings = AppSettings(
        theme="dark", top_k=7, system_prompt=SECRET, draft=SECRET, target=f"/models/{SECRET}.gguf", window=b"eHl6"
    )
    assert settings_text(settings).splitlines() == ["theme = dark", "top_k = 7"]


def test_the_machine_is_told() -> None:
    text = machine_text()
    assert "slipstream 0." in text
    assert "llama-cpp-python" in text
    assert f"{os.cpu_count()} cores" in text
    assert "libllama" in text


def test_few_reports_are_kept(tmp_path: Path) -> None:
    folder = CrashFolder(tmp_path)
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    for day in range(14):
        report = folder.write("What.", "Where.", when=begin + timedelta(days=day))
        assert report is not None
        if day % 2:
            folder.mark_told(report)
    kept = sorted(file.stem for file in folder.path.iterdir())
    assert len(kept) == 10
    assert kept[0].startswith("slipstream-crash-20260105")
    assert len(folder.take_up()) == 5, "those nobody was told of"


def test_a_folder_that_cannot_be_written_raises_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = CrashFolder(tmp_path / "file")
    assert folder.write("What.", "Where.") is None
    assert folder.open_native() is None
    assert folder.take_up() == ()


def test_errors_of_all_threads_are_reported_once_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[Path] = []
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
    log_file(tmp_path).parent.mkdir()
    log_file(tmp_path).write_text("2026-01-02 03:04:05,678 INFO slipstream.worker main: Send: words\n")
    with watching(CrashFolder(tmp_path)) as watch:
        watch.on_report = told.append
        watch.settings_text = lambda: "theme = dark"
        for _ in range(3):
            error = caught(ValueError(SECRET))
            sys.excepthook(type(error), error, error.__traceback__)

        def fail() -> None:
            raise RuntimeError("on a thread")

        thread = threading.Thread(target=fail, name="busy")
        thread.start()
        thread.join()
        logging.getLogger("slipstream.worker").error("Send failed", exc_info=caught(IndexError("list index")))
    assert (sys.excepthook, threading.excepthook, sys.unraisablehook) == hooks
    texts = [report.read_text() for report in told]
    assert len(texts) == 3, "what happens again and again is told once"
    assert "on the thread MainThread" in texts[0]
    assert "on the thread busy" in texts[1]
    assert "IndexError: list index" in texts[2]
    assert all("theme = dark" in text and SECRET not in text for text in texts)
    assert "slipstream.worker main: Send\n" in texts[0]
    assert "ValueError" in capsys.readouterr().err, "the terminal is told as before"


def test_an_error_at_every_repaint_does_not_fill_the_disk(tmp_path: Path) -> None:
    told: list[Path] = []
    watch = CrashWatch(CrashFolder(tmp_path))
    watch.on_report = told.append
    for number in range(MOST_REPORTS + 3):
        code = compile("\n" * number + "raise IndexError", "made.py", "exec")
        try:
            exec(code)  # noqa: S102
        except IndexError as error:
            watch.handle(logging.LogRecord("slipstream", logging.ERROR, "", 0, "", (), (type(error), error, None)))
    assert len(told) <= MOST_REPORTS


def test_what_ends_the_app_is_reported(tmp_path: Path) -> None:
    folder = CrashFolder(tmp_path)
    with pytest.raises(IndexError), watching(folder):
        raise IndexError("at the start")
    (report,) = folder.take_up()
    assert "IndexError: at the start" in report.read_text()


_RUN = """
import os, signal, sys
from pathlib import Path
from app.crash.folder import CrashFolder
from app.crash.watch import watching
from PySide6.QtGui import QGuiApplication
with watching(CrashFolder(Path(sys.argv[1]))):
    exec(sys.argv[2])
"""


def run(folder: Path, code: str) -> int:
    command = [sys.executable, "-c", _RUN, str(folder), code]
    return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "Fatal Python error: Segmentation fault"),
        (
            "os.environ['QT_QPA_PLATFORM'] = 'nowhere'; QGuiApplication([])",
            "no Qt platform plugin could be initialized",
        ),
    ],
)
def test_a_crash_of_a_library_is_a_report_at_the_next_start(tmp_path: Path, code: str, sentence: str) -> None:
    assert run(tmp_path, code) < 0
    folder = CrashFolder(tmp_path)
    (report,) = folder.take_up("theme = dark")
    text = report.read_text()
    assert sentence in text
    assert 'File "<string>", line' in text, "where it was"
    assert "theme = dark" in text
    folder.mark_told(report)
    assert folder.take_up() == (), "told once"
    assert [file.suffix for file in folder.path.iterdir()] == [".txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("code", ["sys.exit(3)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_an_end_in_good_order_and_a_kill_are_no_crash(tmp_path: Path, code: str) -> None:
    run(tmp_path, code)
    folder = CrashFolder(tmp_path)
    assert folder.take_up() == ()
    assert list(folder.path.iterdir()) == []
