"""The replay of a dated corpus: what arrives when, and what counts as noticed."""

import gzip
import json
from pathlib import Path

from benchmarks import replay
from benchmarks.replay import FIRST_LATE_DAY, FIRST_LATE_PART, N_EARLY, N_LATE

DAYS = [f"1998-{month:02}-{day:02}" for month in range(1, 7) for day in range(1, 29, 3)]


def test_the_fifth_part_begins_with_the_day_of_the_late_stories(tmp_path: Path) -> None:
    definition = {"dataset": "d", "known": ["a"], "new": ["b"], "train_fraction": 0.5}
    (tmp_path / "problems.json").write_text(json.dumps({replay.PROBLEM: definition}))
    rows = [
        {"id": f"{day}-{label}", "date": day, "label": label, "counts": {"3": 2}} for day in DAYS for label in "abc"
    ]
    with gzip.open(tmp_path / "d.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))
    stories = replay.read(tmp_path, 0)
    parts = replay.parts_of(stories.documents)
    assert [each["key"] for part in parts for each in part] == [f"{day}-{label}" for day in DAYS for label in "ab"]
    assert len(parts) == N_EARLY + N_LATE
    assert parts[FIRST_LATE_PART - 2][-1]["date"] < FIRST_LATE_DAY <= parts[FIRST_LATE_PART - 1][0]["date"]
    assert {each["label"] for each in stories.documents} == {"a", None}
    assert all(each["label"] is None for each in stories.documents if each["story"] == "b")
    assert {each["text"] for each in stories.documents} == {"w3 w3"}


def test_a_story_is_noticed_if_a_new_category_has_most_of_it_and_little_else() -> None:
    categories = {0: {"known": True}, 1: {"known": False}}
    of_story = [("story", 1)] * 6
    assert replay.is_noticed("story", of_story + [("other", 0)] * 9, categories)
    assert replay.is_noticed("story", [*of_story, ("story", 0), ("other", 1)], categories)
    assert not replay.is_noticed("story", of_story + [("story", 0)] * 6, categories), "half of it is elsewhere"
    assert not replay.is_noticed("story", of_story + [("other", 1)] * 7, categories), "it has more of others"
    assert not replay.is_noticed("story", [("story", 0)] * 6, categories), "a known category is no news"
