"""Topics word by word: phi, what every category says of every word, and topics in bulk.

Steps 2, 5 and 6 of the blocked sampler. Tokens of one word in one category are exchangeable, so their topics are one
multinomial draw. phi is sparse: of a word's topics without a token, whose weights are Gamma(beta), most are far below
what a float can tell apart from nothing, and these are never drawn (sampler.draws).
"""

import numpy as np
from numba import njit

from sampler import lanes
from sampler.blocks import LANES
from sampler.draws import binomial, multinomial, phi_row
from sampler.streams import branch, uniform

N_BLOCKS = 256  # of words: the topics' norms are summed within a block, then over the blocks, always in this order
FEW = 3  # tokens of a word in a category: fewer draw their topics one by one
FEW_OTHERS = 12.0  # expected tokens that do not have the likeliest topic: fewer are counted by inversion
STRIDE = 12  # of the search for a topic
MANY = 8  # tokens that do not have the likeliest topic: as many are thrown together


@njit(cache=True, nogil=True)
def draw_weights(word_topics, beta, cut, key, first, end, drawn, norms):
    """Draw phi, up to the topics' norms, for the words of the blocks first .. end - 1.

    Writes rows of `topic`, `weight`, `size` and `counted`, and into `norms`, float64[N_BLOCKS, L], the sum of each
    topic's weights over a block.
    """
    n_words, n_topics = word_topics.topic.shape
    topics, weights = drawn.topic, drawn.weight
    bits, counts = np.empty(n_topics, np.uint32), np.zeros(n_topics, np.int32)
    for block in range(first, end):
        for topic in range(n_topics):
            norms[block, topic] = 0.0
        for w in range(n_words * block // N_BLOCKS, n_words * (block + 1) // N_BLOCKS):
            for j in range(word_topics.size[w]):
                counts[word_topics.topic[w, j]] = word_topics.tokens[w, j]
            size, counted = phi_row(counts, beta, cut, branch(key, w), 0, topics[w], weights[w], bits)
            for j in range(word_topics.size[w]):
                counts[word_topics.topic[w, j]] = 0
            for j in range(size):
                norms[block, topics[w, j]] += weights[w, j]
            drawn.size[w], drawn.counted[w] = size, counted


@njit(cache=True, nogil=True)
def mix(drawn, first, end):
    """Write M, the chance of each word in each category, for the words first .. end - 1."""
    chance, mixture, topic, weight = drawn.chance, drawn.mixture, drawn.topic, drawn.weight
    for w in range(first, end):
        for block in range(0, chance.shape[1], LANES):
            total = lanes.spread(np.float32(0.0))
            for j in range(drawn.size[w]):
                share = lanes.multiply(lanes.spread(weight[w, j]), lanes.load(mixture, topic[w, j], block))
                total = lanes.add(total, share)
            lanes.store(total, chance, w, block)


@njit(cache=True, nogil=True, error_model="numpy")
def offer(offers, served, first, end):
    """Write `score` without its logarithm, `fresh` and `leave` for the words first .. end - 1.

    `served` int64 are the slots that hold a token or may come to.
    """
    chance, score, weight, leave = offers.chance, offers.score, offers.weight, offers.leave
    for w in range(first, end):
        fresh = np.float32(0.0)
        for s in range(served.size):
            fresh += weight[served[s]] * chance[w, served[s]]
        offers.fresh[w] = fresh
        for k in range(weight.size):
            score[w, k] = chance[w, k] / fresh
        for s in range(served.size):
            k = served[s]
            leave[k, w] = max(np.float32(1.0) / score[w, k] - weight[k], np.float32(0.0))


@njit(cache=True, nogil=True, error_model="numpy")
def sample_topics(category_word, drawn, served, key, first, end, word_topics, category_topic):
    """Draw the topics of all tokens of the words first .. end - 1, given their categories.

    Of each word and category first how many tokens do not have the likeliest topic; these are then drawn one by one.
    Loops are laid out so that few branches are taken by chance, as these cost more than all else here.
    Writes the rows of `word_topics` and adds to `category_topic` int32[S, L].
    """
    n_slots, n_topics = category_topic.shape
    topic, chance, weight, mixture = drawn.topic, drawn.chance, drawn.weight, drawn.mixture
    column, parts = np.empty(n_topics, np.float32), np.empty(n_topics + 1, np.int64)
    cumulative, best = np.zeros((n_topics + 1, n_slots), np.float32), np.empty((2, n_slots), np.float32)
    total, likeliest, before = np.empty(n_slots), np.empty(n_slots, np.float32), np.empty(n_slots, np.float32)
    present, found = np.empty(n_slots + 1, np.int64), np.zeros(n_topics, np.int32)
    waiting = np.empty(n_slots * MANY + 4, np.uint16)  # category of each token that is drawn by itself
    inverse = 1.0 / np.arange(0.0, 64.0)  # more others than FEW_OTHERS makes likely
    for w in range(first, end):
        n_present = 0
        for s in range(served.size):
            present[n_present] = served[s]
            n_present += category_word[w, served[s]] > 0
        word_key, position, n_waiting = branch(key, w), 0, 0
        size, counted = drawn.size[w], drawn.counted[w]
        accumulate(mixture, topic[w], weight[w], counted, cumulative, best)
        for s in range(n_present):
            k = present[s]
            n = np.int64(category_word[w, k])
            total[k], likeliest[k], before[k], place = chance[w, k], 0.0, 0.0, -1
            if n >= FEW and counted > 0:
                place = np.int64(best[1, k])
                share = np.float64(best[0, k]) / total[k]
                total[k], likeliest[k], before[k] = total[k] - best[0, k], best[0, k], cumulative[place, k]
                if n * (1.0 - share) < FEW_OTHERS:
                    others = few_others(n, share, inverse, uniform(word_key, position))
                    position += 1
                else:
                    others, position = binomial(n, 1.0 - share, word_key, position)
                found[place] += n - others
                category_topic[k, topic[w, place]] += n - others
                n = others
            if n >= MANY:
                for j in range(counted):
                    column[j] = weight[w, j] * mixture[topic[w, j], k] if j != place else np.float32(0.0)
                position = multinomial(n, column, counted, total[k], word_key, position, parts)
                for j in range(counted):
                    found[j] += parts[j]
                    category_topic[k, topic[w, j]] += parts[j]
                rare = np.float64(chance[w, k]) - cumulative[counted, k]
                for _ in range(parts[counted]):
                    place = find_rare(drawn, w, k, np.float32(uniform(word_key, position) * rare))
                    position += 1
                    found[place] += 1
                    category_topic[k, topic[w, place]] += 1
                n = 0
            for j in range(0, n, 4):
                for i in range(4):
                    waiting[n_waiting + j + i] = k
            n_waiting += n
        for j in range(n_waiting):
            k = waiting[j]
            u = np.float32(uniform(word_key, position) * total[k])
            position += 1
            u += likeliest[k] if u >= before[k] else np.float32(0.0)
            place = find(cumulative, counted, k, u)
            if place == counted:
                place = find_rare(drawn, w, k, u - cumulative[counted, k])
            found[place] += 1
            category_topic[k, topic[w, place]] += 1
        keep_found(found, topic[w], size, w, word_topics)


@njit(cache=True, nogil=True, error_model="numpy")
def few_others(n, share, inverse, u):
    """How many of n tokens do not have a topic of this share, by inversion of u; `inverse[x]` is 1 / x."""
    chance, odds = share**n, (1.0 - share) / share
    others = 0
    while u >= chance and others < n and others + 1 < inverse.size:
        u -= chance
        others += 1
        chance *= odds * (n - others + 1) * inverse[others]
    return others


@njit(cache=True, nogil=True, inline="always")
def keep_found(found, topic, size, w, word_topics):
    """Write a word's row from the tokens that were found at each place, and forget them."""
    n = 0
    for j in range(size):
        if found[j] > 0:
            word_topics.topic[w, n] = topic[j]
            word_topics.tokens[w, n] = found[j]
            found[j] = 0
            n += 1
    word_topics.size[w] = n


@njit(cache=True, nogil=True)
def accumulate(mixture, topic, weight, counted, cumulative, best):
    """Write sums of weight times mixture over a word's topics with a count, and the largest term and its place.

    cumulative is float32[L + 1, S], its first row 0; best float32[2, S].
    """
    for block in range(0, best.shape[1], LANES):
        total, largest, place = (
            lanes.spread(np.float32(0.0)),
            lanes.spread(np.float32(0.0)),
            lanes.spread(np.float32(0.0)),
        )
        for j in range(counted):
            share = lanes.multiply(lanes.spread(weight[j]), lanes.load(mixture, topic[j], block))
            total = lanes.add(total, share)
            lanes.store(total, cumulative, j + 1, block)
            place = lanes.where_greater(share, largest, lanes.spread(np.float32(j)), place)
            largest = lanes.where_greater(share, largest, share, largest)
        lanes.store(largest, best, 0, block)
        lanes.store(place, best, 1, block)


@njit(cache=True, nogil=True, inline="always")
def find(cumulative, counted, k, u):
    """The place at which the sum of chances passes u, or `counted`.

    Every STRIDE-th sum is compared, then those of one stride: all of them, since a comparison costs less than a branch
    that is taken by chance.
    """
    place, n, one, stride = np.uint64(0), np.uint64(counted), np.uint64(1), np.uint64(STRIDE)
    for j in range(stride, n + one, stride):
        place += stride * np.uint64(u >= cumulative[j, k])
    first, end = place + one, min(place + stride, n + one)
    for j in range(first, end):
        place += np.uint64(u >= cumulative[j, k])
    return np.int64(place)


@njit(cache=True, nogil=True, inline="always")
def find_rare(drawn, w, k, u):
    """The place without a count at which the sum of their chances passes u; the last if rounding let u pass all."""
    for j in range(drawn.counted[w], drawn.size[w]):
        u -= drawn.weight[w, j] * drawn.mixture[drawn.topic[w, j], k]
        if u < 0.0:
            return np.int64(j)
    return np.int64(drawn.size[w] - 1)


@njit(cache=True, nogil=True)
def take_over(category_word, changes, first, end):
    """Add what the workers changed, int32[n_workers, V, S], for some words, and forget it."""
    for worker in range(changes.shape[0]):
        for w in range(first, end):
            for k in range(category_word.shape[1]):
                category_word[w, k] += changes[worker, w, k]
                changes[worker, w, k] = 0
