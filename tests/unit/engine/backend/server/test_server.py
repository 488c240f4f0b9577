"""The server over HTTP, with a fake target."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from engine.backend.server.clients import Clients
from engine.backend.server.serving import Server
from engine.backend.storage import Repository
from engine.speculation.model.chat.families import CHATML, TEXT
from engine.values.errors import Cancelled, NotPossible, SettingInvalid
from engine.values.serving import ServerLimits, ServerSettings
from engine.values.stop_signal import StopSignal
from tests.fakes.caller import CALL, Caller
from tests.fakes.served import ANYWHERE, Served, served
from tests.fakes.served_target import FakeServed
from tests.fakes.target import FakeTarget, says
from tests.fakes.thinker import ANSWER, THOUGHT, Thinker

USER = {"role": "user", "content": "Hello."}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
WEATHER = {"type": "function", "function": {"name": "forecast", "parameters": CITY}}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("plain"), FakeTarget(says("Hello there, you."), 4_096)) as found:
        yield found


@pytest.fixture(scope="module")
def thinker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("thinker"), Thinker()) as found:
        yield found


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("caller"), Caller()) as found:
        yield found


def test_a_chat_is_answered_with_its_counts_and_times(plain: Served) -> None:
    found = plain.said("Hi.", temperature=0)
    (choice,) = found["choices"]
    assert choice["message"] == {"role": "assistant", "content": "Hello there, you."}
    assert choice["finish_reason"] == "stop"
    assert found["system_fingerprint"].startswith("slipstream-")
    usage = found["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0
    assert {"prompt_n", "predicted_n", "draft_n", "draft_n_accepted", "speedup", "speedup_error"} <= {*found["timings"]}


def test_what_the_target_has_read_is_not_read_again(plain: Served) -> None:
    body = {"messages": [USER, {"role": "assistant", "content": "Hello there, you."}, USER]}
    first = plain.ask(body).json()["usage"]
    again = plain.ask(body).json()["usage"]
    assert again["prompt_tokens_details"]["cached_tokens"] == first["prompt_tokens"] - 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which program asks")
def test_nor_is_it_by_the_same_program_on_another_connection(plain: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many connect anew for each request."""

    def num_cached() -> int:
        body = {"messages": [USER, {"role": "assistant", "content": "Hello there, you."}, USER]}
        with httpx2.Client(base_url=plain.serving.address) as http:
            usage = http.post("/v1/chat/completions", json=body, timeout=60).json()["usage"]
        cached = usage["prompt_tokens_details"]["cached_tokens"]
        assert isinstance(cached, int)
        return cached

    num_cached()
    assert num_cached() > 0
    monkeypatch.setattr(
        "engine.backend.server.peers._began", lambda _process: "later"
    )  # another one, of the same number
    assert num_cached() == 0
    assert num_cached() > 0
    monkeypatch.setattr("engine.backend.server.peers._holds", lambda _process, _inode: False)
    num_cached()
    assert num_cached() == 0


def test_a_stream_tells_the_text_in_pieces_and_its_usage_at_the_end(plain: Served) -> None:
    events = plain.events({"messages": [USER], "stream_options": {"include_usage": True}})
    *chunks, last = events
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
    assert text == "Hello there, you."
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks][-1] == "stop"
    assert last["choices"] == []
    assert last["usage"]["completion_tokens"] > 0


def test_stop_texts_lengths_and_beginnings_hold(plain: Served) -> None:
    assert plain.said("Hi.", stop=" there")["choices"][0]["message"]["content"] == "Hello"
    cut = plain.said("Hi.", max_tokens=2)["choices"][0]
    assert (cut["message"]["content"], cut["finish_reason"]) == ("He", "length")
    begun = {"messages": [USER, {"role": "assistant", "content": "Hello th"}]}
    assert plain.ask(begun).json()["choices"][0]["message"]["content"] == "ere, you."


def test_logarithms_of_probabilities_spell_the_text(plain: Served) -> None:
    events = plain.events({"messages": [USER], "logprobs": True, "top_logprobs": 2, "max_tokens": 5})
    logs = [log for each in events for log in (each["choices"][0].get("logprobs") or {"content": []})["content"]]
    assert bytes(byte for log in logs for byte in log["bytes"]) == b"Hello"
    assert all(log["logprob"] <= 0 and len(log["top_logprobs"]) == 2 for log in logs)
    whole = plain.said("Hi.", logprobs=True, max_tokens=5)["choices"][0]["logprobs"]["content"]
    assert [log["token"] for log in whole] == [*"Hello"]


