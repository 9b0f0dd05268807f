"""The command line: what to do is told here, and done elsewhere. Nothing heavy is imported before it is needed."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from smprof import __version__
from smprof.profile.manifest import ProfileError
from smprof_desktop.progress import Cancelled, Progress

if TYPE_CHECKING:
    from smprof.profile.reader import Profile
    from smprof_desktop.timeline.lane_view import LaneView

PROGRAM = "smprof-desktop"
PAGES = ("load", "dashboard", "timeline", "advice", "information", "settings", "shortcuts")
WIDEST_NAME = 72
NUMBERS_WIDTH = 64
"""Characters that the numbers of the widest table take."""
TRACEBACK = "SMPROF_TRACEBACK"
"""Environment variable that, when set, lets faults of the program itself show where they are."""
INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it: 128 + SIGINT."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status; whatever goes wrong is one line on standard error."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a name the terminal cannot show is no reason to fail
    try:
        options = _parse(arguments)
        status = options.run(options)
        sys.stdout.flush()
        return int(status)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough (`| head`). Python would complain once more while closing it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ProfileError, Cancelled) as error:
        return _fail(str(error) or "It was cancelled.")
    except MemoryError:
        return _fail("There is not enough memory for this; close other programs or give a smaller trace.")
    except OSError as error:
        what = error.strerror or str(error)
        return _fail(f"{what}: {error.filename}" if error.filename is not None else what)
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        return _fail(
            f"Something is wrong in SMProf Desktop itself ({type(error).__name__}: {error}); please report it, "
            f"with what the same command prints when {TRACEBACK}=1 is set."
        )


def _fail(sentence: str) -> int:
    line = " ".join("".join(character if character.isprintable() else " " for character in sentence).split())
    print(f"{PROGRAM}: {line}", file=sys.stderr)
    return 1


# What may be asked.


class _Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line and exit status 1, as all others."""

    def error(self, message: str) -> NoReturn:
        raise ProfileError(f"{message[:1].upper()}{message[1:]}; see {self.prog} --help.")


def _parse(arguments: list[str]) -> argparse.Namespace:
    # argparse would take the first target for a command's name, so commands are told apart here.
    if arguments and arguments[0] in _COMMANDS:
        name = arguments[0]
        parser = _Parser(prog=f"{PROGRAM} {name}", description=_COMMANDS[name][0], allow_abbrev=False)
        _COMMANDS[name][1](parser)
        return parser.parse_args(arguments[1:])
    if arguments:
        _refuse_mistyped(arguments[0])
    commands = "\n".join(f"  {name:<12}{description}" for name, (description, _) in _COMMANDS.items())
    parser = _Parser(
        prog=PROGRAM,
        description="Open the window, on a profile where one is given.",
        epilog=f"commands ({PROGRAM} COMMAND --help explains one):\n{commands}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_targets(parser, "*")
    parser.add_argument("--page", choices=PAGES, help="page to show first")
    _add_range(parser)
    _add_select(parser)
    _add_lanes(parser)
    _add_step(parser)
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    parser.set_defaults(run=_open_window)
    return parser.parse_args(arguments)


def _refuse_mistyped(word: str) -> None:
    """Refuse a first word that looks like a command and like no path: it would be taken for a target otherwise."""
    if word.startswith("-") or any(mark in word for mark in (os.sep, "/", ".")) or os.path.exists(word):
        return
    from difflib import get_close_matches

    meant = get_close_matches(word.lower(), _COMMANDS, n=1)
    if meant:
        raise ProfileError(f"{word} does not exist; did you mean {meant[0]}?")


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("traces", nargs="+", metavar="TRACE", help="trace file; several are one profile's processes")
    parser.add_argument("-o", dest="out", required=True, type=Path, metavar="DIR", help="folder to write, new or empty")
    parser.set_defaults(run=_import)


def _report_arguments(parser: argparse.ArgumentParser) -> None:
    _add_targets(parser, "+")
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON; - is standard output")
    parser.add_argument("--html", metavar="FILE", help="write the tables as one HTML page; - is standard output")
    _add_range(parser)
    _add_step(parser)
    parser.set_defaults(run=_report)


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    _add_targets(parser, "+")
    parser.add_argument(
        "-o", dest="out", type=Path, metavar="OUT", help="folder to write, new or empty; or a .json or .json.gz file"
    )
    parser.add_argument(
        "--format", choices=("profile", "chrome"), help="a profile, or trace-event JSON; default: by OUT's name"
    )
    _add_range(parser)
    parser.add_argument(
        "--process",
        action="append",
        default=[],
        dest="processes",
        metavar="HOST/PROCESS",
        help="export this process only; may be given several times",
    )
    parser.add_argument(
        "--keep-private", action="store_true", help="keep paths, names of hosts and people, parameters and the like"
    )
    parser.add_argument("--preview", action="store_true", help="list what is taken out, and write nothing")
    parser.set_defaults(run=_export)


def _snapshot_arguments(parser: argparse.ArgumentParser) -> None:
    _add_targets(parser, "+")
    parser.add_argument("--page", choices=PAGES, required=True, help="page to draw")
    parser.add_argument("-o", dest="out", required=True, type=Path, metavar="PNG", help="picture to write")
    parser.add_argument("--size", type=_size, default=(1280, 800), metavar="WxH", help="in pixels before scaling")
    _add_range(parser)
    _add_select(parser)
    _add_lanes(parser)
    _add_step(parser)
    parser.add_argument("--section", metavar="TITLE", help="section of the dashboard to draw")
    parser.add_argument("--theme", choices=("light", "dark"), default="light")
    parser.add_argument("--scale", type=_scale, default=1.0, metavar="N", help="pixels of the picture per pixel")
    parser.set_defaults(run=_snapshot)


def _jobs_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--source", metavar="URI", help="where to look for jobs")
    parser.add_argument("--json", metavar="FILE", help="write the jobs as JSON; - is standard output")
    parser.set_defaults(run=_jobs)


def _synthesize_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", dest="out", required=True, type=Path, metavar="DIR", help="folder to write, new or empty")
    parser.add_argument("--hosts", type=_count, default=2, metavar="N")
    parser.add_argument("--devices", type=_count, default=8, metavar="N", help="devices per host")
    parser.add_argument("--steps", type=_count, default=40, metavar="N")
    parser.add_argument("--slices", type=_count, metavar="TOTAL", help="about as many slices in all")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="the same seed gives the same bytes")
    parser.set_defaults(run=_synthesize)


_COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "import": ("Turn trace files of other profilers into one profile.", _import_arguments),
    "report": ("Print the figures of a profile.", _report_arguments),
    "export": ("Write a part of a profile, or all of it, to give away.", _export_arguments),
    "snapshot": ("Draw a page into a picture, without a screen.", _snapshot_arguments),
    "jobs": ("List the jobs of a source.", _jobs_arguments),
    "synthesize": ("Write a profile of a made-up training run.", _synthesize_arguments),
}


def _add_targets(parser: argparse.ArgumentParser, number: str) -> None:
    parser.add_argument(
        "targets", nargs=number, metavar="TARGET", help="profile folder, or trace file; several are one profile"
    )


def _add_range(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--range", type=_range, dest="range_ns", metavar="B:E", help="from B to E, in ns from the profile's start"
    )


def _add_select(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--select",
        metavar="TEXT",
        help="select the first slice of that name, or that contains it; framed unless --range is given; "
        "a copied link names a slice as #HOST/PROCESS/TABLE/ROW@START:NAME",
    )


def _add_step(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--step", metavar="NAME", help="name, stem or pattern (*, ?) of the annotations to take as steps"
    )


def _add_lanes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--lanes",
        type=_lanes,
        metavar="VIEW",
        help="which lanes of the timeline are open, pinned, hidden and on top, as a copied link has it: "
        "open:KEY,close:KEY,pin:KEY,hide:KEY,pack:KEY,order:GROUP>KEY>KEY,find:TEXT,top:KEY",
    )


def _range(text: str) -> tuple[int, int]:
    begin, _, end = text.partition(":")
    try:
        range_ns = int(begin), int(end)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not B:E, two whole numbers of ns") from None
    if range_ns[0] >= range_ns[1]:
        raise argparse.ArgumentTypeError(f"{text!r} is empty: B must be below E")
    return range_ns


def _lanes(text: str) -> LaneView:
    from smprof_desktop.timeline.lane_view import LaneView

    try:
        return LaneView.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    try:
        size_px = int(width), int(height)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not WxH, as in 1280x800") from None
    if not all(16 <= edge <= 16_384 for edge in size_px):
        raise argparse.ArgumentTypeError(f"{text!r}: each edge must be 16 to 16384 pixels")
    return size_px


