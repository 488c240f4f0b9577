"""Which errors leave a report, and how large the log may grow."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from app.crash import watch as watch_module
from app.crash.reports import CrashFolder
from app.crash.watch import MOST_REPORTS, CrashWatch, log_file, log_to_file, watching

SECRET = "my dear diary"


def caught(error: Exception) -> Exception:
    try:
        raise error
    except Exception as raised:
        return raised


def test_the_log_rotates_and_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_module, "_LOG_BYTES", 1000)
    logger = logging.getLogger("slipstream")
    before, level = list(logger.handlers), logger.level
    try:
        log_to_file(tmp_path)
        for number in range(100):
            logger.info("%d %s", number, "." * 90)
    finally:
        for handler in set(logger.handlers) - set(before):
            logger.removeHandler(handler)
            handler.close()
        logger.setLevel(level)
    files = sorted((tmp_path / "logs").iterdir())
    assert [file.name for file in files] == ["slipstream.log", "slipstream.log.1", "slipstream.log.2"]
    assert all(file.stat().st_size <= 1000 for file in files)
    assert "99 " in files[0].read_text()


def test_a_log_that_cannot_be_written_is_no_reason_not_to_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    before = list(logging.getLogger("slipstream").handlers)
    log_to_file(tmp_path / "file")
    assert logging.getLogger("slipstream").handlers == before
    assert not log_file(tmp_path / "file").exists()


def test_errors_of_all_threads_are_reported_once_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[Path] = []
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
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
    (report,) = folder.take_new()
    assert "IndexError: at the start" in report.read_text()


_RUN = """
import os, signal, sys
from pathlib import Path
from app.crash.reports import CrashFolder
from app.crash.watch import watching
with watching(CrashFolder(Path(sys.argv[1]))):
    exec(sys.argv[2])
"""


def run(folder: Path, code: str) -> int:
    command = [sys.executable, "-c", _RUN, str(folder), code]
    return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_crash_of_a_library_is_a_report_at_the_next_start(tmp_path: Path) -> None:
    assert run(tmp_path, "os.kill(os.getpid(), signal.SIGSEGV)") < 0
    folder = CrashFolder(tmp_path)
    (report,) = folder.take_new(lambda: "theme = dark")
    text = report.read_text()
    assert "Fatal Python error: Segmentation fault" in text
    assert 'File "<string>", line' in text, "where it was"
    assert "theme = dark" in text
    folder.mark_shown(report)
    assert folder.take_new() == (), "shown once"
    assert [file.suffix for file in folder.path.iterdir()] == [".txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("code", ["sys.exit(3)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_an_end_in_good_order_and_a_kill_are_no_crash(tmp_path: Path, code: str) -> None:
    run(tmp_path, code)
    folder = CrashFolder(tmp_path)
    assert folder.take_new() == ()
    assert list(folder.path.iterdir()) == []
