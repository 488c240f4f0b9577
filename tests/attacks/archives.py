"""Archives and files of chats that are bombs, lies or damaged: read as an import reads them, and in the window."""

from __future__ import annotations

import hashlib
import json
import random
import struct
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from engine.backend.exchange import read_chats
from engine.backend.storage import Repository
from engine.values.conversations import ImportedConversations, Role
from engine.values.errors import FileUnusable
from engine.values.requests import Failure
from tests.attacks.attack import Memory, Outcome, Plan
from tests.attacks.desk import Desk, Held

_IN_WINDOW = 5  # tries, at least one of each million
_FLAWED = 40  # tries of one flawed chat among others
_VALUES = (b"[]", b"{}", b'""', b"0", b"null", b'{"role":[]}', b'{"text":{}}', b"[[[]]]", b'"a b"')
_WIDE = "\N{GRINNING FACE}"


def _chat(dice: random.Random) -> bytes:
    words = [dice.choice(["a", "word", "ü", _WIDE, "\\n", '\\"']) for _ in range(dice.randint(1, 50))]
    text = " ".join(words)
    return f'{{"title": "t", "messages": [{{"role": "user", "content": "{text}"}}]}}'.encode()


def _many(dice: random.Random) -> bytes:
    """Millions of small values, in places where they are read and where they are not."""
    field = dice.choice(
        ["messages", "mapping", "content", "x", "parts", "conversations", "title", "pictures", "base64"]
    )
    value = dice.choice(_VALUES)
    number = dice.choice([10**4, 10**6, 5 * 10**6])
    if field == "mapping" or dice.random() < 0.3:
        inner = b"{" + b",".join(b'"%d":%s' % (each, value) for each in range(min(number, 500_000))) + b"}"
    else:
        inner = b"[" + (value + b",") * number + value + b"]"
    return b'[{"%s": %s}]' % (field.encode(), inner)


