"""A sentence encoder of the BERT family with random weights, small enough to be made in a test."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np

WORDS = "[PAD] [UNK] [CLS] [SEP] the oil price falls rises team wins game in a new phone market goal year world".split()
DIM, INNER, POSITIONS, LAYERS = 16, 40, 24, 2


def write_encoder(directory: Path, seed: int = 5) -> Path:
    """Writes ``config.json``, ``tokenizer.json`` and ``model.safetensors``."""
    directory.mkdir()
    config = {
        "model_type": "bert", "vocab_size": len(WORDS), "hidden_size": DIM, "num_attention_heads": 2,
        "num_hidden_layers": LAYERS, "intermediate_size": INNER, "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-5, "pad_token_id": 0,
    }
    (directory / "config.json").write_text(json.dumps(config))
    (directory / "tokenizer.json").write_text(json.dumps(tokenizer()))
    (directory / "model.safetensors").write_bytes(safetensors(weights(seed)))
    return directory


def weights(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    found: dict[str, np.ndarray] = {}

    def add(name: str, *shape: int, centre: float = 0.0, spread: float = 0.5) -> None:
        found[name] = (centre + spread * rng.uniform(-1, 1, shape)).astype("<f4")

    def norm(name: str) -> None:
        add(f"{name}.weight", DIM, centre=1.0, spread=0.3)
        add(f"{name}.bias", DIM, spread=0.3)

    add("embeddings.word_embeddings.weight", len(WORDS), DIM, spread=1.0)
    add("embeddings.position_embeddings.weight", POSITIONS, DIM)
    add("embeddings.token_type_embeddings.weight", 2, DIM)
    norm("embeddings.LayerNorm")
    for layer in range(LAYERS):
        stem = f"encoder.layer.{layer}"
        sizes = {part: (DIM, DIM) for part in ("self.query", "self.key", "self.value", "output.dense")}
        dense = {f"attention.{part}": size for part, size in sizes.items()}
        dense |= {"intermediate.dense": (INNER, DIM), "output.dense": (DIM, INNER)}
        for part, (outputs, inputs) in dense.items():
            add(f"{stem}.{part}.weight", outputs, inputs, spread=0.6)
            add(f"{stem}.{part}.bias", outputs, spread=0.3)
        norm(f"{stem}.attention.output.LayerNorm")
        norm(f"{stem}.output.LayerNorm")
    return found


def safetensors(tensors: dict[str, np.ndarray]) -> bytes:
    """A length, a header of types, shapes and places, and the numbers."""
    header, data = {}, b""
    for name, values in tensors.items():
        place = [len(data), len(data) + values.nbytes]
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": place}
        data += values.tobytes()
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tokenizer() -> dict[str, object]:
    """Words split at white space, with [CLS] before and [SEP] after them."""

    def special(word: str) -> dict[str, object]:
        return {"id": word, "ids": [WORDS.index(word)], "tokens": [word]}

    first, last = ({"SpecialToken": {"id": word, "type_id": 0}} for word in ("[CLS]", "[SEP]"))
    text = {"Sequence": {"id": "A", "type_id": 0}}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [first, text, last],
            "pair": [text, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {word: special(word) for word in ("[CLS]", "[SEP]")},
        },
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {word: i for i, word in enumerate(WORDS)}, "unk_token": "[UNK]"},
    }
