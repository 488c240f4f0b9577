"""The part of the repository for tools that are called without being asked for: in one chat, or in all of them.

What is allowed is a tool of a server with this identity: a name alone may come to stand for another program.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.dialects.sqlite import insert

from engine.messages.tools import AllowedTool
from engine.storage.schema import AllowedToolRow, ChatToolRow
from engine.storage.texts import encodable
from engine.storage.transactions import SHORT_PATIENCE_S, Transactions


class ToolRepository(Transactions):
    def allow_tool(self, tool: AllowedTool) -> None:
        """In all chats."""
        values = {"identity": tool.identity, "tool": encodable(tool.tool), "server": encodable(tool.server)}
        with self._writing(patience_s=SHORT_PATIENCE_S) as connection:
            connection.execute(insert(AllowedToolRow).values(values).on_conflict_do_nothing())

    def allow_tool_in(self, conversation_id: int, identity: str, tool: str) -> None:
        values = {"conversation_id": conversation_id, "identity": identity, "tool": encodable(tool)}
        with self._writing(conversation_id, SHORT_PATIENCE_S) as connection:
            connection.execute(insert(ChatToolRow).values(values).on_conflict_do_nothing())

    def allows_tool(self, conversation_id: int, identity: str, tool: str) -> bool:
        """Whether it may be called in this chat without being asked for."""
        always = AllowedToolRow.identity == identity, AllowedToolRow.tool == encodable(tool)
        here = ChatToolRow.identity == identity, ChatToolRow.tool == encodable(tool)
        with self._reading() as connection:
            if connection.execute(select(AllowedToolRow.tool).where(*always)).first() is not None:
                return True
        with self._reading(conversation_id) as connection:
            found = select(ChatToolRow.tool).where(ChatToolRow.conversation_id == conversation_id, *here)
            return connection.execute(found).first() is not None

    def allowed_tools(self) -> tuple[AllowedTool, ...]:
        """Those that are allowed in all chats, by server and name."""
        rows = select(AllowedToolRow.server, AllowedToolRow.tool, AllowedToolRow.identity)
        with self._reading() as connection:
            return tuple(sorted((AllowedTool(*map(str, row)) for row in connection.execute(rows)), key=_names))

    def forget_allowed_tools(self, tools: Sequence[AllowedTool] | None = None) -> None:
        """None: all that were allowed in all chats."""
        with self._writing() as connection:
            if tools is None:
                connection.execute(delete(AllowedToolRow))
            for each in tools or ():
                found = AllowedToolRow.identity == each.identity, AllowedToolRow.tool == each.tool
                connection.execute(delete(AllowedToolRow).where(*found))


def _names(tool: AllowedTool) -> tuple[str, str]:
    return tool.server, tool.tool
