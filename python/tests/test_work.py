"""Work lets go of the interpreter, tells how far it is, and can be stopped."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

import local2global as l2g
from local2global import _native, errors


def train(epochs: int, **options) -> None:
    l2g.Local2Global(dim=16, patches=2, epochs=epochs, **options).fit("cora")


def test_other_threads_run_meanwhile():
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.01):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    first = time.perf_counter()
    train(epochs=20)
    last = time.perf_counter()
    stop.set()
    thread.join()
    # Somebody who keeps the interpreter lets others in at the beginning and at the end only.
    quarter = (last - first) / 4
    middle = [tick for tick in ticks if first + quarter < tick < last - quarter]
    assert len(middle) >= 3


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of Unix")
def test_ctrl_c_stops_and_keeps_what_is_done(tmp_path: Path):
    code = f"""
        import local2global as l2g
        def tell(event):
            if event.task == "embed" and event.done > 0:
                print("training", flush=True)

        settings = dict(dim=16, patches=2, method="vgae", epochs=1_000_000)
        model = l2g.Local2Global(**settings, run_dir={str(tmp_path)!r}, progress=tell)
        try:
            model.fit("cora")
        except KeyboardInterrupt:
            print("stopped", flush=True)
    """
    script = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(script, stdout=subprocess.PIPE, text=True) as process:
        # Training to its end would take hours; whoever does not hear is ended by the limit.
        limit = threading.Timer(600, process.kill)
        limit.start()
        assert process.stdout.readline() == "training\n"
        process.send_signal(signal.SIGINT)
        assert [line for line in process.stdout if line != "training\n"] == ["stopped\n"]
        assert process.wait() == 0
        limit.cancel()
    assert (tmp_path / "3-patches/patches.json").exists()


def test_a_callback_hears_of_every_task():
    events = []
    train(epochs=10, progress=events.append)
    tasks = {event.task for event in events}
    assert {"embed", "patch", "embedding"} <= tasks
    embed = [event for event in events if event.task == "embed"]
    assert embed[-1].is_over
    assert embed[-1].done == embed[-1].total == 20
    assert embed[-1].unit == "epochs"
    assert threading.current_thread() is threading.main_thread()


def test_a_callback_that_fails_stops_the_work():
    def fail(event):
        if event.task == "embed":
            raise RuntimeError("enough")

    started = time.monotonic()
    with pytest.raises(RuntimeError, match="enough"):
        train(epochs=1_000_000, progress=fail)
    assert time.monotonic() - started < 30


def test_bars_are_drawn_by_tqdm(capsys):
    train(epochs=5, progress=True)
    assert "epochs" in capsys.readouterr().err
    train(epochs=5, progress=False)
    train(epochs=5, progress="auto")
    assert capsys.readouterr().err == ""
    with pytest.raises(ValueError, match="progress is 'yes'"):
        train(epochs=5, progress="yes")


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name.endswith("Error")])
def test_every_error_is_a_local2global_error(name):
    kind = getattr(l2g, name)
    assert issubclass(kind, l2g.Local2GlobalError)
    copy = pickle.loads(pickle.dumps(kind("what was found")))
    assert type(copy) is kind
    assert str(copy) == "what was found"
    assert kind.__doc__


def test_a_panic_is_an_error_that_can_be_caught():
    with pytest.raises(
        l2g.InternalError, match="a bug of local2global: the sky has fallen"
    ) as error:
        _native.panic_at_work("the sky has fallen")
    assert isinstance(error.value, RuntimeError)
    # And the next piece of work is done as ever.
    assert l2g.read_graph([(0, 1), (1, 2)]).num_edges == 2


def test_a_missing_run_folder_is_an_error_of_its_own(tmp_path: Path):
    with pytest.raises(l2g.StoreError, match="holds no finished graph"):
        l2g.Graph.stored(tmp_path)


def test_the_version_is_the_engines():
    assert l2g.__version__ == _native.__version__
    assert l2g.__version__.count(".") == 2


def test_settings_are_what_run_toml_says():
    tables = {
        "embed": {"dim": 8, "learning_rate": [0.1, 0.2]},
        "graph": {"features": Path("x.npy")},
    }
    text = _native.Settings(tables, 2**63 - 1).to_toml()
    assert "dim = 8" in text
    assert "seed = 9223372036854775807" in text
    assert 'features = "x.npy"' in text
    with pytest.raises(TypeError, match="cannot be a `object`"):
        _native.Settings({"embed": {"dim": object()}})