def test_several_replies_and_prompts_have_numbers(plain: Served) -> None:
    assert [each["index"] for each in plain.said("Hi.", n=2)["choices"]] == [0, 1]
    found = plain.ask({"prompt": ["<|im_start|>", "a"], "max_tokens": 3, "echo": True}, "/v1/completions").json()
    assert [each["index"] for each in found["choices"]] == [0, 1]
    assert found["choices"][1]["text"].startswith("a")


def test_a_form_of_the_reply_holds(plain: Served) -> None:
    schema = {"type": "object", "properties": {"a": {"enum": ["b"]}}, "required": ["a"]}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    found = plain.said("Hi.", response_format=form, max_tokens=100)
    assert json.loads(found["choices"][0]["message"]["content"]) == {"a": "b"}


def test_thoughts_stand_beside_the_answer(thinker: Served) -> None:
    message = thinker.said("2 + 2?")["choices"][0]["message"]
    assert (message["reasoning_content"], message["content"]) == (THOUGHT, ANSWER)
    deltas = [each["choices"][0]["delta"] for each in thinker.events({"messages": [USER]})]
    assert "".join(each.get("reasoning_content", "") for each in deltas) == THOUGHT
    quick = thinker.said("2 + 2?", reasoning_effort="none")["choices"][0]["message"]
    assert "reasoning_content" not in quick


def test_what_a_program_tells_the_chat_template_reaches_it(tmp_path: Path) -> None:
    template = "{{ reasoning_effort }}|{{ tone }}|{{ messages[-1].content }}"
    target = FakeTarget(says("Hello."), chat_template=template)
    with served(tmp_path, target, ServerSettings(port=ANYWHERE)) as found:
        found.said("Hi.", reasoning_effort="high", chat_template_kwargs={"tone": "dry", "enable_thinking": False})
        assert b"".join(target.vocabulary.pieces[token] for token in target.held).startswith(b"high|dry|Hi.")


def test_a_picture_is_not_read_any_longer_when_its_client_has_left(
    plain: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_up = threading.Event()

    def reads_long(path: Path, _data: bytes, stop: StopSignal) -> None:
        while not stop.is_set():
            time.sleep(0.01)
        given_up.set()
        raise Cancelled("Reading {name} was cancelled.", name=path.name)

    monkeypatch.setattr("engine.backend.server.pictures.read_picture", reads_long)
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    with pytest.raises(httpx2.ReadTimeout):
        plain.ask({"messages": [{"role": "user", "content": [url]}]}, timeout=0.3)
    assert given_up.wait(30)


def test_tools_are_called_and_their_results_answered(caller: Served) -> None:
    body = {"messages": [USER], "tools": [WEATHER]}
    choice = caller.ask(body).json()["choices"][0]
    (call,) = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls"
    assert call["function"] == {"name": "forecast", "arguments": '{"city": "Paris"}'}
    told = {"role": "tool", "tool_call_id": call["id"], "content": "Rain."}
    answered = caller.ask({**body, "messages": [USER, choice["message"], told]}).json()["choices"][0]
    assert (answered["message"]["content"], answered["finish_reason"]) == ("Take an umbrella.", "stop")
    streamed = caller.events(body)
    (delta,) = [found for each in streamed for found in each["choices"][0]["delta"].get("tool_calls", ())]
    assert delta["function"]["name"] == "forecast"


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "forecast"}}])
def test_a_tool_that_must_be_called_is_called(tmp_path: Path, choice: object) -> None:
    rest = (
        '{"city": "Oslo"}}\n</tool_call>' if isinstance(choice, dict) else 'forecast", "arguments": {"city": "Oslo"}}'
    )

    def next_token(_tokens: object) -> int:
        said = target.text.rpartition('"arguments": ' if isinstance(choice, dict) else '{"name": "')[2]
        return target.spelled(rest[len(said) :])

    target = _Opened(next_token)
    with served(tmp_path, target) as found:
        got = found.ask({"messages": [USER], "tools": [WEATHER], "tool_choice": choice}).json()["choices"][0]
        (call,) = got["message"]["tool_calls"]
        assert json.loads(call["function"]["arguments"]) == {"city": "Oslo"}
        refused = found.ask({"messages": [USER], "tools": [WEATHER], "tool_choice": {"function": {"name": "no"}}})
        assert refused.status_code == 400


