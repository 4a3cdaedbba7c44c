// A file becomes documents of a corpus: dropped or chosen, checked by the service, corrected by its user, added.
import { ask, base, Refused, show } from "./api.js";
import { afterwards, bytes, element, plural } from "./elements.js";
import { sendFile } from "./send_file.js";
import { appendRoles, chosenColumns, namesOf, rolesOf, showColumns } from "./upload_columns.js";
import { outcome, report } from "./upload_found.js";

const TABLES = ["csv", "tsv", "xlsx", "parquet", "json", "ndjson"]; // formats that have columns
const panel = document.querySelector("[data-upload]");
const at = (name) => panel.querySelector(`[data-${name}]`);
const [input, choices, refusal] = ["input[type=file]", "form", ".refusal"].map((each) => panel.querySelector(each));
const progress = panel.querySelector("progress");

let corpus = panel.dataset.corpus;
let isOurs = false; // the corpus was made for this file, and has no document yet
let making, called; // the request that makes it, and its name
let file, columns, roles, request; // roles: null as long as the service finds out what the columns are

function begin(chosen) {
  if (!chosen || choices.inert) return; // the documents of another one are on their way
  [file, columns, roles] = [chosen, [], null];
  choices.reset();
  at("name").textContent = file.name;
  at("size").textContent = bytes(file.size);
  at("done").hidden = true;
  at("mapping").hidden = true;
  at("drop").hidden = true;
  at("work").hidden = false;
  at("work").focus();
  check();
}

// A corpus for the file, where the view has none: it is called like the file, and goes if nothing is added.
async function findCorpus() {
  const name = file.name.replace(/(\.[A-Za-z0-9]{1,7}){1,2}$/, "").slice(0, 200) || "Corpus";
  if (!corpus) {
    making ??= ask("POST", "/v1/corpora", { name }).finally(() => (making = null));
    [corpus, called, isOurs] = [(await making).id, name, true];
  }
  if (isOurs && called !== name) {
    await ask("PATCH", `/v1/corpora/${corpus}`, { name });
    called = name;
  }
  return `/v1/corpora/${corpus}/documents`;
}

// The file and everything that was said of it.
function formOf() {
  const form = new FormData();
  if (roles) appendRoles(form, roles);
  for (const field of choices.elements) {
    if (!field.name || !field.value.trim()) continue;
    if (field.dataset.list === undefined) form.append(field.name, field.value.trim());
    else for (const each of field.value.split(",").map((part) => part.trim()).filter(Boolean)) form.append(field.name, each);
  }
  form.append("file", file, file.name);
  return form;
}

async function check() {
  state("Checking the file …");
  const told = await send("?validate_only=true");
  if (!told) return;
  if (TABLES.includes(told.format)) offerColumns(namesOf(told.columns), rolesOf(told.columns));
  at("found").replaceChildren(...report(told));
  at("found").hidden = false;
  const n = told.added + told.replaced;
  at("add").textContent = n ? `Add ${plural(n, "document")}` : "Nothing new to add";
  at("add").disabled = !n;
  at("add").hidden = false;
  state("Checked. Nothing is stored yet.");
}

async function add() {
  state("Adding the documents …");
  choices.inert = true;
  const told = await send("");
  choices.inert = false;
  if (!told) return;
  isOurs = false;
  state("");
  at("work").hidden = true;
  const go = (address, words, kind) => element("a", { class: kind, href: `${base}/corpora/${corpus}${address}` }, words);
  const more = element("button", { type: "button" }, "Add another file");
  more.addEventListener("click", startAgain);
  at("done").replaceChildren(element("h3", {}, outcome(told)), ...report(told), element("div", { class: "actions" },
    go("/new-job", "Find the categories", "button primary"), go("", "Look at the corpus", "button"), more));
  at("done").hidden = false;
  at("done").focus();
}

