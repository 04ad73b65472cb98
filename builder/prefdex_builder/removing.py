"""`corpus remove`: a snapshot without some documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

import pyarrow as pa

from prefdex_shared.errors import CorpusError

from .report import RemoveReport
from .workspace import Workspace
from .workspace.corpus import DOCUMENTS


def remove_documents(workspace: Workspace, document_ids: Sequence[str]) -> RemoveReport:
    """Take documents out of the corpus. The next build takes what came of them out of the shards.

    Args:
        workspace: The workspace.
        document_ids: Their ids, as they were added.

    Raises:
        CorpusError: Some of them are not in the corpus; none is removed.
        ConfigurationError: Another build works on the workspace.
    """
    wanted = sorted(set(document_ids))
    store = workspace.corpus
    with workspace.locked():
        before = store.current()
        live = store.live(before)
        if absent := [each for each in wanted if each not in live.documents]:
            raise CorpusError(
                f"{len(absent)} of {len(wanted)} documents are not in the corpus, {absent[0]!r} among them; "
                "none was removed.",
                hint="Give ids as they stand in the corpus; that of a text file is its path.",
            )
        rows = [{"document_id": each, "title": "", "source": "", "chunk_ids": None} for each in wanted]
        name = store.add_documents(pa.Table.from_pylist(rows, schema=DOCUMENTS))
        after = replace(before, number=before.number + 1, documents=(*before.documents, name))
        n_chunks = len(live.chunks) - len(store.live(after).chunks)
        report = RemoveReport(after.number, len(wanted), n_chunks)
        store.commit(after, asdict(report))
    return report
