"""The part of the repository for what the pace knows: what passes and guesses cost, and how often guesses are right."""

from __future__ import annotations

import logging

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import select
from sqlalchemy.dialects.sqlite import insert

from engine.messages.pace import KnownPace, SpanCosts
from engine.storage.schema import PaceRow
from engine.storage.transactions import SHORT_PATIENCE_S, Transactions

_logger = logging.getLogger("slipstream.store")

_PACE = TypeAdapter(KnownPace)
_MOST_BYTES = 1_000_000
_new = insert(PaceRow)
_SAVE = _new.on_conflict_do_update(
    index_elements=[PaceRow.target_identity, PaceRow.build, PaceRow.threads], set_={"pace": _new.excluded.pace}
)


class PaceRepository(Transactions):
    """A pace belongs to a target's identity, a build of llama.cpp, and a number of threads."""

    def known_pace(self, target_identity: str, build: str, threads: int) -> KnownPace | None:
        """None where nothing is known, or what is there is damaged."""
        wanted = PaceRow.target_identity == target_identity, PaceRow.build == build, PaceRow.threads == threads
        with self._reading() as connection:
            return _read(connection.execute(select(PaceRow.pace).where(*wanted)).scalar())

    def measured_passes(self, build: str) -> dict[str, dict[int, float]]:
        """V(n) in seconds of each target while it holds least, for 1 and every n that was seen, by its identity: with
        the threads that are fastest."""
        with self._reading() as connection:
            rows = connection.execute(select(PaceRow.target_identity, PaceRow.pace).where(PaceRow.build == build)).all()
        found: dict[str, dict[int, float]] = {}
        for identity, text in rows:
            pace = _read(text)
            if pace is not None and pace.costs.spans:
                seconds = _seconds(pace.costs.spans[min(pace.costs.spans)])
                if identity not in found or seconds[1] < found[identity][1]:
                    found[identity] = seconds
        return found

    def save_pace(self, target_identity: str, build: str, threads: int, pace: KnownPace) -> None:
        """In place of what is there."""
        values = {"target_identity": target_identity, "build": build, "threads": threads}
        with self._writing(patience_s=SHORT_PATIENCE_S) as connection:
            connection.execute(_SAVE.values(**values, pace=_PACE.dump_json(pace).decode()))


def _seconds(costs: SpanCosts) -> dict[int, float]:
    known = enumerate(zip(costs.multiples, costs.weights, strict=False), 1)
    return {1: costs.single_s} | {n: costs.single_s * multiple for n, (multiple, weight) in known if n > 1 and weight}


def _read(text: object) -> KnownPace | None:
    """None for what is damaged or not there."""
    if not isinstance(text, str) or len(text) > _MOST_BYTES:
        return None
    try:
        return _PACE.validate_json(text)
    except ValidationError as error:
        _logger.warning("what was known of a pace is damaged, and is learned anew: %s", error)
        return None
