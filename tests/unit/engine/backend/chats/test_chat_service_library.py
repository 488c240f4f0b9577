"""What the user set for a target, and the room there is for it, when it is loaded and answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.speculation.model.chat import template_apart
from engine.speculation.model.files import estimate
from engine.speculation.model.files.sources import file_source
from engine.speculation.replies.reply import ReplyWriter
from engine.speculation.replies.run import PreparedReply
from engine.speculation.replies.writing import Reply
from engine.values.config import OwnSampling, ReplySettings, SamplingSettings, TargetOptions, TargetSettings
from engine.values.errors import StoreUnusable, TargetUnusable
from engine.values.events import ConversationChanged, TargetReady
from engine.values.orders import Send
from engine.values.targets import LoadOrder, TargetSource
from tests.fakes.gguf import TINY, gguf
from tests.fakes.target import FakeTarget, says
from tests.fakes.thinker import Thinker
from tests.unit.engine.backend.chats.test_chat_service import GREEDY, Desk, finished


@pytest.fixture
def target() -> FakeTarget:
    return FakeTarget(says("Hello."))


def add(desk: Desk, target: FakeTarget) -> Path:
    """A file with a header, that this target is loaded from."""
    path = Path(desk.add("fake", target))
    path.write_bytes(gguf())
    target.description = replace(target.description, path=path)
    return path


def identity_of(desk: Desk) -> str:
    """Of the target that was loaded last."""
    (ready,) = desk.told(TargetReady)
    assert isinstance(ready, TargetReady)
    assert ready.target.identity
    return ready.target.identity


def test_a_target_too_large_is_not_loaded_unless_anyway(
    desk: Desk, target: FakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = add(desk, target)
    monkeypatch.setattr(estimate, "free_memory", lambda: 1000)
    with pytest.raises(TargetUnusable, match="or load it anyway"):
        desk.load(LoadOrder(str(path)))
    assert desk.trusted == {}
    desk.load(LoadOrder(str(path), anyway=True))
    assert len(desk.told(TargetReady)) == 1


def test_the_process_that_renders_templates_starts_with_the_loading(
    desk: Desk, target: FakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []
    monkeypatch.setattr(template_apart, "begin", lambda: begun.append(len(desk.trusted)))
    desk.load(LoadOrder(str(add(desk, target))))
    assert begun == [0], "before the file is opened"
    assert len(desk.trusted) == 1


def test_who_hears_of_a_target_finds_it_in_the_library(
    desk: Desk, target: FakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread lists the library as soon as the window hears of the target."""
    path = add(desk, target)
    told: list[bool] = []
    remember = desk.repository.remember_target

    def late(source: TargetSource, vocabulary: str) -> object:
        told.append(bool(desk.told(TargetReady)))
        return remember(source, vocabulary)

    monkeypatch.setattr(desk.repository, "remember_target", late)
    desk.load(LoadOrder(str(path)))
    assert told == [False]


