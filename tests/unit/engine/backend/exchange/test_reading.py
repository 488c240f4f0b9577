"""Conversations of files, whoever wrote them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import tracemalloc
import zipfile
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.backend.exchange import (
    Read,
    grown_tree,
    json_format,
    json_stream,
    opening,
    read_chats,
    reading,
    write_chats,
)
from engine.backend.storage.texts import encodable
from engine.values.conversations import ConversationTree, ExportFormat, LeftOut, Role, TreeMessage
from engine.values.errors import FileUnusable
from engine.values.pictures import Picture
from engine.values.prompts import AttachedPicture, join_prompt
from engine.values.replies import Thought
from engine.values.tools import Outcome, ToolCall, ToolResult

MOMENTS = st.datetimes(datetime(1991, 1, 1), datetime(2150, 1, 1), timezones=st.just(UTC))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@st.composite
def trees(draw: st.DrawFn) -> ConversationTree:
    messages: list[TreeMessage] = []
    for number in range(1, draw(st.integers(1, 8)) + 1):
        parent = draw(st.sampled_from([None, *range(1, number)]))
        role = draw(st.sampled_from([Role.USER, Role.ASSISTANT]))
        model = draw(st.none() | TEXTS) if role is Role.ASSISTANT else None
        messages.append(TreeMessage(number, parent, role, draw(TEXTS), draw(st.none() | MOMENTS), model))
    return ConversationTree(
        draw(TEXTS.filter(lambda title: title.strip() == title != "")),
        draw(TEXTS),
        draw(MOMENTS),
        draw(MOMENTS),
        tuple(messages),
        draw(st.integers(1, len(messages))),
        folder=draw(TEXTS),
        is_pinned=draw(st.booleans()),
        is_archived=draw(st.booleans()),
    )


def branches(tree: ConversationTree) -> dict[tuple[object, ...], int]:
    """Every message by all that stands before it, whatever the numbers are."""
    path: dict[int | None, tuple[object, ...]] = {None: ()}
    counts: dict[tuple[object, ...], int] = {}
    for message in tree.messages:
        said = (message.role, message.text, message.created_at, message.target_name, message.number == tree.head)
        path[message.number] = (*path[message.parent], said)
        counts[path[message.number]] = counts.get(path[message.number], 0) + 1
    return counts


def read_text(text: str | bytes, folder: Path, name: str = "chats.json") -> Read:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_chats(path)


class Dribbles(io.BytesIO):
    """Gives a few bytes at once."""

    def __init__(self, content: bytes, size: int) -> None:
        super().__init__(content)
        self._size = size

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(size or 0, self._size))


def read_json(value: object, folder: Path) -> Read:
    return read_text(json.dumps(value), folder)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(trees(), min_size=1, max_size=3))
def test_what_is_exported_comes_back_with_all_its_branches(written: list[ConversationTree]) -> None:
    text = "".join(json_format.write(written))
    elements = list(reading._elements(json_stream.JsonStream(io.BytesIO(text.encode()), reading.FIELDS)))
    read = [json_format.read(element)[0] for element in elements]
    for before, after in zip(written, read, strict=True):
        assert branches(after) == branches(before)
        fields = ("title", "system_prompt", "created_at", "updated_at", "folder", "is_pinned", "is_archived")
        assert [getattr(after, field) for field in fields] == [getattr(before, field) for field in fields]


def test_a_file_is_written_and_read(tmp_path: Path) -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=timezone(timedelta(hours=2)))
    tree = ConversationTree("T", "", moment, moment, (TreeMessage(7, None, Role.USER, "hi ü 𝄞", moment),), 7)
    path = tmp_path / "chats.json"
    write_chats(path, [tree], ExportFormat.JSON, overwrite=False)
    (read,) = read_chats(path).trees
    assert read.messages[0].text == "hi ü 𝄞"
    assert read.created_at == moment
    with pytest.raises(FileUnusable, match=r"chats\.json exists already"):
        write_chats(path, [], ExportFormat.JSON, overwrite=False)
    assert list(read_chats(path).trees) == [read], "the old one is still there"
    assert list(tmp_path.iterdir()) == [path]


def test_markdown_holds_the_current_branch(tmp_path: Path) -> None:
    messages = (
        TreeMessage(1, None, Role.USER, "Name a colour.", None),
        TreeMessage(2, 1, Role.ASSISTANT, "Red.", None, "Tiny"),
        TreeMessage(3, 1, Role.ASSISTANT, "Blue.", None, "Tiny"),
    )
    path = tmp_path / "chat.md"
    write_chats(path, [ConversationTree("Colours", "Be brief.", None, None, messages, 3)], ExportFormat.MARKDOWN, False)
    assert path.read_text() == (
        "# Colours\n\n## System prompt\n\nBe brief.\n\n## You\n\nName a colour.\n\n## Tiny\n\nBlue.\n"
    )


def test_thoughts_are_written_apart_from_answers(tmp_path: Path) -> None:
    thoughts = (Thought(0, "Blue?\n\nBlue.", 12.4, 9, True), Thought(5, "Enough?", 1.0, 2, True))
    reply = TreeMessage(1, None, Role.ASSISTANT, "Blue. Done.", None, "Tiny", thoughts)
    tree = ConversationTree("Colours", "", None, None, (reply,), 1)
    markdown, exported = tmp_path / "chat.md", tmp_path / "chat.json"
    write_chats(markdown, [tree], ExportFormat.MARKDOWN, False)
    assert markdown.read_text() == (
        "# Colours\n\n## Tiny\n\n> *Thought for 12 s*\n>\n> Blue?\n>\n> Blue.\n\nBlue.\n"
        "\n> *Thought for 1 s*\n>\n> Enough?\n\nDone.\n"
    )
    write_chats(exported, [tree], ExportFormat.JSON, False)
    assert json.loads(exported.read_text())["conversations"][0]["messages"][0]["text"] == "Blue. Done."
    (read,) = read_chats(exported).trees
    assert read.messages == (reply,)


def test_where_nothing_can_be_written_a_sentence_says_so(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing" / "chats.json"):
        with pytest.raises(FileUnusable, match=r"; .*\.$"):
            write_chats(path, [], ExportFormat.JSON, overwrite=True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full disk")
def test_an_export_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "chats.json"
    path.write_text("old")
    monkeypatch.setattr("tempfile.mkstemp", lambda **_: (os.open("/dev/full", os.O_WRONLY), str(tmp_path / "part")))
    tree = ConversationTree("T", "", None, None, (TreeMessage(1, None, Role.USER, "x" * 100_000, None),), 1)
    with pytest.raises(FileUnusable, match="The disk is full"):
        write_chats(path, [tree], ExportFormat.JSON, overwrite=True)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# ChatGPT


def node(name: str, parent: str | None, role: str = "", *parts: object, **more: Any) -> tuple[str, dict[str, Any]]:
    message = None
    if role:
        content = {"content_type": more.pop("content_type", "text"), "parts": list(parts)}
        message = {"author": {"role": role}, "content": content, "create_time": 1_700_000_000.25, **more}
    return name, {"id": name, "parent": parent, "message": message, "children": []}


def chatgpt(*nodes: tuple[str, dict[str, Any]], head: str | None) -> dict[str, Any]:
    return {
        "title": "Colours",
        "create_time": 1.7e9,
        "update_time": 1.7e9,
        "mapping": dict(nodes),
        "current_node": head,
    }


HIDDEN = {"is_visually_hidden_from_conversation": True}
TALK = chatgpt(
    node("root", None),
    node("sys", "root", "system", "", metadata=HIDDEN),
    node("u", "sys", "user", "Name a colour."),
    node("a", "u", "assistant", "Red.", metadata={"model_slug": "gpt-4o"}),
    node("b0", "u", "assistant", "Let me look."),
    node("call", "b0", "assistant", "search()", recipient="browser"),
    node("tool", "call", "tool", "results", content_type="tether_quote"),
    node("b1", "tool", "assistant", "Blue.", metadata={"model_slug": "gpt-4o"}),
    node("pic", "b1", "user", {"content_type": "image_asset_pointer"}, "What is this?", content_type="multimodal_text"),
    head="pic",
)


@pytest.mark.parametrize("form", ["list", "one", "zip"])
def test_chatgpt_conversations_keep_what_was_said(tmp_path: Path, form: str) -> None:
    if form == "zip":
        path = tmp_path / "export.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("conversations.json", json.dumps([TALK]))
            archive.writestr("picture.png", b"no text")
        read = read_chats(path)
    else:
        read = read_json([TALK] if form == "list" else TALK, tmp_path)
    (tree,) = read.trees
    assert [(each.parent, each.role, each.text) for each in tree.messages] == [
        (None, Role.USER, "Name a colour."),
        (1, Role.ASSISTANT, "Red."),
        (1, Role.ASSISTANT, "Let me look.\n\nBlue."),
        (3, Role.USER, "[picture]\n\nWhat is this?"),
    ]
    assert tree.messages[1].target_name == "gpt-4o"
    assert tree.messages[1].created_at == datetime.fromtimestamp(1_700_000_000.25, UTC)
    assert tree.head == 4
    assert tree.title == "Colours"


def test_a_chatgpt_conversation_that_ends_with_a_tool_ends_with_what_was_said(tmp_path: Path) -> None:
    talk = chatgpt(node("u", None, "user", "Hi"), node("t", "u", "tool", "result"), head="t")
    (tree,) = read_json([talk], tmp_path).trees
    assert (len(tree.messages), tree.head) == (1, 1)


# Lists of messages


def test_lists_of_messages(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": "Hello."},
    ]
    lines = "\n".join(json.dumps({"messages": messages}) for _ in range(3))
    read = read_text(lines, tmp_path, "chats.jsonl")
    assert len(read.trees) == 3
    first = next(iter(read.trees))
    assert first.system_prompt == "Be brief."
    assert [each.text for each in first.messages] == ["Hi", "Hello."]
    assert first.title == "Hi"
    assert first.messages[0].created_at is None


# What is left out


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (chatgpt(node("root", None), head="root"), LeftOut.EMPTY),
        ({"mapping": [1, 2]}, LeftOut.UNREADABLE),
        ({"messages": [{"role": 7, "content": {}}]}, LeftOut.UNREADABLE),
        ({"messages": [{"id": 1}, {"id": 1}], "head": 1}, LeftOut.UNREADABLE),
        (["no object"], LeftOut.UNREADABLE),
    ],
)
def test_a_damaged_conversation_is_left_out_and_the_others_are_read(tmp_path: Path, bad: Any, why: LeftOut) -> None:
    read = read_json([bad, TALK], tmp_path)
    assert [tree.title for tree in read.trees] == ["Colours"]
    assert [reason for reason, _ in read.left_out] == [why]


def test_times_that_no_clock_showed_are_not_known(tmp_path: Path) -> None:
    odd = {**TALK, "create_time": 1e300, "update_time": -5.0}
    tree, _ = read_json([odd, TALK], tmp_path).trees
    assert (tree.created_at, tree.updated_at) == (None, None)


def test_a_long_conversation_is_no_deep_one(tmp_path: Path) -> None:
    nodes = [node(str(n), str(n - 1) if n else None, "user" if n % 2 else "assistant", "x") for n in range(3_000)]
    (tree,) = read_json([chatgpt(*nodes, head="2999")], tmp_path).trees
    assert len(tree.messages) == 3_000


# What is refused


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00[",
        b'[{"mapping": "\xc3\x28"}]',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[1, 2, 3]",
        b'"only a string"',
        b'[{"messages": [',
        b'{"messages": []',
        b'[{"messages": [{"role": "user", "content": "x"}]} {}]',
        b"1" * 10_000,
        b'{"format": "slipstream-conversations", "version": 2, "conversations": []}',
        b'{"conversations": [], "version": 2, "format": "slipstream-conversations"}',
        b'{"format": "slipstream-conversations", "version": "x", "conversations": []}',
        b"PK\x03\x04 no zip at all",
    ],
)
def test_what_is_no_file_of_chats_is_refused_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(FileUnusable, match=r"; .*\.$|version; .*\.$|version of Slipstream; .*\.$"):
        read_text(content, tmp_path)


@settings(max_examples=40)
@given(st.binary(max_size=60))
def test_no_bytes_bring_it_down(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.getbasetemp()
    for damaged in (content, json.dumps([TALK]).encode()[: len(content) * 20] + content):
        with contextlib.suppress(FileUnusable):
            read_text(damaged, folder)


def test_what_is_missing_or_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "gone.json", tmp_path, tmp_path / "pipe"):
        with pytest.raises(FileUnusable, match=r"choose another file|is not a file; choose a file with chats"):
            read_chats(path)


def test_large_files_are_refused_before_they_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(2**30)  # without taking up space
    with pytest.raises(FileUnusable, match="too large"):
        read_chats(path)


def test_too_many_chats_are_refused_before_they_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_CHATS", 3)
    with pytest.raises(FileUnusable, match="too many chats"):
        read_text("[1, 1, 1, 1]", tmp_path)


def test_turns_that_are_joined_are_held_in_memory_once(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": f" {place:0500} "} for place in range(4000)]
    tracemalloc.start()
    try:
        (tree,) = read_text(json.dumps({"messages": turns}), tmp_path).trees
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    (message,) = tree.messages
    assert message.text.startswith(f" {0:0500}\n\n{1:0500}\n\n")
    assert message.text.endswith(f"{3999:0500} ")
    assert most < 100 * 2**20


def test_branches_that_repeat_too_much_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grown_tree, "MOST_CHARACTERS", 50)

    def node(parent: str | None, role: str) -> dict[str, Any]:
        return {"parent": parent, "message": {"author": {"role": role}, "content": {"parts": ["ten signs!"]}}}

    mapping = {"u0": node(None, "user"), "a0": node("u0", "assistant")}
    for place in range(1, 3):
        mapping |= {f"u{place}": node(f"u{place - 1}", "user"), f"a{place}": node(f"u{place}", "assistant")}
    assert read_text(json.dumps([{"title": "long", "mapping": mapping}, {"messages": []}]), tmp_path).left_out == (
        (LeftOut.TOO_LARGE, "long"),
        (LeftOut.EMPTY, ""),
    )


def test_what_repeats_too_much_is_left_out_before_it_is_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A comb: turns of one role, each with another beside it, that all go on from those before."""
    mapping = {
        str(place): {
            "parent": None if place < 2 else str(place - 2 if place % 2 == 0 else place - 1),
            "message": {"author": {"role": "user"}, "content": {"parts": ["ten signs!"]}},
        }
        for place in range(3_000)
    }
    monkeypatch.setattr(grown_tree, "MOST_CHARACTERS", 2**20)
    monkeypatch.setattr(grown_tree, "_BETWEEN", None)  # nothing is joined
    assert read_json({"title": "comb", "mapping": mapping}, tmp_path).left_out == ((LeftOut.TOO_LARGE, "comb"),)


