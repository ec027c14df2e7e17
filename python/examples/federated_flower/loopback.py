"""Five sites, a SuperLink and a SuperNode each, on this machine.

    pip install 'local2global[flower]'
    python loopback.py

Every site is a process of its own with its own folder. Site `east` is killed between the rounds:
the others finish, and it joins later. At the end the rows of all sites are compared with those that
the same steps give by files.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from local2global.federated import Frame, Secret, Share, align_shares, join, share_ids, share_rows

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
SITES = ["centre", "east", "north", "south", "west"]
LATE = "east"
DIM, NODES, OWN, SHARED = 8, 400, 60, 40
PORT = 9391


def make_sites(folder: Path) -> None:
    """Write ids and rows of sites that overlap in a ring, each in a frame of its own."""
    random = np.random.default_rng(0)
    points = random.normal(size=(NODES, DIM))
    step = OWN + SHARED
    for number, site in enumerate(SITES):
        ids = (np.arange(step + SHARED) + number * step) % (step * len(SITES)) % NODES
        ids = np.unique(ids)
        turn, _ = np.linalg.qr(random.normal(size=(DIM, DIM)))
        (folder / site).mkdir()
        np.save(folder / site / "ids.npy", ids)
        np.save(folder / site / "coords.npy", points[ids] @ turn + random.normal(size=DIM))
        (folder / site / "key").write_bytes(b"a key that all sites have agreed on\n")


class Federation:
    """The processes of a federation on loopback, ended one by one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        home = folder / "flower"
        home.mkdir()
        address = f"127.0.0.1:{PORT}"
        link = f'address = "{address}"\ninsecure = true\n'
        text = f'[superlink]\ndefault = "loopback"\n\n[superlink.loopback]\n{link}'
        (home / "config.toml").write_text(text)
        path = f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"
        flower = {"FLWR_HOME": str(home), "FLWR_TELEMETRY_ENABLED": "0"}
        self.environment = {**os.environ, **flower, "PATH": path}

    def start(self, name: str, *command: str) -> None:
        """Start a process that goes on until it is ended."""
        log = (self.folder / f"{name}.log").open("ab")
        self.processes[name] = subprocess.Popen(
            [str(BIN / command[0]), *command[1:]],
            stdout=log,
            stderr=log,
            cwd=self.folder,
            env=self.environment,
            start_new_session=True,
        )

    def start_link(self) -> None:
        """Start the SuperLink."""
        self.start(
            "superlink",
            "flower-superlink",
            "--insecure",
            "--host",
            "127.0.0.1",
            "--port",
            str(PORT),
            "--disable-runtime-dependency-installation",
        )

        self.wait_for_link()

    def wait_for_link(self) -> None:
        """Wait until the SuperLink listens."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", PORT)) == 0:
                    return
            time.sleep(0.5)
        raise TimeoutError("the SuperLink does not listen after two minutes")

    def start_site(self, site: str) -> None:
        """Start the SuperNode of a site."""
        port = PORT + 1 + SITES.index(site)
        self.start(
            site,
            "flower-supernode",
            "--insecure",
            "--superlink",
            f"127.0.0.1:{PORT}",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--node-config",
            f"site='{site}' folder='{self.folder / site}'",
        )

    def run(self, sites: int, rounds: str) -> None:
        """Run the coordinator to its end."""
        config = (
            f"folder='{self.folder / 'coordinator'}' sites={sites} rounds='{rounds}' timeout=60"
        )
        command = [
            str(BIN / "flwr"),
            "run",
            str(HERE),
            "loopback",
            "--stream",
            "--run-config",
            config,
        ]
        subprocess.run(command, check=True, timeout=300, env=self.environment, cwd=self.folder)

    def end(self, name: str) -> None:
        """End a process and all that it has started."""
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def end_all(self) -> None:
        """End everything that still runs."""
        for name in list(self.processes):
            self.end(name)


def by_files(folder: Path) -> dict[str, np.ndarray]:
    """Give what the same steps give without Flower, with the same secrets."""
    key = (folder / LATE / "key").read_bytes()
    data = {
        site: [np.load(folder / site / f"{name}.npy") for name in ("ids", "coords")]
        for site in SITES
    }
    secrets = {site: Secret.load(folder / site / "secret.npz") for site in SITES}
    first = [share_ids(site, ids, key=key) for site, (ids, _) in data.items()]
    second = {
        site: share_rows(site, *data[site], key=key, others=first, secret=secrets[site])[0]
        for site in SITES
    }
    frame = align_shares([share for site, share in second.items() if site != LATE])
    frame = frame.add(list(second.values()), LATE)
    return {site: join(site, *data[site], secrets[site], frame) for site in SITES}


def check_messages(folder: Path) -> None:
    """Read every byte that the coordinator has, and find no row and no id of a site."""
    kept = [path for path in (folder / "coordinator").rglob("*") if path.is_file()]
    sent = b"".join(path.read_bytes() for path in kept)
    for site in SITES:
        for row in np.load(folder / site / "coords.npy"):
            assert not any(value.tobytes() in sent for value in row), site
        assert (folder / site / "key").read_bytes().strip() not in sent
    print(
        f"read {len(sent)} bytes in {len(kept)} files of the coordinator: "
        "no coordinate of a site is there"
    )


def main() -> None:
    """Go through the whole story."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_sites(folder)
        federation = Federation(folder)
        try:
            federation.start_link()
            for site in SITES:
                federation.start_site(site)
            federation.run(len(SITES), "ids")
            federation.end(LATE)
            print(f"{LATE} was killed between the rounds")
            federation.run(len(SITES) - 1, "all")
            before = {site: np.load(folder / site / "joined.npy") for site in SITES if site != LATE}
            federation.start_site(LATE)
            federation.run(len(SITES), "all")
            joined = {site: np.load(folder / site / "joined.npy") for site in SITES}
            assert all((joined[site] == before[site]).all() for site in before), "a site has moved"
            expected = by_files(folder)
            assert all((joined[site] == expected[site]).all() for site in SITES)
            check_messages(folder)
            frame = Frame.load(folder / "coordinator/frame")
            assert len(Share.load(folder / "coordinator/shares" / LATE).ids) > 0
            print(f"{LATE} joined later, and no other site has moved; all rows are those by files")
            print(frame.diagnostics["verdict"])
        except BaseException:
            for log in folder.glob("*.log"):
                print(f"--- {log.name}\n{log.read_text()[-3000:]}", file=sys.stderr)
            raise
        finally:
            federation.end_all()


if __name__ == "__main__":
    main()
