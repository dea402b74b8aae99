// The box that shows what is typed as passwords. Without scripts it stays hidden.
for (const box of document.querySelectorAll("input[data-shows]")) {
  box.closest("label").hidden = false;
  const fields = box.dataset.shows.split(" ").map((id) => document.getElementById(id));
  const turn = (type) => { for (const field of fields) field.type = type; };
  box.addEventListener("change", () => turn(box.checked ? "text" : "password"));
  // Sent as passwords, so that no browser keeps them among the texts that it offers.
  box.form.addEventListener("submit", () => turn("password"));
}
