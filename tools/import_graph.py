"""Draws docs/architecture.svg: which package imports from which.

    python -m tools.import_graph [--check]

With `--check` nothing is written; exit status 1 when the picture is out of date.
"""

from __future__ import annotations

import sys

from tools.house import LAYERS, PACKAGE, ROOT, edges

PICTURE = ROOT / "docs" / "architecture.svg"
_WIDTH, _ROW, _BOX_W, _BOX_H, _TOP = 960, 112, 150, 44, 16
_STYLE = (
    "text{font:600 15px system-ui,sans-serif;fill:#1c2430}"
    "rect{fill:#f4f6f9;stroke:#8a97a8}path{fill:none;stroke:#5b7ba6;stroke-opacity:.55}"
    "#arrow path{fill:#5b7ba6;stroke:none}"
    "@media(prefers-color-scheme:dark){text{fill:#e4e9f0}rect{fill:#1d2530;stroke:#66758a}"
    "path{stroke:#86a9d8}#arrow path{fill:#86a9d8}}"
)


def places() -> dict[str, tuple[float, float]]:
    """Left upper corner of each package's box, in pixels: the highest layer on top."""
    found: dict[str, tuple[float, float]] = {}
    for row, names in enumerate(reversed(LAYERS)):
        gap = (_WIDTH - len(names) * _BOX_W) / (len(names) + 1)
        for column, name in enumerate(names):
            found[name] = (gap + column * (gap + _BOX_W), _TOP + row * _ROW)
    return found


def draw() -> str:
    """The picture."""
    where = places()
    height = _TOP * 2 + _ROW * (len(LAYERS) - 1) + _BOX_H
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img"'
        f' aria-label="Packages of {PACKAGE} and which imports from which">',
        f"<style>{_STYLE}</style>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"'
        ' markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
    ]
    for importer, imported in sorted(edges()):
        parts.append(_arrow(where[importer], where[imported], f"{importer} imports {imported}"))
    for name, (x, y) in where.items():
        parts.append(f'<rect x="{x:.0f}" y="{y}" width="{_BOX_W}" height="{_BOX_H}" rx="8"/>')
        middle = x + _BOX_W / 2
        parts.append(f'<text x="{middle:.0f}" y="{y + 27}" text-anchor="middle">{name}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _arrow(start: tuple[float, float], end: tuple[float, float], title: str) -> str:
    x1, y1 = start[0] + _BOX_W / 2, start[1] + _BOX_H
    x2, y2 = end[0] + _BOX_W / 2, end[1]
    bend = (y2 - y1) / 2
    return (
        f'<path d="M{x1:.0f} {y1}C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2}"'
        f' marker-end="url(#arrow)"><title>{title}</title></path>'
    )


def main() -> int:
    """Write the picture, or check it."""
    svg = draw()
    if "--check" in sys.argv[1:]:
        return 0 if PICTURE.is_file() and PICTURE.read_text(encoding="utf-8") == svg else 1
    PICTURE.write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
