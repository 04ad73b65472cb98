"""Steering: how many of the five hits are kept for the question's own preference, and how near they stay to it.

Over vectors of the chunks' texts (or, with `--vectors instructions`, of the instructions), for people of a persona
file: the question as it is asked, the paper's rule, ours, and the most that there could be. People of even number
chose the defaults; figures are of the odd ones. Intervals are 95 %, by a bootstrap over people, paired.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import bootstrap

from harness import arguments, report
from material import Corpus, corpus, encode, instruction
from prefdex_builder.demo.personas import Persona, read_personas
from prefdex_shared import vectors
from prefdex_shared.steering import PAPER, UNSTEERED, Evidence, Scoring, steer
from prefdex_shared.vectors import Float32, store

N_DOCUMENTS = {"default": 2_000, "full": 4_000}
N_PERSONAS = {"default": 24, "full": 1_000}
TAU = 0.25
_K = 5
_METHODS = {
    "unsteered": UNSTEERED,
    "paper": PAPER,
    "tag weight alone": Scoring(1.0, 1.0, -1.0, PAPER.sharpness, 0.0),
    "ours": Scoring(),
}


@dataclass(frozen=True, slots=True)
class Found:
    """What one method finds for one person: means over the questions.

    Attributes:
        own_share: Share of the hits that are kept for the question's own preference.
        relevance: Cosine similarity of question and hit's text.
        accuracy: Share of questions whose own preference is the one believed in most.
    """

    own_share: float
    relevance: float
    accuracy: float


class Kept:
    """One person's preferences, questions, and the pairs of chunk and preference that are kept.

    Args:
        persona: The person.
        source: The corpus.
        on_instructions: Search instructions in place of texts.
    """

    def __init__(self, persona: Persona, source: Corpus, *, on_instructions: bool) -> None:
        self.preferences = encode(persona.preferences)
        self.questions = encode([question for block in persona.blocks for question in block.questions])
        self.own = [row for row, block in enumerate(persona.blocks) for _ in block.questions]
        near = vectors.similarities(store(source.vectors), store(self.preferences)) >= TAU
        self.tags, self.chunks = np.nonzero(near.T)  # preference after preference, as in a bundle
        self.texts = source.vectors
        self.vectors = source.vectors[self.chunks]
        if on_instructions:
            pairs = zip(self.tags, self.chunks, strict=True)
            self.vectors = encode([instruction(persona.preferences[t], source.chunks[c].text) for t, c in pairs])
        self.counts = near.sum(axis=0)
        self.near = near
        self._evidence = Evidence(self.counts.tolist())

    def search(self, scoring: Scoring) -> Found:
        """Ask all questions."""
        found = [self._one(question, own, scoring) for question, own in zip(self.questions, self.own, strict=True)]
        return Found(*(statistics.mean(each) for each in zip(*found, strict=True)))

    def ceiling(self) -> float:
        """Return the share that a method would reach that knows the question's own preference."""
        return statistics.mean(min(int(self.counts[own]), _K) / _K for own in self.own)

    def _one(self, question: Float32, own: int, scoring: Scoring) -> tuple[float, float, float]:
        similarities = self.vectors @ question
        steered = steer(question, self.preferences, self.counts > 0, scoring, self._evidence, similarities)
        scores = self.vectors @ steered.vector + steered.tag_scores[self.tags]
        best = list(dict.fromkeys(self.chunks[np.argsort(-scores, kind="stable")].tolist()))[:_K]
        if not best:
            return 0.0, 0.0, 0.0
        return (
            float(self.near[best, own].sum()) / _K,
            float((self.texts[best] @ question).mean()),
            steered.preference == own,
        )


def main() -> None:
    """Run the benchmark."""
    options = arguments(
        __doc__,
        lambda parser: parser.add_argument(
            "--vectors", choices=("texts", "instructions"), default="texts", help="what is searched"
        ),
    )
    source = corpus(N_DOCUMENTS[options.size])
    personas = read_personas(options.personas)[: N_PERSONAS[options.size]]
    people = [
        Kept(persona, source, on_instructions=options.vectors == "instructions")
        for number, persona in enumerate(personas)
        if number % 2
    ]
    found = {name: [person.search(scoring) for person in people] for name, scoring in _METHODS.items()}
    gain = _difference(found, lambda each: 100 * each.own_share)
    relevance = _difference(found, lambda each: each.relevance)
    result = {
        "gain_over_paper_points": round(gain[0], 2),
        "gain_interval": [round(each, 2) for each in gain[1:]],
        "relevance_change_vs_paper": round(relevance[0], 4),
        "relevance_change_interval": [round(each, 4) for each in relevance[1:]],
        "own_share": {name: _mean(each, lambda one: one.own_share) for name, each in found.items()}
        | {"ceiling": round(statistics.mean(person.ceiling() for person in people), 4)},
        "relevance": {name: _mean(each, lambda one: one.relevance) for name, each in found.items()},
        "preference_accuracy": {name: _mean(each, lambda one: one.accuracy) for name, each in found.items()},
        "vectors": options.vectors,
        "personas": len(people),
        "questions": sum(len(person.own) for person in people),
    }
    rows = [[name, *(f"{_mean(each, figure):.3f}" for figure in _FIGURES)] for name, each in found.items()] + [
        ["ceiling", f"{result['own_share']['ceiling']:.3f}", "", ""]
    ]  # type: ignore[index]
    title = f"gain over the paper {gain[0]:.1f} points ({gain[1]:.1f} to {gain[2]:.1f}), over {options.vectors}"
    report(title, ("method", "own share", "relevance", "right preference"), rows, result, as_json=options.json)


_FIGURES: tuple[Callable[[Found], float], ...] = (
    lambda each: each.own_share,
    lambda each: each.relevance,
    lambda each: each.accuracy,
)


def _mean(found: Sequence[Found], figure: Callable[[Found], float]) -> float:
    return round(statistics.mean(map(figure, found)), 4)


def _difference(found: dict[str, list[Found]], figure: Callable[[Found], float]) -> tuple[float, float, float]:
    """Return our mean minus the paper's, with its interval."""
    differences = [figure(a) - figure(b) for a, b in zip(found["ours"], found["paper"], strict=True)]
    mean = statistics.mean(differences)
    if len(differences) < 3:
        return mean, mean, mean
    interval = bootstrap((np.array(differences),), np.mean, rng=np.random.default_rng(0)).confidence_interval
    return mean, float(interval.low), float(interval.high)


if __name__ == "__main__":
    main()
