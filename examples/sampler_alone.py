"""The sampler without the service: the sample corpus in one process, from texts to categories.

The first run compiles the sampler, for a minute. The paper's topic model makes chains in the same way; its answer is
what one chain kept, `sampler.answers.consensus.consensus_of(corpus, state.tally)`:

    state = lbpl_ntm.start(corpus, Hyperparameters(), seed=1, chain=0)
    draw = lbpl_ntm.sweep(corpus, Hyperparameters(), state)  # some hundred times; then, after each sweep,
    lbpl_ntm.keep(corpus, state)
"""

import csv
import json
from collections import Counter
from pathlib import Path

import numpy as np

from sampler import CalibratedHyperparameters, TextOptions, calibrated, encode
from sampler.answers.consensus import category_words, consensus_of_documents
from sampler.answers.metrics import nmi
from sampler.copies import find_copies, texts_from
from sampler.numerics.threads import Threads

HERE = Path(__file__).parent
SEED, N_SWEEPS, BURN_IN = 1, 100, 20


def main() -> None:
    """Categorize the sample corpus and print what was found."""
    lines = "".join((HERE / f"{name}.ndjson").read_text(encoding="utf-8") for name in ("labeled", "unlabeled"))
    documents = [json.loads(line) for line in lines.splitlines()]
    labels = [document.get("label") for document in documents]
    encoded = encode((document["text"] for document in documents), labels, TextOptions(), find_copies)
    texts = texts_from(encoded.corpus, encoded.copy_of)  # each once
    corpus, vocabulary, names = texts.corpus, encoded.vocabulary, encoded.categories

    constants, threads, draws = CalibratedHyperparameters(), Threads(), []
    calibration = calibrated.calibrate(calibrated.PreparedCorpus(corpus, constants, SEED), threads)
    state = calibrated.start(corpus, constants, calibration, SEED, 0, threads)
    for sweep in range(N_SWEEPS):
        draw = calibrated.sweep(corpus, calibration, state, threads)
        if sweep >= BURN_IN:
            calibrated.keep(corpus, calibration, state)
            draws.append(draw)
    traces = calibrated.traces_of([draws])
    answer = calibrated.conclude_chains(corpus, constants, calibration, [state], traces, threads).consensus
    of_documents = consensus_of_documents(answer, texts)

    for number, n_draws in sorted(Counter(corpus.n_known + draw.n_new for draw in draws).items()):
        print(f"{number:3} categories in {n_draws / len(draws):4.0%} of the draws")
    for category, words in enumerate(category_words(corpus, answer, 5, threads)):
        name = names[category] if category < corpus.n_known else f"new {category + 1 - corpus.n_known}"
        size = np.count_nonzero(of_documents.category == category)
        print(f"{name:24} {size:4} documents: {', '.join(vocabulary[word] for word, _ in words)}")
    with (HERE / "truth.csv").open(encoding="utf-8", newline="") as file:
        truth = {row["key"]: row["label"] for row in csv.DictReader(file)}
    unlabeled = [d for d, label in enumerate(labels) if label is None]
    true = [truth[documents[d]["key"]] for d in unlabeled]
    print(f"NMI with the labels kept back: {nmi(true, of_documents.category[unlabeled]):.3f}")


if __name__ == "__main__":
    main()
