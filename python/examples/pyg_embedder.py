"""Train a PyTorch Geometric model on every patch, and stitch the patches together.

Each patch is a small graph of its own: any model that fits one graph fits here. PyTorch is
needed for this example only, not for local2global.
"""

# needs: torch, torch_geometric

from __future__ import annotations

import numpy as np
import torch
from torch_geometric.nn import VGAE, GCNConv

import local2global as l2g


class Encoder(torch.nn.Module):
    """A graph convolution, and one head each for mean and spread."""

    def __init__(self, width: int, dim: int) -> None:
        super().__init__()
        self.hidden = GCNConv(width, 2 * dim)
        self.mean = GCNConv(2 * dim, dim)
        self.spread = GCNConv(2 * dim, dim)

    def forward(
        self, x: torch.Tensor, edge_index: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Give mean and logarithm of the spread for each node."""
        hidden = self.hidden(x, edge_index).relu()
        return self.mean(hidden, edge_index), self.spread(hidden, edge_index)


def train_vgae(patch: l2g.GraphPatch, epochs: int = 100) -> np.ndarray:
    """Train a variational graph auto-encoder on one patch."""
    torch.manual_seed(patch.seed)
    x = torch.from_numpy(patch.x)
    edge_index = torch.from_numpy(patch.edge_index)
    model = VGAE(Encoder(x.shape[1], patch.dim))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        optimiser.zero_grad()
        z = model.encode(x, edge_index)
        loss = model.recon_loss(z, edge_index) + model.kl_loss() / patch.num_nodes
        loss.backward()
        optimiser.step()
    model.eval()
    with torch.no_grad():
        return model.encode(x, edge_index).numpy()


def main() -> None:
    """Embed Cora, and say how well the embedding tells edges from non-edges."""
    cora = l2g.read_graph("cora")
    model = l2g.Local2Global(dim=16, patches=10, embedder=train_vgae).fit(cora)
    print(model.diagnostics_["verdict"])
    print(f"AUC {l2g.evaluate(cora, model.embedding_)['auc']['l2g']:.3f}")


if __name__ == "__main__":
    main()
