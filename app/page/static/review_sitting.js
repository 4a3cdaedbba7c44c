// A sitting: the documents that are to be decided, those that were, and those that were skipped.
// What a reload must not lose is kept for the tab.

const BUDGET = 20; // documents that are asked for at once
const FEW = 5; // documents left, below which more are asked for
const MOST_SKIPPED = 100; // keys that a request may name
const LONGEST = 6000; // characters of them in an address

export class Sitting {
  constructor(job, get) {
    this.job = job;
    this.get = get;
    this.place = `newfound-review-${job}`;
    this.state = { decided: [], skipped: [], returned: [], ...JSON.parse(sessionStorage.getItem(this.place) ?? "{}") };
    this.queue = [...this.state.returned];
    this.found = null;
    this.isAtEnd = false;
  }

  get current() {
    return this.queue[0];
  }

  get next() {
    return this.queue[1];
  }

  keep() {
    sessionStorage.setItem(this.place, JSON.stringify(this.state));
  }

  decided(item, number) {
    this.state.decided.push({ number, item });
    this.leave(item);
  }

  skip(item) {
    this.state.skipped.push(item.key);
    this.leave(item);
  }

  leave(item) {
    this.queue = this.queue.filter((each) => each.key !== item.key);
    this.state.returned = this.state.returned.filter((each) => each.key !== item.key);
    this.keep();
  }

  last() {
    return this.state.decided.at(-1);
  }

  forget(number) {
    this.state.decided = this.state.decided.filter((each) => each.number !== number);
    this.keep();
  }

  // The document of an undone decision is the next one: the service does not ask about it again by itself.
  takeBack(number) {
    const { item } = this.state.decided.find((each) => each.number === number);
    this.forget(number);
    this.queue.unshift(item);
    this.state.returned.unshift(item);
    this.keep();
  }

  // A category has another name, and is known.
  promoted(category, name) {
    for (const item of [...this.queue, ...this.state.returned]) {
      if (item.category === category) Object.assign(item, { name, known: true });
      if (item.runner_up?.category === category) item.runner_up.name = name;
    }
    this.keep();
  }

  // More documents: awaited if none is left, and otherwise in the background.
  async refill() {
    if (this.isAtEnd || this.queue.length > FEW) return;
    this.asked ??= this.fetch().finally(() => (this.asked = null));
    if (!this.queue.length) await this.asked;
    else this.asked.catch(() => {}); // the next refill asks again
  }

  async fetch() {
    const seen = [...this.state.skipped, ...this.queue.map((each) => each.key)];
    const query = new URLSearchParams();
    const named = [];
    for (const key of seen.slice(-MOST_SKIPPED).reverse()) {
      if (query.toString().length + 3 * key.length > LONGEST) break;
      query.append("skip", key);
      named.push(key);
    }
    query.append("budget", Math.min(BUDGET + seen.length - named.length, 500));
    const told = await this.get(`/v1/jobs/${this.job}/triage?${query}`);
    const gone = new Set([...seen, ...this.queue.map((each) => each.key), ...this.state.decided.map((each) => each.item.key)]);
    const fresh = told.documents.filter((each) => !gone.has(each.key));
    this.found = told.found;
    this.isAtEnd = !fresh.length;
    this.queue.push(...fresh);
  }

  progress() {
    const told = [`${this.state.decided.length} decided in this sitting`];
    if (this.state.skipped.length) told.push(`${this.state.skipped.length} skipped`);
    if (this.found) {
      const { unsure, edge, label, representative } = this.found;
      told.push(`the answer has ${unsure} unsure documents, ${edge} at an edge, ${label} doubtful labels, and ${representative} that stand for new categories`);
    }
    return `${told.join("; ")}.`;
  }
}
