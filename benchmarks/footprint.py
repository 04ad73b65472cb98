"""What the client costs beside the encoder alone: start, memory and disk.

Each run is a process of its own, from its start to its first answer: a bare one that loads onnxruntime, the tokenizer
and the model and encodes the question once, and ours with each search engine, which verifies every hash of a store.
Times are CPU times of the process, paired run by run; memory is what is resident at the end. All run in an environment
with the extras `client` and `faiss` alone: what else is installed would be imported, too.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
import venv
from pathlib import Path

from harness import CACHE, arguments, median_ratio, report
from material import bundle, corpus, encoder_folder, entries, make_shards, signer
from prefdex_builder.demo.personas import read_personas
from prefdex_client import DeviceStore

N_DOCUMENTS = 1_000
N_RUNS = {"default": 7, "full": 25}
_PRECISION = "int8"

_END = """
import json, re, time
from pathlib import Path
status = Path("/proc/self/status").read_text()
print(json.dumps({"ms": time.process_time() * 1e3, "mb": int(re.search(r"VmRSS:\\s+(\\d+)", status)[1]) / 1024}))
"""
_BARE = """
import sys
import numpy as np, onnxruntime
from tokenizers import Tokenizer
folder, question = sys.argv[1], sys.argv[5]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(folder + "/model.onnx", options, providers=["CPUExecutionProvider"])
tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
ids = np.array([tokenizer.encode(question).ids], dtype=np.int64)
feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
wanted = {each.name for each in session.get_inputs()}
vector = session.run(None, {name: value for name, value in feeds.items() if name in wanted})[0][0].mean(axis=0)
"""
_OURS = """
import sys
from prefdex_client import DeviceStore
encoder, folder, trust, audience, question = sys.argv[1:]
memory = DeviceStore.open(folder, trust=trust, audience=audience, encoder=encoder).memory("{engine}")
assert memory.query(question)
"""
_IMPORT = "import prefdex_client"
_PROGRAMS = {
    "bare": _BARE,
    "numpy": _OURS.format(engine="numpy"),
    "faiss": _OURS.format(engine="faiss"),
    "import": _IMPORT,
    "nothing": "",
}


def main() -> None:
    """Run the benchmark."""
    options = arguments(__doc__)
    persona = read_personas(options.personas)[0]
    question = persona.blocks[0].questions[0]
    python = _client_environment()
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in _PROGRAMS}
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        (folder / "me.pdx").write_bytes(bundle(persona, make_shards(entries(persona, corpus(N_DOCUMENTS)))))
        (folder / "root.json").write_bytes(signer().root)
        DeviceStore.open(folder / "store", trust=signer().root, audience=persona.user).apply(folder / "me.pdx")
        given = [encoder_folder(_PRECISION), folder / "store", folder / "root.json", persona.user, question]
        for number in range(1 + N_RUNS[options.size]):
            for name, program in _PROGRAMS.items():
                figures = _run(python, program, list(map(str, given)))
                if number:  # the first one warms the disk
                    runs[name].append(figures)
    result = {
        engine: {
            "cold_start_ratio": round(_ratio(runs[engine], runs["bare"]), 3),
            "extra_resident_mb": round(_difference(runs[engine], runs["bare"]), 1),
        }
        for engine in ("numpy", "faiss")
    }
    sizes = _installed_mb(python)
    summary = {
        **result,
        # Which engine a bundle of this size gets.
        **result["numpy"],
        "import_ms": round(statistics.median(each["ms"] for each in runs["import"]), 1),
        "import_ratio_vs_bare_start": round(_ratio(runs["import"], runs["bare"]), 3),
        "installed_mb": sizes,
        "installed_mb_total": round(sum(sizes.values()), 1),
        "runs": N_RUNS[options.size],
    }
    rows = [
        [
            name,
            f"{statistics.median(each['ms'] for each in held):.0f}",
            f"{_ratio(held, runs['bare']):.2f}",
            f"{statistics.median(each['mb'] for each in held):.0f}",
            f"{_difference(held, runs['bare']):+.1f}",
        ]
        for name, held in runs.items()
    ]
    columns = ("process", "CPU ms", "of bare", "resident MB", "beside bare")
    report(
        f"to the first answer; installed {summary['installed_mb_total']} MB",
        columns,
        rows,
        summary,
        as_json=options.json,
    )


def _run(python: Path, program: str, given: list[str]) -> dict[str, float]:
    done = subprocess.run([python, "-c", program + _END, *given], capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _client_environment() -> Path:
    """Return the Python of an environment with `prefdex[client,faiss]` and nothing else, made once."""
    folder = CACHE / "client-environment"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, f"{CACHE.parent}[client,faiss]"], check=True, capture_output=True)
    # What is measured is the code as it is now.
    link = next((folder / "lib").glob("python*/site-packages")) / "prefdex.pth"
    link.write_text("\n".join(str(CACHE.parent / each) for each in ("shared", "client", "builder")))
    subprocess.run([python, "-m", "pip", "uninstall", "--quiet", "--yes", "prefdex"], check=True, capture_output=True)
    return python


def _ratio(held: list[dict[str, float]], bare: list[dict[str, float]]) -> float:
    return median_ratio([each["ms"] for each in held], [each["ms"] for each in bare])


def _difference(held: list[dict[str, float]], bare: list[dict[str, float]]) -> float:
    return statistics.median(a["mb"] - b["mb"] for a, b in zip(held, bare, strict=True))


_SIZES = """
import json
from importlib.metadata import distributions
from pathlib import Path
def size(package):
    files = [Path(str(package.locate_file(file))) for file in package.files or []]
    return sum(file.stat().st_size for file in files if file.is_file() and file.suffix != ".pyc") / 1e6
sizes = {each.metadata["Name"]: round(size(each), 1) for each in distributions()}
print(json.dumps({name: size for name, size in sizes.items() if name not in ("pip", "setuptools", "faiss-cpu")}))
"""


def _installed_mb(python: Path) -> dict[str, float]:
    """Return the size on disk of what `prefdex[client]` brings, by package."""
    done = subprocess.run([python, "-c", _SIZES], capture_output=True, text=True, check=True)
    sizes: dict[str, float] = json.loads(done.stdout)
    return dict(sorted(sizes.items(), key=lambda item: -item[1]))


if __name__ == "__main__":
    main()
