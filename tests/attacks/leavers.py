"""Programs that leave while their request is prepared, read or written: nothing of it is worked on for long after that.

What is measured is the time of the processor that the app takes from when they leave until it rests, beside what it
takes at rest. The starter answers; the requests are as large as they may be.
"""

from __future__ import annotations

import json
import random
import socket
import time
from typing import Any

import psutil

from engine.backend.server.clients import Clients
from engine.use_cases.serving import serving
from engine.values.config import STARTER, EngineConfig, TargetSettings
from engine.values.serving import ServerSettings
from engine.values.stop_signal import StopSignal
from tests.attacks.attack import Outcome, Plan

_BAR_S, _LOOK_S = 0.1, 0.6
_CHAT, _BARE = "/v1/chat/completions", "/v1/completions"
_USER = {"role": "user", "content": "Go on."}
_CONTEXT = 32_768  # tokens


def run(plan: Plan) -> Outcome:
    outcome, taken = Outcome(), []
    key = Clients(plan.folder).add("editor", is_remembered=True)
    with serving(EngineConfig(plan.folder), ServerSettings(port=0)) as found:
        found.load(STARTER, TargetSettings(context_size=_CONTEXT), StopSignal())
        _left_after(found.address, 2.0, _CHAT, {"messages": [_USER]}, "")
        time.sleep(2)
        at_rest = _taken(_LOOK_S)
        for number in range(plan.count):
            dice = plan.dice(number)
            what, path, body = _request(dice, number)
            after_s = dice.choice([0.02, 0.05, 0.1, 0.2, 0.5, 1.0])
            _left_after(found.address, after_s, path, body, key if number % 2 else "")
            taken.append(_taken(_LOOK_S) - at_rest)
            outcome.tried += 1
            outcome.check(taken[-1] < _BAR_S, f"{number}: {what}, left after {after_s} s: {taken[-1]:.2f} s")
            time.sleep(0.2)
    outcome.figures["processor after they left"] = (
        f"median {sorted(taken)[len(taken) // 2]:.2f} s, most {max(taken):.2f} s"
    )
    return outcome


def _request(dice: random.Random, number: int) -> tuple[str, str, dict[str, Any]]:
    words = " ".join(dice.choice(["red", "house", "walks", "seldom", "or", "blue\n"]) for _ in range(15_000))
    many = [{"role": role, "content": f"{dice.random()}"} for _ in range(300) for role in ("user", "assistant")]
    kinds: list[tuple[str, str, dict[str, Any]]] = [
        ("a long prompt", _CHAT, {"messages": [{"role": "user", "content": words}]}),
        ("a bare prompt", _BARE, {"prompt": words, "max_tokens": -1}),
        ("one word", _CHAT, {"messages": [{"role": "user", "content": "x" * 400_000}]}),
        ("a long history", _CHAT, {"messages": [*many, _USER]}),
        ("a prediction", _CHAT, {"messages": [_USER], "prediction": {"type": "content", "content": words}}),
        ("an endless reply", _CHAT, {"messages": [_USER], "grammar": 'root ::= [a-z]+ " " root', "stream": True}),
    ]
    return kinds[number % len(kinds)]


def _left_after(address: str, seconds: float, path: str, body: dict[str, Any], key: str) -> None:
    host, port = address.removeprefix("http://").split(":")
    data = json.dumps(body).encode()
    lines = ["Host: localhost", f"Content-Length: {len(data)}", *([f"Authorization: Bearer {key}"] if key else [])]
    with socket.create_connection((host, int(port)), 60) as connection:
        connection.sendall("\r\n".join([f"POST {path} HTTP/1.1", *lines, "", ""]).encode() + data)
        time.sleep(seconds)


def _taken(seconds: float) -> float:
    """By this process, which does nothing but that meanwhile."""
    before = psutil.Process().cpu_times()
    time.sleep(seconds)
    after = psutil.Process().cpu_times()
    return after.user + after.system - before.user - before.system
