"""What learning takes of the memory stays bounded, however large the drafter: measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFWriter, TokenType

_LAYERS, _HIDDEN, _KEYS, _INNER, _VOCABULARY = 24, 896, 128, 4864, 151_936  # of Qwen 2.5 0.5B, with 494 million weights
_BOUND_MB = 900  # over idle; the copy of all weights alone would take 990, torch takes 200
_LEARN = """
import sys
from pathlib import Path
import numpy as np
from engine.speculation.drafter.gguf_shape import read_gguf_model
from engine.values.memory import settle_memory

def most_mb():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024

settle_memory()
model = read_gguf_model(Path(sys.argv[1]))
assert model.num_weights > 490e6
idle = most_mb()
from engine.speculation.drafter.gguf_weights import stored_weights
from engine.speculation.learning.samples import LabelTable, Sample
from engine.speculation.learning.training import Example, Training, TrainingSettings
num_tokens, start = 64, 32
rows = np.full(num_tokens, -1, np.int32)
sample = Sample(np.arange(num_tokens, dtype=np.int32), np.ones(num_tokens, np.float32), rows, start)
training = Training(model.shape, stored_weights(model), TrainingSettings(batch=1))
training.read(Example(1, sample, LabelTable.of((), 1)), lambda: None)
print(most_mb() - idle)
"""


def large_file(path: Path) -> Path:
    """A drafter whose weights are zeros that take no room on the disk."""
    writer = GGUFWriter(path, "qwen2")
    writer.add_context_length(4096)
    writer.add_block_count(_LAYERS)
    writer.add_embedding_length(_HIDDEN)
    writer.add_feed_forward_length(_INNER)
    writer.add_head_count(14)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_token_types([TokenType.NORMAL])

    def add(name: str, *shape: int) -> int:
        is_vector = len(shape) == 1
        kind = GGMLQuantizationType.F32 if is_vector else GGMLQuantizationType.Q8_0
        size = 4 * shape[0] if is_vector else shape[0] * shape[1] // 32 * 34
        writer.add_tensor_info(name, shape, np.dtype(np.float32), size, raw_dtype=kind)
        return -(-size // 32) * 32

    total = add("token_embd.weight", _VOCABULARY, _HIDDEN) + add("output_norm.weight", _HIDDEN)
    for number in range(_LAYERS):
        layer = f"blk.{number}."
        total += sum(add(f"{layer}{norm}_norm.weight", _HIDDEN) for norm in ("attn", "ffn"))
        for part, outputs in (("q", _HIDDEN), ("k", _KEYS), ("v", _KEYS)):
            total += add(f"{layer}attn_{part}.weight", outputs, _HIDDEN) + add(f"{layer}attn_{part}.bias", outputs)
        total += add(f"{layer}attn_output.weight", _HIDDEN, _HIDDEN)
        total += sum(add(f"{layer}ffn_{part}.weight", _INNER, _HIDDEN) for part in ("gate", "up"))
        total += add(f"{layer}ffn_down.weight", _HIDDEN, _INNER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + 32 + total)
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the most memory that a process ever held")
def test_a_drafter_of_500_million_weights_is_not_copied_as_a_whole(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _LEARN, str(large_file(tmp_path / "large.gguf"))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 300 < float(done.stdout) < _BOUND_MB
