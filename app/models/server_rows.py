"""How servers with models are shown in the list to choose from: each with its models below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.models.rows import DrawnRow
from app.text.numbers import whole
from app.text.places import host_words, kind_words, place_words
from app.text.translation import Words
from engine.values.remote import RemoteModel, RemoteServer

Servers = Words("Servers")


@dataclass(frozen=True, slots=True)
class ServerKey:
    """The key of a server's row; its models have their references as keys."""

    address: str


@dataclass(frozen=True, slots=True)
class Sighting:
    """What came of asking a server, since the start."""

    is_there: bool = False
    is_asked: bool = False  # now
    sentence: str = ""  # why it is not there


def server_rows(
    servers: Sequence[RemoteServer], sightings: Mapping[str, Sighting], in_use: str, words: str = ""
) -> tuple[DrawnRow, ...]:
    """Servers with models that match all words, each above its models; without words, all. `sightings` by address;
    `in_use` is a reference, or empty."""
    rows: list[DrawnRow] = []
    for server in servers:
        found = [each for each in server.models if _fits(server, each, words)]
        if found or not words.strip():
            rows.append(_server_row(server, sightings.get(server.address)))
            rows += [_model_row(server, each, each.reference == in_use) for each in found]
    return tuple(rows)


def model_facts(server: RemoteServer, model: RemoteModel) -> tuple[str, ...]:
    """Where the model runs, and the known facts."""
    context = Servers.tr("{number} tokens of context", number=whole(model.context_size)) if model.context_size else ""
    sight = Servers.tr("sees pictures") if model.sees_pictures else ""
    return tuple(filter(None, (Servers.tr("on {host}", host=host_words(server.address)), context, sight)))


def sighting_words(sighting: Sighting | None) -> str:
    if sighting is None:
        return ""
    if sighting.is_asked:
        return Servers.tr("being asked…")
    return Servers.tr("answered") if sighting.is_there else Servers.tr("did not answer")


def _server_row(server: RemoteServer, sighting: Sighting | None) -> DrawnRow:
    none = "" if server.models else Servers.tr("no models known")
    facts = (place_words(server.address), kind_words(server.kind), none, sighting_words(sighting))
    again = Servers.tr("Asks {server} once more which models it has.", server=server.name)
    return DrawnRow(
        key=ServerKey(server.address),
        title=server.name,
        subtitle=" · ".join(filter(None, facts)),
        tag=Servers.tr("Refresh"),
        tag_token="accent",
        tooltip="\n".join(filter(None, (again, "" if sighting is None else sighting.sentence))),
        is_heading=True,
    )


def _model_row(server: RemoteServer, model: RemoteModel, is_in_use: bool) -> DrawnRow:
    return DrawnRow(
        key=model.reference,
        title=model.name,
        subtitle=" · ".join(model_facts(server, model)),
        tag=Servers.tr("In use") if is_in_use else "",
        tag_token="accent",
        tooltip=model.id,
    )


def _fits(server: RemoteServer, model: RemoteModel, words: str) -> bool:
    known = " ".join((model.id, server.name, server.address, kind_words(server.kind))).casefold()
    return all(word in known for word in words.casefold().split())
