"""A site: it answers with shares, and never with anything else.

The folder of the site holds `ids.npy` and `coords.npy`, made by any method, and the `key` of all
sites. `secret.npz` and `joined.npy` are written beside them, and stay.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from local2global.federated import Frame, Secret, Share, join, share_ids, share_rows

from .messages import files_in, files_of, record_of, write_files

app = ClientApp()


class Site:
    """The folder and the name of this site, as `--node-config` says."""

    def __init__(self, context: Context) -> None:
        self.name = str(context.node_config["site"])
        self.folder = Path(str(context.node_config["folder"]))
        self.key = (self.folder / "key").read_bytes()
        self.ids = np.load(self.folder / "ids.npy")

    def rows(self) -> np.ndarray:
        """Give the coordinates, row by row."""
        return np.load(self.folder / "coords.npy")

    def answer(self, share: Share, message: Message) -> Message:
        """Give the reply with the files of a share."""
        with tempfile.TemporaryDirectory() as folder:
            share.save(Path(folder) / self.name)
            return Message(record_of(files_of(Path(folder))), reply_to=message)


@app.query("name")
def name(message: Message, context: Context) -> Message:
    """Tell which site this is."""
    return Message(record_of({str(context.node_config["site"]): b""}), reply_to=message)


@app.query("ids")
def ids(message: Message, context: Context) -> Message:
    """Answer the first round."""
    site = Site(context)
    return site.answer(share_ids(site.name, site.ids, key=site.key), message)


@app.query("rows")
def rows(message: Message, context: Context) -> Message:
    """Answer the second round, given the first shares of the others."""
    site, path = Site(context), Path(str(context.node_config["folder"])) / "secret.npz"
    secret = Secret.load(path) if path.exists() else None
    with tempfile.TemporaryDirectory() as folder:
        write_files(files_in(message), Path(folder))
        others = [Share.load(share) for share in sorted(Path(folder).iterdir())]
    made = share_rows(site.name, site.ids, site.rows(), key=site.key, others=others, secret=secret)
    made[1].save(path)
    return site.answer(made[0], message)


@app.query("join")
def into_frame(message: Message, context: Context) -> Message:
    """Move all rows into the common frame; they stay here."""
    site = Site(context)
    with tempfile.TemporaryDirectory() as folder:
        write_files(files_in(message), Path(folder))
        frame = Frame.load(folder)
    secret = Secret.load(site.folder / "secret.npz")
    np.save(site.folder / "joined.npy", join(site.name, site.ids, site.rows(), secret, frame))
    return Message(record_of({}), reply_to=message)
