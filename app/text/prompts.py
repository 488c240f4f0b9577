"""Prompts, as they are copied to other programs."""

from __future__ import annotations

from engine.messages.prompts import split_pictures


def copied(prompt: str) -> str:
    """Without its pictures; their names, where there is nothing else."""
    pictures, words = split_pictures(prompt)
    return words or "\n".join(each.name for each in pictures)
