"""`slipstream servers`: servers with targets, and the consent to send a prompt there."""

from __future__ import annotations

import getpass
import json
import sys
from dataclasses import replace
from typing import Annotated

import typer

import engine
from app.commands.terminal import stopped_by_ctrl_c
from engine.values.config import EngineConfig, data_dir
from engine.values.errors import CertificateUntrusted, NotPossible

servers = typer.Typer(
    help="Servers whose models you can use as a target: llama-server, vLLM, SGLang, LM Studio, Ollama, another "
    "Slipstream, and others with OpenAI's interface.",
    no_args_is_help=True,
)


@servers.command("list")
def list_servers(as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array.")] = False) -> None:
    """Lists the servers with their models as last seen, without asking them."""
    known = engine.open_servers(EngineConfig(data_dir())).all()
    if as_json:
        told = [
            {
                "name": each.name,
                "address": each.address,
                "kind": each.kind.value,
                "has_key": each.has_key,
                "is_agreed": each.is_agreed,
                "models": [model.reference for model in each.models],
            }
            for each in known
        ]
        print(json.dumps(told))
        return
    for each in known:
        print(f"{each.name}: {each.address} ({each.kind.value}{', with a key' if each.has_key else ''})")
        for model in each.models:
            print(f"  {model.reference}")
    if not known:
        print("No server was added yet; `slipstream servers add ADDRESS` does.", file=sys.stderr)


@servers.command("add")
def add_server(
    address: Annotated[str, typer.Argument(help="As in: http://192.168.1.5:8080/v1")],
    name: Annotated[str, typer.Option(help="What you call it; its address if left out.")] = "",
    with_key: Annotated[
        bool,
        typer.Option(
            "--key",
            help="Ask for its key, or read it from SLIPSTREAM_SERVER_KEY. It goes to the keyring of the system.",
        ),
    ] = False,
    trust: Annotated[
        str, typer.Option(metavar="SHA256", help="Trust this certificate, although no authority vouches for it.")
    ] = "",
) -> None:
    """Look at a server, and keep it in the list; one with this address is looked at again, with what is kept for it.

    Example: slipstream servers add http://127.0.0.1:8080
    """
    known = engine.open_servers(EngineConfig(data_dir()))
    key = engine.key_of_environment()
    if with_key and not key:
        key = getpass.getpass("Key: ", sys.stderr).strip()
    new_key = (key or None) if with_key else None
    certificate = trust.replace(":", "").lower()
    before = known.of(address)
    if before is not None:
        kept = known.connection(before.address)
        key, certificate = key or kept.key, certificate or kept.certificate
    with stopped_by_ctrl_c() as stop:
        try:
            seen, notice = engine.look_at_server(address, key, certificate, stop)
        except CertificateUntrusted:
            shown = engine.certificate_of(address, stop)
            print(f"The SHA-256 of its certificate is {shown}", file=sys.stderr)
            print("If that is the one you know, add the server with --trust and these digits.", file=sys.stderr)
            raise
    before = known.of(seen.address)
    saved = known.save(replace(seen, name=name or (before.name if before is not None else seen.name)), new_key)
    if notice:
        print(notice, file=sys.stderr)
    if new_key and known.keys.notice:
        print(known.keys.notice, file=sys.stderr)
    print(f"{saved.name}: {saved.address} ({saved.kind.value})")
    for model in saved.models:
        print(f"  {model.reference}")


@servers.command("remove")
def remove_server(server: Annotated[str, typer.Argument(metavar="NAME|ADDRESS")]) -> None:
    """Take a server out of the list, and its key out of the keyring."""
    known = engine.open_servers(EngineConfig(data_dir()))
    for each in known.all():
        if server in (each.name, each.address):
            known.remove(each.address)
            return
    raise NotPossible(f"There is no server {server} in the list; `slipstream servers list` shows all.")


def agrees_at_terminal(sentence: str) -> bool:
    """Asks the person at the terminal."""
    if not sys.stdin.isatty():
        print(f"{sentence} Nobody can be asked; --yes-to-server agrees.", file=sys.stderr)
        return False
    print(f"{sentence}\nSend it? [y]es, [n]o: ", file=sys.stderr, end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
