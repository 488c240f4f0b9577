"""The command line. Without a command it opens the app; everything slow is imported by the command that needs it."""

from __future__ import annotations

import errno
import io
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from app.startup.open_request import OpenRequest, is_there
from engine.config import (
    STARTER,
    DistillSettings,
    EngineConfig,
    ReplySettings,
    SamplingSettings,
    SpeculationSettings,
    TargetSettings,
    data_dir,
)
from engine.errors import MendableError

_DEFAULTS = SamplingSettings()


class _CommandsOrFiles(TyperGroup):
    """`slipstream FILE…` is `slipstream open FILE…`: desktops start programs like that."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        file = Path(args[0])
        if args[0] not in self.commands and (is_there(file) or file.name != args[0] or file.suffix):
            args = ["open", *args]
        return super().resolve_command(ctx, args)


application = typer.Typer(
    cls=_CommandsOrFiles,
    help="Chat with language models on your own machine. Without a command, the app opens, and with files as well: "
    "`slipstream FILE…`.",
    epilog="Everything stays on this machine, in the folder SLIPSTREAM_DATA_DIR names or the platform's own for data.",
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
models = typer.Typer(help="The models you can use as a target.", no_args_is_help=True)
application.add_typer(models, name="models")
profile = typer.Typer(help="What was learned from your chats, and how to take it along.", no_args_is_help=True)
application.add_typer(profile, name="profile")

TargetOption = Annotated[
    str, typer.Option("--target", "-t", help="`starter`, the name of a model used before, or the path of a GGUF file.")
]
DrafterOption = Annotated[
    str,
    typer.Option(
        help="Who guesses ahead: `built-in`, a folder, or a name on the Hugging Face hub such as JackFram/llama-68m, "
        "which is downloaded once."
    ),
]
DrafterDeviceOption = Annotated[
    str | None, typer.Option(help="Where the drafter computes: cpu, cuda or mps; the quickest there is if left out.")
]
# Of `bench` and `replay`:
MeasuredTargetOption = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        help="`starter`, a name, a GGUF file, or `trace:VOCAB.gguf` to replay recorded replies in a vocabulary.",
    ),
]
DraftLengthOption = Annotated[
    int | None, typer.Option(help="Of the mode neural: tokens of every draft; what pays best if left out.")
]
ProfileOption = Annotated[
    Path | None,
    typer.Option("--profile", metavar="P.slipstream", help="Begin with what this file holds; else with nothing."),
]
LengthOption = Annotated[int, typer.Option(min=1, help="Length of a reply at most.")]
TemperatureOption = Annotated[float, typer.Option(help="0 is greedy.")]
SeedOption = Annotated[int, typer.Option(min=0, help="The same seed gives the same plain replies.")]
ReportOption = Annotated[Path | None, typer.Option("--json", metavar="OUT", help="Write all figures into this file.")]
DrafterCostOption = Annotated[
    float, typer.Option(help="Of recorded replies: cost of a drafter step, as a share of a one-row pass.")
]
PassCostsOption = Annotated[
    str, typer.Option(help="Of recorded replies: costs of passes over 1, 2, … rows; the last stands for the rest.")
]
NoSpeculationOption = Annotated[
    bool, typer.Option("--no-speculation", help="Let nothing draft ahead of the model: plain decoding.")
]


def main() -> None:
    """Entry point. What a user can mend ends with one sentence and exit code 2, never with a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no emoji shows question marks
    try:
        application()
    except MendableError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC):
            raise
        os._exit(1)  # nobody reads any more, or there is no room; leaving in the usual way would try to write again


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"slipstream {version('slipstream')}")
        raise typer.Exit


@application.callback(invoke_without_command=True)
def window(
    context: typer.Context,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="Open with this model: `starter`, a name, or a GGUF file.")
    ] = None,
    smoke: Annotated[
        Path | None,
        typer.Option(
            "--smoke", metavar="OUT.png", help="Open the window, answer one prompt, save a picture of it, and quit."
        ),
    ] = None,
    no_speculation: NoSpeculationOption = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and quit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        from app.application import run

        raise typer.Exit(run(target, smoke, SpeculationSettings(enabled=not no_speculation)))


@application.command("open")
def open_files(
    context: typer.Context,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="A model, a profile, exported chats, or texts to attach.")
    ],
) -> None:
    """Open files in the app, as dropping them on its window does. `slipstream FILE…` does the same.

    Example: slipstream open ~/models/tiny.gguf
    """
    from app.application import run

    asked = OpenRequest.of(files)
    options = context.parent.params if context.parent is not None else {}
    speculation = SpeculationSettings(enabled=not options.get("no_speculation", False))
    raise typer.Exit(run(options.get("target"), None, speculation, asked))


