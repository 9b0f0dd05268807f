"""Colours: one per name, the same in every run and every profile, and the two themes."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass

Rgb = tuple[int, int, int]

HUES = (25, 60, 95, 145, 185, 225, 260, 305, 350)
SHADES = 2
NAME_COLOURS = len(HUES) * SHADES
"""Colour codes 0 to NAME_COLOURS - 1 are for names. Two shades of each hue keep neighbours apart also where
hues look alike to the colour-blind."""

CURVE, COUNTER, DENSITY, SYNC, DIMMED = range(NAME_COLOURS, NAME_COLOURS + 5)
"""Colour codes with a meaning of their own: utilization, counters, density of a collapsed group, synchronisations, and
what a search has not found."""


def colour_of(name: str) -> int:
    """The colour code of a name: a checksum of its UTF-8 bytes, so that it never depends on the run or the machine."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) % NAME_COLOURS


def oklch(lightness: float, chroma: float, hue: float) -> Rgb:
    """sRGB of an OKLCH colour, clipped to the gamut.

    Source: B. Ottosson, "A perceptual color space for image processing", 2020.

    Equal lightness there looks equally bright, which is what keeps a dense timeline calm and labels readable.
    """
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        _encoded(4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short),
        _encoded(-1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short),
        _encoded(-0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short),
    )


def contrast(first: Rgb, second: Rgb) -> float:
    """Contrast ratio of two colours, 1 to 21, as WCAG 2 defines it."""
    dark, light = sorted((_luminance(first), _luminance(second)))
    return (light + 0.05) / (dark + 0.05)


@dataclass(frozen=True)
class Theme:
    """The colours of a timeline. `fills` is indexed by colour code; `ink` is what labels on them are written in."""

    name: str
    background: Rgb
    stripe: Rgb
    """Behind every other lane."""
    group: Rgb
    """Behind groups."""
    header: Rgb
    focus: Rgb
    """Behind the header of the lane that the keyboard is on."""
    text: Rgb
    muted: Rgb
    grid: Rgb
    border: Rgb
    ink: Rgb
    selection: Rgb
    arrow: Rgb
    warning: Rgb
    """Of what is recorded wrongly or missing: a link that runs backwards, one without an end."""
    shade: Rgb
    """Over what lies outside the profile or the visible range."""
    mark: Rgb
    mark_ink: Rgb
    area: Rgb
    area_ink: Rgb
    steps: tuple[Rgb, Rgb, Rgb]
    """Of steps in turn, and of several that are drawn as one."""
    fills: tuple[Rgb, ...]


def _encoded(linear: float) -> int:
    linear = min(max(linear, 0.0), 1.0)
    return round(255 * (12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055))


def _luminance(colour: Rgb) -> float:
    channels = (channel / 255 for channel in colour)
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _fills(shades: tuple[float, ...], chroma: float, special: tuple[Rgb, ...]) -> tuple[Rgb, ...]:
    return (*(oklch(shade, chroma, hue) for hue in HUES for shade in shades), *special)


LIGHT = Theme(
    name="light",
    background=(255, 255, 255),
    stripe=(250, 251, 252),
    group=(240, 243, 246),
    header=(247, 248, 250),
    focus=(221, 232, 247),
    text=(30, 35, 42),
    muted=(98, 106, 118),
    grid=(229, 232, 237),
    border=(208, 213, 220),
    ink=(22, 26, 32),
    selection=(16, 20, 26),
    arrow=(0, 112, 140),
    warning=(168, 54, 0),
    shade=(120, 130, 145),
    mark=(176, 74, 0),
    mark_ink=(255, 255, 255),
    area=(28, 98, 200),
    area_ink=(255, 255, 255),
    steps=((222, 229, 239), (203, 214, 230), (212, 216, 222)),
    fills=_fills(
        (0.845, 0.755),
        0.095,
        ((63, 131, 196), (112, 128, 150), (108, 140, 178), (232, 186, 120), (226, 230, 236)),
    ),
)
DARK = Theme(
    name="dark",
    background=(24, 27, 32),
    stripe=(27, 30, 36),
    group=(34, 38, 45),
    header=(30, 33, 39),
    focus=(44, 58, 80),
    text=(222, 226, 232),
    muted=(146, 154, 166),
    grid=(42, 46, 54),
    border=(58, 63, 72),
    ink=(248, 249, 251),
    selection=(255, 255, 255),
    arrow=(64, 224, 240),
    warning=(255, 158, 74),
    shade=(8, 9, 11),
    mark=(245, 166, 66),
    mark_ink=(24, 20, 12),
    area=(122, 176, 255),
    area_ink=(14, 22, 36),
    steps=((48, 56, 70), (61, 71, 89), (52, 56, 63)),
    fills=_fills((0.515, 0.44), 0.095, ((70, 140, 205), (120, 134, 154), (92, 128, 172), (134, 98, 34), (44, 49, 58))),
)
THEMES = {theme.name: theme for theme in (LIGHT, DARK)}
