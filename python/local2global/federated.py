"""Sites that keep their graphs, and share only what alignment needs.

Each site trains alone, with any method. In the first round it sends blinded ids, in the second the
rows of nodes that others hold too, turned and shifted by a secret that stays. The coordinator finds
the common frame from shares alone, and each site moves its own rows into it.

>>> import numpy as np
>>> points = np.random.default_rng(0).normal(size=(30, 2))
>>> sites = {"north": range(0, 20), "south": range(12, 30)}
>>> turn = np.array([[0.0, -1.0], [1.0, 0.0]])
>>> rows = {"north": points[:20], "south": points[12:] @ turn + 3.0}
>>> key = b"the sites have agreed on this"
>>> first = [share_ids(site, ids, key=key) for site, ids in sites.items()]
>>> kept, second = {}, []
>>> for site, ids in sites.items():
...     share, kept[site] = share_rows(site, ids, rows[site], key=key, others=first)
...     second.append(share)
>>> second[0].record["nodes"]
8
>>> frame = align_shares(second)
>>> joined = {site: join(site, ids, rows[site], kept[site], frame) for site, ids in sites.items()}
>>> bool(np.allclose(joined["north"][12:], joined["south"][:8]))
True

A share, a frame and a secret go into files and come back (`save`, `load`): the files of
`l2g share`, `l2g align --shares` and `l2g join`. `docs/federated.md` says what can be learned from
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, NamedTuple, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from .arrays import coordinates_of, to_numpy
from .progress import Progress, reporting
from .settings import make_settings, threads_of

__all__ = [
    "Frame",
    "Privacy",
    "Secret",
    "Share",
    "align_shares",
    "join",
    "share_ids",
    "share_rows",
]

Path = Union[str, "PathLike[str]"]
Ids = Union[Sequence[Any], "NDArray[Any]", range]


class Privacy(NamedTuple):
    """What a share may spend on the row of one node, by the analytic Gaussian mechanism."""

    epsilon: float
    """How much likelier an outcome may become, as a power of e."""
    delta: float
    """The probability with which that may fail."""
    clip: float
    """The length that rows are pulled back to before noise is added."""


class Share:
    """What leaves a site."""

    def __init__(self, native: _native.Share):
        self.native = native

    @classmethod
    def load(cls, folder: Path) -> Share:
        """Read a share from its folder."""
        return cls(_native.Share.load(folder))

    def save(self, folder: Path) -> None:
        """Write the share into a folder of its own: `share.json`, `ids.npy`, `coords.npy`."""
        self.native.save(folder)

    @property
    def record(self) -> dict[str, Any]:
        """What the share holds, what not, and what it tells: `share.json`."""
        return self.native.record()

    @property
    def ids(self) -> NDArray[np.uint8]:
        """The blinded ids, 32 bytes a row."""
        return self.native.ids

    @property
    def coordinates(self) -> NDArray[np.float64]:
        """The coordinates of each; no columns in the first round."""
        return self.native.coordinates


class Secret:
    """What stays at a site, and undoes the motion of its share."""

    def __init__(self, native: _native.Secret):
        self.native = native

    @classmethod
    def load(cls, path: Path) -> Secret:
        """Read a secret from its file."""
        return cls(_native.Secret.load(path))

    def save(self, path: Path) -> None:
        """Write the secret into a file that only its owner may read."""
        self.native.save(path)


class Frame:
    """The common frame: the motion of each site, and no coordinates."""

    def __init__(self, native: _native.Frame):
        self.native = native

    @classmethod
    def load(cls, folder: Path) -> Frame:
        """Read a frame from its folder."""
        return cls(_native.Frame.load(folder))

    def save(self, folder: Path) -> None:
        """Write the frame into a folder."""
        self.native.save(folder)

    @property
    def record(self) -> dict[str, Any]:
        """The sites and their shares: `frame.json`."""
        return self.native.record()

    @property
    def diagnostics(self) -> dict[str, Any]:
        """How well the sites fit each other; `worst_patch` names the worst."""
        return self.native.diagnostics()

    def add(self, shares: Iterable[Share], site: str) -> Frame:
        """Give the frame with one site more; the others stay. `shares` are those of all sites."""
        return Frame(self.native.add([share.native for share in shares], site))


def share_ids(site: str, ids: Ids, *, key: bytes) -> Share:
    """Make the first share of a site: the blinded ids of all its nodes."""
    return Share(_native.share_ids(site, _texts(ids), key))


def share_rows(
    site: str,
    ids: Ids,
    coordinates: ArrayLike,
    *,
    key: bytes,
    others: Iterable[Share] = (),
    public_ids: Ids = (),
    privacy: Optional[Privacy] = None,
    secret: Optional[Secret] = None,
) -> tuple[Share, Secret]:
    """Make the second share: rows of nodes that others may hold too, and the secret that stays.

    `others` are the first shares of the other sites, `public_ids` plain ids that every site may
    hold. With `privacy`, rows are clipped and get noise. An earlier `secret` is used again: the
    same secret and the same rows give the same share.
    """
    rows = coordinates_of(coordinates, f"coordinates of site {site}")
    known = ([share.native for share in others], _texts(public_ids))
    budget = None if privacy is None else (privacy.epsilon, privacy.delta, privacy.clip)
    earlier = None if secret is None else secret.native
    made = _native.share_coordinates((site, _texts(ids)), rows, key, known, budget, earlier)
    return Share(made[0]), Secret(made[1])


def align_shares(
    shares: Iterable[Share],
    *,
    random_state: Optional[int] = 0,
    threads: Optional[int] = None,
    progress: Progress = None,
    **settings: Any,
) -> Frame:
    """Find the common frame from the second shares of all sites.

    Settings are those of the table `[align]`, such as `weights="robust"`.
    """
    checked = make_settings({"align": settings}, random_state=random_state)
    natives = [share.native for share in shares]
    with reporting(progress) as report:
        return Frame(_native.align_shares(natives, checked, threads_of(threads), report))


def join(
    site: str, ids: Ids, coordinates: ArrayLike, secret: Secret, frame: Frame
) -> NDArray[np.float64]:
    """Move all rows of a site into the common frame; ids and rows are those that it shared from."""
    rows = coordinates_of(coordinates, f"coordinates of site {site}")
    return _native.join_coordinates((site, _texts(ids)), rows, secret.native, frame.native)


def _texts(ids: Ids) -> list[str]:
    """Give ids as text; whole numbers and text blind alike, whatever held them."""
    array = to_numpy(ids)
    if array.size > 0 and array.dtype.kind not in "iuUO":
        raise TypeError(f"ids have type {array.dtype}; they must be integers or text")
    odd = next((item for item in array.tolist() if not isinstance(item, (int, str))), None)
    if odd is not None:
        raise TypeError(f"ids include a {type(odd).__name__}; they must be integers or text")
    return [str(item) for item in array.tolist()]
