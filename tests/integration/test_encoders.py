"""The real encoder: exported, checked, and the same in any company."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from prefdex_builder.embedders import open_embedder
from prefdex_builder.encoders import export
from prefdex_builder.encoders.export import open_source
from prefdex_builder.encoders.onnx_files import OnnxSource
from prefdex_shared.encoder import Encoder, HashingEncoder, OnnxEncoder, read_spec
from prefdex_shared.errors import ConfigurationError, EngineError, FormatError
from prefdex_shared.vectors import Float32, normalize

TEXTS = [
    "What could I cook for dinner tonight?",
    "A train leaves the station every hour, and on Sundays every two hours.",
    "Tea",
    "東京の地下鉄",
    "long " * 200,
]


@pytest.fixture(scope="module")
def encoder(minilm: Path) -> OnnxEncoder:
    return OnnxEncoder.load(minilm)


def test_vectors(encoder: OnnxEncoder) -> None:
    assert isinstance(encoder, Encoder)
    vectors = encoder.encode(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((5, 384), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert encoder.encode([]).shape == (0, 384)
    near, far = encoder.encode(["I like green tea", "A cup of tea"]), encoder.encode(["The stock market fell"])
    assert near[0] @ near[1] > near[0] @ far[0] + 0.3


def test_a_text_has_one_vector_in_any_company(encoder: OnnxEncoder) -> None:
    """The kind of onnxruntime 10111: a quantized model's output that changes with the batch and the padding."""
    together = encoder.encode(TEXTS)
    for order in ([4, 3, 2, 1, 0], [2, 0, 4, 1, 3]):
        np.testing.assert_array_equal(encoder.encode([TEXTS[row] for row in order]), together[order])
    for row, text in enumerate(TEXTS):
        np.testing.assert_array_equal(encoder.encode([text])[0], together[row])


def test_many_threads_get_the_same_vectors(encoder: OnnxEncoder) -> None:
    expected = encoder.encode(TEXTS)
    with ThreadPoolExecutor(16) as pool:
        for row, vectors in enumerate(pool.map(lambda text: encoder.encode([text]), TEXTS * 10)):
            np.testing.assert_array_equal(vectors[0], expected[row % len(TEXTS)])


def test_long_texts_are_cut_at_the_encoders_limit(encoder: OnnxEncoder) -> None:
    assert encoder.count_tokens("word " * 1_000) == 1_002
    vectors = encoder.encode(["word " * 1_000, "word " * (encoder.max_tokens - 2)])
    np.testing.assert_array_equal(vectors[0], vectors[1])


def test_golden_sentences_agree_on_this_machine(encoder: OnnxEncoder) -> None:
    assert encoder.check().min_cosine > 0.9999


def test_any_string_can_be_encoded(encoder: OnnxEncoder) -> None:
    vectors = encoder.encode(["", " ", "\x00", "lone \ud800 surrogate", "👩‍👩‍👧‍👦"])
    assert np.isfinite(vectors).all()


