"""Split and merge: a category parts in two, or a new category joins another, by Metropolis-Hastings.

Step 7 of the blocked sampler. After Jain and Neal (2004), with Dahl's (2005) sequential allocation in place of their
restricted scans, and with tables for items, as Wang and Blei (2012). Letters as in docs/model.md.

The state before topics are drawn is x = (z, theta, phi, b), with topics summed out, and the tables t; given x the
tables of one category are independent of those of the others.

**An attempt**

1. By a fair coin: split a served category A, uniform among the K that serve a table; or merge an ordered pair (B, A),
   uniform among all with B new and A another one, both served. If there is none, nothing happens.
2. Auxiliary variables, drawn afresh from their conditionals given x: the tables of the unlabeled documents in the
   categories involved, and the topic of every token there, labeled ones too.
3. An item of a category is one of its unlabeled tables or, all in one, what labeled documents have there: the pinned
   item. Two anchors, uniform: the mover, an unlabeled table (when merging, of B), and the stayer, another item (when
   merging, of A). To split, the mover starts the new part; the stayer and the pinned item start the old part. The
   other tables follow in uniform order; each takes a side with probability proportional to the number of tables there,
   each labeled one counted, times the Dirichlet-multinomial chance of its topics there. q is the product of these
   probabilities. To merge, q is the one with which the same anchors and order would have led back to B and A.
4. Accept with probability min(1, r). Theta is integrated out: topics O of a part have the chance f(O). Of b only the
   share of the new part is: with c the stick of both parts, which stays, and as the density of sticks and tables is
   gamma^K Π b_k^(m_k - 1) times what does not change,

       gamma ∫ b^(m_new - 1) (c - b)^(m_old - 1) db / c^(m_A - 1) = gamma Γ(m_new) Γ(m_old) / Γ(m_A).

   Let A have n unlabeled tables and p pinned items (0 or 1), the parts n_new and n_old of these tables, and let K' of
   the K + 1 categories of the parted state be new. A split is then proposed with probability q / (2 K n (n - 1 + p)),
   the merge that undoes it with 1 / (2 K' K n_new (n_old + p)); the order has the same chance in both. Hence

       r = gamma Γ(m_new) Γ(m_old) / Γ(m_A)  f(O_new) f(O_old) / f(O_A)  n (n - 1 + p) / (K' n_new (n_old + p) q)

   for a split, and 1 / r for the merge.
5. If accepted: theta of the parts is drawn from Dir(zeta + O), their shares of c from Beta(m_new, m_old), and **the
   tables of the parts once more** from their conditional. If rejected nothing changes.

**Why it is exact.** Anchors and order given, a split is undone by one merge and a merge by one split: balance is held
move by move. Two new parts can be joined with either of them as the mover: two moves, each with its own reverse, so no
factor 2 is missing.

Write u for the categories with the auxiliary tables and topics, v for theta and the shares of c, A(u) for the chance
that an attempt at u is accepted. Step 4 balances on the law of u, and v is drawn given u, so accepted attempts bring as
much to (u, v) as they take away, p(u, v) A(u); summed over the auxiliary variables, p(x) E[A | x]. Of the tables two
things are asked. After a rejection the old ones stay: given x they are independent of u, and whether u is rejected
tells nothing about them. After an acceptance the auxiliary ones must go: given x they are weighted by A(u), as some
tables are accepted more readily than others. Drawn once more they have the law p(t | x). Together x and t have
p(x) p(t | x) (1 - E[A | x]) + p(x) p(t | x) E[A | x], as before. Topics are forgotten in either case.
"""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import NO_CATEGORY
from sampler.lbpl_ntm.blocked.auxiliary_tables import (
    draw_auxiliary_topics,
    join,
    log_seats,
    move_tables,
    rank_topics,
    seat_tables,
)
from sampler.lbpl_ntm.blocked.categories import part_category, unite_categories, unused_slot
from sampler.lbpl_ntm.blocked.parts import (
    AUXILIARY_TOPICS,
    CHOICE,
    LABELED,
    NEW_PART,
    NEW_SEATS,
    NO_TABLE,
    OLD_PART,
    PARAMETERS,
    PINNED,
    SEATS,
    Anchors,
    add_labeled,
    allocate,
    log_evidence_of_topics,
    no_parts,
)
from sampler.numerics.streams import branch, uniform
from sampler.numerics.threads import is_raised


