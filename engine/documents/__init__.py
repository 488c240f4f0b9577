"""Text out of documents, and the passages of it that are nearest to a question."""

from engine.documents.nearest import nearest_passages
from engine.documents.reading import read_document

__all__ = ["nearest_passages", "read_document"]