class TestExport:
    def test_fp32_is_the_source(self, minilm_source: Path, tmp_path: Path) -> None:
        report = export(open_source(str(minilm_source)), tmp_path / "e", precision="fp32")
        assert report.min_parity > 0.99999
        assert read_spec(tmp_path / "e").id == report.encoder_id
        assert {path.name for path in tmp_path.iterdir()} == {"e"}
        assert {path.name for path in (tmp_path / "e").iterdir()} == {"encoder.json", "model.onnx", "tokenizer.json"}

    def test_int8_is_near_and_smaller(self, minilm_source: Path, minilm: Path, tmp_path: Path) -> None:
        report = export(open_source(str(minilm_source)), tmp_path / "e", precision="int8")
        assert 0.98 <= report.min_parity <= report.mean_parity < 0.99999
        assert report.model_bytes < 25_000_000
        # Two exports on one machine are one encoder.
        assert report.encoder_id == read_spec(minilm).id

    def test_below_parity_nothing_is_written(self, minilm_source: Path, tmp_path: Path) -> None:
        class Other(OnnxSource):
            def encode(self, texts) -> Float32:
                vectors = super().encode(texts)
                return normalize(vectors + 0.02 * np.sign(np.arange(vectors.shape[1]) % 2 - 0.5))

        with pytest.raises(ConfigurationError, match=r"differs from its source: cosine 0\.9"):
            export(Other(minilm_source), tmp_path / "e", precision="fp32")
        assert list(tmp_path.iterdir()) == []

    def test_a_taken_place_and_a_wrong_precision(self, minilm_source: Path, tmp_path: Path) -> None:
        source = open_source(str(minilm_source))
        (tmp_path / "file").write_text("mine")
        for destination in (tmp_path, tmp_path / "file"):
            with pytest.raises(ConfigurationError, match="not an empty folder"):
                export(source, destination)
        with pytest.raises(ConfigurationError, match="precision"):
            export(source, tmp_path / "e", precision="int4")

    def test_a_folder_without_a_tokenizer(self, tmp_path: Path) -> None:
        (tmp_path / "model.onnx").write_bytes(b"x")
        with pytest.raises(ConfigurationError, match="has no ONNX model"):
            open_source(str(tmp_path))

    @pytest.mark.torch
    def test_from_sentence_transformers(self, minilm_torch: Path, encoder: OnnxEncoder, tmp_path: Path) -> None:
        report = export(open_source(str(minilm_torch)), tmp_path / "e", precision="fp32")
        assert report.min_parity > 0.9999
        assert (report.dim, report.max_tokens) == (384, 256)
        exported = OnnxEncoder.load(tmp_path / "e")
        assert read_spec(tmp_path / "e").pooling == "none"
        # The same model by two ways, once quantized.
        assert np.sum(exported.encode(TEXTS) * encoder.encode(TEXTS), axis=1).min() > 0.98

    @pytest.mark.torch
    def test_an_unknown_model(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match="is no sentence-transformers model"):
            open_source(str(tmp_path / "nothing"))


class TestDamage:
    @pytest.fixture
    def copy(self, minilm: Path, tmp_path: Path) -> Path:
        shutil.copytree(minilm, tmp_path / "e")
        return tmp_path / "e"

    def test_a_changed_model_is_refused(self, copy: Path) -> None:
        with (copy / "model.onnx").open("r+b") as file:
            file.seek(1_000_000)
            file.write(b"\0\1\2\3")
        with pytest.raises(FormatError, match="model.onnx differs"):
            OnnxEncoder.load(copy)

    def test_a_model_that_is_none(self, copy: Path) -> None:
        (copy / "model.onnx").write_bytes(b"none")
        with pytest.raises(EngineError, match="cannot be loaded"):
            OnnxEncoder.load(copy, verify=False)
        (copy / "tokenizer.json").write_text("{}")
        with pytest.raises(EngineError, match="cannot be loaded"):
            OnnxEncoder.load(copy, verify=False)

    def test_golden_vectors_tell_a_difference(self, copy: Path) -> None:
        """The kind of onnxruntime 20479: two processors that compute a quantized model differently."""
        spec = json.loads((copy / "encoder.json").read_text())
        spec["golden"][3]["vector"] = spec["golden"][4]["vector"]
        (copy / "encoder.json").write_text(json.dumps(spec))
        check = OnnxEncoder.load(copy).check()
        assert check.min_cosine < 0.5 < check.mean_cosine


class TestEmbedders:
    def test_the_encoder_itself_is_the_default(self, encoder: OnnxEncoder) -> None:
        assert open_embedder("", encoder) is encoder

    @pytest.mark.parametrize("uri", ["onnx", "torch:", "cuda:x"])
    def test_no_such_embedder(self, encoder: OnnxEncoder, uri: str) -> None:
        with pytest.raises(ConfigurationError, match="no embedder"):
            open_embedder(uri, encoder)

    @pytest.mark.torch
    def test_the_model_of_the_encoder_in_batches(self, encoder: OnnxEncoder, minilm_torch: Path) -> None:
        embedder = open_embedder(f"torch:{minilm_torch}", encoder)
        texts = ["People like tea.", "A much longer text about trains. " * 90, "\ud800 odd"]
        vectors = embedder.encode(texts)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
        # Alone and in a batch alike, and near the encoder: as the int8 model is to its source.
        alone = np.concatenate([embedder.encode([text]) for text in texts])
        assert np.sum(vectors * alone, axis=1).min() > 0.9999
        assert np.sum(vectors * encoder.encode(texts), axis=1).min() > 0.98

    @pytest.mark.torch
    def test_another_model_is_refused(self, minilm_torch: Path) -> None:
        with pytest.raises(ConfigurationError, match="not the model that the encoder was exported from"):
            open_embedder(f"torch:{minilm_torch}", HashingEncoder(dim=384))
