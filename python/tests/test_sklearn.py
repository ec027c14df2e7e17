"""The estimator in the hands of scikit-learn."""

from __future__ import annotations

import warnings

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.neighbors import kneighbors_graph
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_array, check_is_fitted
from test_estimator import graph, small

import local2global as l2g
from local2global import Local2Global

WITHOUT_DATA = [
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_mixin_order",
]
"""The checks that need no matrix of samples and features, which a graph is not."""


@pytest.mark.parametrize("name", WITHOUT_DATA)
def test_checks_without_data_pass(name: str):
    getattr(estimator_checks, name)("Local2Global", small())


def test_tags_say_that_a_graph_is_no_matrix():
    tags = get_tags(Local2Global())
    assert not tags.input_tags.two_d_array
    assert tags.requires_fit
    assert not tags.target_tags.required


class OfNeighbours(Local2Global):
    """Rows of a matrix, each joined to its nearest: what the checks with data can be run on."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.string = False
        return tags

    def fit(self, X, y=None):  # noqa: N803
        return super().fit(neighbours(X))

    def fit_transform(self, X, y=None):  # noqa: N803
        return self.fit(X).embedding_

    def transform(self, X):  # noqa: N803
        return super().transform(neighbours(X))

    def score(self, X, y=None):  # noqa: N803
        return super().score(neighbours(X))


def neighbours(matrix):
    rows = check_array(matrix, accept_sparse="csr", ensure_min_samples=8)
    near = kneighbors_graph(rows, 5)
    # A ring keeps it in one piece.
    ring = nx.to_scipy_sparse_array(nx.cycle_graph(near.shape[0]))
    return near + near.T + ring


ONE_GRAPH = "an embedding belongs to one graph: part of the rows, or other rows, are another graph"
CANNOT_APPLY = {
    "check_methods_subset_invariance": ONE_GRAPH,
    "check_methods_sample_order_invariance": ONE_GRAPH,
    "check_fit_idempotent": ONE_GRAPH,
}
"""Checks that are not for graphs, and why."""


@parametrize_with_checks(
    [OfNeighbours(n_components=2, patches=1, method="spectral", min_overlap=3, threads=1)],
    expected_failed_checks=lambda _: CANNOT_APPLY,
    xfail_strict=True,
)
def test_checks_with_data_pass_on_a_graph_of_neighbours(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", l2g.Local2GlobalWarning)
        check(estimator)


def test_n_components_is_another_name_of_dim():
    assert small(dim=None, n_components=3).fit(graph()).embedding_.shape == (300, 3)
    assert small(dim=3, n_components=3).fit(graph()).embedding_.shape == (300, 3)
    model = clone(Local2Global(n_components=3))
    assert model.get_params()["n_components"] == 3
    assert repr(model) == "Local2Global(n_components=3)"
    model = small(dim=None).set_params(n_components=5)
    assert model.fit_transform(graph()).shape == (300, 5)
    with pytest.raises(ValueError, match="dim is 4, but n_components is 3; they are the same"):
        small(dim=4, n_components=3).fit(graph())


def test_both_names_give_the_same_bytes():
    by_dim = small(dim=3).fit_transform(graph())
    assert by_dim.tobytes() == small(dim=None, n_components=3).fit_transform(graph()).tobytes()


def test_an_estimator_that_is_not_fitted_says_so():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        check_is_fitted(small())
    for name in ("transform", "score"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(small(), name)(graph())
    check_is_fitted(small(method="spectral").fit(graph()))


def test_it_is_a_step_of_a_pipeline():
    whole = graph()
    side = np.array([whole.nodes[node]["pos"][0] > 0.5 for node in whole.nodes])
    model = make_pipeline(small(dim=8, method="spectral"), LogisticRegression())
    model.fit(whole, side)
    assert model.predict(whole).shape == (300,)
    assert model.score(whole, side) > 0.6
    last = Pipeline([("embed", small(method="spectral"))])
    assert last.fit_transform(whole).shape == (300, 4)
    last.set_params(embed__n_components=None, embed__dim=2)
    assert last.fit_transform(whole).shape == (300, 2)
    with pytest.raises(ValueError, match="is not the graph that was fitted"):
        model.predict(graph(200))


def test_transform_gives_the_rows_of_the_graph_that_was_fitted():
    features = np.random.default_rng(0).normal(size=(300, 3))
    model = small(method="spectral").fit(graph(), features=features)
    assert model.transform(graph()) is model.embedding_
    assert model.transform(model.graph_) is model.embedding_
    other = graph()
    other.remove_edge(*next(iter(other.edges)))
    with pytest.raises(ValueError, match=r"Graph\(300 nodes, .*use fit_transform"):
        model.transform(other)


def edges() -> np.ndarray:
    return np.array(graph().edges)


def test_the_score_is_the_auc_of_edges():
    model = small(dim=8, method="spectral").fit(edges())
    fit = model.score(edges())
    assert 0.8 < fit <= 1.0
    assert model.score(edges()) == fit
    assert abs(model.score() - fit) < 0.05
    assert model.score(graph().edges) == fit
    strangers = np.random.default_rng(0).integers(0, 300, (500, 2))
    assert model.score(strangers) < fit - 0.2
    with pytest.raises(ValueError, match="no edge of the graph to score joins two nodes"):
        model.score(edges() + 1000)


def test_held_out_edges_are_scored_without_a_graph():
    model = small(dim=8, method="spectral", settings={"graph.hold_out": 0.1}).fit(edges())
    expected = l2g.evaluate(model.graph_, model.embedding_, tasks=["link-prediction"])
    assert model.score() == expected["link_prediction"]["auc"]["l2g"]


def test_nodes_are_found_by_name():
    named = nx.relabel_nodes(graph(), lambda node: f"node {node}")
    model = small(dim=8, method="spectral")
    by_name = model.fit(named).score(list(named.edges))
    assert 0.8 < by_name <= 1.0


@pytest.mark.filterwarnings("ignore::local2global.Local2GlobalWarning")
def test_a_search_over_folds_of_edges_finds_the_better_dimension():
    folds = KFold(3, shuffle=True, random_state=0)
    model = Local2Global(method="spectral", patches=2, min_overlap=16)
    search = GridSearchCV(model, {"n_components": [1, 8]}, cv=folds).fit(edges())
    assert search.best_params_ == {"n_components": 8}
    assert 0.7 < search.best_score_ < 1.0
    assert search.best_estimator_.embedding_.shape == (300, 8)
    assert search.score(edges()) > search.best_score_
    again = cross_val_score(model.set_params(n_components=8), edges(), cv=folds)
    assert np.array_equal(
        again, [search.cv_results_[f"split{fold}_test_score"][1] for fold in range(3)]
    )


@pytest.mark.filterwarnings("ignore::local2global.Local2GlobalWarning")
def test_a_search_may_use_several_processes():
    model = Local2Global(method="spectral", patches=2, min_overlap=16, threads=1)
    scores = [
        GridSearchCV(model, {"dim": [4, 8]}, cv=KFold(2, shuffle=True, random_state=0), n_jobs=jobs)
        .fit(edges())
        .cv_results_["mean_test_score"]
        .tolist()
        for jobs in (1, 2)
    ]
    assert scores[0] == scores[1]
