"""Embed every patch with scikit-learn, and stitch the patches together.

Any function is an embedder: it is given a patch and returns one row per node. This one reduces
the features of a node and of its neighbours with a truncated SVD.
"""

# needs: sklearn, scipy

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD

import local2global as l2g


def smoothed_svd(patch: l2g.GraphPatch) -> np.ndarray:
    """Reduce features that were averaged over two steps of the graph."""
    adjacency = patch.graph.adjacency() + sp.eye_array(patch.num_nodes)
    average = sp.diags_array(1 / adjacency.sum(axis=1)) @ adjacency
    smooth = average @ (average @ patch.graph.features)
    return TruncatedSVD(patch.dim, random_state=0).fit_transform(smooth)


# Changed whenever results would change, so that a run folder can be resumed.
smoothed_svd.digest = "smoothed_svd 1"


def main() -> None:
    """Compare the stitched embedding with the one of the whole graph."""
    cora = l2g.read_graph("cora")
    model = l2g.Local2Global(dim=32, patches=8, embedder=smoothed_svd).fit(cora)
    print(model.diagnostics_["verdict"])
    print(f"AUC stitched     {l2g.evaluate(cora, model.embedding_)['auc']['l2g']:.3f}")

    whole = l2g.Local2Global(dim=32, patches=1, embedder=smoothed_svd).fit_transform(cora)
    print(f"AUC in one piece {l2g.evaluate(cora, whole)['auc']['l2g']:.3f}")


if __name__ == "__main__":
    main()
