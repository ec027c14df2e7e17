"""The coordinator: it collects shares, finds the common frame, and sends it back.

What it has is kept in its folder: `ids/` and `shares/` with a folder for each site, and `frame/`. A
later run goes on from there: sites whose shares are missing are asked, and put into the frame
without moving the others.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from flwr.app import Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp

from local2global.federated import Frame, Share, align_shares

from .messages import files_in, files_of, record_of, write_files

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Go through the rounds that are asked for."""
    settings = context.run_config
    coordinator = Coordinator(grid, Path(str(settings["folder"])), float(settings["timeout"]))
    coordinator.find_sites(int(settings["sites"]))
    coordinator.collect("ids", {})
    if settings["rounds"] == "all":
        coordinator.collect("rows", files_of(coordinator.folder / "ids"))
        coordinator.align()
        coordinator.ask("join", sorted(coordinator.nodes), files_of(coordinator.folder / "frame"))


class Coordinator:
    """The sites that are there, and what they have sent."""

    def __init__(self, grid: Grid, folder: Path, timeout: float) -> None:
        self.grid = grid
        self.folder = folder
        self.timeout = timeout
        self.nodes: dict[str, int] = {}

    def find_sites(self, count: int) -> None:
        """Wait until so many sites are there, and learn their names."""
        end = time.monotonic() + self.timeout
        while len(nodes := list(self.grid.get_node_ids())) < count and time.monotonic() < end:
            time.sleep(0.5)
        for reply in self.send("name", {node: record_of({}) for node in nodes}):
            self.nodes[next(iter(files_in(reply)))] = reply.metadata.src_node_id

    def collect(self, what: str, files: dict[str, bytes]) -> None:
        """Ask sites for shares that are not there yet."""
        folder = self.folder / {"ids": "ids", "rows": "shares"}[what]
        missing = [site for site in sorted(self.nodes) if not (folder / site).exists()]
        names = {node: site for site, node in self.nodes.items()}
        for reply in self.ask(what, missing, files):
            self.keep(names[reply.metadata.src_node_id], files_in(reply), folder)

    def keep(self, site: str, files: dict[str, bytes], folder: Path) -> None:
        """Write the share of a site, all of it or nothing; a site cannot speak for another."""
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder) as unfinished:
            write_files(files, Path(unfinished))
            if [path.name for path in Path(unfinished).iterdir()] != [site]:
                raise ValueError(f"site `{site}` sent other files than its share")
            (Path(unfinished) / site).rename(folder / site)

    def ask(self, what: str, sites: list[str], files: dict[str, bytes]) -> list[Message]:
        """Send files to some sites, and give the replies of those that answer in time."""
        return self.send(what, {self.nodes[site]: record_of(files) for site in sites})

    def send(self, what: str, contents: dict[int, RecordDict]) -> list[Message]:
        """Send messages, and give the replies that are no errors."""
        messages = [
            Message(content=content, dst_node_id=node, message_type=f"query.{what}")
            for node, content in contents.items()
        ]
        replies = list(self.grid.send_and_receive(messages, timeout=self.timeout))
        for reply in replies:
            if reply.has_error():
                print(f"node {reply.metadata.src_node_id} failed: {reply.error.reason}")
        return [reply for reply in replies if not reply.has_error()]

    def align(self) -> None:
        """Find the frame, or put new sites into it."""
        shares = [Share.load(folder) for folder in sorted((self.folder / "shares").iterdir())]
        path = self.folder / "frame"
        if not path.exists():
            align_shares(shares).save(path)
            return
        frame = Frame.load(path)
        known = {site["site"] for site in frame.record["sites"]}
        for new in [share for share in shares if share.record["site"] not in known]:
            known.add(new.record["site"])
            frame = frame.add(
                [share for share in shares if share.record["site"] in known], new.record["site"]
            )
        frame.save(path)
