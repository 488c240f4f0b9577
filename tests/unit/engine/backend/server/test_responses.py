"""OpenAI's Responses interface over HTTP, with fake targets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.backend.server import response_replies
from engine.backend.server.clients import Clients
from engine.backend.server.refusals import RequestRefused
from engine.backend.server.response_replies import KeptResponses
from engine.values.conversations import ChatTurn, Role
from engine.values.owner import USER, Owner
from engine.values.pictures import Picture
from tests.fakes.caller import Caller
from tests.fakes.served import Served, served
from tests.fakes.target import FakeTarget, says
from tests.fakes.thinker import ANSWER, THOUGHT, Thinker

PATH = "/v1/responses"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
FORECAST = {"type": "function", "name": "forecast", "parameters": CITY, "strict": False}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("plain"), FakeTarget(says("Hello there, you."), 4_096)) as found:
        yield found


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("caller"), Caller()) as found:
        yield found


def message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "output_text" if role == "assistant" else "input_text", "text": text}]}


def answered(found: Served, told: Any, **more: Any) -> dict[str, Any]:
    response = found.ask({"model": "any", "input": told, **more}, PATH)
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


def test_a_text_is_answered(plain: Served) -> None:
    found = answered(plain, "Hi.", instructions="Be kind.", metadata={"a": "b"})
    (item,) = found["output"]
    assert (item["type"], item["role"], item["content"][0]["text"]) == ("message", "assistant", "Hello there, you.")
    assert (found["object"], found["status"], found["store"]) == ("response", "completed", False)
    usage = found["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0
    assert "Be kind." in plain.target.text
    cut = answered(plain, "Hi.", max_output_tokens=2)
    assert (cut["status"], cut["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})


def test_a_stream_has_each_item_begun_written_and_ended(tmp_path: Path) -> None:
    with served(tmp_path, Thinker()) as found:
        events = found.events({"model": "any", "input": "2 + 2?"}, PATH)
        whole = answered(found, "2 + 2?")
        quick = answered(found, "2 + 2?", reasoning={"effort": "none"})
    assert [each["sequence_number"] for each in events] == [*range(len(events))]
    kinds = [each["type"] for each in events]
    assert (kinds[:2], kinds[-1]) == (["response.created", "response.in_progress"], "response.completed")
    added = [each["item"] for each in events if each["type"] == "response.output_item.added"]
    done = [each["item"] for each in events if each["type"] == "response.output_item.done"]
    assert [each["type"] for each in added] == [each["type"] for each in done] == ["reasoning", "message"]
    assert [each["id"] for each in added] == [each["id"] for each in done]
    for kind, text in (("reasoning_text", THOUGHT), ("output_text", ANSWER)):
        deltas = [each["delta"] for each in events if each["type"] == f"response.{kind}.delta"]
        (ended,) = [each["text"] for each in events if each["type"] == f"response.{kind}.done"]
        assert ("".join(deltas), ended) == (text, text)
    assert [each["type"] for each in whole["output"]] == ["reasoning", "message"]
    assert events[-1]["response"]["output"] == done
    assert [each["type"] for each in quick["output"]] == ["message"]


def test_tools_are_called_and_their_results_answered(caller: Served) -> None:
    others = [{"type": "web_search"}, {"type": "custom", "name": "patch"}]  # the first is nobody's here
    asked = [message("user", "How is it?")]
    found = answered(caller, asked, tools=[FORECAST, *others])
    (call,) = found["output"]
    assert (call["type"], call["name"], call["arguments"]) == ("function_call", "forecast", '{"city": "Paris"}')
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "Rain."}
    thought = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]}
    again = answered(caller, [*asked, thought, call, result], tools=[FORECAST])
    assert again["output"][0]["content"][0]["text"] == "Take an umbrella."
    assert caller.target.text.count('<tool_call>\n{"name": "forecast"') == 1
    events = caller.events({"model": "any", "input": asked, "tools": [FORECAST]}, PATH)
    (ended,) = [each for each in events if each["type"] == "response.function_call_arguments.done"]
    assert json.loads(ended["arguments"]) == {"city": "Paris"}
    assert events[-1]["response"]["output"][0]["type"] == "function_call"


def test_a_tool_may_take_any_text(tmp_path: Path) -> None:
    call = '{"name": "patch", "arguments": {"input": "+ a"}}'
    with served(tmp_path, Caller(f"<tool_call>\n{call}\n</tool_call>")) as found:
        tools = [{"type": "custom", "name": "patch", "format": {"type": "text"}}]
        (made,) = answered(found, "Add a.", tools=tools)["output"]
        assert (made["type"], made["input"]) == ("custom_tool_call", "+ a")
        result = {"type": "custom_tool_call_output", "call_id": made["call_id"], "output": "Done."}
        answered(found, [message("user", "Add a."), made, result], tools=tools)
        assert '{"input": "+ a"}' in found.target.text
        assert "Done." in found.target.text


def test_a_form_of_the_text_holds(plain: Served) -> None:
    schema = {"type": "object", "properties": {"a": {"enum": ["b"]}}, "required": ["a"]}
    text = {"format": {"type": "json_schema", "name": "x", "schema": schema, "strict": True}}
    found = answered(plain, "Hi.", text=text)
    assert json.loads(found["output"][0]["content"][0]["text"]) == {"a": "b"}


def test_only_a_program_that_may_be_remembered_goes_on_from_its_responses(tmp_path: Path) -> None:
    mine, other = (
        {"Authorization": f"Bearer {Clients(tmp_path).add(name, is_remembered=True)}"} for name in ("mine", "other")
    )
    with served(tmp_path, FakeTarget(says("Hello there, you."), 4_096)) as found:

        def ask(told: str, headers: dict[str, str], **more: object) -> Any:
            return found.ask({"model": "any", "input": told, **more}, PATH, headers=headers)

        forgotten = ask("First.", {}).json()["id"]
        assert ask("Second.", {}, previous_response_id=forgotten).status_code == 400
        first = ask("First.", mine, instructions="Be brief.").json()
        assert first["store"]
        second = ask("Second.", mine, previous_response_id=first["id"])
        assert second.status_code == 200, second.text
        assert [part in found.target.text for part in ("First.", "Second.", "Be brief.")] == [True, True, False]
        refused = ask("Second.", other, previous_response_id=first["id"])
        assert (refused.status_code, "whole conversation" in refused.text) == (400, True)
        unkept = ask("Third.", mine, store=False).json()
        assert ask("Fourth.", mine, previous_response_id=unkept["id"]).status_code == 400


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_replies, "_MOST_KEPT", 3)
    monkeypatch.setattr(response_replies, "_MOST_KEPT_SIZE", 10)
    kept, owner = KeptResponses(), Owner("program", False)
    for name in "abcd":
        kept.keep(owner, name, [ChatTurn(Role.USER, name)])
    assert kept.turns(owner, "d") == (ChatTurn(Role.USER, "d"),)
    kept.keep(owner, "e", [ChatTurn(Role.USER, "x" * 9)])
    for name in "abc":
        with pytest.raises(RequestRefused):
            kept.turns(owner, name)
    picture = ChatTurn(Role.USER, "", pictures=(Picture("digest", b"x" * 11, 1, 1),))
    kept.keep(owner, "f", [picture])
    for name in "ef":
        with pytest.raises(RequestRefused):
            kept.turns(owner, name)
    with pytest.raises(RequestRefused):
        kept.turns(USER, "e")
    assert kept.turns(USER, None) == ()


@pytest.mark.parametrize(
    "more",
    [
        {"input": []},
        {"input": [{"type": "item_reference", "id": "msg_1"}]},
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "1"}]}]},
        {"input": [{"role": "assistant", "content": [{"type": "input_image", "image_url": "data:,"}]}]},
        {"input": "Hi.", "background": True},
        {"input": "Hi.", "conversation": "conv_1"},
        {"input": "Hi.", "previous_response_id": "resp_1"},
        {"input": "Hi.", "tool_choice": {"type": "web_search_preview"}},
        {"input": "Hi.", "tool_choice": "required"},
        {"input": "Hi.", "tools": [{"type": "function"}]},
        {"input": "Hi.", "max_output_tokens": 0},
        {"input": 3},
    ],
)
def test_what_is_not_offered_gets_a_sentence(plain: Served, more: dict[str, Any]) -> None:
    refused = plain.ask({"model": "any", **more}, PATH)
    assert refused.status_code == 400, refused.text
    assert refused.json()["error"]["message"].endswith(".")
