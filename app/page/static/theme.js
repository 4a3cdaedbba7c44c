// Before anything is painted: the theme that this visitor chose, or else that of the system.
(() => {
  const kept = localStorage.getItem("newfound-theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
})();
