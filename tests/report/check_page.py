#!/usr/bin/env python3
"""Checks the structure of a page that Twinlink wrote: check_page.py PAGE...

One file that loads nothing; every picture has a text for those who do not see it and a table of the same numbers.
"""
import json
import re
import sys
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "link", "input", "path", "polygon", "ellipse", "polyline", "line", "rect"}
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class Figure:
    def __init__(self):
        self.title = ""
        self.label = None  # of the picture
        self.pictures = 0
        self.data = None
        self.rows = []


class Page(HTMLParser):
    """Collects what the checks ask for; `faults` holds what is wrong with the tags themselves."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.faults, self.open, self.tags, self.urls, self.metas = [], [], [], [], []
        self.figures, self.files, self.figure, self.cell, self.script = [], {}, None, None, None
        self.title = ""

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.tags.append(tag)
        self.urls += [value for name, value in attributes if name in ("src", "href", "xlink:href", "action", "data")]
        if tag == "meta":
            self.metas.append(values)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "figure":
            self.figure = Figure()
            self.figures.append(self.figure)
        if tag == "canvas" or (tag == "div" and values.get("role") == "img"):
            self.figure.pictures += 1
            self.figure.label = values.get("aria-label")
            if values.get("role") != "img":
                self.faults.append("a canvas without role=img")
        if tag == "tr" and self.figure:
            self.figure.rows.append([])
        if tag in ("td", "th"):
            self.cell = ""
        if tag == "script":
            self.script = (values, "")

    def handle_startendtag(self, tag, attributes):
        self.urls += [value for name, value in attributes if name in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> ends another element, at line {self.getpos()[0]}")
        if tag == "figure":
            self.figure = None
        if tag in ("td", "th"):
            if self.figure:
                self.figure.rows[-1].append(self.cell)
            self.cell = None
        if tag == "script":
            values, text = self.script
            self.script = None
            if values.get("class") == "data":
                self.figure.data = json.loads(text)
            if values.get("class") == "file":
                self.files[values["data-name"]] = json.loads(text)

    def handle_data(self, data):
        if self.script is not None:
            self.script = (self.script[0], self.script[1] + data)
        elif self.cell is not None:
            self.cell += data
        elif self.open and self.open[-1] == "title" and "svg" not in self.open:
            self.title += data
        elif self.open and self.open[-1] == "figcaption":
            self.figure.title += data


def size_of(text):
    found = re.fullmatch(r"([0-9.]+)([KMGT]?)", text)
    return float(found[1]) * UNITS[found[2]] if found else None


def number_of(cell):
    """A cell's number, and half of its last digit; None for a cell that holds none."""
    found = re.match(r"[-+]?[0-9]+(?:\.([0-9]+))?(?=$| )", cell)
    return (float(found[0]), 0.5 * 10 ** -len(found[1] or "")) if found else None


def holds(cell, value):
    number, half = number_of(cell) or (0, -1)
    return abs(number - value) <= half * (1 + 1e-6)


def faults_of_curves(figure):
    """Every point must stand in the table, in its curve's column or row and at its size, and every size be drawn."""
    titles, body, unit = figure.rows[0], figure.rows[1:], figure.data["unit"]
    by_size = titles[0] == "size"
    names = figure.data.get("names", [])
    if names and names != [row[0] for row in body]:
        yield "the table has other names"
    drawn = set()
    for curve in figure.data["curves"]:
        if names:
            cells = {place: row[1] for place, row in enumerate(body)}
        elif by_size:
            column = titles.index(f"{curve['label']} {unit}")
            cells = {size_of(row[0]): row[column] for row in body}
        else:
            row = next(row for row in body if row[0] == curve["label"])
            cells = {size_of(title): cell for title, cell in zip(titles, row)}
        if not curve["points"]:
            yield f"the curve '{curve['label']}' has no point"
        for x, y, low, high in curve["points"]:
            drawn.add(x)
            if not holds(cells.get(x, ""), y):
                yield f"{y} of '{curve['label']}' at {x} is not in the table"
            if low is not None and not low <= y <= high:
                yield f"{y} of '{curve['label']}' at {x} is not between its percentiles"
    sizes = (range(len(names)) if names else [size_of(row[0]) for row in body] if by_size
             else filter(None, map(size_of, titles)))
    for size in set(sizes) - drawn - (set() if names else {0}):
        yield f"size {size} of the table is not drawn"


