"""The engine, as it is built from Rust; checked against the built module by stubtest."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, Optional, Union, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Alignment",
    "Graph",
    "Patches",
    "RunFolder",
    "Settings",
    "__version__",
    "align",
    "embed_patches",
    "evaluate",
    "link_auc",
    "main",
    "make_patches",
    "panic_at_work",
    "partition",
    "patch_name",
    "read_coordinates",
    "read_record",
    "run",
    "write_coordinates",
]

__version__: str

_Report = Callable[[str, int, int, str, str, bool], None]
_Path = Union[str, PathLike[str]]
_Features = Union[
    NDArray[np.float32],
    tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.float32], int],
]
_Classes = Union[NDArray[np.int32], NDArray[np.uint8]]
_Labels = tuple[_Classes, list[str]]
_Coordinates = Union[NDArray[np.float32], NDArray[np.float64]]
_Patch = tuple[str, NDArray[np.uint64], _Coordinates, Optional[NDArray[np.float32]]]

@final
class Settings:
    def __new__(cls, tables: Optional[dict[str, Any]] = None, seed: int = 0) -> Settings: ...
    def to_toml(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class Graph:
    @staticmethod
    def open(
        names: list[str],
        settings: Settings,
        folders: list[_Path],
        threads: Optional[int] = None,
        progress: Optional[_Report] = None,
    ) -> Graph: ...
    @staticmethod
    def from_edges(
        sources: NDArray[np.uint64],
        targets: NDArray[np.uint64],
        weights: Optional[NDArray[np.float32]],
        num_nodes: Optional[int],
        ids: Union[NDArray[np.uint64], list[str], None],
        features: Optional[_Features],
        labels: Optional[_Labels],
        settings: Settings,
        threads: Optional[int] = None,
        progress: Optional[_Report] = None,
    ) -> Graph: ...
    @staticmethod
    def from_table(
        table: object,
        features: Optional[_Features],
        labels: Optional[_Labels],
        settings: Settings,
        threads: Optional[int] = None,
        progress: Optional[_Report] = None,
    ) -> Graph: ...
    @property
    def num_nodes(self) -> int: ...
    @property
    def num_edges(self) -> int: ...
    @property
    def is_symmetric(self) -> bool: ...
    @property
    def indptr(self) -> NDArray[np.int64]: ...
    @property
    def indices(self) -> NDArray[np.int64]: ...
    @property
    def weights(self) -> Optional[NDArray[np.float32]]: ...
    @property
    def ids(self) -> Union[NDArray[np.uint64], list[str]]: ...
    @property
    def features(
        self,
    ) -> Union[
        NDArray[np.float32],
        tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32], int],
        None,
    ]: ...
    @property
    def labels(self) -> Optional[_Classes]: ...
    @property
    def summary(self) -> dict[str, Any]: ...
    def subgraph(self, nodes: NDArray[np.uint64]) -> Graph: ...
    def __reduce__(self) -> tuple[Callable[[dict[str, Any]], Graph], tuple[dict[str, Any]]]: ...
    @staticmethod
    def restore(state: dict[str, Any]) -> Graph: ...

def partition(
    graph: Graph,
    settings: Settings,
    threads: Optional[int] = None,
    progress: Optional[_Report] = None,
) -> tuple[NDArray[np.uint32], dict[str, Any]]: ...

@final
class Patches:
    def __len__(self) -> int: ...
    def nodes(self, index: int) -> NDArray[np.int64]: ...
    def weights(self, index: int) -> NDArray[np.float32]: ...
    @property
    def edges(self) -> NDArray[np.int64]: ...
    @property
    def landmarks(self) -> NDArray[np.int64]: ...
    @property
    def report(self) -> dict[str, Any]: ...

def make_patches(
    graph: Graph,
    clusters: NDArray[np.uint32],
    settings: Settings,
    threads: Optional[int] = None,
    progress: Optional[_Report] = None,
) -> Patches: ...
def embed_patches(
    graph: Graph,
    nodes: list[NDArray[np.uint64]],
    settings: Settings,
    folder: _Path,
    threads: Optional[int] = None,
    progress: Optional[_Report] = None,
) -> dict[str, list[int]]: ...
def align(
    patches: list[_Patch],
    edges: Optional[NDArray[np.uint64]],
    min_overlap: Optional[int],
    settings: Settings,
    threads: Optional[int] = None,
    progress: Optional[_Report] = None,
) -> Alignment: ...

@final
class Alignment:
    @property
    def scales(self) -> NDArray[np.float64]: ...
    @property
    def rotations(self) -> NDArray[np.float64]: ...
    @property
    def translations(self) -> NDArray[np.float64]: ...
    @property
    def nodes(self) -> NDArray[np.uint64]: ...
    @property
    def num_nodes(self) -> int: ...
    @property
    def dim(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def edges(self) -> NDArray[np.int64]: ...
    def diagnostics(self, threads: Optional[int] = None) -> dict[str, Any]: ...
    def embedding(
        self,
        out: _Coordinates,
        transform: bool = True,
        threads: Optional[int] = None,
        progress: Optional[_Report] = None,
    ) -> float: ...

@final
class RunFolder:
    def __new__(cls, folder: _Path) -> RunFolder: ...
    def graph(self) -> Graph: ...
    def partition_report(self) -> dict[str, Any]: ...
    def patches(self) -> Patches: ...
    def patch_report(self) -> dict[str, Any]: ...
    def diagnostics(self) -> dict[str, Any]: ...
    def embedding(self) -> NDArray[np.float32]: ...
    @property
    def given_coordinates(self) -> Path: ...
    def given_clusters(self, digest: str) -> Path: ...

def patch_name(index: int) -> str: ...
def write_coordinates(folder: _Path, name: str, rows: NDArray[np.float32], record: str) -> None: ...
def read_coordinates(folder: _Path, name: str) -> NDArray[np.float32]: ...
def read_record(folder: _Path, name: str) -> Optional[dict[str, Any]]: ...
def report(
    folder: _Path,
    form: str,
    layout: str,
    threads: Optional[int] = None,
    progress: Optional[_Report] = None,
) -> str: ...
def write_result(
    folder: _Path,
    graph: Graph,
    embedding: NDArray[np.float32],
    diagnostics: str,
    patches: str,
) -> None: ...
def evaluate(
    graph: Graph,
    embeddings: list[tuple[str, NDArray[np.float32]]],
    settings: Settings,
    threads: Optional[int] = None,
    progress: Optional[_Report] = None,
) -> dict[str, Any]: ...
def link_auc(
    graph: Graph,
    embedding: NDArray[np.float32],
    edges: NDArray[np.uint64],
    settings: Settings,
    threads: Optional[int] = None,
) -> float: ...
def main(args: list[str]) -> int: ...
def panic_at_work(text: str) -> None: ...
def run(
    graph: Graph,
    settings: Settings,
    folder: _Path,
    embed: Optional[Callable[[], object]] = None,
    threads: Optional[int] = None,
    progress: Optional[_Report] = None,
) -> list[dict[str, Any]]: ...
