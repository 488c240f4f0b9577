"""What a server asks its target, without an engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from engine.values.asked import Answered, Asked, Embeddings
from engine.values.config import ReplySettings
from engine.values.events import TargetInfo
from engine.values.growing_reply import GrowingReply, ReplySoFar
from engine.values.owner import Owner
from engine.values.requests import Request
from engine.values.stop_signal import StopSignal


@dataclass
class FakeServed:
    """A target whose replies the test writes."""

    loaded: TargetInfo | None = field(
        default_factory=lambda: TargetInfo("fake", "fake.gguf", "", 512, 1, 1, "", "", False, True)
    )
    is_loading: bool = False
    asked: list[Request[Answered]] = field(default_factory=list)
    replies: list[GrowingReply] = field(default_factory=list)

    def answer(
        self,
        asked: Asked,  # noqa: ARG002
        settings: ReplySettings,  # noqa: ARG002
        is_remembered: bool,  # noqa: ARG002
        owner: Owner,  # noqa: ARG002
        progress: Callable[[ReplySoFar], object],
    ) -> Request[Answered]:
        self.asked.append(Request(StopSignal()))
        self.replies.append(GrowingReply(progress))
        return self.asked[-1]

    def count(self, asked: Asked, settings: ReplySettings, owner: Owner) -> Request[int]:
        raise NotImplementedError

    def embed(self, path: Path, texts: tuple[str, ...]) -> Request[Embeddings]:
        raise NotImplementedError
