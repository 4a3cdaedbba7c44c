"""The topics that categories share: what each category consists of."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from app.plots.heat import Head, Shade, heat_table
from app.plots.scales import counted, is_drawable, percent, written
from app.plots.svg import Cell, Plot, document, without_numbers

COLUMNS = ["category", "topic", "weight"]
MOST_CATEGORIES, MOST_TOPICS = 40, 20


class CategoryRow(NamedTuple):
    """A category with the weights of its topics."""

    name: str
    known: bool
    weights: Mapping[int, float]


class TopicColumn(NamedTuple):
    """A topic and its words, the most characteristic first."""

    topic: int
    words: Sequence[str]


def plot_topics(categories: Sequence[CategoryRow], topics: Sequence[TopicColumn], name: str = "topics") -> Plot:
    """Categories by row, topics by column, both in their given order; a cell is as dark as the weight."""
    heading = "Topics that the categories share"
    rows = [each for each in categories if any(is_drawable(weight) for weight in each.weights.values())]
    if not rows or not topics:
        return without_numbers(name, heading, "There are no topics to show.", COLUMNS)
    drawn, columns = rows[:MOST_CATEGORIES], topics[:MOST_TOPICS]
    row_heads = [Head(row.name, "p-text" if row.known else "p-text p-newname") for row in drawn]
    column_heads = [Head(f"{topic.topic}: {', '.join(topic.words[:2])}") for topic in columns]
    shades = {
        (i, j): Shade(
            weight,
            written(100 * weight) if weight >= 0.005 else "",
            f"{row.name}: {percent(weight, 1)} {', '.join(topic.words[:6])}",
        )
        for i, row in enumerate(drawn)
        for j, topic in enumerate(columns)
        if is_drawable(weight := row.weights.get(topic.topic)) and weight is not None
    }
    parts, height = heat_table(row_heads, column_heads, shades, "category, %", "topic")
    table: list[list[Cell]] = [
        [row.name, topic.topic, row.weights[topic.topic]]
        for row in rows
        for topic in topics
        if is_drawable(row.weights.get(topic.topic))
    ]
    said = described(len(rows), len(topics), len(drawn), len(columns))
    return Plot(document(name, heading, said, height, parts), COLUMNS, table)


def described(n_categories: int, n_topics: int, n_rows: int, n_columns: int) -> str:
    """The table in sentences."""
    categories = counted(n_categories, "category", "categories")
    said = f"{categories} by row, {counted(n_topics, 'topic')} by column; each cell is as dark as the topic's weight."
    if n_rows < n_categories or n_columns < n_topics:
        said += f" Drawn are the first {n_rows} categories and {n_columns} topics."
    return said
