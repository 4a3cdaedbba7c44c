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

from sampler.corpus import Array
from sampler.lbpl_ntm.blocked.arrays import MIXED
from sampler.lbpl_ntm.blocked.auxiliary_tables import accumulate, draw_topics, find, join, log_seats, rank_topics, seat
from sampler.numerics import variates
from sampler.numerics.multinomial import multinomial
from sampler.numerics.streams import branch, uniform
from sampler.numerics.threads import is_raised

OLD, NEW = 0, 1  # sides
NOBODY, PINNED = -1, -2  # no category or table to choose; a stayer that is no table
MANY = 24  # labeled tokens of a word: as many or more draw their topics by binomials
LARGE = 1e200  # a product beyond this, or below its inverse, goes into the logarithm

# Streams of an attempt.
CHOICE, SEATS, TOPICS, LABELED, ORDER, SIDES, PARAMETERS, NEW_SEATS = range(8)


class Outcome(IntEnum):
    """What became of an attempt."""

    IMPOSSIBLE = 0  # there was nothing to choose
    SPLIT_REJECTED = 1
    MERGE_REJECTED = 2
    SPLIT = 3
    MERGED = 4


IMPOSSIBLE, SPLIT_REJECTED, MERGE_REJECTED, SPLIT, MERGED = (int(outcome) for outcome in Outcome)


class Parts(NamedTuple):
    """What the two sides hold, OLD and NEW; labeled documents are counted in."""

    topic: Array  # int64[2, L], O
    tokens: Array  # int64[2]
    tables: Array  # int64[2], m


@njit(cache=True, nogil=True)
def attempt(bags, placements, counts, drawn, norm, labeled_tables, alpha, gamma, zeta, n_known, key, stop):
    """Try once to split a category or to merge two, in place; return the Outcome.

    `norm` float64[L]: what `drawn.mixture` was divided by. `labeled_tables` int64[S]: labeled documents with a word.
    Only if a split or merge is accepted anything changes: `placements`; category_word, category_tables and log_seats
    of `counts`, not its topics; stick, mixture and chance of the parts in `drawn`. A category that was merged away
    leaves its slot unused. Raises ValueError if no slot is unused. Gives up when the flag `stop` is raised.
    O(n log L + V L_w) time for n tokens in the categories, L_w the topics of a word, and one pass over all documents.
    """
    choice = branch(key, CHOICE)
    is_split = uniform(choice, 0) < 0.5
    old, new, n_new_categories = choose_categories(counts.category_tables, drawn.stick, is_split, n_known, choice)
    if old == NOBODY:
        return IMPOSSIBLE
    tables = seat(bags, placements, old, alpha * drawn.stick[old], branch(key, SEATS), stop)
    n_old, n_labeled = tables.document.size, labeled_tables[old]
    if not is_split:
        tables = join(tables, seat(bags, placements, new, alpha * drawn.stick[new], branch(key, SEATS), stop))
    mover, stayer = choose_anchors(is_split, n_old, tables.document.size, n_labeled > 0, choice)
    if mover == NOBODY or is_raised(stop):
        return IMPOSSIBLE

    parts = no_parts(norm.size)
    draw_topics(tables, 0, tables.first[n_old], drawn, old, branch(key, TOPICS), stop)
    draw_topics(tables, tables.first[n_old], tables.token.size, drawn, new, branch(key, TOPICS), stop)
    if is_raised(stop):
        return IMPOSSIBLE
    rank_topics(tables, norm.size)
    add_labeled(tables, tables.first[n_old], counts.category_word, drawn, old, n_labeled, branch(key, LABELED), parts)
    is_new = np.arange(tables.document.size) >= n_old
    log_chance = allocate(tables, is_new, is_split, mover, stayer, zeta, key, parts, stop)
    if is_raised(stop):
        return IMPOSSIBLE
    log_ratio = log_split_ratio(parts, n_labeled, n_new_categories, gamma, zeta, log_chance)
    if uniform(choice, 5) >= math.exp(min(log_ratio if is_split else -log_ratio, 0.0)):
        return SPLIT_REJECTED if is_split else MERGE_REJECTED

    parameters = branch(key, PARAMETERS)
    if is_split:
        move_tables(bags, placements, counts.category_word, tables, is_new, old, new)
        part(drawn, old, new, parts, zeta, norm, parameters)
    else:
        move_tables(bags, placements, counts.category_word, tables, is_new, new, old)
        unite(drawn, old, new, parts, zeta, norm, parameters)
    for category in (old, new):
        seated = seat(bags, placements, category, alpha * drawn.stick[category], branch(key, NEW_SEATS), stop)
        counts.category_tables[category] = labeled_tables[category] + seated.document.size
        counts.log_seats[category] = log_seats(seated)
    return SPLIT if is_split else MERGED