class _Opened(Caller):
    def __init__(self, next_token: object) -> None:
        super().__init__()
        self.next_token = next_token  # type: ignore[assignment]

    def spelled(self, rest: str) -> int:
        from tests.fakes.target import END

        return self.tokenize(rest)[0] if rest else END


def test_the_messages_of_another_interface_are_answered_too(caller: Served, thinker: Served) -> None:
    tools = [{"name": "forecast", "input_schema": CITY}]
    body = {"model": "any", "max_tokens": 200, "messages": [USER], "tools": tools}
    found = caller.ask(body, "/v1/messages").json()
    (block,) = found["content"]
    assert (block["type"], block["name"], block["input"]) == ("tool_use", "forecast", {"city": "Paris"})
    assert found["stop_reason"] == "tool_use"
    result = {"type": "tool_result", "tool_use_id": block["id"], "content": "Rain."}
    said = [USER, {"role": "assistant", "content": [block]}, {"role": "user", "content": [result]}]
    assert caller.ask({**body, "messages": said}, "/v1/messages").json()["content"][0]["text"] == "Take an umbrella."
    events = thinker.events({"model": "any", "max_tokens": 200, "messages": [USER]}, "/v1/messages")
    kinds = [each["type"] for each in events]
    assert (kinds[0], kinds[-2:]) == ("message_start", ["message_delta", "message_stop"])
    blocks = [each["content_block"]["type"] for each in events if each["type"] == "content_block_start"]
    assert blocks == ["thinking", "text"]
    assert kinds.count("content_block_stop") == 2
    deltas = [each["delta"] for each in events if each["type"] == "content_block_delta"]
    assert "".join(each.get("text", "") for each in deltas) == ANSWER


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/chat/completions", {"messages": []}, 400),
        ("/v1/chat/completions", {"messages": [{"role": "system", "content": "Be kind."}]}, 400),
        ("/v1/chat/completions", {"messages": [USER], "temperature": 9}, 400),
        ("/v1/chat/completions", {"messages": [USER], "temperature": "hot"}, 400),
        ("/v1/chat/completions", {"messages": [USER], "max_tokens": 0}, 400),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x" * 90_000}]}, 400),
        ("/v1/chat/completions", {"messages": [USER], "response_format": {"type": "json_schema"}}, 400),
        ("/v1/chat/completions", {"messages": [USER], "grammar": "root ::= ("}, 400),
        ("/v1/chat/completions", {"messages": [USER], "chat_template_kwargs": {"a": ["b"]}}, 400),
        ("/v1/chat/completions", {"messages": [USER], "chat_template_kwargs": {"a": "b" * 300}}, 400),
        ("/v1/chat/completions", {"messages": [USER], "chat_template_kwargs": dict.fromkeys("abcdefghijklmnopq")}, 400),
        ("/v1/completions", {"prompt": [10**9]}, 400),
        ("/v1/completions", {"prompt": []}, 400),
        ("/v1/messages", {"messages": [USER], "model": "any"}, 400),
        ("/v1/embeddings", {"input": "x"}, 501),
        ("/v1/nothing", {}, 404),
    ],
)
def test_what_cannot_be_answered_gets_a_sentence(plain: Served, path: str, body: object, status: int) -> None:
    response = plain.ask(body, path)
    assert response.status_code == status
    message = response.json()["error"]["message"]
    assert message.endswith(".")
    assert "Traceback" not in response.text


def test_what_is_too_long_has_the_code_that_clients_look_for(plain: Served) -> None:
    long = plain.ask({"messages": [{"role": "user", "content": "x " * 4_000}, USER]})
    assert (long.status_code, long.json()["error"]["code"]) == (400, "context_length_exceeded")


