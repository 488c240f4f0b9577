"""The part of the repository for what was seen of drafters: how often they guessed right, and what a guess costs."""

from __future__ import annotations

import math

from sqlalchemy.dialects.sqlite import insert

from engine.messages.drafters import DrafterRecord, Guesses
from engine.storage.connections import raw_rows
from engine.storage.schema import DrafterFiguresRow
from engine.storage.transactions import SHORT_PATIENCE_S, Transactions

_NUMBERS = ("num_first", "first_right", "num_next", "next_right", "step_s")
_new = insert(DrafterFiguresRow)
_SAVE = _new.on_conflict_do_update(
    index_elements=[DrafterFiguresRow.target_identity, DrafterFiguresRow.drafter_key],
    set_={name: _new.excluded[name] for name in _NUMBERS},
)
# Steps do not depend on the target: those of other targets are read as well, without their guesses.
_READ = """
SELECT target_identity = ?, drafter_key, num_first, first_right, num_next, next_right, step_s FROM drafter_figures
ORDER BY 1
"""


class DrafterRepository(Transactions):
    """Figures belong to a drafter's key and, but for the cost of a step, to a target's identity."""

    def drafter_records(self, target_identity: str) -> dict[str, DrafterRecord]:
        """By the drafter's key, without damaged rows."""
        records: dict[str, DrafterRecord] = {}
        with self._reading() as connection:
            for is_here, key, *numbers in raw_rows(connection, _READ, target_identity):
                if isinstance(key, str) and all(map(_is_count, numbers)):
                    *guesses, step_s = numbers
                    records[key] = DrafterRecord(key, Guesses(*guesses) if is_here else Guesses(), step_s)
        return records

    def save_drafter_record(self, target_identity: str, record: DrafterRecord) -> None:
        """In place of the one that is there."""
        guesses = record.guesses
        numbers = guesses.num_first, guesses.first_right, guesses.num_next, guesses.next_right, record.step_s
        values = dict(zip(_NUMBERS, numbers, strict=True))
        with self._writing(patience_s=SHORT_PATIENCE_S) as connection:
            connection.execute(_SAVE.values(target_identity=target_identity, drafter_key=record.key, **values))


def _is_count(number: object) -> bool:
    return isinstance(number, int | float) and math.isfinite(number) and number >= 0
