"""Sites that keep their graphs, as functions on arrays."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest

import local2global as l2g
from local2global.federated import (
    Frame,
    Privacy,
    Secret,
    Share,
    align_shares,
    join,
    share_ids,
    share_rows,
)

KEY = b"a key that all sites have agreed on"
DIM = 4
SITES = {"east": np.arange(0, 40), "north": np.arange(25, 70), "south": np.arange(60, 90)}


def truth() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(90, DIM))


def local_rows(site: str) -> np.ndarray:
    random = np.random.default_rng(len(site) + ord(site[0]))
    turn, _ = np.linalg.qr(random.normal(size=(DIM, DIM)))
    return truth()[SITES[site]] @ turn + random.normal(size=DIM)


def both_rounds(sites=tuple(SITES), **more):
    first = [share_ids(site, ids, key=KEY) for site, ids in SITES.items()]
    made = {
        site: share_rows(site, SITES[site], local_rows(site), key=KEY, others=first, **more)
        for site in sites
    }
    shares = [share for share, _ in made.values()]
    return shares, {site: secret for site, (_, secret) in made.items()}


def stitched(frame: Frame, secrets: dict[str, Secret]) -> np.ndarray:
    sums, counts = np.zeros((90, DIM)), np.zeros(90)
    for site, secret in secrets.items():
        sums[SITES[site]] += join(site, SITES[site], local_rows(site), secret, frame)
        counts[SITES[site]] += 1
    return sums / counts[:, np.newaxis]


def distances(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, np.newaxis] - points, axis=2)


def test_sites_meet_in_one_frame():
    shares, secrets = both_rounds()
    frame = align_shares(shares)
    np.testing.assert_allclose(distances(stitched(frame, secrets)), distances(truth()), atol=1e-9)
    assert frame.diagnostics["misfit_after"] < 1e-9
    assert [site["site"] for site in frame.record["sites"]] == ["east", "north", "south"]


def test_another_secret_gives_another_share_and_the_same_result():
    (first, secrets), (second, others) = both_rounds(), both_rounds()
    assert all((a.coordinates != b.coordinates).all() for a, b in zip(first, second))
    found = [
        distances(stitched(align_shares(shares), kept))
        for shares, kept in ((first, secrets), (second, others))
    ]
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)


def test_rows_of_unshared_nodes_change_nothing():
    first = [share_ids(site, ids, key=KEY) for site, ids in SITES.items()]
    rows = local_rows("east")
    before, secret = share_rows("east", SITES["east"], rows, key=KEY, others=first)
    rows[:25] += 100.0
    after, _ = share_rows("east", SITES["east"], rows, key=KEY, others=first, secret=secret)
    assert before.record == after.record
    assert (before.coordinates == after.coordinates).all()
    assert before.record["nodes"] == 15


def test_a_site_joins_later_and_the_others_stay():
    shares, secrets = both_rounds()
    frame = align_shares(shares[:2])
    before = join("east", SITES["east"], local_rows("east"), secrets["east"], frame)
    later = frame.add(shares, "south")
    after = join("east", SITES["east"], local_rows("east"), secrets["east"], later)
    assert (before == after).all()
    np.testing.assert_allclose(distances(stitched(later, secrets)), distances(truth()), atol=1e-9)


def test_files_are_those_of_the_command_line(tmp_path: Path):
    shares, secrets = both_rounds()
    for share in shares:
        share.save(tmp_path / "shares" / share.record["site"])
    secrets["east"].save(tmp_path / "secret.npz")
    assert stat.S_IMODE((tmp_path / "secret.npz").stat().st_mode) == 0o600
    align_shares(shares).save(tmp_path / "frame")
    back = [Share.load(folder) for folder in sorted((tmp_path / "shares").iterdir())]
    assert [share.record for share in back] == [share.record for share in shares]
    frame, secret = Frame.load(tmp_path / "frame"), Secret.load(tmp_path / "secret.npz")
    rows = join("east", SITES["east"], local_rows("east"), secret, frame)
    expected = join(
        "east", SITES["east"], local_rows("east"), secrets["east"], align_shares(shares)
    )
    assert (rows == expected).all()


def test_public_ids_and_noise():
    privacy = Privacy(epsilon=5.0, delta=1e-6, clip=3.0)
    share, _ = share_rows(
        "east",
        SITES["east"],
        local_rows("east"),
        key=KEY,
        public_ids=range(30, 50),
        privacy=privacy,
    )
    assert share.record["nodes"] == 10
    assert share.record["privacy"]["epsilon"] == 5.0
    assert share.ids.shape == (10, 32)


def test_what_does_not_fit_is_refused_by_name():
    shares, _ = both_rounds()
    first = share_ids("east", SITES["east"], key=KEY)
    with pytest.raises(l2g.FederatedError, match="site `east` holds ids of the first round"):
        align_shares([first, *shares[1:]])
    with pytest.raises(l2g.FederatedError, match="node `3` stands twice at site `east`"):
        share_ids("east", [3, 4, 3], key=KEY)
    with pytest.raises(l2g.FederatedError, match="the key has 5 bytes"):
        share_ids("east", [3], key=b"short")
    with pytest.raises(TypeError, match="ids have type float64"):
        share_ids("east", [3.5], key=KEY)
    with pytest.raises(l2g.FederatedError, match="none of them is known to another site"):
        share_rows("east", [1, 2], np.zeros((2, 2)), key=KEY, public_ids=[7])
