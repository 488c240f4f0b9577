"""Models whose loading or first reply this program did not survive: a mark is left before, and taken away after."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.values.whole_file import private_folder

_logger = logging.getLogger("slipstream.target")

_FOLDER = "suspects"


class Suspects:
    """A file for each model that is being tried, by its identity, in a separate folder: empty, so that it says nothing
    about any chats. Any thread may use it."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / _FOLDER
        self._lock = threading.Lock()
        self._num_trying = Counter[str]()  # by identity
        self._ends = False

    def holds(self, identity: str) -> bool:
        """True if an earlier process left a mark."""
        with self._lock:
            return bool(identity) and not self._num_trying[identity] and self._mark(identity).exists()

    @contextmanager
    def watched(self, identity: str) -> Iterator[None]:
        """Leaves a mark while the model is tried, by several threads at once if need be. If no mark can be left, as on
        a full disk, it is tried all the same."""
        if not identity:  # its file cannot be read
            yield
            return
        with self._lock:
            self._num_trying[identity] += 1
            if self._num_trying[identity] == 1 and not self._ends:
                self._leave(identity)
        try:
            yield
        finally:
            with self._lock:
                self._num_trying[identity] -= 1
                if not self._num_trying[identity]:
                    self._take_away(identity)

    def acquit(self) -> None:
        """Clears what is still being tried when this program ends in good order."""
        with self._lock:
            self._ends = True
            for identity in +self._num_trying:
                self._take_away(identity)

    def _leave(self, identity: str) -> None:
        try:
            private_folder(self._folder)
            self._mark(identity).touch(0o600)
        except OSError as error:
            _logger.warning("no mark of a model can be left: %s", error)

    def _take_away(self, identity: str) -> None:
        try:
            self._mark(identity).unlink(missing_ok=True)
        except OSError as error:
            _logger.warning("the mark of a model cannot be taken away: %s", error)

    def _mark(self, identity: str) -> Path:
        return self._folder / identity.rpartition(":")[2]
