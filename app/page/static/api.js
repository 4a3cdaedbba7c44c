// The public API from the browser: the only way in which the page changes anything.

export const base = document.documentElement.dataset.base;

export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `The service answered ${status}.`);
    this.status = status;
    this.problem = problem;
  }
}

// The JSON of an answer; throws Refused for a problem, and for a service that is away.
export async function ask(method, path, body, headers = {}) {
  const isFile = body instanceof FormData || body instanceof Blob;
  const sent = body === undefined || isFile ? body : JSON.stringify(body);
  const kind = body === undefined || isFile ? {} : { "Content-Type": "application/json" };
  let answer;
  try {
    answer = await fetch(base + path, { method, body: sent, headers: { ...kind, ...headers } });
  } catch {
    throw new Refused(0, { detail: "The service did not answer. Is it still running? Try again in a moment." });
  }
  const text = await answer.text();
  let told = {};
  try {
    told = text ? JSON.parse(text) : {};
  } catch {
    told = { detail: text.slice(0, 300) };
  }
  if (!answer.ok) throw new Refused(answer.status, told);
  return told;
}

// Tell a refusal in an element made for it (`.refusal`): what happened, and which parts of the request were at fault.
export function show(refusal, place) {
  const problem = refusal.problem ?? { detail: String(refusal) };
  const title = document.createElement("strong");
  title.textContent = problem.title ?? "That did not work";
  const detail = document.createElement("div");
  detail.textContent = problem.detail ?? "";
  const faults = document.createElement("ul");
  for (const each of (problem.errors ?? []).slice(0, 20)) {
    const item = document.createElement("li");
    item.textContent = `${each.where ?? `line ${each.line}`}: ${each.reason}`;
    faults.append(item);
  }
  place.replaceChildren(title, detail, ...(faults.children.length ? [faults] : []));
  place.hidden = false;
}

// A sentence that goes away by itself; screen readers read it.
export function say(sentence, seconds = 6) {
  const line = document.createElement("div");
  line.className = "message";
  line.textContent = sentence;
  document.getElementById("messages").append(line);
  setTimeout(() => line.remove(), seconds * 1000);
}
