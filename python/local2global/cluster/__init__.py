"""Patches trained on a cluster that you have: Dask, Ray, Slurm, or a pool of processes.

`embed` hands the patches of a run folder to an executor, which is anything with
`submit(function, *args)` that gives a future: `dask.distributed.Client`, those of
`concurrent.futures`, `submitit`, `mpi4py.futures`, `loky`, `parsl.concurrent`; and Ray by
`RayExecutor`. The run gets the bytes that `l2g embed RUN` would give.

```python
from concurrent.futures import ProcessPoolExecutor
from local2global.cluster import embed

with ProcessPoolExecutor(4) as pool:
    embed("runs/cora", pool)
```

Workers get a bundle: all that its patches need, and nothing else of the graph. They train it in a
child process, so that a crash there, or a limit of memory, never takes the worker along.
"""

from __future__ import annotations

from .ray import RayExecutor
from .schedule import Report, embed

__all__ = ["RayExecutor", "Report", "embed"]
