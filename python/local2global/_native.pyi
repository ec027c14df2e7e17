"""The engine, as it is built from Rust; checked against the built module by stubtest."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, Optional, Union, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Alignment",
    "Frame",
    "Graph",
    "PatchJobs",
    "Patches",
    "RunFolder",
    "Secret",
    "Settings",
    "Share",
    "__version__",
    "align",
    "align_shares",
    "embed_patches",
    "evaluate",
    "join_coordinates",
    "link_auc",
    "main",
    "make_patches",
    "nearest_to_rows",
    "nearest_to_vectors",
    "panic_at_work",
    "partition",
    "patch_name",
    "read_coordinates",
    "read_record",
    "report",
    "run",
    "share_coordinates",
    "share_ids",
    "write_coordinates",
    "write_result",
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

@final
class PatchJobs:
    @staticmethod
    def open(
        folder: _Path,
        options: Optional[dict[str, Any]] = None,
        memory: Optional[str] = None,
        threads: Optional[int] = None,
        progress: Optional[_Report] = None,
    ) -> PatchJobs: ...
    @property
    def num_patches(self) -> int: ...
    def waiting(self) -> list[int]: ...
    def share_out(self, patches: list[int], jobs: int) -> list[list[int]]: ...
    def memory_bytes(self, patches: list[int]) -> int: ...
    def write(self, patches: list[int], path: _Path) -> None: ...
    def collect(self, folder: _Path) -> dict[str, Any]: ...
    def close(self) -> bool: ...

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

_NamedIds = tuple[str, list[str]]

@final
class Share:
    @staticmethod
    def load(folder: _Path) -> Share: ...
    def save(self, folder: _Path) -> None: ...
    def record(self) -> dict[str, Any]: ...
    @property
    def ids(self) -> NDArray[np.uint8]: ...
    @property
    def coordinates(self) -> NDArray[np.float64]: ...

@final
class Secret:
    @staticmethod
    def load(path: _Path) -> Secret: ...
    def save(self, path: _Path) -> None: ...
    @property
    def site(self) -> str: ...

@final
class Frame:
    @staticmethod
    def load(folder: _Path) -> Frame: ...
    def save(self, folder: _Path) -> None: ...
    def record(self) -> dict[str, Any]: ...
    def diagnostics(self) -> dict[str, Any]: ...
    def add(self, shares: list[Share], site: str) -> Frame: ...

def share_ids(site: str, ids: list[str], key: bytes) -> Share: ...
def share_coordinates(
    site: _NamedIds,
    coordinates: _Coordinates,
    key: bytes,
    others: tuple[list[Share], list[str]],
    privacy: Optional[tuple[float, float, float]] = None,
    secret: Optional[Secret] = None,
) -> tuple[Share, Secret]: ...
def align_shares(
    shares: list[Share],
    settings: Settings,
    threads: Optional[int] = None,
    progress: Optional[_Report] = None,
) -> Frame: ...
def join_coordinates(
    site: _NamedIds, coordinates: _Coordinates, secret: Secret, frame: Frame
) -> NDArray[np.float64]: ...

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
def nearest_to_rows(
    embedding: NDArray[np.float32],
    rows: NDArray[np.uint64],
    k: int,
    score: str,
    threads: Optional[int] = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
def nearest_to_vectors(
    embedding: NDArray[np.float32],
    vectors: NDArray[np.float32],
    k: int,
    score: str,
    threads: Optional[int] = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
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
