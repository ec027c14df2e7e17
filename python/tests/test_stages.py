"""The stages as functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import local2global as l2g


def test_the_stages_give_what_the_whole_way_gives(cora):
    options = {"dim": 4, "random_state": 5}
    clusters = l2g.partition(cora, 6, **options)
    patches = l2g.make_patches(cora, clusters, **options)
    coordinates = l2g.embed_patches(patches, method="gae", epochs=5, random_state=5)
    result = l2g.align(patches, coordinates, random_state=5, method="eigenvectors")
    # The whole way has landmarks and generalised Procrustes for models trained apart.
    plain = {"patch": {"landmarks": 0}, "align": {"method": "eigenvectors"}}
    model = l2g.Local2Global(method="gae", patches=6, epochs=5, settings=plain, **options).fit(cora)
    assert result.embedding.tobytes() == model.embedding_.tobytes()
    assert result.diagnostics == model.diagnostics_
    assert patches.report == model.report_["patch"]
    assert result.nodes.tolist() == list(range(2485))


def test_patches_overlap_and_know_their_graph(cora):
    patches = l2g.make_patches(cora, l2g.partition(cora, 5, dim=8), dim=8, degree=2)
    assert len(patches) == 5
    assert repr(patches).startswith("Patches(5 of ")
    for a, b in patches.patch_edges:
        assert len(np.intersect1d(patches[a].nodes, patches[b].nodes)) >= 32
    covered = np.unique(np.concatenate([patch.nodes for patch in patches]))
    assert np.array_equal(covered, np.arange(cora.num_nodes))
    patch = patches[2]
    assert repr(patch) == f"GraphPatch(patch-00002, {len(patch.nodes)} nodes)"
    assert np.array_equal(patch.x, cora.x[patch.nodes])
    whole, part = cora.adjacency(), patch.graph.adjacency()
    assert (whole[patch.nodes][:, patch.nodes] != part).nnz == 0
    assert patch.weights.max() <= 1.0
    assert len({patch.seed for patch in patches}) == 5


def test_embeddings_in_a_folder_are_kept(cora, tmp_path: Path):
    patches = l2g.make_patches(cora, l2g.partition(cora, 3, dim=2), dim=2)
    first = l2g.embed_patches(patches, method="spectral", folder=tmp_path)
    stamp = (tmp_path / "patch-00001.npy").stat().st_mtime_ns
    again = l2g.embed_patches(patches, method="spectral", folder=tmp_path)
    assert (tmp_path / "patch-00001.npy").stat().st_mtime_ns == stamp
    assert all(np.array_equal(a, b) for a, b in zip(first, again))
    assert first[0].dtype == np.float32


def test_an_embedder_in_the_stage(cora):
    patches = l2g.make_patches(cora, l2g.partition(cora, 3, dim=2), dim=2)
    rows = l2g.embed_patches(patches, embedder=lambda patch: patch.x[:, :2])
    assert np.array_equal(rows[1], cora.x[patches[1].nodes][:, :2])


def test_an_aligned_embedding_is_better_than_one_without_transforms(cora):
    patches = l2g.make_patches(cora, l2g.partition(cora, 10, dim=8), dim=8)
    result = l2g.align(patches, l2g.embed_patches(patches, method="spectral"))
    options = {"no_trans": result.no_trans, "tasks": ["reconstruction"]}
    scores = l2g.evaluate(cora, result.embedding, **options)
    assert scores["auc"]["l2g"] > scores["auc"]["no_trans"]
    distance = l2g.evaluate(cora, result.embedding, score="distance", **options)
    assert distance["auc"] != scores["auc"]


def test_held_out_edges_and_labels_are_scored():
    graph = l2g.read_graph("cora", hold_out=0.1, random_state=3)
    assert graph.summary["held_out_edges"] == 507
    vectors = l2g.Local2Global(dim=16, patches=2, method="spectral").fit_transform(graph)
    scores = l2g.evaluate(graph, vectors, repeats=2)
    assert scores["link_prediction"]["auc"]["l2g"] > 0.6
    assert {"reconstruction", "link_prediction", "classification"} <= scores.keys()
    with pytest.raises(l2g.HoldOutError, match="cannot hold out"):
        l2g.read_graph("cora", hold_out=0.9)


def test_wrong_arguments_are_named(cora):
    with pytest.raises(ValueError, match="dim is 0"):
        l2g.make_patches(cora, [0], dim=0)
    with pytest.raises(TypeError, match="clusters is a bool"):
        l2g.partition(cora, True)
    with pytest.raises(ValueError, match="threads is -2"):
        l2g.partition(cora, 3, threads=-2)
    with pytest.raises(l2g.ConfigError, match="did you mean `partition.passes`"):
        l2g.partition(cora, method="fennel", pases=3)
    with pytest.raises(l2g.PatchError, match="found clusters for 3 nodes"):
        l2g.make_patches(cora, [0, 1, 2])
    with pytest.raises(l2g.EvaluateError, match="has 3 rows, but the graph has 2485 nodes"):
        l2g.evaluate(cora, np.ones((3, 2)))
    with pytest.raises(l2g.ConfigError, match="`angle` is none of inner-product"):
        l2g.evaluate(cora, np.ones((2485, 2)), score="angle")
    patches = l2g.make_patches(cora, l2g.partition(cora, 3, dim=2), dim=2)
    with pytest.raises(ValueError, match="found coordinates of 1 patches, needed 3"):
        l2g.align(patches, [np.ones((3, 2))])
    with pytest.raises(ValueError, match="strictly ascending"):
        cora.subgraph([2, 1])
    with pytest.raises(ValueError, match="below 2485"):
        cora.subgraph([2, 2485])
