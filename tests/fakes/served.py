"""A server on this machine, with an engine of its own and a target that needs no file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

import engine.loading
from engine.speculation.model.interface import Target
from engine.use_cases.serving import Serving
from engine.values.config import EngineConfig, TargetSettings
from engine.values.serving import ServerSettings
from engine.values.stop_signal import StopSignal

ANYWHERE = 0  # a port that is free


@dataclass
class Served:
    """`ask` and the others fail a test that waits for longer than a minute."""

    serving: Serving
    http: httpx2.Client
    data_dir: Path
    target: Any  # a fake

    def ask(self, body: Any, path: str = "/v1/chat/completions", **more: Any) -> httpx2.Response:
        return self.http.post(path, json=body, **more)

    def said(self, text: str, **more: Any) -> dict[str, Any]:
        """The whole answer to a chat of one message."""
        response = self.ask({"messages": [{"role": "user", "content": text}], **more})
        assert response.status_code == 200, response.text
        found: dict[str, Any] = response.json()
        return found

    def events(self, body: Any, path: str = "/v1/chat/completions") -> list[dict[str, Any]]:
        """Of a stream, without the mark at its end."""
        with self.http.stream("POST", path, json={**body, "stream": True}) as response:
            assert response.status_code == 200, response.read()
            assert response.headers["content-type"].startswith("text/event-stream")
            lines = [line.removeprefix("data: ") for line in response.iter_lines() if line.startswith("data: ")]
        return [json.loads(line) for line in lines if line != "[DONE]"]


@contextmanager
def served(data_dir: Path, target: Target, settings: ServerSettings | None = None) -> Iterator[Served]:
    serving = Serving(EngineConfig(data_dir), settings or ServerSettings(port=ANYWHERE))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.loading, "load_target", lambda *_: target)
        try:
            serving.open()
            serving.load("starter", TargetSettings(), StopSignal())
            with httpx2.Client(base_url=serving.address, timeout=60) as http:
                yield Served(serving, http, data_dir, target)
        finally:
            serving.close()
