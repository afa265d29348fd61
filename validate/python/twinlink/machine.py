"""A machine, what is changed in it, and what is asked of it."""
from __future__ import annotations

import dataclasses
import html
import os
from typing import Any

from . import programs
from .options import Sizes, command_line
from .results import Floors, Result, floors_of, result_of


@dataclasses.dataclass(frozen=True)
class Platform:
    """A platform by its name or file, with changes. Each change makes another Platform."""
    name: str
    changes: tuple[tuple[str, str], ...] = ()

    def _with(self, option: str, value: str) -> Platform:
        return dataclasses.replace(self, changes=(*self.changes, (option, value)))

    def set(self, path: str, value: object) -> Platform:
        """Another value, with its unit, for a number of the platform: set("fabric.link", "25 GB/s")."""
        return self._with("set", f"{path}={value}")

    def degrade(self, part: str, share: float, at: str | None = None) -> Platform:
        """A part that has this share of its bandwidth, from 0 to 1; `at` a time, such as "2ms", or from the start."""
        return self._with("degrade", f"{part}={100 * share:.10g}%" + (f"@{at}" if at else ""))

    def fail(self, part: str, at: str | None = None) -> Platform:
        """A part that is gone, from the start or from a time on."""
        return self._with("fail", part + (f"@{at}" if at else ""))

    def without(self, what: str) -> Platform:
        """Without "p2p" or "rdma"."""
        return self._with("without", what)

    def __str__(self) -> str:
        return ", ".join([self.name, *(f"{option} {value}" for option, value in self.changes)])

    def words(self) -> list[str]:
        """The options of a command that name this machine."""
        return ["--platform", self.name, *(word for option, value in self.changes for word in (f"--{option}", value))]

    def command(self, name: str, *arguments: str, **options: Any) -> tuple[str, ...]:
        """The command line of twinlink-sim that asks this machine; TypeError for an option that it does not have."""
        return (*command_line("twinlink-sim", name, options), *self.words(), *arguments)

    def run(self, protocol: str | None = None, *, sizes: Sizes | str | int | None = None, **options: Any) -> Result:
        """Messages between two devices, `src` and `dst` as "NODE/GPU". Frame: a row for each size."""
        return result_of(self.command("run", protocol=protocol, sizes=sizes, **options))

    def workload(self, name: str, **options: Any) -> Result:
        """A collective, a pattern or a recorded job. Frame: a row for each size and algorithm."""
        return result_of(self.command("workload", name, **options))

    def explain(self, **options: Any) -> Result:
        """The way of one message. Frame: a row for each step."""
        return result_of(self.command("explain", **options))

    def advise(self, workload: str | None = None, **options: Any) -> Result:
        """The fastest protocols of each size, or what makes a workload fast. Frame: a row for each that was tried."""
        if workload is None:
            return result_of(self.command("advise", **options))
        return result_of(self.command("advise workload", workload, **options))

    def expect(self, *tests: str, ranks: int | None = None, src: str | None = None, dst: str | None = None) -> Floors:
        """What operators' tests should reach here, and the lowest that is acceptable: expect("nvbandwidth",
        "nccl-tests all_reduce_perf -b 8M -e 8G"). UnavailableError where nothing measured stands behind any."""
        if self.changes:
            raise programs.UsageError(f"floors are of a machine as its file has it, and not of {self}")
        named = {"--ranks": ranks, "--from": src, "--to": dst}
        words = [word for option, value in named.items() if value is not None for word in (option, str(value))]
        folder = str(programs.find("twinlink-sim").parent)
        return floors_of(programs.call("expect", [self.name, "--bin", folder, *words, "--format", "yaml", *tests]))

    def svg(self, **options: Any) -> str:
        """A node, with `fabric=True` the switches between nodes, with `src` and `dst` a message's way. Needs dot."""
        return programs.written("twinlink-sim", self.command("draw", **options), "--out", "machine.svg")

    def _repr_html_(self) -> str:
        try:
            drawing = self.svg()
            drawing = drawing[drawing.index("<svg"):]
        except programs.TwinlinkError as error:
            drawing = f"<pre>{html.escape(str(error))}</pre>"
        return f"<p><b>{html.escape(str(self))}</b></p>{drawing}"


def platform(name: str | os.PathLike[str]) -> Platform:
    """The machine of this name, which `twinlink-sim list platforms` shows, or of this YAML file."""
    return Platform(os.fspath(name))
