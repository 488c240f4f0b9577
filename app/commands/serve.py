"""`slipstream serve`: the model for other programs, by the interfaces that they know. And `slipstream clients`."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Annotated

import typer

import engine
from app.commands.options import DrafterDeviceOption, DrafterOption, NoSpeculationOption, TargetOption
from app.commands.terminal import chosen_drafter, stopped_by_ctrl_c
from engine.values.config import AUTOMATIC, STARTER, EngineConfig, SpeculationSettings, TargetSettings, data_dir
from engine.values.errors import NotPossible
from engine.values.remote import is_reference
from engine.values.serving import Client

_GLANCE_S = 0.2  # between two looks for Ctrl+C
_REUSE = "Speed it up with text of your chats; by its speed it could find out what they say."

clients = typer.Typer(
    help="Programs that have a key of their own for the server, and what each of them may.", no_args_is_help=True
)


def serve(
    target: TargetOption = STARTER,
    port: Annotated[
        int | None, typer.Option("--port", "-p", min=0, max=65_535, help="Port to listen at; 0: any that is free.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen at. Any but this machine's own 127.0.0.1 needs a key.")
    ] = "127.0.0.1",
    needs_key: Annotated[
        bool, typer.Option("--needs-key", help="Let in no program without a key, on this machine either.")
    ] = False,
    remember: Annotated[
        bool,
        typer.Option("--remember", help="Keep what programs without a key ask as chats, and learn from it."),
    ] = False,
    names: Annotated[
        list[str] | None, typer.Option("--name", help="A name by which other machines call this one.")
    ] = None,
    origins: Annotated[
        list[str] | None, typer.Option("--origin", help="Let scripts of pages from this origin use the server.")
    ] = None,
    embeddings: Annotated[
        Path | None,
        typer.Option(help="A GGUF file of a model that makes embeddings, such as all-MiniLM, for /v1/embeddings."),
    ] = None,
    context_size: Annotated[int | None, typer.Option("--context", help="Tokens the model can see at once.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads to compute with.")] = None,
    gpu_layers: Annotated[int | None, typer.Option(help="Layers on the GPU, in a build that has one.")] = None,
    no_speculation: NoSpeculationOption = False,
    drafter: DrafterOption = AUTOMATIC,
    drafter_device: DrafterDeviceOption = None,
) -> None:
    """Answer other programs, until Ctrl+C. They find OpenAI's interface, and Anthropic's, on this machine alone.

    Example: slipstream serve --target starter --port 8642
    """
    if is_reference(target):
        raise NotPossible(f"{target} is on a server already; other programs ask that one, or choose a model here.")
    chosen = AUTOMATIC if no_speculation else chosen_drafter(drafter, data_dir())
    config = EngineConfig(data_dir(), SpeculationSettings(not no_speculation, chosen, drafter_device))
    usual = engine.ServerSettings()
    settings = engine.ServerSettings(
        host,
        usual.port if port is None else port,
        needs_key,
        remember,
        tuple(names or ()),
        tuple(origins or ()),
        None if embeddings is None else engine.checked_embedder(embeddings),
    )
    with stopped_by_ctrl_c() as stop, engine.serving(config, settings) as serving:
        loaded = serving.load(target, TargetSettings(context_size, threads, gpu_layers), stop)
        print(f"{loaded} answers at {serving.address}/v1", flush=True)
        if serving.needs_key:
            print("Every program needs a key; `slipstream clients add NAME` makes one.", file=sys.stderr)
        if engine.ANY_FILE in settings.origins:
            print("Every page that is opened from a file may use it, whoever wrote it.", file=sys.stderr)
        print("Ctrl+C ends this.", file=sys.stderr, flush=True)
        wait = threading.Event()
        while not stop.is_set():
            wait.wait(_GLANCE_S)  # in pieces, so that Ctrl+C is seen at once


@clients.command("list")
def list_clients(as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array.")] = False) -> None:
    """Programs that have a key."""
    known = engine.Clients(data_dir()).all()
    if as_json:
        print(json.dumps([_told(each) for each in known]))
        return
    for each in known:
        kept = "kept as chats and learned from" if each.is_remembered else "nothing is kept"
        print(f"{each.name}: {kept}{'; text of your chats speeds it up' if each.drafts_from_chats else ''}")
    if not known:
        print("No program has a key yet; `slipstream clients add NAME` makes one.", file=sys.stderr)


def _told(client: Client) -> dict[str, object]:
    return {
        "name": client.name,
        "is_remembered": client.is_remembered,
        "drafts_from_chats": client.drafts_from_chats,
    }


@clients.command("add")
def add_client(
    name: Annotated[str, typer.Argument(help="What you call the program.")],
    remember: Annotated[
        bool, typer.Option("--remember", help="Keep what it asks as chats, and learn from it.")
    ] = False,
    reuse: Annotated[bool, typer.Option("--reuse", help=_REUSE)] = False,
) -> None:
    """Make a key for a program. It is shown this once."""
    print(engine.Clients(data_dir()).add(name, remember, reuse))


@clients.command("change")
def change_client(
    name: Annotated[str, typer.Argument(help="As `slipstream clients list` shows it.")],
    remember: Annotated[
        bool | None, typer.Option("--remember/--no-remember", help="Keep what it asks as chats.")
    ] = None,
    reuse: Annotated[bool | None, typer.Option("--reuse/--no-reuse", help=_REUSE)] = None,
) -> None:
    """Allow a program more, or less."""
    engine.Clients(data_dir()).change(name, remember, reuse)


@clients.command("remove")
def remove_client(name: Annotated[str, typer.Argument(help="As `slipstream clients list` shows it.")]) -> None:
    """Take the key from a program."""
    engine.Clients(data_dir()).remove(name)
