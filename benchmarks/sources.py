"""Do two exports of different origin become two categories? python -m benchmarks.sources --data DIR [--cases NAME ...]

Each case is a sample of documents that come from several sources, answered as one corpus without a word about sources,
and once more with them. One JSON line for each of the two: the scores; `by_source`, the NMI of categories and sources
among the scored documents, and what it is in truth; and how many entries of bags count less than whole.

`mail-and-forum` wraps half of the documents of 20 newsgroups in words of mails' footers, and the other half in those of
a forum; one new category is in mails only. `templates` has four footers, and four frames of a forum, instead of words
at random; in `uneven` most of a category's documents are of one source; in `mails-framed` the forum has no frames; in
`few-mails` one document in 25 is a mail. `clean` is the first sample without frames. `domains` has what is true of
these newsgroups: where their authors wrote from. `two-corpora` are news of the BBC and newsgroups, of which no category
is in both, and in `three-subjects` three are.
"""

import argparse
import gzip
import json
import random
import re
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import problems
from benchmarks.calibrated import HYPERPARAMETERS, N_CHAINS, Run, answer_of, sampled
from benchmarks.problems import Problem
from benchmarks.scoring import score
from sampler.answers import metrics
from sampler.calibrated import chain as calibrated_chain
from sampler.calibrated import steps
from sampler.calibrated.bags import word_bags
from sampler.calibrated.prepared import PreparedCorpus
from sampler.calibrated.sources import Sources, with_sources
from sampler.copies import Texts, texts_from
from sampler.numerics.threads import Threads

KNOWN = ["sci.med", "rec.autos", "comp.graphics", "talk.politics.guns", "rec.sport.hockey", "comp.sys.mac.hardware"]
NEW = ["sci.space", "rec.motorcycles", "soc.religion.christian", "misc.forsale"]
IN_MAILS_ONLY = "soc.religion.christian"
LESS = 0.9
MAIL = (
    "unsubscribe regards sincerely disclaimer confidential recipient attachment forwarded inbox mailbox postmaster "
    "newsletter privileged intended addressee notify sender immediately delete message phone fax office extension "
    "headquarters manager department company registered street suite building floor website blackberry sent best "
    "cheers wishes team"
)
FORUM = (
    "quote posted reply thread member avatar moderator signature joined posts location offline online permalink "
    "report upvote downvote score likes share bookmark topic subforum registered guest views sticky locked pinned "
    "edited username profile badge reputation rank senior junior veteran spoiler bbcode"
)
LENGTHS = (20, 40)  # tokens of boilerplate in a document
FEW = 0.04  # of the documents
N_TEMPLATES, TEMPLATE_WORDS = 4, 10


Frame = Callable[[int, random.Random], str]  # what surrounds a text of a source
SUBJECTS = {
    "bbc": {label: label for label in ("sport", "politics", "tech", "entertainment", "business")},
    "20ng": {
        **dict.fromkeys(("rec.sport.hockey", "rec.sport.baseball"), "sport"),
        **dict.fromkeys(("talk.politics.misc", "talk.politics.mideast"), "politics"),
        **dict.fromkeys(("comp.graphics", "comp.sys.mac.hardware", "comp.windows.x"), "tech"),
        "soc.religion.christian": "religion",
        "sci.med": "medicine",
    },
}


class Case(NamedTuple):
    """A problem whose documents have sources."""

    problem: Problem
    source: Any  # int16[D]

    @property
    def n_sources(self) -> int:
        """S."""
        return int(self.source.max()) + 1


class Asked(NamedTuple):
    """What is asked of a case."""

    data: Path
    n_documents: int
    labeled: float  # share of the documents of known categories that bear a label


class Sample(NamedTuple):
    """Some documents of a data set, in an order of no meaning."""

    texts: list[str]
    categories: list[str]
    headers: list[str]


