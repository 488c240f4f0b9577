"""The interface: which address does what."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from engine.backend.server.chat_replies import ChatForm
from engine.backend.server.chat_requests import ChatRequest, CompletionRequest, read_chat, read_completion
from engine.backend.server.clients import Clients
from engine.backend.server.completion_replies import CompletionForm
from engine.backend.server.desk import Desk
from engine.backend.server.embeddings import NOT_OFFERED, EmbeddingsRequest, embed
from engine.backend.server.guard import Guard, is_anthropic
from engine.backend.server.intake import Most
from engine.backend.server.message_replies import MessageForm
from engine.backend.server.message_requests import CountRequest, MessagesRequest, read_messages
from engine.backend.server.peers import SOCKET, Programs
from engine.backend.server.pictures import PictureReader
from engine.backend.server.reading import Body, checked, read_json
from engine.backend.server.refusals import RequestRefused, without_paths
from engine.backend.server.response_replies import KeptResponses, ResponseForm
from engine.backend.server.response_requests import ResponsesRequest, read_response
from engine.backend.server.room import Room
from engine.backend.server.streams import created, respond, while_there
from engine.values.conversations import ChatTurn
from engine.values.serving import Asker, Client, ServerSettings

_logger = logging.getLogger("slipstream.server")
_FAULT = "Something went wrong inside Slipstream; its log says where."
_PICTURES = 2  # are read at once
_GONE = 499  # no one reads it


def make_application(desk: Desk, settings: ServerSettings, clients: Clients) -> ASGIApp:
    """Each path begins with /v1, whatever the program has asked for (`Guard`)."""
    pages = _Pages(desk, settings)
    routes = [
        Route("/v1", pages.root, methods=["GET"]),
        Route("/v1/health", pages.health, methods=["GET"]),
        Route("/v1/models", pages.models, methods=["GET"]),
        Route("/v1/models/{name:path}", pages.model, methods=["GET"]),
        Route("/v1/props", pages.props, methods=["GET"]),
        Route("/v1/chat/completions", pages.chat, methods=["POST"]),
        Route("/v1/completions", pages.complete, methods=["POST"]),
        Route("/v1/messages", pages.message, methods=["POST"]),
        Route("/v1/messages/count_tokens", pages.count, methods=["POST"]),
        Route("/v1/responses", pages.reply, methods=["POST"]),
        Route("/v1/embeddings", pages.embed, methods=["POST"]),
    ]
    handlers: Any = {RequestRefused: _refuse, HTTPException: _refuse_http, ClientDisconnect: _leave, Exception: _fail}
    application = Room(Starlette(routes=routes, exception_handlers=handlers), settings.limits.held_bytes)
    return Guard(application, settings, clients)


@dataclass
class _Pages:
    desk: Desk
    settings: ServerSettings
    started: int = field(default_factory=created)
    _programs: Programs = field(default_factory=Programs)
    _kept: KeptResponses = field(default_factory=KeptResponses)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_PICTURES))

    async def root(self, _request: Request) -> Response:
        return JSONResponse({"message": "Slipstream answers programs here, with /v1 as their base address."})

    async def health(self, _request: Request) -> Response:
        if self.desk.target.loaded is None:
            sentence = "Loading model" if self.desk.target.is_loading else "No model is loaded"
            error = {"code": 503, "message": sentence, "type": "unavailable_error"}
            return JSONResponse({"error": error}, 503)
        return JSONResponse({"status": "ok"})

    async def models(self, _request: Request) -> Response:
        target = self.desk.target.loaded
        return JSONResponse({"object": "list", "data": [] if target is None else [self._model()]})

    async def model(self, request: Request) -> Response:
        if request.path_params["name"] != self._name or not self._name:
            raise RequestRefused(404, "No model of this name is in use; /v1/models tells which is.", "model_not_found")
        return JSONResponse(self._model())

    def _model(self) -> dict[str, Any]:
        target = self.desk.target.loaded
        assert target is not None
        return {
            "id": target.name,
            "object": "model",
            "created": self.started,
            "owned_by": "slipstream",
            "meta": {"n_ctx": target.context_size, "size": target.size_bytes, "description": target.description},
        }

    async def props(self, _request: Request) -> Response:
        target = self.desk.target.loaded
        if target is None:
            raise RequestRefused(503, "No model is loaded yet; try again in a moment.", "model_not_ready")
        return JSONResponse(
            {
                "default_generation_settings": {"n_ctx": target.context_size},
                "total_slots": 1,
                "model_alias": target.name,
                "model_path": PurePath(target.path).name,  # clients look for it; its folder is no concern of theirs
                "modalities": {"vision": target.sees_pictures, "audio": False},
                "calls_tools": target.calls_tools,
                "thinks": target.thinks,
                "speculation": without_paths(target.speculation),
                "requests_waiting": self.desk.num_waiting,
                "build_info": "slipstream",
            }
        )

    async def chat(self, request: Request) -> Response:
        told = await self._read(request, has_pictures=True)
        body, client = checked(ChatRequest, told), _client(request)
        wanted = await while_there(request, read_chat(body, client.name, self._pictures(told)))
        form = ChatForm(self._name, wanted.tells_usage, bool(body.logprobs), wanted.is_parallel)
        return await respond(request, self.desk, wanted.replies, await self._asker(request), form, wanted.is_streamed)

    async def complete(self, request: Request) -> Response:
        body = checked(CompletionRequest, await self._read(request, has_tokens=True))
        client = _client(request)
        wanted = read_completion(body, client.name)
        form = CompletionForm(self._name, wanted.tells_usage, body.logprobs is not None, wanted.echoes)
        return await respond(request, self.desk, wanted.replies, await self._asker(request), form, wanted.is_streamed)

    async def message(self, request: Request) -> Response:
        told = await self._read(request, has_pictures=True)
        body, client = checked(MessagesRequest, told), _client(request)
        wanted = await while_there(request, read_messages(body, client.name, self._pictures(told)))
        form = MessageForm(self._name, wanted.is_parallel, wanted.replies[0].stop_strings)
        return await respond(request, self.desk, wanted.replies, await self._asker(request), form, wanted.is_streamed)

    async def count(self, request: Request) -> Response:
        told = await self._read(request, has_pictures=True)
        body = checked(CountRequest, told)
        wanted = await while_there(request, read_messages(body, _client(request).name, self._pictures(told)))
        job = self.desk.submit_count(wanted.replies[0], await self._asker(request))
        try:
            await while_there(request, job.next())
            return JSONResponse({"input_tokens": job.result()})
        finally:
            self.desk.leave(job)

    async def reply(self, request: Request) -> Response:
        told, asker = await self._read(request, has_pictures=True), await self._asker(request)
        body, client = checked(ResponsesRequest, told), _client(request)
        before = self._kept.turns(asker.owner, body.previous_response_id)
        wanted, turns = await while_there(request, read_response(body, before, client.name, self._pictures(told)))

        def keep(name: str, replied: ChatTurn) -> None:
            self._kept.keep(asker.owner, name, [*turns, replied])

        is_kept = asker.is_remembered and body.store is not False
        form = ResponseForm(self._name, body, wanted.is_parallel, keep if is_kept else None)
        return await respond(request, self.desk, wanted.replies, asker, form, wanted.is_streamed)

    async def embed(self, request: Request) -> Response:
        body = checked(EmbeddingsRequest, await self._read(request))
        if self.settings.embeddings is None:
            raise NOT_OFFERED
        return await embed(request, self.desk, self.settings.embeddings, body)

    def _pictures(self, told: Body) -> PictureReader:
        target = self.desk.target.loaded
        return PictureReader(told.pictures, self._turns, sees=target is not None and target.sees_pictures)

    async def _read(self, request: Request, has_pictures: bool = False, has_tokens: bool = False) -> Body:
        """What a body may have depends on what the target can read."""
        limits, target = self.settings.limits, self.desk.target.loaded
        size = 0 if target is None else target.context_size
        most = Most(
            text_bytes=limits.text_bytes_for(size),
            aside_bytes=limits.picture_bytes if has_pictures else 0,
            values=limits.values + (size if has_tokens else 0),
        )
        return await read_json(request, limits, most)

    async def _asker(self, request: Request) -> Asker:
        """Programs without a key are known by their process, as many open a connection for each request; if it cannot
        be found, by their connection. One browser may stand for several pages."""
        client, socket = _client(request), getattr(request.state, SOCKET, 0)
        if client.digest:
            return Asker.of(client, "")
        process = await asyncio.to_thread(self._programs.of, socket) if socket else ""
        known = f"process {process}" if process else f"connection {request.state.connection}"
        return Asker.of(client, f"{known} {request.headers.get('origin', '')}")

    @property
    def _name(self) -> str:
        loaded = self.desk.target.loaded
        return "" if loaded is None else loaded.name


def _client(request: Request) -> Client:
    client = request.state.client
    assert isinstance(client, Client)
    return client


async def _refuse(request: Request, refusal: RequestRefused) -> Response:
    told = refusal.as_anthropic() if is_anthropic(request.url.path) else refusal.as_openai()
    return JSONResponse(told, refusal.status, dict(refusal.headers))


async def _refuse_http(request: Request, error: HTTPException) -> Response:
    sentences = {
        404: "There is nothing at this address; replies are at /v1/chat/completions, /v1/responses and /v1/messages.",
        405: "This address wants another method.",
    }
    sentence = sentences.get(error.status_code, "This request cannot be answered.")
    return await _refuse(request, RequestRefused(error.status_code, sentence, headers=error.headers or {}))


async def _leave(_request: Request, _error: ClientDisconnect) -> Response:
    return Response(status_code=_GONE)


async def _fail(request: Request, error: Exception) -> Response:
    _logger.error("a request failed", exc_info=error)
    return await _refuse(request, RequestRefused(500, _FAULT))
