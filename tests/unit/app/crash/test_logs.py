from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

from app.crash.logs import SharedLog, log_file, log_to_file

_WRITE = """
import logging, sys
from app.crash.logs import SharedLog
handler = SharedLog(sys.argv[1], maxBytes=20_000, backupCount=40, encoding="utf-8")
for number in range(2000):
    handler.emit(logging.LogRecord("x", logging.INFO, "", 0, f"{sys.argv[2]} {number} " + "." * 80, (), None))
"""


def test_it_rotates_and_stays_small(tmp_path: Path) -> None:
    log = SharedLog(tmp_path / "x.log", maxBytes=1000, backupCount=2, encoding="utf-8")
    for number in range(100):
        log.emit(logging.LogRecord("x", logging.INFO, "", 0, f"{number} " + "." * 90, (), None))
    log.close()
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["x.log", "x.log.1", "x.log.2"]
    assert all(file.stat().st_size <= 1000 for file in files)
    assert "99 " in files[0].read_text()


def test_two_processes_write_whole_lines_into_the_same_log(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    writers = [subprocess.Popen([sys.executable, "-c", _WRITE, str(log), name]) for name in ("first", "second")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    lines = [line for file in tmp_path.iterdir() for line in file.read_text().splitlines()]
    assert all(line.startswith(("first ", "second ")) and line.endswith("." * 80) for line in lines)
    last = {name: [line for line in lines if line.startswith(f"{name} 1999 ")] for name in ("first", "second")}
    assert all(len(found) == 1 for found in last.values()), "neither went on in a file that was put aside"
    assert all(file.stat().st_size <= 25_000 for file in tmp_path.iterdir())


def test_a_log_that_was_taken_away_begins_anew(tmp_path: Path) -> None:
    log = SharedLog(tmp_path / "x.log", maxBytes=1000, backupCount=2, encoding="utf-8")
    log.emit(logging.LogRecord("x", logging.INFO, "", 0, "before", (), None))
    (tmp_path / "x.log").unlink()
    log.emit(logging.LogRecord("x", logging.INFO, "", 0, "after", (), None))
    log.close()
    assert (tmp_path / "x.log").read_text() == "after\n"


def test_a_folder_that_cannot_be_written_is_no_reason_not_to_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    before = list(logging.getLogger("slipstream").handlers)
    log_to_file(tmp_path / "file")
    assert logging.getLogger("slipstream").handlers == before
    assert not log_file(tmp_path / "file").exists()