def test_a_message_that_the_store_would_not_read_to_its_end_is_too_large(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "x" * 2**20} for _ in range(4)]
    assert read_json({"messages": turns}, tmp_path).left_out == ((LeftOut.TOO_LARGE, ""),)
    assert len(read_json({"messages": turns[:3]}, tmp_path).trees) == 1


def test_zip_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b" " * 2**22)
    monkeypatch.setattr(opening, "MOST_BYTES", 2**21)
    with pytest.raises(FileUnusable, match="too large"):
        read_chats(path)
    raw = path.read_bytes().replace((2**22).to_bytes(4, "little"), (2**20).to_bytes(4, "little"))
    path.write_bytes(raw)  # it says it is smaller than it is
    with pytest.raises(FileUnusable, match="damaged"):
        read_chats(path)


def packed(path: Path, *contents: bytes, how: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", how) as archive:
        for content in contents:
            archive.writestr("conversations.json", content)
    return path


@pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_python_unpacks_without_bound_is_not_unpacked(tmp_path: Path, how: int) -> None:
    path = packed(tmp_path / "bomb.zip", json.dumps([TALK]).encode(), how=how)
    with pytest.raises(FileUnusable, match="packed in an unusual way"):
        read_chats(path)


def test_pictures_of_a_chat_may_be_larger_than_a_chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "MOST_TEXT_BYTES", 100_000)
    monkeypatch.setattr(json_format, "_PIECE_BYTES", 30_000)
    data = [b"\x89PNG" + random.Random(number).randbytes(number * 400_000) for number in (1, 2, 3)]
    pictures = [Picture(sha256(each).hexdigest(), each, 3, 2) for each in data]
    words = join_prompt([AttachedPicture("a.png", each.digest) for each in pictures[:2]], "")
    messages = (TreeMessage(1, None, Role.USER, words, None),)
    written = [ConversationTree(title, "", None, None, messages, 1, pictures) for title in ("one", "two")]
    path = tmp_path / "chats.json"
    write_chats(path, written, ExportFormat.JSON, False)
    seen: list[bytes] = []

    def sizes_of(found: Iterable[bytes]) -> list[tuple[int, int] | None]:
        seen.extend(found)
        return [None, (3, 2)]

    read = list(read_chats(path, sizes_of=sizes_of).trees)
    assert seen == data[:2], "each once, and none that is not named"
    found = [[(each.digest, each.data) for each in tree.pictures] for tree in read]
    assert found == [[(pictures[1].digest, data[1])]] * 2
    assert [list(tree.pictures) for tree in read_chats(path).trees] == [[], []], "nobody looked at them"


