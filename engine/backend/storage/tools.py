"""The part of the repository for tools that are called without being asked for: in one chat, or in all of them.

What is allowed is a tool as it was defined when it was allowed: a name may come to stand for something else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple

from sqlalchemy import delete, select

from engine.backend.storage.columns import upsert
from engine.backend.storage.schema import AllowedToolRow, ChatToolRow
from engine.backend.storage.texts import encodable
from engine.backend.storage.transactions import SHORT_PATIENCE_S, Transactions
from engine.values.tools import AllowedTool, ToolDefinition


class ToolRepository(Transactions):
    def allow_tool(self, tool: AllowedTool) -> None:
        """Allows it in all chats, in place of an earlier definition of the same name."""
        allow = upsert(AllowedToolRow, "definition").values(**_names(tool), definition=_written(tool.definition))
        with self._writing(patience_s=SHORT_PATIENCE_S) as connection:
            connection.execute(allow)

    def allow_tool_in(self, conversation_id: int, tool: AllowedTool) -> None:
        values = {"conversation_id": conversation_id, **_names(tool), "definition": _written(tool.definition)}
        allow = upsert(ChatToolRow, "definition").values(values)
        with self._writing(conversation_id, SHORT_PATIENCE_S) as connection:
            connection.execute(allow)

    def allowed_definitions(self, conversation_id: int, server: str, tool: str) -> tuple[ToolDefinition, ...]:
        """What was allowed under these names, in all chats and in this one."""
        names = encodable(server), encodable(tool)
        always = select(AllowedToolRow.definition).where(
            AllowedToolRow.server == names[0], AllowedToolRow.tool == names[1]
        )
        here = select(ChatToolRow.definition).where(
            ChatToolRow.conversation_id == conversation_id, ChatToolRow.server == names[0], ChatToolRow.tool == names[1]
        )
        with self._reading() as connection:
            found = [*connection.execute(always).scalars()]
        with self._reading(conversation_id) as connection:
            found += connection.execute(here).scalars()
        return tuple(read for each in found if (read := _read(each)) is not None)

    def allowed_tools(self) -> tuple[AllowedTool, ...]:
        """Those that are allowed in all chats, by server and name."""
        rows = select(AllowedToolRow.server, AllowedToolRow.tool, AllowedToolRow.definition)
        with self._reading() as connection:
            found = [(server, tool, _read(definition)) for server, tool, definition in connection.execute(rows)]
        tools = [AllowedTool(server, tool, read) for server, tool, read in found if read is not None]
        return tuple(sorted(tools, key=lambda each: (each.server, each.tool)))

    def forget_allowed_tools(self, tools: Sequence[AllowedTool] | None = None) -> None:
        """None: all that were allowed in all chats."""
        with self._writing() as connection:
            if tools is None:
                connection.execute(delete(AllowedToolRow))
            for each in tools or ():
                names = _names(each)
                found = AllowedToolRow.server == names["server"], AllowedToolRow.tool == names["tool"]
                connection.execute(delete(AllowedToolRow).where(*found))


def _names(tool: AllowedTool) -> dict[str, str]:
    return {"server": encodable(tool.server), "tool": encodable(tool.tool)}


def _written(definition: ToolDefinition) -> str:
    return encodable(json.dumps(astuple(definition), ensure_ascii=False))


def _read(written: str) -> ToolDefinition | None:
    """None where another program wrote something else: then the tool is asked for."""
    try:
        return ToolDefinition(*map(str, json.loads(written)))
    except (ValueError, TypeError, RecursionError):
        return None
