"""How long the interface thread is held up by 5,000 chats in 200 folders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from time import perf_counter, thread_time

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication

from app.main_window import MainWindow
from app.models.conversation_rows import ChatFilter
from engine.values.conversations import ConversationSummary
from engine.values.order import Folder

NUM_CHATS = 5_000
NUM_FOLDERS = 200
NUM_MOVED = 500
ORDER_BAR_MS = 150.0
_LOOSE = 10  # one in so many chats is in no folder
_PINNED = 250
_TARGETS = ("SmolLM2-135M-Instruct", "Qwen3-4B-Instruct-Q4_K_M", "gemma-3-12b-it-Q4_K_M")


def many_folders() -> tuple[Folder, ...]:
    return tuple(Folder(number, f"Folder {number:03}") for number in range(1, NUM_FOLDERS + 1))


def many_chats() -> tuple[ConversationSummary, ...]:
    """Of the last three years."""
    now = datetime.now(UTC)
    return tuple(
        ConversationSummary(
            number,
            f"Chat {number}: what about this and that?",
            now - timedelta(hours=5 * number),
            folder_id=None if number % _LOOSE == 0 else number % NUM_FOLDERS + 1,
            is_pinned=number % _PINNED == 0,
            target_name=_TARGETS[number % len(_TARGETS)],
        )
        for number in range(1, NUM_CHATS + 1)
    )


def order_ms(window: MainWindow) -> dict[str, tuple[float, float]]:
    """Times from what was done to pixels: by the clock, and of the thread's own work."""
    sidebar, chats = window.conversations, many_chats()
    moved = tuple(replace(each, folder_id=1) for each in chats[:NUM_MOVED])
    ids = tuple(each.id for each in moved)
    every = ChatFilter(num_days=100_000)  # which all chats pass: the longest list that a filter shows
    steps: dict[str, Callable[[], object]] = {
        "the folders listed": lambda: sidebar.set_folders(many_folders()),
        "the list opened": lambda: sidebar.set_conversations(chats),
        "one chat used": lambda: sidebar.upsert(replace(chats[-1], updated_at=datetime.now(UTC))),
        "one folder opened": lambda: sidebar.view.set_open(7, True),
        "filtered by model": lambda: sidebar.set_filter(ChatFilter(target_name=_TARGETS[1])),
        "filtered by days": lambda: sidebar.set_filter(ChatFilter(num_days=30)),
        "a filter that all pass": lambda: sidebar.set_filter(every),
        f"{NUM_MOVED} selected": lambda: sidebar.view.select(ids),
        f"{NUM_MOVED} moved, all shown": lambda: sidebar.upsert(*moved),
        "the filter cleared": sidebar.clear_filter,
        f"{NUM_MOVED} moved back": lambda: sidebar.upsert(*chats[:NUM_MOVED]),
        f"{NUM_MOVED} archived": lambda: sidebar.upsert(*(replace(each, is_archived=True) for each in moved)),
        f"{NUM_MOVED} deleted": lambda: sidebar.remove(*ids),
    }
    return {name: _held_ms(window, step) for name, step in steps.items()}


def _held_ms(window: MainWindow, step: Callable[[], object]) -> tuple[float, float]:
    began, own = perf_counter(), thread_time()
    step()
    window.conversations.view.doItemsLayout()
    window.repaint()
    QApplication.processEvents()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    return (perf_counter() - began) * 1000, (thread_time() - own) * 1000