@pytest.mark.parametrize(
    "pictures",
    [
        7,
        [7],
        [{"digest": 7, "base64": []}],
        [{"digest": "D", "base64": [[0, 5]]}],
        [{"digest": "D", "base64": ["no base"]}],
        [{"digest": "D", "base64": "AAAA"}],
        [{"digest": "D", "base64": ["AAAA"]}],  # of another digest
        [{"digest": "D", "base64": ["+" * 6_000_000]}],
        [{"digest": "D", "base64": []}] * 2,
    ],
)
def test_what_is_no_picture_leaves_its_chat_alone(tmp_path: Path, pictures: object) -> None:
    digest = "0" * 64
    prompt = {"id": 1, "role": "user", "text": f"![a](picture:{digest})"}
    chat = json.dumps({"head": 1, "messages": [prompt], "pictures": pictures}).replace("D", digest)
    path = tmp_path / "chats.json"
    path.write_text(chat)
    (tree,) = read_chats(path, sizes_of=lambda found: [None if data == b"" else (1, 1) for data in found]).trees
    assert (len(tree.messages), list(tree.pictures), tree.title) == (1, [], "a")


@pytest.mark.parametrize("seed", [0, 5])
def test_a_picture_of_any_length_does_not_keep_its_chat_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(json_stream, "MOST_STRING_BYTES", 2**17)
    dice = random.Random(seed)
    pieces = [r"\\", r"\"", r"\u00e9", "é", "😀", "x", "0a", "{", r"\n" * 50_000, r"\\" * 50_001, "a" * 99_999][seed:]
    picture = "z" * 2**21 + "".join(dice.choices(pieces, k=60))
    chat = json.dumps([TALK]).encode()
    begin = f'[{{"picture": "{picture}", "{picture}": 1, '
    assert list(read_text(begin.encode() + chat[2:], tmp_path).trees) == list(read_text(chat, tmp_path).trees)
    read = read_text(f'[{{"title": "{picture}", "messages": []}}, '.encode() + chat[1:], tmp_path)
    assert read.left_out == ((LeftOut.TOO_LARGE, ""),)
    assert list(read.trees) == list(read_text(chat, tmp_path).trees)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_files_with_one_name_are_refused(tmp_path: Path) -> None:
    path = packed(tmp_path / "twice.zip", *[json.dumps([TALK]).encode()] * 2)
    with pytest.raises(FileUnusable, match="the same name"):
        read_chats(path)