def faults_of_spans(figure):
    if len(figure.data["spans"]) != len(figure.rows) - 1:
        yield "another number of bars than of rows"
    for row, (label, _, start, end) in zip(figure.rows[1:], figure.data["spans"]):
        if not all(any(holds(cell, time) for cell in row) for time in ([start, end] if start else [end])):
            yield f"the bar '{label}' from {start} to {end} is not in its row: {row}"


def faults_of_explorer(figure):
    """Every row must stand in the table, as far as that goes, and every choice at the beginning be one."""
    axes, rows = figure.data["axes"], figure.data["rows"]
    if figure.rows[0][:len(axes)] != [axis["name"] for axis in axes]:
        yield "its table has not a column for each axis"
    if len(figure.rows) - 1 != min(len(rows), 1000):
        yield f"{len(rows)} rows, and {len(figure.rows) - 1} in the table"
    for cells, (values, numbers) in zip(figure.rows[1:], rows):
        if cells[:len(axes)] != [axis["values"][value] for axis, value in zip(axes, values)]:
            yield f"the table has other values: {cells}"
        if not holds(cells[len(axes)], numbers[0][0]):
            yield f"the table has another time than {numbers[0][0]}: {cells}"
    if not 0 <= figure.data["along"] < len(axes) or figure.data["along"] == figure.data["curves"]:
        yield "its first choice is none"


FAULTS_BY_KIND = {"spans": faults_of_spans, "explorer": faults_of_explorer, "curves": faults_of_curves}


def faults_of(text):
    page = Page()
    page.feed(text)
    page.close()
    yield from page.faults
    yield from (f"<{tag}> has no end" for tag in page.open)
    if not page.title.strip():
        yield "no title"
    if page.tags.count("h1") != 1:
        yield "not one h1"
    for url in page.urls:
        if not url.startswith("#"):
            yield f"it names another file: {url}"
    markup = re.sub(r"<script.*?</script>", "", text, flags=re.S)
    for loads in re.findall(r"url\s*\(|@import|https?://[^\s<\"']*", markup):
        yield f"it may load something: {loads}"
    policy = [meta.get("content", "") for meta in page.metas if meta.get("http-equiv") == "Content-Security-Policy"]
    if len(policy) != 1 or not policy[0].startswith("default-src 'none'"):
        yield "no policy that forbids to load anything"
    if not any(meta.get("name") == "viewport" for meta in page.metas):
        yield "no viewport: it is tiny on a phone"
    for needed in ("prefers-color-scheme: dark", "@media print"):
        if needed not in text:
            yield f"its style lacks {needed}"
    if "canvas" in page.tags and "Chart.js v" not in text:
        yield "Chart.js is not in it"
    for figure in page.figures:
        faults = []
        if not figure.title:
            faults.append("no title")
        if len(figure.rows) < 2 or any(len(row) != len(figure.rows[0]) for row in figure.rows):
            faults.append("no table, or one with holes")
        if figure.pictures and not figure.label:
            faults.append("no text for those who do not see it")
        if figure.data and not faults:
            faults += FAULTS_BY_KIND[figure.data["kind"]](figure)
        yield from (f"figure '{figure.title}': {fault}" for fault in faults)


def parse(text):
    page = Page()
    page.feed(text)
    return page


def main():
    code = 0
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as file:
            for fault in faults_of(file.read()):
                print(f"{name}: {fault}")
                code = 1
    sys.exit(code)


if __name__ == "__main__":
    main()
