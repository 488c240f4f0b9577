"""A sentence in a window of its own, where there is no other window."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QMessageBox


def show_sentence(sentence: str) -> None:
    """Returns when it was read."""
    application = QApplication.instance() or QApplication(["slipstream"])
    box = QMessageBox(QMessageBox.Icon.Warning, "Slipstream", sentence)
    box.exec()
    del application