def test_a_body_is_bounded_in_bytes_and_time(tmp_path: Path) -> None:
    limits = ServerLimits(text_bytes=1_000, body_s=0.05)
    with served(tmp_path, FakeTarget(says("Hi.")), ServerSettings(port=ANYWHERE, limits=limits)) as found:
        assert found.ask({"messages": [{"role": "user", "content": "x" * 2_000}]}).status_code == 413
        host, port = found.serving.address.removeprefix("http://").split(":")
        with closing(socket.create_connection((host, int(port)), 60)) as slow:
            slow.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n{")
            assert slow.recv(200).startswith(b"HTTP/1.1 408")
        broken = found.http.post("/v1/chat/completions", content=b'{"messages": [')
        assert broken.status_code == 400


def test_all_requests_together_are_bounded_and_given_back(tmp_path: Path) -> None:
    target = Thinker()
    target.waits_after = 3
    settings = ServerSettings(port=ANYWHERE, limits=ServerLimits(held_bytes=60_000))
    large = {"messages": [{"role": "user", "content": "x" * 10_000}]}
    with served(tmp_path, target, settings) as found:
        first = threading.Thread(target=lambda: found.ask({"messages": [USER], "user": "x" * 10_000}))
        first.start()
        assert target.is_waiting.wait(60)
        refused = found.ask(large)
        target.waits_after = None
        target.go_on.set()
        first.join(60)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        assert refused.json()["error"]["message"].endswith(".")
        assert found.ask(large).status_code != 503


def test_a_client_that_goes_away_stops_its_reply_and_the_next_one_is_answered(tmp_path: Path) -> None:
    is_writing, go_on = threading.Event(), threading.Event()
    target = FakeTarget(says("a" * 2_000), 4_096)

    def wait() -> None:
        if b"".join(target.vocabulary.pieces[each] for each in target.held[-9:]) == b"a" * 9:
            is_writing.set()
            go_on.wait(60)

    target.on_evaluate = wait
    with served(tmp_path, target) as found:
        with found.http.stream("POST", "/v1/chat/completions", json={"messages": [USER], "stream": True}) as response:
            lines = response.iter_lines()  # dropped, it would end the connection
            next(lines)
            assert is_writing.wait(60)
        num_held = len(target.held)
        go_on.set()
        found.said("Hi.", max_tokens=1)
        assert len(target.held) < num_held + 100


def test_more_requests_than_may_wait_are_refused(tmp_path: Path) -> None:
    target = Thinker()
    target.waits_after = 3
    settings = ServerSettings(port=ANYWHERE, limits=ServerLimits(waiting=1))
    statuses: list[int] = []
    with served(tmp_path, target, settings) as found:
        asking = [threading.Thread(target=lambda: statuses.append(found.ask({"messages": [USER]}).status_code))]
        asking[0].start()
        assert target.is_waiting.wait(60)
        second = threading.Thread(target=lambda: statuses.append(found.ask({"messages": [USER]}).status_code))
        second.start()
        while not found.http.get("/props").json()["requests_waiting"]:
            pass
        refused = found.ask({"messages": [USER]})
        target.waits_after = None
        target.go_on.set()
        for each in (*asking, second):
            each.join(60)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert statuses == [200, 200]


def test_only_what_is_allowed_is_remembered(tmp_path: Path) -> None:
    """And what goes on from a reply is the same chat."""
    key = Clients(tmp_path).add("my editor", is_remembered=True)
    mine = {"Authorization": f"Bearer {key}"}
    with served(tmp_path, FakeTarget(says("Hello there, you."), 4_096)) as found:
        found.said("Hi.")
        first = found.ask({"messages": [USER]}, headers=mine).json()["choices"][0]["message"]
        found.ask({"messages": [USER, first, {"role": "user", "content": "And now?"}]}, headers=mine)
        with closing(Repository.open(tmp_path)) as repository:
            (chat,) = repository.list_conversations()
            messages = repository.open_conversation(chat.id).messages
    assert chat.title == "my editor: Hello."
    assert [each.text for each in messages] == ["Hello.", "Hello there, you.", "And now?", "Hello there, you."]


def test_the_address_must_be_free_and_keyed_where_others_reach_it(tmp_path: Path, plain: Served) -> None:
    port = int(plain.serving.address.rpartition(":")[2])

    def opening(settings: ServerSettings) -> str:
        return Server(settings, tmp_path, FakeServed()).open()

    with pytest.raises(NotPossible, match="Another program already uses port"):
        opening(ServerSettings(port=port))
    with pytest.raises(SettingInvalid, match="needs a key"):
        opening(ServerSettings("0.0.0.0", ANYWHERE))
    with pytest.raises(NotPossible, match="not an address of this computer"):
        opening(ServerSettings("nowhere.invalid", ANYWHERE, needs_key=True)) if Clients(tmp_path).add("x") else None


def test_whose_program_asks_is_looked_up_for_each_connection(plain: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    user = os.getuid()
    with httpx2.Client(base_url=plain.serving.address) as own:
        assert own.get("/v1/models").status_code == 200
        with monkeypatch.context() as patch, httpx2.Client(base_url=plain.serving.address) as other:
            patch.setattr(os, "getuid", lambda: user + 1)
            told = other.get("/v1/models")
            assert own.get("/v1/models").status_code == 200
        assert (told.status_code, told.json()["error"]["code"]) == (401, "invalid_api_key")
        assert "other users" in told.json()["error"]["message"]


def test_where_the_system_does_not_tell_whose_program_asks_every_one_needs_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.backend.server.serving.tells_users", lambda: False)
    monkeypatch.setattr("engine.backend.server.connections.own_socket", lambda *_: 0)
    with served(tmp_path, FakeTarget(says("Hi."))) as found:
        assert found.serving.needs_key
        assert found.http.get("/v1/models").status_code == 401
        key = Clients(tmp_path).add("editor")
        assert found.http.get("/v1/models", headers={"Authorization": f"Bearer {key}"}).status_code == 200


def test_what_the_server_is_and_has(plain: Served) -> None:
    assert plain.http.get("/health").json() == {"status": "ok"}
    (model,) = plain.http.get("/v1/models").json()["data"]
    assert plain.http.get(f"/v1/models/{model['id']}").json()["id"] == model["id"] == "fake"
    assert plain.http.get("/v1/models/other").status_code == 404
    props = plain.http.get("/props").json()
    assert props["default_generation_settings"]["n_ctx"] == 4_096
    assert (props["model_alias"], "/" in json.dumps(props)) == ("fake", False)


@pytest.mark.parametrize("base", ["/v1", "", "/v1/", "/", "/v1/v1", "/v1//v1/", "/api/v1", "/openai/v1"])
def test_a_base_address_may_have_too_much_or_too_little(plain: Served, base: str) -> None:
    address = plain.serving.address
    assert plain.http.get(f"{address}{base}/models").json()["data"][0]["id"] == "fake"
    assert plain.http.get(f"{address}{base}/models/").status_code == 200
    told = plain.http.post(f"{address}{base}/messages", json={"messages": []})
    assert (told.status_code, told.json()["type"]) == (400, "error"), "in the form of this interface"
    chat = plain.http.post(f"{address}{base}/chat/completions/", json={"messages": [USER], "max_tokens": 1})
    assert chat.status_code == 200
    assert plain.http.get(f"{address}{base}").status_code == 200


@pytest.mark.parametrize(
    "said",
    [
        [{"text": "Hello."}],
        [{"type": "text", "text": "Hello."}, {"type": "text", "text": ""}],
    ],
)
def test_what_can_be_understood_is_answered(plain: Served, said: object) -> None:
    user = {"role": "User", "content": said}
    thoughtful = {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Hi."}],
    }
    reasoned = {"role": "assistant", "content": "Hi.", "reasoning": "Hm."}
    more = {"stop": [None, "you", ""], "tools": [], "tool_choice": None, "stream_options": None, "max_tokens": None}
    for reply in (thoughtful, reasoned):
        got = plain.ask({"messages": [user, reply, user], **more})
        assert got.status_code == 200, got.text
        assert got.json()["choices"][0]["message"]["content"] == "Hello there, "


PICTURE = b64encode(b"no picture").decode()


def test_a_picture_that_a_tool_returned_is_told_to_a_model_that_sees_none(caller: Served) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "forecast", "arguments": ""}}
    parts = [{"type": "text", "text": "Rain."}, {"type": "image_url", "image_url": f"data:image/png;base64,{PICTURE}"}]
    result = {"role": "tool", "tool_call_id": "1", "content": parts}
    body = {
        "messages": [USER, {"role": "assistant", "content": None, "tool_calls": [call]}, result],
        "tools": [WEATHER],
    }
    assert caller.ask(body).json()["choices"][0]["message"]["content"] == "Take an umbrella."
    assert "Rain.\n\n[picture]" in caller.target.text
    source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    block = {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "image", "source": source}]}
    used = {"type": "tool_use", "id": "1", "name": "forecast", "input": {}}
    said = [USER, {"role": "assistant", "content": [used]}, {"role": "user", "content": [block]}]
    tools = [{"name": "forecast", "input_schema": CITY}]
    answered = caller.ask({"model": "any", "max_tokens": 99, "messages": said, "tools": tools}, "/v1/messages")
    assert answered.json()["content"][0]["text"] == "Take an umbrella."
    assert "<tool_response>\n[picture]" in caller.target.text


