"""Tests of a build with planted slips: what each comes to, and which of them fail with one slip on."""

import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

SECONDS = 120  # of a test that nothing is planted in; the others may take five times as long as it did
LONG = 2.0  # seconds of a test that runs after all shorter ones
TOGETHER = 5.0  # seconds of tests of one program that one process runs: what is lost when one of them hangs is five times that


@dataclass(eq=False)
class Test:
    """One of CTest, or one TEST of a program of GoogleTest."""
    name: str
    folder: str  # of the sources that it is there for; empty: of several
    command: list
    where: str
    environment: dict
    filtered: str = ""  # a TEST: its name; `command` is the program then
    seconds: float = 0.0  # where nothing is planted
    reached: frozenset = field(default_factory=frozenset)


@dataclass
class Verdict:
    killers: list  # names of tests that fail
    ran: int
    reaching: int  # tests that come to the slip
    seconds: float

    def caught(self):
        return bool(self.killers)

    def decided(self):
        return self.caught() or self.ran == self.reaching

    def __str__(self):
        if self.caught():
            return f"caught by {self.killers[0]}"
        return f"survived all {self.ran} tests" if self.decided() else f"undecided after {self.ran} of {self.reaching} tests"


def run_for(command, limit, where, environment, output=subprocess.DEVNULL):
    """The exit status, or None after `limit` seconds. All that it started is ended with it."""
    with subprocess.Popen(command, cwd=where, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=output,
                          stderr=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


# ---- which tests there are --------------------------------------------------------------------------------------------


def all_tests(build, folders):
    """Each test of CTest; of a program of GoogleTest each TEST by itself. Those that are long are left out."""
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, check=True)
    tests, programs = [], {}
    for entry in json.loads(listed.stdout)["tests"]:
        properties = {each["name"]: each["value"] for each in entry.get("properties", [])}
        command = entry.get("command")
        if not command or {"long", "gpu"} & set(properties.get("LABELS", [])):
            continue
        if re.match(r"layering|fuzz_corpus|report|package", entry["name"]):
            continue  # they look at sources, or take no part
        environment = dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", []))
        where = properties.get("WORKING_DIRECTORY", str(build))
        if command[0].startswith(str(build)) and any(word.startswith("--gtest_filter") for word in command):
            programs.setdefault(command[0], (where, environment, []))[2].append(command)
        else:
            folder = next((name for name in folders if f"/tests/{name}/" in where or name in entry["name"]), "")
            tests.append(Test(entry["name"], folder, command, where, environment))
    for program, (where, environment, commands) in programs.items():
        environment = {key: value for key, value in environment.items() if not key.startswith("GTEST_")}
        suite, home = "", folder_of_program(build, program)
        for line in "".join(listing(command, where) for command in commands).splitlines():  # of what CTest runs of it
            if re.match(r"\S+\.$|\S+\.\s", line) and not line.startswith(" "):
                suite = line.split()[0]
            elif line.startswith("  "):
                name = suite + line.split()[0]
                tests.append(Test(f"{Path(program).name} {name}", home, [program], where, environment, name))
    return tests


def listing(command, where):
    command = [*command, "--gtest_list_tests"]
    return subprocess.run(command, capture_output=True, cwd=where, check=True).stdout.decode()


def folder_of_program(build, program):
    objects = list(build.glob(f"tests/*/CMakeFiles/{Path(program).name}.dir"))
    return objects[0].relative_to(build).parts[1] if objects else ""


def record(tests, folder):
    """Runs each test where nothing is on, for its time and the slips that it comes to, which files in `folder` hold.
    Returns those that pass."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)

    def once(number):
        test, file = tests[number], folder / str(number)
        begun = time.monotonic()
        command = [*test.command, f"--gtest_filter={test.filtered}"] if test.filtered else test.command
        status = run_for(command, SECONDS, test.where, {**test.environment, "TWINLINK_MUTANTS_REACHED": str(file)})
        test.seconds = time.monotonic() - begun
        if file.exists():
            test.reached = frozenset(i for i, byte in enumerate(file.read_bytes()) if byte)
        return status == 0

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        passed = list(pool.map(once, range(len(tests))))
    return [test for test, good in zip(tests, passed) if good]


# ---- with a slip on ---------------------------------------------------------------------------------------------------


def together(tests):
    """Groups of tests that one process runs: of one program, and together as long as TOGETHER. Others are alone."""
    groups, programs = [], defaultdict(list)
    for test in tests:
        if not test.filtered:
            groups.append([test])
            continue
        key = test.command[0], test.seconds > LONG
        group = programs[key]
        if group and sum(one.seconds for one in group) + test.seconds > TOGETHER:
            group = programs[key] = []
        if not group:
            groups.append(group)
        group.append(test)
    return groups


def fails_alone(test, variables):
    return run_for(test.command, 5 * test.seconds + 5, test.where, {**test.environment, **variables}) != 0


def failing(group, variables, first_only):
    """The tests of one program that fail. One that crashes or hangs is the last that began."""
    if not group[0].filtered:
        return [test for test in group if fails_alone(test, variables)]
    found, left = [], list(group)
    while left:
        command = [*left[0].command, "--gtest_filter=" + ":".join(test.filtered for test in left)]
        if first_only:
            command.append("--gtest_fail_fast")
        with tempfile.TemporaryFile() as output:
            status = run_for(command, 5 * sum(test.seconds for test in left) + 5, left[0].where,
                             {**left[0].environment, **variables}, output)
            output.seek(0)
            lines = output.read().decode(errors="replace")
        failed = set(re.findall(r"^\[  FAILED  \] ([^\s,]+)", lines, re.MULTILINE))
        found += [test for test in left if test.filtered in failed]
        if re.search(r"^\[==========\] .* ran\.", lines, re.MULTILINE) and (failed or status == 0):
            return found
        begun = re.findall(r"^\[ RUN      \] (\S+)", lines, re.MULTILINE)
        last = next((test for test in left if begun and test.filtered == begun[-1]), left[0])
        found += [] if last in found else [last]
        if first_only:
            return found
        seen = {*begun, last.filtered}  # in the program's order
        left = [test for test in left if test.filtered not in seen]
    return found


def try_slip(number, folder, tests, all_of_them, budget):
    """With the slip `number` of `folder` on: the first test that fails, or all. No group starts after `budget` seconds."""
    begun = time.monotonic()
    reaching = [test for test in tests if number in test.reached]
    order = sorted(reaching, key=lambda one: (one.seconds > LONG, one.folder != folder, len(one.reached), one.seconds))
    verdict = Verdict([], 0, len(reaching), 0.0)
    for group in together(order):
        if time.monotonic() - begun > budget:
            break
        verdict.ran += len(group)
        verdict.killers += [test.name for test in failing(group, {"TWINLINK_MUTANT": str(number)}, not all_of_them)]
        if verdict.caught() and not all_of_them:
            break
    verdict.seconds = time.monotonic() - begun
    return verdict
