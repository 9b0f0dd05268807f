"""Takes out of a profile what is private, and shows beforehand what that is.

`inspect` reads every text of a profile once; the Redactor it gives replaces: hosts become host-1, host-2, …; of file
paths in names and arguments the file's name and line stay; everything else becomes "redacted".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smprof.profile.manifest import Device, Host, Loss, Manifest, Process, Thread
from smprof.profile.reader import ProcessProfile, Profile
from smprof.profile.schema import HOST_KINDS
from smprof_desktop.analysis.quantities import elide_middle
from smprof_desktop.exporters.json_text import is_json
from smprof_desktop.exporters.private_text import (
    LATER_RULES,
    REDACTED,
    RULES,
    SUSPICIOUS,
    Rule,
    is_suspicious,
    is_word,
    kind_of_key,
    users_in,
)
from smprof_desktop.progress import CancelCheck, Cancelled, Progress, never, silent

_LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_PYTHON = HOST_KINDS.index("python")
_EXAMPLE_WIDTH = 72
_REDACTED_JSON = json.dumps(REDACTED)


@dataclass
class Finding:
    """Something private: its kind, where it stands, how many texts or values hold it, and one of them as recorded.

    The example is for the eyes of whoever exports, and goes into no file.
    """

    kind: str
    where: str
    count: int
    example: str


class Redactor:
    """Replaces what is private. One made with `keep=True` gives everything back as it is."""

    def __init__(self, hosts: Sequence[str] = (), people: Iterable[str] = (), keep: bool = False) -> None:
        """`hosts` in the order of their numbers; `people`: further names to take out of every text."""
        self.keep = keep
        self.findings: dict[tuple[str, str], Finding] = {}
        self._hosts = {host: f"host-{number}" for number, host in enumerate(dict.fromkeys(hosts), 1)}
        self._words = {host.lower(): ("host", name) for host, name in self._hosts.items() if is_word(host)}
        for person in people:
            self._words.setdefault(person.lower(), ("user", REDACTED))
        self._word = _pattern_of(self._words)
        self.suspicious = "|".join(filter(None, (SUSPICIOUS, _arrow_pattern_of(self._words))))
        """A text in which this regular expression (RE2) finds nothing stays as it is."""

    def text(self, text: str, where: str = "", keep_file: bool = False, count: int = 1) -> str:
        """A text without what is private. `where` and `count` are for the findings."""
        if self.keep or not text or not (is_suspicious(text) or (self._word is not None and self._word.search(text))):
            return text
        whole = text
        for rule in RULES:
            text = self._apply(rule, text, whole, where, keep_file, count)
        if self._word is not None:
            text = self._replace_words(text, whole, where, count)
        for rule in LATER_RULES:
            text = self._apply(rule, text, whole, where, keep_file, count)
        return text

    def name(self, text: str, where: str = "names") -> str:
        """A name of a slice, counter, thread or process."""
        return self.text(text, where, keep_file=True)

    def host(self, name: str) -> str:
        """A host's name."""
        if self.keep:
            return name
        if name not in self._hosts:
            self._hosts[name] = f"host-{len(self._hosts) + 1}"
        if name:
            self._found("host", "hosts", 1, name)
        return self._hosts[name]

    def json_text(self, key: str, text: str, count: int = 1) -> str:
        """An argument's value, as JSON text; numbers in it stay as they are written."""
        if self.keep or text == _REDACTED_JSON:
            return text
        kind = kind_of_key(key)
        where = f"argument {key}"
        if kind is not None and kind != "host":
            self._found(kind, where, count, text)
            return _REDACTED_JSON
        if not is_json(text):
            return self.text(text, where, keep_file=True, count=count)
        try:
            nested = "{" in text and any(kind_of_key(inner) for inner in _keys_of(json.loads(text)))
            if nested or kind == "host":
                return json.dumps(self.value(json.loads(text), where, key, True, False, count), ensure_ascii=False)
            return _LITERAL.sub(lambda match: self._literal(match[0], where, count), text)
        except (ValueError, RecursionError):
            return self.text(text, where, keep_file=True, count=count)

    def value(
        self, value: Any, where: str, key: str = "", keep_file: bool = False, variables: bool = True, count: int = 1
    ) -> Any:
        """A JSON value; `key` is what it stands under. `variables`: keys may be those of environment variables."""
        if self.keep:
            return value
        kind = kind_of_key(key, variables) if key else None
        if kind == "host" and isinstance(value, str):
            return self.host(value) if value in self._hosts else self._taken(kind, where, count, value)
        if kind is not None and value not in (None, "", [], {}) and not isinstance(value, bool):
            return self._taken(kind, where, count, value)
        if isinstance(value, str):
            return self.text(value, where, keep_file, count)
        if isinstance(value, list):
            return [self.value(item, where, "", keep_file, variables, count) for item in value]
        if isinstance(value, dict):
            return {
                self.text(name, where, keep_file, count): self.value(item, where, name, keep_file, variables, count)
                for name, item in value.items()
            }
        return value

    def process(self, info: Process) -> Process:
        """The facts about a process, without its folder."""
        where = "process"
        return replace(
            info,
            host=self.host(info.host),
            process=self.text(info.process, where),
            folder="",
            name=self.name(info.name, "process names"),
            windows_ns=[list(window) for window in info.windows_ns],
            devices=[
                Device(
                    device.index,
                    self.name(device.name, "device names"),
                    device.used,
                    device.memory_bytes,
                    self.value(device.properties, "device properties"),
                )
                for device in info.devices
            ],
            threads=[Thread(thread.id, self.name(thread.name, "thread names")) for thread in info.threads],
            recorded=list(info.recorded),
            metadata={
                self.text(key, "metadata"): self.value(value, f"metadata {key}", key)
                for key, value in info.metadata.items()
            },
        )

    def manifest(self, manifest: Manifest) -> Manifest:
        """The facts about a profile, without its processes."""
        if manifest.hyperparameters and not self.keep:
            example = json.dumps(manifest.hyperparameters)
            self._found("hyperparameter", "hyperparameters", len(manifest.hyperparameters), example)
        return replace(
            manifest,
            name=self.text(manifest.name, "profile name"),
            clock=replace(manifest.clock),
            hosts=[
                Host(self.host(host.name), host.instance_type, self.value(host.metadata, "host metadata"))
                for host in manifest.hosts
            ],
            processes=[],
            # Their keys can tell as much as their values.
            hyperparameters=dict(manifest.hyperparameters) if self.keep else {},
            frameworks={key: self.text(value, "frameworks") for key, value in manifest.frameworks.items()},
            losses=[self.loss(loss) for loss in manifest.losses],
            sources=[self._source(source) for source in manifest.sources],
        )

    def loss(self, loss: Loss) -> Loss:
        """A line of the ledger."""
        return Loss(loss.kind, loss.count, self.text(loss.detail, "losses"))

    def _source(self, source: dict[str, Any]) -> dict[str, Any]:
        """A file's name tells of hosts, jobs and people in more ways than rules can know."""
        if self.keep:
            return dict(source)
        rest = {key: value for key, value in source.items() if key not in ("name", "sha256")}
        kept: dict[str, Any] = self.value(rest, "sources")
        if source.get("sha256"):
            kept["sha256"] = source["sha256"]
        if source.get("name"):
            kept["name"] = self._taken("path", "sources", 1, str(source["name"]))
        return kept

    def _apply(self, rule: Rule, text: str, whole: str, where: str, keep_file: bool, count: int) -> str:
        hit = False

        def replaced(match: re.Match[str]) -> str:
            nonlocal hit
            new: str | None = rule.replace(match, keep_file)
            if new is None or new == match[0]:
                return match[0]
            hit = True
            return new

        text = rule.pattern.sub(replaced, text)
        if hit:
            self._found(rule.kind, where, count, whole)
        return text

    def _replace_words(self, text: str, whole: str, where: str, count: int) -> str:
        assert self._word is not None
        kinds = set()

        def replaced(match: re.Match[str]) -> str:
            kind, new = self._words[match[0].lower()]
            kinds.add(kind)
            return new

        text = self._word.sub(replaced, text)
        for kind in sorted(kinds):
            self._found(kind, where, count, whole)
        return text

    def _literal(self, literal: str, where: str, count: int) -> str:
        text = json.loads(literal, strict=False)
        new = self.text(text, where, keep_file=True, count=count)
        return literal if new == text else json.dumps(new, ensure_ascii=False)

    def _taken(self, kind: str, where: str, count: int, value: Any) -> str:
        self._found(kind, where, count, value if isinstance(value, str) else json.dumps(value))
        return REDACTED

    def _found(self, kind: str, where: str, count: int, example: str) -> None:
        if example == REDACTED:
            return  # taken out before
        finding = self.findings.get((kind, where))
        if finding is None:
            self.findings[kind, where] = Finding(kind, where, count, example)
        else:
            finding.count += count


