"""`prefdex.toml`: what it says, what the command line says over it, and what neither may say."""

from pathlib import Path

import pytest

from prefdex_builder.config import BuildConfig, CorpusConfig, Price, default_tau
from prefdex_builder.settings import Settings
from prefdex_shared.errors import ConfigurationError, FormatError
from prefdex_shared.filtering import FilterConfig
from prefdex_shared.steering import Scoring

WHOLE = """
workspace = "work"
encoder = "hashing:"
preferences = "s3://bucket/preferences.jsonl"
keys = "/etc/keys"
[filter]
tau = 0.3
max_candidates = 50
engine = "torch"
[llm]
uri = "llamacpp:model.gguf"
n_threads = 2
[price]
prompt = 3
[build]
max_bundle_bytes = 100_000
[steering]
tag_weight = 0.5
[cluster]
n_workers = 3
"""


def _settings(folder: Path, text: str) -> Settings:
    (folder / "prefdex.toml").write_text(text)
    return Settings.read(folder / "prefdex.toml")


def test_a_whole_file(tmp_path: Path) -> None:
    settings = _settings(tmp_path, WHOLE)
    assert [settings.need(key) for key in ("workspace", "encoder", "preferences", "keys")] == [
        str(tmp_path / "work"),
        "hashing:",
        "s3://bucket/preferences.jsonl",
        "/etc/keys",
    ]
    config = settings.build()
    assert config.filtering == FilterConfig(0.3, 50)
    assert (config.filter_engine, config.llm.uri, config.llm.n_threads) == ("torch", "llamacpp:model.gguf", 2)
    assert (config.price, config.max_bundle_bytes, config.scoring) == (Price(3), 100_000, Scoring(tag_weight=0.5))
    assert settings.cluster().n_workers == 3


def test_sources_and_how_they_are_taken_in(tmp_path: Path) -> None:
    text = 'sources = ["articles", "s3://bucket/more"]\n[corpus]\ntarget_words = 50\nembedder = "torch:model"'
    settings = _settings(tmp_path, text)
    assert settings.sources == (str(tmp_path / "articles"), "s3://bucket/more")
    assert settings.corpus() == CorpusConfig(50, "torch:model")
    assert settings.over({}, {"corpus": {"target_words": 60}}).corpus() == CorpusConfig(60, "torch:model")


def test_no_file_is_all_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Settings.read(None).build() == BuildConfig()
    (tmp_path / "prefdex.toml").write_text("[filter]\ntau = 0.4")
    assert Settings.read(None).build().filtering.tau == 0.4


def test_the_command_line_stands_over_the_file(tmp_path: Path) -> None:
    settings = _settings(tmp_path, WHOLE).over(
        {"workspace": "other", "changes": None}, {"filter": {"tau": 0.2, "max_candidates": None}, "llm": {}}
    )
    assert settings.need("workspace") == "other"
    assert settings.build().filtering == FilterConfig(0.2, 50)
    assert settings.build().llm.n_threads == 2
    with pytest.raises(ConfigurationError, match="Nothing says where to find 'changes'") as raised:
        settings.need("changes")
    assert "--changes" in raised.value.hint


WRONG = {
    "tau": ("[filter]\ntaw = 1", r"\[filter\] has an unknown key 'taw'", "Did you mean 'tau'?"),
    "table": ("[filters]\n", "unknown key 'filters'", "Did you mean 'filter'?"),
    "far": ("x = 1", "unknown key 'x'", "It may have: workspace"),
    "type": ('[filter]\ntau = "0.3"', "filter.tau must be of type float, not str", ""),
    "bool": ("[filter]\nmax_candidates = true", "filter.max_candidates must be of type int, not bool", ""),
    "place": ("workspace = 3", "workspace must be a string", ""),
    "sources": ("sources = 3", "sources must be a list of strings", ""),
    "a source": ("sources = [3]", "sources must be a string", ""),
    "no table": ("llm = 3", "llm must be a table", ""),
    "not settable": ("[build]\nprice = 3", r"\[build\] has an unknown key 'price'", ""),
    "syntax": ("[filter", "is not TOML", ""),
    "encoding": (b"\xff", "is not TOML", ""),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(case: str, tmp_path: Path) -> None:
    text, message, hint = WRONG[case]
    (tmp_path / "p.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigurationError, match=message) as raised:
        Settings.read(tmp_path / "p.toml")
    assert hint in (raised.value.hint or "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[filter]\ntau = 2", "tau is a cosine similarity"),
        ('[filter]\nengine = "scann"', "no filter engine 'scann'"),
        ("[price]\nprompt = -1", "A price is 0 or more"),
        ("[llm]\npairs_at_once = 0", "pairs_at_once is at least 1"),
        ("[build]\nvalid_days = 0", "valid for 1 to"),
    ],
)
def test_values_that_cannot_be(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=message):
        _settings(tmp_path, text).build()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises((ConfigurationError, FormatError), match=r"no\.toml"):
        Settings.read(tmp_path / "no.toml")


def test_the_threshold_is_the_encoders(minilm: Path) -> None:
    assert default_tau(str(minilm)) == default_tau("hashing:") == 0.25
    with pytest.raises(ConfigurationError, match="no encoder folder"):
        default_tau("nowhere")
