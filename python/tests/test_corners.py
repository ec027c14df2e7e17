"""What is easily got wrong: odd ids, odd shapes, settings in two places."""

import numpy as np
import pytest

import local2global as l2g
from local2global import AlignmentProblem, Patch


def test_ids_in_lists_stay_what_they_are():
    large = l2g.read_graph([(2**63 + 1, 5), (2**63 + 2, 5), (5, 6)])
    assert large.nodes.tolist() == [5, 6, 2**63 + 1, 2**63 + 2]
    mixed = l2g.read_graph([(1, "1"), ("1", 2)])
    assert mixed.nodes.tolist() == [1, "1", 2]
    weighted = l2g.read_graph([("a", "b", 0.5), ("b", "c", 0.25)])
    assert weighted.nodes.tolist() == ["a", "b", "c"]
    assert sorted(weighted.edge_weight.tolist()) == [0.25, 0.25, 0.5, 0.5]
    index = l2g.read_graph([[0, 1, 2], [1, 2, 3]])
    assert index.nodes.tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="include -1"):
        l2g.read_graph([(0, -1), (1, 0)])


def test_features_of_a_table_follow_its_rows():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([("b", "c"), ("a", "b")], columns=["src", "dst"])
    graph = l2g.read_graph(table, features=[[0], [1], [2]])
    found = dict(zip(graph.nodes.tolist(), graph.features[:, 0].tolist()))
    assert found == {"b": 0, "c": 1, "a": 2}


def test_labels_that_are_no_class_numbers_are_refused():
    for label in (2**32, 2**31 - 1):
        with pytest.raises(ValueError, match=f"include {label}"):
            l2g.read_graph([(0, 1), (1, 2)], labels=[0, label, 1])


def test_clusters_may_have_any_numbers():
    ring = l2g.read_graph([(k, (k + 1) % 60) for k in range(60)])
    numbers = np.arange(60) // 30
    few = l2g.make_patches(ring, numbers, dim=2, min_overlap=4)
    many = l2g.make_patches(ring, numbers * 2**32, dim=2, min_overlap=4)
    assert [patch.nodes.tolist() for patch in few] == [patch.nodes.tolist() for patch in many]
    with pytest.raises(ValueError, match="axes"):
        l2g.make_patches(ring, numbers.reshape(-1, 1), dim=2)


def test_a_part_of_a_graph_knows_its_size_and_can_be_embedded():
    ring = l2g.read_graph([(k, (k + 1) % 60) for k in range(60)])
    part = ring.subgraph(range(10, 40))
    assert part.summary["nodes"] == 30
    model = l2g.Local2Global(dim=2, patches=1, method="spectral").fit(part)
    assert model.embedding_.shape == (30, 2)


def two_patches(size=1.0):
    points = np.random.default_rng(3).normal(size=(30, 2))
    return points, [Patch(range(20), points[:20]), Patch(range(10, 30), size * points[10:] + 1)]


def test_patch_edges_are_pairs():
    _, patches = two_patches()
    for wrong in ([[0], [1]], [[0, 1, 0], [1, 0, 1]], [0, 1]):
        with pytest.raises(ValueError, match="E x 2"):
            AlignmentProblem(patches, patch_edges=wrong).align_patches()


def test_scale_is_a_setting_too():
    points, patches = two_patches(size=3.0)
    problem = AlignmentProblem(patches, scale=True)
    aligned = problem.get_aligned_embedding()
    ratio = np.linalg.norm(aligned[29] - aligned[0]) / np.linalg.norm(points[29] - points[0])
    assert np.allclose(
        np.linalg.norm(aligned - aligned[0], axis=1),
        ratio * np.linalg.norm(points - points[0], axis=1),
    )
    assert problem.get_aligned_embedding(scale=False) is not aligned
    with pytest.raises(ValueError, match="read-only"):
        aligned[:] = 0


def test_more_threads_than_any_machine_has_are_refused():
    _, patches = two_patches()
    with pytest.raises(ValueError, match="from 1 to 1024"):
        AlignmentProblem(patches, threads=10**5).align_patches()


def test_settings_of_a_graph_in_memory_name_no_other(tmp_path):
    l2g.Local2Global(dim=2, patches=2, method="spectral", run_dir=tmp_path).fit(
        [(k, (k + 1) % 80) for k in range(80)]
    )
    assert 'input = "a graph in memory"' in (tmp_path / "run.toml").read_text()
