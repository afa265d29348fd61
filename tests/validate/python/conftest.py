"""What the tests share: the programs of the build, and made-up ones that misbehave."""
import json
import os
import pathlib

import pytest
import twinlink as tl

ROOT = pathlib.Path(__file__).parents[3]

_OPTIONS = {"kind": "twinlink-options", "schema": 1, "program": f"twinlink-sim {tl.programs.VERSION}", "command": {
    "commands": [{"name": "run", "commands": [], "options": [
        {"name": "depth", "argument": False, "flag": False, "repeats": False, "type": "N:1..1024"}]}]}}


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """Puts a twinlink-sim in place of the build's: a shell script, behind a list of options that has run --depth."""
    def make(script, options=_OPTIONS):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        (folder / "options.json").write_text(json.dumps(options))
        program = folder / "twinlink-sim"
        program.write_text(f'#!/bin/sh\n[ "$1" != --list-options ] || exec cat {folder}/options.json\n{script}\n')
        program.chmod(0o755)
        monkeypatch.setenv("TWINLINK_BIN", str(folder))
        return folder
    return make


@pytest.fixture
def own_temporary(tmp_path, monkeypatch):
    """An empty folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


def program(name):
    """A program of this build."""
    return os.path.join(os.environ["TWINLINK_BIN"], name)
