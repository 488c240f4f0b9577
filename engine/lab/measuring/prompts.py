"""The questions of a measurement.

A prompts file has a line `{"id", "turns": ["…", …]}` for each chat, whose turns are asked one after the other. A file
of recorded replies (a trace) has a line `{"id", "prompt", "response"}`, and `"messages": [{"role", "content"}, …]` if
the prompt is a whole conversation. Either may name a `"task"`. One file may hold both.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.values.conversations import ChatTurn, Role
from engine.values.errors import FileUnusable


@dataclass(frozen=True, slots=True)
class BenchQuestion:
    id: str
    task: str  # what kind of question it is; may be empty
    turns: tuple[ChatTurn, ...]  # the last one is the user's
    response: str | None = None  # what a model once answered, if that was recorded


@dataclass(frozen=True, slots=True)
class ScriptedChat:
    """One line of a file: prompts of a user that are asked one after the other."""

    id: str
    task: str
    before: tuple[ChatTurn, ...]  # turns that come before the first prompt
    prompts: tuple[str, ...]  # at least one
    response: str | None = None  # recorded, to the only prompt

    def question(self, replies: Sequence[str]) -> BenchQuestion:
        """The prompt that is asked after these `replies` to those before it."""
        turns = list(self.before)
        for prompt, reply in zip(self.prompts, replies, strict=False):
            turns += [ChatTurn(Role.USER, prompt), ChatTurn(Role.ASSISTANT, reply)]
        turns.append(ChatTurn(Role.USER, self.prompts[len(replies)]))
        id_of_turn = self.id if len(self.prompts) == 1 else f"{self.id}-t{len(replies) + 1}"
        return BenchQuestion(id_of_turn, self.task, tuple(turns), self.response)


def read_prompts(path: Path, limit: int | None = None, recorded: bool = False) -> tuple[ScriptedChat, ...]:
    """The first `limit` chats of a file; `recorded` asks for a recorded reply in every line. Raises
    FileUnusable."""
    chats: list[ScriptedChat] = []
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if len(chats) == limit:
                    break
                if line.strip():
                    chats.append(_chat(line, f"Line {number} of {path}", recorded))
    except (OSError, UnicodeDecodeError) as error:
        raise FileUnusable(f"{path} cannot be read as a file of prompts ({error}); choose another file.") from error
    if not chats:
        raise FileUnusable(f"{path} holds no prompts; choose a file with one JSON object on each line.")
    return tuple(chats)


def _chat(line: str, place: str, recorded: bool) -> ScriptedChat:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise FileUnusable(f"{place} is not JSON; repair or remove it.") from error
    if not isinstance(record, dict) or not isinstance(record.get("id"), str | int):
        raise FileUnusable(f"{place} has no “id”; give it one, or remove the line.")
    name, task = str(record["id"]), str(record.get("task") or "")
    if "turns" in record and not recorded:
        prompts = record["turns"]
        if not isinstance(prompts, list) or not prompts or not all(map(_is_said, prompts)):
            raise FileUnusable(f"{place} has no “turns” with text in them; write them as a list of prompts.")
        return ScriptedChat(name, task, (), tuple(prompts))
    if not _is_said(record.get("prompt")) or not _is_said(record.get("response")):
        wanted = "“prompt” and “response”" if recorded else "“turns”, or “prompt” and “response”,"
        raise FileUnusable(f"{place} has no {wanted} as text; add them, or choose another file.")
    *before, last = _messages(record, place)
    return ScriptedChat(name, task, tuple(before), (last.text,), record["response"])


def _messages(record: dict[str, object], place: str) -> list[ChatTurn]:
    messages = record.get("messages")
    if messages is None:
        return [ChatTurn(Role.USER, str(record["prompt"]))]
    try:
        turns = [ChatTurn(Role(message["role"]), message["content"]) for message in messages]  # type: ignore[attr-defined]
        if turns[-1].role is Role.USER and all(isinstance(turn.text, str) for turn in turns):
            return turns
    except (ValueError, KeyError, TypeError, IndexError):
        pass
    raise FileUnusable(f"{place} has “messages” that are no conversation ending with the user; repair or remove them.")


def _is_said(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip())
