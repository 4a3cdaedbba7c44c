// Descriptions of categories: all rows of the form are sent together, in the place of those that were there.
import { ask, show } from "./api.js";

const form = document.querySelector("[data-descriptions]");
const rows = form?.querySelector("[data-rows]");

function described() {
  return [...rows.children]
    .map((row) => ({ name: row.querySelector("input").value.trim(), text: row.querySelector("textarea").value.trim() }))
    .filter(({ name }) => name);
}

form?.querySelector("[data-more]").addEventListener("click", () => {
  const row = rows.lastElementChild.cloneNode(true);
  for (const field of row.querySelectorAll("input, textarea")) field.value = "";
  rows.append(row);
  row.querySelector("input").focus();
});

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const refusal = form.querySelector(".refusal");
  refusal.hidden = true;
  form.classList.add("busy");
  try {
    await ask("PUT", form.dataset.descriptions, { descriptions: described() });
    window.location.reload();
  } catch (error) {
    show(error, refusal);
  } finally {
    form.classList.remove("busy");
  }
});