@application.command()
def chat(
    prompt: Annotated[
        str | None, typer.Option("--prompt", "-p", help="What to say. Left out, or `-`: read from standard input.")
    ] = None,
    target: TargetOption = STARTER,
    system: Annotated[str, typer.Option("--system", help="System prompt.")] = "",
    temperature: Annotated[float, typer.Option(help="0 is greedy.")] = _DEFAULTS.temperature,
    top_k: Annotated[int, typer.Option(help="0 switches it off.")] = _DEFAULTS.top_k,
    top_p: Annotated[float, typer.Option(help="1 switches it off.")] = _DEFAULTS.top_p,
    min_p: Annotated[float, typer.Option(help="0 switches it off.")] = _DEFAULTS.min_p,
    repetition_penalty: Annotated[float, typer.Option(help="1 switches it off.")] = _DEFAULTS.repetition_penalty,
    presence_penalty: Annotated[float, typer.Option(help="0 switches it off.")] = _DEFAULTS.presence_penalty,
    frequency_penalty: Annotated[float, typer.Option(help="0 switches it off.")] = _DEFAULTS.frequency_penalty,
    seed: Annotated[int | None, typer.Option(help="With --no-speculation, the same seed gives the same reply.")] = None,
    max_tokens: Annotated[int, typer.Option(min=0, help="Length of the reply at most; 0 = no limit.")] = 1024,
    stop: Annotated[
        list[str] | None, typer.Option(help="End the reply before this text; may be given several times.")
    ] = None,
    context_size: Annotated[int | None, typer.Option("--context", help="Tokens the model can see at once.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads to compute with.")] = None,
    gpu_layers: Annotated[int | None, typer.Option(help="Layers on the GPU, in a build that has one.")] = None,
    no_speculation: NoSpeculationOption = False,
    drafter: DrafterOption = "built-in",
    drafter_device: DrafterDeviceOption = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object with the text, counts and times.")
    ] = False,
) -> None:
    """Answer one prompt in the terminal. Ctrl+C stops the reply.

    Example: slipstream chat --target starter --prompt "Write a haiku about the sea."
    """
    from app.commands.chat import answer
    from app.commands.drafter_option import chosen_drafter

    if prompt is None and sys.stdin.isatty():
        print("Write the prompt; Ctrl+D ends it.", file=sys.stderr)
    text = prompt if prompt is not None and prompt != "-" else sys.stdin.read()
    if not text.strip():
        raise typer.BadParameter("There is no prompt; say something with --prompt, or through standard input.")
    sampling = SamplingSettings(
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        repetition_penalty=repetition_penalty,
        presence_penalty=presence_penalty,
        frequency_penalty=frequency_penalty,
        seed=seed,
    )
    folder = None if no_speculation else chosen_drafter(drafter, data_dir())
    answer(
        EngineConfig(data_dir(), SpeculationSettings(not no_speculation, folder, drafter_device)),
        target,
        TargetSettings(context_size, threads, gpu_layers),
        ReplySettings(sampling, max_tokens or None, tuple(stop or ())),
        system,
        text,
        as_json=json,
    )


@application.command()
def bench(
    prompts: Annotated[
        Path, typer.Option("--prompts", metavar="F.jsonl", help="Lines of {id, turns}, or of {id, prompt, response}.")
    ],
    target: MeasuredTargetOption = STARTER,
    limit: Annotated[int | None, typer.Option(help="Ask only the first so many prompts.")] = None,
    modes: Annotated[
        str,
        typer.Option(
            help="Ways of decoding: plain; auto, as the app does; neural, drafting in every round; recall alone."
        ),
    ] = "plain,auto",
    profile_file: ProfileOption = None,
    draft_length: DraftLengthOption = None,
    max_tokens: LengthOption = 128,
    temperature: TemperatureOption = 0.0,
    seed: SeedOption = 0,
    json: ReportOption = None,
    drafter: DrafterOption = "built-in",
    drafter_device: DrafterDeviceOption = None,
    merge: Annotated[
        str, typer.Option(help="on, or off: draft only tokens that are equal in both vocabularies.")
    ] = "on",
    drafter_cost: DrafterCostOption = 0.075,
    pass_costs: PassCostsOption = "1",
) -> None:
    """Measure how fast a model writes, prompt by prompt, in several ways of decoding.

    Example: slipstream bench --target starter --prompts prompts.jsonl --limit 20 --modes plain,auto
    """
    from app.commands.bench import bench as measure
    from app.commands.drafter_option import chosen_drafter
    from engine import BenchOrder, SimulatedCosts

    if merge not in ("on", "off"):
        raise typer.BadParameter("Merging is either on or off.", param_hint="--merge")
    order = BenchOrder(
        target=target,
        prompts=prompts,
        limit=limit,
        modes=tuple(mode.strip() for mode in modes.split(",")),
        max_tokens=max_tokens,
        temperature=temperature,
        seed=seed,
        draft_length=draft_length,
        profile=profile_file,
        costs=SimulatedCosts.parse(drafter_cost, pass_costs),
        speculation=SpeculationSettings(
            drafter=chosen_drafter(drafter, data_dir()), device=drafter_device, merge=merge == "on"
        ),
    )
    measure(EngineConfig(data_dir(), order.speculation), order, json)


