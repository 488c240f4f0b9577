"""Asks one server, within bounds of bytes and time. It goes to the chosen address and to no other: no redirect is
followed, and no proxy or password of the environment is used."""

from __future__ import annotations

import json
import math
import re
import ssl
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import httpx2

from engine.backend.remote.failures import (
    TooLong,
    Unsent,
    lost,
    not_reached,
    reason_of,
    refused,
    silent,
    too_much,
    unreadable,
)
from engine.backend.remote.heads import BoundedHeads
from engine.backend.remote.waiting import EventLoopThread, OutOfTime
from engine.values.errors import CertificateUntrusted, RemoteFailed
from engine.values.sentences import say
from engine.values.stop_signal import StopSignal

_BYTES_OF_LINE = 64  # that each counts in addition to its own: empty ones take time as well


class Lines:
    def __init__(self, line_bytes: int, all_bytes: int, host: str) -> None:
        self._line_bytes = line_bytes
        self._left = all_bytes
        self._host = host
        self._begun = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        """The lines that end in it. Raises RemoteFailed for a line, or a reply, beyond all bounds."""
        self._left -= len(piece) + _BYTES_OF_LINE * piece.count(b"\n")
        if self._left < 0:
            raise too_much(self._host)
        *ended, rest = piece.split(b"\n")
        found: list[bytes] = []
        for each in ended:
            self._begun += each
            self._check()
            found.append(bytes(self._begun).removesuffix(b"\r"))
            self._begun.clear()
        self._begun += rest
        self._check()
        return found

    def finish(self) -> list[bytes]:
        return [bytes(self._begun)] if self._begun else []

    def _check(self) -> None:
        if len(self._begun) > self._line_bytes:
            raise too_much(self._host)


def event_data(lines: Iterable[bytes], most_lines: int, host: str) -> Iterator[bytes]:
    """The data of each event. The kind of an event, and comments, say nothing that a reply needs. Raises RemoteFailed
    for one of more lines."""
    data: list[bytes] = []
    for line in lines:
        if not line:
            if data:
                yield b"\n".join(data)
                data.clear()
        elif line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
            if len(data) > most_lines:
                raise too_much(host)
    if data:
        yield b"\n".join(data)


class OtherCertificate(ssl.SSLError):
    """The server has shown this one."""

    def __init__(self, digest: str) -> None:
        super().__init__(digest)
        self.digest = digest


@cache
def usual_context() -> ssl.SSLContext:
    """Asks the authorities that this system trusts."""
    return httpx2.create_ssl_context()


def context_for(digest: str) -> ssl.SSLContext:
    """Trusts only the certificate with this SHA-256; if that is empty, none: the handshake then reports which one there
    is."""

    class Checked(ssl.SSLObject):
        def do_handshake(self) -> None:
            super().do_handshake()
            shown = self.getpeercert(binary_form=True)
            found = sha256(shown).hexdigest() if shown else ""
            if not found or found != digest:
                raise OtherCertificate(found)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # the check is ours
    context.sslobject_class = Checked
    return context


