"""The part of the repository that holds the library of targets."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, Row, and_, delete, exists, func, insert, or_, select, update

from engine.backend.storage.schema import TargetFileRow, TargetRow
from engine.backend.storage.texts import encodable, one_line, unique
from engine.backend.storage.transactions import Transactions
from engine.values.config import TargetOptions
from engine.values.errors import SettingInvalid
from engine.values.targets import TargetRecord, TargetSource

_FILES = select(
    *(TargetFileRow.name, TargetFileRow.path, TargetFileRow.size_bytes, TargetRow.last_used_at, TargetRow.options),
    *(TargetFileRow.details, TargetRow.identity, TargetFileRow.loaded_stamp),
).join(TargetRow, TargetRow.id == TargetFileRow.target_id)
_HAS_NO_FILE = ~exists().where(TargetFileRow.target_id == TargetRow.id)
_OPTIONS = TypeAdapter(TargetOptions)


class TargetRepository(Transactions):
    """The files of the library, and what the user set for their targets.

    Settings and last use belong to a target's identity: a file that moves keeps them, one that changes begins with
    none, and copies share them. A record from before identities existed is known by its path and size until the file
    there is read. A file's name is for people, and never that of another file.
    """

    def remember_target(self, source: TargetSource, vocabulary: str = "") -> TargetRecord:
        """Notes that this target was used now, and its vocabulary by its fingerprint."""
        known = {"vocabulary": vocabulary} if vocabulary else {}
        return self._save(source, used={"last_used_at": datetime.now(UTC), **known})

    def add_target(self, source: TargetSource, facts: str = "") -> TargetRecord:
        """Puts a file into the library, or notes what the file at this path is by now. It takes the place of a file
        of the same target that is gone. A name that another file has is made unique: "name (2)"."""
        return self._save(source, facts)

    def remove_target(self, path: Path) -> None:
        """Leaves the file alone; its settings go with the last copy. Does nothing if it is not in the library."""
        with self._writing() as connection:
            at_path = TargetFileRow.path == path
            target_id = connection.execute(select(TargetFileRow.target_id).where(at_path)).scalar_one_or_none()
            connection.execute(delete(TargetFileRow).where(at_path))
            connection.execute(delete(TargetRow).where(TargetRow.id == target_id, _HAS_NO_FILE))

    def change_target_options(self, path: Path, options: TargetOptions) -> None:
        """Applies to all copies of the file. Does nothing if it is not in the library."""
        target = select(TargetFileRow.target_id).where(TargetFileRow.path == path).scalar_subquery()
        text = _OPTIONS.dump_json(options, ensure_ascii=True).decode()
        with self._writing() as connection:
            connection.execute(update(TargetRow).where(TargetRow.id == target).values(options=text))

    def list_targets(self) -> tuple[TargetRecord, ...]:
        """Last used first, and those that never were at the end."""
        with self._reading() as connection:
            latest_first = TargetRow.last_used_at.desc().nulls_last(), TargetFileRow.id.desc()
            return tuple(_record(row) for row in connection.execute(_FILES.order_by(*latest_first)))

    def target_at(self, path: Path) -> TargetRecord | None:
        with self._reading() as connection:
            return _at(connection, path)

    def target_of(self, source: TargetSource) -> TargetRecord | None:
        """What the library knows of this target, wherever its file is."""
        unread = and_(
            TargetRow.identity.is_(None),
            TargetFileRow.path == source.path,
            TargetFileRow.size_bytes == source.size_bytes,
        )
        wanted = _FILES.where(or_(TargetRow.identity == source.identity, unread))
        with self._reading() as connection:
            row = connection.execute(wanted.order_by(TargetRow.identity.is_(None)).limit(1)).one_or_none()
            return None if row is None else _record(row)

    def _save(self, source: TargetSource, facts: str = "", used: Mapping[str, object] | None = None) -> TargetRecord:
        path = source.path
        gone = self._gone_copy(source, path)
        with self._writing() as connection:
            target_id = _target_id(connection, source, path)
            if used is not None:
                connection.execute(update(TargetRow).where(TargetRow.id == target_id).values(**used))
            place = path if gone is None or _at(connection, path) is not None else gone
            others = select(TargetFileRow.name).where(TargetFileRow.path != place)
            name = unique(one_line(source.name) or path.stem, set(connection.execute(others).scalars()))
            values = {"target_id": target_id, "name": name, "path": path, "size_bytes": source.size_bytes}
            values |= {"details": encodable(facts)} if facts else {}
            values |= {} if used is None else {"loaded_stamp": source.stamp}
            change = update(TargetFileRow).where(TargetFileRow.path == place).values(**values)
            if not connection.execute(change).rowcount:
                connection.execute(insert(TargetFileRow).values(**values))
            connection.execute(delete(TargetRow).where(TargetRow.identity.is_(None), _HAS_NO_FILE))
            record = _at(connection, path)
        assert record is not None
        return record

    def _gone_copy(self, source: TargetSource, path: Path) -> Path | None:
        """Where the file was before it moved to this path. Looked for before the transaction: disks can be slow."""
        if not source.identity:
            return None
        copies = (each.path for each in self.list_targets() if each.identity == source.identity and each.path != path)
        return next((copy for copy in copies if _is_gone(copy)), None)


def forget_system_prompts(connection: Connection) -> None:
    without = func.iif(func.json_valid(TargetRow.options), func.json_remove(TargetRow.options, "$.system_prompt"), "")
    connection.execute(update(TargetRow).values(options=without))


def _target_id(connection: Connection, source: TargetSource, path: Path) -> int:
    """The id of the target with this identity, which is added if need be. One that was known only by its path and size
    gets its identity here, or is joined with a copy that has it."""
    columns = TargetRow.id, TargetRow.identity, TargetRow.last_used_at, TargetRow.options
    at_path = select(*columns, TargetFileRow.size_bytes).join(TargetFileRow).where(TargetFileRow.path == path)
    here = connection.execute(at_path).one_or_none()
    if here is not None and not source.identity:  # it cannot be read now: what was known of it holds
        return int(here.id)
    known = connection.execute(select(*columns).where(TargetRow.identity == source.identity)).one_or_none()
    unread = here if here is not None and (here.identity, here.size_bytes) == (None, source.size_bytes) else None
    if known is not None:
        if unread is not None:
            times = [time for time in (known.last_used_at, unread.last_used_at) if time is not None]
            joined = {"options": known.options or unread.options, "last_used_at": max(times, default=None)}
            connection.execute(update(TargetRow).where(TargetRow.id == known.id).values(**joined))
        return int(known.id)
    if unread is not None:
        adopted = update(TargetRow).where(TargetRow.id == unread.id)
        connection.execute(adopted.values(identity=source.identity))
        return int(unread.id)
    return int(connection.execute(insert(TargetRow).values(identity=source.identity or None)).lastrowid)


def _at(connection: Connection, path: Path) -> TargetRecord | None:
    row = connection.execute(_FILES.where(TargetFileRow.path == path)).one_or_none()
    return None if row is None else _record(row)


def _is_gone(path: Path) -> bool:
    try:
        return not path.exists()
    except OSError:  # its folder may not be looked into
        return False


def _record(row: Row[str, Path, int, datetime | None, str, str, str | None, str]) -> TargetRecord:
    name, path, size_bytes, last_used_at, options, facts, identity, stamp = row
    return TargetRecord(name, path, size_bytes, last_used_at, _options(options), facts, identity or "", stamp)


def _options(text: str) -> TargetOptions:
    """Those of a version with other ranges are as if nothing was set."""
    try:
        return _OPTIONS.validate_json(text) if text else TargetOptions()
    except (ValidationError, SettingInvalid):
        return TargetOptions()
