"""Keeps conversations and targets on disk. `Repository` is the only door."""

from engine.backend.storage.repository import FILE_NAME, Repository

__all__ = ["FILE_NAME", "Repository"]
