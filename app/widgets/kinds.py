from __future__ import annotations

from PySide6.QtWidgets import QWidget


def set_kind(widget: QWidget, kind: str) -> None:
    """Gives a widget that is shown already another of the theme's kinds."""
    if widget.property("kind") != kind:
        widget.setProperty("kind", kind)
        widget.style().unpolish(widget)
        widget.style().polish(widget)
