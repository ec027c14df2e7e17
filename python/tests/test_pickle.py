"""Graphs and patches go through pickles and to other processes, and come back the same."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from pathlib import Path

import joblib
import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array
from test_estimator import graph, small

import local2global as l2g


def again(thing):
    return pickle.loads(pickle.dumps(thing))


def weighted() -> nx.Graph:
    whole = graph()
    for number, (_, _, data) in enumerate(whole.edges(data=True)):
        data["weight"] = 1.0 + number % 3
    return whole


def graphs() -> dict[str, l2g.Graph]:
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(300, 4)).astype(np.float32)
    sparse = csr_array((dense > 1).astype(np.float32))
    return {
        "integers": l2g.read_graph(np.array(graph().edges) + 7),
        "names": l2g.read_graph(nx.relabel_nodes(graph(), str)),
        "objects": l2g.read_graph(nx.relabel_nodes(graph(), lambda node: (node, "x"))),
        "weights": l2g.read_graph(weighted()),
        "directed": l2g.read_graph(graph(), symmetrise=False),
        "dense": l2g.read_graph(graph(), features=dense, labels=rng.integers(-1, 3, 300)),
        "sparse": l2g.read_graph(graph(), features=sparse, labels=rng.integers(0, 2, (300, 3))),
        "text": l2g.read_graph(graph(), labels=["a", None, "c"] * 100),
        "held out": l2g.read_graph(graph(), hold_out=0.1),
        "cora": l2g.read_graph("cora"),
    }


@pytest.mark.parametrize("name", graphs())
def test_a_graph_comes_back_the_same(name: str):
    before = graphs()[name]
    after = again(before)
    assert pickle.dumps(after.native) == pickle.dumps(before.native)
    assert after.summary == before.summary
    assert after.nodes.tolist() == before.nodes.tolist()
    assert after.has_same_edges(before)
    assert np.array_equal(after.edge_index, before.edge_index)
    for attribute in ("x", "labels", "edge_weight"):
        assert np.array_equal(getattr(after, attribute), getattr(before, attribute))
    options = {"method": "spectral"}
    assert small(**options).fit_transform(after).tobytes() == (
        small(**options).fit_transform(before).tobytes()
    )
    assert copy.deepcopy(before).has_same_edges(before)


def test_a_graph_of_a_run_folder_is_pickled_by_content(tmp_path: Path):
    model = small(method="spectral", run_dir=tmp_path / "run").fit(weighted())
    stored = l2g.Graph.stored(tmp_path / "run")
    content = pickle.dumps(stored)
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    assert pickle.loads(content).has_same_edges(model.graph_)


def test_a_broken_pickle_makes_no_graph():
    restore, (state,) = l2g.read_graph(graph()).native.__reduce__()
    with pytest.raises(l2g.GraphError, match="leads to node 900"):
        restore({**state, "targets": np.where(state["targets"] == 299, 900, state["targets"])})
    with pytest.raises(ValueError, match="has no `offsets`"):
        restore({key: value for key, value in state.items() if key != "offsets"})
    with pytest.raises(l2g.GraphError, match="found 3 labels"):
        restore({**state, "labels": (np.zeros(3, np.int32), [])})


def spectral(patch: l2g.GraphPatch) -> np.ndarray:
    assert patch.seed > 0
    _, vectors = np.linalg.eigh(patch.graph.adjacency().toarray())
    return vectors[:, -patch.dim :]


@pytest.fixture(scope="module")
def patches() -> l2g.Patches:
    whole = l2g.read_graph(weighted())
    return l2g.make_patches(whole, l2g.partition(whole, 3, dim=2), dim=2)


def test_patches_come_back_the_same(patches):
    after = again(patches)
    assert repr(after) == repr(patches)
    assert after.report == patches.report
    assert np.array_equal(after.patch_edges, patches.patch_edges)
    for one, other in zip(after, patches):
        assert (one.name, one.seed, one.dim) == (other.name, other.seed, other.dim)
        assert np.array_equal(one.nodes, other.nodes)
        assert np.array_equal(one.weights, other.weights)
    rows = [l2g.embed_patches(these, method="spectral") for these in (patches, after)]
    assert all(np.array_equal(one, other) for one, other in zip(*rows))
    results = [l2g.align(*these) for these in zip((patches, after), rows)]
    assert results[0].embedding.tobytes() == results[1].embedding.tobytes()


def test_a_patch_travels_without_the_whole_graph(patches):
    patch = again(patches[0])
    assert patch.graph.has_same_edges(patches[0].graph)
    assert len(pickle.dumps(patches[0])) < len(pickle.dumps(patches))
    assert np.array_equal(spectral(patch), spectral(patches[0]))


def test_patches_are_embedded_in_other_processes(patches):
    expected = [spectral(patch) for patch in patches]
    by_joblib = joblib.Parallel(n_jobs=2)(joblib.delayed(spectral)(patch) for patch in patches)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        by_pool = pool.map(spectral, patches)
    for rows in zip(expected, by_joblib, by_pool):
        assert np.array_equal(rows[0], rows[1])
        assert np.array_equal(rows[0], rows[2])


def test_joblib_maps_large_arrays_of_a_graph():
    count = 200_000
    ring = l2g.read_graph(np.stack([np.arange(count), (np.arange(count) + 1) % count]))
    sizes = joblib.Parallel(n_jobs=2)(joblib.delayed(_num_edges)(ring) for _ in range(2))
    assert sizes == [count, count]


def _num_edges(whole: l2g.Graph) -> int:
    return whole.num_edges