@njit(cache=True, nogil=True)
def choose_categories(category_tables, stick, is_split, n_known, key):
    """A, B and how many new categories the parted state has; A is NOBODY if there is nothing to choose.

    B is the slot for the new part of a split, or what is to be merged into A.
    """
    served = np.flatnonzero(category_tables > 0)  # ascending: new ones come last
    n_served, n_new = served.size, (served >= n_known).sum()
    unused = unused_slot(category_tables, stick, n_known)
    if unused == NOBODY:
        raise ValueError("no slot is unused: a split needs one")
    if is_split:
        old = served[int(uniform(key, 1) * n_served)] if n_served > 0 else NOBODY
        return old, unused, n_new + 1
    if n_new == 0 or n_served < 2:
        return NOBODY, unused, n_new
    place = n_served - n_new + int(uniform(key, 1) * n_new)
    other = int(uniform(key, 2) * (n_served - 1))
    return served[other + (other >= place)], served[place], n_new


@njit(cache=True, nogil=True)
def choose_anchors(is_split, n_old, n_tables, has_pinned, key):
    """The mover and the stayer among the tables, the first n_old of which are A's; NOBODY if there are not two."""
    first_mover = 0 if is_split else n_old
    n_others = (n_tables - 1 if is_split else n_old) + has_pinned
    if n_tables == first_mover or n_others == 0:
        return NOBODY, NOBODY
    mover = first_mover + int(uniform(key, 3) * (n_tables - first_mover))
    stayer = int(uniform(key, 4) * n_others)
    if has_pinned and stayer == n_others - 1:
        return mover, PINNED
    return mover, stayer + (stayer >= mover)


@njit(cache=True, nogil=True)
def unused_slot(category_tables, stick, n_known):
    """The first slot for a new category that is neither served nor a candidate, or NOBODY."""
    for category in range(n_known, stick.size):
        if category_tables[category] == 0 and stick[category] == 0.0:
            return category
    return NOBODY


@njit(cache=True, nogil=True)
def add_labeled(tables, end, category_word, drawn, category, n_labeled, key, parts):
    """Add what labeled documents have in a category to the old part, with topics drawn in bulk.

    Of the category's tokens they have those that are not at its tables, which hold the tokens 0 .. end - 1.
    """
    if n_labeled == 0:
        return
    mixture = drawn.mixture[:, category].astype(np.float64)
    remaining = category_word[:, category].astype(np.int64)
    for w in tables.word[:end]:
        remaining[w] -= 1
    parts.tables[OLD] += n_labeled
    parts.tokens[OLD] += remaining.sum()
    cumulative, hits = np.empty(mixture.size), np.empty(mixture.size + 1, np.int64)
    chances = np.empty(mixture.size, np.float32)
    position = 0
    for w in np.flatnonzero(remaining):
        n, counted, size = remaining[w], drawn.counted[w], drawn.size[w]
        total = accumulate(drawn, mixture, w, cumulative)
        if n < MANY:
            for _ in range(n):
                j = find(cumulative, counted, size, uniform(key, position) * total)
                position += 1
                parts.topic[OLD, drawn.topic[w, j]] += 1
        else:
            for j in range(size):
                chances[j] = drawn.weight[w, j] * mixture[drawn.topic[w, j]]
            position = multinomial(n, chances, size, total, key, position, hits)
            hits[size - 1] += hits[size]  # the rest of the total is rounding
            for j in range(size):
                parts.topic[OLD, drawn.topic[w, j]] += hits[j]


