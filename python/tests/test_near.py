"""The exact search agrees with NumPy, and knows the caller's nodes."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import local2global as l2g

SCORES = ["cosine", "inner-product"]


@pytest.fixture(scope="module")
def embedding() -> np.ndarray:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(3000, 24)) * rng.lognormal(sigma=2, size=(3000, 1))
    rows[::100] = 0
    rows[5::100] = rows[6::100]
    return rows.astype(np.float32)


def by_numpy(embedding: np.ndarray, vectors: np.ndarray, score: str) -> np.ndarray:
    x, q = embedding.astype(np.float64), vectors.astype(np.float64)
    scores = q @ x.T
    if score == "cosine":
        lengths = np.linalg.norm(q, axis=1)[:, np.newaxis] * np.linalg.norm(x, axis=1)
        scores = np.divide(scores, lengths, out=np.zeros_like(scores), where=lengths > 0)
    return scores


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("queries", [3, 200])
def test_the_best_are_those_of_numpy(embedding, score, queries):
    asked = np.arange(queries) * 11
    scores = by_numpy(embedding, embedding[asked], score)
    scores[np.arange(queries), asked] = -np.inf
    rows, found = l2g.nearest(embedding, asked, 20, score=score)
    best = -np.sort(-scores, axis=1)[:, :20]
    assert rows.dtype == np.int64
    assert np.allclose(found, best, rtol=1e-9, atol=1e-12)
    assert np.allclose(np.take_along_axis(scores, rows, axis=1), best, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("score", SCORES)
def test_vectors_are_compared_with_all_rows(embedding, score):
    vectors = np.random.default_rng(2).normal(size=(7, 24))
    rows, found = l2g.nearest(embedding, vectors, 5, score=score, threads=1)
    scores = by_numpy(embedding, vectors.astype(np.float32), score)
    assert np.allclose(found, -np.sort(-scores, axis=1)[:, :5], rtol=1e-9, atol=1e-12)
    assert rows.shape == (7, 5)


def test_a_mapped_file_is_searched_where_it_lies(embedding, tmp_path):
    np.save(tmp_path / "x.npy", embedding)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert np.array_equal(l2g.nearest(mapped, [4], 9)[0], l2g.nearest(embedding, [4], 9)[0])


def test_there_are_no_more_neighbours_than_rows():
    rows = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    assert l2g.nearest(rows, [0, 1], 10)[0].tolist() == [[2, 1], [2, 0]]
    assert l2g.nearest(rows, [[1.0, 0.5]], 10)[0].shape == (1, 3)
    assert l2g.nearest([[1.0]], [0], 10)[0].shape == (1, 0)
    assert l2g.nearest(rows, [], 10)[0].shape == (0, 2)


def test_what_cannot_be_searched_is_told():
    rows = [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(l2g.NearError, match="there is no row 2: the embedding has 2 rows"):
        l2g.nearest(rows, [2])
    with pytest.raises(l2g.NearError, match="vector 1 has 3 numbers, but the embedding has 2"):
        l2g.nearest(rows, [[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="k is 0; it must be at least 1"):
        l2g.nearest(rows, [0], 0)
    with pytest.raises(ValueError, match="score is \"euclid\"; it must be 'cosine' or"):
        l2g.nearest(rows, [0], score="euclid")
    with pytest.raises(ValueError, match="queries have 1 axes and type float64"):
        l2g.nearest(rows, [0.5])
    with pytest.raises(l2g.NearError, match="not finite in row 1"):
        l2g.nearest([[1.0], [np.inf], [2.0]], [0])


def test_a_model_knows_the_nodes_of_the_caller():
    grid = nx.grid_2d_graph(12, 12)
    model = l2g.Local2Global(dim=4, patches=1, method="spectral").fit(grid)
    nodes, scores = model.nearest((3, 4), k=3)
    assert nodes.shape == scores.shape == (3,)
    assert all(grid.has_node(node) and node != (3, 4) for node in nodes)
    many, more = model.nearest([(3, 4), (0, 0)], k=3, score="cosine")
    assert many.shape == more.shape == (2, 3)
    assert many[0].tolist() == nodes.tolist()
    rows = model.graph_.rows_of([(3, 4)])
    assert np.array_equal(l2g.nearest(model.embedding_, rows, 3)[1][0], scores)
    with pytest.raises(KeyError, match="is no node of this graph; nodes are such as"):
        model.nearest([(3, 4), (99, 99)])


def test_names_and_numbers_are_nodes_too():
    ring = nx.relabel_nodes(nx.cycle_graph(90), lambda node: f"node {node}")
    model = l2g.Local2Global(dim=2, patches=1, method="spectral").fit(ring)
    assert model.nearest("node 7", k=1)[0].shape == (1,)
    assert model.nearest(["node 7"], k=1)[0].shape == (1, 1)
    numbers = l2g.Local2Global(dim=2, patches=1, method="spectral").fit(nx.cycle_graph(90))
    assert numbers.nearest(np.int64(7), k=2)[0].shape == (2,)
    assert numbers.nearest(np.arange(4), k=2)[0].shape == (4, 2)


@pytest.mark.parametrize("stranger", [99, "zoe", ["zoe"]])
def test_a_single_stranger_is_named_as_well(stranger):
    model = l2g.Local2Global(dim=2, patches=1, method="spectral", random_state=0)
    model.fit(nx.path_graph(60))
    with pytest.raises(KeyError, match="is no node of this graph; nodes are such as"):
        model.nearest(stranger)
