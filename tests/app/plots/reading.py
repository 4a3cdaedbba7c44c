"""What an SVG says, read by a parser of XML."""

import re
import xml.etree.ElementTree as ET

from app.plots.svg import Plot

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
MOVE = re.compile(r"([MLHVhvz])([^MLHVhvz]*)")


def parsed(plot: Plot) -> ET.Element:
    """The root of a plot."""
    return ET.fromstring(plot.svg)


def of_class(root: ET.Element, *classes: str, tag: str | None = None) -> list[ET.Element]:
    """The elements with all of these classes, in their order."""
    return [
        each for each in root.iter() if set(classes) <= set(each.get("class", "").split()) and tag in (None, each.tag)
    ]


def texts(root: ET.Element) -> list[str]:
    """The lines of text."""
    return [each.text or "" for each in root.iter("text")]


def hint(element: ET.Element) -> str:
    """What is shown where the pointer rests on an element."""
    return element.findtext("title") or ""


def number(element: ET.Element, name: str) -> float:
    """A number among the attributes."""
    return float(element.attrib[name])


def numbers(written: str) -> list[float]:
    """All numbers in a text."""
    return [float(each) for each in NUMBER.findall(written)]


def corners(path: str) -> list[list[tuple[float, float]]]:
    """The corners of each stroke of a path of straight moves."""
    strokes: list[list[tuple[float, float]]] = []
    x = y = 0.0
    for command, given in MOVE.findall(path):
        values = numbers(given)
        if command in "ML":
            x, y = values
        elif command == "H":
            x = values[0]
        elif command == "V":
            y = values[0]
        elif command == "h":
            x += values[0]
        elif command == "v":
            y += values[0]
        if command == "M":
            strokes.append([])
        if command != "z":
            strokes[-1].append((round(x, 1), round(y, 1)))
    return strokes
