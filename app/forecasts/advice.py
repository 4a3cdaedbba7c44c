"""What a preview of texts suggests, in sentences with what to do."""

from collections.abc import Iterator

from app.forecasts.preview import Preview, Share
from sampler.text import AUTO, STOP_WORD_LANGUAGES, TextOptions

WORTH_A_WARNING = 0.05  # share of documents
SECOND_LANGUAGE, MANY_ADDRESSES, MANY_COPIES = 0.1, 0.2, 0.2
FEW_WORDS = 5
MARKUP_NAMES = {"html": "HTML", "markdown": "Markdown", "mail": "mail with headers, quotes or signatures"}
SPACELESS = ("Han and kana", "Thai", "Lao", "Khmer", "Myanmar")


def warnings(preview: Preview, options: TextOptions, n_documents: int, n_copies: int) -> list[str]:
    """Sentences about the texts of a corpus, the gravest first."""
    if n_documents == 0:
        return ["The corpus has no documents: upload some first."]
    return [
        *about_lengths(preview, options),
        *about_markup(preview, options),
        *about_languages(preview, options),
        *about_scripts(preview, options),
        *about_copies(n_documents, n_copies, options),
    ]


def percent(share: float) -> str:
    """A share as people write it."""
    return f"{100 * share:.0f} %" if share >= 0.01 else "less than 1 %"


def about_lengths(preview: Preview, options: TextOptions) -> Iterator[str]:
    """Documents that keep no word, or few."""
    how = (
        f"lower text.min_document_frequency (now {options.min_document_frequency}) or text.min_word_length "
        f"(now {options.min_word_length})"
    )
    if options.stop_words not in (AUTO, "none"):
        how += ", or set text.stop_words to auto"
    if preview.n_empty:
        yield f"{percent(preview.n_empty / preview.n_sampled)} of the sampled documents keep no word: {how}."
    if preview.n_tokens[2] < FEW_WORDS:
        yield f"Most documents keep fewer than {FEW_WORDS} words, and short texts are told apart less well: {how}."


def about_markup(preview: Preview, options: TextOptions) -> Iterator[str]:
    """Markup and addresses whose parts would count as words."""
    for kind, share in preview.markup:
        if share >= WORTH_A_WARNING and kind is not None and kind not in options.markup:
            wanted = ", ".join(f'"{name}"' for name in (*options.markup, kind))
            like = MARKUP_NAMES[kind]
            yield f"{percent(share)} of the sampled documents look like {like}: set text.markup to [{wanted}]."
    if preview.addresses >= MANY_ADDRESSES and options.urls == "keep":
        yield f"{percent(preview.addresses)} of the sampled documents have URLs: set text.urls to drop or join."


def about_languages(preview: Preview, options: TextOptions) -> Iterator[str]:
    """The language, what was done for it, and other languages."""
    facts = preview.encoded.facts
    if options.stop_words == AUTO:
        lists = " and ".join(facts.stop_words)
        language = f"The language of most texts is {facts.language}" if facts.language else "The language is not clear"
        if facts.stop_words:
            yield f"{language}; the stop words of {lists} are left out."
        elif facts.language in STOP_WORD_LANGUAGES or facts.language is None:
            yield (
                f"{language}; the texts are so short that stop words are kept: name a language in text.stop_words to "
                "drop them."
            )
        else:
            yield f"{language}, which has no list of stop words: give your own in text.extra_stop_words."
    others = [
        Share(name, share)
        for name, share in preview.languages
        if share >= SECOND_LANGUAGE and name in STOP_WORD_LANGUAGES and name not in (facts.language, *facts.stop_words)
    ]
    if others and facts.stop_words:
        named = ", ".join(f"{name} ({percent(share)})" for name, share in others)
        wanted = ", ".join(f'"{name}"' for name in (*facts.stop_words, *(name for name, _ in others)))
        yield f"Some sampled documents are in other languages: {named}; set text.stop_words to [{wanted}]."


def about_scripts(preview: Preview, options: TextOptions) -> Iterator[str]:
    """Scripts without spaces."""
    share = sum(share for name, share in preview.scripts if name in SPACELESS)
    if share >= WORTH_A_WARNING:
        if options.ngram_length is None:
            yield (
                f"{percent(share)} of the words are in scripts without spaces and are left whole: set "
                "text.character_ngrams to auto unless the texts are segmented already."
            )
        else:
            yield (
                f"{percent(share)} of the words are in scripts without spaces and are cut into pieces of "
                f"{options.ngram_length} characters: set text.character_ngrams to none if they are segmented already."
            )


def about_copies(n_documents: int, n_copies: int, options: TextOptions) -> Iterator[str]:
    """Many copies."""
    if n_copies >= MANY_COPIES * n_documents:
        done = "count as one text" if options.join_copies else "count each: set text.join_copies to true"
        yield f"{percent(n_copies / n_documents)} of the documents are copies of others; copies {done}."
