"""What is probably wrong with the labels of a corpus, in sentences that say what to do."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence

from sampler.text.normal_forms import caseless_form

MIN_DOCUMENTS = 5  # labeled ones of a category: below, hardly anything can be learned of it
MAX_NAMED = 10  # labels in a sentence

# What people and programs write where there is no label, as `skeleton` has it.
NO_LABEL = """
- -- --- . .. ... ? ?? ??? # #n/a n/a n.a. na nan nil none null nothing undefined unknown unkn tbd tba todo misc
unlabeled unlabelled unclassified uncategorized uncategorised unassigned notset notassigned nolabel nocategory
novalue missing empty blank keine unbekannt ohne offen inconnu aucun sansobjet desconocido ninguno sconosciuto
nessuno onbekend geen okänd ukjent nieznany brak 不明 未知 未分类 なし 無し 없음
"""
PLACEHOLDERS = frozenset(NO_LABEL.split())

Labels = Sequence[tuple[str, int]]  # each with the number of documents that bear it


def label_warnings(labels: Labels, n_documents: int) -> list[str]:
    """Sentences about the labels of a corpus of so many documents, the gravest first."""
    if n_documents == 0:
        return []
    if not labels:
        return [
            f"none of the {n_documents} documents has a label: is the label in a column of another name? A job over a "
            "corpus without labels must be asked for with discover=true"
        ]
    n_labeled = sum(n for _, n in labels)
    return [*alike(labels), *placeholders(labels), *rare(labels), *no_rest(n_labeled, n_documents)]


def no_rest(n_labeled: int, n_documents: int) -> Iterable[str]:
    """Whether nothing is left to categorize."""
    if n_labeled == n_documents:
        yield f"all {n_documents} documents have a label: a job needs some without one, which it categorizes"


def alike(labels: Labels) -> Iterable[str]:
    """Labels that look like the same one."""
    groups = defaultdict(list)
    for label, n in labels:
        groups[skeleton(label)].append((label, n))
    found = [group for group in groups.values() if len(group) > 1]
    for group in found[:MAX_NAMED]:
        names = " and ".join(f"{quoted(label)} ({documents(n)})" for label, n in group)
        yield (
            f"the labels {names} differ in nothing but case, blanks, width or signs that nobody sees: if they are one, "
            "upload their documents again under one name, with on_conflict=replace"
        )
    if len(found) > MAX_NAMED:
        yield f"{len(found) - MAX_NAMED} more groups of labels differ in no more than that"


def placeholders(labels: Labels) -> Iterable[str]:
    """Labels that seem to say that there is none."""
    found = [(label, n) for label, n in labels if skeleton(label) in PLACEHOLDERS]
    if found:
        names = listed([f"{quoted(label)} ({documents(n)})" for label, n in found])
        yield (
            f"{names} {'looks' if len(found) == 1 else 'look'} like no label, but {'is' if len(found) == 1 else 'are'} "
            f"taken as a category: if it means none, upload again with unlabeled={found[0][0]} and on_conflict=replace"
        )


def rare(labels: Labels) -> Iterable[str]:
    """Labels of too few documents."""
    found = [(label, n) for label, n in labels if n < MIN_DOCUMENTS]
    if found:
        names = listed([f"{quoted(label)} ({n})" for label, n in found])
        yield (
            f"{len(found)} of {len(labels)} labels {'has' if len(found) == 1 else 'have'} fewer than {MIN_DOCUMENTS} "
            f"documents, which is little to learn from: {names}"
        )


def skeleton(label: str) -> str:
    """What labels have in common that differ in case, blanks, width or signs that nobody sees."""
    folded = caseless_form(label)
    return "".join(
        character for character in folded if not character.isspace() and unicodedata.category(character) not in HIDDEN
    )


HIDDEN = ("Cf", "Cc")  # of characters: formats, such as a joiner of width zero, and controls


def quoted(label: str) -> str:
    """A label as a sentence names it, with what nobody sees in it written out."""
    shown = "".join(
        rf"\u{ord(character):04x}" if unicodedata.category(character) in HIDDEN else character for character in label
    )
    return f"“{shown if len(shown) <= 50 else shown[:49] + '…'}”"


def documents(n: int) -> str:
    """A number of documents."""
    return "1 document" if n == 1 else f"{n} documents"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, the first ones of many."""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more
