"""Chats with targets on servers: as with this program's own, but for what only these can."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.backend.remote import writer as writing
from engine.backend.remote.remote_service import RemoteService
from engine.backend.storage import Repository
from engine.backend.teaching.learning_service import LearningService
from engine.values.asked import Asked, Refusal, Refused
from engine.values.comparison import ComparisonOrder
from engine.values.config import LearningSettings, ReplySettings, SamplingSettings
from engine.values.conversations import ChatTurn, Message, Role
from engine.values.errors import NotPossible, RemoteFailed, ServerNotAgreed
from engine.values.events import (
    Event,
    PromptStored,
    ReplyFinished,
    ServersListed,
    TargetReady,
)
from engine.values.growing_reply import ReplySoFar
from engine.values.orders import ContinueReply, EditPrompt, Regenerate, Send
from engine.values.remote import RemoteServer, ServerSeen, ServerUntrusted
from engine.values.replies import StopReason
from engine.values.stop_signal import StopSignal
from engine.values.targets import LoadOrder
from tests.fakes.remote import MODEL, FakeServer, Visit, breaking, delta, refusing, serving, streaming
from tests.fakes.target import FakeTarget, says
from tests.unit.engine.backend.chats.test_chat_service import Desk

GREEDY = ReplySettings(SamplingSettings(temperature=0))


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_PAUSES_S", (0.01,) * 5)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serving() as server:
        yield server


@pytest.fixture
def away(desk: Desk, server: FakeServer) -> Desk:
    """With the server's model in use, to which the user has agreed."""
    desk.servers.save(RemoteServer("Desk", server.address))
    desk.load(LoadOrder(server.reference))
    desk.servers.agree(server.address)
    return desk


def ask(desk: Desk, prompt: str = "Hello?", conversation_id: int | None = None, incognito: bool = False) -> Message:
    desk.events.clear()
    desk.do(Send(prompt, conversation_id, GREEDY, incognito=incognito))
    (finished,) = desk.told(ReplyFinished)
    assert isinstance(finished, ReplyFinished)
    return finished.message


def test_a_target_on_a_server_is_loaded_by_its_reference(away: Desk, server: FakeServer) -> None:
    (ready,) = away.told(TargetReady)
    assert isinstance(ready, TargetReady)
    target = ready.target
    assert (target.name, target.path, target.identity) == ("fake-8b", "", f"server:{server.reference}")
    assert target.server is not None
    assert (target.server.name, target.server.address) == ("Desk", server.address)
    assert not target.can_draft
    assert target.context_size == 4096
    assert away.servers.all()[0].models[0].id == MODEL, "as they were seen last"
    assert not server.bodies


def test_nothing_is_sent_or_stored_before_the_user_agrees(desk: Desk, server: FakeServer) -> None:
    desk.servers.save(RemoteServer("Desk", server.address))
    desk.load(LoadOrder(server.reference))
    asked = len(server.asked)
    with pytest.raises(ServerNotAgreed, match=r"No chat has been sent to Desk \(http://127"):
        desk.do(Send("Hello?", None, GREEDY))
    assert len(server.asked) == asked
    assert not desk.repository.list_conversations()
    desk.servers.agree(server.address)
    assert ask(desk).text == "Hello there."


def test_a_new_certificate_or_address_is_a_new_place(away: Desk, server: FakeServer) -> None:
    ask(away)
    away.servers.save(RemoteServer("Desk", server.address, certificate="ab" * 32))
    with pytest.raises(ServerNotAgreed):
        away.do(Send("More?", None, GREEDY))
    away.servers.remove(server.address)
    with pytest.raises(NotPossible, match="not in the list"):
        away.do(Send("More?", None, GREEDY))


def test_a_reply_says_which_machine_wrote_it(away: Desk, server: FakeServer) -> None:
    message = ask(away)
    assert (message.server, message.target_name) == (server.address, "fake-8b")
    opened = away.repository.open_conversation(message.conversation_id)
    assert opened.servers == (server.address,)
    assert opened.messages[-1].server == server.address
    assert opened.messages[0].server == ""
    away.load(LoadOrder(away.add("fake", FakeTarget(says("Here.")))))
    assert ask(away, "And now?", message.conversation_id).server == ""
    assert away.repository.open_conversation(message.conversation_id).servers == (server.address,)


