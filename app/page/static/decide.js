// What a person decides about an answer: <form data-decision="promote"> within an element with data-job="ID", or with it.
//
// Fields become the members of one decision by their names (data-type says number, as in every form), beside those of
// data-json. `documents` and `categories` are lists: each field with such a name adds one, and a text area one a line.
// Who decides is asked for by fields named `author`, or with data-author outside of forms, and remembered by the browser.
// With data-etag on an element around the form, what was decided in between is refused, not overwritten.
// The event `decided` on the form has the answer; unless somebody prevents it, the view is read again, or the one at
// data-then, where the category of this view may be no more.
import { ask, base, say, show } from "./api.js";
import { bodyOf } from "./page.js";

const LISTS = ["documents", "categories"];
const REMEMBERED = "newfound-author";

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.decision) return;
  event.preventDefault();
  if (form.classList.contains("busy")) return;
  if (form.dataset.confirm && !window.confirm(form.dataset.confirm)) return;
  const place = form.querySelector(".refusal") ?? form.closest("section, article, .panel")?.querySelector(".refusal");
  if (place) place.hidden = true;
  form.classList.add("busy");
  try {
    const told = await decide(form, [decisionOf(form, event.submitter)], form.elements.author?.value);
    const answered = new CustomEvent("decided", { bubbles: true, cancelable: true, detail: told });
    if (!form.dispatchEvent(answered)) return;
    say(form.dataset.said ?? "Decided.");
    if (form.dataset.then) window.location.assign(base + form.dataset.then);
    else window.location.reload();
  } catch (refusal) {
    if (place) show(refusal, place);
    else say(refusal.message);
  } finally {
    form.classList.remove("busy");
  }
});

// One decision, as a form says it. What others are merged into is one of those that are merged.
export function decisionOf(form, submitter) {
  const decision = { kind: form.dataset.decision, ...bodyOf(form, submitter) };
  delete decision.author;
  for (const name of LISTS) {
    const fields = [...form.elements].filter((field) => field.name === name && !field.disabled);
    const values = fields.flatMap((field) => (field.tagName === "TEXTAREA" ? field.value.split("\n") : [field.value]));
    const found = values.map((value) => value.trim()).filter(Boolean);
    if (found.length) decision[name] = found;
  }
  if (decision.kind === "merge" && decision.into && !decision.categories.includes(decision.into)) {
    decision.categories.push(decision.into);
  }
  return decision;
}

// Send decisions about the job that `element` is of: once, even if nobody knows whether the first request arrived.
export async function decide(element, decisions, author = localStorage.getItem(REMEMBERED)) {
  const { job } = element.closest("[data-job]").dataset;
  const tag = element.closest("[data-etag]")?.dataset.etag;
  const body = author ? { decisions, author } : { decisions };
  const headers = { "Idempotency-Key": freshKey(), ...(tag ? { "If-Match": tag } : {}) };
  const send = () => ask("POST", `/v1/jobs/${job}/decisions`, body, headers);
  try {
    return await send();
  } catch (refusal) {
    if (refusal.status !== 0) throw refusal;
    return send();
  }
}

// randomUUID is there in secure contexts alone, such as localhost.
function freshKey() {
  if (crypto.randomUUID) return crypto.randomUUID();
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const authors = () => document.querySelectorAll("[data-author], form[data-decision] [name=author]");
for (const field of authors()) field.value ||= localStorage.getItem(REMEMBERED) ?? "";
document.addEventListener("change", (event) => {
  if (![...authors()].includes(event.target)) return;
  localStorage.setItem(REMEMBERED, event.target.value.trim());
  for (const field of authors()) field.value = event.target.value;
});
