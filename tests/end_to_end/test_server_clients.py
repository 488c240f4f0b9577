"""Clients that others wrote, as they come: each is left out where it is not installed (`pip install openai anthropic
litellm llm`)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.values.serving import ServerSettings
from tests.fakes.caller import Caller
from tests.fakes.served import ANYWHERE, Served, served
from tests.fakes.target import FakeTarget, says
from tests.fakes.thinker import ANSWER, THOUGHT, Thinker
from tests.fakes.tiny_models import tiny_bert

TEXT = "Hello there, you."
USER: Any = {"role": "user", "content": "Hello."}
PLACE = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOL: Any = {"type": "function", "function": {"name": "forecast", "parameters": PLACE}}
CITY = {"type": "object", "properties": {"a": {"enum": ["b"]}}, "required": ["a"], "additionalProperties": False}

pytestmark = [
    pytest.mark.filterwarnings("default"),  # what others warn of
    pytest.mark.timeout(300),  # litellm takes half a minute to import on a busy machine
]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("plain"), FakeTarget(says(TEXT), 4_096)) as found:
        yield found


@pytest.fixture(scope="module")
def thinker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("thinker"), Thinker()) as found:
        yield found


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("caller"), Caller()) as found:
        yield found


def test_openai(plain: Served, thinker: Served, caller: Served) -> None:
    openai = pytest.importorskip("openai")

    def client(found: Served) -> Any:
        return openai.OpenAI(base_url=f"{found.serving.address}/v1", api_key="none", max_retries=0)

    with client(plain) as to:
        assert [each.id for each in to.models.list()] == ["fake"]
        whole = to.chat.completions.create(model="fake", messages=[USER], seed=1, logprobs=True, top_logprobs=2)
        assert whole.choices[0].message.content == TEXT
        assert "".join(each.token for each in whole.choices[0].logprobs.content) == TEXT
        assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
        stream = to.chat.completions.create(
            model="fake", messages=[USER], stream=True, stream_options={"include_usage": True}
        )
        chunks = list(stream)
        assert "".join(each.choices[0].delta.content or "" for each in chunks if each.choices) == TEXT
        assert chunks[-1].usage.completion_tokens > 0
        expected: Any = {"type": "content", "content": TEXT}
        assert to.chat.completions.create(model="fake", messages=[USER], prediction=expected).choices[0].message.content
        assert to.completions.create(model="fake", prompt="<|im_start|>assistant\n").choices[0].text == TEXT[:16]
        form: Any = {"type": "json_schema", "json_schema": {"name": "x", "schema": CITY, "strict": True}}
        formed = to.chat.completions.create(model="fake", messages=[USER], response_format=form, max_tokens=50)
        assert json.loads(formed.choices[0].message.content) == {"a": "b"}
        with pytest.raises(openai.BadRequestError, match=r"Temperature is 5\.5"):
            to.chat.completions.create(model="fake", messages=[USER], temperature=5.5)
        with pytest.raises(openai.InternalServerError, match="embeddings"):
            to.embeddings.create(model="fake", input="x")
    with client(thinker) as to:
        assert to.chat.completions.create(model="x", messages=[USER]).choices[0].message.reasoning_content == THOUGHT
    with client(caller) as to:
        message = to.chat.completions.create(model="x", messages=[USER], tools=[TOOL]).choices[0].message
        (call,) = message.tool_calls
        told = {"role": "tool", "tool_call_id": call.id, "content": "Rain."}
        messages: Any = [USER, message, told]
        answered = to.chat.completions.create(model="x", messages=messages, tools=[TOOL]).choices[0].message
        assert (call.function.name, answered.content) == ("forecast", "Take an umbrella.")


def test_openai_embeddings(tmp_path: Path) -> None:
    openai = pytest.importorskip("openai")
    settings = ServerSettings(port=ANYWHERE, embeddings=tiny_bert(tmp_path / "tiny.gguf"))
    with served(tmp_path / "data", FakeTarget(says(TEXT)), settings) as found:
        to = openai.OpenAI(base_url=f"{found.serving.address}/v1", api_key="none", max_retries=0)
        made = to.embeddings.create(model="tiny", input=["abc", "a b"])  # asks for base64 by itself
        told = to.embeddings.create(model="tiny", input="abc", encoding_format="float")
        with pytest.raises(openai.BadRequestError, match="vectors of 64 numbers"):
            to.embeddings.create(model="tiny", input="abc", dimensions=8)
        to.close()
    assert [len(each.embedding) for each in made.data] == [64, 64]
    assert made.data[0].embedding == pytest.approx(told.data[0].embedding, abs=1e-6)
    assert made.usage.prompt_tokens == made.usage.total_tokens > 0


def test_anthropic(plain: Served, thinker: Served, caller: Served) -> None:
    anthropic = pytest.importorskip("anthropic")

    def client(found: Served) -> Any:
        return anthropic.Anthropic(base_url=found.serving.address, api_key="none", max_retries=0)

    with client(plain) as to:
        whole = to.messages.create(model="fake", max_tokens=50, messages=[USER], stop_sequences=[" there"])
        assert (whole.content[0].text, whole.stop_reason) == ("Hello", "stop_sequence")
        with pytest.raises(anthropic.BadRequestError, match="no message of a user"):
            to.messages.create(model="fake", max_tokens=5, messages=[{"role": "assistant", "content": "x"}])
    with client(thinker) as to, to.messages.stream(model="fake", max_tokens=200, messages=[USER]) as stream:
        assert "".join(stream.text_stream) == ANSWER
        final = stream.get_final_message()
        assert [each.type for each in final.content] == ["thinking", "text"]
        assert final.content[0].thinking == THOUGHT
    tools: Any = [{"name": "forecast", "input_schema": PLACE}]
    with client(caller) as to:
        with to.messages.stream(model="fake", max_tokens=200, messages=[USER], tools=tools) as stream:
            (block,) = stream.get_final_message().content
        assert (block.name, block.input) == ("forecast", {"city": "Paris"})


def test_litellm(plain: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it fetches one
    litellm = pytest.importorskip("litellm")
    to: Any = {"model": "openai/fake", "api_base": f"{plain.serving.address}/v1", "api_key": "none"}
    assert litellm.completion(messages=[USER], **to).choices[0].message.content == TEXT
    chunks = litellm.completion(messages=[USER], stream=True, **to)
    assert "".join(each.choices[0].delta.content or "" for each in chunks) == TEXT
    with pytest.raises(litellm.ContextWindowExceededError):
        litellm.completion(messages=[{"role": "user", "content": "x " * 4_000}], **to)
    messages: Any = {"model": "anthropic/fake", "api_base": plain.serving.address, "api_key": "none"}
    assert litellm.completion(messages=[USER], **messages).choices[0].message.content == TEXT


def test_llm(plain: Served, tmp_path: Path) -> None:
    pytest.importorskip("llm")
    (tmp_path / "extra-openai-models.yaml").write_text(
        f"- model_id: here\n  model_name: fake\n  api_base: {plain.serving.address}/v1\n  api_key_name: none\n"
    )
    found = subprocess.run(
        [sys.executable, "-m", "llm", "-m", "here", "--key", "none", "Hello."],
        env={**os.environ, "LLM_USER_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert found.stdout.strip() == TEXT, found.stderr


def test_curl(plain: Served) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    address = f"{plain.serving.address}/v1/chat/completions"

    def curl(*options: str) -> str:
        return subprocess.run(["curl", "-sN", *options, address], capture_output=True, text=True, check=True).stdout

    body = json.dumps({"messages": [USER], "stream": True})
    lines = curl("-d", body).split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    assert "origin_not_allowed" in curl("-d", body, "-H", "Origin: http://example.org")