def test_replies_are_written_again_and_prompts_edited_on_branches(away: Desk, server: FakeServer) -> None:
    message = ask(away)
    number, prompt = message.conversation_id, message.parent_id
    server.replies = [streaming("Hi.")]
    away.do(Regenerate(number, GREEDY))
    opened = away.repository.open_conversation(number)
    assert opened.messages[-1].text == "Hi."
    assert len(opened.siblings[opened.messages[-1].id]) == 2
    assert prompt is not None
    away.do(EditPrompt(number, prompt, "Good day?", GREEDY))
    opened = away.repository.open_conversation(number)
    assert [each.text for each in opened.messages] == ["Good day?", "Hi."]
    assert server.bodies[-1]["messages"] == [{"role": "user", "content": "Good day?"}]


def test_a_reply_is_continued_after_the_connection_was_lost(away: Desk, server: FakeServer) -> None:
    server.replies = [breaking("Once", " upon"), streaming(" a time.")]
    with pytest.raises(RemoteFailed, match=r"was lost\. What arrived is kept"):
        away.do(Send("Tell me a story.", None, GREEDY))
    (finished,) = away.told(ReplyFinished)
    assert isinstance(finished, ReplyFinished)
    half = finished.message
    assert half.statistics is not None
    assert (half.text, half.statistics.stop_reason) == ("Once upon", StopReason.CUT_OFF)
    away.do(ContinueReply(half.conversation_id, GREEDY))
    opened = away.repository.open_conversation(half.conversation_id)
    assert opened.messages[-1].text == "Once upon a time."
    assert server.bodies[-1]["messages"][-1] == {"role": "assistant", "content": "Once upon"}


def test_a_prompt_that_reached_nobody_is_kept_without_a_reply(away: Desk, server: FakeServer) -> None:
    first = ask(away)
    server.shutdown()
    server.server_close()
    away.events.clear()
    with pytest.raises(RemoteFailed, match="cannot be reached"):
        away.do(Send("Are you there?", first.conversation_id, GREEDY))
    assert len([each for each in away.told(ReplySoFar) if each.waits_for]) == 3
    assert not away.told(ReplyFinished)
    opened = away.repository.open_conversation(first.conversation_id)
    assert [each.text for each in opened.messages] == ["Hello?", "Hello there.", "Are you there?"]


def test_a_prompt_that_a_server_has_seen_says_so_also_where_that_failed(away: Desk, server: FakeServer) -> None:
    server.replies = [refusing(500)]
    with pytest.raises(RemoteFailed, match=r" failed \(500\)"):
        away.do(Send("Hello?", None, GREEDY))
    (prompt,) = away.told(PromptStored)
    assert isinstance(prompt, PromptStored)
    opened = away.repository.open_conversation(prompt.message.conversation_id)
    assert opened.servers == (server.address,)
    server.replies = [streaming("Now.")]
    away.do(Regenerate(prompt.message.conversation_id, GREEDY))
    assert away.repository.open_conversation(prompt.message.conversation_id).messages[-1].text == "Now."


def test_nothing_is_learned_or_recalled_in_the_tokens_of_a_server(away: Desk) -> None:
    ask(away)
    away.upkeep.catch_up()
    assert not away.repository.load_recall(FakeTarget().vocabulary.fingerprint, 10**6)
    assert away.target.count_tokens("Hello?") is None
    away.use_drafter("built-in")
    away.load(LoadOrder(away.add("fake", FakeTarget(says("Here.")))))
    away.upkeep.catch_up()
    assert away.target.count_tokens("Hello?")
    assert away.repository.load_recall(FakeTarget().vocabulary.fingerprint, 10**6), (
        "in the tokens of a target of this machine"
    )


def test_an_incognito_chat_stays_in_memory(away: Desk, server: FakeServer, tmp_path: Path) -> None:
    message = ask(away, "A very secret question", incognito=True)
    assert message.server == server.address
    away.repository.close()
    assert not any(b"very secret" in each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())


def test_tools_are_called_by_the_model_of_a_server(away: Desk, server: FakeServer) -> None:
    call = {"index": 0, "function": {"name": "forecast", "arguments": '{"city": "Rome"}'}}
    server.replies = [streaming(delta(tool_calls=[call]), finish="tool_calls"), streaming("Sunny.")]
    away.do(Send("The weather?", None, ReplySettings(GREEDY.sampling, tools=("weather",))))
    finished = away.told(ReplyFinished)
    assert [each.message.text for each in finished if isinstance(each, ReplyFinished)] == ["", "Sunny."]
    assert [each["role"] for each in server.bodies[-1]["messages"]] == ["user", "assistant", "tool"]


def test_what_needs_a_target_of_this_machine_says_so(away: Desk) -> None:
    with pytest.raises(NotPossible, match="Guesses for this model are made by its server"):
        away.trials.compare(ComparisonOrder("Hello?", None, GREEDY, 16))
    with pytest.raises(Refused) as refused:
        away.reply_to(Asked((ChatTurn(Role.USER, "Hello?"),)))
    assert refused.value.refusal is Refusal.NOT_READY


