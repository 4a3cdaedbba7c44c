// What every view can do: forms that ask the API, parts that stay up to date, plots that can be saved, the theme.
import { ask, base, say, show } from "./api.js";
import { saveFigure } from "./figures.js";

// <form data-api="POST /v1/jobs/ID/extend" data-then="/jobs/{id}" data-confirm="Really?">
// Fields become JSON by their names, `calibrated.power` within `calibrated`. data-type says number, boolean,
// name-or-number; list or numbers (by commas), one-or-list or number-or-list (a single one is no list), lines; or, of boxes
// that make up one list, item or item-json. A blank field says nothing, or what its data-blank says, in JSON.
// data-then: "reload" (by default), or an address below the service, with members of the answer in braces.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.api) return;
  event.preventDefault();
  if (form.classList.contains("busy")) return; // a second click is no second job
  if (form.dataset.confirm && !window.confirm(form.dataset.confirm)) return;
  const [method, path] = form.dataset.api.split(" ");
  const place = form.querySelector(".refusal") ?? document.querySelector("main .refusal");
  if (place) place.hidden = true;
  form.classList.add("busy");
  reading.abort(); // what is being read may be gone in a moment
  try {
    const body = bodyOf(form, event.submitter);
    const told = await ask(method, path, method === "DELETE" || form.dataset.body === "none" ? undefined : body);
    const then = form.dataset.then ?? "reload";
    if (then === "reload") window.location.reload();
    else window.location.assign(base + then.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(told[name])));
  } catch (refusal) {
    if (place) show(refusal, place);
    else say(refusal.message);
    form.classList.remove("busy");
  }
});

// Whoever comes back to a view finds its forms ready again.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) for (const form of document.querySelectorAll("form.busy")) form.classList.remove("busy");
});

// The JSON that the fields of a form say.
export function bodyOf(form, submitter) {
  const body = form.dataset.json ? JSON.parse(form.dataset.json) : {};
  const fields = [...form.elements].filter((field) => field.name && !field.matches(":disabled") && field !== submitter);
  if (submitter?.name) fields.push(submitter);
  for (const field of fields) {
    if (field.type === "button" || (field.type === "submit" && field !== submitter)) continue;
    if (field.type === "radio" && !field.checked) continue;
    const value = valueOf(field);
    if (value === undefined) continue;
    const steps = field.name.split(".");
    const inner = steps.slice(0, -1).reduce((at, step) => (at[step] ??= {}), body);
    if (field.dataset.type?.startsWith("item")) (inner[steps.at(-1)] ??= []).push(value);
    else inner[steps.at(-1)] = value;
  }
  return body;
}

function valueOf(field) {
  if (field.dataset.type === "item") return field.checked ? field.value : undefined;
  if (field.dataset.type === "item-json") return field.checked ? JSON.parse(field.value) : undefined;
  if (field.type === "checkbox") return field.checked || (field.dataset.type === "boolean" ? false : undefined);
  const text = field.value.trim();
  if (!text) return field.dataset.blank === undefined ? undefined : JSON.parse(field.dataset.blank);
  if (field.dataset.type === "number") return Number(text);
  if (field.dataset.type === "name-or-number") return Number.isNaN(Number(text)) ? text : Number(text);
  if (field.dataset.type === "boolean") return text === "true";
  const parts = text.split(field.dataset.type === "lines" ? "\n" : ",").map((each) => each.trim()).filter(Boolean);
  const listed = field.dataset.type?.startsWith("number") ? parts.map(Number) : parts;
  if (["list", "numbers", "lines"].includes(field.dataset.type)) return listed;
  if (["one-or-list", "number-or-list"].includes(field.dataset.type)) return listed.length === 1 ? listed[0] : listed;
  return text;
}

document.addEventListener("click", (event) => {
  const save = event.target.closest("[data-save]");
  if (save) saveFigure(save.closest("figure"), save.dataset.save).catch((error) => say(String(error)));
  if (event.target.closest("[data-theme-toggle]")) toggleTheme();
});

// Selects and boxes of a form of filters take effect at once.
document.addEventListener("change", (event) => {
  if (event.target.form?.matches("[data-filters]")) event.target.form.requestSubmit();
});

function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ?? (window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset.theme = dark === "dark" ? "light" : "dark";
  localStorage.setItem("newfound-theme", root.dataset.theme);
  document.dispatchEvent(new Event("themechange"));
}

// <main> holds <section id="..." data-live="2">: every two seconds the page is read again, and the section replaced if it
// has changed. One without the attribute any more is the last.
const live = () => document.querySelector("[data-live]");
let reading = new AbortController();

async function refresh() {
  const at = live();
  if (!at) return;
  reading = new AbortController();
  try {
    const isBusy = document.querySelector("form.busy") !== null;
    const answer = isBusy ? undefined : await fetch(window.location.href, { signal: reading.signal });
    if (answer?.ok) {
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const old of document.querySelectorAll("[data-live]")) replace(old, fresh.getElementById(old.id));
      document.dispatchEvent(new Event("refreshed"));
    }
  } catch {
    // The service is away for a moment, or something is being changed; the next look may find it.
  }
  setTimeout(refresh, 1000 * Number(live()?.dataset.live ?? 5));
}

function replace(old, fresh) {
  if (!fresh) return window.location.reload(); // The view has become another one, such as a result.
  const [before, after] = [old, fresh].map((each) => each.querySelectorAll("details"));
  before.forEach((each, i) => after[i]?.toggleAttribute("open", each.open)); // What was opened stays open.
  if (old.outerHTML === fresh.outerHTML || old.contains(document.activeElement)) return undefined;
  return old.replaceWith(document.adoptNode(fresh));
}

document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
if (live()) setTimeout(refresh, 1000 * Number(live().dataset.live));
