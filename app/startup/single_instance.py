"""One window for one data folder: a second start hands its request over to the first, and ends.

The first one holds the lock of the folder and listens on a local socket that only this user can reach. It writes the
address of the socket into the lock. A request is one line (`open_request.py`); the answer is `ok`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from app.startup.instance_lock import InstanceLock
from app.startup.open_request import MOST_BYTES, OpenRequest
from engine.values.errors import MendableError

ANSWER_S = 5.0  # from a connection to its answer
STARTING_S = 20.0  # until one that is just starting listens
_PAUSE_S = 0.05
_CONNECT_MS = 500
_SILENCE_MS = 5_000  # after which a peer that says nothing is dropped
_MOST_PEERS = 8
_LONGEST_PATH = 100  # bytes of a socket: what all systems allow, and a little less
_OK = b"ok\n"


class InstanceSilent(MendableError):
    """Another Slipstream has the data folder and does not answer."""


def hand_over(
    lock: InstanceLock, folder: Path, request: OpenRequest, answer_s: float = ANSWER_S, starting_s: float = STARTING_S
) -> bool:
    """Gives the request to the owner of the lock. False: it is gone, and the lock is ours now. Raises
    InstanceSilent."""
    end = time.monotonic() + starting_s
    while time.monotonic() < end:
        if lock.take():
            return False
        address = lock.address()
        if address:
            answered = _ask(address, request, answer_s)
            if answered:
                return True
            if answered is not None:
                break
        time.sleep(_PAUSE_S)
    raise InstanceSilent(
        f"Slipstream is open already with the chats in {folder}, but does not answer; close it, or wait a moment, and "
        "start it again."
    )


def _ask(address: str, request: OpenRequest, answer_s: float) -> bool | None:
    """True if the answer is `ok`; None without a listener."""
    socket = QLocalSocket()
    socket.connectToServer(address)
    if not socket.waitForConnected(_CONNECT_MS):
        return None
    end = time.monotonic() + answer_s
    socket.write(request.to_bytes())
    while not socket.canReadLine():
        left_ms = int((end - time.monotonic()) * 1000)
        if left_ms <= 0 or not socket.waitForReadyRead(left_ms):
            closed = socket.state() == QLocalSocket.LocalSocketState.UnconnectedState
            return None if closed else False  # a process that is ending releases the lock soon
    return bytes(socket.readLine().data()) == _OK


class OpenRequests(QObject):
    """Listens to further starts. If it cannot, they wait in vain and report that."""

    asked = Signal(object)  # (OpenRequest) a further start asks for the window, and perhaps for files in it

    def __init__(self, lock: InstanceLock, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lock = lock
        self._made: Path | None = None  # a folder for the socket
        self._peers: set[QLocalSocket] = set()
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connection)
        for address in self._addresses(folder):
            QLocalServer.removeServer(address)  # of a process that was killed: this one has the lock
            if self._server.listen(address):
                lock.publish(self._server.fullServerName())
                break

    def close(self) -> None:
        """Turns away waiting peers: a window that closes must not be shown again."""
        self._lock.publish("")
        self._server.close()
        for peer in tuple(self._peers):
            peer.abort()
        if self._made is not None:
            with contextlib.suppress(OSError):
                self._made.rmdir()
            self._made = None

    def _addresses(self, folder: Path) -> Iterator[str]:
        """Candidate addresses: in the data folder, which belongs to this user, or elsewhere if that cannot hold a
        socket."""
        if sys.platform == "win32":
            place = os.path.normcase(folder.absolute())
            yield f"slipstream-{hashlib.sha256(place.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
            return
        near = folder.absolute() / "running.sock"
        if len(os.fsencode(near)) <= _LONGEST_PATH:
            yield str(near)
        with contextlib.suppress(OSError):
            self._made = Path(tempfile.mkdtemp(prefix="slipstream-"))  # private to this user
            yield str(self._made / "running.sock")

    @Slot()
    def _on_connection(self) -> None:
        while (peer := self._server.nextPendingConnection()) is not None:
            if len(self._peers) >= _MOST_PEERS or not self._server.isListening():
                peer.abort()
                peer.deleteLater()
                continue
            self._peers.add(peer)
            peer.setReadBufferSize(MOST_BYTES + 1)
            peer.readyRead.connect(partial(self._read, peer))
            peer.disconnected.connect(partial(self._drop, peer))
            QTimer.singleShot(_SILENCE_MS, peer, peer.abort)
            if peer.state() == QLocalSocket.LocalSocketState.UnconnectedState:
                self._drop(peer)
            else:
                self._read(peer)  # what came before

    def _read(self, peer: QLocalSocket) -> None:
        """Reads the peer's only line."""
        if not peer.canReadLine():
            if peer.bytesAvailable() > MOST_BYTES:
                peer.abort()
            return
        peer.readyRead.disconnect()
        try:
            request = OpenRequest.from_bytes(bytes(peer.readLine().data()).rstrip(b"\n"))
        except (ValueError, RecursionError):
            peer.abort()
            return
        peer.write(_OK)
        peer.disconnectFromServer()  # when the answer is written
        self.asked.emit(request)

    def _drop(self, peer: QLocalSocket) -> None:
        self._peers.discard(peer)
        peer.deleteLater()
