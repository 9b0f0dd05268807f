"""The command line: what it refuses, in one line and with exit 1, and what it never imports."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from pathlib import Path

import pytest

from smprof import __version__
from smprof_desktop import cli, targets


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line on standard error of a command that must fail with exit 1 and print nothing else."""
    assert cli.main(arguments) == 1
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("smprof-desktop: ") and error.endswith("\n") and error.count("\n") == 1
    assert "Traceback" not in error
    return error[len("smprof-desktop: ") : -1]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"smprof-desktop {__version__}\n"


@pytest.mark.parametrize("command", [[], ["import"], ["report"], ["snapshot"], ["jobs"], ["synthesize"]])
def test_every_command_explains_itself(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main([*command, "--help"])
    assert stopped.value.code == 0
    assert "usage: smprof-desktop" in capsys.readouterr().out


@pytest.mark.parametrize("command", [[], ["report"], ["snapshot", "--page", "timeline", "-o", "x.png"]])
def test_a_bad_path_is_one_sentence_before_a_window_shows(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing, empty, foreign = tmp_path / "missing", tmp_path / "empty", tmp_path / "notes.txt"
    empty.mkdir()
    foreign.write_text("Dear diary, today nothing was profiled.\n")
    assert refusal(capsys, *command, str(missing)) == f"{missing} does not exist; check the path."
    assert refusal(capsys, *command, str(empty)).startswith(f"{empty} holds neither a profile nor a trace")
    assert refusal(capsys, *command, str(foreign)).startswith(f"{foreign} is no trace that SMProf Desktop knows")
    folder = tmp_path / "notes"
    folder.mkdir()
    foreign.rename(folder / "notes.txt")
    assert refusal(capsys, *command, str(folder)).startswith(f"{folder} holds neither a profile nor a trace")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["report"], "The following arguments are required: TARGET; see smprof-desktop report --help."),
        (["--page", "nowhere"], "invalid choice: 'nowhere'"),
        (["--no-such-option"], "Unrecognized arguments: --no-such-option; see smprof-desktop --help."),
        (["report", "x", "--range", "5"], "'5' is not B:E, two whole numbers of ns"),
        (["report", "x", "--range", "7:7"], "'7:7' is empty: B must be below E"),
        (["report", "x", "--range", "1.5:7"], "'1.5:7' is not B:E"),
        (["report", "x", "--json", "-", "--html", "-"], "Standard output cannot hold both JSON and HTML"),
        (["snapshot", "x", "--page", "load", "-o", "y", "--size", "10x10"], "each edge must be 16 to 16384 pixels"),
        (["snapshot", "x", "--page", "load", "-o", "y", "--scale", "0"], "'0' is not between 0.5 and 8"),
        (["synthesize", "-o", "x", "--steps", "0"], "'0' is not a whole number above 0"),
        (["jobs"], "Listing jobs is not there yet"),
        (["report", "s3://bucket/profile"], "s3://bucket/profile cannot be opened: this version reads local"),
    ],
)
def test_a_bad_argument_is_one_sentence(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complaint in refusal(capsys, *arguments)


def test_a_mistyped_command_is_not_taken_for_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refusal(capsys, "reprot", "x") == "reprot does not exist; did you mean report?"
    assert refusal(capsys, "Snapshots", "x", "-o", "y") == "Snapshots does not exist; did you mean snapshot?"
    for path in ("./reprot", "import.json", "trace"):
        assert refusal(capsys, path) == f"{path} does not exist; check the path."
    (tmp_path / "reprot").mkdir()
    assert refusal(capsys, "reprot").startswith("reprot holds neither a profile nor a trace")


def test_a_path_cannot_write_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\x1b" not in refusal(capsys, "report", "no\x1b[31msuch\nfile")


def test_ctrl_c_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(targets, "open_targets", interrupted)
    assert cli.main(["report", "x"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_full_disk_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device", "/somewhere/report.json")

    monkeypatch.setattr(targets, "open_targets", full)
    assert refusal(capsys, "report", "x") == "No space left on device: /somewhere/report.json"


def test_a_fault_of_our_own_is_one_sentence_unless_it_is_looked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_arguments: object) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr(targets, "open_targets", broken)
    sentence = refusal(capsys, "report", "x")
    assert "IndexError: list index out of range" in sentence and "SMPROF_TRACEBACK=1" in sentence
    monkeypatch.setenv("SMPROF_TRACEBACK", "1")
    with pytest.raises(IndexError):
        cli.main(["report", "x"])


def test_progress_is_told_to_terminals_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    now_s = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        now_s = 100.0
        monkeypatch.setattr(sys, "stderr", stream)
        with cli.TerminalProgress() as progress:
            progress(0.1, "quick")
            assert stream.getvalue() == ""
            now_s = 101.5
            progress(0.5, "reading\x1b[31m")
            now_s = 101.51
            progress(0.6, "too soon after")
        written = stream.getvalue()
        assert ("\r 50 %  reading [31m" in written) is shown
        assert "too soon" not in written and "\x1b" not in written
        assert written.endswith("\r") or not shown


def test_help_version_and_refusals_need_no_window_system() -> None:
    """Qt takes longer to load than a report takes, and is not there on a training machine."""
    script = (
        "import sys\n"
        "from smprof_desktop import cli\n"
        "import smprof_desktop.report\n"
        "assert cli.main(['report', '/no/such/file']) == 1\n"
        "assert cli.main(['/no/such/file']) == 1\n"
        "assert cli.main(['jobs']) == 1\n"
        "heavy = [name for name in sys.modules if name.split('.')[0] in ('PySide6', 'pyqtgraph', 'psygnal')]\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
