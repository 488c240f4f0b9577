"""The part of the repository that keeps the library of targets."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, Row, delete, insert, select, update

from engine.config import TargetOptions
from engine.errors import SettingInvalid
from engine.messages.targets import TargetRecord
from engine.storage.schema import TargetRow
from engine.storage.texts import encodable, one_line, unique
from engine.storage.transactions import Transactions

_TARGETS = select(
    TargetRow.name, TargetRow.path, TargetRow.size_bytes, TargetRow.last_used_at, TargetRow.options, TargetRow.details
)
_OPTIONS = TypeAdapter(TargetOptions)


class TargetRepository(Transactions):
    """A target is known by its file; its name is for people, and never that of another one."""

    def remember_target(self, name: str, path: Path, size_bytes: int) -> TargetRecord:
        """Notes that this file was used now. A name that another file has is made unique: "name (2)"."""
        return self._keep(name, path, size_bytes, last_used_at=datetime.now(UTC))

    def add_target(self, name: str, path: Path, size_bytes: int) -> TargetRecord:
        """Puts a file into the library that was not used yet; one that is there already stays as it is."""
        found = self.target_at(path)
        return found or self._keep(name, path, size_bytes, last_used_at=None)

    def remove_target(self, path: Path) -> None:
        """Without its file. Does nothing where it is not in the library."""
        with self._writing() as connection:
            connection.execute(delete(TargetRow).where(TargetRow.path == path.absolute()))

    def change_target_options(self, path: Path, options: TargetOptions) -> None:
        """Does nothing where the target is not in the library."""
        with self._writing() as connection:
            _change(connection, path, options=_OPTIONS.dump_json(options, ensure_ascii=True).decode())

    def keep_target_facts(self, path: Path, facts: str) -> None:
        """Does nothing where the target is not in the library."""
        with self._writing() as connection:
            _change(connection, path, details=encodable(facts))

    def list_targets(self) -> tuple[TargetRecord, ...]:
        """Last used first, and those that never were at the end."""
        with self._reading() as connection:
            latest_first = TargetRow.last_used_at.desc().nulls_last(), TargetRow.id.desc()
            rows = connection.execute(_TARGETS.order_by(*latest_first))
            return tuple(_record(row) for row in rows)

    def find_target(self, name: str) -> TargetRecord | None:
        with self._reading() as connection:
            row = connection.execute(_TARGETS.where(TargetRow.name == encodable(name))).one_or_none()
            return None if row is None else _record(row)

    def target_at(self, path: Path) -> TargetRecord | None:
        with self._reading() as connection:
            return _at(connection, path.absolute())

    def _keep(self, name: str, path: Path, size_bytes: int, last_used_at: datetime | None) -> TargetRecord:
        path = path.absolute()
        with self._writing() as connection:
            others = select(TargetRow.name).where(TargetRow.path != path)
            name = unique(one_line(name) or path.stem, set(connection.execute(others).scalars()))
            values = {"name": name, "path": path, "size_bytes": size_bytes, "last_used_at": last_used_at}
            if not connection.execute(update(TargetRow).where(TargetRow.path == path).values(**values)).rowcount:
                connection.execute(insert(TargetRow).values(**values))
            record = _at(connection, path)
        assert record is not None
        return record


def _at(connection: Connection, path: Path) -> TargetRecord | None:
    row = connection.execute(_TARGETS.where(TargetRow.path == path)).one_or_none()
    return None if row is None else _record(row)


def _change(connection: Connection, path: Path, **values: str) -> None:
    connection.execute(update(TargetRow).where(TargetRow.path == path.absolute()).values(**values))


def _record(row: Row[str, Path, int, datetime | None, str, str]) -> TargetRecord:
    name, path, size_bytes, last_used_at, options, facts = row
    return TargetRecord(name, path, size_bytes, last_used_at, _options(options), facts)


def _options(text: str) -> TargetOptions:
    """Those of a version with other ranges are as if nothing was set."""
    try:
        return _OPTIONS.validate_json(text) if text else TargetOptions()
    except (ValidationError, SettingInvalid):
        return TargetOptions()
