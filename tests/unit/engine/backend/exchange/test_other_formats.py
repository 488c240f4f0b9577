"""Conversations as other programs write them: what comes of each, and what is counted as missing."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.backend.exchange import Read, grown_tree, json_stream, local_programs, read_chats, reading
from engine.values.conversations import ConversationTree, LeftOut, Missing, Role, TreeMessage
from engine.values.tools import Outcome


def read(value: object, folder: Path, name: str = "chats.json") -> Read:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return read_chats(path)


def only(found: Read) -> ConversationTree:
    assert found.left_out == ()
    (tree,) = found.trees
    return tree


def said(messages: Iterable[TreeMessage]) -> list[tuple[int | None, str, str]]:
    return [(each.parent, each.role.value, each.text) for each in messages]


# ChatGPT


def node(name: str, parent: str | None, role: str, *parts: object, **more: Any) -> tuple[str, dict[str, Any]]:
    content = more.pop("content", {"content_type": more.pop("kind", "text"), "parts": list(parts)})
    message = {"author": {"role": role, "name": more.pop("author", None)}, "content": content, **more}
    return name, {"parent": parent, "message": message}


def chatgpt(*nodes: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"title": "Harbour", "mapping": dict(nodes), **more}


def code(text: str, language: str = "python") -> dict[str, str]:
    return {"content_type": "code", "language": language, "text": text}


def test_thoughts_of_chatgpt_stand_where_they_were_thought(tmp_path: Path) -> None:
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "Tides", "content": "High at six."}, {"x": 1}]}
    more = {"content_type": "thoughts", "thoughts": [{"summary": "Only a heading"}]}
    tree = only(
        read(
            chatgpt(
                node("u", None, "user", "When?"),
                node("t", "u", "assistant", content=thoughts),
                node("r", "t", "assistant", content={"content_type": "reasoning_recap", "content": "Thought for 9s"}),
                node("a", "r", "assistant", "At six."),
                node("t2", "a", "assistant", content=more),
                node("b", "t2", "assistant", "In the evening.", metadata={"model_slug": "o9"}),
                default_model_slug="o8",
            ),
            tmp_path,
        )
    )
    assert said(tree.messages) == [(None, "user", "When?"), (1, "assistant", "At six.\n\nIn the evening.")]
    reply = tree.messages[1]
    assert [(each.place, each.text) for each in reply.thoughts] == [(0, "High at six."), (9, "Only a heading")]
    assert (reply.target_name, tree.messages[0].target_name) == ("o9", None)


def test_what_chatgpt_does_not_show_is_nowhere(tmp_path: Path) -> None:
    profile = {"content_type": "user_editable_context", "user_profile": "HIDDEN", "user_instructions": "HIDDEN"}
    tree = only(
        read(
            chatgpt(
                node("p", None, "user", content=profile),
                node("q", "p", "user", "HIDDEN", metadata={"is_user_system_message": True}),
                node("u", "q", "user", "Hello"),
            ),
            tmp_path,
        )
    )
    assert said(tree.messages) == [(None, "user", "Hello")]
    assert "HIDDEN" not in repr(tree)


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ({"name": "Ferry", "type": "document", "content": "It sails."}, "**Ferry**\n\nIt sails."),
        ({"name": "f", "type": "code/python", "content": "print('```')"}, "````python\nprint('```')\n````"),
        ({"updates": [{"pattern": ".*", "replacement": "It sailed."}, 7]}, "It sailed."),
        ({"comments": [{"comment": "Shorter?"}]}, "Shorter?"),
        ("no JSON", "no JSON"),
    ],
)
def test_what_chatgpt_writes_on_its_canvas_is_part_of_the_reply(tmp_path: Path, told: object, text: str) -> None:
    body = told if isinstance(told, str) else json.dumps(told)
    found = read(
        chatgpt(
            node("u", None, "user", "Write."),
            node("c", "u", "assistant", content=code(body, "json"), recipient="canmore.update_textdoc"),
            node("t", "c", "tool", "Successfully updated", author="canmore.update_textdoc"),
            node("a", "t", "assistant", "There."),
        ),
        tmp_path,
    )
    assert said(only(found).messages)[1:] == [(1, "assistant", f"{text}\n\nThere.")]
    assert not any(found.missing[0].values())


def test_code_that_chatgpt_ran_is_a_call_with_its_result(tmp_path: Path) -> None:
    printed = {"content_type": "execution_output", "text": "42"}
    nodes = (
        node("a", "o", "assistant", "It is 42."),
        node("o", "c", "tool", content=printed),
        node("lost", "u", "tool", content=printed),
        node("s", "lost", "assistant", content=code("search('x')"), recipient="web"),
        node("c", "u", "assistant", content=code("6*7"), recipient="python"),
        node("u", None, "user", "6 times 7?"),
    )
    found = read(chatgpt(*nodes, current_node="a"), tmp_path)
    tree = only(found)
    assert said(tree.messages) == [
        (None, "user", "6 times 7?"),
        (1, "assistant", ""),
        (2, "tool", "42"),
        (3, "assistant", "It is 42."),
    ]
    (call,) = tree.messages[1].calls
    result = tree.messages[2].result
    assert (call.tool, json.loads(call.arguments), len(call.id)) == ("python", {"code": "6*7"}, 9)
    assert result is not None
    assert result.call == call
    assert tree.head == 4
    assert found.missing[0] == {Missing.STEP: 2}


def test_pictures_recordings_and_files_of_chatgpt_are_named_and_counted(tmp_path: Path) -> None:
    attachments = [{"id": "file-1", "name": "[sea].jpg"}, {"id": "file-2", "name": "tides.pdf"}]
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"}
    spoken = {"content_type": "audio_transcription", "text": "Ahoy", "direction": "in"}
    sound = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://x"}
    found = read(
        chatgpt(
            node("u", None, "user", picture, "Which?", kind="multimodal_text", metadata={"attachments": attachments}),
            node("i", "u", "tool", picture, kind="multimodal_text", author="dalle.text2im"),
            node("v", "i", "user", spoken, sound, kind="multimodal_text"),
        ),
        tmp_path,
    )
    assert said(only(found).messages) == [
        (None, "user", "[picture: (sea).jpg]\n\nWhich?\n\n[file: tides.pdf]"),
        (1, "assistant", "[picture]"),
        (2, "user", "Ahoy"),
    ]
    assert found.missing[0] == {Missing.PICTURE: 2, Missing.FILE: 1, Missing.RECORDING: 1}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Sea \ue200cite\ue202turn0search3\ue201.", "Sea."),
        ("Sea \ue200cite\ue202turn1view0\ue202turn2view1\ue201!", "Sea ([atlas](https://a.example))!"),
        ('By \ue200entity\ue202["city","Brest"]\ue201', "By Brest"),
        ("\ue200entity\ue202broken\ue201See \ue200url\ue202the map\ue202turn0\ue201", "See the map"),
        ("\ue203Marked\ue204 and cut \ue200cite", "Marked and cut"),
        ("Old【7†source】 and 【not one】", "Old and 【not one】"),
    ],
)
def test_signs_of_sources_are_readable_or_gone(tmp_path: Path, text: str, shown: str) -> None:
    alternative = {
        "matched_text": "\ue200cite\ue202turn1view0\ue202turn2view1\ue201",
        "alt": "([atlas](https://a.example))",
    }
    nodes = (
        node("u", None, "user", "?"),
        node("a", "u", "assistant", text, metadata={"content_references": [alternative]}),
    )
    assert only(read(chatgpt(*nodes), tmp_path)).messages[1].text == shown


def test_of_a_broken_tree_every_message_that_can_be_read_is_kept(tmp_path: Path) -> None:
    mapping: dict[str, Any] = dict(
        (
            node("u", None, "user", "one"),
            node("a", "gone", "assistant", "two"),
            node("x", "y", "user", "three"),
            node("y", "x", "assistant", "four"),
            node("z", "x", "assistant", "five"),
            node("self", "self", "user", "six"),
            node("odd", "u", "assistant", 7, None, {"text": ["x"]}, "seven", create_time="yesterday", metadata=3),
        )
    )
    mapping |= {"n": None, "l": [1], "nobody": {"message": {"content": {"parts": ["?"]}}}, "plain": 5}
    mapping["u"]["children"] = ["kept", 4]
    mapping["kept"] = node("kept", None, "assistant", "eight")[1]
    found = read([{"mapping": mapping, "current_node": 9, "title": ["no"]}], tmp_path)
    tree = only(found)
    texts = [each.text for each in tree.messages]
    assert sorted(texts) == ["eight", "five", "four", "one", "seven", "six", "three", "two"]
    by_text = {each.text: each for each in tree.messages}
    above = {each.text: None if each.parent is None else texts[each.parent - 1] for each in tree.messages}
    assert above == {
        **dict.fromkeys(("one", "two", "three", "six")),
        **dict.fromkeys(("four", "five"), "three"),
        **dict.fromkeys(("seven", "eight"), "one"),
    }
    assert by_text["seven"].created_at is None
    assert found.missing[0] == {Missing.MESSAGE: 3}


def test_long_circles_take_no_time_that_grows_with_their_square() -> None:
    number = 20_000
    circles: list[int | None] = [(place + 1) % number for place in range(number)]
    assert len(grown_tree.parents_first(circles)) == number
    tail: list[int | None] = [1, *range(2, number), number - 1]
    assert sorted(grown_tree.parents_first(tail)) == [*range(number)]


# Lists of messages


def test_calls_and_thoughts_in_a_list_of_messages(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "tide", "arguments": '{"port": "Brest"}'}}
    picture = {"type": "image_url", "image_url": {"url": "https://x.example"}}
    found = read(
        {
            "model": "m",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Tide?"}, picture]},
                {"role": "assistant", "content": None, "reasoning_content": "Ask.", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": "High."},
                {"role": "tool", "tool_call_id": "c9", "content": "Of no call."},
                {"role": "assistant", "content": "High water."},
                5,
            ],
        },
        tmp_path,
    )
    tree = only(found)
    assert said(tree.messages) == [
        (None, "user", "Tide?\n\n[picture]"),
        (1, "assistant", ""),
        (2, "tool", "High."),
        (3, "assistant", "High water."),
    ]
    asked = tree.messages[1]
    assert [each.text for each in asked.thoughts] == ["Ask."]
    assert [(each.tool, each.arguments) for each in asked.calls] == [("tide", '{"port": "Brest"}')]
    assert tree.messages[2].role is Role.TOOL
    assert found.missing[0] == {Missing.PICTURE: 1, Missing.STEP: 1, Missing.MESSAGE: 1}


def test_a_list_of_no_messages_is_left_out(tmp_path: Path) -> None:
    found = read([{"messages": [1, {"role": 2}]}, {"messages": [{"role": "user", "content": "x"}]}], tmp_path)
    assert [why for why, _ in found.left_out] == [LeftOut.UNREADABLE]


def test_a_thought_in_tags_is_no_part_of_the_reply(tmp_path: Path) -> None:
    texts = ["\n<think>\nHm.\n</think>\n\nYes.", "Write <think> first.", "<think>cut off"]
    turns = [{"role": role, "content": each} for each in texts for role in ("user", "assistant")]
    messages = only(read({"messages": turns}, tmp_path)).messages
    assert [each.text for each in messages] == [texts[0], "Yes.", texts[1], texts[1], texts[2], ""]
    assert [[each.text for each in one.thoughts] for one in messages[1::2]] == [["Hm."], [], ["cut off"]]


# Claude


def claude(name: str, parent: str | None, sender: str, *content: object, **more: Any) -> dict[str, Any]:
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    above = {} if parent is None else {"parent_message_uuid": parent}
    return {"uuid": name, "sender": sender, "text": "not this", "content": parts, **above, **more}


def test_claudes_chats_have_branches_thoughts_tools_and_artifacts(tmp_path: Path) -> None:
    thought = {
        "type": "thinking",
        "thinking": "Which port?",
        "start_timestamp": "2026-03-01T08:00:00Z",
        "stop_timestamp": "2026-03-01T08:00:04Z",
    }
    calls = [
        {"type": "tool_use", "id": "t1", "name": "tides", "input": {"port": "Brest", "days": {"from": [1, "x"]}}},
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "None"}], "is_error": True},
    ]
    artifact = {"title": "Log", "type": "application/vnd.ant.code", "language": "python", "content": "x = 1"}
    artifacts = [
        {"type": "tool_use", "id": "t2", "name": "artifacts", "input": artifact},
        {"type": "tool_result", "tool_use_id": "t2", "content": "OK"},
    ]
    files = [{"file_name": "map.PNG"}, {"file_name": "sheet.xls"}, {"file_name": "notes.txt"}]
    notes = [{"file_name": "notes.txt", "extracted_content": "North."}]
    found = read(
        [
            {
                "name": "Sailing",
                "created_at": "2026-03-01T07:00:00.5Z",
                "chat_messages": [
                    claude("u", "0-0", "human", "Tides?", files=files, attachments=notes),
                    claude("a", "u", "assistant", thought, "Let me see.", *calls, "No luck."),
                    claude("b", "u", "assistant", *artifacts, "Done."),
                    {"sender": "ghost"},
                ],
            },
            {"name": "Old", "chat_messages": [claude("x", None, "human", "1"), claude("y", None, "assistant", "2")]},
            {"name": "None", "chat_messages": []},
        ],
        tmp_path,
    )
    assert found.left_out == ((LeftOut.EMPTY, "None"),)
    tree, old = found.trees
    assert said(tree.messages) == [
        (None, "user", "```notes.txt\nNorth.\n```\n\n[picture: map.PNG]\n\n[file: sheet.xls]\n\nTides?"),
        (1, "assistant", "Let me see."),
        (1, "assistant", "```python\nx = 1\n```\n\nDone."),
        (2, "tool", "None"),
        (4, "assistant", "No luck."),
    ]
    reply, result = tree.messages[1], tree.messages[3].result
    assert [(each.text, each.seconds) for each in reply.thoughts] == [("Which port?", 4)]
    assert json.loads(reply.calls[0].arguments) == {"port": "Brest", "days": {"from": [1, "x"]}}
    assert result is not None
    assert (result.call, result.outcome) == (reply.calls[0], Outcome.FAILED)
    assert tree.created_at == datetime(2026, 3, 1, 7, 0, 0, 500_000, UTC)
    assert found.missing == ({Missing.PICTURE: 1, Missing.FILE: 1, Missing.MESSAGE: 1}, {})
    assert said(old.messages) == [(None, "user", "1"), (1, "assistant", "2")]


# Google AI Studio


def test_a_chat_of_ai_studio_is_named_as_its_file(tmp_path: Path) -> None:
    chunks = [
        {"role": "user", "driveDocument": {"id": "x"}},
        {"role": "user", "text": "6 times 7?"},
        {"role": "model", "text": "Compute.", "isThought": True},
        {"role": "model", "executableCode": {"language": "PYTHON", "code": "6*7"}},
        {"role": "model", "codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "42"}},
        {"role": "model", "parts": [{"text": "It "}, {"text": "is 42."}]},
        {"text": "nobody's"},
    ]
    system = {"parts": [{"text": "Be exact."}]}
    run = {"model": "models/gemma-9"}
    chat = {"runSettings": run, "systemInstruction": system, "chunkedPrompt": {"chunks": chunks}}
    found = read(chat, tmp_path, "Six v1.2")
    tree = only(found)
    assert (tree.title, tree.system_prompt) == ("Six v1.2", "Be exact.")
    assert said(tree.messages) == [
        (None, "user", "[file]\n\n6 times 7?"),
        (1, "assistant", ""),
        (2, "tool", "42"),
        (3, "assistant", "It is 42."),
    ]
    assert [each.text for each in tree.messages[1].thoughts] == ["Compute."]
    assert tree.messages[3].target_name == "gemma-9"
    assert found.missing[0] == {Missing.FILE: 1, Missing.MESSAGE: 1}


# Open WebUI


def webui(parent: str | None, role: str, content: object, **more: Any) -> dict[str, Any]:
    return {"parentId": parent, "role": role, "content": content, "timestamp": 1_770_000_000, **more}


OPENED = '<details type="tool_calls" done="true" id="k" name="tide" arguments="&quot;{\\&quot;port\\&quot;: 1}&quot;"'
TOLD = (
    '<details type="reasoning" done="true" duration="7">\n<summary>Thought for 7 seconds</summary>\n'
    "&gt; One &lt;b&gt;\n&gt; two\n</details>\nI look.\n"
    f'{OPENED} result="&quot;High&quot;">\n<summary>Tool Executed</summary>\n</details>\nHigh.'
)


@pytest.mark.parametrize("form", ["entry", "chat", "list"])
def test_open_webuis_chats(tmp_path: Path, form: str) -> None:
    files = [{"type": "image", "url": "data:"}, {"name": "a.txt", "file": {"data": {"content": "A"}}}]
    messages = {
        "u": webui(None, "user", "Tide?", files=files),
        "b": webui("u", "assistant", "Low.", model="m2"),
        "a": webui("u", "assistant", TOLD, model="m1"),
        "x": 3,
    }
    chat: dict[str, Any] = {"title": "Tides", "params": {"system": "Short."}}
    if form == "list":
        chat["messages"] = [{**each, "id": name} for name, each in messages.items() if isinstance(each, dict)]
    else:
        chat["history"] = {"messages": messages, "currentId": "a"}
    entry = {"title": "Tides", "pinned": True, "archived": False, "created_at": 1_770_000_000, "chat": chat}
    found = read(chat if form == "chat" else [entry], tmp_path)
    tree = only(found)
    assert said(tree.messages) == [
        (None, "user", "[picture]\n\n```a.txt\nA\n```\n\nTide?"),
        (1, "assistant", "Low."),
        (1, "assistant", "I look."),
        (3, "tool", "High"),
        (4, "assistant", "High."),
    ]
    asked = tree.messages[2]
    assert [(each.text, each.seconds) for each in asked.thoughts] == [("One <b>\ntwo", 7.0)]
    assert [(each.tool, each.arguments) for each in asked.calls] == [("tide", '{"port": 1}')]
    assert (tree.head, tree.system_prompt, tree.is_pinned) == (5, "Short.", form != "chat")
    assert [each.target_name for each in tree.messages] == [None, "m2", "m1", "m1", "m1"]
    assert found.missing[0][Missing.PICTURE] == 1
    assert found.missing[0].get(Missing.MESSAGE, 0) == (form != "list")


def test_texts_full_of_what_looks_folded_take_little_time() -> None:
    for text in ("<details " * 100_000, '<details type="reasoning"' * 100_000, "w" * 500_000):
        folded = f'<details type="reasoning" {text if "<" not in text else ""}>{text}'
        begun = time.process_time()
        assert list(local_programs._without_details(folded + text))
        assert time.process_time() - begun < 5


# LM Studio


def test_lm_studios_messages_have_versions_and_steps(tmp_path: Path) -> None:
    def step(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"type": "contentBlock", "content": list(parts), **more}

    def text(words: str) -> dict[str, str]:
        return {"type": "text", "text": words}

    asked = {"type": "toolCallRequest", "callId": 3, "name": "tide", "parameters": {"port": "Brest"}}
    steps = [
        step(text("Which?"), style={"type": "thinking", "ended": True}),
        step(asked),
        step({"type": "toolCallResult", "toolCallId": 3, "content": "High"}),
        step(text("High.")),
        {"type": "debugInfoBlock", "debugInfo": "x"},
    ]
    file = {"type": "file", "fileType": "image", "fileIdentifier": "1.png", "name": "1.png"}
    first = {"role": "user", "content": [text("Tide?"), file]}
    chat = {
        "name": "Tides",
        "systemPrompt": "Short.",
        "createdAt": 1_770_000_000_000,
        "messages": [
            {"versions": [first], "currentlySelected": 0},
            {
                "versions": [{"role": "assistant", "steps": steps}, {"role": "assistant", "content": "Low."}],
                "currentlySelected": 0,
            },
            {"versions": []},
            {"versions": [{"role": "user", "content": [text("Thanks")]}], "currentlySelected": 9},
        ],
    }
    found = read(chat, tmp_path, "1.conversation.json")
    tree = only(found)
    assert said(tree.messages) == [
        (None, "user", "Tide?\n\n[picture: 1.png]"),
        (1, "assistant", ""),
        (1, "assistant", "Low."),
        (2, "tool", "High"),
        (4, "assistant", "High."),
        (5, "user", "Thanks"),
    ]
    assert [each.text for each in tree.messages[1].thoughts] == ["Which?"]
    assert [each.tool for each in tree.messages[1].calls] == ["tide"]
    assert (tree.title, tree.system_prompt, tree.head) == ("Tides", "Short.", 6)
    assert found.missing[0] == {Missing.PICTURE: 1, Missing.MESSAGE: 1}


# SillyTavern


def line(name: str, text: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "is_user": name == "You", "mes": text, "send_date": "March 1, 2026 9:30pm", **more}


def lines(*values: object) -> str:
    return "\n".join(json.dumps(each) for each in values)


HEADER = {"user_name": "You", "character_name": "unused", "create_date": "2026-3-1@09h30m00s", "chat_metadata": {}}


def test_lines_of_silly_tavern_are_one_chat(tmp_path: Path) -> None:
    info = [{"extra": {"reasoning": "First thought", "model": "m"}}, {}]
    said_by = [
        line("Wren", "Hello"),
        line("You", "Hi"),
        line("Note", "secret", is_system=True),
        line("Wren", "B, edited", swipes=["A", "B"], swipe_id=1, swipe_info=info, extra={"reasoning": "Second"}),
        line("You", "Go on", swipes=["only"], swipe_id=7),
    ]
    text = lines(HEADER, *said_by, {"messages": [{"role": "user", "content": "Another"}]}, line("You", "Third"))
    talk, other, third = read(text, tmp_path, "Wren - 2026.jsonl").trees
    assert said(talk.messages) == [
        (None, "assistant", "Hello"),
        (1, "user", "Hi"),
        (2, "assistant", "A"),
        (2, "assistant", "B, edited"),
        (4, "user", "Go on"),
    ]
    assert (talk.title, talk.head) == ("Wren", 5)
    assert [[each.text for each in one.thoughts] for one in talk.messages[2:4]] == [["First thought"], ["Second"]]
    assert talk.messages[2].target_name == "m"
    assert talk.messages[0].created_at == datetime(2026, 3, 1, 21, 30).astimezone(UTC)
    assert (other.messages[0].text, third.messages[0].text) == ("Another", "Third")


def test_a_line_that_is_too_large_leaves_the_others_in_their_chat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_stream, "MOST_TEXT_BYTES", 3_000)
    found = read(lines(HEADER, line("You", "1"), line("Wren", "x" * 4_000), line("You", "2")), tmp_path)
    assert said(only(found).messages) == [(None, "user", "1\n\n2")]
    assert found.missing[0] == {Missing.MESSAGE: 1}
    monkeypatch.setattr(local_programs, "MOST_TEXT_BYTES", 3_000)
    many = [line("You", "x" * 900) for _ in range(4)]
    found = read(lines({**HEADER, "character_name": "Long"}, *many, {"chat_metadata": 1}, line("You", "2")), tmp_path)
    assert found.left_out == ((LeftOut.TOO_LARGE, "Long"),)
    assert [tree.messages[0].text for tree in found.trees] == ["2"]


# llama-server's window


def test_chats_of_llama_servers_window(tmp_path: Path) -> None:
    calls = json.dumps([{"id": "c", "function": {"name": "tide", "arguments": "{}"}}])
    extra = [
        {"type": "TEXT", "name": "a.txt", "content": "A"},
        {"type": "IMAGE", "name": "b.png", "base64Url": "data:"},
        {"type": "AUDIO", "name": "c.mp3", "base64Data": ""},
    ]
    messages = [
        {"id": "r", "type": "root", "role": "system", "content": "", "parent": None},
        {"id": "s", "type": "system", "role": "system", "content": "Short.", "parent": "r"},
        {"id": 1, "role": "user", "content": "Tide?", "parent": "s", "extra": extra, "timestamp": 1_770_000_000_000},
        {
            "id": 2,
            "role": "assistant",
            "content": "",
            "parent": 1,
            "reasoningContent": "Hm",
            "toolCalls": calls,
            "model": "m",
        },
        {"id": 3, "role": "tool", "content": "High", "parent": 2, "toolCallId": "c"},
        {"id": 4, "role": "assistant", "content": "High.", "parent": 3, "toolCalls": "broken"},
        {"id": 5, "role": "assistant", "content": "<think>Well</think>Low.", "parent": 1},
        None,
    ]
    found = read([{"conv": {"id": "c", "name": "Tides", "currNode": 4}, "messages": messages}], tmp_path)
    tree = only(found)
    assert said(tree.messages) == [
        (None, "user", "```a.txt\nA\n```\n\n[picture: b.png]\n\nTide?"),
        (1, "assistant", ""),
        (1, "assistant", "Low."),
        (2, "tool", "High"),
        (4, "assistant", "High."),
    ]
    assert [[each.text for each in one.thoughts] for one in tree.messages[1:3]] == [["Hm"], ["Well"]]
    assert (tree.title, tree.system_prompt, tree.head) == ("Tides", "Short.", 5)
    assert found.missing[0] == {Missing.PICTURE: 1, Missing.RECORDING: 1, Missing.STEP: 1, Missing.MESSAGE: 1}


# All of them

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(sorted(reading.FIELDS)), inner, max_size=6)
    ),
    max_leaves=30,
)
BEGINNINGS = ("mapping", "messages", "chat_messages", "chunkedPrompt", "chat", "history", "conv", "mes", "versions")


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(BEGINNINGS), VALUES, min_size=1), st.sampled_from(BEGINNINGS))
def test_no_values_bring_a_reader_down(tmp_path: Path, element: dict[str, Any], within: str) -> None:
    good = {"messages": [{"role": "user", "content": "x"}]}
    inside: dict[str, Any] = {
        "mapping": {"mapping": {"a": element, "b": {"message": {"author": {"role": "user"}, **element}}}},
        "chunkedPrompt": {"chunkedPrompt": {"chunks": [{"role": "model", **element}]}},
        "chat": {"chat": {"history": {"messages": {"a": {"role": "assistant", **element}}}}},
        "conv": {"conv": element, "messages": [{"role": "assistant", **element}]},
        "mes": {"mes": "x", **element},
        "versions": {"messages": [{"versions": [{"role": "assistant", **element}, element]}]},
        "chat_messages": {"chat_messages": [{"sender": "human", **element}, element]},
    }
    found = read(lines(element, inside.get(within, element), good), tmp_path)
    assert any(tree.messages[-1].text == "x" for tree in found.trees)