@njit(cache=True, nogil=True)
def no_parts(n_topics):
    """Two sides of nothing."""
    return Parts(np.zeros((2, n_topics), np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64))


@njit(cache=True, nogil=True)
def add_table(tables, t, side, parts):
    """Seat a table on a side."""
    parts.tables[side] += 1
    parts.tokens[side] += tables.first[t + 1] - tables.first[t]
    for i in range(tables.first[t], tables.first[t + 1]):
        parts.topic[side, tables.topic[i]] += 1


@njit(cache=True, nogil=True)
def allocate(tables, is_new, is_free, mover, stayer, zeta, key, parts, stop):
    """Add all tables to the parts: the anchors first, the others in random order; return log q.

    Free tables choose their side, which is written into `is_new`; those that are not take the side that it names.
    """
    log_chance = 0.0
    add_table(tables, mover, NEW, parts)
    if stayer != PINNED:
        add_table(tables, stayer, OLD, parts)
    is_new[mover] = True
    for t in shuffled(is_new.size, branch(key, ORDER)):
        if is_raised(stop):
            break
        if t in (mover, stayer):
            continue
        log_odds = log_odds_of_new(tables, t, zeta, parts)
        if is_free:
            is_new[t] = uniform(branch(key, SIDES), t) * (1.0 + math.exp(-log_odds)) < 1.0
        log_chance -= softplus(-log_odds if is_new[t] else log_odds)
        add_table(tables, t, NEW if is_new[t] else OLD, parts)
    return log_chance


@njit(cache=True, nogil=True)
def shuffled(size, key):
    """The numbers below size in uniform order."""
    order = np.arange(size)
    for j in range(size - 1, 0, -1):
        other = int(uniform(key, j) * (j + 1))
        order[j], order[other] = order[other], order[j]
    return order


