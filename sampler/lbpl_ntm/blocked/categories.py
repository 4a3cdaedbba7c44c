"""What belongs to categories that appear, part or join: a slot, a share of a stick, theta, and M of every word."""

import numpy as np
from numba import njit

from sampler.corpus import NO_CATEGORY
from sampler.lbpl_ntm.blocked.parts import NEW_PART, OLD_PART
from sampler.numerics import variates


@njit(cache=True, nogil=True)
def unused_slot(category_tables, stick, n_known):
    """The first slot for a new category that is neither served nor a candidate, or NO_CATEGORY."""
    for category in range(n_known, stick.size):
        if category_tables[category] == 0 and stick[category] == 0.0:
            return category
    return NO_CATEGORY


@njit(cache=True, nogil=True)
def part_category(categories, old, new, parts, zeta, key):
    """Draw what belongs to the parts of a category: the shares of its stick, and theta."""
    drawn = categories.drawn
    stick = drawn.stick[old]
    old_weight, position = variates.gamma(float(parts.tables[OLD_PART]), key, 0)
    new_weight, position = variates.gamma(float(parts.tables[NEW_PART]), key, position)
    drawn.stick[old] = stick * (old_weight / (old_weight + new_weight))
    drawn.stick[new] = stick * (new_weight / (old_weight + new_weight))
    position = draw_category(categories, old, parts.topic[OLD_PART], zeta, key, position)
    draw_category(categories, new, parts.topic[NEW_PART], zeta, key, position)


@njit(cache=True, nogil=True)
def unite_categories(categories, old, new, parts, zeta, key):
    """Draw what belongs to a category that another was merged into, whose slot is left unused."""
    drawn = categories.drawn
    drawn.stick[old] += drawn.stick[new]
    drawn.stick[new] = 0.0
    draw_category(categories, old, parts.topic[OLD_PART] + parts.topic[NEW_PART], zeta, key, 0)


@njit(cache=True, nogil=True)
def draw_category(categories, category, counts, zeta, key, position):
    """Draw theta of a category from Dir(zeta + O), and what follows from it; return the next position."""
    drawn, norm = categories.drawn, categories.norm
    theta = np.empty(counts.size)
    for l in range(counts.size):  # noqa: E741
        theta[l], position = variates.any_gamma(zeta + counts[l], key, position)
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
