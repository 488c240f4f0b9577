"""A drafter that is opened to be written again: its weights in memory, and what they belong to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.speculation.drafter.choice import (
    built_in_source,
    file_drafter,
    folder_source,
    is_fetched,
    starter_drafter,
    starter_in_torch,
)
from engine.speculation.drafter.gguf_shape import GgufModel, read_gguf_model
from engine.speculation.drafter.shape import PLAIN, LlamaShape
from engine.speculation.model.llama.vocabulary import load_vocabulary
from engine.values.drafters import DrafterRunner, DrafterSource
from engine.values.errors import DrafterUnusable, TargetMissing
from engine.values.targets import TargetRecord

if TYPE_CHECKING:
    from engine.speculation.drafter.merged import MergedDrafter
    from engine.speculation.drafter.model import LlamaWeights


@dataclass(frozen=True, slots=True)
class OpenedDrafter:
    source: DrafterSource
    path: Path  # the folder or the file that was read
    gguf: GgufModel | None  # where that is a file
    shape: LlamaShape
    weights: LlamaWeights
    pieces: Sequence[bytes]  # its tokens, empty for special ones
    fingerprint: str  # by which its snapshots are stored
    encode: Callable[[str], list[int]]

    def read_adapter(self, data: bytes) -> Any:
        """Raises AdapterUnusable."""
        from engine.speculation.drafter.adapter import Adapter

        return Adapter.from_bytes(data, self.shape)

    def merged(self, adapter: Any, num_tokens: int, samples: Sequence[Sequence[int]]) -> MergedDrafter:
        """`samples`: of texts, in its tokens."""
        from engine.speculation.drafter.merged import MergedDrafter

        return MergedDrafter(self.source.name, self.shape, self.weights, adapter, num_tokens, samples)


def candidates(data_dir: Path, library: Sequence[TargetRecord]) -> Iterator[DrafterSource]:
    """Drafters on this computer that may have learned something."""
    try:
        yield starter_drafter()
        yield starter_in_torch()
    except TargetMissing:  # an installation without it
        pass
    for record in library:
        if record.path.is_file():
            yield file_drafter(record.path, (record,))
    yield built_in_source()
    for folder in sorted((data_dir / "drafters").glob("*")):
        if is_fetched(folder) and not folder.name.startswith("from-gguf-"):
            yield folder_source(folder)


def open_drafter(source: DrafterSource, data_dir: Path) -> OpenedDrafter:
    """Raises DrafterUnusable, TargetMissing and TargetUnusable."""
    if source.runner is DrafterRunner.HEADS:
        raise DrafterUnusable(
            "{name} are heads, which only Slipstream can run; use --drafter to name a drafter that is a model.",
            name=source.name,
        )
    if source.runner is DrafterRunner.LLAMA_CPP:
        return _open_file(source)
    path = source.path
    if path.is_file():
        from engine.speculation.drafter.from_gguf import torch_folder

        path = torch_folder(path, data_dir)
    return _open_folder(source, path)


def _open_folder(source: DrafterSource, folder: Path) -> OpenedDrafter:
    from engine.speculation.drafter.checkpoint import load_drafter
    from engine.speculation.drafter.config_file import read_config, shape_of
    from engine.speculation.drafter.matrices import WeightForm
    from engine.speculation.drafter.merged import check_memory
    from engine.speculation.drafter.tokenizer import DrafterTokenizer
    from engine.speculation.drafter.tokenizer_apart import TokenizerApart

    check_memory(source.name, shape_of(read_config(folder), folder.name))
    read = DrafterTokenizer.from_folder if source.trusted else TokenizerApart
    loaded = load_drafter(folder, "cpu", form=WeightForm.DENSE, read_tokenizer=read)
    tokenizer, model = loaded.tokenizer, loaded.model

    def encode(text: str) -> list[int]:
        return tokenizer.encode(text.encode()) or [0]

    return OpenedDrafter(source, folder, None, model.shape, model.weights, tokenizer.pieces, loaded.fingerprint, encode)


def _open_file(source: DrafterSource) -> OpenedDrafter:
    from engine.speculation.drafter.gguf_weights import dense_weights
    from engine.speculation.drafter.merged import check_memory

    model = read_gguf_model(source.path)
    if model.shape.variant != PLAIN:
        raise DrafterUnusable(
            "{name} is a model of type “{kind}”; only drafters of the Llama type can be exported.",
            name=source.name,
            kind=model.architecture,
        )
    check_memory(source.name, model.shape)
    with closing(load_vocabulary(source.path)) as words:
        vocabulary = words.vocabulary
    silent = vocabulary.special | vocabulary.end_of_generation
    pieces = tuple(b"" if token in silent else piece for token, piece in enumerate(vocabulary.pieces))
    try:
        weights = dense_weights(model)
    except OSError as error:
        raise DrafterUnusable(
            "{path} cannot be read ({reason}); choose another drafter.", path=source.path, reason=error.strerror
        ) from error

    def encode(text: str) -> list[int]:
        with closing(load_vocabulary(source.path)) as words:
            return words.tokenize(text)

    return OpenedDrafter(source, source.path, model, model.shape, weights, pieces, source.key, encode)
