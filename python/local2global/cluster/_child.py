"""A child process that trains one bundle: the command line, and hardly any Python.

    python -I -S _child.py MODULE MEMORY ARGUMENTS...

`MODULE` is the file of the engine, `MEMORY` a limit in bytes or 0. The child ends when its standard
input does, so it never outlives the worker that started it.
"""

import os
import sys
import threading
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


def _limit_memory(limit: int) -> None:
    try:
        import resource
    except ImportError:  # Not on Windows; the engine keeps to `--memory` there too.
        return
    if limit > 0:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _main(module: str, memory: str, *arguments: str) -> int:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _limit_memory(int(memory))
    loader = ExtensionFileLoader("local2global._native", module)
    spec = spec_from_loader(loader.name, loader)
    if spec is None:
        raise ImportError(f"cannot load {module}")
    native = module_from_spec(spec)
    loader.exec_module(native)
    return int(native.main(["l2g", *arguments]))


if __name__ == "__main__":
    code = _main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)
