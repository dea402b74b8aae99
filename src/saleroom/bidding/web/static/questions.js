// Questions on a lot's page: what is typed outlives a login, and the focus moves to what came of a form.
const section = document.getElementById("lot-questions");
const memory = `questions ${location.pathname}`;

let kept = {};
try {
  kept = JSON.parse(sessionStorage.getItem(memory) ?? "{}");
  sessionStorage.removeItem(memory);
} catch { /* the browser keeps nothing for this page */ }
for (const [id, text] of Object.entries(kept)) {
  const field = document.getElementById(id);
  if (!field?.matches("#lot-questions textarea") || field.value) continue;
  field.value = text;
  field.closest("details")?.setAttribute("open", "");
}

section?.addEventListener("click", ({ target }) => {
  if (!target.closest("a[href]")) return;
  const typed = [...section.querySelectorAll("textarea")].filter((field) => field.value);
  try {
    sessionStorage.setItem(memory, JSON.stringify(Object.fromEntries(typed.map((field) => [field.id, field.value]))));
  } catch { /* as above */ }
});

document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
  // A question that has been answered since no longer waits.
  for (const one of document.querySelectorAll("[data-waits]")) {
    if (document.getElementById(one.dataset.waits)) one.remove();
  }
  if (!section?.contains(ctx?.sourceElement) || !document.activeElement.matches("body, main")) return;
  const place = section.querySelector("[aria-invalid=true]") ?? section.querySelector("[data-focus]");
  place?.removeAttribute("data-focus");
  place?.focus();
});