def test_the_tokens_of_a_prompt_are_counted(caller: Served) -> None:
    body = {"model": "any", "messages": [USER], "tools": [{"name": "forecast", "input_schema": CITY}]}
    counted = caller.ask(body, "/v1/messages/count_tokens").json()
    answered = caller.ask({**body, "max_tokens": 1}, "/v1/messages").json()["usage"]
    assert counted == {"input_tokens": answered["input_tokens"] + answered["cache_read_input_tokens"]}
    long = {"model": "any", "messages": [{"role": "user", "content": "x " * 9_000}]}
    assert caller.ask(long, "/v1/messages/count_tokens").status_code == 400


def test_a_document_that_is_sent_as_text_is_read(caller: Served) -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "The cellar is dry."}
    document: dict[str, object] = {"type": "document", "title": "House", "source": source}
    blocks = [document, {"type": "text", "text": "Is it?"}]
    body = {"model": "any", "max_tokens": 9, "messages": [{"role": "user", "content": blocks}]}
    assert caller.ask(body, "/v1/messages").status_code == 200
    assert "House\n\nThe cellar is dry.\n\nIs it?" in caller.target.text
    document["source"] = {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}
    refused = caller.ask(body, "/v1/messages")
    assert (refused.status_code, "send their text" in refused.text) == (400, True)


