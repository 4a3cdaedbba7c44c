// The slider of the tree: each number of categories is read from the page itself, and put in the place of the last one.

const form = document.querySelector("[data-cut]");
const slider = form?.elements.categories;
let wanted = 0; // the last request counts, whichever is answered last

async function cut() {
  const request = ++wanted;
  const address = `${form.action}?categories=${slider.value}`;
  const old = document.getElementById("cut");
  old.classList.add("busy-section");
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(answer.statusText);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (request !== wanted) return;
    document.getElementById("cut").replaceWith(document.adoptNode(fresh.getElementById("cut")));
    document.getElementById("said").textContent = fresh.getElementById("said").textContent;
    window.history.replaceState(null, "", address);
  } catch {
    if (request === wanted) window.location.assign(address); // the browser says what is wrong
  }
}

if (form) {
  form.querySelector("button").hidden = true;
  slider.addEventListener("input", () => {
    form.querySelector("output").value = slider.value;
  });
  slider.addEventListener("change", cut);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    cut();
  });
}
