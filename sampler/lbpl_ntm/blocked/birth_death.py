"""Birth and death: a document opens a category of its own, or gives it up, by Metropolis-Hastings.

A step of the blocked sampler after the documents', in the notation of `split_merge`. A document that is one table, all
its tokens in one category, can leave for a new category whose theta is integrated out. The documents' step cannot do
that: there a new category has a theta of the prior, which fits no document.

The state is x = (z, theta, phi, b), with topics summed out, and the tables t. Documents are visited one after another.
Which ones are does not depend on the state, but that a document is one table is asked of it; no move here changes
that. All counts m are without the document's own table, P_k is the product of M[w, k] over its tokens, w its words.

**Birth**, if another table serves the document's category A:

1. Topics y are proposed one after another, token by token, n_l tokens before i having topic l (Liu 1996):

       q(y_i = l) = (zeta + n_l) phi_lw / s_i,   s_i = Σ_l (zeta + n_l) phi_lw,   W = Π_i s_i / (L zeta + i).

   As theta is integrated out, p(y, w | phi) = Π_i (zeta + n_l) phi_lw / (L zeta + i): W is p(y, w | phi) / q(y).
2. Theta of the new category is proposed from Dir(zeta + n), and its share of A's stick from Beta(1, m_A).
3. Accept with probability min(1, r), where r = gamma W / Σ_k m_k P_k.

**Death**, if no other table serves the document's category A, and A is new:

1. Topics y are drawn from their conditional given theta_A, and W is computed from them.
2. The category B to join is proposed with probability m_B P_B / Σ_k m_k P_k; its stick takes A's in.
3. Accept with probability min(1, 1 / r). Theta_A is dropped, and A's slot is unused.

**Why it is exact.** Let x' be x after a birth. A death at x' is computed with y, of which p(y | w, theta, phi) is the
law that it is drawn from, so the pair (x', y) has the density of x' times that. The part of it that is not in x is

    p(theta) Π_i theta_l phi_lw  =  p(y, w | phi) p(theta | y),   p(theta | y) = Dir(theta; zeta + n),

and x has P_A in its place. Sticks and tables bring gamma b^(1 - 1) (c - b)^(m_A - 1) / c^m_A, with c the stick of
A before and b the share of the new category: gamma / m_A times the density of b under c Beta(1, m_A). Hence

    p(x', y) / p(x)  =  gamma / m_A  Beta(b / c) / c  p(y, w | phi) p(theta | y) / P_A.

The birth is proposed with density q(y) p(theta | y) Beta(b / c) / c; the death that undoes it with probability
m_A P_A / Σ_k m_k P_k, where counts and P are those of the birth, as neither the document's table nor the new category
is among them. The quotient of the two flows is r. A given birth and its death are each other's only way back, so
balance is held move by move, for each document by itself; what is drawn beside x and t is forgotten.

The slots never run short, or a full house would forbid births: `visit` stops where none is unused, to be called again
from there with more. Otherwise whether a birth is possible would depend on how many slots a sweep began with.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import NO_CATEGORY, Array
from sampler.lbpl_ntm.assignments import UNBORN
from sampler.lbpl_ntm.blocked.categories import draw_category, unused_slot
from sampler.lbpl_ntm.blocked.parts import LARGE
from sampler.lbpl_ntm.blocked.whole_documents import move_words, weigh_document_exactly
from sampler.numerics import variates
from sampler.numerics.streams import branch, uniform
from sampler.numerics.threads import is_raised

# Streams of a visit.
TOPICS_OF_DOCUMENT, SHARE, THETA = range(3)


class BirthScratch(NamedTuple):
    """What visits write on."""

    sums: Array  # float32[1, S], log P_k
    chances: Array  # float64[S], m_k P_k over the largest
    inverse: Array  # float64[L], over each topic's norm, 0 of a topic without a word
    pull: Array  # float64[L], (zeta + n_l) over the topic's norm
    topics: Array  # uint16[n], of a document's tokens


@njit(cache=True, nogil=True, error_model="numpy")
def visit(documents, categories, scores, given, share, key, start, stop):
    """Propose births and deaths to the documents from `start` on, in place; return where to go on, U at the end.

    A document is visited if it is one table and with probability `share`. What changes are the documents' placements;
    category_word, category_tables and log_seats of the counts, not their topics; stick, mixture and chance; of a new
    category the scores and its number. A category that died leaves its slot unused. Gives up when `stop` is raised.
    O(n (S + L_w)) time for a document of n words that have L_w topics; O(V L_w) for a birth.
    """
    bags, tables, stick = documents.bags, categories.counts.category_tables, categories.drawn.stick
    at = birth_scratch(categories.norm, stick.size, documents.sizes.harmonic.size)
    unused = unused_slot(tables, stick, categories.n_known)
    for u in range(start, bags.document.size):
        document_key = branch(key, bags.document[u])
        if not documents.one_table[u] or uniform(document_key, 0) >= share:
            continue
        if is_raised(stop):
            return bags.document.size
        if unused == NO_CATEGORY:
            return u
        destination = propose_home(documents, categories, scores, given, u, unused, document_key, at)
        if destination != NO_CATEGORY:
            change_home(documents, categories, scores, given.zeta, u, destination, document_key, at)
            unused = unused_slot(tables, stick, categories.n_known)
    return bags.document.size


@njit(cache=True, nogil=True, error_model="numpy")
def birth_scratch(norm, n_slots, longest):
    """Scratch for documents of less than so many tokens."""
    inverse = np.zeros(norm.size)
    for topic in range(norm.size):
        if norm[topic] > 0.0:  # else the topic has no word
            inverse[topic] = 1.0 / norm[topic]
    sums, chances = np.empty((1, n_slots), np.float32), np.empty(n_slots)
    return BirthScratch(sums, chances, inverse, np.empty(norm.size), np.empty(longest, np.uint16))


@njit(cache=True, nogil=True, error_model="numpy")
def propose_home(documents, categories, scores, given, u, unused, key, at):
    """The category that a document goes to: `unused` at a birth, another at a death, NO_CATEGORY if neither happens.

    Leaves the topics of its tokens in `at.topics`.
    """
    bags, drawn, tables = documents.bags, categories.drawn, categories.counts.category_tables
    source = np.int64(documents.placements.whole[u])
    dies = tables[source] == 1
    tables[source] -= 1
    log_total = weigh_served(bags, scores.score, u, tables, at.sums, at.chances)
    tables[source] += 1
    topics_key = branch(key, TOPICS_OF_DOCUMENT)
    if dies:
        draw_document_topics(bags, drawn, u, source, topics_key, at.topics)
    at.pull[:] = given.zeta * at.inverse
    log_evidence = impute(bags, drawn, scores.fresh, u, given.zeta, dies, topics_key, at)
    log_ratio = math.log(given.gamma) + log_evidence - log_total
    if math.log(uniform(key, 1)) < (-log_ratio if dies else log_ratio):
        return choose_served(at.chances, uniform(key, 2)) if dies else unused
    return NO_CATEGORY


@njit(cache=True, nogil=True, error_model="numpy")
def change_home(documents, categories, scores, zeta, u, destination, key, at):
    """Move a document to the category that was proposed, and draw or drop what belongs to the one that is its own."""
    bags, counts, drawn = documents.bags, categories.counts, categories.drawn
    source, tables = np.int64(documents.placements.whole[u]), counts.category_tables
    n = bags.first_token[u + 1] - bags.first_token[u]
    tables[source] -= 1
    if tables[source] == 0:
        drawn.stick[destination] += drawn.stick[source]
        drawn.stick[source] = 0.0
    else:
        part_stick(drawn.stick, source, destination, tables[source], branch(key, SHARE))
        open_new_category(categories, scores, destination, at.topics[:n], zeta, branch(key, THETA))
        categories.numbers[destination] = UNBORN
    move_words(bags, u, source, destination, counts.category_word)
    documents.placements.whole[u] = destination
    tables[destination] += 1
    log_seats = documents.sizes.log_seats[n]
    counts.log_seats[source] -= log_seats
    counts.log_seats[destination] += log_seats


@njit(cache=True, nogil=True, error_model="numpy")
def weigh_served(bags, score, u, category_tables, sums, chances):
    """Write m_k P_k of each category over the largest, float64[S]; return the logarithm of their sum.

    P is over what the words' `fresh` say, as their scores are; -inf if no category is served.
    """
    weigh_document_exactly(bags, score, np.zeros_like(sums), u, sums)
    highest, total = -np.inf, 0.0
    for k in range(chances.size):
        chances[k] = -np.inf
        if category_tables[k] > 0:
            chances[k] = math.log(category_tables[k]) + sums[0, k]
            highest = max(highest, chances[k])
    if highest == -np.inf:
        return highest
    for k in range(chances.size):
        chances[k] = math.exp(chances[k] - highest)
        total += chances[k]
    return highest + math.log(total)


@njit(cache=True, nogil=True)
def choose_served(chances, u):
    """A category with probability proportional to its chance, by inversion of u; NO_CATEGORY if none has any."""
    rest, last = u * chances.sum(), NO_CATEGORY
    for k in range(chances.size):
        if chances[k] > 0.0:
            last = k
            if rest < chances[k]:
                return k
            rest -= chances[k]
    return last


@njit(cache=True, nogil=True, error_model="numpy")
def impute(bags, drawn, fresh, u, zeta, is_given, key, at):
    """log W of a document over what the words' `fresh` say, and its topics, drawn one after another unless given.

    `at.pull` is (zeta + n_l) over the topic's norm before the first token, and after the last one.
    """
    first, n = bags.first_word[u], bags.first_token[u + 1] - bags.first_token[u]
    inverse, pull, topics = at.inverse, at.pull, at.topics
    prior = zeta * inverse.size
    log_evidence, evidence = 0.0, 1.0
    for i in range(n):
        w = bags.words[first + i]
        size, total = drawn.size[w], 0.0
        for j in range(size):
            total += drawn.weight[w, j] * pull[drawn.topic[w, j]]
        evidence *= total / ((prior + i) * fresh[w])
        if evidence > LARGE or evidence < 1.0 / LARGE:
            log_evidence += math.log(evidence)
            evidence = 1.0
        if not is_given:
            rest, j = uniform(key, i) * total, 0
            while j < size - 1:
                rest -= drawn.weight[w, j] * pull[drawn.topic[w, j]]
                if rest < 0.0:
                    break
                j += 1
            topics[i] = drawn.topic[w, j]
        pull[topics[i]] += inverse[topics[i]]
    return log_evidence + math.log(evidence)


@njit(cache=True, nogil=True)
def draw_document_topics(bags, drawn, u, category, key, topics):
    """Draw the topics of a document from their conditional, p(l) ∝ theta_l phi_lw."""
    first, n = bags.first_word[u], bags.first_token[u + 1] - bags.first_token[u]
    for i in range(n):
        w = bags.words[first + i]
        size, total = drawn.size[w], 0.0
        for j in range(size):
            total += np.float64(drawn.weight[w, j]) * drawn.mixture[drawn.topic[w, j], category]
        rest, j = uniform(key, i) * total, 0
        while j < size - 1:
            rest -= np.float64(drawn.weight[w, j]) * drawn.mixture[drawn.topic[w, j], category]
            if rest < 0.0:
                break
            j += 1
        topics[i] = drawn.topic[w, j]


@njit(cache=True, nogil=True)
def part_stick(stick, old, new, n_tables, key):
    """Give a category with one table its share of the stick of one that is left with `n_tables`."""
    old_weight, position = variates.gamma(float(n_tables), key, 0)
    new_weight = variates.exponential(key, position)
    whole = stick[old]
    stick[old] = whole * (old_weight / (old_weight + new_weight))
    stick[new] = whole * (new_weight / (old_weight + new_weight))


@njit(cache=True, nogil=True, error_model="numpy")
def open_new_category(categories, scores, category, topics, zeta, key):
    """Draw theta of a category that holds these topics, and what follows from it."""
    drawn = categories.drawn
    counts = np.zeros(categories.norm.size, np.int64)
    for topic in topics:
        counts[topic] += 1
    draw_category(categories, category, counts, zeta, key, 0)
    for w in range(scores.fresh.size):
        scores.score[w, category] = math.log(drawn.chance[w, category] / scores.fresh[w])
