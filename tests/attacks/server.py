"""The server: requests as nobody should send them, pages in browsers, and 32 programs at once.

The target is a fake that says back the number it was asked, so that what is measured is the server, and no reply can be
taken for another one. Then the programs come once more, to the starter: each request has a grammar that lets the reply
be its number alone. Embeddings are made by a tiny model.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from typing import Any

import httpx2
import hypothesis
import psutil
from hypothesis import strategies as st

from engine.backend.server.clients import Clients
from engine.speculation.model.files.sources import starter_path
from engine.use_cases.serving import serving
from engine.values.config import STARTER, EngineConfig, TargetSettings
from engine.values.serving import ServerLimits, ServerSettings
from engine.values.stop_signal import StopSignal
from tests.attacks.attack import Outcome, Plan
from tests.fakes.served import ANYWHERE, Served, served
from tests.fakes.target import END, PIECES, FakeTarget
from tests.fakes.tiny_models import tiny_bert

_PROGRAMS, _CROWD_S, _FOREIGN, _SLOW, _HELD = 32, 120.0, 100, 16, 300
_USUAL = 2000  # tries; with fewer, the crowd is there for a shorter time
_REFUSALS = {400, 404, 405, 408, 413, 431, 501}
_MEMORY_BAR = 20 << 20  # bytes that more and more requests may leave behind

_PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/embeddings")
_USER = {"role": "user", "content": "1;"}
_VALID: dict[str, dict[str, Any]] = {
    _PATHS[0]: {"messages": [_USER], "max_tokens": 4},
    _PATHS[1]: {"prompt": "1;", "max_tokens": 4},
    _PATHS[2]: {"model": "x", "messages": [_USER], "max_tokens": 4},
    _PATHS[3]: {"input": "x"},
}
_FIELDS = (
    *("input", "encoding_format", "dimensions"),
    *("messages", "prompt", "model", "max_tokens", "max_completion_tokens", "stream", "stop", "seed", "temperature"),
    *("top_p", "top_k", "min_p", "n", "logprobs", "top_logprobs", "tools", "tool_choice", "response_format", "system"),
    *("prediction", "stream_options", "stop_sequences", "thinking", "grammar", "json_schema", "logit_bias", "echo"),
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "system", "tool", "developer", "owner"]) | _JSON,
        "content": st.text(max_size=30)
        | _JSON
        | st.lists(
            st.fixed_dictionaries(
                {"type": st.text(max_size=9)}, optional={"text": _JSON, "image_url": _JSON, "source": _JSON}
            ),
            max_size=3,
        ),
        "tool_calls": _JSON,
        "tool_call_id": _JSON,
    },
)
_BODY = st.tuples(
    st.sampled_from(_PATHS),
    st.dictionaries(st.sampled_from(_FIELDS), _JSON, min_size=1, max_size=3)
    | st.fixed_dictionaries({"messages": st.lists(_MESSAGE, max_size=3)}),
)
_BYTES = st.binary(max_size=200) | st.sampled_from(
    [b"[" * 5_000, b'{"a":' * 5_000, b"nul", b'{"messages": NaN}', b"\xff\xfe{}", b"", b'{"messages": [}', b"1" * 6_000]
)


def run(plan: Plan) -> Outcome:
    outcome = Outcome()
    limits = ServerLimits(waiting=64, text_bytes=1 << 20, body_s=2.0, head_s=2.0)
    target = FakeTarget(_echo, 8_192, max_tokens=64)
    settings = ServerSettings(port=ANYWHERE, limits=limits, embeddings=tiny_bert(plan.folder / "tiny.gguf"))
    crowd_s = _CROWD_S * min(1.0, plan.count / _USUAL)
    data_dir = plan.folder / "data"
    with served(data_dir, target, settings) as found:
        with httpx2.Client(base_url=found.serving.address, timeout=60) as http:
            _malformed(outcome, plan, http)
            _foreign(outcome, plan, http)
        _slow(outcome, found)
        _holding(outcome, found)
        _huge(outcome, found)
        _wrong_keys(outcome, plan)
        outcome.check(found.said("7;")["choices"][0]["message"]["content"] == "7", "after all that it does not answer")
        _crowd(outcome, found.serving.address, crowd_s, "32 programs", {})
        _key(outcome, found)
    with serving(EngineConfig(plan.folder / "starter"), settings) as starter:
        starter.load(STARTER, TargetSettings(), StopSignal())
        _crowd(outcome, starter.address, crowd_s, "32 programs and the starter", {"temperature": 0})
    return outcome


def _echo(tokens: Sequence[int]) -> int:
    """The last number that was asked, and its end."""
    text = b"".join(PIECES[token] for token in tokens)
    asked, _, said = text.rpartition(b"assistant\n")
    numbers = re.findall(rb"(\d+);", asked)
    reply = numbers[-1] if numbers else b""
    return reply[len(said)] if len(said) < len(reply) else END


def _malformed(outcome: Outcome, plan: Plan, http: httpx2.Client) -> None:
    statuses: Counter[int] = Counter()

    def look(response: httpx2.Response, asked: object) -> None:
        statuses[response.status_code] += 1
        outcome.tried += 1
        if response.status_code == 200:  # it was not malformed after all
            return
        text = response.text
        outcome.check(response.status_code in _REFUSALS, f"{response.status_code} for {asked!r:.300}: {text[:200]}")
        outcome.check("Traceback" not in text and ".py" not in text, f"a traceback for {asked!r:.300}")
        try:
            sentence = response.json()["error"]["message"]
        except (ValueError, KeyError, TypeError):
            sentence = ""
        outcome.check(sentence.endswith("."), f"no sentence for {asked!r:.300}: {text[:200]}")

    @hypothesis.given(_BODY)
    def fields(asked: tuple[str, dict[str, Any]]) -> None:
        path, changed = asked
        body = json.dumps(_VALID[path] | changed)
        look(http.post(path, content=body.encode("utf-8", "surrogatepass")), asked)

    @hypothesis.given(st.sampled_from(_PATHS[:3]), _BYTES)
    def broken(path: str, data: bytes) -> None:
        look(http.post(path, content=data), data)

    _tried(fields, plan.seed, max(1, plan.count * 4 // 5))()
    _tried(broken, plan.seed, max(1, plan.count // 5))()
    outcome.figures["statuses"] = ", ".join(f"{status} × {count}" for status, count in sorted(statuses.items()))


def _tried(test: Callable[[], None], seed: int, count: int) -> Callable[[], None]:
    wanted = hypothesis.settings(
        max_examples=count, database=None, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
    )
    return wanted(hypothesis.seed(seed)(test))


def _foreign(outcome: Outcome, plan: Plan, http: httpx2.Client) -> None:
    refused = 0
    for number in range(_FOREIGN):
        dice = plan.dice(number)
        name = f"{dice.randrange(10**6)}.example"
        headers = dice.choice(
            [
                {"Origin": f"http://{name}"},
                {"Origin": "null"},
                {"Origin": "http://localhost:3000"},
                {"Host": name},
                {"Host": f"localhost.{name}:8642"},
                {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
            ]
        )
        before = {f"X-{each}": "" for each in range(dice.choice([0, 0, 90, 100, 1_000]))}
        path, method = dice.choice([(path, "POST") for path in _PATHS] + [("/v1/models", "GET"), ("/health", "GET")])
        response = http.request(dice.choice([method, "OPTIONS"]), path, json=_VALID.get(path), headers=before | headers)
        is_refused = response.status_code == 403 or (response.status_code == 431 and len(before) > 80)
        refused += is_refused
        outcome.check(is_refused, f"{response.status_code} for {path} with {headers} behind {len(before)} others")
        outcome.check("access-control-allow-origin" not in response.headers, f"{headers} may read the answer")
    outcome.figures["foreign refused"] = f"{refused} of {_FOREIGN}"


def _slow(outcome: Outcome, found: Served) -> None:
    """Half of a body, half of the lines before it, or nothing: while these wait, others are answered."""
    halves = (b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{", b"POST /v1", b"")
    slow = [(_connected(found), halves[number % 3]) for number in range(_SLOW)]
    for connection, half in slow:
        connection.sendall(half)
    began = time.monotonic()
    outcome.check(found.said("5;")["choices"][0]["message"]["content"] == "5", "slow ones keep others waiting")
    outcome.figures["an answer beside slow ones"] = f"{1000 * (time.monotonic() - began):.0f} ms"
    for connection, half in slow:
        with closing(connection):
            told = connection.recv(1_000)
            expected = told.startswith(b"HTTP/1.1 408") if half.endswith(b"{") else told == b""
            outcome.check(expected, f"{half[:20]!r} got {told[:60]!r}")
            outcome.tried += 1


def _holding(outcome: Outcome, found: Served) -> None:
    """More connections than there may be, of each kind that keeps the server waiting: another one is answered."""
    long = b"".join(b"GET /props HTTP/1.1\r\nHost: localhost\r\n\r\n" for _ in range(1_000))
    halves = (b"POST /v1", b"", b"GET /props HTTP/1.1\r\nHost: localhost\r\n\r\n", long)
    longest = 0.0
    for half in (*halves, b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{"):
        with ExitStack() as stack:
            for _ in range(_HELD):
                connection = stack.enter_context(closing(_connected(found)))
                with suppress(OSError):  # it has lost its place already
                    connection.sendall(half)
            begun = time.monotonic()
            with closing(_connected(found)) as other:
                other.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                told = other.recv(1_000)
            longest = max(longest, time.monotonic() - begun)
            outcome.check(told.startswith(b"HTTP/1.1 200"), f"beside {_HELD} that sent {half[:20]!r}: {told!r}")
            outcome.tried += _HELD
    outcome.figures["an answer beside held connections"] = f"{1000 * longest:.0f} ms"


def _huge(outcome: Outcome, found: Served) -> None:
    for number in range(8):
        body = json.dumps({"messages": [{"role": "user", "content": "x" * (2 << 20)}]}).encode()
        parts = (body[start : start + 65_536] for start in range(0, len(body), 65_536))
        try:
            with httpx2.Client(base_url=found.serving.address, timeout=60) as http:
                told = http.post("/v1/chat/completions", content=parts if number % 2 else body).status_code
        except httpx2.TransportError:  # it was refused before all of it was sent
            told = 413
        outcome.check(told == 413, f"{told} for a huge body")
        outcome.tried += 1


def _connected(found: Served) -> socket.socket:
    host, port = found.serving.address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), 60)


def _key(outcome: Outcome, found: Served) -> None:
    """A program with a key is remembered; of the key, no file knows more than a digest."""
    key = Clients(found.data_dir).add("editor", is_remembered=True)
    for name, value in (("Authorization", f"Bearer {key}"), ("x-api-key", key)):
        said = found.ask({"messages": [_USER]}, headers={name: value})
        outcome.check(said.status_code == 200, f"{said.status_code} with a key")
    told = found.http.get("/props").text + found.http.get("/v1/models").text
    outcome.check(str(found.data_dir) not in told and str(starter_path().parent) not in told, f"a folder in {told}")
    files = [path for path in found.data_dir.rglob("*") if path.is_file()]
    having = [path.name for path in files if key.encode() in path.read_bytes()]
    kept = any(b"editor" in path.read_bytes() for path in files)
    outcome.check(kept and not having, f"the key is in {having}, or nothing was remembered")
    outcome.figures["files with a key"] = f"{len(having)} of {len(files)}"


def _wrong_keys(outcome: Outcome, plan: Plan) -> None:
    data_dir = plan.folder / "keyed"
    key = Clients(data_dir).add("editor")
    target = FakeTarget(_echo, 8_192, max_tokens=64)
    with served(data_dir, target, ServerSettings(port=ANYWHERE, needs_key=True)) as found:
        wrong = [found.http.get("/v1/models", headers={"x-api-key": f"{key}{each}"}).status_code for each in range(40)]
        outcome.check(wrong == [401] * 20 + [429] * 20, f"wrong keys got {wrong}")
        right = found.http.get("/v1/models", headers={"x-api-key": key}).status_code
        outcome.check(right == 200, f"the right key got {right} behind wrong ones")
    outcome.tried += len(wrong) + 1


def _crowd(outcome: Outcome, address: str, seconds: float, name: str, more: dict[str, Any]) -> None:
    """`more`: of each request; with it, a grammar has the reply be the number of the request."""
    statuses: Counter[int] = Counter()
    complaints: list[str] = []
    lock = threading.Lock()
    end = time.monotonic() + seconds

    def ask(program: int) -> None:
        with httpx2.Client(base_url=address, timeout=120) as http:
            number = program * 10**6
            while time.monotonic() < end:
                number += 1
                messages = [{"role": "user", "content": f"{number};"}]
                body = {"messages": messages, "stream": bool(number % 2), **more}
                if more:
                    body["grammar"] = f'root ::= "{number}"'
                try:
                    response = http.post("/v1/chat/completions", json=body)
                except httpx2.HTTPError as error:
                    with lock:
                        complaints.append(f"{number}: {error!r}")
                    continue
                said = _said(response.text) if response.status_code == 200 else str(number)
                with lock:
                    statuses[response.status_code] += 1
                    if response.status_code not in (200, 429, 503) or said != str(number):
                        complaints.append(f"{number} got {response.status_code} and {said[:40]!r}")

    programs = [threading.Thread(target=ask, args=(each + 1,)) for each in range(_PROGRAMS)]
    for each in programs:
        each.start()
    time.sleep(seconds / 4)  # until all that is made once is there
    before = psutil.Process().memory_info().rss
    for each in programs:
        each.join()
    grown = psutil.Process().memory_info().rss - before
    outcome.failures += complaints
    outcome.check(grown < _MEMORY_BAR, f"{grown / 2**20:.1f} MB more are held after {sum(statuses.values())} requests")
    outcome.check(statuses[200] > 0, "nobody was answered")
    told = ", ".join(f"{status} × {count}" for status, count in sorted(statuses.items()))
    outcome.figures[name] = f"{told} in {seconds:.0f} s, {grown / 2**20:+.1f} MB"
    outcome.tried += sum(statuses.values())


def _said(text: str) -> str:
    if not text.startswith("data: "):
        return str(json.loads(text)["choices"][0]["message"]["content"])
    chunks = [json.loads(line[6:]) for line in text.split("\n\n") if line.startswith("data: {")]
    return "".join(choice["delta"].get("content") or "" for each in chunks for choice in each["choices"])
