"""The frames are what the programs write, and nothing else."""
import concurrent.futures
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
import twinlink as tl
from conftest import ROOT, program
from twinlink.options import options_of

KIDS = tl.platform("keeneland-kids")
DATA = ROOT / "validate/data"


def test_options_are_those_of_the_programs_help():
    for name, command in [("twinlink-sim", "run"), ("twinlink-sim", "explain"), ("twinlink-validate", "compare")]:
        text = subprocess.run([program(name), command, "--help"], check=True, capture_output=True, text=True).stdout
        shown = set(re.findall(r"^  (?:-\w, )?--([a-z0-9-]+)", text, re.M))
        listed = {option.name for option in options_of(name, command).values() if not option.argument}
        assert shown - {"help"} == listed
    of_run = options_of("twinlink-sim", "run")
    assert {name for name, option in of_run.items() if option.flag} == {
        "all-pairs", "critical-path", "links", "no-verify", "one-process", "trace-times"}
    assert {name for name, option in of_run.items() if option.repeats} == {"degrade", "fail", "option", "set", "without"}


def test_a_run_is_what_the_program_writes(tmp_path):
    machine = KIDS.set("nodes.count", 3).degrade("hca0", 0.5)
    run = machine.run("staging", src="0/0", dst="1/0", sizes=tl.sizes("4K", "1M", 16), chunk="64K",
                      depth=2, no_verify=True)
    file = tmp_path / "run.json"
    words = ("run --platform keeneland-kids --set nodes.count=3 --degrade hca0=50% -p staging --from 0/0 --to 1/0 "
             "-b 4K -e 1M -f 16 --chunk 64K --depth 2 --no-verify --json")
    subprocess.run([program("twinlink-sim"), *words.split(), file], check=True, capture_output=True)
    assert run.data["points"] == json.loads(file.read_text())["points"]
    assert list(run.frame.bytes) == [4096, 65536, 1048576]
    assert (run.frame.bandwidth_MBps * run.frame.time_us - run.frame.bytes).abs().max() < 1e-3
    run.save(tmp_path / "again.json")
    assert tl.read(tmp_path / "again.json") == run
    with pytest.raises(AttributeError):
        run.data = {}


def test_a_machine_is_changed_by_copies():
    slow = KIDS.degrade("hca0", 0.25).fail("1/gpu2", at="2ms").without("rdma")
    assert " ".join(slow.words()) == "--platform keeneland-kids --degrade hca0=25% --fail 1/gpu2@2ms --without rdma"
    assert KIDS.changes == ()


def test_a_library_option_names_its_protocol():
    words = tl.platform("hgx-h100").command("workload", "all-reduce", nccl_proto="LL", ranks=8, bytes="64M")
    text = " ".join(words)
    assert "--option NCCL_PROTO=LL" in text and "--protocol nccl" in text and "--begin 64M --end 64M" in text
    assert "--protocol" not in tl.platform("hgx-h100").command("run", chunk="64K")


def test_an_explanation_has_its_steps_and_reasons():
    explained = KIDS.explain(src="0/1", dst="0/2", size="1M")
    assert explained.frame.end_us.max() == pytest.approx(explained.data["delivered_us"])
    assert explained.data["held_up"].split()[0] in explained._repr_html_()
    assert "gpudirect-v2" in explained._repr_html_()
    with pytest.raises(tl.UsageError, match="no curve"):
        explained.plot()


def test_advice_is_a_ranking():
    advice = KIDS.advise(protocol=["gpudirect-v1", "staging"], src="0/0", dst="1/0", bytes="64K", jobs=2)
    assert list(advice.frame.time_us) == sorted(advice.frame.time_us)
    assert {"gpudirect-v1", "staging"} <= set(advice.frame.protocol)


def test_a_study_is_what_study_says_by_any_executor(tmp_path):
    study = tl.study(KIDS, protocol="staging", bytes="64K", chunk=["16K", "64K"], depth=[1, 2])
    threads = study.run(jobs=2, progress=False)
    with concurrent.futures.ProcessPoolExecutor(1) as executor:
        processes = study.run(executor=executor, progress=False)
    assert threads.frame.equals(processes.frame)
    (tmp_path / "study.yaml").write_text(
        "command: run\noptions: {platform: keeneland-kids, protocol: staging, begin: 64K, end: 64K}\n"
        "axes: {chunk: [16K, 64K], depth: [1, 2]}\ntitle: same\n")
    subprocess.run([program("twinlink-sim"), "study", "study.yaml", "--out", "out"], cwd=tmp_path, check=True,
                   capture_output=True)
    rows = tl.read(tmp_path / "out/study.json").frame
    assert list(rows.time_us) == pytest.approx(list(threads.frame.time_us))
    assert "4 points" in study._repr_html_() and "16K" in threads._repr_html_()


