"""Embed a graph in overlapping patches, and stitch the patches into one embedding.

`Local2Global` goes the whole way:

>>> from local2global import Local2Global
>>> model = Local2Global(dim=4, patches=4, method="spectral", random_state=0)
>>> model.fit_transform("cora").shape
(2485, 4)

The stages are functions, in the order of the data: `read_graph`, `partition`, `make_patches`,
`embed_patches`, `align`, `evaluate`. `AlignmentProblem` and `WeightedAlignmentProblem` stitch
patches that were embedded elsewhere; `local2global.cluster.embed` trains patches on the
workers of Dask, Ray, Slurm or a pool of processes.
`local2global.federated` is for sites that keep their graphs.
"""

from ._native import __version__
from .alignment import Alignment, AlignmentProblem, Patch, WeightedAlignmentProblem
from .errors import (
    AlignError,
    AlignFilesError,
    BundleError,
    ClusterError,
    ConfigError,
    EmbedError,
    EvaluateError,
    FeatureError,
    FederatedError,
    FileError,
    GraphError,
    HoldOutError,
    InternalError,
    Local2GlobalError,
    Local2GlobalWarning,
    NearError,
    PartitionError,
    PatchError,
    PipelineError,
    ReadError,
    ReportError,
    StoreError,
)
from .estimator import Local2Global
from .graph import Graph
from .inputs import read_graph
from .near import nearest
from .patches import GraphPatch, Patches
from .progress import Event
from .report import Page, Picture
from .stages import align, embed_patches, evaluate, make_patches, partition

__all__ = [
    "AlignError",
    "AlignFilesError",
    "Alignment",
    "AlignmentProblem",
    "BundleError",
    "ClusterError",
    "ConfigError",
    "EmbedError",
    "EvaluateError",
    "Event",
    "FeatureError",
    "FederatedError",
    "FileError",
    "Graph",
    "GraphError",
    "GraphPatch",
    "HoldOutError",
    "InternalError",
    "Local2Global",
    "Local2GlobalError",
    "Local2GlobalWarning",
    "NearError",
    "Page",
    "PartitionError",
    "Patch",
    "PatchError",
    "Patches",
    "Picture",
    "PipelineError",
    "ReadError",
    "ReportError",
    "StoreError",
    "WeightedAlignmentProblem",
    "__version__",
    "align",
    "embed_patches",
    "evaluate",
    "make_patches",
    "nearest",
    "partition",
    "read_graph",
]