def test_a_directory_that_fills_the_memory_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_MOST_READ", 100_000)  # less than the directory says it takes, wherever it says so
    path = tmp_path / "pictures.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps([TALK]))
        for number in range(2_000):
            archive.writestr(f"{number}.png", b"")
    raw = bytearray(path.read_bytes())
    raw[-14:-10] = b"\1\0\1\0"  # one member, it says
    path.write_bytes(raw)
    with pytest.raises(FileUnusable, match="too many files"):
        read_chats(path)


@pytest.mark.parametrize(
    "chat",
    [
        b'{"title": "flawed", "messages": [' + b"[]," * 30_000 + b"[]]}",
        b'{"messages": [' + b"[]," * 30_000 + b'[]], "title": "flawed"}',
        b'{"title": "flawed", "mapping": {' + b",".join(b'"%d": {}' % number for number in range(30_000)) + b"}}",
        b'{"title": "flawed", "messages": [{"role": "user", "content": "' + b"x" * 5 * 2**17 + b'"}]}',
        b'{"messages": [[{"x": ["'
        + b"a" * 9 * 2**17
        + b'"]}, {"text": "'
        + b"a" * 9 * 2**17
        + b'"}]], "title": "flawed"}',
        b'{"title": "flawed", "messages": [%s]}'
        % b",".join([b'{"content": "' + "😀".encode() + b"x" * (2**19 - 99) + b'"}'] * 5),
    ],
    ids=["values", "title behind", "names", "string", "letters of escapes", "characters"],
)
def test_a_chat_that_is_too_large_is_left_out_by_its_title(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chat: bytes
) -> None:
    monkeypatch.setattr(json_stream, "MOST_KEPT", 30_000)
    monkeypatch.setattr(json_stream, "MOST_STRING_BYTES", 2**19)
    monkeypatch.setattr(json_stream, "MOST_TEXT_BYTES", 2**23)
    good = json.dumps(TALK).encode()
    tracemalloc.start()
    try:
        read = read_chats(packed(tmp_path / "bomb.zip", b"[%s, %s, %s]" % (good, chat, good)))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(read.trees), read.left_out) == (2, ((LeftOut.TOO_LARGE, "flawed"),))
    assert most < 20 * 2**20
    assert read_chats(packed(tmp_path / "alone.zip", chat)).left_out == read.left_out, "it is no other file"


