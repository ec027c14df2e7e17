"""What scikit-learn wants to know of an estimator; it is imported only if it asks.

An estimator of graphs is given no matrix of samples and features, and `estimator_tags` says so:
where scikit-learn speaks of samples, the samples of a graph are its edges.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["estimator_tags", "not_fitted"]


def estimator_tags() -> Any:
    """Give the tags of `Local2Global`."""
    from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

    return Tags(
        estimator_type=None,
        target_tags=TargetTags(required=False),
        transformer_tags=TransformerTags(preserves_dtype=[]),
        input_tags=InputTags(two_d_array=False, sparse=True, string=True),
        no_validation=True,
    )


def not_fitted(message: str) -> AttributeError:
    """Give the error that scikit-learn raises, if it is loaded."""
    if "sklearn" in sys.modules:
        from sklearn.exceptions import NotFittedError

        error: AttributeError = NotFittedError(message)
        return error
    return AttributeError(message)
