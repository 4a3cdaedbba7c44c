"""Planted mistakes: kernels with one passage of their source changed, to see that the tests notice.

Each mistake quotes the passage, and what stands in its place. A passage must occur exactly once.
"""

import inspect
import sys
import types
from collections.abc import Sequence

from sampler.lbpl_ntm.blocked import birth_death, category_scores, mixed_documents, split_merge, tables, whole_documents
from sampler.lbpl_ntm.collapsed import kernels

Mistakes = dict[str, tuple[str, str]]

DOCUMENTS: Mistakes = {
    "a token's own category is offered afresh": (
        "simd.spread(-weights[at.active[a]])",
        "simd.spread(np.float32(0.0))",
    ),
    "a token that is asked counts itself": ("pull - np.float32(1.0) + weight", "pull + weight"),
    "a token stays too seldom": ("pull - np.float32(1.0) + weight", "pull - np.float32(1.0)"),
    "a new category's tokens are forgotten": ("rest -= at.pull[at.active[a]] * at.near[a, i]", "rest -= at.near[a, i]"),
    "those behind a token that left are not asked again": ("lane + np.uint64(1)", "lane + np.uint64(LANES)"),
    "a table's size is left out": ("rest -= at.table_size[t]", "rest -= 1"),
    "the second table is too early": ("hazard = math.log1p(concentration / j)", "hazard = math.log1p(concentration)"),
    "the first to leave is any": (
        "hazard = math.log1p(scores.leave[category, bags.words[first + j]] * odds)",
        "hazard = math.log1p(odds)",
    ),
    "what is not quite certain stays": ("return u * (1.0 + others) < 1.0", "return u * (0.5 + others) < 1.0"),
    "the present category is preferred": ("return u * (1.0 + others) < 1.0", "return u < 0.9"),
    "exact weights miss a table's tokens": ("if table[j] == t:", "if table[j] == t and j > 0:"),
}

SPLIT_MERGE: Mistakes = {
    "a factor 2": ("math.log(given.gamma)", "math.log(2.0 * given.gamma)"),
    "the number of merges there are": ("math.log(n_new_categories * m_new", "math.log(m_new"),
    "the choice of anchors": ("+ choice - log_chance", "- math.log(n_new_categories) - log_chance"),
    "the tables of the new part": ("+ math.lgamma(m_new) ", ""),
    "that accepted tables are drawn once more": (
        "labeled_tables[category] + seated.document.size",
        "parts.tables[NEW_PART if category == pair.new else OLD_PART] if pair.is_split else "
        "(category == pair.old) * parts.tables.sum()",
    ),
}

BIRTH_DEATH: Mistakes = {
    "a factor 2": ("math.log(given.gamma)", "math.log(2.0 * given.gamma)"),
    "the tables of the categories": ("math.log(category_tables[k]) + sums", "sums"),
    "the order of the tokens": ("((prior + i) * fresh[w])", "(prior * fresh[w])"),
    "the topics before a token": ("        pull[topics[i]] += inverse[topics[i]]\n", ""),
    "how readily a death is accepted": ("-log_ratio if dies else", "np.inf if dies else"),
    "theta's prior": (
        "draw_category(categories, category, counts, zeta,",
        "draw_category(categories, category, counts, 0.01,",
    ),
}

COLLAPSED: dict[str, tuple[str, str, str]] = {  # with the kernel that it is in
    "a table's size is left out": (
        "sample_tables",
        "weights[j] = counts.table_tokens[tables[j]] * likelihood",
        "weights[j] = likelihood",
    ),
    "a new table's categories weigh the same": (
        "sample_tables",
        "new_table * counts.category_tables[category] * likelihood",
        "new_table * (counts.category_tables[category] > 0) * likelihood",
    ),
    "a new category's likelihood is left out": (
        "sample_tables",
        "new_table * given.gamma / counts.topic_tokens.size",
        "new_table * given.gamma",
    ),
    "a category's tables are left out": (
        "sample_categories",
        "math.log(counts.category_tables[category]) + likelihood",
        "likelihood",
    ),
    "the category is left out when a topic is drawn": (
        "sample_topics",
        "(zeta + category_topic[topic]) * ((beta",
        "((beta",
    ),
    "a topic's tokens are left out": (
        "sample_topics",
        "((beta + word_topic[topic]) * scale[topic])",
        "(beta + word_topic[topic])",
    ),
}

OF_DOCUMENTS = (category_scores, tables, mixed_documents, whole_documents)  # as they import each other


def of_documents(old: str, new: str) -> types.ModuleType:
    """whole_documents.py with a passage of it, or of what it is made of, changed."""
    return mutant(OF_DOCUMENTS, old, new)


def of_split_merge(old: str, new: str) -> types.ModuleType:
    """split_merge.py with a passage changed."""
    return mutant([split_merge], old, new)


def of_birth_death(old: str, new: str) -> types.ModuleType:
    """birth_death.py with a passage changed."""
    return mutant([birth_death], old, new)


def of_collapsed(old: str, new: str) -> types.ModuleType:
    """The kernels of Algorithm 1 with a passage changed."""
    return mutant([kernels], old, new)


def mutant(modules: Sequence[types.ModuleType], old: str, new: str) -> types.ModuleType:
    """The last of some modules, each compiled apart, importing the changed ones before it."""
    sources = {module.__name__: inspect.getsource(module) for module in modules}
    assert sum(source.count(old) for source in sources.values()) == 1
    for name, source in sources.items():
        code = source.replace(old, new).replace("cache=True, ", "")
        for other in sources:
            code = code.replace(f"from {other} import", f"from {mutant_name(other)} import")
        module = types.ModuleType(mutant_name(name))
        sys.modules[module.__name__] = module  # numba looks a function's module up by name
        exec(compile(code, f"{module.__name__}.py", "exec"), module.__dict__)
    return module


def mutant_name(name: str) -> str:
    """The name of a changed module."""
    return "mutant_" + name.replace(".", "_")
