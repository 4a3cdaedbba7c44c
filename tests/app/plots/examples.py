"""One of each plot, with the names that a test gives, and the same with nothing to show."""

from collections.abc import Callable

from app.plots.category_map import Place, plot_category_map
from app.plots.matrix import Count, plot_matrix
from app.plots.methods import Estimate, Method, plot_methods
from app.plots.over_time import Course, plot_over_time
from app.plots.posterior import plot_posterior
from app.plots.sizes import Size, plot_sizes
from app.plots.svg import Plot
from app.plots.topics import CategoryRow, TopicColumn, plot_topics
from app.plots.trace import Line, Quantity, plot_trace
from app.plots.tree import Node, plot_tree
from app.plots.word_bars import plot_word_bars

NAN, INFINITY = float("nan"), float("inf")


def trace(name: str) -> Plot:
    """Two chains."""
    return plot_trace([Quantity(name, [Line(0, [1, 2, 3], [2, 3, 3]), Line(1, [1, 2, 3], [4, 4, 3])])], 1)


def posterior(name: str) -> Plot:
    """Two numbers; it shows no name."""
    return plot_posterior([(4, 0.75), (5, 0.25)], (4, 5), 4)


def sizes(name: str) -> Plot:
    """A known category and a new one."""
    return plot_sizes([Size(name, True, 118, (104, 132)), Size(f"{name} too", False, 203)])


def tree(name: str) -> Plot:
    """A tree of three leaves, the first a category."""
    nodes = [
        Node(0, 4, 6, 120, 0.9, ["plasma"]),
        Node(1, 3, 7, 80, 0.9, [name, "lens"]),
        Node(2, 3, 7, 40, None, ["river"]),
        Node(3, 4, 7, 120, 0.7, [name]),
        Node(4, None, None, 240, 0.2, ["plasma"]),
    ]
    return plot_tree(nodes, {6: name, 7: "new 2"}, cut=2)


def category_map(name: str) -> Plot:
    """Two categories."""
    return plot_category_map([Place(name, True, 118, 0.0, 1.0), Place(f"{name} too", False, 203, 1.0, 0.5)])


def over_time(name: str) -> Plot:
    """Two categories in three months."""
    return plot_over_time(["2024-01", "2024-03"], [Course(name, [3, 4]), Course("b", [0, 9])])


def matrix(name: str) -> Plot:
    """Two labels."""
    return plot_matrix([Count(name, True, 0, name, True, 9), Count("b", False, 1, f"new 1: {name}", False, 4)])


def topics(name: str) -> Plot:
    """Two topics."""
    return plot_topics([CategoryRow(name, False, {0: 0.6, 1: 0.2})], [TopicColumn(0, [name]), TopicColumn(1, ["b"])])


def word_bars(name: str) -> Plot:
    """Two words."""
    return plot_word_bars([(name, 9), ("b", 3)], False, f"Top words of {name}", "words-6")


def methods(name: str) -> Plot:
    """Two methods."""
    scores = {"NMI": Estimate(0.8, 0.02, 10), "ARI": Estimate(0.7, 0.05, 10)}
    return plot_methods([Method(name, scores), Method("b", {"NMI": Estimate(0.6, None, 1)})])


EXAMPLES: list[Callable[[str], Plot]] = [
    trace, posterior, sizes, tree, category_map, over_time, matrix, topics, word_bars, methods
]  # fmt: skip

NOTHING: dict[str, Callable[[], Plot]] = {
    "no quantity": lambda: plot_trace([]),
    "no draw": lambda: plot_trace([Quantity("n", [Line(0, [], [])])], 100, 1000),
    "only NaN": lambda: plot_trace([Quantity("n", [Line(0, [1, 2], [NAN, None])])]),
    "no frequency": lambda: plot_posterior([], None, None),
    "frequencies of NaN": lambda: plot_posterior([(4, NAN), (5, 0.0)], (4, 5), 4),
    "no category": lambda: plot_sizes([]),
    "a size of NaN": lambda: plot_sizes([Size("a", True, NAN)]),
    "no node": lambda: plot_tree([], {}),
    "no place": lambda: plot_category_map([]),
    "places of NaN": lambda: plot_category_map([Place("a", True, 3, NAN, 1.0), Place("b", True, 3, None, 1.0)]),
    "no period": lambda: plot_over_time([], [Course("a", [])]),
    "no course": lambda: plot_over_time(["2024"], []),
    "no cell": lambda: plot_matrix([]),
    "empty cells": lambda: plot_matrix([Count("a", True, 0, "a", True, 0)]),
    "no method": lambda: plot_methods([]),
    "no score": lambda: plot_methods([Method("a", {"NMI": Estimate(None, None, 0), "ARI": Estimate(NAN, NAN, 3)})]),
    "no topic": lambda: plot_topics([CategoryRow("a", True, {})], []),
    "no word": lambda: plot_word_bars([], True, "Top words", "words"),
    "words of NaN": lambda: plot_word_bars([("a", NAN)], True, "Top words", "words"),
}

# What is little, equal or broken, but something to show.
LITTLE: dict[str, Callable[[], Plot]] = {
    "one sweep": lambda: plot_trace([Quantity("n", [Line(0, [1], [4])])]),
    "equal values": lambda: plot_trace([Quantity("n", [Line(0, [1, 2], [0.1, 0.1]), Line(1, [], [])])]),
    "equal zeros": lambda: plot_trace([Quantity("n", [Line(0, [1, 2], [0.0, 1e-320])])]),
    "a hole": lambda: plot_trace([Quantity("n", [Line(0, [1, 2, 3], [1.0, INFINITY, 3e300])])], 10**9),
    "values far out": lambda: plot_trace([Quantity("n", [Line(0, [1, 2], [-1e289, 1e289])])]),
    "one number": lambda: plot_posterior([(0, 1.0)], (0, 0), 0),
    "numbers far apart": lambda: plot_posterior([(0, 0.5), (10**7, 0.5)], (0, 10**7), 12),
    "empty categories": lambda: plot_sizes([Size("a", True, 0, (0, 0)), Size("", False, 0, (NAN, 3))]),
    "one leaf": lambda: plot_tree([Node(0, None, 6, 1, None, [])], {}, cut=5),
    "joined never": lambda: plot_tree([Node(0, 2, 0, 1, NAN, []), Node(1, 2, 1, 1, 2.0, []),
                                       Node(2, None, None, 2, NAN, [])], {}, cut=0),
    "one place": lambda: plot_category_map([Place("a", True, 0, 7.0, 7.0)]),
    "all at one place": lambda: plot_category_map([Place("a", True, 3, 7.0, 7.0)] * 300),
    "one period": lambda: plot_over_time(["2024"], [Course("a", [3])], shares=True),
    "no documents": lambda: plot_over_time(["2024-W52", "2025-W02"], [Course("a", [0, NAN])], shares=True),
    "no dates": lambda: plot_over_time(["", "9999", "9999-12-31", "x"], [Course("a", [1, 2, 3, 4])]),
    "one cell": lambda: plot_matrix([Count("", True, 0, "", True, 1)]),
    "one method": lambda: plot_methods([Method("", {"NMI": Estimate(0.0, None, 1)})]),
    "errors of NaN": lambda: plot_methods([Method("a", {"NMI": Estimate(1.0, NAN, 2), "F1": Estimate(NAN, 0, 2)})]),
    "weights of nothing": lambda: plot_topics([CategoryRow("a", True, {0: 0.0, 1: NAN})], [TopicColumn(0, [])]),
    "words without documents": lambda: plot_word_bars([("a", 0)], True, "Top words", "words"),
}  # fmt: skip
