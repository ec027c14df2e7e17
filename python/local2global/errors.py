"""What can go wrong: one exception class per kind of error of the engine.

All are a `Local2GlobalError`, and also the built-in exception that fits. The message is one
sentence: which thing, what was found, what was needed.

>>> import local2global as l2g
>>> try:
...     l2g.Local2Global(settings={"embed": {"epocs": 10}}).fit([[0, 1], [1, 2]])
... except l2g.ConfigError as error:
...     print(error)
there is no setting `embed.epocs`; did you mean `embed.epochs`?
"""

from __future__ import annotations

__all__ = [
    "AlignError",
    "AlignFilesError",
    "BundleError",
    "ClusterError",
    "ConfigError",
    "EmbedError",
    "EvaluateError",
    "FeatureError",
    "FederatedError",
    "FileError",
    "GraphError",
    "HoldOutError",
    "InternalError",
    "Local2GlobalError",
    "Local2GlobalWarning",
    "NearError",
    "PartitionError",
    "PatchError",
    "PipelineError",
    "ReadError",
    "ReportError",
    "StoreError",
]


class Local2GlobalError(Exception):
    """Any error of this package."""


class ConfigError(Local2GlobalError, ValueError):
    """A setting does not exist, or its value does not fit."""


class ReadError(Local2GlobalError, ValueError):
    """A graph, its features or its labels could not be read."""


class ReportError(Local2GlobalError, ValueError):
    """A report could not be made."""


class GraphError(Local2GlobalError, ValueError):
    """Arrays do not make a graph."""


class FeatureError(Local2GlobalError, ValueError):
    """Arrays are not features."""


class FederatedError(Local2GlobalError, ValueError):
    """A share could not be made, aligned or joined."""


class HoldOutError(Local2GlobalError, ValueError):
    """Edges could not be held out for link prediction."""


class StoreError(Local2GlobalError, ValueError):
    """The graph of a run folder could not be opened."""


class PartitionError(Local2GlobalError, ValueError):
    """A graph could not be split into clusters."""


class PatchError(Local2GlobalError, ValueError):
    """Patches could not be made."""


class EmbedError(Local2GlobalError, RuntimeError):
    """A patch could not be embedded."""


class BundleError(Local2GlobalError, RuntimeError):
    """Patches could not be sent to other machines, or their results not be taken."""


class ClusterError(Local2GlobalError, RuntimeError):
    """Workers do not fit, or patches failed on them each time."""


class AlignError(Local2GlobalError, ValueError):
    """Patches could not be aligned."""


class AlignFilesError(Local2GlobalError, ValueError):
    """The patches of a run folder could not be read, or not be aligned."""


class EvaluateError(Local2GlobalError, ValueError):
    """An embedding could not be scored."""


class PipelineError(Local2GlobalError, RuntimeError):
    """A run folder is in use, or is damaged."""


class NearError(Local2GlobalError, ValueError):
    """Neighbours could not be found."""


class InternalError(Local2GlobalError, RuntimeError):
    """The engine has a bug: something it relies on was not so."""


class FileError(Local2GlobalError, OSError):
    """A file or folder could not be used."""


class Local2GlobalWarning(UserWarning):
    """Something was left out that a caller may expect to be there."""
