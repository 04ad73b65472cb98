"""The wheel, installed with the `client` extra alone into an empty environment, passes the client's tests there."""

import subprocess
import sys
import venv
from importlib.metadata import version
from pathlib import Path

import pytest

from golden.make import FOLDER
from support.bundles import AUDIENCE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SUITE = (
    "tests/unit/client",
    "tests/unit/shared",
    *(f"tests/integration/test_{name}.py" for name in ("attacks", "golden", "store_laws")),
)
ABSENT = ("faiss", "ray", "torch", "boto3", "pyarrow", "rich", "typer", "onnx", "sentence_transformers", "pandas")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("client")
    built = ["-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run([sys.executable, *built], check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    _install(python, f"{wheel}[client]")
    return python


def _install(python: Path, *packages: str) -> None:
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True, capture_output=True)


def _run(python: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=python.parent
    )


def test_a_golden_bundle_opens(python: Path) -> None:
    done = _run(
        python,
        "-c",
        "import sys; from prefdex_client import Memory\n"
        f"memory = Memory.open({str(FOLDER / 'v1.pdx')!r}, trust={str(FOLDER / 'root.json')!r}, "
        f"encoder='hashing:', audience={AUDIENCE!r})\n"
        "print(memory.query('who likes tea')[0].text)\n"
        f"print(sorted(set({ABSENT!r}) & set(sys.modules)))",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == "[]"


@pytest.mark.parametrize("module", ABSENT)
def test_nothing_of_the_builder_is_there(python: Path, module: str) -> None:
    done = _run(python, "-c", f"import {module}")
    assert "ModuleNotFoundError" in done.stderr


def test_the_real_encoder_runs_there(python: Path, minilm: Path) -> None:
    done = _run(python, "-m", "prefdex_client", "doctor", "--encoder", minilm)
    assert done.returncode == 0, done.stdout
    assert "golden sentences: cosine 1.0000 mean" in done.stdout


def test_the_builders_command_names_its_extra(python: Path) -> None:
    done = subprocess.run([python.parent / "prefdex", "demo"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'prefdex[builder]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_tests_of_client_and_shared_pass_there(python: Path, minilm: Path) -> None:
    """Last in this file: it adds the tools of tests to the environment."""
    _install(python, *(f"{name}=={version(name)}" for name in ("pytest", "hypothesis")))
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not soak", *SUITE],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout
