"""Where the programs are, and one call of one of them."""
from __future__ import annotations

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import warnings
from collections.abc import Iterator, Sequence

VERSION = "0.1.0"  # of the programs that this package belongs to

_HERE = pathlib.Path(__file__).resolve().parent
_running: set[subprocess.Popen[str]] = set()
_lock = threading.Lock()


class TwinlinkError(Exception):
    """Base of what this package raises on purpose; the text is the program's own where one has failed."""


class NotFoundError(TwinlinkError):
    """A program is not there; the text says where it was looked for."""


class VersionError(TwinlinkError):
    """A program, or a file, is of another version than this package reads."""


class UsageError(TwinlinkError):
    """The program was asked for something that makes no sense (exit code 2)."""


class InputError(UsageError):
    """A file cannot be used; the text has a line for each finding (exit code 2)."""


class FailedError(TwinlinkError):
    """A check, a peer or the environment has failed (exit code 1)."""


class UnavailableError(TwinlinkError):
    """This machine, or the simulated one, lacks what was asked for (exit code 77)."""


class KilledError(TwinlinkError):
    """A signal has ended the program; nothing of its result is kept."""


def _folders() -> Iterator[pathlib.Path]:
    if named := os.environ.get("TWINLINK_BIN"):
        yield pathlib.Path(named)
        return
    yield (_HERE / "../../../../bin").resolve()  # of PREFIX/lib/python3/dist-packages/twinlink
    yield (_HERE / "../../../build/bin").resolve()  # of the sources
    yield from map(pathlib.Path, filter(None, os.environ.get("PATH", "").split(os.pathsep)))


def find(program: str) -> pathlib.Path:
    """The program's file: in TWINLINK_BIN alone where that is set, else beside this package, else on PATH."""
    looked = list(_folders())
    for folder in looked:
        if found := shutil.which(program, path=str(folder)):
            return pathlib.Path(found)
    raise NotFoundError(f"{program} is not in {', '.join(map(str, looked))}; name its folder with TWINLINK_BIN")


def find_script(name: str) -> pathlib.Path:
    """A script of validate/: of the sources, or of the installation that has the programs."""
    looked = [_HERE.parent.parent / name, find("twinlink-sim").parents[1] / "share/twinlink/validate" / name]
    for file in looked:
        if os.access(file, os.X_OK) and file.is_file():
            return file
    raise NotFoundError(f"validate/{name} is not at {' or '.join(map(str, looked))}")


def stop_running() -> bool:
    """Ends the programs that this process has started; were there any?"""
    with _lock:
        for child in _running:
            child.kill()
        return bool(_running)


def _error_of(program: str, code: int, said: str) -> TwinlinkError:
    if code < 0:
        return KilledError(f"{program} was ended by {signal.Signals(-code).name}; nothing of its result is kept")
    lines = said.strip().splitlines() or [f"{program} ended with {code} and said nothing"]
    prefix = f"{program}: error: "
    own = [line.removeprefix(prefix) for line in lines if line.startswith(prefix)]
    if code == 2:
        return UsageError("\n".join(own)) if own else InputError("\n".join(lines))
    return {77: UnavailableError}.get(code, FailedError)("\n".join(own or lines))


def call(program: str, arguments: Sequence[str], *, file: pathlib.Path | None = None, allowed: int = 0) -> str:
    """Runs a program to its end; what it prints, or what it has written to `file`. `file` is there after an exit code
    of `allowed` too. The program is ended where the wait for it is interrupted."""
    path = file_of_program(program)
    child = subprocess.Popen([path, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, errors="replace")
    try:
        with _lock:
            _running.add(child)
        printed, said = child.communicate()
    except BaseException:
        child.kill()
        child.wait()
        raise
    finally:
        with _lock:
            _running.discard(child)
    code = child.returncode
    written = file is not None and file.exists()
    if code not in (0, allowed) or (code != 0 and not written):
        raise _error_of(path.name, code, said)
    for line in said.splitlines():
        if ": note: " in line:
            warnings.warn(line, stacklevel=2)  # once, of many points that say the same
    return file.read_text() if file is not None else printed


def file_of_program(program: str) -> pathlib.Path:
    """find() or find_script(), by the name."""
    return find(program) if program.startswith("twinlink-") else find_script(program)


def written(program: str, arguments: Sequence[str], option: str, name: str, allowed: int = 0) -> str:
    """What the program writes to the file that `option` names, whole or not at all."""
    with tempfile.TemporaryDirectory(prefix="twinlink-") as folder:
        file = pathlib.Path(folder, name)
        return call(program, [*arguments, option, str(file)], file=file, allowed=allowed)
