"""Conversations as other programs write them: what comes of each, and what is counted as missing."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from engine.backend.exchange import Read, grown_tree, read_chats
from engine.values.conversations import ConversationTree, LeftOut, Missing, Role, TreeMessage


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