@pytest.mark.parametrize("system", [[], [{"role": "system", "content": "Be kind."}]])
def test_tools_are_described_where_a_template_has_no_place_for_them(tmp_path: Path, system: list[object]) -> None:
    target = Caller(chat_template=CHATML)
    with served(tmp_path, target) as found:
        assert not found.http.get("/props").json()["calls_tools"], "it was not taught to"
        body = {"messages": [*system, USER], "tools": [WEATHER]}
        message = found.ask(body).json()["choices"][0]["message"]
        (call,) = message["tool_calls"]
        assert call["function"] == {"name": "forecast", "arguments": '{"city": "Paris"}'}
        told = {"role": "tool", "tool_call_id": call["id"], "content": "Rain."}
        answered = found.ask({**body, "messages": [*system, USER, message, told]}).json()["choices"][0]
        assert (answered["message"]["content"], answered["finish_reason"]) == ("Take an umbrella.", "stop")
        beginning, _, rest = target.text.partition("<|im_end|>")
        assert beginning.startswith("<|im_start|>system\n" + ("Be kind.\n\n" if system else ""))
        assert '"name": "forecast"' in beginning
        assert CALL in rest
        assert "<tool_response>\nRain.\n</tool_response>" in rest


def test_a_model_that_only_goes_on_with_a_text_is_given_no_tools(tmp_path: Path) -> None:
    with served(tmp_path, Caller(chat_template=TEXT)) as found:
        refused = found.ask({"messages": [USER], "tools": [WEATHER]})
        assert (refused.status_code, "cannot use tools" in refused.text) == (400, True)


def test_a_reply_with_tools_and_a_form_is_a_call_or_has_the_form(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"sky": {"enum": ["grey"]}}, "required": ["sky"]}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    target = Caller(CALL, '{"sky": "blue"}')
    with served(tmp_path, target) as found:
        body = {"messages": [USER], "tools": [WEATHER], "response_format": form, "max_tokens": 300}
        message = found.ask(body).json()["choices"][0]["message"]
        assert message["tool_calls"][0]["function"]["name"] == "forecast"
        told = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "Rain."}
        answered = found.ask({**body, "messages": [USER, message, told]}).json()["choices"][0]["message"]
        assert json.loads(answered["content"]) == {"sky": "grey"}, "whatever it would like to write"
        plain = found.ask({**body, "tool_choice": "none"}).json()["choices"][0]["message"]
        assert json.loads(plain["content"]) == {"sky": "grey"}
