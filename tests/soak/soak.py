"""Damages traces and profiles without end and holds what must hold whatever the damage.

No crash, no hang, no leak, nothing left behind, no loss that is not counted; the result is a profile or one sentence.
A case is its number: `python -m tests.soak.run` repeats one by it.
"""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from smprof.profile.guard import Guard
from smprof.profile.manifest import ProfileError
from smprof.profile.reader import Profile
from smprof_desktop.importers import convert
from tests.profile.test_damage import rows_of
from tests.soak import mutations, sources
from tests.soak.child import Child, Died, resources

DEADLINE_SECONDS = 60.0
_FAULTS_OF_A_SLICE = ("no_start", "no_duration", "negative_duration", "time_overflow")
_GROWTH_BYTES = 250 << 20
_WARM_UP = 30
_RESTART_EVERY = 1_500


class Soak:
    """Runs cases in a folder of its own and gathers what does not hold.

    Args:
        folder: new or empty; damaged files of cases that fail stay in its `failed`.
        say: is told about progress.
    """

    def __init__(self, folder: Path, say: Callable[[str], None] = lambda text: None) -> None:
        self.failures: list[str] = []
        self.done: Counter[str] = Counter()
        self._folder = folder
        self._say = say
        self._work = folder / "work"
        self._temporary = folder / "temporary"
        for made in (self._work, self._temporary, folder / "failed"):
            made.mkdir(parents=True, exist_ok=True)
        self._texts = sources.traces()
        self._child = Child(DEADLINE_SECONDS)
        self._guard = Guard()
        self._resident: list[int] = []
        self._files: list[int] = []
        self._own_files = 0
        self._wholes: dict[str, Any] = {}

    def run(self, numbers: Any, seconds: float) -> None:
        """Run cases of these numbers, one after the other, until the time is up; then look for what leaked."""
        until, told = time.monotonic() + seconds, time.monotonic()
        temporary_before = tempfile.tempdir
        tempfile.tempdir = str(self._temporary)
        try:
            self._originals()
            for count, number in enumerate(numbers):
                if time.monotonic() >= until:
                    break
                self.case(number)
                if count == _WARM_UP:
                    self._own_files = resources()["files"]
                if count % _RESTART_EVERY == _RESTART_EVERY - 1:
                    self._check_growth()
                    self._child.restart()
                if time.monotonic() - told > 30:
                    told = time.monotonic()
                    self._say(f"{sum(self.done.values())} cases, {len(self.failures)} failures: {dict(self.done)}")
            self._check_growth()
            if self._own_files and resources()["files"] > self._own_files + 2:
                self.failures.append(f"open files grew from {self._own_files} to {resources()['files']}")
        finally:
            self._child.stop()
            self._guard.close()
            tempfile.tempdir = temporary_before
        self._check_nothing_left()

    def case(self, number: int) -> None:
        """One case, which its number determines wholly."""
        chance = Random(number)
        shutil.rmtree(self._work, ignore_errors=True)
        self._work.mkdir()
        kind = number // 10 % 10 if number % 10 == 0 else number % 10
        if kind in (0, 1, 2, 3):
            what, run = "trace bytes", self._bytes
        elif kind in (4, 5, 6):
            what, run = "trace values", self._values
        elif kind == 7:
            what, run = "import", self._whole_import
        else:
            what, run = "profile", self._profile
        try:
            run(chance)
        except AssertionError as error:
            self._fail(number, what, str(error))
        except Died as error:
            self._child.stop()
            self._fail(number, what, f"the child died: {error}")
        except Exception as error:
            self._fail(number, what, f"{type(error).__name__}: {error}")
        self.done[what] += 1

    def _bytes(self, chance: Random) -> None:
        name, text = sources.one_of(self._texts, chance)
        if chance.random() < 0.2:
            self._import(mutations.damaged_bytes(gzip.compress(text, chance.choice([1, 6])), chance)[0])
            return
        damaged, how = mutations.damaged_bytes(text, chance)
        answer = self._import(damaged)
        if how == mutations.FLIP and "slices" in answer:
            whole = self._account_of(name)
            counted = sum(answer["losses"].values())
            missing = whole["slices"] - answer["slices"]
            assert missing <= counted + 2, f"one bit cost {missing} slices, and {counted} are counted: {name}"

    def _values(self, chance: Random) -> None:
        events = sources.kineto_events(3) if chance.random() < 0.5 else sources.chrome_events()
        changed = mutations.changed_events([event for event in events if event.get("name") != "[memory]"], chance)
        changed = [event for event in changed if event.get("name") != "[memory]"]
        as_object = chance.random() < 0.5
        answer = self._import(json.dumps({"traceEvents": changed} if as_object else changed).encode())
        if "slices" not in answer:
            return
        events_in = sum(event["ph"] in mutations.SHOWN_PHASES for event in changed)
        losses = answer["losses"]
        out = answer["slices"] + answer["markers"] + losses.get("instant", 0)
        out += sum(losses.get(kind, 0) for kind in _FAULTS_OF_A_SLICE)
        # Flow events of a trace without launches are slices too.
        flows = sum(event["ph"] in "sft" for event in changed)
        assert events_in <= out <= events_in + flows, f"{events_in} events in, {out} out and counted: {answer}"

    def _whole_import(self, chance: Random) -> None:
        """The way of the program: several files, each in a child, one profile or one sentence, nothing left."""
        paths = []
        for index in range(chance.choice([1, 2])):
            _name, text = sources.one_of(self._texts, chance)
            paths.append(self._work / f"{index}.json")
            paths[-1].write_bytes(mutations.damaged_bytes(text, chance)[0] if chance.random() < 0.7 else text)
        before = time.monotonic()
        try:
            convert.import_traces(paths, self._work / "out")
            Profile.open(self._work / "out", self._guard).close()
        except ProfileError as error:
            _assert_one_sentence(str(error))
            if "ended unexpectedly" in str(error):
                raise Died(str(error)) from None
        assert time.monotonic() - before < DEADLINE_SECONDS, "it took too long"
        left = {path.name for path in self._work.iterdir()} - {path.name for path in paths} - {"out"}
        assert not left, f"left behind: {left}"

    def _profile(self, chance: Random) -> None:
        which = chance.choice(["merged", "segments"])
        folder = self._work / "profile"
        shutil.copytree(self._folder / which, folder)
        checked = mutations.damage_profile(folder, chance)
        try:
            opened = Profile.open(folder, self._guard)
        except ProfileError as error:
            _assert_one_sentence(str(error))
            return
        try:
            for process in opened.processes:
                for table in ("device", "host", "annotation", "counter"):
                    if len(process.table(table)):
                        process.args_of(table, 0)
                process.names.text(0)
            if checked and len(opened.processes) == 2:
                self._hold(opened, self._wholes[which])
        except ProfileError as error:
            _assert_one_sentence(str(error))
        finally:
            opened.close()

    def _hold(self, opened: Profile, whole: dict[str, Any]) -> None:
        got = rows_of(opened)
        for table, rows in whole.items():
            known = Counter(row[:-1] for row in rows.elements())
            found = Counter(row[:-1] for row in got[table].elements())
            assert not found - known, f"rows of {table} that were never recorded: {list((found - known).items())[:3]}"
            lost = (known - found).total()
            counted = sum(loss.count for loss in opened.losses if loss.kind in ("damaged_segment", "missing_segment"))
            assert lost <= counted, f"{lost} rows of {table} lost, {counted} counted"

    def _import(self, content: bytes) -> dict[str, Any]:
        path = self._work / "trace.json"
        path.write_bytes(content)
        answer = self._child.import_file(path, self._work / "out")
        self._resident.append(answer["resident"])
        self._files.append(answer["files"])
        assert "fault" not in answer, answer["fault"]
        if "refused" in answer:
            _assert_one_sentence(answer["refused"])
        else:
            assert (
                answer["slices"] or answer["losses"] or answer["markers"] or answer["counters"] or len(content) < 3000
            )
        return answer

    def _account_of(self, name: str) -> dict[str, Any]:
        if name not in self._wholes:
            path = self._work / "whole.json"
            path.write_bytes(self._texts[name])
            self._wholes[name] = self._child.import_file(path, self._work / "whole")
        known: dict[str, Any] = self._wholes[name]
        return known

    def _originals(self) -> None:
        for which in ("merged", "segments"):
            if which not in self._wholes:
                shutil.rmtree(self._folder / which, ignore_errors=True)
                sources.write_profile(self._folder / which, which == "merged")
                self._wholes[which] = rows_of(Profile.open(self._folder / which))

    def _check_growth(self) -> None:
        quarter = len(self._resident) // 4
        if quarter >= _WARM_UP:
            first, last = (
                statistics.median(part) for part in (self._resident[quarter : 2 * quarter], self._resident[-quarter:])
            )
            if last - first > _GROWTH_BYTES:
                self.failures.append(f"resident memory of the child grew from {first / 1e6:.0f} to {last / 1e6:.0f} MB")
            if max(self._files[-quarter:]) > max(self._files[: 2 * quarter]) + 2:
                self.failures.append(f"open files of the child grew to {max(self._files[-quarter:])}")
        self._resident.clear()
        self._files.clear()

    def _check_nothing_left(self) -> None:
        left = sorted(path.name for path in self._temporary.iterdir())
        if left:
            self.failures.append(f"temporary files left behind: {left[:5]}")
        running = [child.pid for child in multiprocessing.active_children()]
        if running:
            self.failures.append(f"processes left behind: {running}")

    def _fail(self, number: int, what: str, why: str) -> None:
        kept = self._folder / "failed" / str(number)
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self._work, kept)
        self.failures.append(f"case {number} ({what}): {why}")
        self._say(self.failures[-1])


def _assert_one_sentence(text: str) -> None:
    assert text.endswith(".") and "\n" not in text and "Traceback" not in text, f"not one sentence: {text!r}"
    assert "please report this fault" not in text, text


def work_folder() -> Path:
    """Where a soak works when nobody says where."""
    return Path(os.environ.get("SOAK_FOLDER") or "build/soak").resolve()
