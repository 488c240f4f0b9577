"""Requests of OpenAI's interface: /v1/chat/completions and /v1/completions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from engine.backend.server.pictures import PictureReader
from engine.backend.server.refusals import invalid
from engine.backend.server.sampling import Count, Lenient, Name, SampledRequest, Some, checked_count, checked_sampling
from engine.values.asked import MOST_LOGS, Asked, Names
from engine.values.conversations import ChatTurn, Role
from engine.values.pictures import Picture
from engine.values.tools import Tool, ToolCall

MOST_TOOLS = 128
_MOST_PROMPTS = 16
_MOST_NAMES = 16  # that a chat template is told
_LONGEST_NAME = 200  # characters, with its value
_SWITCH = "enable_thinking"


class ImageUrl(Lenient):
    url: str


class Part(Lenient):
    type: Name = "text"
    text: str | None = None
    thinking: str | None = None
    image_url: ImageUrl | str | None = None
    refusal: str | None = None


class Function(Lenient):
    name: Annotated[str, Field(min_length=1, max_length=200)]
    arguments: str | dict[str, Any] = "{}"


class Call(Lenient):
    id: Name | None = None
    type: Literal["function"] = "function"
    function: Function


class ChatMessage(Lenient):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | Some[Part] | None = None
    tool_calls: Some[Call] | None = None
    tool_call_id: Name | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None  # as OpenRouter and vLLM name it
    name: Name | None = None

    @field_validator("role", mode="before")
    @classmethod
    def _small(cls, role: object) -> object:
        return role.lower() if isinstance(role, str) else role

    @field_validator("reasoning", mode="before")
    @classmethod
    def _words(cls, told: object) -> object:
        return told if isinstance(told, str) else None


class DeclaredFunction(Lenient):
    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: str | None = None
    parameters: dict[str, Any] | None = None


class DeclaredTool(Lenient):
    type: Literal["function"] = "function"
    function: DeclaredFunction

    @model_validator(mode="before")
    @classmethod
    def _nested(cls, told: object) -> object:
        return _with_function(told)


class ChosenFunction(Lenient):
    name: Name


class ChosenTool(Lenient):
    type: Literal["function"] = "function"
    function: ChosenFunction

    @model_validator(mode="before")
    @classmethod
    def _nested(cls, told: object) -> object:
        return _with_function(told)


def _with_function(told: object) -> object:
    """What the Responses interface writes flat, as that of chats has it."""
    is_flat = isinstance(told, dict) and "function" not in told and "name" in told
    return {"type": told.get("type", "function"), "function": told} if is_flat and isinstance(told, dict) else told


class ChatRequest(SampledRequest):
    messages: Annotated[Some[ChatMessage], Field(min_length=1)]
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=MOST_LOGS)] | None = None
    tools: Annotated[Some[DeclaredTool], Field(max_length=MOST_TOOLS)] | None = None
    tool_choice: Literal["none", "auto", "required"] | ChosenTool | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: Name | None = None
    chat_template_kwargs: dict[str, Any] | None = None


class CompletionRequest(SampledRequest):
    prompt: str | Some[int] | Some[str] | Some[Some[int]]
    max_tokens: Count | None = None
    logprobs: Annotated[int, Field(ge=0, le=MOST_LOGS)] | None = None
    echo: bool | None = None
    suffix: str | None = None
    best_of: int | None = None

    @field_validator("prompt", mode="before")
    @classmethod
    def _check_number(cls, prompt: object) -> object:
        if isinstance(prompt, list) and len(prompt) > _MOST_PROMPTS and not isinstance(prompt[0], int):
            raise ValueError(f"there may be {_MOST_PROMPTS} prompts in one request")
        return prompt


@dataclass(frozen=True, slots=True)
class Wanted:
    """Replies that one request asks for, each of which is answered in its turn."""

    replies: tuple[Asked, ...]
    is_streamed: bool
    tells_usage: bool = False
    echoes: tuple[str, ...] = ()  # what each is to begin with, which was asked
    is_parallel: bool = True  # several calls at once


async def read_chat(request: ChatRequest, client: str, pictures: PictureReader) -> Wanted:
    """Raises RequestRefused."""
    turns = await read_turns(request.messages, pictures)
    turns, begun = split_begun(turns)
    tools = _tools(request)
    chosen, called = request.chosen, must_call(tools, request.tool_choice)
    if called is not None:
        chosen.pop("grammar", None)  # it is the form of an answer
    asked = Asked(
        turns=turns,
        begun=begun,
        client=client,
        sampling=checked_sampling(chosen),
        max_tokens=checked_count(
            request.max_tokens if request.max_completion_tokens is None else request.max_completion_tokens,
            "max_completion_tokens",
        ),
        stop_strings=request.stops,
        thinks=_thinks(request),
        names=_names(request),
        tools=tools,
        must_call=called,
        expected=request.expected,
        num_logs=(request.top_logprobs or 0) if request.logprobs else None,
    )
    replies = _several(asked, request.n or 1)
    return Wanted(replies, bool(request.stream), request.wants_usage, (), request.parallel_tool_calls is not False)


def read_completion(request: CompletionRequest, client: str) -> Wanted:
    """Raises RequestRefused."""
    if request.suffix:
        raise invalid("Text before a given end is not offered here; leave suffix out.", "suffix")
    if request.best_of is not None and request.best_of != (request.n or 1):
        raise invalid("The best of several replies is not chosen here; leave best_of out.", "best_of")
    prompts = _prompts(request.prompt)
    if request.echo and any(not isinstance(each, str) for each in prompts):
        raise invalid("A prompt of tokens cannot be repeated in the reply; leave echo out.", "echo")
    sampling = checked_sampling(request.chosen)
    replies: list[Asked] = []
    echoes: list[str] = []
    for prompt in prompts:
        asked = Asked(
            text=prompt,
            client=client,
            sampling=sampling,
            max_tokens=checked_count(16 if request.max_tokens is None else request.max_tokens, "max_tokens"),
            stop_strings=request.stops,
            expected=request.expected,
            num_logs=request.logprobs,
        )
        replies += _several(asked, request.n or 1)
        echoes += [prompt if request.echo and isinstance(prompt, str) else ""] * (request.n or 1)
    return Wanted(tuple(replies), bool(request.stream), request.wants_usage, tuple(echoes))


def _prompts(prompt: str | list[int] | list[str] | list[list[int]]) -> list[str | tuple[int, ...]]:
    if isinstance(prompt, str):
        return [prompt]
    if not prompt:
        raise invalid("There is no prompt; send a text.", "prompt")
    numbers = [each for each in prompt if isinstance(each, int)]
    if len(numbers) == len(prompt):
        return [tuple(numbers)]
    return [each if isinstance(each, str) else tuple(each) for each in prompt if not isinstance(each, int)]


def _several(asked: Asked, number: int) -> tuple[Asked, ...]:
    """Each with a seed of its own, where there is one."""
    seed = dict(asked.sampling).get("seed")
    if number == 1 or not isinstance(seed, int):
        return (asked,) * number
    others = tuple(each for each in asked.sampling if each[0] != "seed")
    return tuple(replace(asked, sampling=(*others, ("seed", (seed + more) % 2**64))) for more in range(number))


async def read_turns(messages: Sequence[ChatMessage], pictures: PictureReader) -> tuple[ChatTurn, ...]:
    """Raises RequestRefused."""
    turns: list[ChatTurn] = []
    calls: dict[str, ToolCall] = {}
    for place, message in enumerate(messages):
        at = f"messages[{place}]"
        text, thought, seen = await _content(message, at, pictures)
        match message.role:
            case "tool" | "function":
                call = calls.get(message.tool_call_id or "") or ToolCall(
                    message.tool_call_id or "", "", message.name or "tool"
                )
                turns.append(ChatTurn(Role.TOOL, text, pictures=seen, answers=call))
            case "assistant":
                made = tuple(map(_call, message.tool_calls or ()))
                calls |= {each.id: each for each in made}
                thought = message.reasoning_content or message.reasoning or thought
                turns.append(ChatTurn(Role.ASSISTANT, text, thought, calls=made))
            case "user":
                turns.append(ChatTurn(Role.USER, text, pictures=seen))
            case _:
                turns.append(ChatTurn(Role.SYSTEM, text))
    return checked_turns(turns)


def checked_turns(turns: Sequence[ChatTurn]) -> tuple[ChatTurn, ...]:
    """With pictures of results as turns of the user, since templates have no place for them elsewhere. Raises
    RequestRefused where there is nothing to answer."""
    turns = [*_with_shown(turns)]
    if not any(turn.role in (Role.USER, Role.TOOL) for turn in turns):
        raise invalid("There is no message of a user; add one with the role user.", "messages")
    return tuple(turn for turn in turns if turn.role is not Role.SYSTEM or turn.text.strip())


def split_begun(turns: tuple[ChatTurn, ...]) -> tuple[tuple[ChatTurn, ...], str]:
    """A last turn of the model's own is the beginning of its reply."""
    last = turns[-1]
    if last.role is not Role.ASSISTANT or last.calls:
        return turns, ""
    return turns[:-1], last.text


