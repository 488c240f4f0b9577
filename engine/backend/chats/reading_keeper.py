"""Keeps what the target has read of a chat while nobody waits, and erases it with the chat."""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable
from pathlib import Path

from engine.speculation.model.files.readings import Chat, Readings
from engine.speculation.replies.reopening import UnkeptPart
from engine.speculation.replies.reply import ReplyWriter
from engine.values.commands import Command, CopyReading, KeepReading
from engine.values.config import ReadingSettings
from engine.values.conversations import ConversationSummary
from engine.values.stop_signal import StopSignal

_LULL_S = 1.0  # after a reply, in which the next prompt may come
_GLANCE_S = 0.05
_BYTES_PER_GB = 1_000_000_000

_logger = logging.getLogger("slipstream.readings")
_Answer = queue.SimpleQueue[UnkeptPart | None]


class ReadingKeeper:
    """Only the chat thread may copy what its target holds, so it copies one part at a time, which takes some hundredths
    of a second; a thread of its own waits for a lull, asks for the parts and writes them."""

    def __init__(self, data_dir: Path, settings: ReadingSettings, post: Callable[[Command], object]) -> None:
        self.readings = Readings(data_dir)
        self._post = post
        self._held: Chat | None = None  # by the target; None: nothing that may be kept
        self._asked: _Answer | None = None
        self._limit(settings)

    def use(self, settings: ReadingSettings) -> int:
        """Limits how many bytes are kept, and returns how many are."""
        self._limit(settings)
        self.readings.fit()
        return self.readings.num_bytes

    def measure(self) -> int:
        """Returns how many bytes are kept."""
        return self.readings.num_bytes

    def forget_all(self) -> int:
        self.readings.forget_all()
        return self.readings.num_bytes

    def begin(self) -> None:
        """The target reads another text of the user from now on, which is kept only if `keep` says whose it is."""
        self._held = None

    def chat_of(self, conversation: ConversationSummary) -> Chat | None:
        """For `keep`, before the target reads it. None where nothing is to be kept of it."""
        is_kept = self.readings.budget_bytes and not conversation.incognito
        return self.readings.chat(conversation.id) if is_kept else None

    def keep(self, chat: Chat | None) -> None:
        """What the target holds is of this chat."""
        if chat is not None and not chat.is_forgotten:
            self._held = chat
            self._post(KeepReading())

    def copy(self, writer: ReplyWriter | None) -> None:
        """Answers `CopyReading`, on the chat thread."""
        asked, self._asked = self._asked, None
        if asked is None:
            return
        held = self._held
        if writer is None or held is None or held.is_forgotten:
            asked.put(None)
        else:
            asked.put(writer.copy_unkept(held))

    def write_all(self, _command: KeepReading, stop: StopSignal) -> None:
        """Until all is kept, it is stopped, or there is no room."""
        end = time.monotonic() + _LULL_S
        while time.monotonic() < end and not stop.is_set():
            time.sleep(_GLANCE_S)
        while (part := self._ask(stop)) is not None:
            if not self.readings.write(part.key, part.chat, part.lacking, part.tokens, part.saved):
                return

    def _ask(self, stop: StopSignal) -> UnkeptPart | None:
        answer: _Answer = queue.SimpleQueue()
        if stop.is_set():
            return None
        self._asked = answer
        self._post(CopyReading())
        while not stop.is_set():
            try:
                return answer.get(timeout=_GLANCE_S)
            except queue.Empty:
                continue
        return None

    def _limit(self, settings: ReadingSettings) -> None:
        self.readings.budget_bytes = round(settings.gigabytes * _BYTES_PER_GB)
