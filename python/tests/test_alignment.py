"""Alignment on its own, under the authors' names."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import moved_patches, orthogonal, rigid_error

import local2global as l2g

PROBLEMS = [l2g.AlignmentProblem, l2g.WeightedAlignmentProblem]


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize(("num_patches", "dim"), [(2, 3), (12, 1), (30, 8), (12, 64)])
def test_noise_free_patches_are_stitched_back_exactly(kind, num_patches, dim):
    truth, patches = moved_patches(num_patches, dim, 2 * (dim + 1))
    aligned = kind(patches).get_aligned_embedding()
    assert aligned.dtype == np.float64
    assert rigid_error(aligned, truth) < 1e-10


def test_single_precision_is_enough_for_single_precision():
    truth, patches = moved_patches(10, 4, 20, dtype=np.float32)
    assert rigid_error(l2g.AlignmentProblem(patches).get_aligned_embedding(), truth) < 1e-6


def test_the_attributes_are_the_transforms():
    _, patches = moved_patches(5, 3, 10)
    problem = l2g.WeightedAlignmentProblem(patches)
    assert (problem.n_patches, problem.dim, problem.n_nodes) == (5, 3, 100)
    assert np.array_equal(problem.rotations, np.tile(np.eye(3), (5, 1, 1)))
    assert np.array_equal(problem.scales, np.ones(5))
    assert np.array_equal(problem.shifts, np.zeros((5, 3)))
    assert problem.align_patches() is problem
    aligned = problem.get_aligned_embedding()
    for number, patch in enumerate(patches):
        moved = problem.scales[number] * patch.coordinates @ problem.rotations[number]
        moved = moved + problem.shifts[number]
        assert np.allclose(moved, aligned[patch.nodes])
        assert np.allclose(problem.aligned_patch(number).coordinates, moved)


def test_scales_are_found_on_request():
    truth, patches = moved_patches(6, 3, 12)
    sizes = np.array([1.0, 2.0, 0.5, 4.0, 1.0, 3.0])
    for patch, size in zip(patches, sizes):
        patch.coordinates *= size
    problem = l2g.AlignmentProblem(patches)
    scaled = problem.get_aligned_embedding(scale=True)
    products = problem.scales * sizes
    assert np.allclose(products, products[0])
    assert rigid_error(scaled / products[0], truth) < 1e-10
    unscaled = problem.get_aligned_embedding()
    assert rigid_error(unscaled / products[0], truth) > 1e-3


def test_memory_maps_and_foreign_layouts_give_the_same_bytes(tmp_path: Path):
    _, patches = moved_patches(6, 4, 10)
    expected = l2g.AlignmentProblem(patches).get_aligned_embedding()
    others = []
    for number, patch in enumerate(patches):
        file = tmp_path / f"{number}.npy"
        np.save(file, patch.coordinates)
        layouts = [
            np.load(file, mmap_mode="r"),
            np.asfortranarray(patch.coordinates),
            np.repeat(patch.coordinates, 2, axis=0)[::2],
            patch.coordinates.astype(">f8"),
        ]
        nodes = patch.nodes.astype([np.int64, np.int32, np.uint16, np.uint64][number % 4])
        others.append(l2g.Patch(nodes, layouts[number % 4]))
    assert np.array_equal(l2g.AlignmentProblem(others).get_aligned_embedding(), expected)
    out = np.memmap(tmp_path / "out", dtype=np.float64, mode="w+", shape=expected.shape)
    assert l2g.AlignmentProblem(patches).get_aligned_embedding(out=out) is out
    assert np.array_equal(out, expected)


def test_arrays_in_c_order_are_not_copied():
    _, patches = moved_patches(3, 4, 10)
    before = [sys.getrefcount(patch.coordinates) for patch in patches]
    problem = l2g.AlignmentProblem(patches).align_patches()
    after = [sys.getrefcount(patch.coordinates) for patch in patches]
    # The engine holds on to the arrays themselves, since it has no copy.
    assert all(now > then for now, then in zip(after, before))
    del problem
    assert [sys.getrefcount(patch.coordinates) for patch in patches] == before


def test_only_given_patch_edges_are_used():
    _, patches = moved_patches(6, 2, 8)
    chain = [(number, number + 1) for number in range(5)]
    result = l2g.align(patches, patch_edges=chain)
    assert result.patch_edges.tolist() == [list(edge) for edge in chain]
    assert l2g.align(patches).patch_edges.shape == (6, 2)


def test_min_overlap_selects_edges_or_refuses_them():
    _, patches = moved_patches(4, 2, 8)
    assert len(l2g.align(patches, min_overlap=8).patch_edges) == 4
    with pytest.raises(l2g.AlignError, match="4 connected components"):
        l2g.AlignmentProblem(patches, min_overlap=9).align_patches()
    edges = [(0, 1), (1, 2), (2, 3)]
    with pytest.raises(l2g.AlignError, match="`0` and `1` share 8 nodes, but min_overlap is 9"):
        l2g.AlignmentProblem(patches, edges, min_overlap=9).align_patches()


def test_any_non_negative_nodes_will_do():
    truth, patches = moved_patches(4, 2, 8)
    far = [l2g.Patch(patch.nodes * 1000 + 7, patch.coordinates) for patch in patches]
    problem = l2g.AlignmentProblem(far)
    assert rigid_error(problem.get_aligned_embedding(), truth) < 1e-10
    assert problem.nodes[1] == 1007


def test_robust_weights_survive_a_broken_patch():
    truth, patches = moved_patches(8, 2, 20)
    rng = np.random.default_rng(5)
    extra = (np.arange(60) * 5 + 3) % len(truth)
    patches.append(l2g.Patch(np.unique(extra), rng.normal(size=(len(np.unique(extra)), 2))))
    plain = l2g.WeightedAlignmentProblem(patches).get_aligned_embedding()
    robust = l2g.AlignmentProblem(patches, weights="robust").get_aligned_embedding()
    assert rigid_error(robust, truth) < rigid_error(plain, truth)


def test_diagnostics_say_how_well_patches_fit():
    _, patches = moved_patches(5, 3, 10)
    problem = l2g.WeightedAlignmentProblem(patches)
    assert problem.diagnostics["misfit_after"] < 1e-10
    assert isinstance(problem.diagnostics["verdict"], str)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_never_change_a_result(threads):
    _, patches = moved_patches(40, 5, 15)
    one = l2g.WeightedAlignmentProblem(patches, threads=threads).get_aligned_embedding()
    assert np.array_equal(one, l2g.WeightedAlignmentProblem(patches).get_aligned_embedding())


def test_wrong_patches_are_named():
    good = l2g.Patch(range(4), np.eye(4)[:, :2])
    with pytest.raises(l2g.AlignError, match="patch `1` has 3 rows, but the patch has 4 nodes"):
        l2g.AlignmentProblem([good, l2g.Patch(range(4), np.ones((3, 2)))]).align_patches()
    with pytest.raises(l2g.AlignError, match="node 1 stands twice in patch `0`"):
        l2g.AlignmentProblem([l2g.Patch([1, 1], np.ones((2, 2)))]).align_patches()
    with pytest.raises(ValueError, match="nodes of patch 0 include -1"):
        l2g.AlignmentProblem([l2g.Patch([0, -1], np.ones((2, 2)))]).align_patches()
    with pytest.raises(TypeError, match="must be integers"):
        l2g.AlignmentProblem([l2g.Patch([0.5, 1], np.ones((2, 2)))]).align_patches()
    with pytest.raises(ValueError, match="they must have two"):
        l2g.Patch([0, 1], np.ones(2))
    with pytest.raises(ValueError, match="no coordinates yet"):
        l2g.AlignmentProblem([l2g.Patch([0, 1])]).align_patches()
    with pytest.raises(ValueError, match="found no patches"):
        l2g.AlignmentProblem([])


def test_a_wrong_out_is_refused():
    _, patches = moved_patches(3, 2, 6)
    problem = l2g.AlignmentProblem(patches)
    with pytest.raises(ValueError, match="needed"):
        problem.get_aligned_embedding(out=np.empty((3, 2)))
    with pytest.raises(TypeError, match="float32 or float64"):
        problem.get_aligned_embedding(out=np.empty((36, 2), dtype=int))


def test_one_patch_is_its_own_frame():
    points = np.random.default_rng(0).normal(size=(5, 3)) @ orthogonal(3, np.random.default_rng(1))
    assert np.allclose(
        l2g.AlignmentProblem([l2g.Patch(range(5), points)]).get_aligned_embedding(), points
    )
