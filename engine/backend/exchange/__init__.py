"""Conversations that come from files and go into files: our own format, those of others, and one to read."""

from engine.backend.documents.attached import read_text
from engine.backend.exchange.reading import Read, read_chats
from engine.backend.exchange.writing import write_chats

__all__ = ["Read", "read_chats", "read_text", "write_chats"]
