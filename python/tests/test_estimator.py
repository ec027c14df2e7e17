"""The whole way in one object."""

from __future__ import annotations

import copy
import json
import os
import pickle
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone

import local2global as l2g
from local2global import Local2Global


def small(**params) -> Local2Global:
    """A model that is trained in no time."""
    return Local2Global(**{"dim": 4, "patches": 3, "epochs": 5, "hidden": 1, **params})


def graph(num_nodes: int = 300) -> nx.Graph:
    ring = nx.random_geometric_graph(num_nodes, 0.15, seed=3)
    ring.add_edges_from((node, (node + 1) % num_nodes) for node in range(num_nodes))
    return ring


def test_parameters_are_those_of_the_constructor():
    model = Local2Global(dim=3, epochs=7)
    assert model.get_params()["dim"] == 3
    assert model.set_params(dim=5, method="gae") is model
    assert repr(model) == "Local2Global(dim=5, method='gae', epochs=7)"
    assert repr(Local2Global()) == "Local2Global()"
    with pytest.raises(ValueError, match="there is no parameter 'dims'"):
        model.set_params(dims=5)


def test_scikit_learn_can_clone_it():
    model = Local2Global(dim=3, settings={"align": {"scale": True}})
    twin = clone(model)
    assert twin is not model
    assert twin.get_params() == model.get_params()


def test_it_can_be_copied_and_pickled():
    model = small(method="spectral").fit(graph())
    assert copy.copy(model).get_params() == model.get_params()
    loaded = pickle.loads(pickle.dumps(model))
    assert np.array_equal(loaded.embedding_, model.embedding_)
    assert loaded.get_params() == model.get_params()
    assert loaded.graph_.has_same_edges(model.graph_)
    assert loaded.score() == model.score()


def test_string_names_in_five_lines():
    named = nx.relabel_nodes(graph(), lambda node: f"node {node}")
    model = small()
    vectors = model.fit_transform(named)
    assert vectors.dtype == np.float32
    assert vectors.shape == (300, 4)
    assert model.nodes_.tolist() == list(named.nodes)
    assert model.embedding_ is vectors
    assert isinstance(model.diagnostics_["verdict"], str)
    assert model.report_["patch"]["patches"] == 3


def test_rows_are_in_the_order_of_the_caller():
    pairs = np.array(graph().edges)
    order = np.random.default_rng(1).permutation(300)
    shuffled = nx.Graph()
    shuffled.add_nodes_from(order.tolist())
    shuffled.add_edges_from(pairs.tolist())
    assert small(method="spectral").fit(shuffled).nodes_.tolist() == order.tolist()


def test_same_seed_same_bytes_on_any_number_of_threads():
    first = small(threads=1).fit_transform(graph())
    assert first.tobytes() == small(threads=3).fit_transform(graph()).tobytes()
    assert first.tobytes() != small(random_state=1).fit_transform(graph()).tobytes()


def test_no_seed_is_a_fresh_one_that_can_be_repeated():
    model = small(random_state=None)
    vectors = model.fit_transform(graph())
    assert vectors.tobytes() == small(random_state=model.seed_).fit_transform(graph()).tobytes()
    assert small(random_state=None).fit(graph()).seed_ != model.seed_


def test_a_fit_that_fails_leaves_the_earlier_one():
    model = small(method="spectral").fit(graph())
    before = (model.embedding_, model.graph_, model.nodes_)
    with pytest.raises(l2g.PartitionError):
        model.set_params(patches=999).fit(graph(200))
    assert (model.embedding_, model.graph_, model.nodes_) == before


def test_what_comes_with_fit_is_not_there_before():
    model = small()
    assert not hasattr(model, "predict")
    with pytest.raises(AttributeError, match="not fitted yet"):
        _ = model.embedding_


def patch_files(folder: Path) -> list[Path]:
    return sorted((folder / "run/4-embeddings").glob("patch-*.npy"))


