"""The tables of a document: its occupied slots, as a list that ascends."""

from numba import njit


@njit(cache=True, nogil=True)
def longest_document(corpus):
    """Tokens of the longest document."""
    longest = 0
    for d in range(corpus.labels.size):
        longest = max(longest, corpus.offsets[d + 1] - corpus.offsets[d])
    return longest


@njit(cache=True, nogil=True)
def occupied_tables(corpus, counts, d, tables):
    """Write the occupied slots of document d into `tables`, ascending; return how many."""
    n_tables = 0
    for slot in range(corpus.offsets[d], corpus.offsets[d + 1]):
        if counts.table_tokens[slot] > 0:
            tables[n_tables] = slot
            n_tables += 1
    return n_tables


@njit(cache=True, nogil=True)
def insert_table(tables, n_tables, first_slot):
    """Put the lowest free slot of a document into its ascending list of tables; return the slot."""
    place = 0
    while place < n_tables and tables[place] == first_slot + place:
        place += 1
    for j in range(n_tables, place, -1):
        tables[j] = tables[j - 1]
    tables[place] = first_slot + place
    return tables[place]


@njit(cache=True, nogil=True)
def remove_table(tables, n_tables, slot):
    """Take a slot out of a document's ascending list of tables."""
    place = 0
    while tables[place] != slot:
        place += 1
    for j in range(place, n_tables - 1):
        tables[j] = tables[j + 1]
