"""Embeddings, in OpenAI's form."""

from __future__ import annotations

import asyncio
import base64
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from engine.backend.server.desk import Desk
from engine.backend.server.refusals import RequestRefused, invalid
from engine.backend.server.sampling import Lenient, Name
from engine.backend.server.streams import while_there
from engine.values.asked import Embeddings

_MOST_TEXTS, _MOST_LETTERS = 256, 100_000  # letters of each: more than any model reads at once
_NUMBER_BYTES = 4

NOT_OFFERED = RequestRefused(
    501,
    "The model in use writes replies, and makes no embeddings: for that Slipstream needs a model made for finding "
    "texts, such as all-MiniLM, bge or nomic-embed. Start `slipstream serve` with --embeddings and its GGUF file.",
    "not_offered",
)


class EmbeddingsRequest(Lenient):
    input: str | list[Any]
    model: Name = ""
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Field(ge=1)] | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """Raises RequestRefused."""
        found = [self.input] if isinstance(self.input, str) else self.input
        if not 1 <= len(found) <= _MOST_TEXTS:
            raise invalid(f"There may be 1 to {_MOST_TEXTS} texts in a request; this has {len(found)}.", "input")
        if not all(isinstance(each, str) for each in found):
            raise invalid("Send texts: numbers of tokens mean something else to every model.", "input")
        if not all(each.strip() for each in found):
            raise invalid("A text must not be empty.", "input")
        if any(len(each) > _MOST_LETTERS for each in found):
            raise invalid(f"A text may have {_MOST_LETTERS:,} characters; send shorter ones.", "input")
        return tuple(found)


async def embed(request: Request, desk: Desk, path: Path, body: EmbeddingsRequest) -> Response:
    """Raises RequestRefused for what cannot be answered."""
    job = desk.submit_texts(path, body.texts)
    try:
        await while_there(request, job.next())
        made = job.result()
    except BaseException:
        desk.leave(job)
        raise
    width = len(made.vectors[0]) // _NUMBER_BYTES
    if body.dimensions not in (None, width):  # only of a few models is a part of a vector of use, and none says so
        raise invalid(f"{made.model} makes vectors of {width:,} numbers, and no shorter ones.", "dimensions")
    return await asyncio.to_thread(_response, made, body.encoding_format == "base64")


def _response(made: Embeddings, in_base64: bool) -> Response:
    vectors: Sequence[Any] = [base64.b64encode(each).decode() if in_base64 else _numbers(each) for each in made.vectors]
    data = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    usage = {"prompt_tokens": made.num_tokens, "total_tokens": made.num_tokens}
    return JSONResponse({"object": "list", "data": data, "model": made.model, "usage": usage})


def _numbers(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // _NUMBER_BYTES}f", vector)
