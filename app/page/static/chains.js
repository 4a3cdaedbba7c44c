// The trace of a job, drawn while it grows, and the end of the job announced.
import { ask, say } from "./api.js";
import { TraceCharts } from "./trace_charts.js";

const MOST_DRAWS = 800; // that are asked for, of all chains together: a long trace is drawn by every n-th sweep
const PAGE = 1000;
const COUNTED = ["n_new_with_documents", "n_new", "n_categories"];

const figure = document.getElementById("trace");
const choice = document.getElementById("quantity");
const lower = figure.dataset.lower.split(" ");
const charts = new TraceCharts(document.getElementById("charts"));
const traces = new Map(); // by chain: its number, its sweeps, and an array of each quantity
let shape = ""; // what charts are built for

// What the page said of the job at its last look.
function seen() {
  const { status, says, ready, chains, sweeps, burnIn } = document.getElementById("watch").dataset;
  const done = chains.trim().split(/\s+/).filter(Boolean).map((each) => each.split(":").map(Number));
  return { status, says, ready, done, sweeps: Number(sweeps), burnIn: Number(burnIn) };
}

const everyOf = (now) => Math.max(1, Math.ceil((now.sweeps * now.done.length) / MOST_DRAWS));

// Ask for what is new: of all chains at once at first, then of each chain that has more.
async function follow(now) {
  const every = everyOf(now);
  if (!traces.size) return read(`every=${every}`);
  const more = now.done.filter(([chain, done]) => Math.floor(done / every) * every > last(chain));
  await Promise.all(more.map(([chain]) => read(`chain=${chain}&after=${last(chain)}&every=${every}`)));
}

const last = (chain) => traces.get(chain)?.sweeps.at(-1) ?? 0;

async function read(query) {
  for (let cursor = ""; cursor !== null; ) {
    const address = `${figure.dataset.trace}?${query}&limit=${PAGE}`;
    const told = await ask("GET", cursor ? `${address}&cursor=${encodeURIComponent(cursor)}` : address);
    told.draws.forEach(keep);
    cursor = told.next;
  }
}

function keep(draw) {
  if (!traces.has(draw.chain)) {
    const empty = Object.fromEntries([...COUNTED, ...lower].map((name) => [name, []]));
    traces.set(draw.chain, { chain: draw.chain, sweeps: [], ...empty });
  }
  if (draw.sweep <= last(draw.chain)) return;
  const trace = traces.get(draw.chain);
  trace.sweeps.push(draw.sweep);
  for (const name of [...COUNTED, ...lower]) trace[name].push(draw[name]);
}

function draw(now, again = false) {
  const shown = [...traces.values()].sort((one, other) => one.chain - other.chain);
  const label = { log_joint: figure.dataset.objective };
  const quantities = [
    { name: choice.value, label: choice.selectedOptions[0].textContent, counts: true },
    ...lower.map((name) => ({ name, label: label[name] ?? name, counts: false })),
  ];
  const facts = { every: everyOf(now), sweeps: now.sweeps, burnIn: now.burnIn };
  const wanted = JSON.stringify([shown.map((trace) => trace.chain), choice.value, facts]);
  if (!shown.length) return;
  if (again || wanted !== shape) charts.build(shown, quantities, facts);
  else charts.update(shown, quantities, facts);
  shape = wanted;
  figure.dataset.points = shown.reduce((n, trace) => n + trace.sweeps.length, 0);
  document.getElementById("trace-said").textContent = sentence(shown, facts.every);
  document.getElementById("trace-thinned").textContent =
    facts.every > 1 ? `One sweep in ${facts.every} is drawn; the CSV file has all.` : "";
}

// The charts in words: since when each chain has had as many categories as now.
function sentence(shown, every) {
  const name = choice.value;
  const what = { n_new_with_documents: ["new category with documents", "new categories with documents"],
    n_new: ["new category", "new categories"], n_categories: ["category", "categories"] }[name];
  const numbers = shown.map((trace) => trace[name].at(-1));
  if (shown.length > 4) {
    const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
    return `${shown.length} chains now have ${low === high ? low : `${low} to ${high}`} ${what[1]}.`;
  }
  return shown.map((trace, i) => {
    const changed = trace[name].findLastIndex((value) => value !== numbers[i]) + 1;
    return `Chain ${trace.chain} has had ${numbers[i]} ${what[numbers[i] === 1 ? 0 : 1]} since ${every > 1 ? "about " : ""}sweep ${trace.sweeps[changed]}.`;
  }).join(" ");
}

let before = seen();
let every = everyOf(before); // that the traces have
let busy = false;
let again = false; // the page was looked at while traces were being read

async function look() {
  announce(seen());
  again = true;
  if (busy) return;
  busy = true;
  try {
    while (again) {
      again = false;
      const now = seen();
      if (everyOf(now) !== every) traces.clear();
      every = everyOf(now);
      await follow(now);
      draw(now);
    }
  } catch (refusal) {
    document.getElementById("trace-said").textContent = `The trace could not be read: ${refusal.message}`;
  } finally {
    busy = false;
  }
}

// Only sentences are announced, not each number. Whoever has not moved on the page is led to the answer.
function announce(now) {
  const then = before;
  before = now;
  if (now.says === then.says) return;
  const untouched = window.scrollY < 100 && [document.body, null].includes(document.activeElement);
  const answer = document.getElementById("answer");
  if (now.status !== "succeeded" || then.status === "succeeded" || !answer) {
    document.getElementById("announcer").textContent = now.says;
    return;
  }
  document.title = `Ready: ${document.title}`;
  if (untouched) answer.focus({ preventScroll: true });
  say(`The answer is ready: ${now.ready}.`, 10);
}

document.addEventListener("refreshed", look);
choice.addEventListener("change", () => draw(seen()));
document.addEventListener("themechange", () => draw(seen(), true));
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(seen(), true));
look();
