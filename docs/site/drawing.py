# SPDX-License-Identifier: BSD-3-Clause
"""A drawing of boxes, lines and text, as SVG. Lengths are pixels; y grows downward."""

from __future__ import annotations

from html import escape

FONT = "font-family='Helvetica, Arial, sans-serif'"
WIDTH = 0.55
"""Of a letter, in parts of the font's size; for estimates only."""


class Drawing:
    """Collects shapes. What is drawn later lies above."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self.shapes: list[str] = []

    def box(self, x: float, y: float, w: float, h: float, fill: str = "#fff", stroke: str = "#334", dash: bool = False) -> None:
        """A rectangle."""
        dashes = " stroke-dasharray='5 4'" if dash else ""
        self.shapes.append(
            f"<rect x='{x:g}' y='{y:g}' width='{w:g}' height='{h:g}' rx='4' fill='{fill}' stroke='{stroke}'{dashes}/>"
        )

    def text(
        self, x: float, y: float, words: str, size: float = 13, anchor: str = "middle", bold: bool = False, colour: str = "#112"
    ) -> None:
        """Lines of text, the first with its base line at y."""
        weight = " font-weight='bold'" if bold else ""
        for i, line in enumerate(words.split("\n")):
            self.shapes.append(
                f"<text x='{x:g}' y='{y + i * size * 1.25:g}' font-size='{size:g}' text-anchor='{anchor}' fill='{colour}'{weight} "
                f"{FONT}>{escape(line)}</text>"
            )

    def line(
        self, points: list[tuple[float, float]], colour: str = "#334", width: float = 1.5, arrow: str = "end", dash: bool = False
    ) -> None:
        """A line through points. `arrow`: which of its ends have one: end, both or none."""
        heads = {"end": " marker-end='url(#a)'", "both": " marker-end='url(#a)' marker-start='url(#a)'", "none": ""}[arrow]
        dashes = " stroke-dasharray='5 4'" if dash else ""
        at = " ".join(f"{x:g},{y:g}" for x, y in points)
        self.shapes.append(f"<polyline points='{at}' fill='none' stroke='{colour}' stroke-width='{width:g}'{dashes}{heads}/>")

    def labelled(self, x: float, y: float, w: float, h: float, words: str, fill: str = "#fff", size: float = 13) -> None:
        """A box with its words in the middle, the first line in bold."""
        self.box(x, y, w, h, fill)
        first, _, rest = words.partition("\n")
        count = words.count("\n") + 1
        top = y + h / 2 - (count - 1) * size * 0.6 + size * 0.35
        self.text(x + w / 2, top, first, size, bold=True)
        if rest:
            self.text(x + w / 2, top + size * 1.25, rest, size - 1.5)

    def svg(self) -> str:
        """The whole file."""
        w, h = self.width, self.height
        head = (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {w} {h}' width='{w}' height='{h}' role='img'>",
            "<!-- SPDX-License-Identifier: BSD-3-Clause -->",
            f"<title>{escape(self.title)}</title>",
            "<defs><marker id='a' viewBox='0 0 10 10' refX='9' refY='5' markerWidth='7' markerHeight='7'",
            " orient='auto-start-reverse'>",
            "<path d='M0,0 L10,5 L0,10 z' fill='#334'/></marker></defs>",
            f"<rect width='{w}' height='{h}' fill='#fff'/>",
        )
        return "\n".join([*head, *self.shapes, "</svg>", ""])


def sequence(title: str, actors: list[tuple[str, str]], steps: list[tuple[int, int, str]], column: int = 150) -> str:
    """
    Who tells whom what, in order of time. `actors`: name and colour. A step goes from an actor to another; from one to itself it is
    what that one does alone.
    """
    top, row, left = 64, 46, 16
    drawing = Drawing(column * len(actors) + 2 * left, top + row * len(steps) + 20, title)
    at = [left + column * (i + 0.5) for i in range(len(actors))]
    for x, (name, fill) in zip(at, actors, strict=True):
        drawing.line([(x, 52), (x, drawing.height - 8)], "#aab", 1, "none", dash=True)
        drawing.labelled(x - column / 2 + 6, 8, column - 12, 44, name, fill)
    for number, (start, end, words) in enumerate(steps, 1):
        y = top + row * (number - 0.35)
        text = f"{number}. {words}"
        length = max(len(line) for line in text.split("\n")) * 11.5 * WIDTH
        if start == end:
            half = length / 2 + 8
            x = min(max(at[start], half + 4), drawing.width - half - 4)
            drawing.box(x - half, y - 26, 2 * half, 32, "#fffbe8", "#cb8")
            drawing.text(x, y - (12 if "\n" in text else 6), text, 11.5)
            continue
        low, high = sorted((at[start], at[end]))
        middle = min(max((low + high) / 2, length / 2 + 6), drawing.width - length / 2 - 6)
        lines = text.count("\n") + 1
        drawing.box(middle - length / 2 - 2, y - 6 - 14 * lines, length + 4, 14 * lines, "#fff", "none")
        drawing.text(middle, y - 9 - 14 * (lines - 1), text, 11.5)
        drawing.line([(at[start], y), (at[end], y)])
    return drawing.svg()
