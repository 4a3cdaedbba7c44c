// What becomes words: some documents with the words that are kept of them, and the words that are not, with the reason.
import { element, number, plural } from "./elements.js";

const MAX_TOKENS = 40; // words shown of a document

// The languages that are likely here, by the name that a reader knows.
const names = new Intl.DisplayNames(["en"], { type: "language" });
const languageOf = (code) => (code ? names.of(code) : "a language that was not recognized");

export function short(told) {
  return `${plural(told.vocabulary, "word")}, ${languageOf(told.language)}`;
}

export function preview(told) {
  const { median } = told.tokens_per_document;
  const stop = told.stop_words.length ? `without the stop words of ${told.stop_words.map(languageOf).join(" and ")}` : "with all stop words";
  return [
    element("p", {}, `About ${plural(told.vocabulary, "different word")} in ${plural(told.corpus_documents, "document")}, ${stop}. `
      + `Half of the documents keep more than ${plural(median, "word")}` + (told.empty ? `, and ${number(told.empty)} of ${number(told.sampled_documents)} keep none.` : ".")),
    element("h3", {}, "Most frequent words that are kept"),
    tokens(told.top_words.map(({ word, count }) => [word, `${number(count)} times`])),
    element("h3", {}, "Most frequent words that are left out"),
    reasons(told.dropped_words),
    element("h3", {}, "Some documents"),
    ...told.documents.map(previewed),
  ];
}

function tokens(words, kind = "") {
  return element("p", { class: "tokens" }, ...words.map(([word, title]) => element("span", { class: `token ${kind}`, title }, word)));
}

// One line a reason, so that nobody has to point at a word to learn it.
function reasons(dropped) {
  const kinds = [...new Set(dropped.map(({ reason }) => reason))];
  if (!kinds.length) return element("p", { class: "muted" }, "None.");
  return element("div", {}, ...kinds.flatMap((reason) => [
    element("p", { class: "small muted" }, `${reason}:`),
    tokens(dropped.filter((each) => each.reason === reason).map(({ word, count }) => [word, `${number(count)} times`]), "dropped"),
  ]));
}

function previewed(document) {
  const more = document.n_tokens - Math.min(document.tokens.length, MAX_TOKENS);
  return element("div", { class: "previewed" },
    element("p", { class: "small muted" }, document.key),
    element("p", { class: "small" }, document.text),
    tokens(document.tokens.slice(0, MAX_TOKENS).map((word) => [word, null])),
    element("p", { class: "small muted" }, document.n_tokens ? (more ? `and ${plural(more, "more word")}` : "") : "No word of it is kept."));
}
