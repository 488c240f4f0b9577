"""Fills the prompt cache while no one waits."""

from __future__ import annotations

import time
from collections.abc import Callable

from engine.speculation.model.files.prompt_cache import Chat, PromptCache
from engine.speculation.replies.reopening import UnkeptPart
from engine.speculation.replies.reply import ReplyWriter
from engine.values.conversations import ConversationSummary
from engine.values.errors import Cancelled
from engine.values.requests import NEVER, Request
from engine.values.stop_signal import StopSignal

_LULL_S = 1.0  # after a reply, in which the next prompt may come
_GLANCE_S = 0.05


class PromptCacheKeeper:
    """Only the chat thread may copy what its target holds. It copies one part at a time, which takes some hundredths of
    a second; `write_all` runs on a thread of its own, waits for a lull, asks for the parts and writes them. The chat
    thread calls all other methods."""

    def __init__(
        self, cache: PromptCache, write_all: Callable[[], object], next_part: Callable[[], Request[UnkeptPart | None]]
    ) -> None:
        """`write_all` and `next_part` call these methods on their threads."""
        self._cache = cache
        self._write_all = write_all
        self._next_part = next_part
        self._held: Chat | None = None  # by the target; None: nothing that may be kept

    def begin(self) -> None:
        """The target reads another text of the user from now on, which is kept only if `keep` says whose it is."""
        self._held = None

    def chat_of(self, conversation: ConversationSummary) -> Chat | None:
        """The argument of `keep`, made before the target reads the chat. None: nothing of it is to be kept."""
        is_kept = self._cache.budget_bytes and not conversation.incognito
        return self._cache.chat(conversation.id) if is_kept else None

    def keep(self, chat: Chat | None) -> None:
        """What the target holds is of this chat."""
        if chat is not None and not chat.is_forgotten:
            self._held = chat
            self._write_all()

    def next_part(self, writer: ReplyWriter) -> UnkeptPart | None:
        """A copy of what the cache lacks of the last chat; None: it lacks nothing, or may not have it."""
        return None if self._held is None or self._held.is_forgotten else writer.copy_unkept(self._held)

    def write_all(self, stop: StopSignal = NEVER) -> None:
        """Returns when all is written, there is no room, or it is stopped."""
        end = time.monotonic() + _LULL_S
        while time.monotonic() < end and not stop.is_set():
            time.sleep(_GLANCE_S)
        while not stop.is_set() and (part := self._wait_for(self._next_part(), stop)) is not None:
            if not self._cache.write(part.key, part.chat, part.lacking, part.tokens, part.saved):
                return

    def _wait_for(self, part: Request[UnkeptPart | None], stop: StopSignal) -> UnkeptPart | None:
        while not stop.is_set():
            try:
                return part.result(_GLANCE_S)
            except TimeoutError:
                continue
            except Cancelled:  # the app closes
                return None
        part.stop()
        return None