def inspect(
    profile: Profile,
    processes: Sequence[ProcessProfile] | None = None,
    progress: Progress = silent,
    cancelled: CancelCheck = never,
) -> Redactor:
    """A Redactor that knows the hosts and people of a profile, whose `findings` are everything that it takes out.

    `processes`: those that are exported; None is all.
    """
    chosen = profile.processes if processes is None else processes
    hosts = [host.name for host in profile.manifest.hosts] + [process.info.host for process in profile.processes]
    people: set[str] = set()
    collect = _Words(hosts, people)
    for index, process in enumerate(chosen):
        _go_on(cancelled)
        progress(index / len(chosen) / 2, "looking for what is private")
        collect.process(process.unread())
    manifest = profile.manifest
    collect.value([manifest.hyperparameters, manifest.sources, [host.metadata for host in manifest.hosts]])
    collect.text(manifest.name)
    redactor = Redactor(hosts, people)
    redactor.manifest(manifest)
    for index, process in enumerate(chosen):
        _go_on(cancelled)
        progress(0.5 + index / len(chosen) / 2, "looking for what is private")
        redactor.process(process.info)
        _look_through(redactor, process.unread())
    return redactor


def preview(
    profile: Profile,
    processes: Sequence[ProcessProfile] | None = None,
    progress: Progress = silent,
    cancelled: CancelCheck = never,
) -> list[Finding]:
    """What an export of the profile takes out, by kind and place; the profile is only read."""
    findings = inspect(profile, processes, progress, cancelled).findings
    return sorted(findings.values(), key=lambda finding: (finding.kind, -finding.count, finding.where))


