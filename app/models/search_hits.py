"""The results of a search, without the signs of Markdown."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QAbstractListModel, QObject, Qt

from app.models.conversations import title_words
from app.models.rows import ROOT, Index
from app.text.translation import translate
from app.text.unseen import in_tip, one_line
from engine.values.conversations import SearchHit

# Underscores stay: in the words that people search for, they are mostly part of a name.
_SIGNS = re.compile(
    r"""
    !?\[ (?= [^\[\]]* \]\( )                               # a link or a picture: only its words stay
  | (?<= \] ) \( [^()\s]* (?: \s [^()]* )? \)
  | \] (?= \( )
  | `{3,} (?: [\w+#-]+ \s )? | `                           # code, with the name of its language
  | (?<! \S ) \#{1,6} \s                                   # a heading
  | (?<! \S ) \| (?: \s? :? -+ :? \s? \| )+ \s?            # the line below the names of a table
  | ~~
  | \\ (?= [\\`*_{}\[\]()\#+.!~|>-] )
    """,
    re.VERBOSE,
)
_EMPHASIS = re.compile(r"(?<![\w*\\])(\*{1,3})(?=[^\s*])[^*]*(?<=[^\s*\\])(\1)(?![\w*])")
_ENDS = re.compile(r"^…[^*]*[^\s*](\*\*)(?![\w*])")  # what began before the snippet
_BEGINS = re.compile(r"(?<![\w*\\])(\*\*)(?=[^\s*])[^*]*…$")
Marks = tuple[tuple[int, int], ...]


class SearchHitsModel(QAbstractListModel):
    HitRole = Qt.ItemDataRole.UserRole + 1
    PlaceRole = Qt.ItemDataRole.UserRole + 2  # the folder of its chat, or that it is archived; empty: neither

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.hits: tuple[SearchHit, ...] = ()
        self._folders: dict[int, str] = {}

    def set_folders(self, names: dict[int, str]) -> None:
        """Sets the names of folders, by their ids."""
        self._folders = names
        if self.hits:
            self.dataChanged.emit(self.index(0), self.index(len(self.hits) - 1))

    def set_hits(self, hits: tuple[SearchHit, ...]) -> None:
        self.beginResetModel()
        self.hits = tuple(map(_plain, hits))
        self.endResetModel()

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self.hits)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        hit = self.hits[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.AccessibleTextRole:
                return one_line(title_words(hit.conversation.title))
            case Qt.ItemDataRole.ToolTipRole:
                return in_tip(title_words(hit.conversation.title))
            case Qt.ItemDataRole.AccessibleDescriptionRole:
                return " · ".join(filter(None, (self._place(hit), hit.snippet)))
            case self.HitRole:
                return hit
            case self.PlaceRole:
                return self._place(hit)
        return None

    def _place(self, hit: SearchHit) -> str:
        if hit.conversation.is_archived:
            return translate("SearchHitsModel", "Archived")
        return one_line(self._folders.get(hit.conversation.folder_id or 0, ""))


def _plain(hit: SearchHit) -> SearchHit:
    """Says that a hit is in a thought."""
    snippet, marks = plain_snippet(hit.snippet, hit.marks)
    before = translate("SearchHitsModel", "Thought:") + " " if hit.is_thought else ""
    marks = tuple((start + len(before), length) for start, length in marks)
    return replace(hit, snippet=before + snippet, marks=marks)


def plain_snippet(snippet: str, marks: Marks) -> tuple[str, Marks]:
    """The snippet without Markdown characters. `marks` are places to keep: first character, number of characters."""
    gone = bytearray(len(snippet))
    for signs in (_SIGNS, _EMPHASIS, _ENDS, _BEGINS):
        for found in signs.finditer(snippet):
            for group in range(1, signs.groups + 1) if signs.groups else (0,):
                start, end = found.span(group)
                gone[start:end] = b"\1" * (end - start)
    for start, length in marks:
        gone[start : start + length] = bytes(length)
    moved = tuple((start - sum(gone[:start]), length) for start, length in marks)
    return "".join(sign for sign, is_gone in zip(snippet, gone, strict=True) if not is_gone), moved
