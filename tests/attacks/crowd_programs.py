"""32 programs that ask a server until a line comes on the standard input: `python -m tests.attacks.crowd_programs
ADDRESS SEED`. Prints in JSON how many answers of which status there were, and what was wrong with any.

A grammar has each reply be the number of its request, or it begins with it, so that no reply can be taken for another
one. Now and then a program leaves before its reply has ended, asks for several, or sends what cannot be answered.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections import Counter

import httpx2

NUM_PROGRAMS = 32
FIRST = 7_000_000_000  # no number of the window has as many digits
_BUSY = (429, 503)
_REST_S = 0.2
_WAYS = ("whole", "whole", "streamed", "streamed", "several", "text", "echoed", "echoed", "leaves", "wrong")


class _Programs:
    def __init__(self, address: str, seed: str) -> None:
        self._address = address
        self._seed = seed
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._statuses: Counter[str] = Counter()
        self._wrong: list[str] = []

    def run(self) -> None:
        threads = [threading.Thread(target=self._live, args=(each,)) for each in range(NUM_PROGRAMS)]
        for each in threads:
            each.start()
        sys.stdin.readline()
        self._ending.set()
        for each in threads:
            each.join()
        print(json.dumps({"statuses": self._statuses, "wrong": self._wrong}))

    def _live(self, program: int) -> None:
        dice = random.Random(f"{self._seed}:{program}")
        number = FIRST + program * 10**6
        with httpx2.Client(base_url=self._address, timeout=300) as http:
            while not self._ending.is_set():
                number += 1
                try:
                    self._ask(http, dice, number)
                except (httpx2.HTTPError, ValueError, LookupError) as error:
                    if not self._ending.is_set():
                        self._note("broken", f"{number}: {error!r}")

    def _ask(self, http: httpx2.Client, dice: random.Random, number: int) -> None:
        body = {"temperature": 0, "grammar": f'root ::= "{number}"', "max_tokens": 32}
        chat = {**body, "messages": [{"role": "user", "content": f"Say {number}."}]}
        match dice.choice(
            ("whole", "whole", "streamed", "streamed", "several", "text", "echoed", "echoed", "leaves", "wrong")
        ):
            case "whole":
                self._check(number, http.post("/v1/chat/completions", json=chat))
            case "several":
                self._check(number, http.post("/v1/chat/completions", json={**chat, "n": 2}))
            case "streamed":
                self._check(number, http.post("/v1/chat/completions", json={**chat, "stream": True}))
            case "text":
                self._check(number, http.post("/v1/completions", json={**body, "prompt": f"Say {number}: "}))
            case "echoed":
                free = {"prompt": f"Of {number}:", "max_tokens": 8, "echo": True}
                self._check(number, http.post("/v1/completions", json=free), f"Of {number}:")
            case "leaves":
                with http.stream("POST", "/v1/chat/completions", json={**chat, "stream": True}) as response:
                    next(response.iter_lines(), "")
                self._note("left")
            case "wrong":
                told = http.post("/v1/chat/completions", json={"messages": number})
                self._note(str(told.status_code), "" if told.status_code == 400 else f"{number}: {told.text[:200]}")

    def _check(self, number: int, response: httpx2.Response, begins: str = "") -> None:
        """The reply is the number, or begins so."""
        if response.status_code in _BUSY:
            self._note(str(response.status_code))
            time.sleep(_REST_S)
            return
        said = set(_said(response.text)) if response.status_code == 200 else {response.text[:200]}
        is_right = said == {str(number)} or (begins and all(each.startswith(begins) for each in said))
        self._note(str(response.status_code), "" if is_right else f"{number} got {response.status_code}: {said}")

    def _note(self, status: str, wrong: str = "") -> None:
        with self._lock:
            self._statuses[status] += 1
            if wrong:
                self._wrong.append(wrong)


def _said(text: str) -> list[str]:
    """The text of each reply."""
    if not text.startswith("data: "):
        choices = json.loads(text)["choices"]
        return [str(each["text"] if "text" in each else each["message"]["content"]) for each in choices]
    chunks = [json.loads(line[6:]) for line in text.split("\n\n") if line.startswith("data: {")]
    return ["".join(choice["delta"].get("content") or "" for each in chunks for choice in each["choices"])]


if __name__ == "__main__":
    _Programs(*sys.argv[1:]).run()
