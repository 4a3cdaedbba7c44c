// The sample corpus, loaded and categorized: each step is one request of the public API, and is told.
import { ask, base, show } from "./api.js";
import { element } from "./elements.js";

const NDJSON = { "Content-Type": "application/x-ndjson" };
const place = document.querySelector("[data-first]");
const button = place?.querySelector("[data-first-run]");
const refusal = place?.querySelector(".refusal");
const steps = place?.querySelector("[data-first-steps]");

// What is done is kept, so that another try goes on from there. An upload that comes twice changes nothing.
const done = {};

async function step(name, words, work) {
  if (name in done) return;
  const line = element("li", {}, words);
  steps.append(line);
  try {
    done[name] = await work();
    line.append(" Done.");
  } catch (error) {
    line.append(" Failed.");
    throw error;
  }
}

async function upload(name) {
  const file = await fetch(`${base}/sample/${name}`);
  if (!file.ok) throw new Error(`The sample file ${name} could not be read.`);
  return ask("POST", `/v1/corpora/${done.corpus.id}/documents`, await file.blob(), NDJSON);
}

async function run() {
  button.disabled = true;
  refusal.hidden = true;
  steps.hidden = false;
  steps.replaceChildren();
  try {
    await step("corpus", "Make a corpus.", () => ask("POST", "/v1/corpora", { name: "Sample: abstracts of arXiv" }));
    await step("labeled", "Upload the abstracts with labels.", () => upload("labeled.ndjson"));
    await step("unlabeled", "Upload the abstracts without labels.", () => upload("unlabeled.ndjson"));
    await step("job", "Start the job.", () => ask("POST", "/v1/jobs", { corpus_id: done.corpus.id, name: "First look" }));
    window.location.assign(`${base}/jobs/${done.job.id}`);
  } catch (error) {
    show(error, refusal);
    button.textContent = "Try again";
  } finally {
    button.disabled = false;
  }
}

button?.addEventListener("click", run);
