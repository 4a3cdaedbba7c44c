// What people decide: forms that say one decision, under the name that this browser remembers.
import { ask, say, show } from "./api.js";
import { bodyOf } from "./page.js";

const REMEMBERED = "newfound-author";

// <form data-decision="pin" data-job="ID" data-json='{"documents": ["a"]}'> with fields named as members of a decision.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  const kind = form.dataset.decision;
  if (!kind) return;
  event.preventDefault();
  if (form.classList.contains("busy")) return;
  if (form.dataset.confirm && !window.confirm(form.dataset.confirm)) return;
  const place = form.querySelector(".refusal") ?? form.closest("section")?.querySelector(".refusal");
  if (place) place.hidden = true;
  form.classList.add("busy");
  try {
    const told = await decide(form.dataset.job, [{ kind, ...bodyOf(form, event.submitter) }]);
    const done = new CustomEvent("decided", { bubbles: true, cancelable: true, detail: told });
    if (form.dispatchEvent(done)) window.location.reload();
  } catch (refusal) {
    if (place) show(refusal, place);
    else say(refusal.message);
  } finally {
    form.classList.remove("busy");
  }
});

// Make decisions, once even if the request is sent again; returns them as they were made. Throws Refused.
export async function decide(job, decisions) {
  const author = localStorage.getItem(REMEMBERED) || undefined;
  const path = `/v1/jobs/${job}/decisions`;
  const headers = { "Idempotency-Key": freshKey() };
  try {
    return await ask("POST", path, { decisions, author }, headers);
  } catch (refusal) {
    if (refusal.status !== 0) throw refusal;
    return ask("POST", path, { decisions, author }, headers); // nobody knows whether the first one arrived
  }
}

// randomUUID is there in secure contexts alone, such as localhost.
function freshKey() {
  if (crypto.randomUUID) return crypto.randomUUID();
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

for (const field of document.querySelectorAll("[data-author]")) {
  field.value = localStorage.getItem(REMEMBERED) ?? "";
  field.addEventListener("change", () => localStorage.setItem(REMEMBERED, field.value.trim()));
}
