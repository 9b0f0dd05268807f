"""Content decides; a name never does."""

from __future__ import annotations

import gzip
import os
import pickle
import socket
import sqlite3
import tarfile
import zipfile
from pathlib import Path
from typing import Literal

import pytest

from smprof.profile.manifest import Manifest, ProfileError
from smprof_desktop.importers.detect import detect

KINETO = b'{"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "cpu_op"}]}'


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz", "trace", "picture.png", "x.sqlite"])
@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (KINETO, "kineto"),
        (b"\xef\xbb\xbf" + KINETO, "kineto"),
        (b'[{"ph": "X", "cat": "Kernel"}]', "kineto"),
        (b'  \n[{"ph": "X", "name": "a"}', "chrome"),
        (b'{"traceEvents": []}', "chrome"),
        (b'{"traceEvents": [], "schemaVersion": 1}', "kineto"),
    ],
)
def test_json_by_content(tmp_path: Path, name: str, content: bytes, kind: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert detect(tmp_path / name) == kind
    (tmp_path / name).write_bytes(gzip.compress(content))
    assert detect(tmp_path / name) == kind


def test_kinds_of_the_real_traces(traces: Path) -> None:
    assert {detect(path) for path in (traces / "kineto").rglob("*.gz")} == {"kineto"}
    assert {detect(path) for path in (traces / "chrome").iterdir()} == {"chrome"}
    assert {detect(path) for path in (traces / "nsys").glob("*.sqlite")} == {"nsight"}
    assert {detect(path) for path in (traces / "xplane").iterdir()} == {"xplane"}
    assert detect(traces / "broken" / "truncated.xplane.pb") == "xplane"


def test_a_profile_folder(tmp_path: Path) -> None:
    Manifest().write(tmp_path)
    assert detect(tmp_path) == "profile"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "git lfs pull"),
        (b"\x89PNG\r\n\x1a\n", "picture"),
        (b"<!DOCTYPE html><html><body>Log in</body>", "web page"),
        (b'{"schema": "1.0.2-chakra.0.0.4", "nodes": [{"id": 1}]}', "execution trace"),
        (b'{"segments": [{"total_size": 3}], "device_traces": []}', "memory snapshot"),
        (b"\x80\x04\x95\x00}\x8c\x08segments\x8c\x0ddevice_traces", "memory snapshot"),
        (b"NVIDIA Tegra Profiler Report\n\x00\x01", "nsys export"),
        (b"PK\x03\x04....", "zip"),
        (b"\x28\xb5\x2f\xfd....", "zstd"),
        (b"PAR1....", "manifest.json"),
        (b"\x1f\x8bnot gzip at all", "gzip data that cannot be unpacked"),
        (b"\x1f\x8b", "gzip data that cannot be unpacked"),
        (gzip.compress(b"{}" * 99)[:10], "gzip data that cannot be unpacked"),
        (gzip.compress(b""), "is empty"),
        (gzip.compress(bytes(range(256)) * 40), "no trace"),
        (bytes(range(256)) * 40, "no trace"),
        (pickle.dumps({"a": 1}), "pickle"),
        (pickle.dumps([1, "x"], protocol=2), "pickle"),
        (b"[[1690000000, 1690000001], [[5, 6], [7, 8]]]", "memory timeline"),
        (b'{"cells": [{"cell_type": "code", "source": ["trace"]}], "nbformat": 4}', "Jupyter notebook"),
        (b'{"$schema": "https://www.speedscope.app/file-format-schema.json", "profiles": []}', "traceEvents"),
        (b'{"log": {"version": "1.2", "entries": []}}', "traceEvents"),
        (b"\xef\xbb\xbf\n <html><title>Sign in</title></html>", "web page"),
        (b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", "web page"),
        (b"name,start\nx,1\n", "no trace"),
        (b'{"a": 1}', "traceEvents"),
        (b"[1, 2]", "traceEvents"),
        (b"SQLite format 3\0" + b"\0" * 200, "damaged SQLite"),
    ],
)
def test_foreign_files_are_named_with_what_to_do(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(content)
    with pytest.raises(ProfileError, match=says) as error:
        detect(path)
    sentence = str(error.value)
    assert str(path) in sentence and sentence.endswith(".") and "\n" not in sentence


def test_another_database_and_what_is_not_there(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "db") as connection:
        connection.execute("CREATE TABLE songs (name TEXT)")
    connection.close()
    with pytest.raises(ProfileError, match="not of Nsight"):
        detect(tmp_path / "db")
    with pytest.raises(ProfileError, match="does not exist"):
        detect(tmp_path / "none")
    with pytest.raises(ProfileError, match="folder without"):
        detect(tmp_path)


@pytest.mark.parametrize("packed", ["w", "w:gz"])
def test_archives_are_named(tmp_path: Path, packed: Literal["w", "w:gz"]) -> None:
    (tmp_path / "t.json").write_bytes(KINETO)
    with tarfile.open(tmp_path / "archive", packed) as archive:
        archive.add(tmp_path / "t.json", "t.json")
    with pytest.raises(ProfileError, match="tar archive; unpack it"):
        detect(tmp_path / "archive")
    with zipfile.ZipFile(tmp_path / "zip.json", "w") as zipped:
        zipped.write(tmp_path / "t.json", "t.json")
    with pytest.raises(ProfileError, match="zip archive; unpack it"):
        detect(tmp_path / "zip.json")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
def test_what_one_could_wait_for_without_end_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ProfileError, match="is a pipe, not a file"):
        detect(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        with pytest.raises(ProfileError, match="is a socket, not a file"):
            detect(tmp_path / "s")
    for device in ("/dev/zero", "/dev/null", "/dev/tty"):
        with pytest.raises(ProfileError, match="is a device, not a file"):
            detect(Path(device))


def test_links_to_nowhere_and_in_circles_are_refused(tmp_path: Path) -> None:
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for name in ("nowhere", "circle"):
        with pytest.raises(ProfileError) as error:
            detect(tmp_path / name)
        assert "\n" not in str(error.value) and str(error.value).endswith(".")