def test_a_target_that_the_store_refuses_is_there_all_the_same(
    desk: Desk, target: FakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = add(desk, target)

    def refuse(source: TargetSource, _vocabulary: str) -> None:
        raise StoreUnusable(f"No room for {source.name}.")

    monkeypatch.setattr(desk.repository, "remember_target", refuse)
    with pytest.raises(StoreUnusable, match="No room for"):
        desk.load(LoadOrder(str(path)))
    assert len(desk.told(TargetReady)) == 1
    assert desk.target.is_loaded


def test_settings_of_the_target_come_before_those_for_all(desk: Desk, target: FakeTarget) -> None:
    path = add(desk, target)
    desk.repository.add_target(file_source(path))
    desk.repository.change_target_options(path, TargetOptions(TargetSettings(context_size=512)))
    desk.load(LoadOrder("fake", for_all=TargetSettings(context_size=2048, threads=1)))
    assert desk.settings == [TargetSettings(context_size=512, threads=1)]


def test_sampling_of_the_target_holds_from_the_next_reply_on(
    desk: Desk, target: FakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[SamplingSettings] = []
    write = ReplyWriter.write

    def noting(writer: ReplyWriter, prepared: PreparedReply, settings: ReplySettings, *rest: Any) -> Reply:
        used.append(settings.sampling)
        return write(writer, prepared, settings, *rest)

    monkeypatch.setattr(ReplyWriter, "write", noting)
    path = add(desk, target)
    desk.load(LoadOrder(str(path)))
    desk.do(Send("Hi", None, GREEDY))
    desk.repository.change_target_options(path, TargetOptions(sampling=SamplingSettings(temperature=0.5)))
    desk.do(Send("Hi", None, GREEDY))
    assert [sampling.temperature for sampling in used] == [0.0, 0.5]


def test_where_a_reply_has_a_form_no_thought_comes_before_it(desk: Desk) -> None:
    target = Thinker()
    desk.load(LoadOrder(desk.add("thinker", target)))
    desk.do(Send("Two and two?", None, GREEDY))
    assert "<think>\nFirst" in target.text
    desk.do(Send("Two and two?", None, GREEDY, sampling=OwnSampling(grammar='root ::= "4"')))
    assert target.text.endswith("<think>\n\n</think>\n\n"), "an empty one, as the template has it"
    assert finished(desk).message.text == "4"


def test_a_new_conversation_keeps_the_system_prompt_of_the_target(desk: Desk, target: FakeTarget) -> None:
    path = add(desk, target)
    desk.load(LoadOrder(str(path)))
    desk.repository.change_target_options(path, TargetOptions(system_prompt="Be brief."))
    desk.do(Send("Hi", None, GREEDY, system_prompt="Usual."))
    changed = desk.told(ConversationChanged)[0]
    assert isinstance(changed, ConversationChanged)
    assert desk.repository.open_conversation(changed.conversation.id).system_prompt == "Be brief."


def test_settings_for_all_hold_only_where_nothing_is_set_for_the_target(desk: Desk, target: FakeTarget) -> None:
    path = add(desk, target)
    desk.repository.add_target(file_source(path))
    desk.repository.change_target_options(path, TargetOptions(TargetSettings(context_size=512)))
    desk.load(LoadOrder("fake", for_all=TargetSettings(context_size=64, threads=1)))
    assert desk.settings == [TargetSettings(context_size=512, threads=1)]


def test_a_file_that_moved_is_loaded_with_what_was_set_for_it(desk: Desk, target: FakeTarget) -> None:
    path = add(desk, target)
    desk.load(LoadOrder(str(path)))
    desk.repository.change_target_options(path, TargetOptions(TargetSettings(context_size=512)))
    moved = path.rename(path.with_name("moved.gguf"))
    desk.targets[str(moved)] = target
    desk.load(LoadOrder(str(moved)))
    assert desk.settings[-1] == TargetSettings(context_size=512)
    desk.load(LoadOrder(str(path), identity=identity_of(desk)))  # the choice that was remembered
    (ready,) = desk.told(TargetReady)
    assert isinstance(ready, TargetReady)
    assert ready.target.path == str(moved)


def test_settings_for_a_file_that_changed_do_not_count(desk: Desk, target: FakeTarget) -> None:
    path = add(desk, target)
    desk.load(LoadOrder(str(path)))
    desk.repository.change_target_options(path, TargetOptions(TargetSettings(context_size=512)))
    before = identity_of(desk)
    path.write_bytes(gguf({**TINY, "general.name": "Tina"}))
    desk.load(LoadOrder(str(path), TargetSettings(threads=2), identity=before, for_all=TargetSettings(64, 1)))
    assert desk.settings[-1] == TargetSettings(context_size=64, threads=1)
    assert not desk.trusted["fake"]
    desk.load(LoadOrder(str(path), TargetSettings(threads=2), identity=identity_of(desk)))
    assert desk.settings[-1] == TargetSettings(threads=2)


def test_replies_of_a_file_that_changed_are_counted_apart(desk: Desk, target: FakeTarget) -> None:
    path = add(desk, target)
    for name, num_replies in (("Tiny", 2), ("Tina", 1)):
        path.write_bytes(gguf({**TINY, "general.name": name}))
        desk.load(LoadOrder(str(path)))
        for _ in range(num_replies):
            desk.do(Send("Hi", None, GREEDY))
    totals = desk.repository.summarize_learned().statistics
    assert [(each.name, each.num_replies) for each in totals] == [("fake", 2), ("fake (2)", 1)]


def test_a_copy_has_what_was_set_for_the_other(desk: Desk, target: FakeTarget) -> None:
    path = add(desk, target)
    desk.load(LoadOrder(str(path)))
    desk.repository.change_target_options(path, TargetOptions(TargetSettings(context_size=512)))
    copy = path.with_name("copy.gguf")
    copy.write_bytes(path.read_bytes())
    desk.targets[str(copy)] = target
    desk.load(LoadOrder(str(copy)))
    assert desk.settings[-1] == TargetSettings(context_size=512)
    assert {record.path for record in desk.repository.list_targets()} == {path, copy}
