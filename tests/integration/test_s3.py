"""A corpus in an S3 bucket, on a local S3 server."""

import json
import subprocess
import sys
from pathlib import Path

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prefdex_builder.corpus import find, read
from prefdex_shared.errors import CorpusError


@pytest.fixture
def bucket(s3_server: str):
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket="corpus")
    return s3


def test_documents_come_from_a_prefix(bucket, tmp_path: Path) -> None:
    rows = [{"id": str(number), "title": "t", "text": f"Text {number}."} for number in range(3)]
    bucket.put_object(Bucket="corpus", Key="docs/a.jsonl", Body="\n".join(map(json.dumps, rows)).encode())
    pq.write_table(pa.Table.from_pylist([{"id": "p", "title": "t", "text": "Parquet."}]), tmp_path / "b.parquet")
    bucket.upload_file(str(tmp_path / "b.parquet"), "corpus", "docs/deep/b.parquet")
    bucket.put_object(Bucket="corpus", Key="docs/c.txt", Body=b"Plain text.")
    bucket.put_object(Bucket="corpus", Key="docs/d.pdf", Body=b"x")
    bucket.put_object(Bucket="corpus", Key="other/e.txt", Body=b"Elsewhere.")
    files, skipped = find(["s3://corpus/docs/"], exclude=tmp_path)
    assert [file.name for file in files] == ["a.jsonl", "c.txt", "deep/b.parquet"]
    assert skipped == ["d.pdf"]
    ids = [reading.document.id for file in files for reading in read(file) if reading.document]
    assert ids == ["0", "1", "2", "c.txt", "p"]


@pytest.mark.ray
def test_the_command_reads_them_on_workers(bucket, tmp_path: Path) -> None:
    for name in "ab":
        bucket.put_object(Bucket="corpus", Key=f"docs/{name}.txt", Body=f"Plain text {name}.".encode())
    arguments = ["corpus", "add", "s3://corpus/docs/", "-w", "work", "-e", "hashing:", "--json"]
    command = [sys.executable, "-m", "prefdex_builder", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["documents"] == 2


def test_what_is_not_there(bucket, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="s3://nowhere/x cannot be listed"):
        find(["s3://nowhere/x"], exclude=tmp_path)
    with pytest.raises(CorpusError, match="There is no file at"):
        find(["s3://corpus/nothing/"], exclude=tmp_path)


def test_a_key_that_vanished(bucket, tmp_path: Path) -> None:
    bucket.put_object(Bucket="corpus", Key="a.jsonl", Body=b"{}")
    [file], _ = find(["s3://corpus/"], exclude=tmp_path)
    bucket.delete_object(Bucket="corpus", Key="a.jsonl")
    [reading] = read(file)
    assert [fault.kind for fault in reading.faults] == ["unreadable_file"]