def test_a_run_folder_is_kept_and_resumed(tmp_path: Path):
    model = small(run_dir=tmp_path / "run")
    first = model.fit_transform(graph())
    stages = [stage["stage"] for stage in model.report_["stages"]]
    assert stages == ["graph", "partition", "patch", "embed", "align"]
    assert all(stage["reason"] for stage in model.report_["stages"])
    assert np.array_equal(np.load(tmp_path / "run/5-alignment/embedding.npy"), first)
    stamps = [file.stat().st_mtime_ns for file in patch_files(tmp_path)]
    assert model.fit_transform(graph()).tobytes() == first.tobytes()
    assert not any(stage["reason"] for stage in model.report_["stages"])
    patch_files(tmp_path)[1].unlink()
    assert model.fit_transform(graph()).tobytes() == first.tobytes()
    again = [file.stat().st_mtime_ns for file in patch_files(tmp_path)]
    assert [now == then for now, then in zip(again, stamps)] == [True, False, True]
    assert "epochs = 5" in (tmp_path / "run/run.toml").read_text()


def test_other_names_of_nodes_are_noticed(tmp_path: Path):
    edges = np.array(graph().edges).T

    def names(renamed: int) -> list[int]:
        other = np.where(edges == 150, renamed, edges)
        return small(run_dir=tmp_path, method="spectral").fit(other).nodes_.tolist()

    assert 150 in names(150)
    assert 9999 in names(9999)
    assert 9998 in names(9998)


def test_clusters_can_be_given():
    clusters = np.arange(300) // 100
    model = small(method="spectral", patches=clusters, min_overlap=8).fit(graph())
    assert model.report_["partition"]["sizes"] == [100, 100, 100]
    with pytest.raises(ValueError, match="patches has 299 entries, but the graph has 300 nodes"):
        small(patches=clusters[1:]).fit(graph())