def main() -> None:
    """Answer the chosen cases."""
    parser = argparse.ArgumentParser(prog="benchmarks.sources", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with data sets")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES), metavar="NAME")
    parser.add_argument("--documents", type=int, default=2_500)
    parser.add_argument("--split", type=int, default=0, help="random choice of documents and of labeled ones")
    parser.add_argument("--labeled", type=float, default=0.4, help="share of the documents of known categories")
    arguments = parser.parse_args()
    for name in arguments.cases:
        case = CASES[name](
            Asked(arguments.data, arguments.documents, arguments.labeled), random.Random(arguments.split)
        )
        for has_sources in (False, True):
            with Threads() as threads:
                line = answer(case, arguments.split, threads, has_sources=has_sources)
            print(
                json.dumps({"case": name, "labeled": arguments.labeled, "with_sources": has_sources, **line}),
                flush=True,
            )


def answer(case: Case, seed: int, threads: Threads, *, has_sources: bool) -> dict[str, Any]:
    """The figures of one job."""
    began, problem = time.process_time(), case.problem
    texts = texts_from(problem.corpus, problem.copy_of)
    prepared = PreparedCorpus(texts.corpus, HYPERPARAMETERS, seed)
    told = {}
    if has_sources:
        sources = Sources(case.source[texts.first], case.n_sources)
        bags = with_sources(word_bags(texts.corpus), sources, HYPERPARAMETERS.sample_size, seed, threads)
        prepared.bags = bags
        told = {"counting_less": 0.0 if bags.weights is None else round(float((bags.weights < LESS).mean()), 3)}
    found = answer_of(run(texts, prepared, threads))
    scored = problem.scored
    source = case.source[scored]
    by_source = (metrics.nmi(source, found.category[scored]), metrics.nmi(source, problem.truth[scored]))
    return {
        **score(problem, found),
        "by_source": [round(each, 3) for each in by_source],
        **told,
        "seconds": round(time.process_time() - began),
    }


def run(texts: Texts, prepared: PreparedCorpus, threads: Threads) -> Run:
    """All steps of a job over a corpus that is prepared."""
    runs = steps.all_atom_runs(prepared, threads)
    done = steps.all_steps(prepared, runs, threads)
    calibration = steps.read_calibration(prepared, done)
    states = [
        calibrated_chain.start(texts.corpus, HYPERPARAMETERS, calibration, prepared.seed, chain, threads)
        for chain in range(N_CHAINS)
    ]
    return sampled(texts, runs, done, calibration, states, threads, {}, time.monotonic)


def newsgroups(data: Path, n_documents: int, dice: random.Random) -> Sample:
    """As many documents of each category, those of known ones first."""
    return drawn(read(data, "20ng", KNOWN + NEW), n_documents, dice)


def read(data: Path, dataset: str, labels: Iterable[str]) -> dict[str, list[dict[str, str]]]:
    """The documents of some labels."""
    held: dict[str, list[dict[str, str]]] = {label: [] for label in labels}
    with gzip.open(data / f"{dataset}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for document in map(json.loads, lines):
            if document["label"] in held:
                held[document["label"]].append(document)
    return held


def drawn(held: dict[str, list[dict[str, str]]], n_documents: int, dice: random.Random) -> Sample:
    """Some documents of each label at random."""
    sample = Sample([], [], [])
    for label, documents in held.items():
        for document in dice.sample(documents, min(n_documents // len(held), len(documents))):
            sample.texts.append(document["text"])
            sample.categories.append(label)
            sample.headers.append(document.get("header", ""))
    return sample


def case_of(texts: list[str], categories: list[str], known: Collection[str], source: list[int], share: float,
    dice: random.Random,
) -> Case:  # fmt: skip
    """The case of texts of some sources, with a share of the known categories' labels."""
    is_labeled = [category in known and dice.random() < share for category in categories]
    posed = problems.pose("sources", texts, categories, is_labeled, has_stop_words=True)
    return Case(posed, np.array(source, np.int16))


def wrapped(frame: Frame, in_mails: Callable[[str], float]) -> Callable[[Asked, random.Random], Case]:
    """The case of newsgroups in frames of two sources; `in_mails` is the share of each category in the first."""

    def make(asked: Asked, dice: random.Random) -> Case:
        sample = newsgroups(asked.data, asked.n_documents, dice)
        source = [int(dice.random() >= in_mails(category)) for category in sample.categories]
        texts = [f"{text}\n{frame(s, dice)}" for text, s in zip(sample.texts, source, strict=True)]
        return case_of(texts, sample.categories, KNOWN, source, asked.labeled, dice)

    return make


def half(category: str) -> float:
    """Of all categories half, but of one all."""
    return 1.0 if category == IN_MAILS_ONLY else 0.5


def uneven(category: str) -> float:
    """Of each category another share."""
    return (0.1, 0.9, 0.3, 0.7)[(KNOWN + NEW).index(category) % 4]


def nothing(source: int, dice: random.Random) -> str:
    """No frame."""
    return ""


def at_random(source: int, dice: random.Random) -> str:
    """Words of a source, each time others."""
    return " ".join(dice.choices((MAIL, FORUM)[source].split(), k=dice.randint(*LENGTHS)))


def from_template(source: int, dice: random.Random) -> str:
    """One of the frames of a source, twice or three times, as answers quote them."""
    words, first = (MAIL, FORUM)[source].split(), TEMPLATE_WORDS * dice.randrange(N_TEMPLATES)
    return " ".join(words[first : first + TEMPLATE_WORDS] * dice.randint(2, 3))


def in_mails_alone(source: int, dice: random.Random) -> str:
    """A frame of the first source; the other has none."""
    return from_template(source, dice) if source == 0 else ""


def domains(asked: Asked, dice: random.Random) -> Case:
    """Newsgroups by the domain of their authors: of universities, of companies, and others."""
    sample = newsgroups(asked.data, asked.n_documents, dice)
    found = [re.search(r"^From:.*?@[\w.-]+\.(\w+)", header, re.MULTILINE) for header in sample.headers]
    source = [{"edu": 0, "com": 1}.get(each.group(1).lower() if each else "", 2) for each in found]
    return case_of(sample.texts, sample.categories, KNOWN, source, asked.labeled, dice)


def two_corpora(asked: Asked, dice: random.Random) -> Case:
    """News of the BBC and newsgroups, each with known and new categories of its own."""
    n_news = asked.n_documents // 3
    news = drawn(read(asked.data, "bbc", ["business", "tech", "entertainment", "politics"]), n_news, dice)
    groups = newsgroups(asked.data, asked.n_documents - n_news, dice)
    source = [0] * len(news.texts) + [1] * len(groups.texts)
    known = ["business", "tech", *KNOWN]
    return case_of(
        news.texts + groups.texts, news.categories + groups.categories, known, source, asked.labeled, dice
    )  # fmt: skip


def three_subjects(asked: Asked, dice: random.Random) -> Case:
    """Sport, politics and technology of both, sport being new, and what only one of them has."""
    texts, categories, source = list[str](), list[str](), list[int]()
    for number, dataset in enumerate(("bbc", "20ng")):
        of_subject: dict[str, list[dict[str, str]]] = {}
        for label, documents in read(asked.data, dataset, SUBJECTS[dataset]).items():
            of_subject.setdefault(SUBJECTS[dataset][label], []).extend(documents)
        sample = drawn(of_subject, asked.n_documents // 2, dice)
        texts += sample.texts
        categories += sample.categories
        source += [number] * len(sample.texts)
    return case_of(texts, categories, ("politics", "tech", "medicine", "business"), source, asked.labeled, dice)


CASES: dict[str, Callable[[Asked, random.Random], Case]] = {
    "clean": wrapped(nothing, half),
    "mail-and-forum": wrapped(at_random, half),
    "templates": wrapped(from_template, half),
    "uneven": wrapped(from_template, uneven),
    "mails-framed": wrapped(in_mails_alone, half),
    "few-mails": wrapped(from_template, lambda category: FEW),
    "domains": domains,
    "two-corpora": two_corpora,
    "three-subjects": three_subjects,
}


if __name__ == "__main__":
    main()
