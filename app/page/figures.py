"""The plots of a job: from what the API says to what `app.plots` draws, one function for views, files and reports."""

from collections.abc import Sequence
from math import ceil
from typing import Any

from app.page.api import Api, at_once
from app.plots.category_map import Place, plot_category_map
from app.plots.matrix import Count, plot_matrix
from app.plots.over_time import Course, plot_over_time
from app.plots.posterior import plot_posterior
from app.plots.sizes import Size, plot_sizes
from app.plots.svg import Plot
from app.plots.topics import CategoryRow, TopicColumn, plot_topics
from app.plots.trace import Line, Quantity, plot_trace
from app.plots.tree import Node, plot_tree
from app.plots.word_bars import plot_word_bars

Json = dict[str, Any]

MOST_DRAWS = 40_000  # that a trace is drawn from
MOST_COURSES = 20  # categories over time that have numbers of their own
MOST_ROWS = 40  # categories whose topics are drawn
LARGEST_PAGE = 10_000  # of the trace

# What a draw says, by its name in the trace; all but the first only where the model has it.
QUANTITIES = {
    "n_new_with_documents": "New categories with documents",
    "n_categories": "All categories",
    "log_joint": "Log joint",
    "alpha": "Concentration alpha",
    "gamma": "Concentration gamma",
}


def posterior_of(answer: Json) -> Plot:
    """How many new categories there are, from the answer of `/categories`."""
    frequencies = [(each["n_new"], each["frequency"]) for each in answer["n_new"]["frequencies"]]
    found = answer["new_categories"]
    low, high = found["interval_90"]
    return plot_posterior(frequencies, (low, high), found["number"])


def sizes_of(categories: Sequence[Json]) -> Plot:
    """The documents of categories."""
    return plot_sizes([Size(each["name"], each["known"], each["documents"], interval_of(each)) for each in categories])


def interval_of(category: Json) -> tuple[float, float] | None:
    """Between which numbers the size of a category is, if that is known."""
    interval = category["size_interval_90"]
    return None if interval is None else (interval[0], interval[1])


def tree_of(tree: Json, categories: Sequence[Json], cut: int | None = None) -> Plot:
    """The tree over the new categories, with what a cut leaves of it."""
    nodes = [
        Node(
            node=each["node"],
            parent=each["parent"],
            category=each["category"],
            documents=each["documents"],
            together=each["together"],
            words=[word["word"] for word in each["top_words"]],
        )
        for each in tree["nodes"]
    ]
    names = {each["category"]: each["name"] for each in categories if not each["known"]}
    return plot_tree(nodes, names, tree["categories"] if cut is None else cut)


def words_of(category: Json, name: str) -> Plot:
    """The best words of a category, with the number of its documents that contain them."""
    words = [(each["word"], float(each["documents"])) for each in category["top_words"]]
    return plot_word_bars(words, category["known"], f"Documents of {category['name']} that contain its words", name)


def map_of(categories: Sequence[Json]) -> Plot:
    """Categories by the distance of their words."""
    places = [
        Place(each["name"], each["known"], each["documents"], *place_of(each))
        for each in categories
    ]  # fmt: skip
    return plot_category_map(places)


def place_of(category: Json) -> tuple[float | None, float | None]:
    """Where a category lies; nowhere in jobs from before there was a map."""
    place = category.get("place")
    return (None, None) if place is None else (place["x"], place["y"])


def topics_of(categories: Sequence[Json], topics: Sequence[Json]) -> Plot:
    """The topics that categories share, the heaviest one in any category first; new categories first, too."""
    rows = [
        CategoryRow(each["name"], each["known"], {topic["topic"]: topic["weight"] for topic in each["topics"] or []})
        for each in new_first(categories)[:MOST_ROWS]
    ]
    heaviest = sorted(topics, key=lambda each: -max((row.weights.get(each["topic"], 0.0) for row in rows), default=0.0))
    columns = [TopicColumn(each["topic"], [word["word"] for word in each["top_words"]]) for each in heaviest]
    return plot_topics(rows, columns)


def over_time_of(groups: Json, shares: bool = False) -> Plot:
    """The categories by period, from `/groups?period=`."""
    periods = [group for group in groups["groups"] if group["kind"] == "value"]
    names = {each["category"]: each["name"] for group in periods for each in group["categories"]}
    documents = {category: [0] * len(periods) for category in sorted(names)}
    for i, group in enumerate(periods):
        for each in group["categories"]:
            documents[each["category"]][i] = each["documents"]
    ordered = sorted(documents, key=lambda category: (-sum(documents[category]), category))
    courses = [Course(names[category], documents[category]) for category in ordered]
    named, more = courses[:MOST_COURSES], courses[MOST_COURSES:]
    return plot_over_time([group["value"] for group in periods], named, shares, more=more)


def matrix_of(score: Json) -> Plot:
    """Gold labels beside categories, from `/score`."""
    names = ("label", "label_known", "category", "name", "known", "documents")
    return plot_matrix([Count(**{name: cell[name] for name in names}) for cell in score["confusion"]])


def trace_of(job: Json, draws: Sequence[Json]) -> Plot:
    """What chains went through; of a quantity that the model does not have, nothing."""
    settings = job["settings"]
    chains = sorted({draw["chain"] for draw in draws})
    quantities = []
    for member, name in QUANTITIES.items():
        lines = []
        for chain in chains:
            own = [draw for draw in draws if draw["chain"] == chain]
            lines.append(Line(chain, [draw["sweep"] for draw in own], [draw[member] for draw in own]))
        if any(value is not None for line in lines for value in line.values):
            quantities.append(Quantity(name, lines))
    return plot_trace(quantities, settings["burn_in"], settings["sweeps"])


async def read_draws(api: Api, job: Json) -> list[Json]:
    """The trace of a job; of one with more draws than a plot can show, every n-th sweep. Raises Refused."""
    chains, sweeps = range(job["settings"]["chains"]), job["settings"]["sweeps"]
    limit = min(MOST_DRAWS // len(chains), LARGEST_PAGE)
    params = {"every": max(ceil(sweeps / limit), 1), "limit": limit}
    pages = await at_once(*(api.get(f"/v1/jobs/{job['id']}/trace", {"chain": chain, **params}) for chain in chains))
    return [draw for page in pages for draw in page["draws"]]


def new_first(categories: Sequence[Json]) -> list[Json]:
    """Categories as a reader wants them: the new ones, then the known ones, the largest first."""
    return sorted(categories, key=lambda each: (each["known"], -each["documents"], each["category"]))
