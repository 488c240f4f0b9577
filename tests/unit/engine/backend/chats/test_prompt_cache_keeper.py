"""The prompt cache is filled while no one waits, never from incognito chats, and its parts leave with their chats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.backend.chats import prompt_cache_keeper
from engine.backend.chats.chat_editor import ChatEditor
from engine.backend.chats.erasing import ErasingService
from engine.backend.storage import Repository
from engine.speculation.replies import reopening
from engine.values.config import OwnSampling, PromptCacheSettings, ReplySettings, SamplingSettings
from engine.values.conversations import Message
from engine.values.events import ReplyFinished
from engine.values.orders import Send
from engine.values.stop_signal import StopSignal
from engine.values.targets import LoadOrder
from tests.fakes.target import FakeTarget, says
from tests.unit.engine.backend.chats.test_chat_service import Desk

BOOK = "".join(f"{number} ships sailed. " for number in range(30))  # some 450 tokens


@pytest.fixture
def target() -> FakeTarget:
    return FakeTarget(says("Hello."), context_size=4096)


@pytest.fixture
def talking(desk: Desk, target: FakeTarget, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr(prompt_cache_keeper, "_LULL_S", 0.0)
    desk.load(LoadOrder(desk.add("fake", target)))
    return desk


def ask(desk: Desk, prompt: str, chat: int | None = None, incognito: bool = False) -> Message:
    settings = ReplySettings(SamplingSettings(temperature=0))
    desk.do(Send(prompt, chat, settings, incognito=incognito, system_prompt="Be kind."))
    (finished,) = desk.told(ReplyFinished)
    assert isinstance(finished, ReplyFinished)
    return finished.message


def keep(desk: Desk) -> None:
    """What the thread that writes the cache does after a reply."""
    desk.cache_keeper.write_all()


def kept(desk: Desk) -> set[int]:
    """The chats of which something is."""
    return {int(path.parent.name) for path in (desk.repository.data_dir / "readings").glob("*/*")}


def test_a_chat_that_is_left_and_opened_again_is_not_read_again(talking: Desk, target: FakeTarget) -> None:
    talking.wanted.clear()
    chat = ask(talking, BOOK).conversation_id
    assert talking.wanted.count("write_all") == 1
    keep(talking)
    ask(talking, f"Other. {BOOK}")
    before = target.num_evaluated
    reply = ask(talking, "Again.", chat)
    assert reply.text == "Hello."
    assert reply.statistics is not None
    assert reply.statistics.prompt_tokens > 450
    assert reply.statistics.evaluated_tokens < 60
    assert target.num_evaluated - before < 80


def test_of_an_incognito_chat_nothing_is_kept(talking: Desk) -> None:
    ask(talking, "Short.")
    ask(talking, BOOK, incognito=True)
    keep(talking)
    assert kept(talking) == set()
    chat = ask(talking, BOOK).conversation_id
    ask(talking, f"Secret. {BOOK}", incognito=True)  # before anything was kept of the other
    keep(talking)
    assert kept(talking) == set()
    ask(talking, "Again.", chat)
    keep(talking)
    assert kept(talking) == {chat}


@pytest.mark.parametrize(
    ("change", "leaves"),
    [
        (lambda editor, reply: editor.delete((reply.conversation_id,)), True),
        (lambda editor, reply: editor.forget(reply.conversation_id), True),
        (lambda editor, reply: editor.delete_message(reply.conversation_id, reply.id), True),
        (lambda editor, reply: editor.change(reply.conversation_id, "Be rude.", OwnSampling()), True),
        (lambda editor, reply: editor.change(reply.conversation_id, "Be kind.", OwnSampling(seed=1)), False),
    ],
    ids=["deleted", "forgotten", "message", "system prompt", "sampling"],
)
@pytest.mark.parametrize("is_written", [True, False])
def test_what_was_read_leaves_with_what_was_said(
    change: Callable[[ChatEditor, Message], None], leaves: bool, is_written: bool, talking: Desk
) -> None:
    shared = talking.repository, talking.recall, talking.learning, talking.keeper, talking.prompt_cache
    editor = ChatEditor(*shared, talking.events.append, lambda: None)
    chat = ask(talking, BOOK).conversation_id
    reply = ask(talking, "More.", chat)
    if is_written:
        keep(talking)
        assert kept(talking) == {chat}
    change(editor, reply)
    assert kept(talking) == ({chat} if is_written and not leaves else set())
    keep(talking)  # the target holds it still
    assert kept(talking) == (set() if leaves else {chat})


def test_a_chat_that_is_deleted_while_it_is_answered_is_not_kept(talking: Desk, target: FakeTarget) -> None:
    chat = ask(talking, BOOK).conversation_id
    talking.wanted.clear()
    target.on_evaluate = lambda: talking.prompt_cache.forget(chat)
    ask(talking, "More.", chat)
    assert "write_all" not in talking.wanted
    keep(talking)
    assert kept(talking) == set()


def test_nothing_is_kept_of_what_is_read_as_fast_as_a_disk_or_without_a_budget(
    talking: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    talking.prompt_cache.use(PromptCacheSettings(0))
    talking.wanted.clear()
    chat = ask(talking, BOOK).conversation_id
    assert "write_all" not in talking.wanted
    talking.prompt_cache.use(PromptCacheSettings(1))
    ask(talking, BOOK, chat)
    monkeypatch.setattr(reopening, "_LOADED_BYTES_PER_S", 1e-9)
    keep(talking)
    assert kept(talking) == set()


def test_it_is_measured_and_deleted_and_a_new_prompt_ends_the_wait(talking: Desk) -> None:
    ask(talking, BOOK)
    stop = StopSignal()
    stop.set()
    talking.cache_keeper.write_all(stop)
    assert kept(talking) == set()
    keep(talking)
    assert talking.prompt_cache.use(PromptCacheSettings(1)) == talking.prompt_cache.measure() > 0
    assert talking.prompt_cache.forget_all() == 0
    assert kept(talking) == set()


def test_a_start_erases_what_an_earlier_one_left_of_deleted_chats(talking: Desk, repository: Repository) -> None:
    chat = ask(talking, BOOK).conversation_id
    keep(talking)
    left = Path(repository.data_dir, "readings", str(chat + 1))
    left.mkdir()
    (left / ".unfinished.part").touch()
    ErasingService(repository, talking.prompt_cache, talking.events.append).erase()
    assert not left.exists()
    assert kept(talking) == {chat}