def _long(dice: random.Random) -> bytes:
    """One string, of a size at or beyond what is taken."""
    unit = dice.choice([b"a", b"\\n", b"a ", _WIDE.encode(), b"\\ud83d\\ude00", "e\u0301".encode(), b"\\u0000"])
    text = (_WIDE.encode() if dice.random() < 0.5 else b"") + unit * (dice.choice([2**22, 2**24, 2**26]) // len(unit))
    return dice.choice(
        [
            b'[{"title": "%s", "messages": [{"role": "user", "content": "x"}]}]',
            b'[{"messages": [{"role": "user", "content": "%s"}]}]',
            b'[{"messages": [{"role": "user", "content": ["%s", "b"]}]}]',
            b'[{"x": "%s"}]',
            b'[{"head": 1, "messages": [], "pictures": [{"digest": "0", "base64": ["AAAA", "%s"]}]}]',
            b'{"%s": 1}',
            b'"%s"',
        ]
    ) % (text,)


def _deep(dice: random.Random) -> bytes:
    opening = dice.choice([b"[", b'{"a":', b'{"messages":[', b'[{"content":', b'{"mapping":'])
    return opening * dice.choice([500, 1_100, 10**6])


def _wide(dice: random.Random) -> bytes:
    """A tree in which turns are joined over and over, or that is none."""
    num = dice.choice([100, 5_000, 19_000])
    nodes = {}
    for each in range(num):
        parent = None if not each else str(dice.choice([each - 1, 0, each // 2, each + (each % 97 == 3)]))
        content = {"parts": ["x" * dice.choice([1, 100])]}
        nodes[str(each)] = {"parent": parent, "message": {"author": {"role": "user"}, "content": content}}
    return json.dumps([{"mapping": nodes}] * dice.choice([1, 3])).encode()


def _comb(dice: random.Random) -> bytes:
    """Turns of one role, each with another beside it: branches that repeat all that stands before them."""
    num = dice.choice([500, 5_000, 19_000])
    nodes = {
        str(each): {
            "parent": None if each < 2 else str(each - 2 if each % 2 == 0 else each - 1),
            "message": {"author": {"role": "user"}, "content": {"parts": ["x" * dice.choice([1, 100])]}},
        }
        for each in range(num)
    }
    return json.dumps([{"title": "comb", "mapping": nodes}] * dice.choice([1, 20])).encode()


def _crowd(dice: random.Random) -> bytes:
    return b"[" + b",".join(_chat(dice) for _ in range(dice.choice([1_000, 30_000]))) + b"]"


def _flawed(dice: random.Random) -> tuple[bytes, bool]:
    """A chat with one flaw, named for it; and whether it can be read all the same."""
    unit = dice.choice([b"x", b"a", b"\\n", _WIDE.encode(), b"\\u00e9"])
    kind, text = dice.choice(
        [
            ("long", unit * (dice.choice([5, 9, 20]) * 2**20 // len(unit))),
            ("half a pair", b"a" + dice.choice([b"\\ud800", b"\\udc00", b"\\uDBFF\\u0041", b"\\udfff\\ud83d"])),
            ("bytes", b"a" + dice.choice([b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\xf0\x9f"])),
            ("deep", b""),
            ("many", b""),
        ]
    )
    content = b'"%s"' % text
    if kind == "deep":
        content = b"[" * 2_000 + b"]" * 2_000
    elif kind == "many":
        content = b"[%s0]" % (b"[]," * 400_000)
    chat = b'"messages": [{"role": "user", "content": %s}]' % content
    title = b'"title": "%s"' % kind.encode()
    return b"{%s}" % b", ".join(dice.sample([chat, title], 2)), kind == "half a pair"


def _damaged(dice: random.Random) -> bytes:
    good = bytearray(b"[" + b",".join(_chat(dice) for _ in range(20)) + b"]")
    for _ in range(dice.randint(1, 9)):
        good[dice.randrange(len(good))] = dice.randrange(256)
    return bytes(good[: dice.randint(1, len(good))])


def _blank(dice: random.Random) -> bytes:
    return b"[" + dice.choice([b" ", b"\n", b"1 ", b"1,", b"{},"]) * dice.choice([10**6, 10**8])


_CONTENTS: tuple[Callable[[random.Random], bytes], ...] = (
    *(_many, _many, _long, _deep, _wide, _comb, _crowd, _damaged, _blank),
)
_PACKINGS = (zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def _written(dice: random.Random, folder: Path) -> Path:
    content = dice.choice(_CONTENTS)(dice)
    if dice.random() < 0.25 and len(content) < 2**26:
        path = folder / "chats.json"
        path.write_bytes(content)
        return path
    path = folder / "chats.zip"
    with zipfile.ZipFile(path, "w", dice.choice(_PACKINGS), compresslevel=1) as archive:
        archive.writestr("conversations.json", content)
        for number in range(dice.choice([0, 0, 3])):
            archive.writestr(f"conversations-{number}.json", b"[" + _chat(dice) + b"]")
        if dice.random() < 0.2:
            link = zipfile.ZipInfo("conversations-9.json")
            link.external_attr = 0o120777 << 16
            archive.writestr(link, "/etc/passwd")
    raw = bytearray(path.read_bytes())
    match dice.choice(["whole", "whole", "flip", "size", "directory", "encrypted", "cut", "nested"]):
        case "flip":
            for _ in range(dice.randint(1, 5)):
                raw[dice.randrange(len(raw))] = dice.randrange(256)
        case "size":
            at = raw.rfind(b"PK\1\2") + dice.choice([20, 24, 42])
            raw[at : at + 4] = struct.pack("<I", dice.choice([0, 1, 2**20, 2**31, 2**32 - 1]))
        case "directory":
            raw = _with_directory(raw, dice)
        case "encrypted":
            raw[raw.rfind(b"PK\1\2") + 8] |= 1
            raw[6] |= 1
        case "cut":
            del raw[dice.randrange(4, len(raw)) :]
        case "nested":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("conversations.json", bytes(raw[: 2**22]))
                archive.writestr("inner.zip", bytes(raw[: 2**22]))
            raw = bytearray(path.read_bytes())
    path.write_bytes(raw)
    return path


def _with_directory(raw: bytearray, dice: random.Random) -> bytearray:
    """With up to a million members, whatever number it says."""
    name = b"conversations-%d.json" if dice.random() < 0.5 else b"%d.png"
    head = b"PK\1\2" + struct.pack("<6H3L5H2L", 20, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    entries = bytearray()
    for number in range(dice.choice([1_001, 50_000, 400_000])):
        each = name % number
        entries += head[:28] + struct.pack("<H", len(each)) + head[30:] + each
    at = raw.rfind(b"PK\5\6")
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(entries), at, 0)
    return raw[:at] + entries + end


def run(plan: Plan) -> Outcome:
    outcome, memory, held = Outcome(), Memory(), Held()
    folder = plan.folder / "store"
    with closing(Repository.open(folder)) as repository:
        chat = repository.create_conversation("mine", "")
        repository.add_message(chat.id, None, Role.USER, "stays")
    _warm_up(plan.folder)
    slowest = 0.0
    for number in range(plan.count):
        path = _written(plan.dice(number), plan.folder)
        before = digest(folder)
        with memory.watched():
            seconds = _try(path, outcome, number)
        slowest = max(slowest, seconds)
        outcome.check(digest(folder) == before, f"{number}: the store has changed")
        outcome.tried += 1
    for number in range(min(_FLAWED, plan.count)):
        with memory.watched():
            _try_flawed(plan.dice(-number - 1), plan.folder, outcome)
    with Desk(plan.folder) as desk:
        for number in range(0, plan.count, max(1, plan.count // _IN_WINDOW)):
            path = _written(plan.dice(number), plan.folder)
            with desk.watching() as now:
                import_chats(desk, path)
            held = held.worst(now)
        outcome.check(bool(desk.ask("Name a colour.")), "the chat does not go on")
    outcome.check(memory.is_within_bar, f"it took {memory}")
    outcome.check(held.is_within_bar, f"the interface thread was {held}")
    outcome.figures = {"memory": str(memory), "slowest": f"{slowest:.0f} s of processor", "interface": str(held)}
    return outcome


def _try_flawed(dice: random.Random, folder: Path, outcome: Outcome) -> None:
    """One of three: the others are read, and it is told by its title, or read as well."""
    flawed, is_read = _flawed(dice)
    path = folder / "flawed.json"
    path.write_bytes(b"[%s, %s, %s]" % (_chat(dice), flawed, _chat(dice)))
    outcome.tried += 1
    try:
        read = read_chats(path)
    except FileUnusable as error:
        outcome.failures.append(f"a flawed chat ({flawed[:60]!r}…) refuses its file: {error}")
        return
    titles = [title for _, title in read.left_out]
    is_told = (len(read.trees), len(titles)) == ((3, 0) if is_read else (2, 1)) and all(titles)
    outcome.check(is_told, f"of a flawed chat ({flawed[:60]!r}…) is told {read.left_out}")


def _warm_up(folder: Path) -> None:
    path = folder / "warm.json"
    path.write_bytes(b"[" + _chat(random.Random(0)) + b"]")
    read_chats(path)


def _try(path: Path, outcome: Outcome, number: int) -> float:
    from time import process_time

    start = process_time()
    try:
        read_chats(path)
    except FileUnusable as error:
        outcome.check(str(error).endswith("."), f"{number}: no sentence: {error}")
    except Exception as error:
        outcome.failures.append(f"{number}: {type(error).__name__}: {error}")
    return process_time() - start


def import_chats(desk: Desk, path: Path) -> ImportedConversations | Failure:
    ended: list[ImportedConversations | Failure] = []
    request = desk.bridge.ask(desk.bridge.engine.files.import_conversations, path)
    request.answered.connect(ended.append)
    request.failed.connect(ended.append)
    desk.until(lambda: bool(ended))
    return ended[0]


def carried_out(desk: Desk, method: Callable[..., object], *args: object) -> Failure | None:
    """How it failed, if it did."""
    ended: list[Failure | None] = []
    request = desk.bridge.ask(method, *args)
    request.answered.connect(lambda _answer: ended.append(None))
    request.failed.connect(ended.append)
    desk.until(lambda: bool(ended))
    return ended[0]


def digest(folder: Path) -> str:
    """Of a store, with its log."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.glob("*.sqlite3*")))).hexdigest()
