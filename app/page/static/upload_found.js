// What a check has found in a file, or what became of an upload, for a person to read.
import { element, number, plural, table } from "./elements.js";

const MAX_ERRORS = 100; // lines that are listed
const FORMATS = { csv: "CSV", tsv: "TSV", json: "JSON", ndjson: "NDJSON", xlsx: "Excel", parquet: "Parquet",
  zip: "ZIP of texts", text: "plain text, a document a line", svmlight: "SVMlight" };
const DELIMITERS = { ",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe" };

// The counts, the warnings and the lines that cannot be used.
export function report(told) {
  return [counts(told), howRead(told), ...told.warnings.map((each) => element("p", { class: "note warn" }, each)), ...errors(told)];
}

function counts(told) {
  const facts = [
    [told.validated_only ? "documents found" : "documents are in the corpus now", told.accepted, true],
    ["with a label", told.labeled, true],
    ["without a label", told.unlabeled, true],
    ["were there before", told.unchanged, false],
    ["replace another one", told.replaced, false],
    ["with a vector", told.vectors, false],
    ["without text", told.empty, false],
    ["copies of another text", told.copies, false],
    ["lines cannot be used", told.rejected, false],
  ].filter(([, n, always]) => n || always);
  return element("dl", { class: "facts" }, ...facts.map(([name, n]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, number(n)))));
}

function howRead(told) {
  const delimiter = told.delimiter && `${DELIMITERS[told.delimiter] ?? told.delimiter} between columns`;
  const parts = [FORMATS[told.format] ?? told.format, told.charset, delimiter].filter(Boolean);
  return element("p", { class: "muted small" }, `Read as ${parts.join(", ")}.`);
}

function errors(told) {
  if (!told.rejected) return [];
  const shown = told.errors.slice(0, MAX_ERRORS);
  const rest = told.rejected - shown.length;
  const rows = shown.map(({ line, reason }) => [number(line), reason]);
  return [
    element("h3", {}, `${plural(told.rejected, "line")} cannot be used`),
    table("Lines that cannot be used", ["Line", "Why"], rows),
    rest ? element("p", { class: "muted" }, `and ${number(rest)} more.`) : null,
  ].filter(Boolean);
}

// What became of a whole upload, in one sentence.
export function outcome(told) {
  const parts = [told.added && `${plural(told.added, "document")} added`, told.replaced && `${number(told.replaced)} replaced`,
    told.unchanged && `${number(told.unchanged)} there before`, told.rejected && `${plural(told.rejected, "line")} left out`];
  return `Done: ${parts.filter(Boolean).join(", ")}.`;
}
