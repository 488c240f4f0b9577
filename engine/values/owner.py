"""Whose words a reply is written from: what they leave in memory helps no other owner, in tokens or in time."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Owner:
    """The user, at the window or the command line, or a client of the server.

    Prompt caches, pictures that were read and grammars that were compiled serve their own owner alone. What was learned
    from the user's chats drafts for others only where the user allows it.
    """

    key: str = ""  # of a client the digest of its key, or its process; empty: the user
    drafts_from_chats: bool = field(default=False, compare=False)

    @property
    def is_user(self) -> bool:
        return not self.key


USER = Owner(drafts_from_chats=True)