@application.command()
def replay(
    prompts: Annotated[
        Path, typer.Option("--prompts", metavar="F.jsonl", help="A user's chats, in order: lines as of `bench`.")
    ],
    target: MeasuredTargetOption = STARTER,
    limit: Annotated[int | None, typer.Option(help="Play only the first so many chats.")] = None,
    window: Annotated[int, typer.Option(help="Replies of a window, whose figures are told apart.")] = 25,
    mode: Annotated[
        str, typer.Option(help="auto, as the app does; neural, drafting in every round; or recall alone.")
    ] = "auto",
    shift: Annotated[
        Path | None, typer.Option("--shift", metavar="F2.jsonl", help="Then go on with these, of another kind.")
    ] = None,
    profile_file: ProfileOption = None,
    draft_length: DraftLengthOption = None,
    max_tokens: LengthOption = 128,
    temperature: TemperatureOption = 0.0,
    seed: SeedOption = 0,
    learning: Annotated[
        bool, typer.Option(help="Remember a chat in those after it, and teach the drafter; without, as a control.")
    ] = True,
    json: ReportOption = None,
    drafter: DrafterOption = "built-in",
    drafter_cost: DrafterCostOption = 0.075,
    pass_costs: PassCostsOption = "1",
) -> None:
    """Play a user's chats in order, learning as it goes, and show how the figures change. Nothing of it is kept.

    Example: slipstream replay --target starter --prompts chats.jsonl --window 20
    """
    from app.commands.bench import bench as measure
    from app.commands.drafter_option import chosen_drafter
    from engine import BenchOrder, SimulatedCosts

    order = BenchOrder(
        target=target,
        prompts=prompts,
        limit=limit,
        modes=("plain", mode),
        profile=profile_file,
        shift=shift,
        draft_length=draft_length,
        max_tokens=max_tokens,
        temperature=temperature,
        seed=seed,
        costs=SimulatedCosts.parse(drafter_cost, pass_costs),
        speculation=SpeculationSettings(drafter=chosen_drafter(drafter, data_dir())),
        learns=learning,
        window=window,
    )
    measure(EngineConfig(data_dir(), order.speculation), order, json)


@application.command("distill")
def make_drafter(
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the drafter is to be; made anew.")],
    target: TargetOption = STARTER,
    corpus: Annotated[
        list[Path] | None,
        typer.Option(
            "--corpus",
            metavar="F.jsonl",
            help="File or folder of conversations that the model wrote; may be repeated. Left out, it writes its own.",
        ),
    ] = None,
    conversations: Annotated[int, typer.Option(help="How many it writes where none are given.")] = 2000,
    held_back: Annotated[
        list[Path] | None,
        typer.Option("--held-back", metavar="F.jsonl", help="Others like them, to judge by; else a twentieth of them."),
    ] = None,
    trace: Annotated[
        list[str] | None,
        typer.Option(
            "--trace", metavar="VOCAB.gguf=F.jsonl", help="Recorded replies of another model, to judge by as well."
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(help="Train this drafter on (`built-in` or a folder); with --layers only its weights are used."),
    ] = None,
    layers: Annotated[
        str | None, typer.Option(help="Layers of the model that the drafter keeps, as 0,29; else the first and last.")
    ] = None,
    vocabulary: Annotated[int, typer.Option(help="Tokens that the drafter reads.")] = 32_768,
    outputs: Annotated[int, typer.Option(help="Of these, the most frequent ones, which it can guess.")] = 8192,
    feed_forward: Annotated[int | None, typer.Option(help="Neurons of a layer; else as many as the model has.")] = None,
    minutes: Annotated[float, typer.Option(help="Minutes of training.")] = 60,
    judge_every: Annotated[float, typer.Option(help="Minutes of training from one judgement to the next.")] = 15,
    learning_rate: Annotated[
        float, typer.Option(help="The highest; it rises at the start and falls to the end.")
    ] = 1.5e-3,
    seed: Annotated[int, typer.Option(help="For what is written and the order of training.")] = 0,
    labels: Annotated[
        bool, typer.Option(help="Let the model read given conversations again, to learn from all it thought of.")
    ] = True,
    licence: Annotated[
        str | None, typer.Option(help="Of the drafter, for its card; that of the model, as a rule.")
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where what is needed to go on is kept; else beside the drafter."),
    ] = None,
) -> None:
    """Make a drafter for a model: let it write conversations, cut a small model out of it, and train that on them.

    It can be stopped or killed at any time; the same command goes on where it was.

    Example: slipstream distill --target starter --out my-drafter
    """
    from app.commands.distill import make
    from app.commands.drafter_option import chosen_start

    settings = DistillSettings(
        target=target,
        corpus=tuple(corpus or ()),
        held_back=tuple(held_back or ()),
        traces=tuple(_trace(each) for each in trace or ()),
        conversations=conversations,
        labels=labels,
        start=None if start is None else chosen_start(start, data_dir()),
        layers=None if layers is None else _layers(layers),
        vocabulary_size=vocabulary,
        num_outputs=outputs,
        feed_forward=feed_forward,
        minutes=minutes,
        judge_every_minutes=judge_every,
        learning_rate=learning_rate,
        seed=seed,
        licence=licence,
        work=work,
    )
    make(EngineConfig(data_dir()), settings, out)


@models.command("list")
def list_models() -> None:
    """Show the models of the library, and downloads that wait to go on."""
    from app.commands.models import show

    show(EngineConfig(data_dir()))


@models.command("add")
def add_models(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="GGUF files, or folders with some in them.")],
) -> None:
    """Add model files to the library. They stay where they are.

    Example: slipstream models add ~/models
    """
    from app.commands.models import add

    add(EngineConfig(data_dir()), paths)


