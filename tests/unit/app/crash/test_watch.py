"""Which errors leave a report, and how large the log may grow."""

from __future__ import annotations

import ast
import logging
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import app
from app.crash import watch as watch_module
from app.crash.discretion import Discreet
from app.crash.reports import CrashFolder, error_line
from app.crash.watch import MOST_REPORTS, CrashWatch, log_file, log_to_file, watching
from engine.values.errors import FetchFailed
from engine.values.logged import Loggable
from engine.values.orders import Send
from engine.values.sentences import say
from engine.values.tools import Tool

SECRET = "mine dear diary"


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


def logged(folder: Path, write: Callable[[logging.Logger], None], name: str = "slipstream.worker") -> str:
    logger = logging.getLogger("slipstream")
    before, level = list(logger.handlers), logger.level
    try:
        log_to_file(folder)
        write(logging.getLogger(name))
    finally:
        for handler in set(logger.handlers) - set(before):
            logger.removeHandler(handler)
            handler.close()
        logger.setLevel(level)
    return log_file(folder).read_text()


def test_words_of_errors_are_not_logged(tmp_path: Path) -> None:
    def write(logger: logging.Logger) -> None:
        logger.info("%s: %s", Send, caught(FetchFailed("{host} cannot be reached", host=SECRET)))
        logger.info("%s: %s", Send, caught(FetchFailed(SECRET)))
        logger.error("%s failed", "Send", exc_info=caught(RuntimeError(SECRET)))
        logger.warning("no room: %s", caught(OSError(28, SECRET, f"/{SECRET}")))
        try:
            raise KeyError(SECRET) from caught(ValueError(SECRET))
        except KeyError:
            logger.exception("learning failed")

    text = logged(tmp_path, write)
    assert SECRET not in text
    assert "Send: FetchFailed at test_watch.py:" in text
    assert f"[Errno 28] {os.strerror(28)}" in text
    assert text.count("Traceback") == 3, "where it was"


def test_a_mendable_error_logs_its_template_and_those_within_it(tmp_path: Path) -> None:
    why = say("{host} cannot be reached; check that this computer is online and try again.", host=SECRET)
    both = FetchFailed("{sentence} It reported: {detail}", sentence=why, detail=SECRET)
    text = logged(tmp_path, lambda logger: logger.info("%s: %s", Send, caught(both)))
    assert "{host} cannot be reached; check that this computer is online and try again. It reported: {detail}" in text
    assert SECRET not in text


@pytest.mark.parametrize(
    "value", [SECRET, Path(SECRET), (SECRET,), {"a": SECRET}, SECRET.encode(), Tool(SECRET, SECRET)]
)
def test_nothing_is_filled_in_that_somebody_may_have_written(value: object) -> None:
    def told(message: str, *filled_in: object) -> str:
        record = logging.LogRecord("slipstream.worker", logging.WARNING, "", 0, message, filled_in, None)
        return Discreet("%(message)s").format(record)

    assert told("%s is gone, of %d %s", value, 3, Loggable("parts")) == "… is gone, of 3 parts"
    assert told("%d is no number", value) == "%d is no number"


@pytest.mark.parametrize("name", ["slipstream.llama_cpp", "slipstream.qt", "another.package"])
def test_of_what_libraries_say_only_words_are_logged_that_are_no_names(name: str) -> None:
    quoted = (
        f"'{SECRET}'",
        f"/home/{SECRET}.gguf",
        f"= {SECRET}",
        f"“{SECRET}”",
        f"C:\\{SECRET}",
        SECRET,
        f"\n{SECRET}",
    )
    for each in quoted:
        record = logging.LogRecord(
            name, logging.WARNING, "", 0, "%s", (f"llama_model_load: error loading: {each}",), None
        )
        text = Discreet("%(message)s").format(record)
        assert text.startswith("llama_model_load: error loading:")
        assert not any(word in text for word in SECRET.split())


