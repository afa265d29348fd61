"""What the programs answer: frozen, with a frame whose columns name their units."""
from __future__ import annotations

import dataclasses
import functools
import html
import importlib.resources
import json
import os
import pathlib
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from . import plots, programs
from .options import command_line

# Which list of a file is its frame, and in each of whose entries another one is.
_TABLES: Mapping[str, Sequence[str]] = {
    "twinlink-result": ["points"],
    "twinlink-pairs": ["results", "points"],
    "twinlink-probe": ["lines"],
    "twinlink-workload": ["points"],
    "twinlink-jobs": ["points", "jobs"],
    "twinlink-explanation": ["steps"],
    "twinlink-advice": ["points", "ranking"],
    "twinlink-workload-advice": ["points", "ranking"],
    "twinlink-sensitivity": ["influences"],
    "twinlink-study": ["rows"],
    "twinlink-comparison": ["pairs", "rows"],
    "twinlink-suspects": ["slow"],
    "twinlink-fleet": ["nodes"],
}
_FIRST = ["label", "from", "to", "name", "step", "bytes", "protocol", "algorithm", "time_us"]  # of a frame's columns
_WITH_UNITS = {"error": "error_ratio", "MBps": "bandwidth_MBps"}


@functools.lru_cache(maxsize=None)
def schema() -> Mapping[str, Any]:
    """The JSON Schema of all results (draft 7), as it is published with this package."""
    text = importlib.resources.files(__package__).joinpath("results.schema.json").read_text()
    found: Mapping[str, Any] = json.loads(text)
    return found


def _flat(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping):  # axes, options
            yield from _flat(value)
        elif not isinstance(value, list):
            yield _WITH_UNITS.get(name, name), value


def _rows(data: Mapping[str, Any], lists: Sequence[str]) -> Iterator[dict[str, Any]]:
    for entry in data.get(lists[0]) or []:
        if len(lists) == 1:
            yield dict(_flat(entry))
            continue
        outer = {name: value for name, value in entry.items() if not isinstance(value, (dict, list))}
        for row in _rows(entry, lists[1:]):
            yield {**outer, **row}


@dataclasses.dataclass(frozen=True)
class Result:
    """A result file of any kind. `data` is the file as the program wrote it; schema() describes it."""
    data: Mapping[str, Any]

    @property
    def kind(self) -> str:
        return str(self.data["kind"])

    @property
    def title(self) -> str:
        """The command that made it, or its kind."""
        return re.sub(r" --json \S*$", "", str(self.data.get("command", self.kind)))

    @property
    def frame(self) -> pd.DataFrame:
        """Its rows: points, steps, a ranking. Times in us, rates in 10^6 bytes per second, as the columns say."""
        frame = pd.DataFrame(list(_rows(self.data, _TABLES[self.kind])))
        return frame[sorted(frame.columns, key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))]

    def save(self, file: str | os.PathLike[str]) -> None:
        """As a file that the programs read."""
        pathlib.Path(file).write_text(json.dumps(self.data, indent=2, sort_keys=True) + "\n")

    def plot(self, ax: Any = None) -> Any:
        """Times over sizes, or what is compared; the matplotlib axes. UsageError for a kind that has no curve."""
        frame = self.frame
        if self.kind == "twinlink-comparison":
            return plots.comparison(frame, ax)
        if not {"bytes", "time_us"} <= set(frame.columns):
            raise programs.UsageError(f"a {self.kind} has no curve to plot")
        apart = ("name", "from", "to", "protocol", "algorithm", "chunk", "depth")
        by = [name for name in apart if name in frame.columns]
        return plots.curves(frame, "bytes", by, ax)

    def _repr_html_(self) -> str:
        said = [str(self.data[key]) for key in ("held_up", "path_taken", "verdict") if self.data.get(key)]
        said += [f"{name}: {text}" for name, text in (self.data.get("protocols") or {}).items()]
        said += [str(each) for each in self.data.get("notes", [])]
        return page(self.title, said, self.frame)


@dataclasses.dataclass(frozen=True, eq=False)
class Floors:
    """What tests should reach: `frame` has expected figure, unit, how sure it is, and the limit."""
    frame: pd.DataFrame

    def _repr_html_(self) -> str:
        return page("what operators' tests should reach", [], self.frame)


def page(title: str, said: Sequence[str], frame: pd.DataFrame) -> str:
    """A result in a notebook."""
    lines = "".join(f"<br>{html.escape(line)}" for line in said)
    return f"<p><b>{html.escape(title)}</b>{lines}</p>{frame.to_html(max_rows=30, index=False, na_rep='')}"


def _checked(data: Any, name: str) -> Result:
    kinds = schema()["definitions"]
    kind = data.get("kind") if isinstance(data, dict) else None
    if kind not in _TABLES:
        raise programs.InputError(f"{name}: kind {kind!r} is no result (there are: {', '.join(_TABLES)})")
    version, known = data.get("schema"), kinds[kind]["properties"]["schema"]["const"]
    if version != known:
        raise programs.VersionError(f"{name}: {kind} is of schema {version}, and this package reads schema {known}")
    return Result(data)


def read(file: str | os.PathLike[str]) -> Result:
    """A result file of any program. InputError for what is none, VersionError for another schema."""
    try:
        data = json.loads(pathlib.Path(file).read_text())
    except (OSError, ValueError) as error:
        raise programs.InputError(f"{os.fspath(file)}: {error}") from error
    return _checked(data, os.fspath(file))


def result_of(command: Sequence[str], program: str = "twinlink-sim", allowed: int = 0) -> Result:
    """Runs the command to its end, in a process of its own."""
    text = programs.written(program, command, "--json", "result.json", allowed)
    return _checked(json.loads(text), " ".join([program, *command]))


def compare(*pairs: Result | str | os.PathLike[str], **options: Any) -> Result:
    """Results or files in pairs, measured and then simulated, held against each other by twinlink-validate. The frame
    has a row for each line of each pair; error_ratio is (simulated - measured) / measured. A limit that is exceeded,
    as max_error in %, is in data["exceeded"]."""
    with tempfile.TemporaryDirectory(prefix="twinlink-") as folder:
        files = []
        for number, each in enumerate(pairs):
            if isinstance(each, Result):
                file = os.path.join(folder, f"{number}.json")
                each.save(file)
            else:
                file = os.fspath(each)
            files.append(file)
        words = command_line("twinlink-validate", "compare", options)
        return result_of([*words, *files], "twinlink-validate", allowed=1)


def floors_of(text: str) -> Floors:
    """Of what validate/expect --format yaml prints, whose figures are one line each."""
    rows = []
    for line in re.findall(r"^  - \{(.*)\}$", text, re.M):
        row = {name: quoted or bare for name, quoted, bare in re.findall(r'(\w+): (?:"([^"]*)"|([^,]+))', line)}
        rows.append({name: json.loads(value) if re.fullmatch(r"\d+(\.\d+)?", value) else value
                     for name, value in row.items()})
    return Floors(pd.DataFrame(rows))