def test_a_chat_that_is_nested_too_deeply_is_left_out(tmp_path: Path) -> None:
    deep = b'{"messages": ' + b"[" * 5_000 + b"]" * 5_000 + b', "title": "deep"}'
    read = read_text(b"[%s, %s]" % (deep, json.dumps(TALK).encode()), tmp_path)
    assert (len(read.trees), read.left_out) == (1, ((LeftOut.UNREADABLE, "deep"),))


@pytest.mark.parametrize("place", ["here", "unread"])
def test_a_chat_that_is_not_in_utf8_is_left_out_where_somebody_would_read_that(tmp_path: Path, place: str) -> None:
    chat = b'{"title": "flawed", "messages": [{"role": "user", "content": "x", "unread": "", "here": ""}]}'
    chat = chat.replace(b'"here"', b'"tool"' if place == "unread" else b'"content"')
    chat = chat.replace(b'"unread": ""' if place == "unread" else b'"content": ""', b'"content": "\xff\xc3("')
    if place == "unread":
        chat = chat.replace(b'"content": "\xff', b'"unread": "\xff')
    read = read_text(b"[%s, %s]" % (chat, json.dumps(TALK).encode()), tmp_path)
    assert read.left_out == (() if place == "unread" else ((LeftOut.UNREADABLE, "flawed"),))
    assert len(read.trees) == 1 + (place == "unread")
    legal = read_json([{"messages": [{"role": "user", "content": "\ufdd0"}]}], tmp_path)
    assert next(iter(legal.trees)).messages[0].text == "\ufdd0"


