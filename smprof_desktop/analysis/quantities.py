"""Times, counts and sizes as text that people read. Plain text, the same everywhere in reports and details."""

from __future__ import annotations

_TIMES = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))
_SIZES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def time_text(time_ns: int | None) -> str:
    """A duration in the unit that suits it, three decimals: `1.234 ms`; `–` where there is none."""
    if time_ns is None:
        return "–"
    for unit_ns, unit in _TIMES:
        if abs(time_ns) >= unit_ns - unit_ns // 2_000_000:  # what would round up to 1,000.000 of the unit below
            return f"{time_ns / unit_ns:,.3f} {unit}"
    return f"{time_ns} ns"


def exact_time_text(time_ns: int) -> str:
    """A duration in a readable unit with the exact ns beside it: `1.234 ms (1,234,400 ns)`."""
    readable = time_text(time_ns)
    return readable if abs(time_ns) < 1_000 else f"{readable} ({time_ns:,} ns)"


def share_text(part: float, whole: float) -> str:
    """A part of a whole in percent; `–` where the whole is nothing. What is not all is never called 100 %."""
    if whole <= 0:
        return "–"
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "< 0.1 %"
    if 99.9 < percent < 100:
        return "> 99.9 %"
    return f"{percent:.1f} %"


def size_text(size_bytes: int) -> str:
    """Bytes in a readable unit with the exact count beside it: `4.00 KiB (4,096 bytes)`."""
    for unit_bytes, unit in _SIZES:
        if abs(size_bytes) >= unit_bytes:
            return f"{size_bytes / unit_bytes:,.2f} {unit} ({size_bytes:,} bytes)"
    return f"{size_bytes:,} bytes"


def bytes_text(size_bytes: int) -> str:
    """Bytes in the unit that suits them: `4.00 KiB`."""
    return size_text(size_bytes).partition(" (")[0]


def elide_middle(text: str, width: int) -> str:
    """`text` within `width` characters, its middle replaced by one `…`; line breaks and controls become spaces.

    A kernel's name begins with what it is and ends with what it is for: the middle is what can be spared.
    """
    text = "".join(character if character.isprintable() else " " for character in text)
    if len(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    tail = (width - 1) // 2
    return text[: width - 1 - tail] + "…" + (text[len(text) - tail :] if tail else "")
