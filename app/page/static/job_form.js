// The form for a job: what it will take and what becomes words are asked of the API again as settings change.
import { ask, show } from "./api.js";
import { afterwards, bytes, duration, element, plural } from "./elements.js";
import { bodyOf } from "./page.js";
import { preview, short } from "./preview.js";

const N_PREVIEWED = 4; // documents
const form = document.querySelector("[data-job-form]");
const at = (name) => form.querySelector(`[data-${name}]`);
const refusal = form?.querySelector(".refusal");

// Settings of other methods than the chosen one are neither shown nor sent.
function chooseMethod() {
  for (const part of form.querySelectorAll("[data-for]")) {
    part.disabled = part.hidden = !part.dataset.for.split(" ").includes(at("model").value);
  }
}

// Only the answer to the last question counts: an earlier one may come later.
function latest(question, answered, failed) {
  let n = 0;
  return async () => {
    const mine = ++n;
    try {
      const told = await question();
      if (mine === n) answered(told);
    } catch (error) {
      if (mine === n) failed(error);
    }
  };
}

const note = (words) => element("p", { class: "note warn" }, words);

const check = latest(
  () => ask("POST", "/v1/jobs?validate_only=true", bodyOf(form)),
  ({ forecast, warnings, settings }) => {
    refusal.hidden = true;
    const workers = plural(forecast.workers, "worker");
    at("forecast").textContent = `About ${duration(forecast.seconds_on_workers)} on ${workers}, with up to ${bytes(forecast.peak_bytes)} of memory each.`;
    at("warnings").replaceChildren(...warnings.map(note));
    at("method-short").textContent = `${settings.model}, ${plural(settings.chains, "chain")} of ${plural(settings.sweeps, "sweep")}`;
    showDefaults(settings);
  },
  (error) => {
    at("forecast").textContent = "The job cannot start like this:";
    at("warnings").replaceChildren();
    show(error, refusal);
  },
);

// What the job would have where a field is blank stands in it as a hint.
function showDefaults(settings) {
  for (const field of form.querySelectorAll("input[name]:not([type=checkbox])")) {
    if (field.value) continue;
    const value = field.name.split(".").reduce((inner, step) => inner?.[step], settings);
    if (value !== undefined && value !== null) field.placeholder = Array.isArray(value) ? value.join(", ") : value;
  }
}

const look = latest(
  () => ask("POST", `/v1/corpora/${form.dataset.corpus}/preview`, { text: bodyOf(form).text ?? {}, documents: N_PREVIEWED }),
  (told) => {
    at("words-short").textContent = short(told);
    at("preview").replaceChildren(...told.warnings.map(note), ...preview(told));
  },
  (error) => {
    const place = element("div", { class: "refusal" });
    show(error, place);
    at("preview").replaceChildren(place);
  },
);

if (form) {
  const [checkSoon, lookSoon] = [afterwards(check), afterwards(look)];
  form.addEventListener("input", (event) => {
    if (event.target === at("model")) chooseMethod();
    if (["name", "note", "tags"].includes(event.target.name)) return;
    checkSoon();
    if (event.target.name.startsWith("text.")) lookSoon();
  });
  chooseMethod();
  check();
  look();
}
