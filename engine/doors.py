"""Which services there are, and on which thread each of them works."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.requests import door_to

if TYPE_CHECKING:
    from engine.factory import Services
    from engine.server.clients import Clients
    from engine.server.hosting import Hosting
    from engine.services.counting import Counting
    from engine.services.hub_service import HubService
    from engine.services.remote_service import RemoteService
    from engine.services.trials import Trials


class Doors:
    """See `engine/requests.py`. The first request to a service has its thread build it."""

    def __init__(self, services: Services) -> None:
        self.counting: Counting = door_to("store", services.counting)
        self.hub: HubService = door_to("search", services.hub)
        self.remote: RemoteService = door_to("servers", services.remote)
        self.trials: Trials = door_to("chat", services.trials, goes_between=True)
        self.server: Hosting = door_to("server", lambda: services.hosting)
        self.clients: Clients = door_to("server", lambda: services.clients)
