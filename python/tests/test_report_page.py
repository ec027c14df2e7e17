"""The page of `l2g report`, driven in a real browser.

These tests need Chromium and its driver, and are skipped where they are not installed.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

HOSTILE = "<script>window.hacked=1</script>"
STRANGE = "größer 雪 \"quoted\" & 'more' </script><img src=x onerror=window.hacked=2>"


def browser(*options: str) -> Iterator[webdriver.Chrome]:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("no Chromium with its driver here")
    chosen = webdriver.ChromeOptions()
    chosen.binary_location = chromium
    for option in (
        "--headless=new",
        "--no-sandbox",
        "--no-first-run",
        "--disable-quic",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
        "--window-size=1200,1000",
        *options,
    ):
        chosen.add_argument(option)
    chosen.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(
        options=chosen, service=webdriver.ChromeService(executable_path=driver)
    )
    yield started
    started.quit()


@pytest.fixture(scope="module")
def chrome() -> Iterator[webdriver.Chrome]:
    yield from browser("--use-angle=swiftshader", "--enable-unsafe-swiftshader")


@pytest.fixture(scope="module")
def page(command_line, tmp_path_factory) -> Path:
    """The report of a ring of groups, whose nodes have strange names and several classes."""
    folder = tmp_path_factory.mktemp("report")
    names = [f"node {number:03}" for number in range(240)]
    names[3], names[5] = HOSTILE, STRANGE
    edges = [
        (node, other)
        for node in range(240)
        for other in (node // 20 * 20 + (node * 7 + 3) % 20, (node + 1) % 240)
        if node != other
    ]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    lines = [f"{quoted[a]},{quoted[b]}" for a, b in edges]
    (folder / "edges.csv").write_text("\n".join(["source,target", *lines]), encoding="utf-8")
    labels = [f"{name},{'<b>' if node < 120 else 'calm'}" for node, name in enumerate(quoted)]
    (folder / "labels.csv").write_text("\n".join(["id,label", *labels]), encoding="utf-8")
    run = ["run", "edges.csv", "--labels", "labels.csv", "--out", "run", "--dim", "8", "--report"]
    run += ["--patches", "4", "--set", "patch.min_overlap=10", "--quiet"]
    subprocess.run([command_line, *run], cwd=folder, check=True, timeout=120)
    return folder / "run" / "report.html"


@pytest.fixture
def shown(chrome, page) -> webdriver.Chrome:
    """The page, opened anew, with its map drawn."""
    chrome.get(page.as_uri())
    WebDriverWait(chrome, 20).until(lambda it: it.execute_script("return !!window.l2gMap"))
    return chrome


def place_of(shown: webdriver.Chrome, name: str) -> tuple[float, float]:
    """Where a node is on the screen, from the middle of the map."""
    script = """
        const map = window.l2gMap, node = map.matching(arguments[0], 1)[0];
        const [x, y] = map.plot.toScreen(node);
        return [x - map.canvas.clientWidth / 2, y - map.canvas.clientHeight / 2, node];
    """
    x, y, _ = shown.execute_script(script, name)
    return round(x), round(y)


def tip(shown: webdriver.Chrome) -> str:
    found = shown.find_element(By.CSS_SELECTOR, "#tip strong")
    return found.text if found.is_displayed() else ""


def zoomed_to(shown: webdriver.Chrome, name: str) -> None:
    """Zooms in on a node, so that no other lies under the pointer."""
    script = """
        const map = window.l2gMap, node = map.matching(arguments[0], 1)[0];
        map.plot.showNode(node);
        map.plot.zoomAt(60, map.canvas.clientWidth / 2, map.canvas.clientHeight / 2);
    """
    shown.execute_script(script, name)


def hover(shown: webdriver.Chrome, name: str) -> None:
    canvas = shown.find_element(By.ID, "canvas")
    ActionChains(shown).move_to_element_with_offset(canvas, *place_of(shown, name)).perform()


def test_it_opens_without_a_word_on_the_console(shown):
    assert [entry for entry in shown.get_log("browser") if entry["level"] != "INFO"] == []
    assert not shown.find_element(By.CSS_SELECTOR, ".picture").is_displayed()
    assert shown.execute_script("return window.l2gMap.plot.gl.getError()") == 0
    requested = "return performance.getEntriesByType('resource').map((entry) => entry.name)"
    assert shown.execute_script(requested) == []


def test_hover_names_the_node(shown):
    for name in ["node 017", "node 133"]:
        zoomed_to(shown, name)
        hover(shown, name)
        assert tip(shown) == name


def test_search_finds_a_node(shown):
    field = shown.find_element(By.ID, "search")
    field.send_keys("node 042", Keys.ENTER)
    WebDriverWait(shown, 5).until(lambda it: tip(it) == "node 042")
    assert place_of(shown, "node 042") == (0, 0)
    field.clear()
    field.send_keys("nobody", Keys.ENTER)
    WebDriverWait(shown, 5).until(
        lambda it: "No node here" in it.find_element(By.ID, "message").text
    )


def test_lasso_selects(shown):
    shown.find_element(By.ID, "lasso").click()
    canvas = shown.find_element(By.ID, "canvas")
    shown.execute_script("arguments[0].scrollIntoView()", canvas)
    width, height = canvas.size["width"] // 2 - 3, canvas.size["height"] // 2 - 3
    around = ActionChains(shown, duration=20).move_to_element_with_offset(canvas, -width, -height)
    around.click_and_hold()
    for x, y in [(2 * width, 0), (0, 2 * height), (-2 * width, 0)]:
        around.move_by_offset(x, y)
    around.release().perform()
    told = shown.find_element(By.ID, "selection")
    assert told.text.startswith("240 nodes selected")
    told.find_element(By.TAG_NAME, "summary").click()
    ids = told.find_element(By.TAG_NAME, "textarea")
    WebDriverWait(shown, 5).until(lambda _: ids.get_attribute("value"))
    assert HOSTILE in ids.get_attribute("value").split("\n")
    canvas.send_keys(Keys.ESCAPE)
    assert told.text == ""


def test_colours_and_embeddings_switch(shown):
    seen = set()
    colour = Select(shown.find_element(By.ID, "colour"))
    offered = [option.text for option in colour.options]
    expected = ["label", "patch", "community", "degree", "alignment spread", "nothing"]
    assert offered == expected
    for name in offered:
        colour.select_by_visible_text(name)
        legend = shown.find_element(By.ID, "legend").text
        assert legend.startswith(name if name != "nothing" else "")
        shown.execute_script("window.l2gMap.plot.drawNow()")
        seen.add(hashlib.sha1(shown.find_element(By.ID, "canvas").screenshot_as_png).digest())
    assert len(seen) == len(offered)
    before = shown.execute_script("return Array.from(window.l2gMap.plot.points)")
    Select(shown.find_element(By.ID, "embedding")).select_by_visible_text("unaligned")
    after = shown.execute_script("return Array.from(window.l2gMap.plot.points)")
    assert before != after


def test_the_legend_isolates_a_class(shown):
    shown.find_element(By.CSS_SELECTOR, "#legend button").click()
    faint = """
        const { colours } = window.l2gMap.plot;
        return colours.filter((value, at) => at % 4 === 3 && value < 100).length
    """
    assert shown.execute_script(faint) == 120


def test_keys_move_and_zoom(shown):
    canvas = shown.find_element(By.ID, "canvas")
    view = "return window.l2gMap.plot.view"
    before = shown.execute_script(view)
    canvas.send_keys("+", Keys.ARROW_LEFT)
    after = shown.execute_script(view)
    assert after["zoom"] > before["zoom"]
    assert after["x"] < before["x"]
    canvas.send_keys("0")
    assert shown.execute_script(view)["zoom"] == before["zoom"]


def test_strange_names_are_text(shown):
    for name in [HOSTILE, STRANGE]:
        zoomed_to(shown, name)
        hover(shown, name)
        assert tip(shown) == name
    assert "<b>" in shown.find_element(By.ID, "legend").text
    assert shown.execute_script("return window.hacked") is None
    assert shown.find_elements(By.CSS_SELECTOR, "img, #legend b") == []


def test_it_is_readable_on_a_phone(shown):
    shown.set_window_size(400, 800)
    try:
        wide = shown.execute_script("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
    finally:
        shown.set_window_size(1200, 1000)


def test_without_webgl_there_is_a_picture(page):
    for chrome in browser("--disable-3d-apis", "--disable-gpu"):
        chrome.get(page.as_uri())
        WebDriverWait(chrome, 20).until(
            lambda it: "no WebGL" in it.find_element(By.ID, "message").text
        )
        picture = chrome.find_element(By.CSS_SELECTOR, ".picture")
        assert picture.is_displayed()
        assert not chrome.find_element(By.ID, "canvas").is_displayed()


def test_the_policy_allows_what_is_in_the_page_and_nothing_else(page):
    text = page.read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy content="([^"]*)"', text).group(1)
    assert policy.startswith("default-src 'none'; ")
    for kind, content in re.findall(r"<(script|style)>(.*?)</\1>", text, re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert not re.search(r"<(script|link|img|iframe)[^>]*\s(src|href)=", text)
    assert HOSTILE not in text