@pytest.mark.parametrize("field", ["content", "unread"])
def test_half_a_surrogate_pair_keeps_no_chat_out(tmp_path: Path, field: str) -> None:
    text = r"a\ud800b\udc00\ud800\ud83d\ude00\\ud800\ud800\u0041\udfff"
    message = f'{{"role": "user", "content": "x", "{field}": "{text}"}}'
    (tree,) = read_text(f'[{{"messages": [{message}]}}]', tmp_path).trees
    assert tree.messages[0].text == ("a�b��😀\\ud800�A�" if field == "content" else "x")


PIECES_OF_TEXT = st.sampled_from(
    [r"\u", "d8", "00", r"\ud83d", r"\ude00", "\\\\", r"\n", r"\"", "a", "é", "😀", r"\uD800", r"\u0041"]
)


@settings(max_examples=100)
@given(st.lists(PIECES_OF_TEXT, max_size=12), st.integers(1, 9))
def test_escapes_are_read_as_python_reads_them_however_they_are_cut(pieces: list[str], size: int) -> None:
    text = f'["{"".join(pieces)}"]'
    try:
        (wanted,) = json.loads(text)
    except ValueError:
        return
    stream = json_stream.JsonStream(Dribbles(text.encode(), size), reading.FIELDS)
    assert [value for _, value in stream.events if isinstance(value, str)] == [encodable(wanted)]