@models.command("download")
def download_model(
    repository: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="A model on the Hugging Face hub.")],
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE|QUANT]", help="One of its files, or a quantization such as Q4_K_M."),
    ] = None,
) -> None:
    """Download a model from the Hugging Face hub and add it to the library. Without a file, show what there is.

    Ctrl+C pauses the download; the same command goes on.

    Example: slipstream models download bartowski/Llama-3.2-1B-Instruct-GGUF Q4_K_M
    """
    from app.commands.models import download

    download(EngineConfig(data_dir()), repository, file)


@models.command("remove")
def remove_model(
    name: Annotated[str, typer.Argument(help="Of a model in the library, or the path of its file.")],
    delete_file: Annotated[bool, typer.Option("--delete-file", help="Delete the file too, for good.")] = False,
) -> None:
    """Take a model out of the library. Its file stays, unless you say otherwise."""
    from app.commands.models import remove

    remove(EngineConfig(data_dir()), name, delete_file)


@profile.command("show")
def show_profile(
    file: Annotated[Path | None, typer.Argument(help="A profile to look into; else what is learned here.")] = None,
) -> None:
    """Show what is learned for each model, or what a profile holds."""
    from app.commands.profile import show

    show(EngineConfig(data_dir()), file)


@profile.command("export")
def export_profile(
    file: Annotated[Path, typer.Argument(help="Where to write it, as me.slipstream.")],
    with_recall: Annotated[
        bool, typer.Option("--with-recall", help="With texts to recall, which hold what you typed.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write what was learned into one file, to take it along or to keep it safe. Your chats are not in it."""
    from app.commands.profile import export

    export(EngineConfig(data_dir()), file, with_recall, force)


@profile.command("import")
def import_profile(
    file: Annotated[Path, typer.Argument(help="A profile that was exported.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Forget what n-grams and adapters there are first; else they are joined.")
    ] = False,
) -> None:
    """Take in what a profile holds: all of it, or nothing unless all of it is in order."""
    from app.commands.profile import take_in

    take_in(EngineConfig(data_dir()), file, replace)


@profile.command("use")
def use_adapter(
    number: Annotated[int, typer.Argument(help="Of an adapter that `profile show` lists; 0: none, for all models.")],
) -> None:
    """Go back to an earlier state of what a drafter learned, or forth again. It holds when a model is loaded next."""
    from app.commands.profile import use

    use(EngineConfig(data_dir()), number)


@profile.command("reset")
def reset_profile(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask first.")] = False,
) -> None:
    """Forget for good what was learned: n-grams, adapters, lessons and recall. Your chats stay."""
    from app.commands.profile import reset

    reset(EngineConfig(data_dir()), yes)


def _layers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(layer) for layer in text.split(","))
    except ValueError:
        raise typer.BadParameter("Layers are numbers with commas between them.", param_hint="--layers") from None


def _trace(text: str) -> tuple[Path, Path]:
    vocabulary, found, replies = text.partition("=")
    if not found:
        raise typer.BadParameter("Write it as VOCABULARY.gguf=REPLIES.jsonl.", param_hint="--trace")
    return Path(vocabulary), Path(replies)


if __name__ == "__main__":
    main()
