// Elements made of what the API says; text is text, whatever it looks like.

// element("p", { class: "note", hidden: true }, "text", another element, ...)
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(attribute, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(attribute, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const number = (value) => value.toLocaleString("en");

export const plural = (n, name, several = `${name}s`) => `${number(n)} ${n === 1 ? name : several}`;

// A table with a heading for each column, in a region that scrolls by itself.
export function table(label, columns, rows) {
  const head = element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name)));
  const body = rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell))));
  return element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": label },
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
}

// Number and unit of a stretch of time or of an amount of memory, as a person says them.
export function duration(seconds) {
  for (const [unit, name] of [[86400, "day"], [3600, "hour"], [60, "minute"]]) {
    if (seconds >= 1.5 * unit) return plural(Math.round(seconds / unit), name);
  }
  return plural(Math.max(Math.round(seconds), 1), "second");
}

export function bytes(n) {
  for (const [unit, name] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
    if (n >= 0.95 * unit) return `${(n / unit).toLocaleString("en", { maximumFractionDigits: n < 9.5 * unit ? 1 : 0 })} ${name}`;
  }
  return plural(n, "byte");
}

// Do the work once nobody has asked for it again for a moment.
export function afterwards(work, milliseconds = 400) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds);
  };
}