// Send the file; what the service says, or nothing if it refuses or the choices have changed meanwhile.
async function send(query) {
  request?.abort();
  const mine = (request = new AbortController());
  for (const part of [refusal, at("offers"), at("found"), at("add")]) part.hidden = true;
  try {
    const path = await findCorpus();
    if (mine.signal.aborted) return undefined;
    progress.hidden = false;
    return await sendFile(path + query, formOf(), (share) => (progress.value = share), mine.signal);
  } catch (error) {
    if (error.name !== "AbortError") refused(error);
    return undefined;
  } finally {
    if (request === mine) progress.hidden = true;
  }
}

function refused(error) {
  if (!(error instanceof Refused)) throw error;
  state("");
  const { columns: names, suggested, sheets = [] } = error.problem;
  show({ problem: { ...error.problem, title: question(error.problem) } }, refusal);
  if (names) offerColumns(names, suggested ? rolesOf(suggested) : new Map());
  const offers = sheets.map((name) => offer(`Read the sheet ${name}`, () => (choices.sheet.value = name)));
  if (suggested?.charset) offers.push(offer(`Read it as ${suggested.charset}`, () => (choices.charset.value = suggested.charset)));
  if (names && suggested?.text.length) offers.push(offer("Use these columns", () => (roles = chosenColumns(at("columns")))));
  if (names && !suggested) offers.push(offer("The first row is a document", () => (choices.header.value = "false")));
  if (error.status === 0 || error.status >= 500) offers.push(offer("Try again", () => {}));
  at("offers").replaceChildren(...offers);
  at("offers").hidden = !offers.length;
}

// What a refusal of a file asks of its user, where that can be said in few words.
function question({ title, columns: names, suggested, sheets, status }) {
  if (names) return "What are the columns of this file?";
  if (suggested?.charset) return "Which encoding is this file in?";
  if (sheets) return "Which sheet is it?";
  return status === 422 ? "This file cannot be used as it is" : title;
}

// A button that says more of the file, and has it checked again.
function offer(words, choose) {
  const button = element("button", { type: "button", class: "primary" }, words);
  button.addEventListener("click", () => {
    choose();
    at("work").focus();
    check();
  });
  return button;
}

// Other columns than before are shown as the service takes them; what was chosen for the same ones stays.
function offerColumns(names, found) {
  const isSame = names.length === columns.length && names.every((name) => columns.includes(name));
  if (!isSame) [columns, roles] = [names, null];
  if (!roles) showColumns(at("columns"), columns, found);
  at("mapping").hidden = false;
}

function state(words) {
  at("state").textContent = words;
}

function startAgain() {
  request?.abort();
  at("work").hidden = at("done").hidden = true;
  at("drop").hidden = false;
  input.value = "";
  input.focus();
}

const checkSoon = afterwards(check);
choices.addEventListener("submit", (event) => event.preventDefault());
choices.addEventListener("change", (event) => {
  if (event.target.dataset.column !== undefined) roles = chosenColumns(at("columns"), event.target);
  checkSoon();
});
input.addEventListener("change", () => begin(input.files[0]));
at("other").addEventListener("click", startAgain);
at("add").addEventListener("click", add);

// A file may be dropped anywhere; the browser would leave the page for it otherwise.
for (const kind of ["dragenter", "dragover"]) {
  window.addEventListener(kind, (event) => {
    event.preventDefault();
    at("drop").classList.add("over");
  });
}
window.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) at("drop").classList.remove("over");
});
window.addEventListener("drop", (event) => {
  event.preventDefault();
  at("drop").classList.remove("over");
  const dropped = event.dataTransfer?.files ?? [];
  if (dropped.length === 1) begin(dropped[0]);
  else if (dropped.length) state("One file at a time, please; several texts can come as a ZIP.");
});

window.addEventListener("beforeunload", (event) => {
  if (choices.inert) event.preventDefault();
});

// Whoever leaves before anything is added leaves no empty corpus behind.
window.addEventListener("pagehide", () => {
  if (!isOurs) return;
  fetch(`${base}/v1/corpora/${corpus}`, { method: "DELETE", keepalive: true });
  [corpus, isOurs] = ["", false];
});