def test_a_point_that_fails_says_so_beside_the_others():
    found = tl.study(KIDS, src="0/0", dst="1/0", bytes="4K", protocol=["staging", "gpudirect-v2"]).run(progress=False)
    assert found.frame.time_us.isna().tolist() == [False, True]
    assert "peer-to-peer ends at the node" in found.frame.error[1]
    assert found.plot().get_xlabel() == "protocol"
    with pytest.raises(tl.UnavailableError):
        tl.study(KIDS, src="0/0", dst="1/0", protocol="gpudirect-v2", bytes=["4K", "8K"]).run(progress=False)
    with pytest.raises(TypeError, match="did you mean depth"):
        tl.study(KIDS, dpth=[1, 2]).run()
    with pytest.raises(tl.UsageError, match="axis depth has no values"):
        tl.study(KIDS, depth=[])


def test_what_a_program_notes_is_a_warning():
    with pytest.warns(UserWarning, match="note: --depth has no effect"):
        KIDS.run("host", bytes="4K", depth=2)


def test_several_machines_are_an_axis():
    found = tl.study([KIDS, KIDS.degrade("hca0", 0.5)], protocol="host", dst="1/0", bytes="4M").run(progress=False)
    whole, half = found.frame.time_us
    assert 1.5 < half / whole < 2.1
    assert list(found.frame.machine) == ["keeneland-kids", "keeneland-kids, degrade hca0=50%"]


def test_a_comparison_takes_files_and_results():
    stored = DATA / "h200-nvlink-gpudirect-v2.json"
    run = tl.platform("h200-nvlink").run("gpudirect-v2", sizes=tl.sizes(1, "256M", 4))
    compared = tl.compare(stored, run)
    frame = compared.frame
    assert ((frame.simulated_us - frame.measured_us) / frame.measured_us - frame.error_ratio).abs().max() < 1e-9
    assert len(frame) == 15 and compared.data["exceeded"] == []
    assert tl.compare(stored, run, max_error=0.01).data["exceeded"] != []
    axes = compared.plot()
    assert [line.get_linestyle() for line in axes.lines] == ["-", "--"]
    assert axes.lines[0].get_color() == axes.lines[1].get_color()


def test_floors_have_figures_and_limits():
    floors = tl.platform("h200-nvlink").expect("nvbandwidth").frame
    ratio = floors.expected / floors.at_least
    assert ratio.tolist() == pytest.approx((1 + floors.nine_tenths_off_by_percent / 100).tolist(), rel=1e-3)
    with pytest.raises(tl.UsageError, match="as its file has it"):
        KIDS.degrade("hca0", 0.5).expect("nvbandwidth")


def test_the_guides_example_runs(monkeypatch):
    block = re.search(r"```python\n(.*?)```", (ROOT / "validate/python/README.md").read_text(), re.S).group(1)
    monkeypatch.chdir(ROOT)
    names = {}
    exec(block, names)
    found = names["study"].run(jobs=2, progress=False).frame
    assert list(zip(found.ranks, found.nccl_proto)) == [(8, "LL"), (8, "Simple"), (16, "LL"), (16, "Simple")]
    assert names["run"].frame.bytes.tolist() == [4 << 10 << 2 * step for step in range(8)]


def test_a_machine_draws_itself():
    shown = KIDS.degrade("hca0", 0.5)._repr_html_()
    assert "keeneland-kids, degrade hca0=50%" in shown
    assert ("<svg" in shown and "hca0" in shown) if shutil.which("dot") else "dot" in shown
    assert "there is no platform" in tl.platform("no<such>")._repr_html_()


def test_colours_are_those_of_the_pages():
    script = (ROOT / "platforms/report/page.js").read_text()
    listed = re.search(r"const colours = \[(.*?)\]", script, re.S).group(1)
    assert tuple(re.findall(r"#[0-9a-f]{6}", listed)) == tl.plots.COLOURS


def test_types_are_strict(tmp_path):
    if not shutil.which("mypy"):
        pytest.skip("mypy is missing")
    found = subprocess.run(["mypy", "--cache-dir", tmp_path], cwd=ROOT / "validate/python", capture_output=True,
                           text=True)
    assert found.returncode == 0, found.stdout


def test_a_wheel_builds_offline_and_holds_the_schema(tmp_path):
    shutil.copytree(ROOT / "validate/python", tmp_path / "source", ignore=shutil.ignore_patterns("__pycache__"))
    if missing := [module for module in ["pip", "setuptools", "wheel"] if importlib.util.find_spec(module) is None]:
        pytest.skip(f"python3-{missing[0]} is missing")
    words = "-m pip wheel --no-index --no-build-isolation --no-deps -w"
    subprocess.run([sys.executable, *words.split(), tmp_path, tmp_path / "source"], check=True, capture_output=True)
    wheel = tmp_path / f"twinlink-{tl.programs.VERSION}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    assert {"twinlink/results.schema.json", "twinlink/py.typed", "twinlink/studies.py"} <= set(names)
