"""How far the writing of a corpus is, as a plain value for whoever watches. Imports nothing slow."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InventProgress:
    num_done: int  # conversations that are finished, those of earlier runs among them
    num_conversations: int  # that are to be
    num_tokens: int  # that the target wrote in this run: turns of users and replies
    seconds: float  # of this run
