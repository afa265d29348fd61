"""What the programs take, as they list it themselves, and command lines of keyword arguments."""
from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from . import programs

_OTHER_NAMES = {"src": "from", "dst": "to"}  # `from` is a word of the language


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Message sizes from `begin` to `end`, each `factor` times the one before; "64K" or bytes."""
    begin: str | int
    end: str | int
    factor: int = 2


def sizes(begin: str | int, end: str | int | None = None, factor: int = 2) -> Sizes:
    """Sizes, or one size."""
    return Sizes(begin, begin if end is None else end, factor)


@dataclasses.dataclass(frozen=True)
class Option:
    """An option or argument of a command, as the program describes it."""
    name: str
    argument: bool
    flag: bool
    repeats: bool
    type: str


@functools.lru_cache(maxsize=None)
def _commands(file: pathlib.Path, changed: int) -> Mapping[str, Mapping[str, Option]]:
    try:
        listed = json.loads(programs.call(file.name, ["--list-options"]))
    except programs.UsageError as error:
        raise programs.VersionError(f"{file} is older than this package, which is of {programs.VERSION}") from error
    version = str(listed["program"]).split()[1]
    if version != programs.VERSION:
        raise programs.VersionError(f"{file} is of {version}, and this package of {programs.VERSION}: they go together")
    found: dict[str, Mapping[str, Option]] = {}

    def walk(command: Mapping[str, Any], above: str) -> None:
        for below in command["commands"]:
            name = f"{above} {below['name']}".strip()
            fields = [field.name for field in dataclasses.fields(Option)]
            found[name] = {o["name"]: Option(**{field: o[field] for field in fields}) for o in below["options"]}
            walk(below, name)

    walk(listed["command"], "")
    return found


def options_of(program: str, command: str) -> Mapping[str, Option]:
    """The options of a command by their long names. VersionError for a program of another version."""
    file = programs.find(program)
    return _commands(file, file.stat().st_mtime_ns)[command]


@functools.lru_cache(maxsize=None)
def _protocol_options(file: pathlib.Path, changed: int) -> Mapping[str, tuple[str, ...]]:
    takers: dict[str, list[str]] = {}
    text = programs.written(file.name, ["list", "protocols"], "--json", "protocols.json")
    for protocol in json.loads(text):
        for option in [*protocol["options"], *protocol["aliases"]]:
            takers.setdefault(option["name"], []).append(protocol["name"])
    return {name: tuple(protocols) for name, protocols in takers.items()}


def protocol_options() -> Mapping[str, tuple[str, ...]]:
    """Which protocols take an option NAME=VALUE, by its name; also by a library's, as NCCL_PROTO."""
    file = programs.find("twinlink-sim")
    return _protocol_options(file, file.stat().st_mtime_ns)


def _words(option: Option, key: str, value: object) -> Iterator[str]:
    name = f"--{option.name}"
    if option.flag:
        if not isinstance(value, bool):
            raise TypeError(f"{key} is a switch, True or False: {value!r}")
        if value:
            yield name
        return
    if isinstance(value, Mapping):
        value = tuple(f"{each}={text}" for each, text in value.items())
    if isinstance(value, (list, tuple)):
        if option.repeats:
            for each in value:
                yield from (name, str(each))
            return
        value = ",".join(map(str, value))
    if isinstance(value, bool) or (re.match(r"\w+:\d+\.\.", option.type) and not re.fullmatch(r"-?\d+", str(value))):
        raise TypeError(f"{key} takes {option.type}: {value!r}")
    yield from (name, str(value))


def spelled(options: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments by the programs' names: `sizes` and `bytes` are their begin, end and factor."""
    named: dict[str, Any] = {}
    for key, value in options.items():
        if value is None:
            continue
        if key == "sizes" and isinstance(value, Sizes):
            named.update(begin=value.begin, end=value.end, factor=value.factor)
        elif key in ("bytes", "sizes"):
            named.update(begin=value, end=value)
        else:
            named[_OTHER_NAMES.get(key, key.rstrip("_"))] = value
    return named


def command_line(program: str, command: str, options: Mapping[str, Any]) -> list[str]:
    """The command with these options. An option of a protocol alone, such as `nccl_proto`, takes that protocol where
    none is named. A TypeError names what was meant by an option that there is not."""
    known = options_of(program, command)
    words = command.split()
    of_protocol: dict[str, str] = {}
    named = spelled(options)
    for key, value in named.items():
        option = known.get(key.replace("_", "-"))
        if option is not None and not option.argument:
            words += _words(option, key, value)
            continue
        takers = protocol_options() if "option" in known else {}
        name = next((each for each in (key, key.replace("_", "-"), key.upper()) if each in takers), None)
        if name is None:
            own = [each.replace("-", "_") for each, o in known.items() if not o.argument]
            there = dict.fromkeys([*own, *_OTHER_NAMES, "sizes", "bytes", *(each.lower() for each in takers)])
            near = difflib.get_close_matches(key, there, n=3)
            meant = f"; did you mean {' or '.join(near)}?" if near else f" (there are: {', '.join(there)})"
            raise TypeError(f"{program} {command} has no option '{key}'{meant}")
        words += ["--option", f"{name}={value}"]
        if "protocol" not in named and len(takers[name]) == 1:
            of_protocol["protocol"] = takers[name][0]
    if of_protocol:
        words += ["--protocol", of_protocol["protocol"]]
    return words