def test_a_server_that_does_not_answer_leaves_the_target_in_use(desk: Desk) -> None:
    desk.load(LoadOrder(desk.add("fake", FakeTarget(says("Here.")))))
    with serving() as gone:
        desk.servers.save(RemoteServer("Desk", gone.address))
    with pytest.raises(RemoteFailed, match="cannot be reached"):
        desk.load(LoadOrder(gone.reference))
    assert ask(desk).text == "Here."


@pytest.mark.parametrize(("model", "sentence"), [("gone", "has no model gone; it has"), ("", "")])
def test_a_model_that_is_gone_is_told(desk: Desk, server: FakeServer, model: str, sentence: str) -> None:
    desk.servers.save(RemoteServer("Desk", server.address))
    if sentence:
        with pytest.raises(RemoteFailed, match=sentence):
            desk.load(LoadOrder(f"{server.address}#{model}"))
    else:
        desk.load(LoadOrder(server.address))
        assert desk.target.loaded.writer.target_name == "fake-8b", "the only one"


def test_loading_is_stopped_while_a_server_is_silent(desk: Desk, server: FakeServer) -> None:
    def wait(visit: Visit) -> None:
        stop.set()
        visit.server.over.wait()
        visit.close_connection = True

    stop = StopSignal()
    server.pages["/v1/models"] = wait
    desk.servers.save(RemoteServer("Desk", server.address))
    with pytest.raises(Exception, match="cancelled"):
        desk.target.load(LoadOrder(server.reference), stop)


def test_a_server_that_is_not_in_the_list_is_not_asked(desk: Desk, server: FakeServer) -> None:
    with pytest.raises(NotPossible, match="in the list; add it first"):
        desk.load(LoadOrder(server.reference))
    assert not server.asked


# Setting servers up


class Setup(RemoteService):
    def __init__(self, desk: Desk) -> None:
        self.events: list[Event] = []
        super().__init__(desk.servers, self.events.append)

    @property
    def listed(self) -> ServersListed:
        event = self.events[-1]
        assert isinstance(event, ServersListed)
        return event


@pytest.fixture
def setup(desk: Desk) -> Setup:
    return Setup(desk)


def test_a_server_is_looked_at_kept_agreed_to_and_removed(setup: Setup, server: FakeServer) -> None:
    server.key = "sk-1"
    seen = setup.look(server.address.replace("/v1", ""), "sk-1")
    assert isinstance(seen, ServerSeen)
    assert (seen.server.address, seen.server.is_agreed, seen.notice) == (server.address, False, "")
    assert setup.save(seen.server, "sk-1").has_key
    assert setup.listed.servers[0].has_key
    again = setup.look(server.address)
    assert isinstance(again, ServerSeen)
    assert again.server.has_key, "with the key that is kept"
    setup.agree(server.address)
    agreed = setup.listed
    assert agreed.servers[0].is_agreed
    setup.list_all()
    assert setup.listed == agreed
    setup.remove(server.address)
    assert setup.listed == ServersListed(())


def test_a_certificate_is_shown_before_it_is_trusted(setup: Setup, desk: Desk) -> None:
    with serving(is_encrypted=True) as server:
        first = setup.look(server.address, "sk-1")
        assert isinstance(first, ServerUntrusted)
        assert not server.asked, "no key was sent"
        seen = setup.look(server.address, "sk-1", first.certificate)
        assert isinstance(seen, ServerSeen)
        assert seen.server.certificate == first.certificate
        setup.save(seen.server, "sk-1")
        desk.servers.agree(server.address)
        desk.load(LoadOrder(server.reference))
        assert ask(desk).text == "Hello there."
        desk.servers.save(RemoteServer("Desk", server.address, certificate="ab" * 32))
        changed = setup.look(server.address)
        assert isinstance(changed, ServerUntrusted)
        assert changed.certificate == first.certificate


def test_self_distillation_and_lessons_rest(repository: Repository, tmp_path: Path, server: FakeServer) -> None:
    learning = LearningService(lambda: repository, LearningSettings(), lambda _event: None)
    desk = Desk(repository, tmp_path, learning)
    desk.servers.save(RemoteServer("Desk", server.address))
    desk.load(LoadOrder(desk.add("fake", FakeTarget(says("Here.")))))
    ask(desk)
    desk.load(LoadOrder(server.reference))
    desk.servers.agree(server.address)
    ask(desk)
    assert learning.pair is None
    learning.close()
    assert learning.join(5)