_DEEPEST_CAUSE = 10
_TOO_LONG = re.compile(r"exceed_context_size|context[_ ](?:length|size)|maximum[_ ]context|n_ctx", re.IGNORECASE)
_USUAL_SHARE = 0.6  # of a prompt that is too long, where the server does not say by how much
_MOST_WAIT_S = 120.0  # that a server can ask for


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    connect_s: float = 10.0
    answer_s: float = 30.0  # for an answer that is no reply
    first_s: float = 1800.0  # before a reply begins: a long prompt takes long to read on a slow machine
    silence_s: float = 300.0  # without a whole line, once it has begun
    line_bytes: int = 4 << 20
    reply_bytes: int = 128 << 20
    answer_bytes: int = 16 << 20


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """A server's answer as it is: any status, and any body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """None where it is none."""
        return parsed(self.body)


@dataclass(frozen=True, slots=True)
class Streamed:
    """A reply that has begun. `lines` raises RemoteFailed, or Stopped."""

    is_stream: bool  # of events, else one whole document
    lines: Iterator[bytes]


@dataclass(frozen=True)
class ServerConnection:
    """How to reach a server. Every method raises RemoteFailed, and Stopped where it is stopped."""

    address: str  # normal form
    key: str = field(default="", repr=False)
    certificate: str = ""  # as in `RemoteServer`
    limits: ConnectionLimits = ConnectionLimits()

    @property
    def host(self) -> str:
        return urlsplit(self.address).netloc

    @property
    def root(self) -> str:
        """The server's address without the path of the interface."""
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}"

    def get(self, path: str, stop: StopSignal, at_root: bool = False) -> ServerAnswer:
        return self._ask("GET", path, None, stop, at_root)

    def post(self, path: str, body: Mapping[str, Any], stop: StopSignal, at_root: bool = False) -> ServerAnswer:
        return self._ask("POST", path, body, stop, at_root)

    @contextmanager
    def stream(self, path: str, body: Mapping[str, Any], stop: StopSignal) -> Iterator[Streamed]:
        """The connection is closed at the end of the block. Raises also what `refusal` makes of one."""
        limits = self.limits
        with self._response("POST", path, body, stop, False, limits.first_s) as (response, waiting):
            if response.status_code != httpx2.codes.OK:
                whole = self._whole(response, waiting, limits.answer_s)
                raise self.refusal(
                    ServerAnswer(response.status_code, dict(response.headers), whole), str(body.get("model"))
                )
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind not in ("text/event-stream", "application/json"):
                raise unreadable(self.host)
            yield Streamed(kind == "text/event-stream", self._lines(response, waiting))

    def refusal(self, answer: ServerAnswer, model: str = "") -> Exception:
        """What an answer that is no success means."""
        told = answer.json
        error = told.get("error", told) if isinstance(told, dict) else ""
        words = error.get("message", "") if isinstance(error, dict) else error
        if isinstance(told, dict) and not words:
            words = told.get("detail") or told.get("message") or ""  # FastAPI's, and vLLM's of old
        kind = f"{error.get('type')} {error.get('code')}" if isinstance(error, dict) else ""
        if answer.status in (400, 413, 422) and _TOO_LONG.search(f"{kind} {words}"):
            sentence = say("The messages do not fit into what the model on {host} can read at once.", host=self.host)
            return TooLong(sentence, _fitting(error))
        return refused(self.host, answer.status, reason_of(words), _wait_of(answer.headers), model)

    def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None, stop: StopSignal, at_root: bool
    ) -> ServerAnswer:
        with self._response(method, path, body, stop, at_root, self.limits.answer_s) as (response, waiting):
            whole = self._whole(response, waiting, self.limits.answer_s)
            return ServerAnswer(response.status_code, dict(response.headers), whole)

    @contextmanager
    def _response(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        stop: StopSignal,
        at_root: bool,
        limit_s: float,
    ) -> Iterator[tuple[httpx2.Response, EventLoopThread]]:
        headers = {"Accept-Encoding": "identity", "User-Agent": "Slipstream", "Connection": "close"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        context = context_for(self.certificate) if self.certificate else self._usual
        waiting = EventLoopThread(stop)
        client = httpx2.AsyncClient(
            headers=headers,
            transport=BoundedHeads(context, lambda: too_much(self.host)),
            trust_env=False,
            follow_redirects=False,
            timeout=httpx2.Timeout(None, connect=self.limits.connect_s),
        )
        response: httpx2.Response | None = None
        try:
            try:
                content = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
                more = {} if content is None else {"Content-Type": "application/json"}
                url = f"{self.root if at_root else self.address}{path}"
                request = client.build_request(method, url, content=content, headers=more)
                response = waiting.run(client.send(request, stream=True), limit_s)
                if response.headers.get("content-encoding", "identity").lower() != "identity":
                    raise unreadable(self.host)  # a small body may become a large one
            except (httpx2.HTTPError, httpx2.InvalidURL, OutOfTime, OSError) as error:
                raise self._explained(error) from error
            yield response, waiting
        finally:
            farewells = [] if response is None else [response.aclose()]
            waiting.close(*farewells, client.aclose())

    @property
    def _usual(self) -> ssl.SSLContext | bool:
        """Reading what the system trusts takes long, and is not needed without encryption."""
        return usual_context() if self.address.startswith("https:") else False

    def _whole(self, response: httpx2.Response, waiting: EventLoopThread, limit_s: float) -> bytes:
        found = bytearray()

        async def read() -> None:
            async for piece in response.aiter_raw():
                found.extend(piece)
                if len(found) > self.limits.answer_bytes:
                    raise too_much(self.host)

        try:
            waiting.run(read(), limit_s)
        except (httpx2.HTTPError, OutOfTime, OSError) as error:
            raise self._explained(error) from error
        return bytes(found)

    def _lines(self, response: httpx2.Response, waiting: EventLoopThread) -> Iterator[bytes]:
        """Whole lines, each within the time that the server may be silent; the last one may have no end."""
        lines = Lines(self.limits.line_bytes, self.limits.reply_bytes, self.host)
        pieces = response.aiter_raw()
        has_begun = False

        async def more() -> list[bytes] | None:
            while True:
                piece = await anext(pieces, None)
                if piece is None:
                    return None
                if found := lines.feed(piece):
                    return found

        while True:
            try:
                found = waiting.run(more(), self.limits.silence_s if has_begun else self.limits.first_s)
            except (httpx2.HTTPError, OutOfTime, OSError) as error:
                raise self._explained(error, has_begun=True) from error
            if found is None:
                yield from lines.finish()
                return
            has_begun = True
            yield from found

    def _explained(self, error: Exception, has_begun: bool = False) -> RemoteFailed:
        causes = _causes(error)
        for cause in causes:
            if isinstance(cause, OtherCertificate):
                return CertificateUntrusted(
                    "{host} presents a different certificate from the one you trusted, so nothing was sent to it. "
                    "Look at the server again if you know why it changed.",
                    host=self.host,
                )
            if isinstance(cause, ssl.SSLCertVerificationError):
                return CertificateUntrusted(
                    "Nobody vouches for the certificate of {host}, so nothing was sent to it. Look at the server "
                    "again, and trust its certificate if you recognize it.",
                    host=self.host,
                )
        if any(isinstance(cause, ssl.SSLError) for cause in causes) and not has_begun:
            return Unsent(say("{host} does not speak https; try the address with http.", host=self.host))
        if isinstance(error, OutOfTime):
            return silent(self.host)
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            return not_reached(self.host)
        if isinstance(error, httpx2.ProtocolError) and not has_begun and "illegal" in str(error).lower():
            return unreadable(self.host)
        return lost(self.host)


def shown_certificate(address: str, stop: StopSignal, limits: ConnectionLimits = ConnectionLimits()) -> str:
    """The SHA-256 of the certificate that a server shows; nothing is sent to it. Raises RemoteFailed and Stopped."""
    probe = ServerConnection(address, certificate="none", limits=limits)
    try:
        probe.get("/models", stop)
    except CertificateUntrusted as error:
        for cause in _causes(error):
            if isinstance(cause, OtherCertificate) and cause.digest:
                return cause.digest
        raise
    raise unreadable(probe.host)


def parsed(text: bytes | str) -> Any:
    """What a text of JSON says; None where it is none, too deep, or has numbers that no sum can be made of."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None


def _no_number(name: str) -> Any:
    raise ValueError(name)


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = [error]
    while len(found) < _DEEPEST_CAUSE and (cause := found[-1].__cause__ or found[-1].__context__) is not None:
        found.append(cause)
    return found


def _wait_of(headers: Mapping[str, str]) -> float | None:
    """Seconds; a server that names a date is retried as if it had said nothing."""
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return min(max(0.0, seconds), _MOST_WAIT_S) if math.isfinite(seconds) else None


def _fitting(error: Any) -> float:
    """The share of the prompt that fits, as llama-server reports it."""
    if isinstance(error, dict):
        has, fits = error.get("n_prompt_tokens"), error.get("n_ctx")
        if isinstance(has, int) and isinstance(fits, int) and 0 < fits < has:
            return fits / has
    return _USUAL_SHARE
