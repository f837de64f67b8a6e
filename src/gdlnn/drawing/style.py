"""The style sheet of pictures: unchanged in pages, with the colours of both themes filled in in SVG files."""

from __future__ import annotations

import re
from functools import cache

from gdlnn.drawing.pages import page_file

SHEET = "gdlnn.drawing/drawing.css"
_BLOCK = re.compile(r":root\s*\{([^}]*)\}")
_RULE = re.compile(r"^(\.pic[^{,]*)\{([^}]*)\}", re.MULTILINE)
_CLASS = re.compile(r"class='([^']*)'")


@cache
def palettes() -> tuple[dict[str, str], dict[str, str]]:
    """Return the colours of pictures by name, in the light and in the dark theme."""
    light, dark = (
        dict(re.findall(r"--pic-([\w-]+):\s*(#\w+)", block)) for block in _BLOCK.findall(page_file(SHEET))
    )
    return light, dark


@cache
def _rules() -> tuple[tuple[str, str], ...]:
    return tuple((selector.strip(), body.strip()) for selector, body in _RULE.findall(page_file(SHEET)))


def own_style(body: str) -> str:
    """Return the style element of a picture in a file of its own: only the rules that it needs.

    Colours are filled in, since programs other than browsers know no CSS variables.
    """
    used = {name for names in _CLASS.findall(body) for name in names.split()} | {"pic"}
    needed = [
        (selector, rule) for selector, rule in _rules() if set(re.findall(r"\.([\w-]+)", selector)) <= used
    ]
    light, dark = palettes()
    plain = "".join(f"{selector}{{{_filled(rule, light)}}}" for selector, rule in needed)
    other = "".join(
        f"{selector}{{{_filled(coloured, dark)}}}"
        for selector, rule in needed
        if (coloured := ";".join(part for part in rule.split(";") if "var(" in part))
    )
    return f"<style>{plain}@media screen and (prefers-color-scheme:dark){{{other}}}</style>"


def _filled(rule: str, colours: dict[str, str]) -> str:
    text = re.sub(r"var\(--pic-([\w-]+)\)", lambda found: colours[found[1]], rule)
    return re.sub(r"\s*([:;,])\s*", r"\1", text).strip("; ")
