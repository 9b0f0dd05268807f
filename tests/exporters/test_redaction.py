"""What is private goes: planted secrets are in no byte that an export writes, and what is not private stays."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from smprof.profile.manifest import Device, Host, Manifest, Process, Thread
from smprof.profile.reader import Profile
from smprof.profile.writer import ProfileWriter
from smprof_desktop import cli
from smprof_desktop.exporters.chrome import write_chrome
from smprof_desktop.exporters.excerpt import write_excerpt
from smprof_desktop.exporters.redaction import Redactor, inspect, preview, text
from smprof_desktop.importers.convert import import_traces

SECRETS = {
    "host": "trainer-blue.corp.example",
    "other host": "sidecar77",
    "user": "jdoe",
    "person": "Mary.Major",
    "folder": "secretproject",
    "bucket": "acme-models",
    "account": "123456789012",
    "other account": "987654321098",
    "role": "ExecutionRoleX",
    "e-mail": "mary@acme.example",
    "address": "10.11.12.13",
    "address 6": "fd12:3456:789a:1::1",
    "key id": "AKIAIOSFODNN7EXAMPLE",
    "secret": "wJalrXUtnFEMI0K7MDENG0bPxRfiCYEXAMPLEKEY",
    "token": "hf_" + "abcdefghijklmnopqrstuvwxyz",
    "parameter": "dropout_of_acme",
    "value": "0.1337",
    "variable": "hunter2hunter2",
    "flag": "--loss=acme_loss",
    "key": "acme_path_key",
}


def planted(folder: Path) -> Profile:
    """A profile with every secret in several places, in every spelling that JSON allows."""
    s = SECRETS
    manifest = Manifest(
        name=f"run of {s['user']}",
        hosts=[
            Host(
                s["host"],
                "ml.p5.48xlarge",
                {"ip": s["address"], "role": f"arn:aws:iam::{s['account']}:role/{s['role']}"},
            )
        ],
        hyperparameters={s["parameter"]: s["value"]},
        frameworks={"torch": f"2.4 from /opt/{s['folder']}/torch"},
        sources=[{"name": f"{s['host']}_77.1.pt.trace.json", "bytes": 5, "sha256": "ab" * 32, "format": "kineto"}],
    )
    manifest.lose("flow", 3, f"{s['host']}, process 0: /data/{s['folder']}/x")
    writer = ProfileWriter(folder, manifest)
    process = writer.process(
        Process(
            s["host"],
            "0",
            pid=77,
            rank=0,
            name=f"python /home/{s['user']}/{s['folder']}/train.py {s['flag']}",
            devices=[Device(0, "NVIDIA H100", True, 1 << 36, {"hostname": s["other host"], "sms": 132})],
            threads=[Thread(1, f"worker of {s['user']} on {s['host'].upper()}")],
            metadata={
                "traceName": f"/home/{s['user']}/{s['folder']}/trace.json",
                "env": {"WANDB": s["variable"]},
                "SM_SECRET_THING": s["variable"],
                "argv": ["train.py", s["flag"]],
                "notes": [
                    f"see s3://{s['bucket']}/a/b",
                    f"ask {s['e-mail']}",
                    f"at {s['address 6']}",
                    {"owner": s["person"]},
                ],
                "accountId": int(s["other account"]),
                "aws": f"aws_secret_access_key={s['secret']} id {s['key id']}",
                "distributedInfo": {"rank": 0, "backend": "nccl"},
            },
        )
    )
    frames: list[str | bytes] = [
        f"/home/{s['user']}/{s['folder']}/model.py(12): forward",
        f"C:\\Users\\{s['user']}\\{s['folder']}\\data set\\load.py(7): read",
        f"{s['folder']}/layers/attention.py(3): __call__",
        f"step for {s['person']}",
        f"fetch {s['other account']} from {s['other host']}",
        b"/home/" + s["user"].encode() + b"/\xff\xfe/odd.py(1): f",
    ]
    count = len(frames)
    host = process.append(
        "host",
        {
            "kind": ["python"] * count,
            "thread": [1] * count,
            "start_ns": [10 * row for row in range(count)],
            "duration_ns": [5] * count,
            "name_id": process.name_ids(frames),
        },
    )
    shape = process.shape_id(process.name_id(f"kernel_{s['user']}_x"), grid=(8, 1, 1))
    columns = {
        "kind": ["kernel"],
        "device": [0],
        "stream": [7],
        "start_ns": [3],
        "duration_ns": [9],
        "shape_id": [shape],
    }
    device = process.append("device", columns)
    process.append(
        "counter", {"name_id": [process.name_id(f"/data/{s['folder']} free")], "time_ns": [4], "value": [0.5]}
    )
    texts = [
        ("Call stack", f"/home/{s['user']}/{s['folder']}/a.py(1): f;/opt/{s['folder']}/b.py(2): g"),
        ("file", f"\\/home\\/{s['user']}\\/{s['folder']}\\/w.pt"),
        ("note", "".join(f"\\u{ord(character):04x}" for character in s["host"])),
        ("password", s["variable"]),
        (f"/home/{s['user']}/{s['key']}/k", "x"),
        ("url", f"https://{s['account']}.dkr.ecr.us-east-1.amazonaws.com/{s['folder']}"),
        ("token", s["token"]),
        ("message", f"Bearer {s['secret']} {s['token']}"),
    ]
    rows = [("host", key, int(host[0]), f'"{value}"' if "\\" in value else json.dumps(value)) for key, value in texts]
    rows.append(("host", "nested", int(host[1]), json.dumps({"a": [{"user_name": s["person"], "n": 1.50}], "b": [2]})))
    rows.append(("host", "broken", int(host[1]), f"not json /srv/{s['folder']}/x.py"))
    rows.append(("device", "who", int(device[0]), json.dumps(s["person"])))
    tables, keys, ids, values = zip(*rows, strict=True)
    process.append("args", {"table": tables, "key": keys, "id": ids, "text": values})
    process.append(
        "args", {"table": ["host"], "key": ["account"], "id": [int(host[2])], "integer": [int(s["other account"])]}
    )
    writer.finish()
    return Profile.open(folder)


def everything_in(folder: Path) -> str:
    """All that a profile's folder holds: paths, plain files, and every column of texts."""
    parts: list[str] = []
    for path in sorted(folder.rglob("*")):
        parts.append(str(path.relative_to(folder)))
        if path.suffix == ".parquet":
            parts.append(path.read_bytes().decode("latin-1"))
            table = pq.read_table(path)
            for column in table.columns:
                kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
                if pa.types.is_dictionary(column.type):
                    column = column.cast(kind)
                if not pa.types.is_floating(kind):
                    parts += [v.decode("latin-1") if isinstance(v, bytes) else str(v) for v in column.to_pylist()]
        elif path.is_file():
            parts.append(path.read_text("latin-1"))
    return "\n".join(parts)


