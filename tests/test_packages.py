"""What is installed without make: wheels that carry their resources and licences, and one version."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import tomllib

from smprof_desktop.resources import path

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("pyproject.toml", "README.md", "LICENSE", "NOTICE", "smprof_desktop", "collector", "resources")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both wheels, built from a copy of the sources and unpacked where pip would put them."""
    work = tmp_path_factory.mktemp("packages")
    source, wheels, site = work / "source", work / "wheels", work / "site"
    source.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "dist")
            shutil.copytree(ROOT / name, source / name, ignore=unwanted)
        else:
            shutil.copy(ROOT / name, source / name)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "--wheel-dir", wheels, source / "collector", source], check=True, capture_output=True)
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
    return site


def test_the_wheel_finds_its_resources(installed: Path) -> None:
    code = "from smprof_desktop.resources import path; print(path('sample')); print(path('icons'))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=installed,
        env={"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == [str(installed / "smprof_desktop" / "data" / name) for name in ("sample", "icons")]


def test_the_wheel_has_every_module_and_resource(installed: Path) -> None:
    for package, folder in (("smprof_desktop", ROOT), ("smprof", ROOT / "collector")):
        ours = {file.relative_to(folder) for file in (folder / package).rglob("*.py")}
        assert len(ours) > 5
        assert {file for file in ours if not (installed / file).is_file()} == set()
    resources = {file.relative_to(ROOT / "resources") for file in (ROOT / "resources").rglob("*") if file.is_file()}
    assert len(resources) > 100
    assert {file for file in resources if not (installed / "smprof_desktop" / "data" / file).is_file()} == set()


def test_the_wheels_carry_their_licences(installed: Path) -> None:
    for distribution in ("smprof_desktop", "smprof_collector"):
        licences = next(installed.glob(f"{distribution}-*.dist-info")) / "licenses"
        assert "Apache License" in (licences / "LICENSE").read_text(encoding="utf-8")
        assert "not affiliated" in (licences / "NOTICE").read_text(encoding="utf-8")


def test_two_distributions_have_one_version() -> None:
    projects = [tomllib.loads((folder / "pyproject.toml").read_text()) for folder in (ROOT, ROOT / "collector")]
    versions = {project["project"]["version"] for project in projects}
    assert len(versions) == 1
    assert f"smprof-collector=={versions.pop()}" in projects[0]["project"]["dependencies"]


def test_locks_name_no_host_and_hash_everything() -> None:
    for name in ("run.txt", "test.txt"):
        text = (ROOT / "locks" / name).read_text(encoding="utf-8")
        assert "://" not in text
        requirements = [block for block in text.replace("\\\n", "").splitlines() if block and not block.startswith("#")]
        assert len(requirements) > 8
        assert all("--hash=sha256:" in requirement for requirement in requirements)
        assert "pyside6-essentials==6.11.3" in text


def test_a_missing_resource_is_said_to_be_missing() -> None:
    with pytest.raises(FileNotFoundError, match="install the application again"):
        path("no such thing")
