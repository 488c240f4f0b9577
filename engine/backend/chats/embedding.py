"""Makes embeddings for clients of the server, with a model of their own that is opened when the first are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from engine.backend.precedence import Precedence
from engine.speculation.model.interface import FloatRow, Interrupted
from engine.values.asked import Embeddings, Refusal, Refused
from engine.values.errors import Cancelled, MendableError, PromptTooLong
from engine.values.requests import NEVER
from engine.values.stop_signal import StopSignal

_AT_ONCE = 8  # texts, before the user may go first


class Embeds(Protocol):
    """What `model.llama.embedder.Embedder` does."""

    max_tokens: int

    @property
    def name(self) -> str: ...
    def tokenize(self, text: str) -> list[int]: ...
    def embed(self, texts: Sequence[Sequence[int]], stop: StopSignal) -> list[FloatRow]: ...
    def close(self) -> None: ...


class Embedding:
    """The chat thread calls all methods: embeddings take their turn among replies."""

    def __init__(self, load: Callable[[Path, StopSignal], Embeds], precedence: Precedence) -> None:
        self._load = load
        self._precedence = precedence
        self._opened: tuple[Path, Embeds] | None = None

    def embed(self, path: Path, texts: tuple[str, ...], stop: StopSignal = NEVER) -> Embeddings:
        """`path`: of the model that makes them. Raises Refused, and Cancelled where the program has gone."""
        try:
            return self._embed(path, texts, stop)
        except Interrupted:
            raise Cancelled from None  # no one is left to report it to: the program has gone
        except PromptTooLong as error:
            raise Refused(Refusal.TOO_LONG, error.sentence) from error
        except Cancelled:
            raise
        except MendableError as error:
            raise Refused(Refusal.NOT_OFFERED, error.sentence) from error

    def close(self) -> None:
        if self._opened is not None:
            self._opened[1].close()
            self._opened = None

    def _embed(self, path: Path, words_of_texts: tuple[str, ...], stop: StopSignal) -> Embeddings:
        model = self._model(path, stop)
        texts: list[list[int]] = []
        for place, words in enumerate(words_of_texts):
            if stop.is_set():
                raise Interrupted
            text = model.tokenize(words)
            texts.append(text)
            if len(text) > model.max_tokens:
                raise PromptTooLong(
                    "Text {place} has {count:,} tokens, but {name} can read at most {most:,} at once; send shorter "
                    "texts.",
                    place=place + 1,
                    count=len(text),
                    name=model.name,
                    most=model.max_tokens,
                )
        vectors: list[bytes] = []
        for start in range(0, len(texts), _AT_ONCE):
            self._precedence.give_way()
            vectors += [row.astype("<f4").tobytes() for row in model.embed(texts[start : start + _AT_ONCE], stop)]
        return Embeddings(model.name, tuple(vectors), sum(map(len, texts)))

    def _model(self, path: Path, stop: StopSignal) -> Embeds:
        if self._opened is None or self._opened[0] != path:
            self.close()
            self._opened = path, self._load(path, stop)
        return self._opened[1]