def secrets_in(content: str) -> list[str]:
    return [name for name, secret in SECRETS.items() if secret.lower() in content.lower()]


def test_no_planted_secret_is_in_an_exported_profile(tmp_path: Path) -> None:
    profile = planted(tmp_path / "whole")
    assert set(secrets_in(everything_in(tmp_path / "whole"))) == set(SECRETS)  # the search itself finds them
    out = write_excerpt(profile, tmp_path / "out", redactor=inspect(profile))
    assert secrets_in(everything_in(out)) == []
    part = Profile.open(out)
    process = part.processes[0]
    assert (process.info.host, process.info.folder, process.info.name) == ("host-1", "host-1/0", "redacted")
    assert process.info.devices[0] == Device(0, "NVIDIA H100", True, 1 << 36, {"hostname": "host-2", "sms": 132})
    assert process.info.threads == [Thread(1, "worker of redacted on host-1")]
    assert process.info.metadata["distributedInfo"] == {"rank": 0, "backend": "nccl"}
    assert sorted(process.names.texts) == [
        "attention.py(3): __call__",
        "fetch redacted from host-2",
        "kernel_redacted_x",
        "load.py(7): read",
        "model.py(12): forward",
        "odd.py(1): f",
        "redacted free",
        "step for redacted",
    ]
    first = next(
        row for row in range(6) if process.names.text(process.table("host")["name_id"][row]).startswith("model")
    )
    assert process.args_of("host", first)["Call stack"] == "a.py(1): f;b.py(2): g"
    assert process.args_of("host", first)["file"] == "w.pt"
    assert part.manifest.hosts == [Host("host-1", "ml.p5.48xlarge", {"ip": "redacted", "role": "redacted"})]
    assert part.manifest.hyperparameters == {}
    assert part.losses[0].detail == "host-1, process 0: redacted"


