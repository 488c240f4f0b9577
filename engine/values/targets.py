"""Targets in the library and on the hub, and the machine they run on."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path

from engine.values.config import TargetOptions, TargetSettings
from engine.values.quantizations import QuantizationSpeed, TuneReport
from engine.values.sentences import Told


class HeadMethod(StrEnum):
    """How a drafter that was made for one model guesses; the value is its name."""

    MTP = "MTP"  # layers that predict several tokens
    EAGLE3 = "EAGLE-3"
    DFLASH = "DFlash"
    DSPARK = "DSpark"


@dataclass(frozen=True, slots=True)
class LoadOrder:
    """Which target is to be loaded, and how.

    `target` is `starter`, the name of a target loaded before, a path, or the reference of a model on a server (see
    `engine/values/remote.py`), which is asked whether it is there; loading sends nothing of a chat."""

    target: str
    settings: TargetSettings = TargetSettings()  # override what the user set for this target, which overrides `for_all`
    anyway: bool = False  # even if it needs more memory than is available
    for_all: TargetSettings = TargetSettings()  # what the user set for all targets
    # That `target` and `settings` are meant for; empty: any. If the file is gone, another one with this identity is
    # loaded; if it has changed, `settings` are ignored
    identity: str = ""
    by_itself: bool = (
        False  # not requested by the user just now: a target that crashed the program last time is refused
    )


@dataclass(frozen=True, slots=True)
class TargetSource:
    """Where a target comes from and what it is, before it is loaded. For now it always comes from a file."""

    path: Path  # absolute, also where it was made from a relative one
    name: str
    size_bytes: int = 0  # of the file at `path`; of a model in parts, its first part
    identity: str = ""  # the same wherever the file is, and another one when it changes; empty: cannot be read
    trusted: bool = False  # ours, or loaded before and untouched since: needs no first look in a process of its own
    stamp: str = ""  # another one whenever the file is touched, see `model.files.identity`; empty: cannot be read

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", self.path.absolute())


@dataclass(frozen=True, slots=True)
class TargetRecord:
    """A model file of the library. Copies of a file have the same identity, last use and options."""

    name: str
    path: Path
    size_bytes: int
    last_used_at: datetime | None  # None: it was never loaded
    options: TargetOptions = TargetOptions()
    facts: str = ""  # the contents of its header, as the library encodes them; empty: not read yet
    identity: str = ""  # empty: not known yet
    loaded_stamp: str = ""  # of the file at `path`, as it was when it was last loaded; empty: never


@dataclass(frozen=True, slots=True)
class TargetDetails:
    """The contents of a model file's header. Empty or 0: not in it."""

    name: str
    architecture: str
    num_parameters: int
    quantization: str
    trained_context: int  # tokens
    vocabulary_size: int  # tokens
    vocabulary_kind: str  # as in `BPE (smollm)`
    has_chat_template: bool
    licence: str
    can_speculate: bool
    speculation: Told  # why it can or cannot be drafted for, in a sentence


@dataclass(frozen=True, slots=True)
class FamilyTemplate:
    """The chat template of a family of models, as it may be chosen for one of them."""

    name: str  # empty: the text alone, which the model goes on with
    source: str
    unknown_marks: tuple[str, ...] = ()  # that are no tokens of this model


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """The chat templates that a model file can be used with."""

    in_file: str  # its source; empty: there is none in the file
    usual: str  # the one that is used unless the user chooses
    family: str  # whose that is; empty where it is in the file, or is the text alone
    families: tuple[FamilyTemplate, ...]
    begin: str  # the texts of the model's first and last token; empty: it has none
    end: str


@dataclass(frozen=True, slots=True)
class LibraryTarget:
    """A target of the library, as the window lists it."""

    name: str
    path: Path
    size_bytes: int
    last_used_at: datetime | None  # None: never
    is_starter: bool
    details: TargetDetails | None  # None: the file cannot be read
    problem: Told  # why it cannot be loaded, in a sentence; empty if it can
    options: TargetOptions
    identity: str = ""  # as in `TargetSource`
    tuned: TuneReport | None = None  # what was measured of it here, with this build of llama.cpp
    starter_quantization: str = ""  # of the starter, where it is not used as it was installed: the form it is used in
    sees_pictures: bool = False  # a projector is next to it
    brings: HeadMethod | None = None  # how the drafter guesses that it brings along; None: it brings none
    unfit_drafter: Told = ""  # why the one beside it does not draft for it, in a sentence, where it brings no other
    head: HeadMethod | None = None  # it is nothing but such a drafter, and never loaded as a target

    @property
    def reference(self) -> str:
        """What `LoadOrder.target` takes for it."""
        return str(self.path)


class DeviceKind(StrEnum):
    GPU = "gpu"  # with memory of its own
    INTEGRATED = "integrated"  # it shares the machine's memory


