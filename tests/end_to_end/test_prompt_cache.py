"""What one start of the engine has read, the next one does not read again, and writes what it would have written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine import (
    Engine,
    EngineConfig,
    LearningSettings,
    PromptCacheSettings,
    ReplySettings,
    SamplingSettings,
    SpeculationSettings,
    TargetSettings,
)
from engine.speculation.model.files import prompt_cache
from engine.speculation.replies import reopening
from engine.values.conversations import Message
from engine.values.events import ReplyFinished, TargetReady
from engine.values.orders import Send
from engine.values.replies import ReplyStatistics
from engine.values.targets import LoadOrder
from tests.end_to_end.test_everyday import Desk, sit_down  # noqa: F401
from tests.fakes.listener import EventQueue

pytestmark = pytest.mark.starter

BOOK = " ".join(f"Chapter {number} tells of {number} ships that sailed to the island." for number in range(1, 9))
FIRST, SECOND, OTHER = f"{BOOK} Which is the last chapter?", "And which is the first?", f"{BOOK} Name an island."
SETTINGS = ReplySettings(SamplingSettings(temperature=0), max_tokens=12)
FEW = 40  # tokens of a short question with the marks around it
MANY = 120  # of the book


class Start:
    """One start of the engine on a folder."""

    def __init__(self, folder: Path, gigabytes: float) -> None:
        self.events = EventQueue()
        speculation = SpeculationSettings(drafter=str(folder / "no drafter"))
        config = EngineConfig(folder, speculation, LearningSettings(enabled=False), PromptCacheSettings(gigabytes))
        self.engine = Engine(config, self.events)
        self.engine.ask(self.engine.target.load, LoadOrder("starter", TargetSettings(context_size=1024)))
        self.events.wait_for(TargetReady)

    def ask(self, prompt: str, chat: int | None = None, incognito: bool = False) -> tuple[Message, ReplyStatistics]:
        self.engine.ask(self.engine.chat.answer, Send(prompt, chat, SETTINGS, incognito=incognito))
        message = self.events.wait_for(ReplyFinished).message
        assert message.statistics is not None
        return message, message.statistics

    def fill_cache(self) -> None:
        """Asks again if the engine's own request, which follows the reply, takes the place of this one."""
        while (
            writing := self.engine.ask(self.engine.prompt_cache_keeper.write_all)
        ).failure or writing.signal.is_set():
            pass


@contextmanager
def started(folder: Path, gigabytes: float = 1.0) -> Iterator[Start]:
    start = Start(folder, gigabytes)
    try:
        yield start
    finally:
        assert start.engine.close()


def kept(folder: Path) -> set[str]:
    """The chats of which something is."""
    return {path.parent.name for path in (folder / "readings").glob("*/*")}


@pytest.fixture(autouse=True)
def _short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading long prompts takes long."""
    monkeypatch.setattr(prompt_cache, "PART_TOKENS", 64)
    monkeypatch.setattr(reopening, "PART_TOKENS", 64)


def test_a_chat_goes_on_after_a_restart_from_what_was_read(tmp_path: Path) -> None:
    folder, plain = tmp_path / "kept", tmp_path / "plain"
    with started(folder) as start:
        message, statistics = start.ask(FIRST)
        chat = message.conversation_id
        assert statistics.evaluated_tokens == statistics.prompt_tokens > MANY
        start.fill_cache()
        assert kept(folder) == {str(chat)}
        assert (folder / "readings").stat().st_mode & 0o077 == 0
    with started(folder) as start:
        again, statistics = start.ask(SECOND, chat)
        assert statistics.prompt_tokens > MANY
        assert statistics.evaluated_tokens < FEW
        start.fill_cache()
        beginning_alike, statistics = start.ask(OTHER)
        assert statistics.prompt_tokens > MANY
        assert statistics.evaluated_tokens < FEW
        start.fill_cache()
        start.ask(f"Secret. {BOOK}", incognito=True)
        _, statistics = start.ask("Thank you.", chat)
        assert statistics.evaluated_tokens < FEW
        start.fill_cache()
        assert kept(folder) == {str(chat), str(beginning_alike.conversation_id)}
        start.engine.ask(start.engine.editor.delete, (chat,)).result()
        assert start.engine.ask(start.engine.prompt_cache.measure).result() > 0
        assert kept(folder) == {str(beginning_alike.conversation_id)}
    with started(plain, gigabytes=0) as start:
        first, _ = start.ask(FIRST)
    with started(plain, gigabytes=0) as start:
        second, statistics = start.ask(SECOND, first.conversation_id)
        assert statistics.evaluated_tokens == statistics.prompt_tokens
        other, _ = start.ask(OTHER)
        assert kept(plain) == set()
    texts = [(message, first), (again, second), (beginning_alike, other)]
    assert [one.text for one, _ in texts] == [another.text for _, another in texts]


@pytest.mark.qt_log_ignore(r"This plugin does not support ((propagateSizeHints|raise)\(\)|grabbing the keyboard)")
def test_in_the_window_a_chat_of_yesterday_is_not_read_again(
    sit_down: Callable[[], Desk],  # noqa: F811
    tmp_path: Path,
) -> None:
    desk = sit_down()
    desk.app.keeper.change("reply_length", 8)
    statistics = desk.ask(FIRST).statistics
    assert statistics is not None
    num_parts = math.ceil(statistics.context_used / prompt_cache.PART_TOKENS)
    desk.until(lambda: len([*(tmp_path / "store" / "readings").rglob("*.read")]) == num_parts)
    desk.close()
    again = sit_down()
    again.open_first()
    statistics = again.ask(SECOND).statistics
    assert statistics is not None
    assert statistics.prompt_tokens > MANY
    assert statistics.evaluated_tokens < FEW
