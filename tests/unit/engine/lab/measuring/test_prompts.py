from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.lab.measuring.prompts import BenchQuestion, read_prompts
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import FileUnusable


def written(folder: Path, *lines: object) -> Path:
    path = folder / "prompts.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return path


def test_a_chat_of_one_turn_is_one_question_with_its_own_id(tmp_path: Path) -> None:
    (chat,) = read_prompts(written(tmp_path, {"id": "a", "turns": ["Hi."], "task": "chat"}))
    assert chat.question(()) == BenchQuestion("a", "chat", (ChatTurn(Role.USER, "Hi."),))


def test_a_later_turn_has_the_replies_before_it(tmp_path: Path) -> None:
    (chat,) = read_prompts(written(tmp_path, {"id": 7, "turns": ["One.", "Two."]}))
    assert chat.question(()).id == "7-t1"
    second = chat.question(["Yes."])
    assert second.id == "7-t2"
    assert second.turns == (
        ChatTurn(Role.USER, "One."),
        ChatTurn(Role.ASSISTANT, "Yes."),
        ChatTurn(Role.USER, "Two."),
    )


def test_the_limit_counts_chats_and_empty_lines_are_none(tmp_path: Path) -> None:
    path = written(tmp_path, {"id": "a", "turns": ["1", "2"]}, "", {"id": "b", "turns": ["3"]}, "not reached")
    assert [chat.id for chat in read_prompts(path, limit=2)] == ["a", "b"]


def test_a_recorded_reply_comes_with_its_conversation(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "One."},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "Two."},
    ]
    path = written(
        tmp_path,
        {"id": "a", "prompt": "Hi.", "response": "Hello."},
        {"id": "b", "prompt": "User: One. …", "response": "No.", "messages": messages},
    )
    first, second = read_prompts(path, recorded=True)
    assert first.question(()) == BenchQuestion("a", "", (ChatTurn(Role.USER, "Hi."),), "Hello.")
    assert [turn.text for turn in second.question(()).turns] == ["One.", "Yes.", "Two."]
    assert second.response == "No."


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("{", "is not JSON"),
        ("[]", "has no “id”"),
        ('{"turns": ["a"]}', "has no “id”"),
        ('{"id": "a"}', "has no “turns”, or “prompt” and “response”,"),
        ('{"id": "a", "turns": []}', "has no “turns” with text"),
        ('{"id": "a", "turns": ["a", 3]}', "has no “turns” with text"),
        ('{"id": "a", "turns": "a"}', "has no “turns” with text"),
        ('{"id": "a", "prompt": "a", "response": " "}', "has no “turns”, or"),
        ('{"id": "a", "prompt": "a", "response": "b", "messages": [{"role": "ghost", "content": "a"}]}', "“messages”"),
        ('{"id": "a", "prompt": "a", "response": "b", "messages": []}', "“messages”"),
        ('{"id": "a", "prompt": "a", "response": "b", "messages": 4}', "“messages”"),
        (
            '{"id": "a", "prompt": "a", "response": "b", "messages": [{"role": "assistant", "content": "a"}]}',
            "“messages”",
        ),
        ('{"id": "a", "prompt": "a", "response": "b", "messages": [{"role": "user", "content": 1}]}', "“messages”"),
    ],
)
def test_a_bad_line_is_named_in_one_sentence(tmp_path: Path, line: str, part: str) -> None:
    path = written(tmp_path, {"id": "good", "turns": ["Hi."]}, line)
    with pytest.raises(FileUnusable, match=r"^Line 2 of ") as caught:
        read_prompts(path)
    assert part in str(caught.value)
    assert str(caught.value).endswith(".")


def test_recorded_replies_are_asked_for_where_they_are_needed(tmp_path: Path) -> None:
    with pytest.raises(FileUnusable, match="has no “prompt” and “response”"):
        read_prompts(written(tmp_path, {"id": "a", "turns": ["Hi."]}), recorded=True)


def test_a_file_that_is_missing_empty_or_no_text_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(FileUnusable, match="cannot be read"):
        read_prompts(tmp_path / "missing.jsonl")
    with pytest.raises(FileUnusable, match="holds no prompts"):
        read_prompts(written(tmp_path, ""))
    binary = tmp_path / "binary.jsonl"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileUnusable, match="cannot be read"):
        read_prompts(binary)
