"""What is private in a text, as a table of rules, and which keys have private values. Pure.

Each rule is sought in what the ones before it left. Nothing that a rule puts in its place is found by another.
Repetitions have limits, so that no text can be made that takes for ever: whatever begins a match looks so far only.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

REDACTED = "redacted"

SUSPICIOUS = (
    r"[/\\@=]|arn:|\d\.\d|[0-9a-fA-F]:[0-9a-fA-F:]*:|\d{12}|A[A-Z]{2}A[A-Z0-9]{16}|eyJ|hf_|gh[a-z]_|github_pat_|sk-"
    r"|(?i:passw|secret|token|key)\w*[\"']?\s*[:=]"
    r"|xox|glpat-|PRIVATE KEY|[Bb]earer |\bip-\d|\.internal|\.local|\.lan\b|\.corp\b|amazonaws|\s--?\w|\.py\s"
)
"""A text without any of this holds nothing that a rule below finds. For Python and for RE2 (Arrow)."""

_SUSPICIOUS = re.compile(SUSPICIOUS)
_COMPONENT = r"[^\s/\\:*?\"'<>|,;()\[\]{}]{1,255}"
_EXTENSION = (
    r"(?:py|pyc|pyx|ipynb|so|cpp|cc|cxx|cu|cuh|c|h|hpp|rs|go|js|sh|json|jsonl|ya?ml|toml|ini|cfg|conf|txt|csv|parquet"
    r"|pt|pth|ckpt|bin|safetensors|onnx|npy|npz|pkl|tar|gz|zip|log|db|sqlite|pem|key|env)"
)

_ABSOLUTE = rf"(?P<folders>(?<![\w/.\-)\]}}>*])[~.]{{0,3}}/(?:{_COMPONENT}/){{0,64}})(?P<file>{_COMPONENT})"
_RELATIVE = rf"(?P<folders>(?<![\w/])(?:{_COMPONENT}[/\\]{{1,4}}){{1,64}})(?P<file>{_COMPONENT}\.{_EXTENSION}\b)"

_FILE = re.compile(r"\.[A-Za-z]\w{0,12}$|\(-?\d+\): $")

Replace = Callable[["re.Match[str]", bool], "str | None"]
"""A match and whether file names stay → what stands in its place; None where it is nothing private after all."""


@dataclass(frozen=True)
class Rule:
    """One kind of private text."""

    kind: str
    pattern: re.Pattern[str]
    replace: Replace


def _all(_match: re.Match[str], _keep_file: bool) -> str:
    return REDACTED


def _value(match: re.Match[str], _keep_file: bool) -> str:
    return match["key"] + REDACTED


def _file(match: re.Match[str], keep_file: bool) -> str | None:
    folders, file = match["folders"], match["file"]
    if not folders or folders.strip("/\\") == REDACTED:
        return None
    # A name without an extension may be that of one more folder.
    return file if keep_file and _FILE.search(file) else REDACTED


def _ip_address(match: re.Match[str], _keep_file: bool) -> str | None:
    try:
        address = ipaddress.ip_address(match[0])
    except ValueError:
        return None
    return None if address.is_loopback or address.is_unspecified else REDACTED


RULES: tuple[Rule, ...] = (
    Rule(
        "access key",
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
        _all,
    ),
    Rule(
        "access key",
        re.compile(
            r"(?<![A-Za-z0-9])(?:(?:AKIA|ASIA|AROA|AIDA|AGPA|ANPA|ANVA|ABIA|ACCA)[A-Z0-9]{16}|hf_[A-Za-z0-9]{20,}"
            r"|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{20,}|glpat-[\w-]{18,}|sk-[\w-]{20,}|xox[abposr]-[\w-]{10,}"
            r"|eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?)"
        ),
        _all,
    ),
    Rule("access key", re.compile(r"(?P<key>\b[Bb]earer )[\w.~+/=-]{8,}"), _value),
    Rule(
        "access key",
        re.compile(
            r"(?P<key>\b\w{0,64}(?:password|passwd|secret|api[_-]?key|access[_-]?key|auth[_-]?token|(?<![a-z])token)\w{0,64}"
            r"\s{0,9}(?:=(?!=)|:)\s{0,9}[\"']?)[^\s\"',;&]{3,}",
            re.IGNORECASE,
        ),
        _value,
    ),
    Rule("ARN", re.compile(r"\barn:[a-z][\w-]*:[^\s\"'<>,;]*"), _all),
    Rule(
        "command line",
        re.compile(
            r"(?:(?<=\s)|^)(?:\S{0,999}[/\\])?(?:python[\d.]*|torchrun|accelerate|deepspeed|mpirun|mpiexec|srun|sbatch|bash"
            r"|sh|nsys|docker|sudo|env)(?:\.exe)?\s{1,9}(?:\S{1,255}\s{1,9}){0,9}?(?:-{1,2}\w|\S{1,255}\.(?:py|sh)\b).*",
            re.DOTALL,
        ),
        _all,
    ),
    Rule("command line", re.compile(r"(?<!\S)\S{1,999}\.(?:py|sh)\s{1,9}--?\w.*", re.DOTALL), _all),
    Rule(
        "environment",
        re.compile(
            r"(?P<key>\b(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|PATH|HOME|USER|LOGNAME|HOSTNAME|PWD|SHELL)=)"
            r"(?:\"[^\"]*\"|'[^']*'|[^\s\"',;]+)"
        ),
        _value,
    ),
    Rule("path", re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s\"'<>]*"), _all),
    Rule("e-mail", re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,9}"), _all),
)

LATER_RULES: tuple[Rule, ...] = (
    # The whole beginning of a Python frame, which may hold blanks: `/home/jane doe/train.py(12): step`. A call stack is
    # several with semicolons between them.
    Rule(
        "path",
        re.compile(
            r"(?:(?<=;)|^)(?P<folders>[^<>\n;]{0,4095}[/\\])(?P<file>[^/\\\n;]{1,255}\(-?\d+\): )", re.MULTILINE
        ),
        _file,
    ),
    Rule(
        "path",
        re.compile(
            r"(?P<folders>(?:\b[A-Za-z]:|\\\\)[\\/]?(?:[^\\/:*?\"<>|\r\n]{1,255}[\\/]{1,4}){0,64})(?P<file>[^\s\\/:*?\"<>|]+)"
        ),
        lambda match, keep_file: _file(match, keep_file) if re.search(r"[\\/]", match["folders"]) else None,
    ),
    Rule(
        "path",
        re.compile(rf"(?P<folders>(?<![\w/.\-)\]}}>*])[~.]{{0,3}}/(?:{_COMPONENT}/){{0,64}})(?P<file>{_COMPONENT})"),
        _file,
    ),
    Rule(
        "path",
        re.compile(
            rf"(?P<folders>(?<![\w/])(?:{_COMPONENT}[/\\]{{1,4}}){{1,64}})(?P<file>{_COMPONENT}\.{_EXTENSION}\b)"
        ),
        _file,
    ),
    Rule(
        "host",
        re.compile(
            r"(?<![\w.-])(?:ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}(?:\.[\w-]{1,63}){0,9}|(?:[\w-]{1,63}\.){1,9}(?:internal|local|lan|corp|intra|amazonaws\.com)"
            r"(?:\.\w+)?)(?![\w-])"
        ),
        _all,
    ),
    Rule("IP address", re.compile(r"(?<![\w.])(?<!==)(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)"), _ip_address),
    Rule(
        "IP address",
        # Four groups at least: `c10::be` is C++.
        re.compile(
            r"(?<![\w:.])(?=(?:[0-9a-fA-F]{0,4}:){3})(?=[0-9a-fA-F:]{0,40}[0-9a-fA-F]:[0-9a-fA-F])[0-9a-fA-F:]{5,45}(?![\w:])"
        ),
        _ip_address,
    ),
    Rule("account", re.compile(r"(?<![\w.])\d{12}(?!\w|\.\d)"), _all),
)
"""Sought after the names of hosts and users, which may stand inside what these take out."""

_KEYS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("hyperparameter", re.compile(r"hyper_?param|^h_?params")),
    ("environment", re.compile(r"^envs?$|environ|env_?vars?$|_env$")),
    ("command line", re.compile(r"^cmd|cmd_?line|command|^(sys_?)?argv?s?$|entry_?point")),
    ("access key", re.compile(r"passw|secret|credential|(access|api|private|ssh)_?key|(^|_)token$")),
    ("account", re.compile(r"(^|_)account")),
    ("user", re.compile(r"^(os_?)?user(_?(name|id))?$|^login|^logname$|^owner$|^author$|^created_?by$|e_?mail")),
    ("host", re.compile(r"^host$|host_?name|^fqdn$|^node(_?name)?$|^machine_?name$|master_?addr")),
    ("IP address", re.compile(r"(^|_)ip(_?addr(ess)?)?$")),
    ("path", re.compile(r"^(cwd|pwd|home)$|work(ing)?_?dir|home_?dir")),
)
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_HOME = re.compile(r"(?:/home/|/Users/|[\\/]Users[\\/]+|/export/home/)([A-Za-z][\w.-]{1,40})")
_USER = re.compile(r"\b(?:user|username|login|USER|LOGNAME)\s*[=:]\s*[\"']?([A-Za-z][\w.-]{1,40})")
_LOCAL_PART = re.compile(r"(?<![\w.+-])([\w.+-]{2,40})@[\w-]{1,63}\.[\w-]")
_NOBODY = frozenset(
    word
    for line in (
        "root user users ubuntu ec2-user sagemaker-user admin administrator runner jenkins default public shared guest",
        "app data python torch pytorch tensorflow jax conda docker work workspace nobody none null true false info",
        "noreply test no-reply support git model train redacted",
    )
    for word in line.split()
)
"""Names of accounts that are nobody's, and words that must not vanish from kernel names for a folder's sake."""
_SHORTEST_WORD = 3


def is_suspicious(text: str) -> bool:
    """Whether a rule may find something in the text."""
    return _SUSPICIOUS.search(text) is not None


def kind_of_key(key: str, variables: bool = False) -> str | None:
    """What the value of a key is, where it is private as a whole. `variables`: keys may name environment variables."""
    plain = _HUMP.sub("_", key).lower().replace("-", "_").replace(" ", "_").strip("_.")
    for kind, pattern in _KEYS:
        if pattern.search(plain):
            return kind
    return "environment" if variables and _VARIABLE.fullmatch(key) else None


def users_in(text: str) -> Iterator[str]:
    """Names of people that the text tells: of home folders, assignments, addresses."""
    for pattern in (_HOME, _USER, _LOCAL_PART):
        for match in pattern.finditer(text):
            name = match[1].strip(".-")
            if is_word(name):
                yield name


def is_word(name: str) -> bool:
    """Whether a name can be sought in other texts without hitting words that mean nothing private."""
    return len(name) >= _SHORTEST_WORD and name.lower() not in _NOBODY and not name.isdigit()