def _scale(text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0.5 <= scale <= 8:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0.5 and 8")
    return scale


def _count(text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return count


# What is done.


def _open_window(options: argparse.Namespace) -> int:
    if options.targets:
        from smprof_desktop import targets

        targets.check(options.targets)
    from smprof_desktop.app import run

    return int(run(options.targets, options.page, options.range_ns, options.select, options.lanes, options.step))


def _import(options: argparse.Namespace) -> int:
    from smprof_desktop.importers.convert import import_traces

    with TerminalProgress() as progress:
        print(import_traces([Path(trace) for trace in options.traces], options.out, progress))
    return 0


def _report(options: argparse.Namespace) -> int:
    if options.json == "-" and options.html == "-":
        raise ProfileError("Standard output cannot hold both JSON and HTML; give one of them a file.")
    from smprof_desktop import destination, report, targets

    for target in (options.json, options.html):
        if target not in (None, "-"):
            destination.check(Path(target))
    with TerminalProgress() as progress:
        profile = targets.open_targets(options.targets, progress)
        begin_ns, end_ns = (
            (None, None) if options.range_ns is None else (profile.begin_ns + edge for edge in options.range_ns)
        )
        try:
            figures = report.build(profile, begin_ns, end_ns, options.step, progress)
        finally:
            profile.close()
    if options.json is not None:
        _write(options.json, json.dumps(figures, indent=1, allow_nan=False) + "\n")
    if options.html is not None:
        from smprof_desktop.report_html import html

        _write(options.html, html(figures))
    if options.json is None and options.html is None:
        sys.stdout.write(report.text(figures, widest_name=_widest_name()))
    return 0


def _export(options: argparse.Namespace) -> int:
    if options.out is None and not options.preview:
        raise ProfileError("It is not said where to export to; name a folder or a .json file with -o.")
    from smprof_desktop import targets
    from smprof_desktop.exporters import redaction, selection

    with TerminalProgress() as progress:
        profile = targets.open_targets(options.targets, progress)
        try:
            chosen = selection.named(profile, options.processes) if options.processes else None
            if options.preview:
                told = redaction.text(redaction.preview(profile, chosen, progress))
            else:
                told = str(_write_export(options, profile, chosen, progress))
        finally:
            profile.close()
    print(told)
    return 0


def _write_export(options: argparse.Namespace, profile: Profile, chosen: Any, progress: Progress) -> Path:
    from smprof_desktop.exporters import chrome, excerpt, redaction

    begin_ns, end_ns = (
        (None, None) if options.range_ns is None else (profile.begin_ns + edge for edge in options.range_ns)
    )
    redactor = None if options.keep_private else redaction.inspect(profile, chosen, progress)
    write = chrome.write_chrome if _is_chrome(options) else excerpt.write_excerpt
    return write(profile, options.out, begin_ns, end_ns, chosen, redactor, progress)


def _is_chrome(options: argparse.Namespace) -> bool:
    return bool(options.format == "chrome" if options.format else options.out.name.endswith((".json", ".json.gz")))


def _widest_name() -> int:
    """Characters of a name that fit a terminal beside a table's numbers; a fixed number in files and pipes."""
    if not sys.stdout.isatty():
        return WIDEST_NAME
    return min(max(shutil.get_terminal_size().columns - NUMBERS_WIDTH, 24), 200)


def _snapshot(options: argparse.Namespace) -> int:
    from smprof_desktop import destination, targets

    targets.check(options.targets)
    destination.check(options.out)
    from smprof_desktop.app import snapshot

    with TerminalProgress() as progress:
        snapshot(
            options.targets,
            options.page,
            options.out,
            options.size,
            options.range_ns,
            options.select,
            options.theme,
            options.scale,
            progress,
            options.lanes,
            options.step,
            options.section,
        )
    return 0


def _jobs(_options: argparse.Namespace) -> int:
    raise ProfileError("Listing jobs is not there yet; give a profile folder or a trace file to open it.")


def _synthesize(options: argparse.Namespace) -> int:
    from smprof_desktop.synthesize import synthesize

    with TerminalProgress() as progress:
        print(
            synthesize(
                options.out,
                options.hosts,
                options.devices,
                options.steps,
                options.slices,
                options.seed,
                progress,
                lambda: False,
            )
        )
    return 0


def _write(target: str, text: str) -> None:
    if target == "-":
        sys.stdout.write(text)
    else:
        from smprof_desktop import destination

        destination.write(Path(target), text.encode())


class TerminalProgress:
    """A Progress that keeps one line of a terminal up to date, once the work has taken a second.

    A context: at its end the line is wiped. Where standard error is no terminal nothing is written.
    """

    PATIENCE_S = 1.0
    INTERVAL_S = 0.1

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._due_s = time.monotonic() + self.PATIENCE_S
        self._width = 0

    def __enter__(self) -> Progress:
        return self._tell

    def __exit__(self, *_exception: Any) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()

    def _tell(self, share: float, what: str) -> None:
        now_s = time.monotonic()
        if not self._shown or now_s < self._due_s:
            return
        self._due_s = now_s + self.INTERVAL_S
        from smprof_desktop.analysis.quantities import elide_middle

        line = elide_middle(f"{100 * min(max(share, 0.0), 1.0):3.0f} %  {what}", 78)
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)


if __name__ == "__main__":
    sys.exit(main())