def text(findings: Sequence[Finding]) -> str:
    """Findings as lines for a terminal; the examples cut short, and without characters that would move the cursor."""
    if not findings:
        return "Nothing private was found."
    rows = [
        (finding.kind, finding.where, f"{finding.count:,}", elide_middle(_printable(finding.example), _EXAMPLE_WIDTH))
        for finding in findings
    ]
    rows.insert(0, ("KIND", "WHERE", "COUNT", "EXAMPLE"))
    kind, where, count = (max(len(row[at]) for row in rows) for at in range(3))
    return "\n".join(f"{row[0]:<{kind}}  {row[1]:<{where}}  {row[2]:>{count}}  {row[3]}".rstrip() for row in rows)


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


class _Words:
    """Collects names of hosts and people from everything a profile says."""

    def __init__(self, hosts: list[str], people: set[str]) -> None:
        self._hosts = hosts
        self._people = people

    def text(self, text: str) -> None:
        self._people.update(users_in(text))

    def value(self, value: Any, key: str = "") -> None:
        kind = kind_of_key(key) if key else None
        if isinstance(value, str):
            self.text(value)
            if kind == "host" and is_word(value) and " " not in value:
                self._hosts.append(value)
            elif kind in ("user", "account", "access key") and is_word(value) and "@" not in value:
                self._people.add(value)
        elif isinstance(value, int) and kind == "account":
            self._people.add(str(value))
        elif isinstance(value, (list, dict)):
            items = value.items() if isinstance(value, dict) else ((key, item) for item in value)
            for name, item in items:
                self.value(item, name)

    def process(self, process: ProcessProfile) -> None:
        info = process.info
        for text in (info.name, *(thread.name for thread in info.threads)):
            self.text(text)
        self.value([info.metadata, [device.properties for device in info.devices]])
        for name in suspicious_in(process.table("names").arrow("name"), SUSPICIOUS):
            self.text(name)
        for key, text, _count in _argument_texts(process, SUSPICIOUS):
            try:
                self.value(json.loads(text), key)
            except (ValueError, RecursionError):
                self.text(text)


