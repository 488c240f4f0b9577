"""One window for one data folder: a second start hands what it was asked for to the first, and ends.

The first one holds the lock of the folder and listens on a local socket that only this user can reach, whose address it
writes into the lock. A request is one line (`open_request.py`), its answer `ok`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from app.startup.instance_lock import InstanceLock
from app.startup.open_request import MOST_BYTES, OpenRequest
from engine.errors import MendableError

ANSWER_S = 5.0  # from a connection to its answer
STARTING_S = 20.0  # until one that is just being started listens
_PAUSE_S = 0.05
_CONNECT_MS = 500
_SILENCE_MS = 5_000  # after which a peer that says nothing is left
_MOST_PEERS = 8
_LONGEST_PATH = 100  # bytes of a socket: what all systems allow, and a little less
_OK = b"ok\n"


class InstanceSilent(MendableError):
    """Another Slipstream has the data folder and does not answer."""


def hand_over(
    lock: InstanceLock, folder: Path, request: OpenRequest, answer_s: float = ANSWER_S, starting_s: float = STARTING_S
) -> bool:
    """Gives the request to whoever has the lock. False: nobody has it any more, and now it is ours.

    Raises InstanceSilent.
    """
    end = time.monotonic() + starting_s
    while time.monotonic() < end:
        if lock.take():
            return False
        address = lock.address()
        if address:
            heard = _ask(address, request, answer_s)
            if heard:
                return True
            if heard is not None:
                break
        time.sleep(_PAUSE_S)
    raise InstanceSilent(
        f"Slipstream is open already with the chats in {folder}, but does not answer; close it, or wait a moment, and "
        "start it again."
    )


def _ask(address: str, request: OpenRequest, answer_s: float) -> bool | None:
    """Whether it was answered with `ok`; None where nobody listens."""
    socket = QLocalSocket()
    socket.connectToServer(address)
    if not socket.waitForConnected(_CONNECT_MS):
        return None
    end = time.monotonic() + answer_s
    socket.write(request.to_bytes())
    answer = b""
    while len(answer) < len(_OK) and (left_ms := int((end - time.monotonic()) * 1000)) > 0:
        if not socket.waitForReadyRead(left_ms):
            closed = socket.state() == QLocalSocket.LocalSocketState.UnconnectedState
            return None if closed else False  # it is just ending; then the lock is ours soon
        answer += bytes(socket.readAll().data())
    return answer == _OK


class OpenRequests(QObject):
    """Listens to further starts, as long as it can: where it cannot, they wait in vain and say so.

    Signals:
        asked(OpenRequest): somebody wants the window, and maybe files in it.
    """

    asked = Signal(object)

    def __init__(self, lock: InstanceLock, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lock = lock
        self._made: Path | None = None  # a folder for the socket
        self._peers: set[_Peer] = set()
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connection)
        for address in self._addresses(folder):
            QLocalServer.removeServer(address)  # who has the lock is the only one there can be
            if self._server.listen(address):
                lock.tell(self._server.fullServerName())
                break

    def close(self) -> None:
        """Whoever has connected but was not heard yet is turned away: a window that closes must not be shown again."""
        self._lock.tell("")
        self._server.close()
        for peer in tuple(self._peers):
            peer.turn_away()
        if self._made is not None:
            with contextlib.suppress(OSError):
                self._made.rmdir()
            self._made = None

    def _addresses(self, folder: Path) -> Iterator[str]:
        """Names to try: in the data folder, which is this user's own, or where that cannot hold a socket."""
        if sys.platform == "win32":
            place = os.path.normcase(folder.absolute())
            yield f"slipstream-{hashlib.sha256(place.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
            return
        near = folder.absolute() / "running.sock"
        if len(os.fsencode(near)) <= _LONGEST_PATH:
            yield str(near)
        with contextlib.suppress(OSError):
            self._made = Path(tempfile.mkdtemp(prefix="slipstream-"))  # nobody else can look into it
            yield str(self._made / "running.sock")

    @Slot()
    def _on_connection(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            if len(self._peers) >= _MOST_PEERS or not self._server.isListening():
                socket.abort()
                socket.deleteLater()
                continue
            peer = _Peer(socket, self)
            peer.asked.connect(self.asked)
            peer.gone.connect(self._on_gone)
            self._peers.add(peer)
            peer.begin()

    @Slot()
    def _on_gone(self) -> None:
        peer = self.sender()
        if isinstance(peer, _Peer):
            self._peers.discard(peer)
            peer.deleteLater()


class _Peer(QObject):
    """One who has connected, and may say one line.

    Signals:
        asked(OpenRequest): that line.
        gone(): the connection is over.
    """

    asked = Signal(object)
    gone = Signal()

    def __init__(self, socket: QLocalSocket, parent: QObject) -> None:
        super().__init__(parent)
        self._socket = socket
        socket.setParent(self)
        self._heard = b""
        self._is_answered = False
        socket.setReadBufferSize(MOST_BYTES + 1)
        socket.readyRead.connect(self._read)
        socket.disconnected.connect(self.gone)
        QTimer.singleShot(_SILENCE_MS, self, socket.abort)

    def begin(self) -> None:
        """What was said before anybody listened is read now."""
        if self._socket.state() == QLocalSocket.LocalSocketState.UnconnectedState:
            self.gone.emit()
        elif self._socket.bytesAvailable():
            self._read()

    def turn_away(self) -> None:
        self._is_answered = True
        self._socket.abort()

    @Slot()
    def _read(self) -> None:
        if self._is_answered:
            return
        self._heard += bytes(self._socket.readAll().data())
        line, ended, _ = self._heard.partition(b"\n")
        if not ended and len(self._heard) <= MOST_BYTES:
            return
        self._is_answered = True
        try:
            request = OpenRequest.from_bytes(line)
        except (ValueError, RecursionError):
            self._socket.abort()
            return
        self._socket.write(_OK)
        self._socket.disconnectFromServer()  # when the answer is written
        self.asked.emit(request)
