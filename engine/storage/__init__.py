"""Keeps conversations and targets on disk. `Repository` is the only door."""

from engine.storage.repository import Repository

__all__ = ["Repository"]