@dataclass(frozen=True, slots=True)
class ComputeDevice:
    """A graphics card that llama.cpp can compute on."""

    name: str  # llama.cpp's own, as in `Vulkan0`
    description: str  # as its driver calls it
    backend: str  # what llama.cpp reaches it by: `CUDA`, `Vulkan`, `Metal` …
    kind: DeviceKind
    total_memory: int  # bytes
    free_memory: int  # bytes, at the time


@dataclass(frozen=True, slots=True)
class GpuSupport:
    """What llama.cpp can compute on besides the CPU."""

    backends: tuple[str, ...] = ()  # in this build; empty: for the CPU only
    devices: tuple[ComputeDevice, ...] = ()  # that it would use together; empty: none was found

    @property
    def description(self) -> str:
        return ", ".join(device.description for device in self.devices)


@dataclass(frozen=True, slots=True)
class GpuShare:
    """The part of a target that goes on graphics cards."""

    support: GpuSupport = GpuSupport()
    num_layers: int = 0  # in this part
    all_layers: int = 0  # of the target, with its output as one; 0: unknown
    num_bytes: int = 0  # of these layers, with their part of the context and the buffers of a pass
    room: int = 0  # bytes that are free there
    twice: int = 0  # of `num_bytes`, those that the machine holds as well


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes that a target needs."""

    weights: int
    context: int  # for the tokens of a conversation
    work: int  # buffers of a pass
    available: int  # free on this machine once the loaded target is closed
    gpu: GpuShare = GpuShare()
    drafter: int = 0  # all that the drafter needs that it brings along

    @property
    def total(self) -> int:
        return self.weights + self.context + self.work + self.drafter

    @property
    def on_machine(self) -> int:
        """Bytes in the machine's own memory."""
        return max(0, self.total - self.gpu.num_bytes + self.gpu.twice)

    @property
    def is_too_much(self) -> bool:
        """True if it does not fit into the machine, or onto its graphics cards."""
        return self.on_machine > self.available or self.gpu.num_bytes > self.gpu.room


@dataclass(frozen=True, slots=True)
class HubModel:
    """A repository of the hub that holds model files."""

    repository: str  # `owner/name`
    num_downloads: int
    num_likes: int
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class HubFile:
    """A model file of a repository. A model in several parts is listed by its first, with the size of all."""

    repository: str
    name: str
    size_bytes: int
    quantization: str  # from its name; empty if that has none
    num_parts: int = 1
    projector: str = field(default="", compare=False)  # the file with which it sees pictures; empty: none is known
    projector_bytes: int = field(default=0, compare=False)
    head: str = field(default="", compare=False)  # the file of a drafter made for it; empty: none is known
    head_bytes: int = field(default=0, compare=False)
    is_head: bool = field(default=False, compare=False)  # it is such a drafter itself

    @property
    def download_bytes(self) -> int:
        return self.size_bytes + self.projector_bytes + self.head_bytes

    @property
    def companions(self) -> tuple[HubFile, ...]:
        """The files that come along with it."""
        named = ((self.projector, self.projector_bytes), (self.head, self.head_bytes))
        return tuple(HubFile(self.repository, name, size, "") for name, size in named if name)


@dataclass(frozen=True, slots=True)
class Added:
    """What came of adding files to the library."""

    targets: tuple[LibraryTarget, ...]  # that are new there
    left_out: tuple[Told, ...]  # a sentence for each file that could not be added


@dataclass(frozen=True, slots=True)
class Downloading:
    """How far the download of a model or a drafter has come, earlier downloads included."""

    num_bytes: int
    total_bytes: int
    bytes_per_s: float = 0.0  # 0: not known yet


@dataclass(frozen=True, slots=True)
class Downloaded:
    """A model that is complete, verified, and in the library."""

    path: Path
    problem: Told = ""  # what did not come along with it, or why it is no model itself, in a sentence


@dataclass(frozen=True, slots=True)
class HubFiles:
    """The model files of a repository."""

    files: tuple[HubFile, ...]  # smallest first
    speeds: tuple[
        QuantizationSpeed, ...
    ] = ()  # of their quantizations on this machine, fastest first; those measured here


class Purpose(StrEnum):
    """What a suggested model is best at."""

    CHAT = "chat"
    LANGUAGES = "languages"
    SMALL = "small"
    REASONING = "reasoning"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A model on the hub that the app itself lists, as public catalogues showed it."""

    name: str  # for people
    purpose: Purpose
    file: HubFile
    licence: str
    read_share: float  # of the file that a pass over one token reads: less than 1 for a mixture of experts
    seen_in: tuple[str, ...]  # addresses of those catalogues
    seen_on: date
    tokens_per_s: float = 0.0  # expected on this machine, without drafts; 0: nothing was measured here


@dataclass(frozen=True, slots=True)
class Runtime:
    """The build of llama.cpp that runs the models."""

    build: str
    features: tuple[str, ...]  # of the processor or GPU in use, as llama.cpp names them

    @property
    def key(self) -> str:
        """The key under which measurements are stored: another build, or another kind of processor, has another
        speed."""
        return " ".join((self.build, *self.features))


@dataclass(frozen=True, slots=True)
class Release:
    """A published version of Slipstream."""

    version: str
    page: str  # address of its page
