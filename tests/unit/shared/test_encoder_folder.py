"""Reading an encoder folder."""

import json
from pathlib import Path

import pytest

from prefdex_shared.encoder import Encoder, HashingEncoder, OnnxEncoder, open_encoder, read_spec
from prefdex_shared.encoder.folder import EncoderSpec, GoldenSentence, verify_files
from prefdex_shared.errors import ConfigurationError, FormatError, NewerFormatError

SPEC = EncoderSpec(
    2,
    "mean",
    32,
    "fp32",
    "model",
    {"model.onnx": "0" * 64, "tokenizer.json": "1" * 64},
    (GoldenSentence("a", (0.6, 0.8)),),
)


def _write(folder: Path, **changes: object) -> Path:
    fields = json.loads(SPEC.to_json()) | changes
    (folder / "encoder.json").write_text(json.dumps(fields), encoding="utf-8")
    return folder


def test_round_trip(tmp_path: Path) -> None:
    assert read_spec(_write(tmp_path)) == SPEC


def test_id_follows_files_and_settings_and_nothing_else(tmp_path: Path) -> None:
    ids = {
        read_spec(_write(tmp_path, **changes)).id
        for changes in (
            {},
            {"pooling": "cls"},
            {"max_tokens": 33},
            {"files": {"model.onnx": "2" * 64, "tokenizer.json": "1" * 64}},
        )
    }
    assert len(ids) == 4
    assert read_spec(_write(tmp_path, source="another name")).id == SPEC.id


@pytest.mark.parametrize(
    "changes",
    [
        {"pooling": "max"},
        {"dim": 0},
        {"dim": 3},
        {"max_tokens": 1},
        {"files": {}},
        {"files": {"model.onnx": "0", "tokenizer.json": "0", "../evil": "0"}},
        {"golden": [{"text": "a", "vector": ["x", 1]}]},
        {"golden": None},
        {"unknown": 1},
        {"format": None},
    ],
    ids=str,
)
def test_refused(tmp_path: Path, changes: dict[str, object]) -> None:
    with pytest.raises(FormatError):
        read_spec(_write(tmp_path, **changes))


def test_a_newer_format(tmp_path: Path) -> None:
    with pytest.raises(NewerFormatError):
        read_spec(_write(tmp_path, format=2))


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no encoder folder") as caught:
        OnnxEncoder.load(tmp_path / "nowhere")
    assert "prefdex encoder export" in caught.value.hint


def test_a_changed_or_missing_file(tmp_path: Path) -> None:
    _write(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"changed")
    with pytest.raises(FormatError, match="model.onnx differs"):
        verify_files(tmp_path, SPEC)


def test_the_encoder_without_a_model() -> None:
    encoder = open_encoder("hashing:")
    assert isinstance(encoder, HashingEncoder)
    assert isinstance(encoder, Encoder)
    vectors = encoder.encode(["green tea", "black tea", "fast trains", ""])
    assert vectors.shape == (4, encoder.dim)
    assert vectors[0] @ vectors[1] > 0.3 > vectors[0] @ vectors[2]
    assert (encoder.encode(["green tea"]) == vectors[:1]).all()
