"""What Qt has to say goes to the log, like everything else: the system's own log is read by more people."""

from __future__ import annotations

import logging

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

_logger = logging.getLogger("slipstream.qt")
_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.WARNING,  # of Qt's own work; errors are those of ours
    QtMsgType.QtFatalMsg: logging.WARNING,
}


def log_qt_messages() -> None:
    qInstallMessageHandler(_log)


def _log(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    _logger.log(_LEVELS[kind], "%s: %s", context.category, message)
