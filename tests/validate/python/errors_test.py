"""What goes wrong is said: programs that are not there, of another version, that fail, are killed, or interrupted."""
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
import twinlink as tl

KIDS = tl.platform("keeneland-kids")


def test_a_program_that_is_not_there_says_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("TWINLINK_BIN", str(tmp_path))
    with pytest.raises(tl.NotFoundError, match=f"twinlink-sim is not in {tmp_path}; name its folder with TWINLINK_BIN"):
        KIDS.run()
    monkeypatch.delenv("TWINLINK_BIN")
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    monkeypatch.setattr(tl.programs, "_HERE", tmp_path / "a/b/c/d")
    with pytest.raises(tl.NotFoundError, match=f"{tmp_path}/bin.*, {tmp_path}/a/build/bin, {tmp_path}/elsewhere;"):
        KIDS.run()


def test_another_version_is_refused_by_both_numbers(made_up):
    made_up("", {"program": "twinlink-sim 9.9.9 (SimGrid 3)", "command": {"commands": []}})
    with pytest.raises(tl.VersionError, match=f"is of 9.9.9, and this package of {tl.programs.VERSION}"):
        KIDS.run()


def test_a_program_without_a_list_of_options_is_older(made_up):
    (made_up("") / "options.json").unlink()
    folder = made_up("")
    program = folder / "twinlink-sim"
    program.write_text("#!/bin/sh\necho 'twinlink-sim: error: there is no option --list-options' >&2\nexit 2\n")
    with pytest.raises(tl.VersionError, match="older than this package"):
        KIDS.run()


def test_exit_codes_are_exceptions_with_the_programs_own_words(tmp_path):
    with pytest.raises(tl.UsageError, match="^there is no platform 'nosuch'") as caught:
        tl.platform("nosuch").run()
    assert not isinstance(caught.value, tl.InputError)
    bad = tmp_path / "bad.yaml"
    bad.write_text("schema: 2\n")
    with pytest.raises(tl.InputError, match=r"bad.yaml:1:1: error: missing key 'name'"):
        tl.platform(bad).run()
    with pytest.raises(tl.UnavailableError, match="peer-to-peer ends at the node"):
        KIDS.run("gpudirect-v2", src="0/0", dst="1/0")


def test_a_failure_is_told_and_so_is_one_without_words(made_up):
    made_up("echo 'twinlink-sim: error: out of memory' >&2; exit 1")
    with pytest.raises(tl.FailedError, match="^out of memory$"):
        KIDS.run()
    made_up("exit 1")
    with pytest.raises(tl.FailedError, match="ended with 1 and said nothing"):
        KIDS.run()


@pytest.mark.parametrize("how", ["KILL", "SEGV"])
def test_a_killed_program_leaves_no_half_result(made_up, own_temporary, how):
    made_up('for file; do :; done; printf \'{"kind": "twinlink-result",\' >"$file"; kill -%s $$' % how)
    with pytest.raises(tl.KilledError, match=f"ended by SIG{how}"):
        KIDS.run()
    assert list(own_temporary.iterdir()) == []


def test_options_that_do_not_exist_name_near_ones():
    with pytest.raises(TypeError, match="twinlink-sim run has no option 'chnk'; did you mean chunk"):
        KIDS.run("staging", chnk="64K")
    with pytest.raises(TypeError, match="no option 'nccl_prto'; did you mean nccl_proto"):
        KIDS.workload("all-reduce", nccl_prto="LL")
    with pytest.raises(TypeError, match="depth takes N:1..1024: 'deep'"):
        KIDS.run("staging", depth="deep")
    with pytest.raises(TypeError, match="no_verify is a switch"):
        KIDS.run("staging", no_verify="yes")


def is_alive(process):
    """A process that has ended and is not yet waited for is dead."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("code", ["tl.study(machine, depth=[1, 2, 3, 4]).run(jobs=2)", "machine.run(depth=1)"])
def test_an_interrupt_ends_the_children(made_up, tmp_path, own_temporary, code):
    made_up(f'echo $$ >{tmp_path}/$$.started; exec sleep 60')
    # A session of its own: the signal reaches Python alone, as that of a notebook's button may.
    waiting = subprocess.Popen(
        [sys.executable, "-c", f"import twinlink as tl\nmachine = tl.platform('keeneland-kids')\n{code}"],
        start_new_session=True, stderr=subprocess.PIPE, text=True)
    wanted = 2 if "study" in code else 1
    limit = time.monotonic() + 30
    while len(started := list(tmp_path.glob("*.started"))) < wanted and time.monotonic() < limit:
        time.sleep(0.02)
    assert len(started) == wanted
    os.kill(waiting.pid, signal.SIGINT)
    said = waiting.communicate(timeout=20)[1]
    assert "KeyboardInterrupt" in said
    children = [int(file.name.split(".")[0]) for file in tmp_path.glob("*.started")]
    assert len(children) == wanted, "a point has begun after the interrupt"
    assert not [child for child in children if is_alive(child)]
    assert list(own_temporary.iterdir()) == []
