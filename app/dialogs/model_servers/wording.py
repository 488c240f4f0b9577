"""What the window of servers with models says of them."""

from __future__ import annotations

from app.text.places import kind_words
from app.text.translation import Words
from engine.messages.remote import RemoteServer

_MOST_NAMED = 6  # models
ModelServers = Words("ModelServers")


def found_words(server: RemoteServer) -> str:
    """What answered, and which models it has."""
    kind, number = kind_words(server.kind), len(server.models)
    if not number:
        return ModelServers.tr("Found: {kind}. It has no models at the moment.", kind=kind)
    names = ", ".join(each.name for each in server.models[:_MOST_NAMED])
    if number > _MOST_NAMED:
        names += ", …"
    return ModelServers.tr("Found: {kind} with {number} model(s): {names}.", "", number, kind=kind, names=names)


def facts_words(server: RemoteServer) -> str:
    """What is known of it, in a line."""
    models = ModelServers.tr("{number} model(s)", "", len(server.models))
    key = ModelServers.tr("key stored") if server.has_key else ModelServers.tr("no key")
    way = ModelServers.tr("encrypted") if server.is_encrypted else ModelServers.tr("not encrypted")
    certificate = ModelServers.tr("certificate trusted by you") if server.certificate else ""
    parts = (kind_words(server.kind), models, key, "" if server.is_local else way, certificate)
    return " · ".join(filter(None, parts))


def agreed_words(server: RemoteServer) -> str:
    if server.is_agreed:
        return ModelServers.tr("You have agreed to send chats there.")
    return ModelServers.tr("You are asked before the first message goes there.")