def test_python_says_what_is_wrong_but_for_names_that_are_data() -> None:
    def words_of(fail: Callable[[], object]) -> str:
        try:
            fail()
        except Exception as error:
            return error_line(error)
        raise AssertionError

    diary = {SECRET: 1}
    assert words_of(lambda: diary.read).endswith("'dict' object has no attribute 'read'")  # type: ignore[attr-defined]
    assert words_of(lambda: caught(**diary)).endswith("got an unexpected keyword argument …")  # type: ignore[arg-type]
    assert words_of(lambda: getattr("", SECRET)).endswith("'str' object has no attribute …")


def test_a_warning_and_what_other_packages_log_say_where_and_not_what(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def write(_logger: logging.Logger) -> None:
        with watching(CrashFolder(tmp_path)), warnings.catch_warnings():
            warnings.simplefilter("always")
            show = warnings.showwarning
            show(UserWarning(SECRET), UserWarning, f"/{SECRET}/module.py", 7)
            assert logging.lastResort is not None
            logging.lastResort.handle(logging.LogRecord("pool", logging.ERROR, "", 0, SECRET, (), None))

    text = logged(tmp_path, write)
    err = capsys.readouterr().err
    assert "UserWarning at module.py:7" in text
    assert "pool: " in err
    assert not any(word in text + err for word in SECRET.split())


def test_every_message_of_our_own_code_is_a_literal_of_a_logger_of_ours() -> None:
    """What is filled in, `Discreet` looks at."""
    root = Path(app.__file__).parent.parent
    files = [file for part in ("app", "engine") for file in (root / part).rglob("*.py") if "logg" in file.read_text()]
    calls = [
        (node, f"{file.name}:{node.lineno}")
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    num_seen = 0
    for call, place in calls:
        assert isinstance(call.func, ast.Attribute)
        owner, verb = ast.unparse(call.func.value), call.func.attr
        if verb not in ("debug", "info", "warning", "error", "exception", "critical", "log") or not call.args:
            continue
        if owner in ("logging", "warnings") or owner.endswith("logger"):
            assert owner in ("_logger", "_own_logger"), f"{place}: another logger"
            assert isinstance(call.args[verb == "log"], ast.Constant), f"{place}: no literal"
            num_seen += 1
    assert num_seen > 50


def test_the_log_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "letter.txt").write_text("Dear Ada")
    log_file(tmp_path).symlink_to(tmp_path / "letter.txt")
    logged(tmp_path, lambda logger: logger.warning("here"))
    assert (tmp_path / "letter.txt").read_text() == "Dear Ada"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows writes no such images")
def test_a_crash_leaves_no_image_of_memory_behind() -> None:
    look = (
        "import resource, sys; from pathlib import Path; from app.commands import cli; sys.argv = ['slipstream', "
        "'--version']\ntry: cli.main()\nexcept SystemExit: pass\nprint(resource.getrlimit(resource.RLIMIT_CORE))\n"
        "print(Path('/proc/self/coredump_filter').read_text() if sys.platform == 'linux' else 0)"
    )
    told = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True, timeout=60).stdout
    _, limits, mappings = told.split("\n")[:3]
    assert limits == "(0, 0)"
    assert int(mappings, 16) == 0


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
        try:
            [].pop()
        except IndexError:
            logging.getLogger("slipstream.worker").exception("Send failed")
    assert (sys.excepthook, threading.excepthook, sys.unraisablehook) == hooks
    texts = [report.read_text() for report in told]
    assert len(texts) == 3, "what happens again and again is told once"
    assert "on the thread MainThread" in texts[0]
    assert "on the thread busy" in texts[1]
    assert "IndexError: pop from empty list" in texts[2]
    assert all("theme = dark" in text and SECRET not in text for text in texts)
    err = capsys.readouterr().err
    assert "ValueError" in err, "the terminal is told"
    assert SECRET not in err, "it may be the system's log"


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
    assert 'raise IndexError("at the start")' in report.read_text()


_RUN = """
import os, signal, sys
from pathlib import Path
import app
from app.crash.discretion import Discreet
from app.crash.reports import CrashFolder, error_line
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
