"""A drafter for other programs, from the command line."""

from __future__ import annotations

from contextlib import closing

from engine.config import EngineConfig
from engine.factory import open_repository
from engine.messages.exports import DrafterExported, ExportOrder
from engine.profile import drafter_export
from engine.target.sources import resolve_target


def export_drafter(config: EngineConfig, order: ExportOrder) -> DrafterExported:
    """Writes a drafter with what it has learned about a target, as another program loads it, and checks it. Raises
    what resolving the target raises, FileUnusable, DrafterUnusable, AdapterUnusable and StoreUnusable."""
    with closing(open_repository(config)) as repository:
        target = resolve_target(order.target, repository)
        return drafter_export.export_drafter(config, order, target, repository, repository.list_targets())
