"""Conversations that come from files and go into files: our own format, those of others, and one to read."""

from engine.exchange.attached import read_text
from engine.exchange.reading import Read, read_chats
from engine.exchange.writing import write_chats

__all__ = ["Read", "read_chats", "read_text", "write_chats"]
