"""The benchmark of sources: a whole job over a corpus whose sources look like categories."""

import random

from benchmarks.sources import answer, case_of, from_template
from sampler.numerics.threads import Threads


def test_a_job_that_knows_sources_finds_the_categories_that_frames_hide() -> None:
    dice = random.Random(3)
    categories = [f"category{k}" for k in range(4) for _ in range(100)]
    source = [dice.randrange(2) for _ in categories]
    texts = [
        " ".join(f"{category}word{dice.randrange(60)}" for _ in range(12)) + " " + from_template(s, dice)
        for category, s in zip(categories, source, strict=True)
    ]
    case = case_of(texts, categories, ["category0", "category1"], source, 0.4, dice)
    with Threads() as threads:
        without, told = (answer(case, 0, threads, has_sources=has_sources) for has_sources in (False, True))
    assert told["NMI"] > 0.9 and told["K"] == 4
    assert without["NMI"] < told["NMI"] - 0.1, "else the frames would hide nothing"
    assert told["counting_less"] > 0.2