@njit(cache=True, nogil=True)
def softplus(x):
    """log(1 + exp x), also where exp x is infinite."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@njit(cache=True, nogil=True, error_model="numpy")
def log_odds_of_new(tables, t, zeta, parts):
    """Log odds that a table takes the new side, by the tables of the sides and the topics of its tokens there.

    One logarithm for many factors.
    """
    prior = zeta * parts.topic.shape[1]
    old_total, new_total = prior + parts.tokens[OLD], prior + parts.tokens[NEW]
    log_odds, odds = 0.0, parts.tables[NEW] / parts.tables[OLD]
    for j, i in enumerate(range(tables.first[t], tables.first[t + 1])):
        topic, start = tables.topic[i], zeta + tables.rank[i]
        new_chance = (start + parts.topic[NEW, topic]) / (new_total + j)
        old_chance = (start + parts.topic[OLD, topic]) / (old_total + j)
        odds *= new_chance / old_chance
        if odds > LARGE or odds < 1.0 / LARGE:
            log_odds += math.log(odds)
            odds = 1.0
    return log_odds + math.log(odds)


@njit(cache=True, nogil=True)
def log_dirichlet_multinomial(counts, zeta):
    """log f(O): the chance of topics int64[L], in a given order, with theta integrated out."""
    constant, prior = math.lgamma(zeta), zeta * counts.size
    total = math.lgamma(prior) - math.lgamma(prior + counts.sum())
    for n in counts:
        if n > 0:
            total += math.lgamma(zeta + n) - constant
    return total


@njit(cache=True, nogil=True)
def log_split_ratio(parts, n_labeled, n_new_categories, gamma, zeta, log_chance):
    """log r of the split into these parts, which a merge takes with the other sign.

    `n_new_categories` is K', of the parted state; `log_chance` is log q.
    """
    m_old, m_new = parts.tables[OLD], parts.tables[NEW]
    n_old, n_pinned = m_old - n_labeled, int(n_labeled > 0)
    n_tables = n_old + m_new
    serving = math.log(gamma) + math.lgamma(m_new) + math.lgamma(m_old) - math.lgamma(m_new + m_old)
    evidence = (
        log_dirichlet_multinomial(parts.topic[NEW], zeta)
        + log_dirichlet_multinomial(parts.topic[OLD], zeta)
        - log_dirichlet_multinomial(parts.topic[OLD] + parts.topic[NEW], zeta)
    )
    choice = math.log(n_tables * (n_tables - 1 + n_pinned)) - math.log(n_new_categories * m_new * (n_old + n_pinned))
    return serving + evidence + choice - log_chance


@njit(cache=True, nogil=True)
def move_tables(bags, placements, category_word, tables, is_moved, source, destination):
    """Move the tokens of some tables from one category to another."""
    for t in np.flatnonzero(is_moved):
        u = tables.document[t]
        if placements.whole[u] != MIXED:
            placements.token[bags.first_token[u] : bags.first_token[u + 1]] = placements.whole[u]
            placements.whole[u] = MIXED
        for i in range(tables.first[t], tables.first[t + 1]):
            placements.token[tables.token[i]] = destination
            category_word[tables.word[i], source] -= 1
            category_word[tables.word[i], destination] += 1
    for t in np.flatnonzero(is_moved):
        u = tables.document[t]
        if placements.whole[u] == MIXED and is_uniform(placements.token, bags.first_token[u], bags.first_token[u + 1]):
            placements.whole[u] = placements.token[bags.first_token[u]]


@njit(cache=True, nogil=True)
def is_uniform(values, first, end):
    """Whether all values of a range are the same."""
    n = 0
    for i in range(first, end):
        n += values[i] == values[first]
    return n == end - first


@njit(cache=True, nogil=True)
def draw_gamma(shape, key, position):
    """A number of Gamma(shape, 1), and the next position."""
    if shape >= 1.0:
        return variates.gamma(shape, key, position)
    return variates.small_gamma(shape, uniform(key, position), key, position + 1)


@njit(cache=True, nogil=True)
def part(drawn, old, new, parts, zeta, norm, key):
    """Draw what belongs to the parts of a category: the shares of its stick, and theta."""
    stick = drawn.stick[old]
    old_weight, position = variates.gamma(float(parts.tables[OLD]), key, 0)
    new_weight, position = variates.gamma(float(parts.tables[NEW]), key, position)
    drawn.stick[old] = stick * (old_weight / (old_weight + new_weight))
    drawn.stick[new] = stick * (new_weight / (old_weight + new_weight))
    position = draw_category(drawn, old, parts.topic[OLD], zeta, norm, key, position)
    draw_category(drawn, new, parts.topic[NEW], zeta, norm, key, position)


@njit(cache=True, nogil=True)
def unite(drawn, old, new, parts, zeta, norm, key):
    """Draw what belongs to a category that another was merged into, whose slot is left unused."""
    drawn.stick[old] += drawn.stick[new]
    drawn.stick[new] = 0.0
    draw_category(drawn, old, parts.topic[OLD] + parts.topic[NEW], zeta, norm, key, 0)


@njit(cache=True, nogil=True)
def draw_category(drawn, category, counts, zeta, norm, key, position):
    """Draw theta of a category from Dir(zeta + O), and what follows from it; return the next position."""
    theta = np.empty(counts.size)
    for l in range(counts.size):  # noqa: E741
        theta[l], position = draw_gamma(zeta + counts[l], key, position)
    total = theta.sum()
    mixture = np.zeros(counts.size, np.float32)
    for l in range(counts.size):  # noqa: E741
        if norm[l] > 0.0:  # else the topic has no word
            mixture[l] = theta[l] / (total * norm[l])
    drawn.mixture[:, category] = mixture
    for w in range(drawn.size.size):
        chance = np.float32(0.0)
        for j in range(drawn.size[w]):
            chance += drawn.weight[w, j] * mixture[drawn.topic[w, j]]
        drawn.chance[w, category] = chance
    return position
