"""The whole way in one object, in the shape of scikit-learn."""

from __future__ import annotations

import hashlib
import inspect
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from .embedders import Embedder, embed_with
from .graph import Graph
from .inputs import as_graph, paths_of
from .links import pairs_among
from .near import nearest
from .patches import GraphPatch
from .progress import Progress, Report, reporting
from .report import Page, Picture, result_folder
from .scikit import estimator_tags, not_fitted
from .settings import count_of, make_settings, merge, seed_of, threads_of
from .stages import DEFAULT_DIM, evaluate

__all__ = ["Local2Global"]


class Local2Global:
    """Embed a graph in overlapping patches, and stitch the patches into one embedding.

    Parameters
    ----------
    dim
        How many coordinates each node gets; 128 by default.
    method
        How patches are embedded: `"auto"` (`"hops"` with features, `"walks"` without, or what
        validation clearly prefers), `"both"`, `"vgae"`, `"gae"`, `"dgi"`, `"spectral"` or
        `"command"`.
    patches
        How many patches; or `"auto"`, as many as it takes for 2000 nodes in each, but ten or
        more if the graph is not too small for that; or an array with the cluster of each node.
        Clusters too small for the overlaps are merged.
    random_state
        The seed: the same number gives the same bytes, on any number of threads. None takes a
        fresh one, to be found in `seed_`.
    embedder
        A function instead of `method`: it is given a patch (`.nodes`, `.edge_index`, `.x`,
        `.graph`, `.dim`, `.seed`) and returns one row per node.
    epochs, hidden, learning_rate, runs
        How patches are trained, as in the table `[embed]`.
    min_overlap
        How many nodes joined patches share at least; by default 129, less between small
        clusters, but at least `max(dim + 1, 32)`.
    component
        `"largest"` keeps the largest connected component, `"all"` everything.
    n_components
        Another name for `dim`, as in scikit-learn; give one of the two.
    settings
        Any other setting by table and key, as in `run.toml`:
        `{"align": {"weights": "robust"}}` or `{"patch.degree": 5}`.
    run_dir
        A folder for everything the stages leave. It is kept, and what lies there, made from the
        same inputs, is not made again. Without it, a temporary one is used.
    threads
        How many threads to use; all cores by default. Never changes a result.
    progress
        `"auto"` (a bar of tqdm, if it is there and somebody watches), True, False, or a
        callable that is given an `Event` a few times a second.

    Attributes
    ----------
    embedding_
        One row of float32 per node.
    nodes_
        The caller's node of each row, in the order of the caller.
    diagnostics_
        How well the patches fit; `diagnostics_["verdict"]` says it in words.
    report_
        What `partition` and `patch` found, and under `stages` why each stage was done (None if
        it was kept) and how long it took.
    graph_
        The graph that was embedded.
    seed_
        The seed that was used.

    An embedding belongs to the nodes it was made for, and a node that was not there has none:
    `transform` gives the rows of the graph that was fitted, and refuses any other.

    In scikit-learn, the samples are edges. `score` is the AUC of edges, and a search with
    cross-validation is given an array of edges, E x 2: each fold is fitted without some of the
    edges and scored on those. A pickle holds everything, the graph too.

    Examples
    --------
    >>> import networkx as nx
    >>> graph = nx.relabel_nodes(nx.karate_club_graph(), lambda node: f"member {node}")
    >>> model = Local2Global(dim=2, patches=2, epochs=20)
    >>> model.fit_transform(graph).shape
    (34, 2)
    >>> model.nodes_[33]
    'member 33'

    """

    embedding_: NDArray[np.float32]
    nodes_: NDArray[Any]
    diagnostics_: dict[str, Any]
    report_: dict[str, Any]
    graph_: Graph
    seed_: int

    def __init__(
        self,
        dim: Optional[int] = None,
        method: str = "auto",
        patches: Union[int, str, ArrayLike] = "auto",
        random_state: Optional[int] = 0,
        *,
        embedder: Optional[Embedder] = None,
        epochs: Optional[int] = None,
        hidden: Optional[float] = None,
        learning_rate: Any = None,
        runs: Optional[int] = None,
        min_overlap: Optional[int] = None,
        component: str = "largest",
        n_components: Optional[int] = None,
        settings: Optional[Mapping[str, Any]] = None,
        run_dir: Union[str, PathLike[str], None] = None,
        threads: Optional[int] = None,
        progress: Progress = "auto",
    ) -> None:
        self.dim = dim
        self.method = method
        self.patches = patches
        self.random_state = random_state
        self.embedder = embedder
        self.epochs = epochs
        self.hidden = hidden
        self.learning_rate = learning_rate
        self.runs = runs
        self.min_overlap = min_overlap
        self.component = component
        self.n_components = n_components
        self.settings = settings
        self.run_dir = run_dir
        self.threads = threads
        self.progress = progress

    def fit(
        self, graph: Any, y: object = None, *, features: Any = None, labels: Any = None
    ) -> Local2Global:
        """Embed a graph; `graph`, `features` and `labels` are what `read_graph` takes.

        `y` is ignored; it is there for scikit-learn.
        """
        seed = seed_of(self.random_state)
        tables = self._tables()
        threads = threads_of(self.threads)
        make_settings(tables)
        with reporting(self.progress) as report, self._folder() as folder:
            whole = self._read_graph(graph, features, labels, seed, report)
            settings = self._run_settings(tables, folder, graph, whole, seed)
            embed = None
            if self.embedder is not None:
                made = (whole, tables["embed"]["dim"], seed)
                embed = lambda: self._embed(made, folder, report)  # noqa: E731
            stages = _native.run(whole.native, settings, folder, embed, threads, report)
            self._read(folder, stages)
        self.graph_, self.nodes_, self.seed_ = whole, whole.nodes, seed
        return self

    def fit_transform(
        self, graph: Any, y: object = None, *, features: Any = None, labels: Any = None
    ) -> NDArray[np.float32]:
        """Embed a graph, and give one row per node of `nodes_`."""
        return self.fit(graph, y, features=features, labels=labels).embedding_

    def transform(
        self, graph: Any, *, features: Any = None, labels: Any = None
    ) -> NDArray[np.float32]:
        """Give the rows of the graph that was fitted; any other graph is refused.

        So it can be a step of a scikit-learn `Pipeline`. Nodes, edges and weights are compared.
        """
        fitted = self.graph_
        given = self._read_graph(graph, features, labels, self.seed_, None)
        if not (given is fitted or given.has_same_edges(fitted)):
            raise ValueError(
                f"{given!r} is not the graph that was fitted, {fitted!r}; an embedding belongs to "
                "the nodes it was made for: use fit_transform"
            )
        return self.embedding_

    def score(self, graph: Any = None, y: object = None) -> float:
        """Give the AUC of edges: how often one scores higher than a pair that is no edge.

        `graph` is anything that `read_graph` takes, such as an array of edges, E x 2. Its edges
        between nodes that were embedded are compared with as many pairs that are neither among
        them nor in the graph that was fitted. Without `graph`, the edges are those that
        `hold_out` has held out, or else those of the graph that was fitted. The score of a pair
        is the setting `evaluate.score`, the inner product by default. `y` is ignored.
        """
        fitted, tables = self.graph_, self._tables()
        if graph is None:
            task = "link-prediction" if fitted.summary.get("held_out_edges") else "reconstruction"
            options = {**tables.get("evaluate", {}), "tasks": [task]}
            scores = evaluate(
                fitted, self.embedding_, random_state=self.seed_, threads=self.threads, **options
            )
            return float(scores[task.replace("-", "_")]["auc"]["l2g"])
        settings = make_settings(tables, random_state=self.seed_)
        others = ("component", "hold_out", "features", "labels")
        options = {key: it for key, it in tables["graph"].items() if key not in others}
        options["component"] = "all"
        pairs = pairs_among(self.nodes_, as_graph(graph, threads=self.threads, **options))
        if not len(pairs):
            raise ValueError("no edge of the graph to score joins two nodes that were embedded")
        threads = threads_of(self.threads)
        return _native.link_auc(fitted.native, self.embedding_, pairs, settings, threads)

    def nearest(
        self, nodes: Any, k: int = 10, *, score: str = "cosine"
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Give the nearest nodes of some nodes, and their scores, the nearest first.

        `nodes` is a node of `nodes_`, or many; for one, the arrays have one axis, for many a row
        each. `score` is `"cosine"` or `"inner-product"`. The search is exact, see `nearest`.

        >>> import networkx as nx
        >>> model = Local2Global(dim=2, patches=1, method="spectral").fit(nx.path_graph(60))
        >>> nodes, scores = model.nearest(30, k=2)
        >>> nodes.shape, scores.shape
        ((2,), (2,))
        """
        graph = self.graph_
        single = graph.has_node(nodes) or isinstance(nodes, str) or not np.iterable(nodes)
        rows = graph.rows_of([nodes] if single else nodes)
        found, scores = nearest(self.embedding_, rows, k, score=score, threads=self.threads)
        names = self.nodes_[found]
        return (names[0], scores[0]) if single else (names, scores)

    def report(self, layout: str = "auto") -> Page:
        """Give the page of `l2g report`, which a notebook shows inline.

        With `run_dir` it tells of everything in that folder; without, of what this object holds:
        the map, the patches and how well they fit. `layout` is "umap", "pca", or "auto": the first
        up to 200 000 nodes, else the second.
        """
        return Page(self._shown("page", layout))

    def map(self, layout: str = "auto") -> Picture:
        """Give a static picture of the nodes, which a notebook shows inline.

        Of many nodes some thousand are drawn. `layout` is as in `report`.
        """
        return Picture(self._shown("picture", layout))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give all parameters by name."""
        return {name: getattr(self, name) for name in _parameters()}

    def set_params(self, **params: Any) -> Local2Global:
        """Change parameters by name."""
        unknown = [name for name in params if name not in _parameters()]
        if unknown:
            known = ", ".join(_parameters())
            raise ValueError(f"there is no parameter {unknown[0]!r}; there are {known}")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = _parameters()
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name] and repr(value) != repr(defaults[name])
        ]
        return f"Local2Global({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that graphs are no matrices."""
        return estimator_tags()

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether there is an embedding."""
        return "embedding_" in vars(self)

    def __getattr__(self, name: str) -> NoReturn:
        if name in Local2Global.__annotations__:
            raise not_fitted(f"this Local2Global is not fitted yet; `{name}` comes with fit")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _tables(self) -> dict[str, Any]:
        """Give the settings that do not depend on the graph."""
        own = {
            "graph": {"component": self.component},
            "patch": {"min_overlap": count_of(self.min_overlap, "min_overlap", None)},
            "embed": {
                "dim": self._dim(),
                "method": self.method,
                "epochs": count_of(self.epochs, "epochs", None),
                "hidden": self.hidden,
                "learning_rate": self.learning_rate,
                "runs": count_of(self.runs, "runs", None),
            },
        }
        return merge(own, self.settings)

    def _dim(self) -> int:
        """Give the dimension, by either of its names."""
        dim = count_of(self.dim, "dim")
        components = count_of(self.n_components, "n_components")
        if dim is not None and components not in (None, dim):
            raise ValueError(
                f"dim is {dim}, but n_components is {components}; they are the same, give one"
            )
        return int(dim or components or DEFAULT_DIM)

    def _read_graph(
        self, graph: Any, features: Any, labels: Any, seed: int, report: Optional[Report]
    ) -> Graph:
        options = {"features": features, "labels": labels}
        return as_graph(
            graph,
            random_state=seed,
            threads=threads_of(self.threads),
            progress=None if report is None else lambda event: report(*event),
            **merge(self._tables()["graph"], options),
        )

    def _run_settings(
        self, tables: dict[str, Any], folder: Path, source: Any, graph: Graph, seed: int
    ) -> _native.Settings:
        more: dict[str, Any] = {"partition": self._partition(folder, graph)}
        names = paths_of(source)
        if names is not None:
            more["graph"] = {"input": names[0] if len(names) == 1 else names}
        if self.embedder is not None:
            coordinates = _native.RunFolder(folder).given_coordinates
            more["embed"] = {"method": "given", "coordinates": str(coordinates)}
        return make_settings(tables, more, random_state=seed)

    def _partition(self, folder: Path, graph: Graph) -> dict[str, Any]:
        """Give the settings that follow from `patches`."""
        patches = self.patches
        if isinstance(patches, str):
            if patches != "auto":
                raise ValueError(f"patches is {patches!r}; it must be a number, 'auto' or clusters")
            return {}
        if np.ndim(patches) == 0:
            return {"clusters": count_of(patches, "patches")}
        clusters = graph.rows_of_caller(np.asarray(patches), "patches")
        # Other clusters are another file, so that a run notices.
        digest = hashlib.blake2b(repr(clusters.tolist()).encode(), digest_size=8).hexdigest()
        folder.mkdir(parents=True, exist_ok=True)
        file = _native.RunFolder(folder).given_clusters(digest)
        np.save(file, clusters, allow_pickle=False)
        return {"method": "given", "file": str(file)}

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        if self.run_dir is not None:
            yield Path(self.run_dir)
            return
        with tempfile.TemporaryDirectory(prefix="local2global-") as folder:
            yield Path(folder)

    def _shown(self, form: str, layout: str) -> str:
        """Give a page or a picture of the result."""
        threads = threads_of(self.threads)
        with self._result() as folder, reporting(self.progress) as progress:
            return _native.report(folder, form, layout, threads, progress)

    @contextmanager
    def _result(self) -> Iterator[Path]:
        """Give the run folder, or a temporary one with what is here."""
        embedding = self.embedding_
        if self.run_dir is not None and Path(self.run_dir).exists():
            yield Path(self.run_dir)
            return
        found, patches = self.diagnostics_, self.report_["patch"]
        with result_folder(self.graph_, embedding, found, patches) as folder:
            yield folder

    def _read(self, folder: Path, stages: list[dict[str, Any]]) -> None:
        """Read what a run has left."""
        run = _native.RunFolder(folder)
        self.embedding_ = run.embedding()
        self.diagnostics_ = run.diagnostics()
        self.report_ = {
            "partition": run.partition_report(),
            "patch": run.patch_report(),
            "stages": stages,
        }

    def _embed(self, made: tuple[Graph, int, int], folder: Path, report: Optional[Report]) -> None:
        """Call the embedder for each patch of the run folder; `made` is graph, dim and seed."""
        assert self.embedder is not None
        graph, dim, seed = made
        run = _native.RunFolder(folder)
        native = run.patches()
        patches = (
            GraphPatch(
                graph,
                number,
                native.nodes(number),
                native.weights(number),
                dim,
                seed,
            )
            for number in range(len(native))
        )
        embed_with(self.embedder, patches, len(native), Path(run.given_coordinates), report)


def _parameters() -> dict[str, Any]:
    """Give the names of all parameters, and their defaults."""
    signature = inspect.signature(Local2Global.__init__)
    return {
        name: parameter.default
        for name, parameter in signature.parameters.items()
        if name != "self"
    }