@pytest.mark.parametrize("name", ["out.json", "out.json.gz"])
def test_no_planted_secret_is_in_exported_json(tmp_path: Path, name: str) -> None:
    profile = planted(tmp_path / "whole")
    out = write_chrome(profile, tmp_path / name, redactor=inspect(profile))
    data = out.read_bytes()
    content = (gzip.decompress(data) if name.endswith(".gz") else data).decode()
    assert secrets_in(content) == []
    # Nor once escapes are read, nor when it is imported again.
    assert secrets_in(json.dumps(json.loads(content), ensure_ascii=False)) == []
    assert secrets_in(everything_in(import_traces([out], tmp_path / "again"))) == []


def test_kept_on_request_everything_is_there(tmp_path: Path) -> None:
    profile = planted(tmp_path / "whole")
    assert set(secrets_in(everything_in(write_excerpt(profile, tmp_path / "out")))) == set(SECRETS)


def test_the_preview_names_each_kind_and_writes_nothing(tmp_path: Path) -> None:
    profile = planted(tmp_path / "whole")
    before = everything_in(tmp_path / "whole")
    found = preview(profile)
    assert {finding.kind for finding in found} == {
        "ARN",
        "IP address",
        "access key",
        "account",
        "command line",
        "e-mail",
        "environment",
        "host",
        "hyperparameter",
        "path",
        "user",
    }
    by_place = {(finding.kind, finding.where): finding for finding in found}
    assert by_place["hyperparameter", "hyperparameters"].count == 1
    frames = by_place["path", "names of Python frames"]
    assert (frames.count, frames.example) == (4, "/home/jdoe/secretproject/model.py(12): forward")
    assert ("access key", "argument password") in by_place and ("path", "argument Call stack") in by_place
    assert everything_in(tmp_path / "whole") == before and [path.name for path in tmp_path.iterdir()] == ["whole"]
    lines = text(found).splitlines()
    assert lines[0].split() == ["KIND", "WHERE", "COUNT", "EXAMPLE"] and len(lines) == len(found) + 1
    assert text([]) == "Nothing private was found."


def test_a_redacted_profile_has_nothing_left_to_take_out(tmp_path: Path) -> None:
    profile = planted(tmp_path / "whole")
    again = Profile.open(write_excerpt(profile, tmp_path / "out", redactor=inspect(profile)))
    assert {finding.kind for finding in preview(again)} <= {"host"}


def test_a_real_trace_keeps_its_figures(traces: Path, tmp_path: Path) -> None:
    from smprof_desktop import report

    trace = traces / "kineto" / "hta_diff_test.json.gz"
    profile = Profile.open(import_traces([trace], tmp_path / "whole"))
    part = Profile.open(write_excerpt(profile, tmp_path / "out", redactor=inspect(profile)))
    old, new = report.build(profile), report.build(part)
    for key in ("kernels", "memory_ops", "syncs", "latency", "ops", "annotations", "steps", "activities"):
        assert new[key] == old[key]
    assert new["profile"]["hosts"] == ["host-1"]


