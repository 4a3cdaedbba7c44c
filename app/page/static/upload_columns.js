// Which column of a file is what: a table with a choice for each.
import { element } from "./elements.js";

const ROLES = { text: "text", counts: "word counts", label: "label", key: "key", vector: "vector", field: "kept as it is" };
const ALONE = ["label", "key", "vector", "counts"]; // roles that one column can have
const SAID = ["label", "key", "vector"]; // roles that a column may have by default, so that it is said if none has

// Show a choice for each column; `roles` is a Map from its name to what it is.
export function showColumns(body, names, roles) {
  body.replaceChildren(...names.map((name, n) => {
    const id = `upload-column-${n}`;
    const options = Object.entries(ROLES).map(([role, words]) =>
      element("option", { value: role, selected: role === (roles.get(name) ?? "field") }, words));
    const choice = element("select", { id, "data-column": name }, ...options);
    return element("tr", {}, element("th", { scope: "row" }, element("label", { for: id }, name)), element("td", {}, choice));
  }));
}

// The choices as they are; a role that only one column can have is taken from the one that had it.
export function chosenColumns(body, changed) {
  const choices = [...body.querySelectorAll("select")];
  if (changed && ALONE.includes(changed.value)) {
    for (const each of choices) if (each !== changed && each.value === changed.value) each.value = "field";
  }
  return new Map(choices.map((each) => [each.dataset.column, each.value]));
}

// Roles of columns as an answer or a refusal of the API says them.
export function rolesOf({ text = [], label, key, vector }) {
  const roles = new Map(text.map((name) => [name, name.toLowerCase() === "counts" ? "counts" : "text"]));
  for (const [name, role] of [[label, "label"], [key, "key"], [vector, "vector"]]) if (name) roles.set(name, role);
  return roles;
}

// The names of all columns, from an answer.
export function namesOf({ text, label, key, vector, fields }) {
  return [...text, ...[label, key, vector].filter(Boolean), ...fields];
}

// Put the roles into a form as the parameters of an upload; a role that no column has is said to have none.
export function appendRoles(form, roles) {
  const having = (role) => [...roles].filter(([, each]) => each === role).map(([name]) => name);
  for (const name of having("text")) form.append("text", name);
  for (const name of having("counts")) form.append("counts", name);
  for (const role of SAID) form.append(role, having(role)[0] ?? "");
}
