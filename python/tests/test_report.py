"""The page and the picture of a model."""

from __future__ import annotations

import re

import pytest

import local2global as l2g


@pytest.fixture(scope="module")
def model() -> l2g.Local2Global:
    model = l2g.Local2Global(dim=4, patches=4, method="spectral", random_state=0)
    return model.fit("cora")


def test_a_report_shows_itself_in_a_notebook(model, tmp_path):
    report = model.report("pca")
    assert report.html.startswith("<!doctype html>")
    assert "2\u202f485" in report.html
    shown = report._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "<script" not in shown
    assert report.save(tmp_path / "a.html").read_text(encoding="utf-8") == report.html
    assert repr(report).startswith("<Page of 0.")


def test_a_picture_needs_nothing(model):
    picture = model.map("pca")
    svg = picture._repr_svg_()
    assert svg.startswith("<svg ")
    # A dot for each node.
    assert svg.count("h0") == 2485
    assert not re.search(r"<script|href|url\(", svg)


def test_a_run_folder_tells_more(tmp_path):
    model = l2g.Local2Global(dim=4, patches=4, method="spectral", run_dir=tmp_path / "run")
    page = model.fit("cora").report("pca").html
    assert "l2g run --config" in page
    assert "All settings (run.toml)" in page


def test_what_is_wrong_is_said(model):
    with pytest.raises(ValueError, match="layout is 'tsne'; it must be"):
        model.map("tsne")
    with pytest.raises(AttributeError, match="not fitted"):
        l2g.Local2Global().report()
