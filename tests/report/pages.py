#!/usr/bin/env python3
"""Has the programs write every kind of page, and checks them: pages.py BIN SOURCE FOLDER.

Exit codes: 0 as they should be; 1 not; 77 where the programs were built without Chart.js, or where there are none.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_page  # noqa: E402

STUDY = """title: "Pages </script><b>"
options: {from: 0/0, to: 1/0, begin: 4K, end: 1M, factor: 16}
axes: {platform: [keeneland-kids, keeneland-kfs], protocol: [gpudirect-v1, staging], chunk: [64K, 256K]}
spread: {fabric.link: 5%}
samples: 3
"""
NASTY = "</script><b>&\"'"


def run(*command, codes=(0,), environment=None):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False,
                          env={**os.environ, **(environment or {})})
    if done.returncode == 77:
        print(f"skipped: {done.stderr.strip()}")
        sys.exit(77)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")


def write_pair(source, folder):
    """A measured and a simulated file, whose names and texts hold what markup means something else by."""
    measured = json.loads((source / "validate/data/h200-nvlink-staging.json").read_text())
    measured["label"] = NASTY
    measured["environment"]["host"] = NASTY
    simulated = dict(measured, world="simulated", environment={}, points=[])
    for point in measured["points"][1:]:
        times = {name: 1.1 * value for name, value in point.items() if name.endswith("_us") and name != "samples_us"}
        simulated["points"].append({**point, **times, "bandwidth_MBps": point["bandwidth_MBps"] / 1.1})
    files = []
    for result in (measured, simulated):
        files.append(folder / f"<{result['world']}> & 'more'.json")
        files[-1].write_text(json.dumps(result))
    return files


def write_history(validate, source, folder, page):
    """Of a node that takes half as long again on its second day."""
    (folder / "fleet/node").mkdir(parents=True, exist_ok=True)
    (folder / "fleet.sqlite").unlink(missing_ok=True)
    probes = json.loads((source / "validate/data/h200-nvlink-probes.json").read_text())
    for day, factor in ((1, 1), (2, 1.5)):
        probes["environment"]["date"] = f"2026-11-0{day}T07:00:00Z"
        lines = [{name: factor * value if name.endswith("_us") else value for name, value in line.items()}
                 for line in probes["lines"]]
        (folder / "fleet/node/probes.json").write_text(json.dumps({**probes, "lines": lines}))
        run(validate, "fleet", folder / "fleet", "--history", folder / "fleet.sqlite", "--report", page, codes=(0, 1))


def write_pages(programs, source, folder):
    """The pages by name."""
    folder.mkdir(parents=True, exist_ok=True)
    validate = programs / "twinlink-validate"
    pages = {"comparison": folder / "comparison.html"}
    pair = write_pair(source, folder)
    second = [source / "validate/data/h200-nvlink-host.json", folder / "host.json"]
    host = json.loads(second[0].read_text())
    second[1].write_text(json.dumps(dict(host, world="simulated", environment={})))
    run(validate, "compare", *pair, *second, "--max-error", 5, "--report", pages["comparison"], codes=[1])
    run(validate, "compare", *pair, *second, "--max-error", 5, "--report", folder / "comparison.xml", codes=[1])
    if (programs / "twinlink-sim").exists():
        pages["keeneland"] = folder / "figures" / "keeneland.html"
        run(programs / "twinlink-sim", "figure", "--out", folder / "figures", "--report", pages["keeneland"])
        pages["run"] = folder / "run.html"
        run(programs / "twinlink-sim", "run", "--platform", "keeneland-kids", "-p", "gpudirect-v1", "--from", "0/0", "--to",
            "1/0", "-b", "4K", "-e", "4M", "--chunk", "64K", "--report", pages["run"], "--timeline", folder / "run.json",
            "--json", folder / "result.json")
        pages["workload"] = folder / "workload.html"
        run(programs / "twinlink-sim", "workload", "all-reduce", "--platform", "selene", "-p", "gpudirect-v2",
            "--between-nodes", "gpudirect-v3", "--ranks", "16", "-b", "8K", "-e", "64K", "--timeline",
            folder / "workload.json", "--report", pages["workload"], "--json", folder / "workload_result.json")
        pages["study"] = folder / "study.html"
        shutil.rmtree(folder / "study", ignore_errors=True)
        (folder / "study.yaml").write_text(STUDY)
        run(programs / "twinlink-sim", "study", folder / "study.yaml", "--out", folder / "study", "--report",
            pages["study"])
        pages["plot"] = folder / "plot.html"
        run(programs / "twinlink-sim", "plot", folder / "result.json", source / "validate/data/h200-nvlink-host.json",
            "--label", f"simulated,{NASTY}", "--report", pages["plot"])
        pages["history"] = folder / "history.html"
        write_history(validate, source, folder, pages["history"])
    if (programs / "twinlink-real").exists() and shutil.which("mpirun"):
        run("mpirun", "-n", 2, "--oversubscribe", programs / "twinlink-real", "run", "-p", "gpudirect-v1", "-b", "64K", "-e",
            "64K", "--timeline", folder / "real.json", environment={"OMPI_ALLOW_RUN_AS_ROOT": "1",
                                                                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                                                   "ASAN_OPTIONS": "detect_leaks=0"})  # of Open MPI
    return pages


def expect(what, is_so):
    if not is_so:
        sys.exit(f"FAILED: {what}")
    print(f"ok: {what}")


def expect_quietly(what, is_so):
    if not is_so:
        sys.exit(f"FAILED: {what}")


def check_comparison(page, folder):
    parsed = check_page.parse(page.read_text())
    expect("labels are shown as they are", any(NASTY in figure.title for figure in parsed.figures))
    stored = json.loads(parsed.files["comparison.json"])
    expect("the data of the page is the JSON report", stored["pairs"][0]["label"] == NASTY)
    suites = xml.etree.ElementTree.parse(folder / "comparison.xml").getroot()
    cases = {case.get("classname"): [part.tag for part in case] for case in suites.iter("testcase")}
    expect("JUnit has the failure", cases == {NASTY: ["failure"], "host": ["system-out"]})
    expect("JUnit counts it", (suites.get("tests"), suites.get("failures")) == ("2", "1"))


def check_keeneland(page, folder):
    parsed = check_page.parse(page.read_text())
    titles = [figure.title for figure in parsed.figures]
    for name in ("Bandwidth on Keeneland KFS", "GPUDirect v2 on Keeneland KIDS", "keeneland-kfs: ", "keeneland-kids: "):
        expect(f"one figure is of {name}", sum(title.startswith(name) for title in titles) == 1)
    for protocol in ("staging", "gpudirect-v1", "gpudirect-v2", "cuda-ipc"):
        expect(f"the way of {protocol} and its steps", sum(f"{protocol} on keeneland" in title for title in titles) == 2)
    expect("a protocol that does not run says why", "Fermi has no GPUDirect RDMA" in page.read_text())
    expect("both drawings are there", page.read_text().count("<svg") == 6 or not shutil.which("dot"))
    curve = json.loads((folder / "figures/kfs-v1.json").read_text())
    stored = json.loads(parsed.files["figures.json"])["results"]
    expect("the data of the page is that of the result files", curve["points"] in [one["points"] for one in stored])


def check_run(page, folder):
    parsed = check_page.parse(page.read_text())
    titles = [figure.title for figure in parsed.figures]
    expect("times, rates, the way and the steps of a message", "Steps of" in titles[3])
    expect("the critical path, the links and the machine",
           [title.split(" ")[0] for title in titles[4:]] == ["Critical", "Critical", "Links:", "keeneland-kids:"])
    stored = json.loads((folder / "result.json").read_text())
    rates = [point[1] for point in parsed.figures[0].data["curves"][0]["points"]]
    expect("its curve is the result's", rates == [point["bandwidth_MBps"] for point in stored["points"]])
    expect("its data is the result", json.loads(parsed.files["result.json"])["points"] == stored["points"])
    steps = [span[0] for span in parsed.figures[3].data["spans"]]
    expect("each piece has its steps", {name: steps.count(name) for name in set(steps)} ==
           {"copy out (rank 0)": 16, "send (rank 0)": 16, "copy in (rank 1)": 16})


def check_workload(page, folder):
    parsed = check_page.parse(page.read_text())
    points = json.loads((folder / "workload_result.json").read_text())["points"]
    times = {x: y for curve in parsed.figures[0].data["curves"] for x, y, *_ in curve["points"]}
    expect("its curves are the result's", times == {point["bytes"]: point["time_us"] for point in points})
    titles = [figure.title for figure in parsed.figures]
    expect("links, the critical path and the machine",
           [sum(title.startswith(name) for title in titles) for name in ("Links", "Critical path", "selene")] == [1, 2, 1])
    path = next(figure for figure in parsed.figures if figure.title.startswith("Critical path by step"))
    whole = sum(end for _, _, _, end in path.data["spans"])
    expect(f"the steps make up the time of an iteration ({whole:.2f} us)", abs(whole / max(times.values()) - 1) < 0.02)


def check_study(page, folder):
    explorer = next(figure for figure in check_page.parse(page.read_text()).figures if figure.data["kind"] == "explorer")
    names = [axis["name"] for axis in explorer.data["axes"]]
    expect("every axis can be chosen", names == ["platform", "protocol", "chunk", "size"])
    expect("every point is there", len(explorer.data["rows"]) == 2 * 2 * 2 * 3)
    expect("and has its spread", all(low <= y <= high for _, ((y, low, high), _) in explorer.data["rows"]))


def check_history(page):
    chart = next(figure for figure in check_page.parse(page.read_text()).figures if figure.data and "names" in figure.data)
    expect("the dates are named", chart.data["names"] == ["2026-11-01T07:00:00Z", "2026-11-02T07:00:00Z"])
    (_, before, *_), (_, after, *_) = (point for curve in chart.data["curves"] for point in curve["points"])
    expect("the second day took half as long again", abs(after / before - 1.5) < 1e-6)


def check_timeline(file, ranks, words, tracks, simulated=True):
    """Viewers show slices of a track that overlap wrongly, and lose arrows whose ends are in no slice."""
    events = json.loads(file.read_text())["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    slices = [event for event in events if event["ph"] == "X"]
    expect(f"{file.name}: a process for each rank, and of a simulation one for the links", {event["pid"] for event in slices} == set(range(ranks + simulated)))
    expect(f"{file.name}: the words of the protocol", words <= {event["name"] for event in slices})
    expect(f"{file.name}: tracks of {', '.join(sorted(tracks))}", tracks <= set(names.values()))
    by_track = {}
    for event in slices:
        by_track.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    overlaps = [track for track, times in by_track.items()
                for (_, end), (start, _) in zip(sorted(times), sorted(times)[1:]) if end > start + 1e-9]
    expect(f"{file.name}: no track has slices that overlap, and all have names", not overlaps and set(by_track) <= set(names))
    ends = {"s": {}, "f": {}}
    for event in events:
        if event["ph"] in ends:
            ends[event["ph"]][event["id"]] = event
            inside = any(start <= event["ts"] <= end for start, end in by_track[event["pid"], event["tid"]])
            expect_quietly(f"{file.name}: an arrow ends in no slice: {event}", inside)
    expect(f"{file.name}: arrows have two ends", ends["s"].keys() == ends["f"].keys() and ends["s"])
    if simulated:  # real clocks are a little apart
        expect(f"{file.name}: and lead forward", all(ends["s"][one]["ts"] <= ends["f"][one]["ts"] for one in ends["s"]))
    sends = sum(event["args"]["verb"] == "send" for event in slices if event["pid"] < ranks)
    drawn = sum(names[event["pid"], event["tid"]].startswith("sends") for event in ends["s"].values())
    expect(f"{file.name}: every send has its receive ({sends})", sends == drawn)


def check_that_faults_are_found(text):
    """A check that finds nothing in a wrong page is none."""
    number = check_page.parse(text).figures[-1].rows[1][1]
    for what, old, new in (("a picture from elsewhere", "<main>", "<main><img src=\"http://example.org/a.png\">"),
                           ("a style from elsewhere", "<style>", "<style>@import 'a.css';"),
                           ("a table that says something else", f"<td>{number}</td>", "<td>1234567.000</td>"),
                           ("an element without end", "<figure>", "<figure><b>"),
                           ("a picture without a text", 'role="img" aria-label=', 'role="img" data-label='),
                           ("no Chart.js", "Chart.js v", "Chart v")):
        expect(f"found: {what}", old in text and list(check_page.faults_of(text.replace(old, new, 1))))


def main():
    programs, source, folder = map(pathlib.Path, sys.argv[1:4])
    os.chdir(source)
    pages = write_pages(programs, source, folder)
    for name, page in pages.items():
        faults = list(check_page.faults_of(page.read_text()))
        expect("\n".join([f"{name} is one page that loads nothing and shows its numbers", *faults]), not faults)
    check_comparison(pages["comparison"], folder)
    check_that_faults_are_found(pages["comparison"].read_text())
    if "keeneland" in pages:
        check_keeneland(pages["keeneland"], folder)
        check_run(pages["run"], folder)
        check_workload(pages["workload"], folder)
        check_study(pages["study"], folder)
        check_history(pages["history"])
        check_timeline(folder / "run.json", 2, {"copy out", "send", "receive", "copy in"},
                       {"sends", "receives", "stream 0", "control messages", "copy engine, device-to-pinned",
                        "node 0 hca0 out", "node 1 hca0 in"})
        check_timeline(folder / "workload.json", 16, {"peer copy", "send ready"}, {"stream 0", "control messages", "node 0 nvlink0 forward"})
    if (folder / "real.json").exists():
        check_timeline(folder / "real.json", 2, {"copy out", "send", "receive", "copy in"},
                       {"sends", "receives", "stream 0", "control messages"}, simulated=False)


if __name__ == "__main__":
    main()