class Outcome(IntEnum):
    """What became of an attempt."""

    IMPOSSIBLE = 0  # there was nothing to choose
    SPLIT_REJECTED = 1
    MERGE_REJECTED = 2
    SPLIT = 3
    MERGED = 4


IMPOSSIBLE, SPLIT_REJECTED, MERGE_REJECTED, SPLIT, MERGED = (int(outcome) for outcome in Outcome)


class Pair(NamedTuple):
    """What is tried: to split a category, or to merge another into it."""

    is_split: bool
    old: int  # A, NO_CATEGORY if there is nothing to choose
    new: int  # B: what is to be merged into A, or the slot for the new part of a split
    n_new: int  # K', new categories of the parted state


@njit(cache=True, nogil=True)
def attempt(documents, categories, given, key, stop):
    """Try once to split a category or to merge two, in place; return the Outcome.

    Only if a split or merge is accepted anything changes: the documents' placements; category_word, category_tables
    and log_seats of the counts, not their topics; stick, mixture and chance of the parts. A category that was merged
    away leaves its slot unused. Raises ValueError if no slot is unused. Gives up when the flag `stop` is raised.
    O(n log L + V L_w) time for n tokens in the categories, L_w the topics of a word, and one pass over all documents.
    """
    counts, labeled_tables, choice = categories.counts, categories.labeled_tables, branch(key, CHOICE)
    pair = choose_pair(categories, uniform(choice, 0) < 0.5, choice)
    if pair.old == NO_CATEGORY:
        return IMPOSSIBLE
    tables, n_old = seat_pair(documents, categories, pair, given.alpha, branch(key, SEATS), stop)
    n_labeled, n_tables = labeled_tables[pair.old], tables.document.size
    anchors = choose_anchors(pair.is_split, n_old, n_tables, n_labeled > 0, choice)
    if anchors.mover == NO_TABLE or is_raised(stop):
        return IMPOSSIBLE
    parts, is_new = no_parts(categories.norm.size), np.arange(n_tables) >= n_old
    draw_topics_of_pair(categories, pair, tables, n_old, parts, key, stop)
    if is_raised(stop):
        return IMPOSSIBLE
    log_chance = allocate(tables, is_new, pair.is_split, anchors, given.zeta, key, parts, stop)
    if is_raised(stop):
        return IMPOSSIBLE
    log_ratio = log_split_ratio(parts, n_labeled, pair.n_new, given, log_chance)
    if uniform(choice, 5) >= math.exp(min(log_ratio if pair.is_split else -log_ratio, 0.0)):
        return SPLIT_REJECTED if pair.is_split else MERGE_REJECTED
    carry_out(documents, categories, pair, tables, is_new, parts, given.zeta, branch(key, PARAMETERS))
    for category in (pair.old, pair.new):
        concentration = given.alpha * categories.drawn.stick[category]
        seated = seat_tables(documents, category, concentration, branch(key, NEW_SEATS), stop)
        counts.category_tables[category] = labeled_tables[category] + seated.document.size
        counts.log_seats[category] = log_seats(seated)
    return SPLIT if pair.is_split else MERGED


@njit(cache=True, nogil=True)
def choose_pair(categories, is_split, key):
    """What to split or to merge."""
    category_tables, n_known = categories.counts.category_tables, categories.n_known
    served = np.flatnonzero(category_tables > 0)  # ascending: new ones come last
    n_served, n_new = served.size, (served >= n_known).sum()
    unused = unused_slot(category_tables, categories.drawn.stick, n_known)
    if unused == NO_CATEGORY:
        raise ValueError("no slot is unused: a split needs one")
    if is_split:
        old = served[int(uniform(key, 1) * n_served)] if n_served > 0 else np.int64(NO_CATEGORY)
        return Pair(is_split, old, unused, n_new + 1)
    if n_new == 0 or n_served < 2:
        return Pair(is_split, np.int64(NO_CATEGORY), unused, n_new)
    place = n_served - n_new + int(uniform(key, 1) * n_new)
    other = int(uniform(key, 2) * (n_served - 1))
    return Pair(is_split, served[other + (other >= place)], served[place], n_new)


