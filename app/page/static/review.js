// The review: one document after the other, decided by keys or buttons.
import { ask, show } from "./api.js";
import { fill, refresh } from "./review_card.js";
import { Sitting } from "./review_sitting.js";
import { decide } from "./decide.js";

const section = document.getElementById("sitting");
const nothing = document.getElementById("nothing");
const help = document.getElementById("help");
const keysOn = document.getElementById("keys-on");
const refusal = section.querySelector(".refusal");
const sitting = new Sitting(section.dataset.job, (path) => ask("GET", path));
const KEYS = { a: "accept", r: "runner-up", k: "other", n: "new", p: "promote", x: "none", s: "skip", u: "undo", "?": "help" };
let busy = false;

// What each key does with the document that is shown. Of a doubtful label, the proposal is what the audit suggests.
const actions = {
  accept: (item) => (item.why === "label" ? settle(item, { kind: "accept" }, `Accepted ${item.runner_up.name}`) : pin(item, item)),
  "runner-up": (item) => item.runner_up && pin(item, item.why === "label" ? item : item.runner_up),
  other: () => open("other"),
  new: () => open("new"),
  promote: (item) => !item.known && open("promote", item),
  none: (item) => settle(item, { kind: "none" }, "Set aside"),
  skip: (item) => {
    sitting.skip(item);
    return advance("Skipped.");
  },
};

function pin(item, { category, name }) {
  return settle(item, { kind: "pin", category: reference(category, name) }, `Pinned to ${name}`);
}

// Categories are named by their ids; names may be those of several.
function reference(category, name) {
  return categoryNames().find((each) => Number(each.dataset.category) === category)?.dataset.id ?? name;
}

const categoryNames = () => [...document.querySelectorAll("#category-names option")];

async function settle(item, decision, said) {
  const made = await decide(section, [{ ...decision, documents: [item.key] }]);
  sitting.decided(item, made.last);
  await advance(`${said}.`);
  refresh();
}

async function undo() {
  const last = sitting.last();
  if (!last) return tell("Nothing was decided in this sitting.");
  try {
    await decide(section, [{ kind: "undo", decision: last.number }]);
  } catch (error) {
    if (error.status) sitting.forget(last.number); // the list below has it still, with the reason
    throw error;
  }
  sitting.takeBack(last.number);
  await advance("Taken back.");
  refresh();
}

async function advance(said) {
  close();
  await sitting.refill();
  present();
  const n = sitting.state.decided.length;
  tell(`${said} ${n} decided.${n ? " Undo with u." : ""}`);
  (sitting.current ? document.getElementById("question") : nothing.querySelector("button")).focus();
}

// In a place of its own: messages that come and go would cover the text, one over the other.
function tell(sentence) {
  for (const place of [document.getElementById("said"), document.getElementById("nothing-said")]) place.textContent = sentence;
}

function present() {
  const item = sitting.current;
  const n = sitting.state.decided.length;
  section.hidden = !item;
  nothing.hidden = Boolean(item);
  for (const button of document.querySelectorAll('[data-do="undo"]')) button.disabled = !n;
  document.getElementById("progress").textContent = sitting.progress();
  if (item) fill(sitting.job, item, sitting.next);
}

// Forms that a key opens; Escape closes them.
function open(name, item) {
  close();
  const form = section.querySelector(`[data-ask="${name}"]`);
  const field = form.querySelector("input");
  field.value = "";
  if (item) form.querySelector("[data-name]").textContent = item.name;
  form.hidden = false;
  field.focus();
}

function close() {
  refusal.hidden = true;
  for (const form of section.querySelectorAll("[data-ask]")) form.hidden = true;
}

const answers = {
  other: (item, typed) => {
    const found = matching(typed);
    if (found.length !== 1) throw new Error(found.length ? `${found.length} categories fit “${typed}”: type more of the name.` : `There is no category “${typed}”. With n you make one.`);
    return settle(item, { kind: "pin", category: found[0].dataset.id }, `Pinned to ${found[0].value}`);
  },
  new: (item, typed) => settle(item, { kind: "pin", new_category: typed }, `Pinned to ${typed}, a category of its own`),
  promote: async (item, typed) => {
    await decide(section, [{ kind: "promote", category: reference(item.category, item.name), name: typed }]);
    sitting.promoted(item.category, typed);
    close();
    tell(`Promoted: ${typed} is a known category. The document is still to be decided.`);
    present();
    document.getElementById("question").focus();
    refresh();
  },
};

// The categories that typed text means: the one of this name, or those whose names have it.
function matching(typed) {
  const wanted = typed.toLocaleLowerCase();
  const names = categoryNames();
  const same = names.filter((each) => each.value.toLocaleLowerCase() === wanted);
  return same.length ? same : names.filter((each) => each.value.toLocaleLowerCase().includes(wanted));
}

// One thing at a time; what is refused is told, and the document stays.
async function act(action) {
  if (busy) return;
  busy = true;
  refusal.hidden = true;
  section.setAttribute("aria-busy", "true");
  try {
    await action();
  } catch (error) {
    if (nothing.hidden) show(error.problem ? error : { problem: { detail: error.message } }, refusal);
    else tell(error.message);
  } finally {
    busy = false;
    section.removeAttribute("aria-busy");
  }
}

function run(name) {
  if (name === "help") return help.open ? help.close() : help.showModal();
  if (name === "undo") return act(undo);
  return sitting.current && act(() => actions[name](sitting.current));
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-do]");
  if (button) run(button.dataset.do);
  if (event.target.closest("[data-close]")) leave();
});

function leave() {
  close();
  document.getElementById("question").focus();
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.closest("[data-ask]")) return leave();
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || help.open || !keysOn.checked) return undefined;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return undefined;
  const name = KEYS[event.key];
  if (!name || (section.hidden && nothing.hidden)) return undefined;
  event.preventDefault(); // or the letter would be typed into the field that opens
  return run(name);
});

section.addEventListener("submit", (event) => {
  const form = event.target;
  const typed = form.querySelector("input")?.value.trim();
  if (!form.dataset.ask) return;
  event.preventDefault();
  if (typed) act(() => answers[form.dataset.ask](sitting.current, typed));
});

// A decision of this sitting that was undone in the list comes back; what was decided about categories changes names.
document.addEventListener("decided", (event) => {
  const undone = event.detail.decisions.find((each) => each.kind === "undo");
  if (!undone || !sitting.state.decided.some((each) => each.number === undone.decision)) return;
  event.preventDefault();
  sitting.takeBack(undone.decision);
  act(() => advance("Taken back."));
  refresh();
});

keysOn.checked = localStorage.getItem("newfound-keys") !== "off";
keysOn.addEventListener("change", () => localStorage.setItem("newfound-keys", keysOn.checked ? "on" : "off"));

act(async () => {
  section.hidden = false;
  await sitting.refill();
  present();
});