def test_given_clusters_follow_the_nodes_that_are_kept():
    broken = graph()
    broken.add_edge("far", "away")
    clusters = [*(np.arange(300) // 100), 7, 7]
    with pytest.warns(l2g.Local2GlobalWarning):
        model = small(method="spectral", patches=clusters, min_overlap=8).fit(broken)
    assert model.report_["partition"]["sizes"] == [100, 100, 100]


def test_other_clusters_are_noticed(tmp_path: Path):
    def sizes(clusters):
        model = small(method="spectral", patches=clusters, min_overlap=8, run_dir=tmp_path)
        return model.fit(graph()).report_["partition"]["sizes"]

    assert sizes(np.arange(300) // 100) == [100, 100, 100]
    assert sizes(np.arange(300) // 150) == [150, 150]


def test_a_folder_in_use_is_refused(tmp_path: Path):
    fcntl = pytest.importorskip("fcntl")
    with open(tmp_path / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        with pytest.raises(l2g.PipelineError, match=f"is in use by process {os.getpid()}"):
            small(run_dir=tmp_path).fit(graph())
    small(run_dir=tmp_path).fit(graph())


def test_auto_makes_ten_patches_of_small_graphs():
    model = Local2Global(dim=2, patches="auto", method="spectral", min_overlap=8).fit(graph())
    assert model.report_["partition"]["clusters"] == 10
    settings = {"partition": {"patch_size": 100}}
    model = Local2Global(dim=2, method="spectral", min_overlap=8, settings=settings).fit(graph())
    assert model.report_["partition"]["clusters"] == 3


def test_settings_reach_every_stage():
    settings = {
        "graph": {"component": "all"},
        "partition": {"method": "fennel"},
        "patch.degree": 3,
        "embed": {"power_iterations": 4},
        "align.weights": "unit",
    }
    model = small(method="spectral", settings=settings).fit(graph())
    assert model.diagnostics_["settings"]["weights"] == "unit"
    with pytest.raises(l2g.ConfigError, match="did you mean `align.weights`"):
        small(settings={"align": {"weigths": "unit"}}).fit(graph())


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"method": "vga"}, l2g.ConfigError, "`vga` is none of auto"),
        ({"patches": "many"}, ValueError, "patches is 'many'"),
        ({"patches": 301}, l2g.PartitionError, "301 clusters were asked for"),
        ({"epochs": 0}, l2g.EmbedError, "`embed.epochs` is 0; needed at least 1"),
        ({"min_overlap": 2}, l2g.PatchError, "`patch.min_overlap` is 2; needed at least 5"),
        ({"dim": 0}, ValueError, "dim is 0; it must be at least 1"),
        ({"dim": True}, TypeError, "dim is a bool; it must be an integer"),
        ({"dim": 2.0}, TypeError, "dim is a float; it must be an integer"),
        ({"dim": None, "n_components": 0}, ValueError, "n_components is 0"),
        ({"patches": True}, TypeError, "patches is a bool; it must be an integer"),
        ({"patches": 0}, ValueError, "patches is 0; it must be at least 1"),
        ({"epochs": True}, TypeError, "epochs is a bool; it must be an integer"),
        ({"runs": False}, TypeError, "runs is a bool; it must be an integer"),
        ({"min_overlap": np.True_}, TypeError, "min_overlap is a bool"),
        ({"threads": -1}, ValueError, "threads is -1; it must be from 1 to 1024"),
        ({"random_state": True}, TypeError, "random_state is a bool"),
        ({"random_state": -1}, ValueError, "random_state is -1"),
        ({"random_state": "x"}, TypeError, "random_state is a str"),
        ({"run_dir": "/proc/nowhere"}, l2g.FileError, "could not create"),
    ],
)
def test_wrong_parameters_are_named(params, error, message):
    with pytest.raises(error, match=message):
        small(**params).fit(graph())


class Spectral:
    """An embedder in Python that counts its calls."""

    def __init__(self, digest=None):
        self.calls = []
        if digest is not None:
            self.digest = digest

    def __call__(self, patch: l2g.GraphPatch) -> np.ndarray:
        self.calls.append(patch.name)
        assert patch.edge_index.max() < patch.num_nodes == len(patch.nodes)
        assert patch.graph.num_nodes == patch.num_nodes
        _, vectors = np.linalg.eigh(patch.graph.adjacency().toarray())
        return vectors[:, -patch.dim :]


def test_any_function_is_an_embedder(tmp_path: Path):
    embedder = Spectral()
    model = small(embedder=embedder, run_dir=tmp_path)
    assert model.fit_transform(graph()).shape == (300, 4)
    assert embedder.calls == ["patch-00000", "patch-00001", "patch-00002"]
    record = json.loads((tmp_path / "embedder/patch-00002.json").read_text())
    assert (record["embedder"], record["dim"]) == ("Spectral", 4)
    model.fit(graph())
    assert len(embedder.calls) == 6


def test_an_embedder_with_a_digest_is_resumed(tmp_path: Path):
    embedder = Spectral("version 1")
    model = small(embedder=embedder, run_dir=tmp_path)
    first = model.fit_transform(graph())
    assert model.fit_transform(graph()).tobytes() == first.tobytes()
    assert len(embedder.calls) == 3
    truncated = tmp_path / "embedder/patch-00001.npy"
    truncated.write_bytes(truncated.read_bytes()[:-100])
    assert model.fit_transform(graph()).tobytes() == first.tobytes()
    assert embedder.calls[3:] == ["patch-00001"]
    embedder.digest = "version 2"
    model.fit(graph())
    assert len(embedder.calls) == 7


def test_features_reach_the_embedder():
    features = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    model = small(embedder=lambda patch: patch.x)
    vectors = model.fit_transform(graph(), features=features)
    # The patches hold the same coordinates, so nothing is moved.
    assert np.allclose(vectors - vectors[0], features - features[0], atol=1e-5)


@pytest.mark.parametrize(
    ("embedder", "message"),
    [
        (lambda patch: np.ones((3, 4)), "patch-00000 has shape 3 x 4, but the patch needs"),
        (lambda patch: np.full((patch.num_nodes, 4), np.nan), "row 0 .* is not finite"),
        (lambda patch: 1 / 0, "embedder failed on patch-00000: ZeroDivisionError"),
    ],
)
def test_what_an_embedder_gives_is_checked(embedder, message):
    with pytest.raises(l2g.EmbedError, match=message):
        small(embedder=embedder).fit(graph())
