"""What all programs write, and what is stored, is as the published schema says; what is not is refused by name."""
import copy
import json
import subprocess

import jsonschema
import pytest
import twinlink as tl
from conftest import ROOT, program
from twinlink.results import _TABLES, schema

DATA = ROOT / "validate/data"
VALIDATOR = jsonschema.Draft7Validator(schema())
COMMANDS = {
    "twinlink-result": "sim run --platform keeneland-kids -p staging -b 4K -e 4K --links --critical-path",
    "twinlink-pairs": "sim run --platform keeneland-kids -p staging --all-pairs --place spread --ranks 3 -b 4K -e 4K",
    "twinlink-probe": "sim probe --platform keeneland-kids -b 1M -e 1M --only copy",
    "twinlink-workload": "sim workload all-reduce --platform keeneland-kids -p staging --ranks 4 -b 64K -e 64K",
    "twinlink-jobs": "sim workload all-reduce --platform keeneland-kids -p staging --ranks 2 --jobs 2 -b 64K -e 64K",
    "twinlink-explanation": "sim explain --platform keeneland-kids --from 0/1 --to 0/2",
    "twinlink-advice": "sim advise --platform keeneland-kids --to 0/1 -p gpudirect-v1 -b 64K -e 64K",
    "twinlink-workload-advice": "sim advise workload all-reduce --platform h200-nvlink --ranks 2 -b 64K -e 64K",
    "twinlink-sensitivity": "sim sensitivity --platform h200-nvlink -p cuda-ipc --size 64K",
    "twinlink-comparison": f"validate compare {DATA}/h200-nvlink-host.json {DATA}/h200-nvlink-host.json --label a,b",
    "twinlink-suspects": f"validate suspect {DATA}/h200-nvlink-probes.json --base {ROOT}/platforms/h200-nvlink.yaml",
    "twinlink-fleet": "validate fleet FLEET",
}


def test_the_schema_is_one_and_knows_every_kind():
    jsonschema.Draft7Validator.check_schema(schema())
    assert schema()["properties"]["kind"]["enum"] == list(_TABLES)
    assert set(COMMANDS) | {"twinlink-study"} == set(_TABLES)


@pytest.mark.parametrize("kind", COMMANDS)
def test_programs_write_what_the_schema_says(kind, tmp_path):
    for node in "ab":
        (tmp_path / "FLEET" / node).mkdir(parents=True)
        (tmp_path / "FLEET" / node / "probes.json").write_text((DATA / "h200-nvlink-probes.json").read_text())
    name, *words = COMMANDS[kind].split()
    ended = subprocess.run([program(f"twinlink-{name}"), *words, "--json", "out.json"], cwd=tmp_path,
                           capture_output=True, text=True)
    assert ended.returncode == (1 if kind == "twinlink-fleet" else 0), ended.stderr  # two nodes are too few to judge
    result = tl.read(tmp_path / "out.json")
    assert result.kind == kind
    VALIDATOR.validate(result.data)
    assert "error" not in result.frame.columns and "table" in result._repr_html_()


def test_stored_files_are_valid():
    files = sorted(DATA.glob("*.json"))
    assert len(files) > 20
    for file in files:
        VALIDATOR.validate(tl.read(file).data)


def spoiled(change):
    data = copy.deepcopy(json.loads((DATA / "h200-nvlink-host.json").read_text()))
    change(data)
    return data


@pytest.mark.parametrize("change", [
    lambda d: d.pop("kind"), lambda d: d.update(kind="result"), lambda d: d.update(schema=2), lambda d: d.pop("points"),
    lambda d: d.update(world="dreamt"), lambda d: d.update(pattern="chat"), lambda d: d["points"][0].update(time_us=-1),
    lambda d: d["points"][0].pop("bytes"), lambda d: d["points"][0].update(time_us="3 us"),
    lambda d: d.update(window=0)])
def test_wrong_files_are_refused(change):
    assert VALIDATOR.is_valid(spoiled(lambda d: None))
    assert not VALIDATOR.is_valid(spoiled(change))


def test_another_schema_is_refused_by_name(tmp_path):
    file = tmp_path / "old.json"
    for version in [0, 2]:
        file.write_text(json.dumps(spoiled(lambda d: d.update(schema=version))))
        with pytest.raises(tl.VersionError, match=f"old.json: twinlink-result is of schema {version}, .* schema 1"):
            tl.read(file)
    for text in ["[]", '{"kind": "other"}', "{"]:
        file.write_text(text)
        with pytest.raises(tl.InputError, match="old.json: "):
            tl.read(file)
    with pytest.raises(tl.InputError, match="No such file"):
        tl.read(tmp_path / "none.json")
