// The box that shows the typed passwords. Without scripts it stays hidden.
for (const box of document.querySelectorAll("input[data-shows]")) {
  box.closest("label").hidden = false;
  const fields = box.dataset.shows.split(" ").map((id) => document.getElementById(id));
  const turn = (type) => { for (const field of fields) field.type = type; };
  box.addEventListener("change", () => turn(box.checked ? "text" : "password"));
  // Sent from password fields, so that no browser keeps them among its suggestions.
  box.form.addEventListener("submit", () => turn("password"));
}
