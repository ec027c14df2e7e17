"""Makes cora.npz from the files of the PyPI package `graphdatascience`.

    pip install graphdatascience==2.2 numpy scipy pandas pyarrow
    python make_cora.py
"""

from importlib.resources import files

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array

folder = files("graphdatascience.resources.cora")
nodes = pd.read_parquet(folder / "cora_nodes.parquet.gzip")
links = pd.read_parquet(folder / "cora_rels.parquet.gzip")

row = pd.Series(range(len(nodes)), index=nodes.nodeId)
source, target = row[links.sourceNodeId].to_numpy(), row[links.targetNodeId].to_numpy()
links = coo_array((np.ones(len(links)), (source, target)), shape=(len(nodes), len(nodes))).tocsr()
words = csr_array(np.array(nodes.features.tolist()))

# Subjects by number, as in the package's own script.
subjects = [
    "Neural_Networks",
    "Rule_Learning",
    "Reinforcement_Learning",
    "Probabilistic_Methods",
    "Theory",
    "Genetic_Algorithms",
    "Case_Based",
]

np.savez_compressed(
    "cora.npz",
    adj_data=links.data.astype(np.uint8),
    adj_indices=links.indices.astype(np.uint16),
    adj_indptr=links.indptr.astype(np.uint16),
    adj_shape=np.array(links.shape, dtype=np.uint16),
    attr_data=words.data.astype(np.uint8),
    attr_indices=words.indices.astype(np.uint16),
    attr_indptr=words.indptr.astype(np.uint16),
    attr_shape=np.array(words.shape, dtype=np.uint16),
    labels=nodes.subject.to_numpy().astype(np.uint8),
    node_names=nodes.nodeId.to_numpy().astype(np.uint32),
    class_names=np.array(subjects),
)