def suspicious_in(texts: Any, pattern: str) -> list[str]:
    """The texts of an Arrow array in which a regular expression finds something."""
    found: list[str] = texts.filter(pc.match_substring_regex(texts, pattern)).to_pylist()
    return found


def _look_through(redactor: Redactor, process: ProcessProfile) -> None:
    host, names = process.table("host"), process.names
    frames = set(np.unique(host["name_id"][host["kind"] == _PYTHON]).tolist())
    texts = process.table("names").arrow("name")
    hits = pc.match_substring_regex(texts, redactor.suspicious).to_numpy(zero_copy_only=False) if len(texts) else []
    for name_id in np.flatnonzero(hits).tolist():
        redactor.name(names.text(name_id), "names of Python frames" if name_id in frames else "names")
    for key, text, count in _argument_texts(process, redactor.suspicious):
        redactor.json_text(key, text, count)
    for key in _argument_keys(process):
        redactor.text(key, "names of arguments", keep_file=True)


def _argument_keys(process: ProcessProfile) -> list[str]:
    keys: list[str] = pc.unique(process.table("args").arrow("key")).to_pylist()
    return keys


def _argument_texts(process: ProcessProfile, pattern: str) -> Iterable[tuple[str, str, int]]:
    """Key, text and count of the distinct arguments that may be private, by their text or by their key."""
    args = process.table("args")
    if not len(args):
        return
    keys, texts = args.arrow("key"), args.arrow("text")
    private = pa.array([key for key in _argument_keys(process) if kind_of_key(key)], pa.string())
    by_key = pc.is_in(keys, private)
    by_text = pc.fill_null(pc.match_substring_regex(texts, pattern), False)
    mask = pc.or_(by_key, by_text)
    integers = pc.cast(pa.array(args["integer"]), pa.large_string())
    chosen = pa.table({"key": keys, "text": pc.coalesce(texts, integers)}).filter(mask)
    grouped = chosen.group_by(["key", "text"]).aggregate([([], "count_all")])
    for batch in grouped.to_batches(max_chunksize=10_000):
        rows = batch.to_pydict()
        yield from zip(rows["key"], rows["text"], rows["count_all"], strict=True)


def _keys_of(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _keys_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from _keys_of(item)


def _pattern_of(words: dict[str, Any]) -> re.Pattern[str] | None:
    if not words:
        return None
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    joined = "|".join(re.escape(word) for word in longest_first)
    return re.compile(rf"(?<![A-Za-z0-9])(?:{joined})(?![A-Za-z0-9])", re.IGNORECASE)


def _arrow_pattern_of(words: dict[str, Any]) -> str:
    """The words for RE2, without looking at what stands around them."""
    return f"(?i:{'|'.join(re.escape(word) for word in sorted(words))})" if words else ""


def _go_on(cancelled: CancelCheck) -> None:
    if cancelled():
        raise Cancelled
