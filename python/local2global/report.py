"""The result of a run to look at: a page for a browser, and a picture of the map."""

from __future__ import annotations

import html
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from . import _native
from .graph import Graph

__all__ = ["Page", "Picture"]


@dataclass(frozen=True, repr=False)
class Page:
    """A page for a browser, which a notebook shows inline."""

    html: str

    def save(self, path: Union[str, PathLike[str]]) -> Path:
        """Write the page to a file, which needs no other file and no network."""
        path = Path(path)
        path.write_text(self.html, encoding="utf-8")
        return path

    def __repr__(self) -> str:
        return f"<Page of {len(self.html.encode()) / 1e6:.1f} MB; save(path) writes it>"

    def _repr_html_(self) -> str:
        # In a frame of its own the page keeps its style and its policy.
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts" '
            'style="width:100%;height:860px;border:0" title="report"></iframe>'
        )


@dataclass(frozen=True, repr=False)
class Picture:
    """A static picture, which a notebook shows inline."""

    svg: str

    def save(self, path: Union[str, PathLike[str]]) -> Path:
        """Write the picture to a file of SVG."""
        path = Path(path)
        path.write_text(self.svg, encoding="utf-8")
        return path

    def __repr__(self) -> str:
        return f"<Picture of {len(self.svg) / 1e3:.0f} kB; save(path) writes it>"

    def _repr_svg_(self) -> str:
        return self.svg


@contextmanager
def result_folder(
    graph: Graph,
    embedding: NDArray[np.float32],
    diagnostics: Mapping[str, Any],
    patches: Mapping[str, Any],
) -> Iterator[Path]:
    """Give a temporary run folder with what a model holds."""
    with tempfile.TemporaryDirectory(prefix="local2global-") as name:
        folder = Path(name) / "model"
        rows = np.ascontiguousarray(embedding)
        records = json.dumps(diagnostics), json.dumps(patches)
        _native.write_result(folder, graph.native, rows, *records)
        yield folder
