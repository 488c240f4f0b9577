from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from engine.backend.remote import writer as writing
from engine.backend.remote.connection import ConnectionLimits, ServerConnection
from engine.backend.remote.writer import RemoteWriter
from engine.speculation.replies.writing import Reply
from engine.values.config import ReplySettings, SamplingSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import NotPossible, PromptTooLong, RemoteFailed
from engine.values.growing_reply import GrowingReply, Piece, ReplySoFar, TextPiece
from engine.values.origins import SERVER
from engine.values.pictures import Picture
from engine.values.remote import RemoteModel, RemoteServer, ServerKind
from engine.values.replies import ProposerCounts, StopReason, Thought
from engine.values.stop_signal import StopSignal
from engine.values.tools import Tool, ToolCall
from tests.fakes.remote import (
    MODEL,
    FakeServer,
    Reaction,
    Visit,
    breaking,
    delta,
    hanging,
    refusing,
    serving,
    silent,
    streaming,
    usage,
)

ASKED = (ChatTurn(Role.SYSTEM, "Be kind."), ChatTurn(Role.USER, "Hello?"))
GREEDY = ReplySettings(SamplingSettings(temperature=0))
LIMITS = ConnectionLimits(line_bytes=10_000, reply_bytes=300_000)
IMPATIENT = ConnectionLimits(silence_s=0.3)
FORECAST = Tool("weather", "forecast", "Tells the weather.", '{"type": "object", "properties": {}}')


class Heard(GrowingReply):
    """Notes what it is told of a reply."""

    def __init__(self) -> None:
        super().__init__(self._note)
        self.told: list[ReplySoFar] = []

    def _note(self, so_far: ReplySoFar) -> None:
        self.told.append(so_far)

    @property
    def pieces(self) -> Sequence[Piece]:
        return self.so_far.since(0)

    @property
    def texts(self) -> list[str]:
        return [each.text for each in self.pieces if isinstance(each, TextPiece)]

    @property
    def waits(self) -> list[str]:
        return [each.waits_for for each in self.told if each.waits_for]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_PAUSES_S", (0.01,) * 5)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serving() as server:
        yield server


def writer_of(
    server: FakeServer, kind: ServerKind = ServerKind.LLAMA_SERVER, limits: ConnectionLimits = LIMITS
) -> RemoteWriter:
    found = RemoteModel(MODEL, server.reference)
    at = RemoteServer("Desk", server.address, kind, models=(found,))
    return RemoteWriter(at, found, lambda: ServerConnection(server.address, "sk-1", limits=limits))


def write(
    server: FakeServer,
    *replies: Reaction,
    kind: ServerKind = ServerKind.LLAMA_SERVER,
    heard: Heard | None = None,
    settings: ReplySettings = GREEDY,
    stop: StopSignal | None = None,
    turns: tuple[ChatTurn, ...] = ASKED,
    limits: ConnectionLimits = LIMITS,
    **more: Any,
) -> Reply:
    server.replies = [*replies] or server.replies
    writer = writer_of(server, kind, limits)
    return writer.write(writer.prepare(turns, 1, **more), settings, stop or StopSignal(), heard or Heard())


def failed(reply: Reply) -> str:
    assert reply.failure is not None
    return str(reply.failure)


def test_a_reply_streams(server: FakeServer) -> None:
    heard = Heard()
    reply = write(server, streaming("Hel", "lo", "!", more=[usage(12, 3)]), heard=heard)
    assert (reply.text, reply.failure, reply.statistics.stop_reason) == ("Hello!", None, StopReason.END)
    assert heard.texts == ["Hel", "lo", "!"]
    assert (reply.statistics.prompt_tokens, reply.statistics.reply_tokens) == (12, 3)
    assert reply.statistics.context_used == 15
    path, headers, body = server.asked[-1]
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == "Bearer sk-1"
    assert headers["accept-encoding"] == "identity"
    assert body["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hello?"},
    ]
    assert (body["model"], body["stream"], body["temperature"]) == (MODEL, True, 0)
    assert body["stream_options"] == {"include_usage": True}


