"""Text and pictures out of files, and the passages of a text that are nearest to a question."""

from engine.backend.documents.nearest import nearest_passages
from engine.backend.documents.reading import check_pictures, read_attached, read_document, read_picture

__all__ = ["check_pictures", "nearest_passages", "read_attached", "read_document", "read_picture"]
