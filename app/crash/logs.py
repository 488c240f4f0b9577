"""Where the log goes: a file in the data folder that never grows large. Nothing a user wrote is ever logged."""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
from pathlib import Path

_MAX_BYTES = 1_000_000
_NUM_OLD = 2


class SharedLog(logging.handlers.RotatingFileHandler):
    """A file that another process may write into as well: each goes on in the new one when either puts the old aside.
    Where that cannot be put aside (on Windows, while another has it open) it grows on."""

    def shouldRollover(self, record: logging.LogRecord) -> bool:
        self._follow()
        return bool(super().shouldRollover(record))

    def doRollover(self) -> None:
        with contextlib.suppress(OSError):
            super().doRollover()
        if self.stream is None:
            self.stream = self._open()

    def _follow(self) -> None:
        if self.stream is None:
            return
        try:
            is_same = os.path.samestat(Path(self.baseFilename).stat(), os.fstat(self.stream.fileno()))
        except OSError:
            is_same = False
        if not is_same:
            self.stream.close()
            self.stream = self._open()


def log_file(data_dir: Path) -> Path:
    return data_dir / "logs" / "slipstream.log"


def log_to_file(data_dir: Path) -> None:
    """Begins logging. A folder that cannot be written is no reason not to start: then there is no log."""
    file = log_file(data_dir)
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(file, os.O_CREAT | os.O_APPEND, 0o600))
        handler = SharedLog(file, maxBytes=_MAX_BYTES, backupCount=_NUM_OLD, encoding="utf-8")
    except OSError:
        return
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(threadName)s: %(message)s"))
    logger = logging.getLogger("slipstream")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
