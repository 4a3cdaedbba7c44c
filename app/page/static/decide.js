// What a person decides about an answer: <form data-decision="promote"> within an element with data-job="ID".
//
// Fields become the members of one decision by their names (data-type says number, as in every form). `documents` and
// `categories` are lists: each field with such a name adds one, and a text area one a line. `author` is said of the
// request. With data-etag on an element around the form, what was decided in between is refused, not overwritten.
// The event `decided` on the form has the answer; unless somebody prevents it, the view is read again.
import { ask, say, show } from "./api.js";
import { bodyOf } from "./page.js";

const LISTS = ["documents", "categories"];

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.decision) return;
  event.preventDefault();
  if (form.dataset.confirm && !window.confirm(form.dataset.confirm)) return;
  const place = form.querySelector(".refusal");
  if (place) place.hidden = true;
  form.classList.add("busy");
  try {
    const told = await decide(form, [decisionOf(form, event.submitter)], form.elements.author?.value);
    const answered = new CustomEvent("decided", { bubbles: true, cancelable: true, detail: told });
    if (!form.dispatchEvent(answered)) return;
    say(form.dataset.said ?? "Decided.");
    window.location.reload();
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

// Send decisions about the job that `element` is of.
export function decide(element, decisions, author) {
  const { job } = element.closest("[data-job]").dataset;
  const tag = element.closest("[data-etag]")?.dataset.etag;
  const body = author ? { decisions, author } : { decisions };
  return ask("POST", `/v1/jobs/${job}/decisions`, body, tag ? { "If-Match": tag } : {});
}
