from __future__ import annotations

from datetime import UTC, datetime

from PySide6.QtCore import Qt

from app.models.search_hits import SearchHitsModel
from engine.messages.conversations import ConversationSummary, SearchHit

WHEN = datetime(2026, 3, 4, tzinfo=UTC)


def test_a_snippet_is_told_without_signs_of_markdown() -> None:
    model = SearchHitsModel()
    summary = ConversationSummary(1, "Boats", WHEN)
    model.set_hits((SearchHit(summary, 4, "a **boat**", ((4, 4),)), SearchHit(summary, None, "", ())))
    hit: SearchHit = model.index(0).data(SearchHitsModel.HitRole)
    assert (hit.snippet, hit.marks) == ("a boat", ((2, 4),))
    assert model.index(0).data(Qt.ItemDataRole.AccessibleDescriptionRole) == "a boat"
