"""Embed a graph in overlapping patches, and stitch the patches into one embedding.

`Local2Global` goes the whole way:

>>> from local2global import Local2Global
>>> model = Local2Global(dim=4, patches=4, method="spectral", random_state=0)
>>> model.fit_transform("cora").shape
(2485, 4)

The stages are functions, in the order of the data: `read_graph`, `partition`, `make_patches`,
`embed_patches`, `align`, `evaluate`. `AlignmentProblem` and `WeightedAlignmentProblem` stitch
patches that were embedded elsewhere.
"""

from ._native import __version__
from .alignment import Alignment, AlignmentProblem, Patch, WeightedAlignmentProblem
from .errors import (
    AlignError,
    AlignFilesError,
    ConfigError,
    EmbedError,
    EvaluateError,
    FeatureError,
    FileError,
    GraphError,
    HoldOutError,
    InternalError,
    Local2GlobalError,
    Local2GlobalWarning,
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
from .patches import GraphPatch, Patches
from .progress import Event
from .report import Page, Picture
from .stages import align, embed_patches, evaluate, make_patches, partition

__all__ = [
    "AlignError",
    "AlignFilesError",
    "Alignment",
    "AlignmentProblem",
    "ConfigError",
    "EmbedError",
    "EvaluateError",
    "Event",
    "FeatureError",
    "FileError",
    "Graph",
    "GraphError",
    "GraphPatch",
    "HoldOutError",
    "InternalError",
    "Local2Global",
    "Local2GlobalError",
    "Local2GlobalWarning",
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
    "partition",
    "read_graph",
]
