"""What a patch costs, in bytes and in time, against downloading the whole new bundle.

Four changes: one preference more, one less, one replaced, and a corpus that grew by 1 %. Times are CPU times on the
device, from the file's bytes to the bytes of a verified new bundle; the whole download is verified likewise.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from harness import arguments, cpu_ms, median_ratio, report
from material import Corpus, corpus, entries, make_shards, sign, signer
from prefdex_builder.demo.personas import Persona, read_personas
from prefdex_shared import container, patching
from prefdex_shared import shard as shards
from prefdex_shared.trust import verify_whole

N_DOCUMENTS = {"default": 2_000, "full": 4_000}
N_PERSONAS = {"default": 12, "full": 1_000}
N_PREFERENCES = 10
GROWTH = 0.01
_N_TIMED = 5


@dataclass(frozen=True, slots=True)
class Cost:
    """What one change of one user costs.

    Attributes:
        patch_bytes: Size of the patch.
        bundle_bytes: Size of the new bundle.
        shard_bytes: Size of the shards that travel.
        n_shards: Number of the shards that travel.
        apply_ms: CPU time of applying the patch: median.
        verify_ms: CPU time of verifying the whole new bundle: median.
    """

    patch_bytes: int
    bundle_bytes: int
    shard_bytes: int
    n_shards: int
    apply_ms: float
    verify_ms: float


def main() -> None:
    """Run the benchmark."""
    options = arguments(__doc__)
    source = corpus(N_DOCUMENTS[options.size])
    personas = read_personas(options.personas)[: N_PERSONAS[options.size]]
    costs: dict[str, list[Cost]] = {"add": [], "remove": [], "replace": [], "grown": []}
    before_growth = _without_newest(source)
    for number, persona in enumerate(personas):
        own = _shards(persona, source)[:N_PREFERENCES]
        # A preference that somebody else holds.
        new = _shards(personas[number - 1], source)[0]
        costs["add"].append(_cost(persona, own, [*own, new]))
        costs["remove"].append(_cost(persona, own, own[1:]))
        costs["replace"].append(_cost(persona, own, [new, *own[1:]]))
        costs["grown"].append(_cost(persona, _shards(persona, before_growth)[:N_PREFERENCES], own))
    result: dict[str, object] = {name: _summary(each) for name, each in costs.items()}
    result |= {"personas": len(personas), "preferences": N_PREFERENCES, "chunks": len(source.chunks)}
    rows = [[name, *(_shown(each) for each in _summary(costs[name]).values())] for name in costs]
    columns = ("change", *(name.replace("_", " ") for name in _summary(costs["add"])))
    report("medians over people; overhead: the most", columns, rows, result, as_json=options.json)


def _shards(persona: Persona, source: Corpus) -> list[bytes]:
    return [shards.encode(each) for each in make_shards(entries(persona, source))]


def _without_newest(source: Corpus) -> Corpus:
    n = len(source.chunks) - round(GROWTH * len(source.chunks))
    return Corpus(source.chunks[:n], source.vectors[:n])


def _cost(persona: Persona, before: Sequence[bytes], after: Sequence[bytes]) -> Cost:
    old, new = (sign(persona, held, version=version) for version, held in enumerate((before, after), 1))
    patch = container.encode(patching.make(container.decode(old), container.decode(new)))
    root, user = signer().root, persona.user

    def apply() -> bytes:
        return container.encode(
            patching.apply(container.decode(old), container.decode(patch), trust=root, audience=user)
        )

    def verify() -> None:
        verify_whole(container.decode(new), trust=root, audience=user)

    if apply() != new:
        raise AssertionError("the patched bundle differs from the new one")
    travelling = [data for name, data in container.decode(patch).files.items() if name != "manifest"]
    timed = [(cpu_ms(apply), cpu_ms(verify)) for _ in range(_N_TIMED)]
    apply_ms, verify_ms = (statistics.median(each) for each in zip(*timed, strict=True))
    return Cost(len(patch), len(new), sum(map(len, travelling)), len(travelling), apply_ms, verify_ms)


def _summary(costs: Sequence[Cost]) -> dict[str, float]:
    return {
        "bytes": statistics.median(cost.patch_bytes for cost in costs),
        "overhead_bytes": max(cost.patch_bytes - cost.shard_bytes for cost in costs),
        "shards": statistics.median(cost.n_shards for cost in costs),
        "bundle_bytes": statistics.median(cost.bundle_bytes for cost in costs),
        "ratio_vs_full": _ratio([cost.patch_bytes for cost in costs], [cost.bundle_bytes for cost in costs]),
        "apply_ms": round(statistics.median(cost.apply_ms for cost in costs), 2),
        "apply_time_vs_full": _ratio([cost.apply_ms for cost in costs], [cost.verify_ms for cost in costs]),
    }


def _ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    return round(median_ratio(numerators, denominators), 4)


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.3f}"


if __name__ == "__main__":
    main()