def _with_shown(turns: Sequence[ChatTurn]) -> Iterator[ChatTurn]:
    """Pictures of results follow the last of the results that stand together."""
    shown: tuple[Picture, ...] = ()
    for turn in turns:
        if shown and turn.role is not Role.TOOL:
            yield ChatTurn(Role.USER, "", pictures=shown)
            shown = ()
        if turn.role is Role.TOOL:
            shown += turn.pictures
            yield replace(turn, pictures=())
        else:
            yield turn
    if shown:
        yield ChatTurn(Role.USER, "", pictures=shown)


async def _content(message: ChatMessage, at: str, pictures: PictureReader) -> tuple[str, str, tuple[Picture, ...]]:
    """The text, the thoughts and the pictures."""
    if message.content is None or isinstance(message.content, str):
        return message.content or "", "", ()
    texts: list[str] = []
    thoughts: list[str] = []
    seen: list[Picture] = []
    for place, part in enumerate(message.content):
        where = f"{at}.content[{place}]"
        if part.text is not None or part.refusal is not None:
            texts.append(part.text or part.refusal or "")
        elif part.thinking is not None:
            thoughts.append(part.thinking)
        elif part.image_url is not None:
            url = part.image_url if isinstance(part.image_url, str) else part.image_url.url
            if message.role == "user":
                seen.append(await pictures.read(url, where))
            elif message.role in ("tool", "function"):
                await pictures.add_result(url, where, True, texts, seen)
            else:
                raise invalid("Only messages of the user, and results of tools, can have pictures.", where)
        else:
            raise invalid(f"Parts of the type {part.type[:40]} are not offered here; send texts and pictures.", where)
    return "\n\n".join(texts), "\n\n".join(thoughts), tuple(seen)


