"""`prefdex-client`: output for people and machines, and errors in two lines."""

import json
from pathlib import Path

import pytest

from prefdex_client import DeviceStore
from prefdex_client.cli import doctor, main
from support.bundles import AUDIENCE, CONTENT, PAST, Publisher, soon


@pytest.fixture
def arguments(publisher: Publisher, tmp_path: Path) -> list[str]:
    (tmp_path / "me.pdx").write_bytes(publisher.bundle(CONTENT))
    (tmp_path / "root.json").write_bytes(publisher.trust)
    named = ["--trust", str(tmp_path / "root.json"), "--encoder", "hashing:", "--audience", AUDIENCE]
    return [str(tmp_path / "me.pdx"), *named]


def test_query(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    bundle, *named = arguments
    assert main(["query", *named, "-k", "2", bundle, "who likes tea", "which trains"]) == 0
    printed = capsys.readouterr().out
    assert "who likes tea\n" in printed
    assert "for: I like tea" in printed
    assert "version 1; judged and written by fake" in printed


def test_query_json(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    bundle, *named = arguments
    assert main(["query", "--json", *named, "-k", "2", bundle, "who likes tea"]) == 0
    [line] = capsys.readouterr().out.splitlines()
    answer = json.loads(line)
    assert (answer["version"], answer["stale"], answer["llm"]) == (1, False, "fake")
    [asked] = answer["answers"]
    assert asked["question"] == "who likes tea"
    assert [set(hit) for hit in asked["hits"]] == [{"chunk_id", "title", "text", "source", "score", "matches"}] * 2


def test_context_and_knobs(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    bundle, *named = arguments
    outputs = []
    for knobs in ([], ["--unsteered"], ["--preference-weight", "0", "--tag-weight", "5", "--gate", "-1"]):
        assert main(["query", *named, *knobs, bundle, "hills"]) == 0
        outputs.append(capsys.readouterr().out)
    assert len(set(outputs)) == 3
    assert main(["query", "--context", *named, bundle, "hills"]) == 0
    assert capsys.readouterr().out.startswith("[1] ")


def test_inspect(arguments: list[str], publisher: Publisher, capsys: pytest.CaptureFixture[str]) -> None:
    bundle, *named = arguments
    trusted = [*named[:2], *named[4:]]  # no encoder is needed
    assert main(["inspect", bundle, *trusted]) == 0
    printed = capsys.readouterr().out
    for wanted in (
        "audience  u-1",
        "version   1, issued 2026-01-01 (",
        "expires   2100-01-01",
        f"signed by {publisher.signers['targets'].public_key.keyid} (root 1)",
        "bytes, 3 preferences, 5 entries",
        "I like nothing that exists",
        "Title of Trains run on rails.",
    ):
        assert wanted in printed
    assert main(["inspect", "--json", bundle, *trusted]) == 0
    described = json.loads(capsys.readouterr().out)
    assert [shard["n_entries"] for shard in described["shards"]] == [3, 2, 0]
    assert [len(shard["examples"]) for shard in described["shards"]] == [3, 2, 0]
    assert (described["issued"], described["stale"]) == ("2026-01-01T00:00:00+00:00", False)
    assert described["age_days"] >= 300


def test_verify_only(arguments, publisher: Publisher, capsys: pytest.CaptureFixture[str]) -> None:
    bundle, *named = arguments
    command = ["inspect", "--verify-only", bundle, *named[:2], *named[4:]]
    assert main(command) == 0
    assert capsys.readouterr().out == "verified: version 1 for u-1, valid until 2100-01-01\n"
    assert main([*command, "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"audience", "version", "issued", "expires", "stale"}
    Path(bundle).write_bytes(publisher.bundle(CONTENT, expires=PAST))
    assert main(command) == 0
    assert "stale since 2020-01-01" in capsys.readouterr().out
    Path(bundle).write_bytes(publisher.bundle(CONTENT)[:-1] + b"x")
    assert main(command) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--audience", "u-2"], "error: The bundle is signed for another user."),
        (["--min-version", "9"], "error: The bundle is of version 1, below the 9 asked for."),
        (["--trust", "nowhere.json"], "error: The trust anchor nowhere.json cannot be read"),
        (["--encoder", "nowhere"], "error: There is no encoder folder at nowhere"),
        (["-k", "0"], "error: k is the number of hits"),
    ],
)
def test_errors_are_two_lines(arguments, change, message, capsys: pytest.CaptureFixture[str]) -> None:
    bundle, *named = arguments
    assert main(["query", *named, *change, bundle, "tea"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    first, second = captured.err.splitlines()
    assert first.startswith(message)
    assert second.startswith("  try: ")


def test_wrong_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["query", "me.pdx", "tea"])
    assert caught.value.code == 2
    assert "--trust" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["query", "inspect", "doctor", "apply", "forget", "add", "previous", "changes"])
def test_help_shows_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert f"example: prefdex-client {command} " in " ".join(capsys.readouterr().out.split())


def test_doctor(arguments: list[str], minilm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json", "--encoder", str(minilm)]) == 0
    findings = {each["check"]: each for each in json.loads(capsys.readouterr().out)["findings"]}
    assert findings["encoder"]["ok"]
    assert "golden sentences" in findings["encoder"]["message"]
    bundle, trust, file, *_ = arguments
    options = ["--bundle", bundle, trust, file, "--audience", AUDIENCE]
    assert main(["doctor", "--encoder", str(minilm), *options]) == 1
    assert "FAIL  bundle: The bundle was built with encoder" in capsys.readouterr().out
    assert main(["doctor", *options]) == 1
    assert "needs --trust, --audience and --encoder" in capsys.readouterr().out


class TestDoctor:
    def _findings(self, capsys, *options: str) -> tuple[int, dict[str, dict]]:
        code = main(["doctor", "--json", *options])
        return code, {each["check"]: each for each in json.loads(capsys.readouterr().out)["findings"]}

    @pytest.fixture
    def store(self, tmp_path: Path, publisher: Publisher) -> list[str]:
        (tmp_path / "root.json").write_bytes(publisher.trust)
        (tmp_path / "given.pdx").write_bytes(publisher.bundle(CONTENT))
        store = DeviceStore.open(tmp_path / "store", trust=publisher.trust, audience=AUDIENCE)
        store.apply(tmp_path / "given.pdx")
        store.add_preference("I like sleep")
        named = ["--trust", str(tmp_path / "root.json"), "--audience", AUDIENCE, "--encoder", "hashing:"]
        return ["--store", str(tmp_path / "store"), *named]

    def test_a_store(self, store: list[str], capsys, monkeypatch: pytest.MonkeyPatch) -> None:
        # The encoder without a model has no golden sentences.
        monkeypatch.setattr(doctor, "_encoder", lambda _: (None, doctor.Finding("encoder", True, "")))
        code, findings = self._findings(capsys, *store)
        assert code == 0
        assert "1 preferences wait for their shards" in findings["store"]["message"]
        assert findings["trust"]["message"] == "root.json version 1, valid until 2100-01-01"
        assert "signed on 2026-01-01" in findings["clock"]["message"]
        assert findings["disk"]["ok"]

    def test_what_is_wrong_comes_with_what_to_do(
        self, store: list[str], tmp_path: Path, publisher: Publisher, capsys, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(doctor, "_encoder", lambda _: (None, doctor.Finding("encoder", True, "")))
        for path in (tmp_path / "store" / "files").iterdir():
            path.write_bytes(b"damaged")
        (tmp_path / "root.json").write_bytes(Publisher(expires=PAST).trust)
        monkeypatch.setattr(doctor, "MIN_FREE_BYTES", 1 << 62)
        code, findings = self._findings(capsys, *store)
        assert code == 1
        assert {check for check, each in findings.items() if not each["ok"]} == {"store", "trust", "disk"}
        assert all(each["ok"] or each["hint"] for each in findings.values())

    def test_a_clock_that_is_behind(self) -> None:
        finding = doctor._clock(soon())
        assert not finding.ok
        assert "The clock is behind" in finding.hint

    def test_it_makes_no_store(self, store: list[str], tmp_path: Path, capsys) -> None:
        (tmp_path / "empty").mkdir()
        code, findings = self._findings(capsys, *store, "--store", str(tmp_path / "empty"))
        assert code == 1
        assert findings["store"]["message"].startswith("There is no store at ")
        assert list((tmp_path / "empty").iterdir()) == []


def test_doctor_names_a_damaged_encoder(minilm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("encoder.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((minilm / name).read_bytes())
    (tmp_path / "model.onnx").write_bytes(b"damaged")
    assert main(["doctor", "--encoder", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "FAIL  encoder" in printed
    assert "try: Copy or export the encoder again." in printed


def test_a_stale_bundle_is_marked(arguments, publisher: Publisher, capsys: pytest.CaptureFixture[str]) -> None:
    bundle, *named = arguments
    Path(bundle).write_bytes(publisher.bundle(CONTENT, expires=PAST))
    assert main(["query", *named, bundle, "tea"]) == 0
    assert "stale since 2020-01-01" in capsys.readouterr().out


class TestStore:
    def _run(self, tmp_path: Path, *arguments: str) -> int:
        command, *rest = arguments
        named = ["--trust", str(tmp_path / "root.json"), "--audience", AUDIENCE]
        return main([command, *named, str(tmp_path / "store"), *rest])

    def test_the_whole_way(self, arguments, tmp_path: Path, publisher: Publisher, capsys) -> None:
        assert self._run(tmp_path, "apply", arguments[0]) == 0
        assert "version 1: 4 files" in capsys.readouterr().out
        assert self._run(tmp_path, "add", "I like sleep") == 0
        assert self._run(tmp_path, "forget", "I like tea") == 0
        printed = capsys.readouterr().out
        assert "I like" not in printed
        assert main(["query", str(tmp_path / "store"), *arguments[1:], "--json", "who likes tea"]) == 0
        hits = json.loads(capsys.readouterr().out)["answers"][0]["hits"]
        assert {match["preference"] for hit in hits for match in hit["matches"]} == {"I like trains"}
        assert self._run(tmp_path, "changes") == 0
        assert capsys.readouterr().out.startswith("1 added and 1 forgotten")
        assert self._run(tmp_path, "changes", "--json") == 0
        changes = json.loads(capsys.readouterr().out)
        assert (changes["user"], changes["add"], len(changes["forget"])) == (AUDIENCE, ["I like sleep"], 1)
        (tmp_path / "new.pdx").write_bytes(publisher.bundle(CONTENT, version=2))
        assert self._run(tmp_path, "apply", str(tmp_path / "new.pdx"), "--json") == 0
        assert json.loads(capsys.readouterr().out)["version"] == 2
        assert self._run(tmp_path, "previous") == 0
        assert capsys.readouterr().out == "version 1\n"

    @pytest.mark.parametrize(
        ("command", "message"),
        [
            (["apply", "nowhere.pdx"], "error: The file nowhere.pdx cannot be read"),
            (["forget", "I like secrets"], "error: There is no such preference on this device."),
            (["add", " "], "error: A preference has 1 to 4000 characters, not 0."),
            (["previous"], "error: There is no earlier version on this device."),
            (["changes", "--audience", "u-2"], "error: The store is another user's."),
        ],
        ids=lambda value: value[0] if isinstance(value, list) else "",
    )
    def test_errors_are_two_lines(self, arguments, command, message, tmp_path: Path, capsys) -> None:
        assert self._run(tmp_path, "apply", arguments[0]) == 0
        capsys.readouterr()
        assert self._run(tmp_path, *command) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        first, second = captured.err.splitlines()
        assert first.startswith(message)
        assert second.startswith("  try: ")
        assert "secrets" not in captured.err