@pytest.mark.parametrize(
    "kept",
    [
        "aten::add",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >"
        "(int, c10::be)",
        "at::native::(anonymous namespace)::foo",
        "nn.Module: Linear_0",
        "[memory]",
        "Memcpy HtoD (Pageable -> Device)",
        "<built-in method foo of type object at 0x7f8812345678>",
        "N/A",
        "step 1/2",
        "model/layer1/conv",
        "12:30:45",
        "ninja==1.11.1.4",
        "thread 2077 (python)",
        "127.0.0.1",
        "v1.2.3",
        "num_tokens: 4",
        "nccl:all_reduce",
        "Optimizer.step#SGD.step",
        "algo-10",
    ],
)
def test_what_is_not_private_stays(kept: str) -> None:
    assert Redactor(["algo-1"], ["jdoe"]).name(kept) == kept


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("/opt/conda/lib/python3.8/site-packages/torch/nn/modules/module.py(1071): _call", "module.py(1071): _call"),
        ("torch/nn/modules/module.py(3): _call", "module.py(3): _call"),
        ("/home/jane doe/x y/z.py(3): f", "z.py(3): f"),
        ("C:\\Users\\Jane Doe\\proj\\x.py(3): f", "x.py(3): f"),
        ("\\\\server\\share\\x.txt", "x.txt"),
        ("load ~/proj/data.bin now", "load data.bin now"),
        ("../x/y.py", "y.py"),
        ("s3://bucket/key/x.json", "redacted"),
        ("algo-1_77.json of JDOE", "host-1_77.json of redacted"),
        ("arn:aws:sagemaker:us-east-1:123456789012:training-job/foo", "redacted"),
        ("jane@corp.com wrote", "redacted wrote"),
        ("ip-10-0-1-2.ec2.internal", "redacted"),
        ("10.1.2.3:80", "redacted:80"),
        ("fe80::1ff:fe23:4567:890a", "redacted"),
        ("USER=bob HOME=/x", "USER=redacted HOME=redacted"),
        ("torchrun --nproc 8 train.py", "redacted"),
        ("id 123456789012", "id redacted"),
        ("password: hunter2", "password: redacted"),
    ],
)
def test_what_is_private_goes(given: str, left: str) -> None:
    redactor = Redactor(["algo-1"], ["jdoe"])
    assert redactor.name(given) == left
    assert redactor.name(left) == left


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(["export", *arguments]) == 1
    out, error = capsys.readouterr()
    assert out == "" and error.count("\n") == 1
    return error.removeprefix("smprof-desktop: ").rstrip("\n")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    profile = planted(tmp_path / "whole")
    process = f"{SECRETS['host']}/0"

    def run(*arguments: str) -> str:
        assert cli.main(["export", "whole", *arguments]) == 0
        return capsys.readouterr().out.rstrip("\n")

    assert run("--preview") == text(preview(profile))
    assert run("-o", "part", "--range", "0:20", "--process", process) == "part"
    part = Profile.open(tmp_path / "part")
    assert len(part.processes[0].table("host")) == 2 and secrets_in(everything_in(tmp_path / "part")) == []
    assert run("-o", "all.json") == "all.json"
    assert secrets_in((tmp_path / "all.json").read_text()) == []
    assert run("-o", "odd", "--format", "chrome", "--keep-private") == "odd"
    assert "secretproject" in json.dumps(json.loads((tmp_path / "odd").read_text()))
    assert run("-o", "folder.json", "--format", "profile") == "folder.json"
    assert Profile.open(tmp_path / "folder.json").processes
    assert refusal(capsys, "whole") == "It is not said where to export to; name a folder or a .json file with -o."
    assert refusal(capsys, "whole", "-o", "part") == "part exists and is not an empty folder; choose another."
    assert (
        refusal(capsys, "whole", "-o", "p", "--process", "x/1")
        == f"No process is called x/1; the profile has {process}."
    )
    assert refusal(capsys, "whole", "-o", "p", "--range", "900:901") == (
        "Nothing was recorded in that range; give B:E in ns from the profile's start."
    )
    assert refusal(capsys, "nowhere", "-o", "p") == "nowhere does not exist; check the path."


def test_values_keep_their_types(tmp_path: Path) -> None:
    value: dict[str, Any] = {"rank": 3, "on": True, "none": None, "user": "", "list": [1.5, "a"], "username": False}
    assert Redactor().value(value, "metadata") == value
