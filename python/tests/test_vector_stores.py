"""Vector stores read what `l2g export` writes, each tried for real where it is installed."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import local2global as l2g

DIM = 4


def vectors_of(run: Path) -> np.ndarray:
    return np.load(run / "5-alignment" / "embedding.npy")


def nearest_to_first(run: Path, k: int = 3) -> list[float]:
    """The scores of the nearest rows of row 0, itself left out."""
    return l2g.nearest(vectors_of(run), [0], k)[1][0].tolist()


def test_duckdb_reads_the_table_and_finds_the_same_neighbours(exported: Path):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    table = str(exported / "export" / "embedding.parquet")
    store = duckdb.connect()
    store.execute(
        f"create table nodes as select id, vector::float[{DIM}] as vector from read_parquet(?)",
        [table],
    )
    stored = np.array([row[0] for row in store.execute("select vector from nodes").fetchall()])
    assert np.array_equal(stored.astype(np.float32), vectors_of(exported))
    found = store.execute(
        "select array_cosine_similarity(vector, (select vector from nodes limit 1)) as score "
        "from nodes where id <> (select id from nodes limit 1) order by score desc limit 3"
    ).fetchall()
    assert np.allclose([row[0] for row in found], nearest_to_first(exported), atol=1e-5)


def test_lancedb_takes_the_table_and_finds_the_same_neighbours(exported: Path, tmp_path: Path):
    lancedb = pytest.importorskip("lancedb", reason="lancedb is not installed")
    import pyarrow.parquet as pq

    table = pq.read_table(exported / "export" / "embedding.parquet")
    store = lancedb.connect(tmp_path / "store").create_table("nodes", table)
    found = store.search(vectors_of(exported)[0]).distance_type("cosine").limit(4).to_list()
    assert found[0]["_distance"] == pytest.approx(0, abs=1e-6)
    scores = [1 - row["_distance"] for row in found[1:]]
    assert np.allclose(scores, nearest_to_first(exported), atol=1e-5)


def pgvector_lines(run: Path) -> list[str]:
    """What `COPY nodes (id, vector) FROM STDIN` takes, as the docs make it."""
    with (run / "export" / "embedding.csv").open(newline="") as file:
        rows = csv.reader(file)
        next(rows)
        return [f"{id_}\t[{','.join(numbers)}]" for id_, *numbers in rows]


def test_pgvector_reads_every_vector_as_text(exported: Path):
    lines = pgvector_lines(exported)
    pgvector = pytest.importorskip("pgvector", reason="pgvector is not installed")
    read = [pgvector.Vector.from_text(line.split("\t")[1]).to_numpy() for line in lines]
    assert np.array_equal(np.array(read, np.float32), vectors_of(exported))