def test_the_environment_leads_nobody_elsewhere(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert write(server).text == "Hello there."


def test_each_kind_of_server_gets_the_fields_that_it_knows(server: FakeServer) -> None:
    sampling = SamplingSettings(temperature=1, top_k=0, min_p=0.1, repetition_penalty=1.1, seed=2**40 + 7)
    settings = ReplySettings(sampling, max_tokens=9, stop_strings=("\n",))
    bodies = {}
    for kind in ServerKind:
        write(server, kind=kind, settings=settings, thinks=False)
        bodies[kind] = server.bodies[-1]
    for body in bodies.values():
        assert (body["max_tokens"], body["stop"], body["seed"]) == (9, ["\n"], 7)
    other = {"model", "messages", "stream", "stream_options", "temperature", "top_p", "stop", "max_tokens", "seed"}
    assert {*bodies[ServerKind.OTHER]} == {*bodies[ServerKind.OLLAMA]} == other
    assert bodies[ServerKind.LLAMA_SERVER]["repeat_penalty"] == 1.1
    assert bodies[ServerKind.LLAMA_SERVER]["timings_per_token"] is True
    assert bodies[ServerKind.VLLM]["repetition_penalty"] == 1.1
    assert bodies[ServerKind.VLLM]["top_k"] == -1
    assert bodies[ServerKind.SLIPSTREAM]["top_k"] == 0
    assert bodies[ServerKind.SGLANG]["chat_template_kwargs"] == {"enable_thinking": False}


def test_a_form_of_the_reply_is_told_as_far_as_the_server_knows_it(server: FakeServer) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    write(server, kind=ServerKind.OTHER, settings=ReplySettings(SamplingSettings(grammar=json.dumps(schema))))
    assert server.bodies[-1]["response_format"]["json_schema"]["schema"] == schema
    gbnf = ReplySettings(SamplingSettings(grammar='root ::= "yes" | "no"'))
    write(server, settings=gbnf)
    assert server.bodies[-1]["grammar"] == 'root ::= "yes" | "no"'
    asked = len(server.asked)
    with pytest.raises(NotPossible, match="accepts no GBNF grammar"):
        write(server, kind=ServerKind.VLLM, settings=gbnf)
    with pytest.raises(NotPossible, match="Words can be banned"):
        write(server, settings=ReplySettings(SamplingSettings(banned_words="delve")))
    assert len(server.asked) == asked


def test_thoughts_are_told_apart_in_fields_and_between_marks(server: FakeServer) -> None:
    heard = Heard()
    fields = streaming(delta(reasoning_content="Hmm"), delta(reasoning="…"), "Yes", " <think>no</think>")
    reply = write(server, fields, heard=heard)
    assert reply.text == "Yes <think>no</think>"
    assert [(each.text, each.is_whole) for each in reply.thoughts] == [("Hmm…", True)]
    assert heard.thoughts[-1].is_whole
    marked = write(server, streaming("<thi", "nk>Hm", "m</think>\n\nYes"))
    assert (marked.text, [each.text for each in marked.thoughts]) == ("Yes", ["Hmm"])


def test_calls_come_in_pieces_and_results_go_back(server: FakeServer) -> None:
    def call(arguments: str, **more: str) -> dict[str, Any]:
        return delta(tool_calls=[{"index": 0, "function": {"arguments": arguments, **more}}])

    pieces = call("", name="forecast"), call('{"city": '), call('"Rom"}')
    heard = Heard()
    reply = write(server, streaming("Well. ", *pieces, finish="tool_calls"), tools=(FORECAST,), heard=heard)
    (called,) = reply.calls
    assert (called.server, called.tool, called.arguments) == ("weather", "forecast", '{"city": "Rom"}')
    assert len(called.id) == 9
    assert reply.text == "Well."
    assert heard.so_far.is_calling
    assert server.bodies[-1]["tools"][0]["function"]["name"] == "forecast"
    turns = (
        *ASKED,
        ChatTurn(Role.ASSISTANT, "Well.", calls=(called,)),
        ChatTurn(Role.TOOL, "Sunny.", answers=called),
    )
    write(server, streaming("Sunny in Rome."), tools=(FORECAST,), turns=turns)
    said, result = server.bodies[-1]["messages"][-2:]
    assert said["tool_calls"][0]["function"] == {"name": "forecast", "arguments": '{"city": "Rom"}'}
    assert result == {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "Sunny."}


def test_a_call_of_a_tool_that_there_is_not_is_told_as_such(server: FakeServer) -> None:
    calls = delta(tool_calls=[{"index": 0, "function": {"name": "rm", "arguments": "{}"}}])
    assert write(server, streaming(calls, finish="tool_calls"), tools=(FORECAST,)).calls[0].server == ""
    assert write(server, streaming(calls, finish="tool_calls")).calls == ()


def test_half_a_call_is_none(server: FakeServer) -> None:
    def react(visit: Visit) -> None:
        visit.begin()
        visit.event(delta(tool_calls=[{"index": 0, "function": {"name": "forecast", "arguments": '{"ci'}}]))
        visit.drop()

    reply = write(server, react, tools=(FORECAST,))
    assert reply.calls == ()
    assert reply.statistics.stop_reason is StopReason.CUT_OFF


def test_pictures_are_sent_with_their_prompt(server: FakeServer) -> None:
    picture = Picture("ab" * 32, b"\x89PNG rest", 4, 4)
    write(server, turns=(ChatTurn(Role.USER, "What is this?", pictures=(picture,)),))
    image, text = server.bodies[-1]["messages"][0]["content"]
    assert image["image_url"]["url"].startswith("data:image/png;base64,iVBORy")
    assert text == {"type": "text", "text": "What is this?"}


def test_the_servers_own_guesses_are_counted_under_an_origin_of_their_own(server: FakeServer) -> None:
    def timed(text: str, written: int, drafted: int, accepted: int) -> dict[str, Any]:
        timings = {
            "predicted_n": written,
            "prompt_n": 5,
            "cache_n": 7,
            "draft_n": drafted,
            "draft_n_accepted": accepted,
        }
        return delta(text) | {"timings": timings}

    heard = Heard()
    reply = write(server, streaming(timed("Hel", 1, 0, 0), timed("lo", 4, 4, 2), timed("!", 10, 8, 6)), heard=heard)
    told = reply.statistics
    assert told.proposers == (ProposerCounts(SERVER.key, 4, 8, 6),)
    assert (told.reply_tokens, told.num_drafted, told.num_accepted, told.num_rounds) == (10, 8, 6, 4)
    assert (told.prompt_tokens, told.evaluated_tokens) == (12, 5)
    assert told.plain_tokens_per_s == told.ratio == 0
    figures = [each.figures for before, each in pairwise(heard.told) if each.num_pieces > before.num_pieces]
    assert [each.num_accepted for each in figures] == [0, 2, 6]
    assert figures[-1].verdict.ratio is None


def test_only_a_ratio_that_the_server_tells_is_one(server: FakeServer) -> None:
    timings = {"predicted_n": 40, "draft_n": 30, "draft_n_accepted": 25, "speedup": 1.7}
    assert write(server, streaming("a", more=[{"timings": timings}])).statistics.ratio == 1.7
    absurd: object
    for absurd in (-1, "2", True, 10**400, 1e-320, {}):
        told = write(server, streaming("a", more=[{"timings": timings | {"speedup": absurd}}])).statistics
        assert told.ratio == 0


def test_a_reply_at_its_length_says_so(server: FakeServer) -> None:
    reply = write(server, streaming("a", finish="length"), settings=replace(GREEDY, max_tokens=1))
    assert reply.statistics.stop_reason is StopReason.LENGTH
    full = write(server, streaming("a", finish="length"))
    assert full.statistics.stop_reason is StopReason.CONTEXT_FULL


def test_a_server_that_does_not_stream_is_read_all_the_same(server: FakeServer) -> None:
    whole = {"choices": [{"message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}]}
    reply = write(server, lambda visit: visit.tell(whole | {"usage": {"prompt_tokens": 3, "completion_tokens": 2}}))
    assert (reply.text, reply.statistics.reply_tokens, reply.failure) == ("Hi.", 2, None)


# Stopping


@pytest.mark.parametrize(
    "reaction", [silent, hanging(), hanging("Once")], ids=["no status", "no byte", "in the middle"]
)
def test_a_reply_is_stopped_at_once(server: FakeServer, reaction: Reaction) -> None:
    stop = StopSignal()
    set_at: list[float] = []

    def end() -> None:
        set_at.append(time.monotonic())
        stop.set()

    timer = threading.Timer(0.2, end)
    timer.start()
    reply = write(server, reaction, stop=stop)
    took = time.monotonic() - set_at[0]
    timer.join()
    assert (reply.failure, reply.statistics.stop_reason) == (None, StopReason.STOPPED)
    assert took < 5  # usually some milliseconds, but a busy machine has no clock
    if reaction is not silent:
        assert server.closed.wait(5), "the server hears of it"


def test_a_reply_is_stopped_while_a_busy_server_is_waited_for(server: FakeServer) -> None:
    stop = StopSignal()
    heard = Heard()
    threading.Timer(0.1, stop.set).start()
    began = time.monotonic()
    reply = write(server, refusing(429, Retry_After="60"), heard=heard, stop=stop)
    assert time.monotonic() - began < 5
    assert reply.statistics.stop_reason is StopReason.STOPPED
    assert heard.waits == [f"127.0.0.1:{server.server_port} is busy; trying again in 60 seconds."]


# What goes wrong


def test_a_lost_connection_keeps_what_has_arrived(server: FakeServer) -> None:
    reply = write(server, breaking("Once", " upon"))
    assert (reply.text, reply.statistics.stop_reason) == ("Once upon", StopReason.CUT_OFF)
    assert "was lost. What arrived is kept" in failed(reply)
    assert len(server.bodies) == 1, "a reply that has begun is not asked for again"


@pytest.mark.parametrize("done", [True, False])
def test_a_reply_without_an_end_is_half_of_one(server: FakeServer, done: bool) -> None:
    reply = write(server, streaming("Once", finish=None, done=done))
    assert reply.text == "Once"
    if done:
        assert reply.statistics.stop_reason is StopReason.END
    else:
        assert "stopped in the middle of the reply" in failed(reply)
        assert reply.statistics.stop_reason is StopReason.CUT_OFF


def test_a_connection_that_breaks_behind_the_end_takes_nothing(server: FakeServer) -> None:
    def react(visit: Visit) -> None:
        visit.begin()
        visit.event(delta("All."))
        visit.event(delta(finish="stop"))
        visit.drop()

    reply = write(server, react)
    assert (reply.text, reply.failure, reply.statistics.stop_reason) == ("All.", None, StopReason.END)


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again(server: FakeServer, status: int) -> None:
    heard = Heard()
    reply = write(server, refusing(status), refusing(status, Retry_After="nan"), streaming("Now."), heard=heard)
    assert reply.text == "Now."
    assert len(heard.waits) == 2


def test_a_server_that_stays_busy_is_told(server: FakeServer) -> None:
    reply = write(server, refusing(429))
    assert "is busy and accepts no more" in failed(reply)
    assert len(server.bodies) == 6
    assert reply.was_sent


def test_a_server_that_is_gone_has_seen_nothing() -> None:
    with serving() as server:
        writer = writer_of(server)
    heard = Heard()
    reply = writer.write(writer.prepare(ASKED), GREEDY, StopSignal(), heard)
    assert "cannot be reached: nothing answers" in failed(reply)
    assert len(heard.waits) == 3
    assert reply.is_empty
    assert not reply.was_sent


@pytest.mark.parametrize(
    ("reaction", "sentence"),
    [
        (refusing(401), "does not accept the key"),
        (refusing(403), "does not accept the key"),
        (refusing(404), "no longer has the model models/fake-8b.gguf"),
        (refusing(413), "does not accept that much at once"),
        (refusing(500, "boom"), r"failed \(500\)"),
        (refusing(502), "failed"),
        (refusing(400, "no such\nfield"), "refuses this: “no such field”"),
        (refusing(302, Location="http://127.0.0.1:9/"), "redirects to another address"),
        (lambda visit: visit.tell(b"<html>", kind="text/html"), "answers like no server"),
        (lambda visit: visit.tell(b"<html>", 400, kind="text/html"), r"refuses this \(400\)"),
        (lambda visit: visit.begin(Content_Encoding="gzip"), "answers like no server"),
        (streaming({"error": {"message": "out of memory"}}), "ended the reply: “out of memory”"),
        (streaming("a", finish="content_filter"), "because of its content"),
        (lambda visit: visit.tell([1]), "answers like no server"),
    ],
)
def test_what_a_server_refuses_is_a_sentence(server: FakeServer, reaction: Reaction, sentence: str) -> None:
    reply = write(server, reaction)
    assert isinstance(reply.failure, RemoteFailed)
    with pytest.raises(RemoteFailed, match=sentence):
        raise reply.failure
    assert reply.statistics.stop_reason is StopReason.FAILED
    assert len(server.bodies) == 1


def _endless_line(visit: Visit) -> None:
    visit.begin()
    while not visit.server.over.is_set():
        visit.send(b"data: " + b"x" * 5_000)


def _endless_lines(visit: Visit) -> None:
    visit.begin()
    while not visit.server.over.is_set():
        visit.send(b"data: \n" * 500)


def _endless_comments(visit: Visit) -> None:
    visit.begin()
    while not visit.server.over.is_set():
        visit.send(b": ping\n" * 500)


@pytest.mark.parametrize("reaction", [_endless_line, _endless_lines, _endless_comments])
def test_what_has_no_end_is_not_read_to_it(server: FakeServer, reaction: Reaction) -> None:
    assert "sends more than a reply can be" in failed(write(server, reaction))


def test_a_server_that_falls_silent_is_told(server: FakeServer) -> None:
    def react(visit: Visit) -> None:
        visit.begin()
        visit.event(delta("Once"))
        visit.server.over.wait()

    reply = write(server, react, limits=IMPATIENT)
    assert (reply.text, reply.statistics.stop_reason) == ("Once", StopReason.CUT_OFF)
    assert "stopped answering" in failed(reply)


def test_a_server_that_drips_is_silent_as_well(server: FakeServer) -> None:
    """Bytes that never make a line are no sign of life."""

    def react(visit: Visit) -> None:
        visit.begin()
        visit.event(delta("Once"))
        while not visit.server.over.is_set():
            visit.send(b"x")
            time.sleep(0.02)

    assert "stopped answering" in failed(write(server, react, limits=IMPATIENT))


@pytest.mark.parametrize(
    "event",
    [
        "{",
        "5",
        "null",
        "[" * 5_000,
        {"choices": 5},
        {"choices": [5]},
        {"choices": [{"delta": 7, "finish_reason": 5}]},
        delta(content=None, reasoning_content=5, tool_calls="x"),
        delta(tool_calls=[5, {"function": 5}, {"index": "a", "function": {"name": 5, "arguments": {}}}]),
        {"usage": {"prompt_tokens": "many", "completion_tokens": -5}, "timings": [1]},
        {"usage": {"completion_tokens": 10**30}, "timings": {"draft_n": True, "draft_n_accepted": 1e300}},
    ],
)
def test_nonsense_is_a_sentence_or_is_passed_over(server: FakeServer, event: object) -> None:
    def react(visit: Visit) -> None:
        visit.begin()
        for each in (delta("a"), event, delta("b"), delta(finish="stop"), "[DONE]"):
            visit.event(each)
        visit.end()

    reply = write(server, react, tools=(FORECAST,))
    if reply.failure is None:
        assert reply.text == "ab"
    else:
        assert reply.text == "a"
        assert "answers like no server" in failed(reply)
    assert 0 <= reply.statistics.reply_tokens < 10**9
    assert reply.statistics.num_accepted <= reply.statistics.num_drafted


# Continuing


@pytest.mark.parametrize("kind", [ServerKind.LLAMA_SERVER, ServerKind.VLLM, ServerKind.SGLANG])
def test_a_server_is_told_to_go_on(server: FakeServer, kind: ServerKind) -> None:
    reply = write(server, streaming(" upon a time"), kind=kind, begun="Once")
    body = server.bodies[-1]
    assert body["messages"][-1] == {"role": "assistant", "content": "Once"}
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)
    assert reply.text == " upon a time"


BEGUN = "Once upon a time there was"


@pytest.mark.parametrize("pieces", [(" a sea.",), ("Once upon a", " time there was a sea."), (f"\n{BEGUN} a sea.",)])
def test_a_server_that_repeats_the_beginning_adds_only_the_rest(server: FakeServer, pieces: tuple[str, ...]) -> None:
    reply = write(server, streaming(*pieces), kind=ServerKind.OTHER, begun=BEGUN)
    assert "continue_final_message" not in server.bodies[-1]
    assert (reply.text, reply.failure) == (" a sea.", None)


@pytest.mark.parametrize("pieces", [("Once upon a time, in", " a wood"), ("Once upon a time",)])
def test_a_server_that_begins_anew_is_told(server: FakeServer, pieces: tuple[str, ...]) -> None:
    reply = write(server, streaming(*pieces), kind=ServerKind.OTHER, begun=BEGUN)
    assert reply.text == ""
    assert "cannot continue a reply; it starts over" in failed(reply)


def test_a_thought_cannot_be_gone_on_with(server: FakeServer) -> None:
    with pytest.raises(NotPossible, match="in the middle of a thought"):
        write(server, begun="", thoughts=(Thought(0, "Hmm"),))
    assert not server.asked


# A context that is full


def test_the_oldest_turns_are_left_out_of_a_prompt_that_is_too_long(server: FakeServer) -> None:
    turns = [ASKED[0]]
    for number in range(6):
        turns += [ChatTurn(Role.USER, f"Question {number} " + "x" * 100), ChatTurn(Role.ASSISTANT, "Yes." * 20)]
    turns.append(ChatTurn(Role.USER, "And now?"))

    def too_long(visit: Visit) -> None:
        error = {"type": "exceed_context_size_error", "n_prompt_tokens": 1000, "n_ctx": 500, "message": "too long"}
        visit.tell({"error": error}, 400)

    heard = Heard()
    writer = writer_of(server)
    server.replies = [too_long, streaming("Fits.")]
    reply = writer.write(writer.prepare(turns, 1), GREEDY, StopSignal(), heard)
    assert (reply.text, reply.failure) == ("Fits.", None)
    told = server.bodies[-1]["messages"]
    assert told[0]["role"] == "system"
    assert told[1]["role"] == "user"
    assert told[-1]["content"] == "And now?"
    assert len(told) == len(turns) - reply.statistics.left_out_messages
    assert heard.told[0].num_left_out == 0
    assert heard.so_far.num_left_out == reply.statistics.left_out_messages
    again = writer.write(writer.prepare(turns, 1), GREEDY, StopSignal(), Heard())
    assert again.statistics.left_out_messages == reply.statistics.left_out_messages, "what is out stays out"
    assert len(server.bodies) == 3


def test_a_message_that_is_too_long_alone_is_told(server: FakeServer) -> None:
    reply = write(server, refusing(400, "This model's maximum context length is 10 tokens"))
    assert isinstance(reply.failure, PromptTooLong)
    assert "Your message alone does not fit" in failed(reply)
    assert len(server.bodies) == 1


def test_calls_of_earlier_replies_are_told_under_the_names_that_the_server_knows(server: FakeServer) -> None:
    other = Tool("other", "forecast")
    call = ToolCall("aBcD12345", "other", "forecast", "{}")
    turns = (*ASKED, ChatTurn(Role.ASSISTANT, "", calls=(call,)), ChatTurn(Role.TOOL, "Rain.", answers=call))
    write(server, turns=turns, tools=(FORECAST, other))
    body = server.bodies[-1]
    assert [each["function"]["name"] for each in body["tools"]] == ["weather_forecast", "other_forecast"]
    assert body["messages"][-2]["tool_calls"][0]["function"]["name"] == "other_forecast"
    assert body["messages"][-2]["content"] is None


def test_parts_of_a_growing_reply_are_told(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.values.growing_reply._PART_S", 0.0)
    heard = Heard()
    write(server, streaming("a", "b"), heard=heard)
    parts = [(each.text, each.statistics.stop_reason) for each in heard.told if each.statistics is not None]
    assert parts == [("a", StopReason.CUT_OFF), ("ab", StopReason.CUT_OFF)]