@njit(cache=True, nogil=True)
def choose_anchors(is_split, n_old, n_tables, has_pinned, key):
    """The mover and the stayer among the tables, the first n_old of which are A's."""
    first_mover = 0 if is_split else n_old
    n_others = (n_tables - 1 if is_split else n_old) + has_pinned
    if n_tables == first_mover or n_others == 0:
        return Anchors(NO_TABLE, NO_TABLE)
    mover = first_mover + int(uniform(key, 3) * (n_tables - first_mover))
    stayer = int(uniform(key, 4) * n_others)
    if has_pinned and stayer == n_others - 1:
        return Anchors(mover, PINNED)
    return Anchors(mover, stayer + (stayer >= mover))


@njit(cache=True, nogil=True)
def seat_pair(documents, categories, pair, alpha, key, stop):
    """The tables of A, when merging those of B behind them; and how many are A's."""
    stick = categories.drawn.stick
    tables = seat_tables(documents, pair.old, alpha * stick[pair.old], key, stop)
    n_old = tables.document.size
    if not pair.is_split:
        tables = join(tables, seat_tables(documents, pair.new, alpha * stick[pair.new], key, stop))
    return tables, n_old


@njit(cache=True, nogil=True)
def draw_topics_of_pair(categories, pair, tables, n_old, parts, key, stop):
    """Draw the topics of all tokens at the tables, and of labeled ones, which are added to the old part."""
    drawn, end, topics_key = categories.drawn, tables.first[n_old], branch(key, AUXILIARY_TOPICS)
    draw_auxiliary_topics(tables, 0, end, drawn, pair.old, topics_key, stop)
    draw_auxiliary_topics(tables, end, tables.token.size, drawn, pair.new, topics_key, stop)
    if is_raised(stop):
        return
    rank_topics(tables, categories.norm.size)
    n_labeled, category_word = categories.labeled_tables[pair.old], categories.counts.category_word
    add_labeled(tables, end, category_word, drawn, pair.old, n_labeled, branch(key, LABELED), parts)


@njit(cache=True, nogil=True)
def carry_out(documents, categories, pair, tables, is_new, parts, zeta, key):
    """Move the tables of one part, and draw what belongs to the categories then."""
    category_word = categories.counts.category_word
    if pair.is_split:
        move_tables(documents, category_word, tables, is_new, pair.old, pair.new)
        part_category(categories, pair.old, pair.new, parts, zeta, key)
    else:
        move_tables(documents, category_word, tables, is_new, pair.new, pair.old)
        unite_categories(categories, pair.old, pair.new, parts, zeta, key)


@njit(cache=True, nogil=True)
def log_split_ratio(parts, n_labeled, n_new_categories, given, log_chance):
    """log r of the split into these parts, which a merge takes with the other sign.

    `n_new_categories` is K', of the parted state; `log_chance` is log q.
    """
    m_old, m_new = parts.tables[OLD_PART], parts.tables[NEW_PART]
    n_old, n_pinned = m_old - n_labeled, int(n_labeled > 0)
    n_tables = n_old + m_new
    serving = math.log(given.gamma) + math.lgamma(m_new) + math.lgamma(m_old) - math.lgamma(m_new + m_old)
    evidence = (
        log_evidence_of_topics(parts.topic[NEW_PART], given.zeta)
        + log_evidence_of_topics(parts.topic[OLD_PART], given.zeta)
        - log_evidence_of_topics(parts.topic[OLD_PART] + parts.topic[NEW_PART], given.zeta)
    )
    choice = math.log(n_tables * (n_tables - 1 + n_pinned)) - math.log(n_new_categories * m_new * (n_old + n_pinned))
    return serving + evidence + choice - log_chance