def test_what_nobody_reads_takes_time_only_and_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ignored = {f"field {number}": [{}, number] for number in range(10_000)}
    text = json.dumps({**ignored, "conversations": [{**TALK, **ignored}]})
    tracemalloc.start()
    try:
        assert len(read_text(text, tmp_path).trees) == 1
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 12 * 2**20
    monkeypatch.setattr(json_stream, "MOST_EVENTS", 50_000)
    with pytest.raises(FileUnusable, match="too many values"):
        read_text(text, tmp_path)


def test_titles_are_made_of_the_beginning_of_long_texts(tmp_path: Path) -> None:
    text = json.dumps({"messages": [{"role": "user", "content": "\n" + "a " * 2**21}]})
    tracemalloc.start()
    try:
        (tree,) = read_text(text, tmp_path).trees
        read_text(json.dumps([{"title": "a " * 2**21}, {"messages": []}]), tmp_path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert tree.title == "a " * 29 + "a…"
    assert most < 64 * 2**20


def test_not_all_chats_of_a_large_export_are_in_memory(tmp_path: Path) -> None:
    chats = [{"messages": [{"role": "user", "content": f"{number} {'x' * 500_000}"}]} for number in range(50)]
    path = tmp_path / "chats.json"
    path.write_text(json.dumps(chats))
    tracemalloc.start()
    try:
        trees = read_chats(path).trees
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 20 * 2**20
    assert [tree.messages[0].text for tree in trees] == [chat["messages"][0]["content"] for chat in chats]


def test_an_archive_without_conversations_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "photos.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("photo.png", b"")
    with pytest.raises(FileUnusable, match=r"no conversations\.json"):
        read_chats(path)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(FileUnusable, match="cut off"):
        read_chats(path)


def test_values_are_read_however_the_file_is_cut_into_pieces() -> None:
    text = '{"text": [12, true, "ü\\u00e4", -1.5e3], "other": [{"text": 1}], "messages": {}}'
    stream = json_stream.JsonStream(Dribbles(text.encode(), 1), reading.FIELDS)
    assert list(reading._elements(stream)) == [{"text": [12, True, "üä", -1500.0], "messages": {}}]


def test_calls_and_results_survive_export_and_import(tmp_path: Path) -> None:
    call = ToolCall("a1b2c3d4e", "weather", "forecast", '{"city": "Zürich"}')
    told = (
        TreeMessage(1, None, Role.USER, "Rain?", None),
        TreeMessage(2, 1, Role.ASSISTANT, "", None, "Tiny", (), (call,)),
        TreeMessage(3, 2, Role.TOOL, "Rain.", None, None, (), (), ToolResult(call, Outcome.DONE, 0.5, 7)),
        TreeMessage(4, 3, Role.ASSISTANT, "Yes.", None, "Tiny"),
    )
    path = tmp_path / "chats.json"
    write_chats(path, [ConversationTree("Rain", "", None, None, told, 4)], ExportFormat.JSON, overwrite=False)
    (tree,) = read_chats(path).trees
    assert tree.messages == told
    write_chats(tmp_path / "chat.md", [tree], ExportFormat.MARKDOWN, overwrite=False)
    written = (tmp_path / "chat.md").read_text()
    assert "> *Calls forecast*" in written
    assert "## forecast" in written
    assert "> Rain." in written