def _call(call: Call) -> ToolCall:
    arguments = call.function.arguments
    told = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(call.id or "", "", call.function.name, told)


def _tools(request: ChatRequest) -> tuple[Tool, ...]:
    if request.tool_choice == "none":
        return ()
    return tuple(
        tool_of(each.function.name, each.function.description, each.function.parameters) for each in request.tools or ()
    )


def tool_of(name: str, description: str | None, schema: Mapping[str, Any] | None) -> Tool:
    told = json.dumps(schema or {"type": "object"}, ensure_ascii=False)
    return Tool("", name, description or "", told)


def must_call(tools: Sequence[Tool], choice: str | ChosenTool | None) -> str | None:
    """The tool that the reply has to call; empty: any; None: it need not call. Raises RequestRefused."""
    if isinstance(choice, ChosenTool):
        return checked_choice(tools, choice.function.name)
    if choice == "required":
        return checked_choice(tools, "")
    return None


def checked_choice(tools: Sequence[Tool], name: str) -> str:
    if not tools:
        raise invalid("A tool must be called, but there are none; send some, or leave tool_choice out.", "tool_choice")
    if name and all(each.name != name for each in tools):
        raise invalid(f"There is no tool called {name[:80]} in this request.", "tool_choice")
    return name


def _names(request: ChatRequest) -> Names:
    """What the chat template is told, other than whether to think. Raises RequestRefused."""
    told = request.chat_template_kwargs or {}
    if len(told) > _MOST_NAMES:
        raise invalid(f"There may be {_MOST_NAMES} names in chat_template_kwargs.", "chat_template_kwargs")
    for name, value in told.items():
        if not isinstance(value, str | int | float | None) or len(f"{name}{value}") > _LONGEST_NAME:
            sentence = f"What a chat template is told is true, false, a number, or up to {_LONGEST_NAME} letters."
            raise invalid(sentence, f"chat_template_kwargs.{name[:80]}")
    effort = request.reasoning_effort
    given = {} if effort in (None, "none") else {"reasoning_effort": effort}
    return tuple((given | {name: each for name, each in told.items() if name != _SWITCH}).items())


def _thinks(request: ChatRequest) -> bool | None:
    told = (request.chat_template_kwargs or {}).get(_SWITCH)
    if isinstance(told, bool):
        return told
    if request.reasoning_effort is None:
        return None
    return request.reasoning_effort not in ("none", "minimal")
