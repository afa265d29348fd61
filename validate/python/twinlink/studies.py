"""Many simulations: all combinations of the values of some options, each a process of its own."""
from __future__ import annotations

import concurrent.futures
import dataclasses
import itertools
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from . import plots, programs
from .machine import Platform
from .results import Result, page, result_of


@dataclasses.dataclass(frozen=True, eq=False)
class StudyResult:
    """`frame` has the axes, then a row's figures as those of a Result; `error` says why a point has none."""
    title: str
    axes: tuple[str, ...]
    results: tuple[Result | None, ...]
    frame: pd.DataFrame

    def plot(self, x: str | None = None, ax: Any = None) -> Any:
        """Times over `x`: the sizes, else the first axis of numbers, else the first axis, as bars."""
        numbers = [name for name in ("bytes", *self.axes)
                   if self.frame[name].nunique() > 1 and pd.api.types.is_numeric_dtype(self.frame[name])]
        x = x or [*numbers, *self.axes, "bytes"][0]
        by = [name for name in ("bytes", *self.axes, "algorithm") if name != x and name in self.frame.columns]
        return plots.curves(self.frame, x, by, ax)

    def _repr_html_(self) -> str:
        return page(self.title, [], self.frame)


@dataclasses.dataclass(frozen=True)
class Study:
    """The points of a study: what is the same in all, and the values of each axis."""
    machine: Platform | Sequence[Platform]
    workload: str | None
    fixed: Mapping[str, Any]
    axes: Mapping[str, Sequence[Any]]

    def points(self) -> list[dict[str, Any]]:
        """All combinations, the last axis the fastest."""
        return [dict(zip(self.axes, values)) for values in itertools.product(*self.axes.values())]

    def command(self, point: Mapping[str, Any]) -> tuple[str, ...]:
        """Of twinlink-sim, for one point. TypeError for an option that it does not have."""
        options = {**self.fixed, **point}
        machine: Platform = options.pop("machine", self.machine)
        workload = options.pop("workload", self.workload)
        return machine.command("workload", workload, **options) if workload else machine.command("run", **options)

    def run(self, jobs: int | None = None, executor: concurrent.futures.Executor | None = None,
            progress: bool = True) -> StudyResult:
        """Runs `jobs` points at a time, one for each core unless told, in threads that wait for processes; or as the
        executor has it, which stays open. A point that fails has its message in the column `error`; where all fail, the
        first error is raised. Ctrl-C ends the running programs."""
        points = self.points()
        commands = [self.command(point) for point in points]  # all options are right before anything runs
        own = executor or concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count())
        futures: list[concurrent.futures.Future[Result]] = []
        try:
            for command in commands:
                futures.append(own.submit(result_of, command))
            for _ in _shown(concurrent.futures.as_completed(futures), len(futures), progress):
                pass
        except BaseException:
            for future in futures:
                future.cancel()
            if executor is None:
                own.shutdown(wait=False, cancel_futures=True)
            # Not concurrent.futures.wait(): it waits for ever for a point that was cancelled before a thread took it.
            while programs.stop_running() or not all(future.done() for future in futures):
                time.sleep(0.02)
            raise
        finally:
            if executor is None:
                own.shutdown()
        return self._joined(points, futures)

    def _joined(self, points: Sequence[Mapping[str, Any]],
                futures: Sequence[concurrent.futures.Future[Result]]) -> StudyResult:
        results: list[Result | None] = []
        rows: list[dict[str, Any]] = []
        errors = [future.exception() for future in futures]
        for point, future, error in zip(points, futures, errors):
            if error is not None and not isinstance(error, programs.TwinlinkError):
                raise error
            shown = {name: str(value) if isinstance(value, Platform) else value for name, value in point.items()}
            results.append(None if error else future.result())
            if error:
                rows.append({**shown, "error": str(error)})
            else:
                rows += [{**row, **shown} for row in future.result().frame.to_dict("records")]
        if errors and all(errors):
            raise next(filter(None, errors))
        named = [*self.axes, "bytes", "time_us"]
        frame = pd.DataFrame(rows)
        frame = frame[[*dict.fromkeys(named), *(name for name in frame.columns if name not in named)]]
        return StudyResult(f"{self.workload or 'run'} on {self.machine}", tuple(self.axes), tuple(results), frame)

    def _repr_html_(self) -> str:
        return page(f"{len(self.points())} points", [f"{k}: {v}" for k, v in self.fixed.items()],
                    pd.DataFrame([{"axis": k, "values": ", ".join(map(str, v))} for k, v in self.axes.items()]))


def _shown(futures: Iterable[Any], count: int, progress: bool) -> Iterable[Any]:
    try:
        from tqdm import tqdm
    except ImportError:
        return futures
    shown: Iterable[Any] = tqdm(futures, total=count, unit="point", disable=not progress)
    return shown


def study(machine: Platform | Sequence[Platform], workload: str | list[str] | None = None, **options: Any) -> Study:
    """All combinations of the options that are lists, of `run` or of a workload; a tuple is one value. Several machines
    are an axis too: study([a, b], ...)."""
    given: dict[str, Any] = {**({} if isinstance(machine, Platform) else {"machine": list(machine)}),
                             **({"workload": workload} if isinstance(workload, list) else {}), **options}
    axes = {name: value for name, value in given.items() if isinstance(value, list)}
    if empty := [name for name, values in axes.items() if not values]:
        raise programs.UsageError(f"axis {empty[0]} has no values")
    fixed = {name: value for name, value in options.items() if name not in axes}
    return Study(machine, workload if isinstance(workload, str) else None, fixed, axes)
