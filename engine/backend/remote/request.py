"""What a server is asked: the body of a chat completion, with the fields that this kind of server knows."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from typing import Any

from engine.speculation.replies.writing import Prepared
from engine.values.config import ReplySettings
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import NotPossible
from engine.values.pictures import Picture
from engine.values.remote import ServerKind
from engine.values.tools import Tool, ToolCall, told_names

_PNG = b"\x89PNG"
# Names of what `SamplingSettings` has, beyond what OpenAI's interface knows.
_OF_LLAMA_CPP = {
    "top_k": "top_k",
    "min_p": "min_p",
    "repetition_penalty": "repeat_penalty",
    "top_n_sigma": "top_n_sigma",
    "xtc_probability": "xtc_probability",
    "xtc_threshold": "xtc_threshold",
    "temperature_range": "dynatemp_range",
    "temperature_exponent": "dynatemp_exponent",
    "dry_multiplier": "dry_multiplier",
    "dry_base": "dry_base",
    "dry_length": "dry_allowed_length",
}
_OF_VLLM = {"top_k": "top_k", "min_p": "min_p", "repetition_penalty": "repetition_penalty"}
_MORE: dict[ServerKind, dict[str, str]] = {
    ServerKind.LLAMA_SERVER: _OF_LLAMA_CPP,
    ServerKind.SLIPSTREAM: _OF_LLAMA_CPP,
    ServerKind.VLLM: _OF_VLLM,
    ServerKind.SGLANG: _OF_VLLM,
    ServerKind.LM_STUDIO: {"top_k": "top_k", "min_p": "min_p", "repetition_penalty": "repeat_penalty"},
}
_SEEDS = 2**32  # that all of them take
_TELLS_CONTINUING = (ServerKind.LLAMA_SERVER, ServerKind.VLLM, ServerKind.SGLANG)  # by fields of their own
_TAKES_TEMPLATE = (ServerKind.LLAMA_SERVER, ServerKind.VLLM, ServerKind.SGLANG, ServerKind.SLIPSTREAM)
_TAKES_GBNF = (ServerKind.LLAMA_SERVER, ServerKind.SLIPSTREAM)


def body_of(prepared: Prepared, model: str, kind: ServerKind, settings: ReplySettings) -> dict[str, Any]:
    """Raises NotPossible for what such a server cannot do."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [*_messages(prepared)],
        "stream": True,
        "stream_options": {"include_usage": True},
        **_sampled(settings, kind),
    }
    if settings.stop_strings:
        body["stop"] = [*settings.stop_strings]
    if settings.max_tokens is not None:
        body["max_tokens"] = settings.max_tokens
    if prepared.tools:
        body["tools"] = [*_tools(prepared.tools)]
    if prepared.begun and kind in _TELLS_CONTINUING:
        body |= {"continue_final_message": True, "add_generation_prompt": False}
    if kind is ServerKind.LLAMA_SERVER:
        body["timings_per_token"] = True
    if kind is ServerKind.VLLM:
        body["stream_options"]["continuous_usage_stats"] = True
    thinks = False if prepared.begun else prepared.thinks  # a reply that has begun is past its thoughts
    if thinks is not None and kind in _TAKES_TEMPLATE:
        body["chat_template_kwargs"] = {"enable_thinking": thinks}
    return body


def _sampled(settings: ReplySettings, kind: ServerKind) -> dict[str, Any]:
    sampling = settings.sampling
    body: dict[str, Any] = {"temperature": sampling.temperature, "top_p": sampling.top_p}
    for name in ("presence_penalty", "frequency_penalty"):
        if getattr(sampling, name):
            body[name] = getattr(sampling, name)
    if sampling.seed is not None:
        body["seed"] = sampling.seed % _SEEDS
    for name, theirs in _MORE.get(kind, {}).items():
        value = getattr(sampling, name)
        if name == "top_k" and not value and kind in (ServerKind.VLLM, ServerKind.SGLANG):
            value = -1  # all of them
        body[theirs] = value
    if sampling.grammar.strip():
        body |= _form(sampling.grammar, kind)
    if sampling.banned_words.strip() or sampling.logit_bias.strip():
        raise NotPossible(
            "Words can be banned or made likelier only in models on this computer; remove these settings from the chat."
        )
    return body


def _form(grammar: str, kind: ServerKind) -> dict[str, Any]:
    if grammar.lstrip().startswith("{"):
        try:
            schema = json.loads(grammar)
        except (ValueError, RecursionError):
            raise NotPossible("The reply format is not a JSON schema; fix it in the chat's settings.") from None
        about = {"name": "reply", "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": about}}
    if kind not in _TAKES_GBNF:
        raise NotPossible(
            "This server accepts no GBNF grammar; set the reply format as a JSON schema, or choose a model on this "
            "computer."
        )
    return {"grammar": grammar}


def _messages(prepared: Prepared) -> Iterator[dict[str, Any]]:
    names = {(tool.server, tool.name): name for name, tool in told_names(prepared.tools).items()}
    for turn in prepared.turns:
        yield _message(turn, names)
    if prepared.begun:
        yield {"role": Role.ASSISTANT.value, "content": prepared.begun}


def _message(turn: ChatTurn, names: dict[tuple[str, str], str]) -> dict[str, Any]:
    if turn.answers is not None:
        return {"role": Role.TOOL.value, "tool_call_id": turn.answers.id, "content": turn.text}
    if turn.calls:
        calls = [_call(each, names) for each in turn.calls]
        return {"role": turn.role.value, "content": turn.text or None, "tool_calls": calls}
    if turn.pictures:
        parts: list[dict[str, Any]] = [_picture(each) for each in turn.pictures]
        return {"role": turn.role.value, "content": [*parts, {"type": "text", "text": turn.text}]}
    return {"role": turn.role.value, "content": turn.text}


def _call(call: ToolCall, names: dict[tuple[str, str], str]) -> dict[str, Any]:
    about = {"name": names.get((call.server, call.tool), call.tool), "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": about}


def _picture(picture: Picture) -> dict[str, Any]:
    kind = "png" if picture.data.startswith(_PNG) else "jpeg"
    data = base64.b64encode(picture.data).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/{kind};base64,{data}"}}


def _tools(tools: Sequence[Tool]) -> Iterator[dict[str, Any]]:
    for name, tool in told_names(tools).items():
        try:
            schema = json.loads(tool.schema)
        except (ValueError, RecursionError):
            schema = {}
        parameters = schema if isinstance(schema, dict) and schema else {"type": "object", "properties": {}}
        about = {"name": name, "description": tool.description, "parameters": parameters}
        yield {"type": "function", "function": about}
