"""Small files that anybody may have written or damaged: presets and prompts, the programs that have keys, servers of
tools, settings; or pipes in their place. Each is read like one that is opened or lies in the data folder: what makes
sense of it is used, or it is refused with a sentence, and what was read can be written and read again."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from time import process_time
from typing import Any

from app.settings.app_settings import SettingsFile
from engine.backend.exchange.presets import read_presets, write_presets
from engine.backend.server.clients import Clients
from engine.backend.tools.servers import read_tool_servers, write_tool_servers
from engine.values.config import OwnSampling
from engine.values.errors import MendableError
from engine.values.order import LibraryPrompt, Preset, TargetChoice
from engine.values.places import CLIENTS, SETTINGS
from tests.attacks.attack import Memory, Outcome, Plan

_PIPE = b"pipe"  # that nobody writes into, in place of the file
_BAR_S = 2.0  # of the processor; the largest file that is read has 8 MB
_ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 1e308, float("nan"), float("inf"), 10**400, "", "\0", "\ud800", "\u202e\u2066", "🙂" * 5_000),
    *("x" * 200_000, [], {}, [[]], {"": {}}, ["a"] * 5_000, {str(number): number for number in range(3_000)}),
    *(
        "é" * 64,
        "F" * 64,
        "0" * 63,
        "{{{{",
        "{a}" * 2_000,
        "<img src=//x/y>",
        "../../x",
        "a\nb\rc",
        "http://x\x00y",
        {"name": "a"},
        [None] * 100,
    ),
)


def run(plan: Plan) -> Outcome:
    outcome, memory, slowest = Outcome(), Memory(), 0.0
    kinds = (_presets, _clients, _servers, _settings)
    for number in range(plan.count):
        dice, read = plan.dice(number), kinds[number % len(kinds)]
        folder = plan.folder / str(number)
        folder.mkdir()
        raw, begun = _bent(dice, _SOUND[read]), process_time()
        about = f"{number}: {read.__name__[1:]} {raw[:60]!r}"
        with memory.watched():
            try:
                read(folder, raw)
            except MendableError as refusal:
                outcome.check(str(refusal).rstrip("”").endswith("."), f"{about}: no sentence: {refusal}")
            except Exception as error:
                outcome.failures.append(f"{about}: {type(error).__name__}: {str(error)[:200]}")
        seconds = process_time() - begun
        outcome.check(seconds < _BAR_S, f"{about} took {seconds:.1f} s")
        slowest = max(slowest, seconds)
        outcome.tried += 1
    outcome.check(memory.is_within_bar, f"it took {memory}")
    outcome.figures = {"memory": str(memory), "slowest": f"{slowest:.2f} s of processor"}
    return outcome


def _presets(folder: Path, raw: bytes) -> None:
    path = folder / "presets.json"
    _put(path, raw)
    read = read_presets(path)
    again = folder / "again.json"
    write_presets(again, read.presets, read.prompts, overwrite=False)
    known = read_presets(again)
    assert len(known.presets) + len(known.prompts) == len(read.presets) + len(read.prompts), "some are lost"


def _clients(folder: Path, raw: bytes) -> None:
    _put(folder / CLIENTS, raw)
    clients = Clients(folder)
    known = clients.all()
    assert clients.of_key("slip-x") is None, "a key is let in that nobody was given"
    clients.add("another")
    assert clients.all()[: len(known)] == known, "some are lost"


def _servers(_folder: Path, raw: bytes) -> None:
    servers = read_tool_servers(raw.decode("utf-8", "replace"))
    assert read_tool_servers(write_tool_servers(servers)) == servers, "they are others when they are written"
    for each in servers:
        for words in (each.command, *each.args, *(part for pair in each.env for part in pair)):
            words.encode()  # a program can be given it


def _settings(folder: Path, raw: bytes) -> None:
    _put(folder / SETTINGS, raw)
    file = SettingsFile(folder)
    settings, _ = file.load()
    settings.reply_settings(), settings.target_settings(), settings.learning_settings(), settings.servers()
    file.save(settings)
    again, complaint = file.load()
    assert again == settings, "they are others when they are saved"
    assert not complaint, complaint
    file.forget_words(settings.without_words())


def _put(path: Path, raw: bytes) -> None:
    if raw == _PIPE:
        os.mkfifo(path)
    else:
        path.write_bytes(raw)


def _sound_presets() -> bytes:
    preset = Preset(
        0, "Short", "Be brief.", OwnSampling(temperature=0.2, banned_words="delve"), True, TargetChoice("m")
    )
    return json.dumps(
        {
            "format": "slipstream-presets",
            "version": 1,
            "presets": [
                {
                    "name": preset.name,
                    "system_prompt": preset.system_prompt,
                    "sampling": dict(preset.sampling.chosen),
                    "thinks": True,
                    "model": {"name": "m", "identity": "i"},
                }
            ],
            "prompts": [
                {"name": each.name, "text": each.text} for each in [LibraryPrompt(0, "a", "In {language}: {text}")]
            ],
        }
    ).encode()


_SERVER = {"command": "a", "args": ["b"], "env": {"K": "v"}, "cwd": "/", "disabled": False, "disabledTools": ["c"]}
_SOUND: dict[Callable[[Path, bytes], None], bytes] = {
    _presets: _sound_presets(),
    _clients: json.dumps([{"name": "editor", "digest": "0" * 64, "is_remembered": True}]).encode(),
    _servers: json.dumps(
        {"mcpServers": {"files": _SERVER, "notes": {"url": "https://x/", "headers": {"A": "b"}}}}
    ).encode(),
    _settings: json.dumps(
        {
            "version": 2,
            "draft": "a",
            "system_prompt": "b",
            "temperature": 0.5,
            "tool_servers": json.dumps({"mcpServers": {"files": _SERVER}}),
            "tools_of_chats": {"7": ["files"]},
            "shortcuts": {"send": "Ctrl+S"},
            "window": "",
            "open_folders": [1],
            "server_port": 8642,
        }
    ).encode(),
}


def _bent(dice: random.Random, sound: bytes) -> bytes:
    match dice.choice(["values", "values", "values", "bytes", "cut", "deep", "many", "code", "long", "pipe"]):
        case "pipe":
            return _PIPE
        case "values":
            return json.dumps(_with_odd(dice, json.loads(sound), dice.randint(1, 3))).encode()
        case "bytes":
            raw = bytearray(sound)
            for _ in range(dice.randint(1, 8)):
                raw[dice.randrange(len(raw))] = dice.randrange(256)
            return bytes(raw)
        case "cut":
            return sound[: dice.randrange(len(sound))]
        case "deep":
            return dice.choice([b"[", b'{"presets":[', b'{"mcpServers":', b'[{"name":']) * dice.choice([900, 100_000])
        case "many":
            return b"[" + sound + (b"," + sound) * dice.choice([10, 3_000]) + b"]"
        case "code":
            return sound.decode().encode(dice.choice(["utf-16", "utf-32", "utf-8-sig", "utf-7"]))
    return sound[:-1] + b" " * dice.choice([10**6, 2 * 10**7]) + sound[-1:]


def _with_odd(dice: random.Random, value: Any, count: int) -> Any:
    """With odd values in the place of some of its own."""
    for _ in range(count):
        holder, key = dice.choice(_places(value))
        holder[key] = deepcopy(dice.choice(_ODD))  # which may get one, too
    return value


def _places(value: Any) -> list[tuple[Any, Any]]:
    items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    found = [(value, key) for key, _ in items]
    for _, inner in items:
        if isinstance(inner, dict | list) and inner:
            found += _places(inner)
    return found
