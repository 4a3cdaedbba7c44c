// The document that is asked about: what a decision settles, its two likeliest categories, and its text as its own view shows it.
import { base } from "./api.js";

const WHY = {
  representative: "It stands for a new category: one look says what that one is.",
  edge: "It is at the edge of its category.",
  unsure: "It is among the least probable documents of its category.",
  label: "Its label is doubtful.",
};
const SOON = 400; // milliseconds after the last decision until lists are read again
const readings = new Map(); // key: a promise of the element
let soon;
let shown; // the key of the document

export function fill(job, item, next) {
  document.getElementById("question").textContent = question(item);
  document.getElementById("why").textContent = reasons(item);
  const isLabel = item.why === "label";
  const proposed = isLabel ? item.runner_up : item;
  const other = isLabel ? item : item.runner_up;
  choice("accept", proposed, isLabel ? "Accept what the audit suggests: " : "Accept: ");
  choice("runner-up", other, isLabel ? "Keep the label: " : "Runner-up: ");
  document.querySelector('[data-do="promote"]').hidden = item.known;
  shown = item.key;
  const card = document.getElementById("card");
  card.replaceChildren(beginning(item));
  // The whole text comes when it comes; nobody need wait for it to decide, and without it the beginning stays.
  reading(job, item).then((found) => shown === item.key && card.replaceChildren(found.cloneNode(true))).catch(() => {});
  if (next) reading(job, next).catch(() => {});
}

// The words of `settles` as a question.
function question(item) {
  const other = item.runner_up?.name;
  if (item.why === "representative") return `Is “${item.name}” a category of its own?`;
  if (item.why === "label") return `Is the label “${item.label}” right?${other ? ` The document looks like ${other}.` : ""}`;
  return other ? `${item.name}, or ${other}?` : `Is it of ${item.name}?`;
}

function reasons({ why, documents }) {
  if (why === "label") return documents > 1 ? `${WHY.label} ${documents} labels look the same way.` : WHY.label;
  return documents > 1 ? `${WHY[why]} Your decision speaks for ${documents} documents.` : WHY[why];
}

function choice(name, category, before) {
  const button = document.querySelector(`#choices [data-do="${name}"]`);
  button.hidden = !category;
  if (!category) return;
  button.querySelector("[data-name]").textContent = before + category.name;
  button.querySelector("[data-share]").textContent = category.probability === null ? "" : percent(category.probability);
}

// As `percent` of the views says it.
function percent(share) {
  if (share > 0 && share < 0.005) return "< 1 %";
  return share > 0.995 && share < 1 ? "> 99 %" : `${Math.round(100 * share)} %`;
}

function beginning(item) {
  const text = document.createElement("div");
  text.className = "whole-text";
  text.textContent = item.text + (item.shortened ? "…" : "");
  return text;
}

// The document's own view has all that is to be read; it is asked for once.
function reading(job, item) {
  const kept = readings.get(item.key);
  if (kept) return kept;
  const asked = read(`/jobs/${job}/documents/${encodeURIComponent(item.key)}`).then((view) => document.adoptNode(view.getElementById("reading")));
  readings.set(item.key, asked);
  asked.catch(() => readings.delete(item.key));
  return asked;
}

async function read(path) {
  const answer = await fetch(base + path, { headers: { Accept: "text/html" } });
  if (!answer.ok) throw new Error(`${answer.status}`);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

// The lists of this view as they are now: what was decided, the names of categories, what continuing would do.
export function refresh() {
  clearTimeout(soon);
  soon = setTimeout(async () => {
    const view = await read(window.location.pathname.slice(base.length) + window.location.search).catch(() => null);
    for (const id of view ? ["decided", "category-names"] : []) document.getElementById(id).replaceWith(document.adoptNode(view.getElementById(id)));
    const words = view?.querySelector("#continue p");
    if (words) document.querySelector("#continue p").replaceWith(document.adoptNode(words)); // the form may be half filled in
  }, SOON);
}
