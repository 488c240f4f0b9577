"""Which certificates of servers are trusted: those that an authority of this system vouches for, or else the one that
the user has chosen for a server, and then no other.

The check of a chosen one is part of the handshake: nothing, least of all a key, is sent to a server that shows another.
"""

from __future__ import annotations

import ssl
from functools import cache
from hashlib import sha256

import httpx2


class OtherCertificate(ssl.SSLError):
    """The server has shown this one."""

    def __init__(self, digest: str) -> None:
        super().__init__(digest)
        self.digest = digest


@cache
def usual_context() -> ssl.SSLContext:
    """Asks the authorities that this system trusts."""
    return httpx2.create_ssl_context()


def context_for(digest: str) -> ssl.SSLContext:
    """Trusts the certificate with this SHA-256 alone; with an empty one, none: the handshake then tells which there
    is."""

    class Checked(ssl.SSLObject):
        def do_handshake(self) -> None:
            super().do_handshake()
            shown = self.getpeercert(binary_form=True)
            found = sha256(shown).hexdigest() if shown else ""
            if not found or found != digest:
                raise OtherCertificate(found)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # the check is ours
    context.sslobject_class = Checked
    return context
