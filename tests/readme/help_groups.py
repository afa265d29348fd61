#!/usr/bin/env python3
"""Does --help of every command show each option under its heading?

Usage: help_groups.py BIN_DIR

The table says where an option stands in all commands of the programs in BIN_DIR; those of one command that has a heading
of its own are in a second table. An option that is in neither has not been thought of. A workload has a --help of its
own, as a command has.
"""
import pathlib
import re
import subprocess
import sys

HEADINGS = {
    "Machine": "platform set without degrade fail intra-node smp-copy-size from to engine device host-peers host-memory "
               "host-nodes pace places gpus bind nvtx",
    "Protocol": "library protocol preset chunk depth option layout pack between-nodes between-option between-domains "
                "between-domains-option algorithm",
    "Sizes and pattern": "pattern window ends compute one-process buffers begin end factor only",
    "Rounds": "warmup iterations graph timeout no-verify passes",
    "Job": "place ranks jobs background",
    "Training step": "layers layer-time bucket tensor-parallel expert-parallel data-parallel pipeline-parallel "
                     "micro-batches activations gradients",
    "Experts": "experts top skew seed",
    "KV cache": "prefill block",
    "Sum": "on",
    "Arrays": "global element in-place shares kind decomposition parts",
    "Output": "format json csv report timeline trace trace-times links critical-path expect samples out all",
    "Several pairs": "all-pairs pairs",
    "Limits": "max-error max-p95 max-slower force strict",
    "Files of other tools": "size table test",
    "Options": "help version list-options label title resume folder numbers dot fidelity base tolerance line min simulated-on "
               "hwloc-xml compare",
}
OF_COMMAND = {
    "sim run": {"Several pairs": "place ranks"},
    "sim explain": {"Message": "protocol size preset chunk depth option layout pack compare"},
    "sim workload": {"Arrays": "from to pack"},
    "real workload": {"Arrays": "from to pack"},
    "sim advise": {"Search": "protocol chunk depth option", "Output": "emit for jobs"},
    "sim advise workload": {"Arrays": "from to pack", "Output": "emit for jobs"},
    "sim sensitivity workload": {"Arrays": "from to pack", "Output": "jobs"},
    "sim diff workload": {"Arrays": "from to pack", "Output": "jobs"},
    "sim draw": {"Message": "from to protocol size preset chunk depth option", "Output": "fabric"},
    "sim sensitivity": {"Message": "protocol size preset chunk depth option", "Output": "jobs"},
    "sim diff": {"Run": "protocol from to preset chunk depth option"},
    "sim new": {"Parts": "gpu cpu nic mpi driver switch gpus adapters nodes", "Output": "name"},
    "sim import": {"Output": "name", "Options": "gpu"},
    "sim study": {"Options": "jobs"},
    "sim convert": {"Output": "out"},
    "real record": {"Output": "out"},
    "validate import": {"What the file does not tell": "protocol pattern window places ranks test size table",
                        "Options": "from"},
    "validate compare": {"Sides": "label", "Files of other tools": "ranks"},
    "validate calibrate": {"Options": "force"},
    "validate suspect": {"Options": "force"},
    "validate fleet": {"Options": "force explain of-many node nodes max-age history", "Files of other tools": "ranks",
                       "Output": "anonymous drawings metrics"},
    "validate ceiling": {"Options": "from"},
}


def listed(table):
    return {option: heading for heading, options in table.items() for option in options.split()}


def help_of(program, command):
    run = subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True, timeout=60)
    return run.stdout


def commands_of(text):
    blocks = re.findall(r"^(?:Commands|Workloads) \(.*?:\n(.*?)\n\n", text, re.M | re.S)
    return [name for block in blocks for name in re.findall(r"^  (\w[\w.-]*) ", block, re.M)]


def own_headings(where):
    """Those of the command, or of the one that it is below."""
    while where and where not in OF_COMMAND:
        where = where.rpartition(" ")[0]
    return OF_COMMAND.get(where, {})


def options_of(text):
    """(heading, long name) of each option."""
    heading = ""
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z].*:", line):
            heading = line[:-1]
        option = re.match(r"  (?:-\w, |-\w,)?--([\w-]+)", line)
        if option and heading != "Examples":
            yield heading, option.group(1)


def check(program, name, command, faults):
    text = help_of(program, command)
    where = " ".join([name, *command])
    expected = listed(HEADINGS) | listed(own_headings(where))
    count = 0
    for heading, option in options_of(text):
        count += 1
        if expected.get(option) != heading:
            faults.append(f"{where}: --{option} is under '{heading}' and belongs under '{expected.get(option)}'")
    for below in commands_of(text):
        count += check(program, name, [*command, below], faults)
    return count


def main():
    folder = pathlib.Path(sys.argv[1])
    faults = []
    count = 0
    for name in ["sim", "real", "validate"]:
        program = folder / f"twinlink-{name}"
        if program.exists():
            count += check(program, name, [], faults)
    print("\n".join(faults))
    print(f"{count} options")
    sys.exit(1 if faults or count < 60 else 0)


main()
