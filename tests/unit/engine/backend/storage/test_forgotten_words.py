"""Every column that can hold a user's words, as text or as tokens, holds none after everything was forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sqlalchemy import LargeBinary, Text, TypeDecorator

from engine.backend.server.clients import Clients
from engine.backend.storage import Repository
from engine.backend.storage.connections import back_up
from engine.backend.storage.schema import Base
from engine.values.config import OwnSampling, TargetOptions
from engine.values.conversations import ChatTurn, Role
from engine.values.learned import CandidateRecord, Exercise, Learned, NgramRecord, VerifiedReply
from engine.values.order import LibraryPrompt, Preset, TargetChoice
from engine.values.pictures import Picture
from engine.values.prompts import AttachedPicture, Attachment, join_prompt
from engine.values.replies import Thought
from engine.values.targets import TargetSource
from engine.values.tools import AllowedTool, Outcome, ToolCall, ToolDefinition, ToolResult

SECRET = "quicksilver!"  # its bytes are three tokens
_TOKENS = np.frombuffer(SECRET.encode(), "<i4")
_PAIR = ("vocabulary", "drafter")
# Digests and keys that Slipstream makes, numbers as JSON, and what says where a model is found and what it is.
_WORDLESS = {
    *("fingerprint", "target_fingerprint", "drafter_fingerprint", "drafter_key", "digest", "identity", "key"),
    *("target_identity", "build", "form", "figures", "pace", "capital", "day", "holder", "created_at", "seed"),
    *("loaded_stamp", "law_logs", "left_heads", "origins", "vocabulary"),
}
_OF_A_MODEL = {"target_files.name", "target_files.path", "target_files.details"}


def plant(repository: Repository, data_dir: Path) -> None:
    chosen, sampling = TargetChoice(SECRET, "identity"), OwnSampling(banned_words=SECRET)
    repository.create_folder(SECRET, SECRET, target=chosen)
    repository.save_preset(Preset(0, SECRET, SECRET, sampling, target=chosen))
    repository.save_prompt(LibraryPrompt(0, SECRET, SECRET))
    repository.allow_tool(AllowedTool(SECRET, SECRET, ToolDefinition("", "", SECRET, SECRET)))
    path = data_dir / "a.gguf"
    repository.add_target(TargetSource(path, "a", 1, "identity"))
    repository.change_target_options(path, TargetOptions(system_prompt=SECRET))
    Clients(data_dir).add(SECRET)
    plain = repository.create_conversation(SECRET, SECRET).id
    repository.add_message(plain, None, Role.USER, SECRET)
    (exercise,) = repository.list_exercises("vocabulary", 1, 1)
    lesson = VerifiedReply(_TOKENS, _TOKENS[:, None], np.zeros((len(_TOKENS), 1), np.float16))
    repository.save_self_distilled("vocabulary", exercise, lesson, 10)
    shipped = Exercise(None, None, (ChatTurn(Role.USER, SECRET),), OwnSampling())
    repository.save_self_distilled("vocabulary", shipped, lesson, 10)
    chat = repository.create_conversation(SECRET, SECRET).id
    repository.change_conversation(chat, SECRET, sampling)
    repository.allow_tool_in(chat, AllowedTool(SECRET, SECRET, ToolDefinition("", "", SECRET, SECRET)))
    picture = Picture("digest", SECRET.encode(), 1, 1)
    asked = join_prompt([Attachment(SECRET, SECRET), AttachedPicture(SECRET, picture.digest)], SECRET)
    repository.save_draft(chat, asked, [picture])
    prompt = repository.add_message(chat, None, Role.USER, asked).id
    call, thoughts = ToolCall("abcdefghi", SECRET, SECRET, SECRET), (Thought(0, SECRET, is_whole=True),)
    reply = repository.add_message(
        chat, prompt, Role.ASSISTANT, SECRET, SECRET, target_identity="identity", thoughts=thoughts, calls=(call,)
    ).id
    repository.add_message(chat, reply, Role.TOOL, SECRET, result=ToolResult(call, Outcome.DONE))
    repository.save_lesson("vocabulary", reply, lesson, 10, SECRET)
    repository.save_recall("vocabulary", {reply: _TOKENS.tolist()})
    repository.save_ngrams(*_PAIR, [NgramRecord(tuple(_TOKENS.tolist()), 1, 1, 0, 1)])
    repository.save_adapter(*_PAIR, 1.0, 1.0, 1, 1, SECRET.encode())
    repository.save_candidate(*_PAIR, CandidateRecord(None, 1, 1, 1, (), SECRET.encode()))
    repository.add_learned(Learned({}, {}, {"vocabulary": (np.tile(_TOKENS, 2),)}, (), {"elsewhere": (SECRET,)}))
    back_up(data_dir / "slipstream.sqlite3", "0001")


def plant_in_new_tables(repository: Repository) -> None:
    """Fills the tables with words that `plant` leaves empty, as they are declared."""
    wanted = columns_for_words() - set(columns_with_the_secret(repository))
    with repository._file.writing() as connection:
        for table in Base.metadata.sorted_tables:
            words = {column.name: SECRET for column in table.columns if str(column) in wanted}
            if words and connection.exec_driver_sql(f"SELECT count(*) FROM {table.name}").scalar() == 0:
                row = {column.name: 1 for column in table.columns if not column.nullable} | words
                places = ", ".join("?" * len(row))
                statement = f"INSERT INTO {table.name} ({', '.join(row)}) VALUES ({places})"
                connection.exec_driver_sql(statement, (*row.values(),))


def columns_for_words() -> set[str]:
    return {
        f"{table.name}.{column.name}"
        for table in Base.metadata.sorted_tables
        for column in table.columns
        if isinstance(_plain_type(column.type), Text | LargeBinary) and column.name not in _WORDLESS
    } - _OF_A_MODEL


def _plain_type(kind: object) -> object:
    return kind.impl if isinstance(kind, TypeDecorator) else kind


def columns_with_the_secret(repository: Repository) -> Iterator[str]:
    with repository._file.reading() as connection:
        for table in Base.metadata.sorted_tables:
            for column in table.columns:
                rows = connection.exec_driver_sql(f'SELECT CAST("{column.name}" AS BLOB) FROM {table.name}')
                if any(SECRET.encode() in (value or b"") for (value,) in rows):
                    yield f"{table.name}.{column.name}"


def files_with_the_secret(folder: Path) -> list[str]:
    return [file.name for file in folder.rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()]


def test_no_word_is_left_in_any_column_or_file(repository: Repository, data_dir: Path) -> None:
    plant(repository, data_dir)
    plant_in_new_tables(repository)
    assert set(columns_with_the_secret(repository)) == columns_for_words(), "a new column is planted, or has no words"
    assert {"clients.json", "slipstream.sqlite3.before-0001"} <= set(files_with_the_secret(data_dir))
    repository.forget_everything()
    assert repository.finish_erasure() == ()
    assert files_with_the_secret(data_dir) == []
    assert Clients(data_dir).all() == ()
    assert [target.name for target in repository.list_targets()] == ["a"]
