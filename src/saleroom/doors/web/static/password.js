// The box that shows what is typed as a password. Without scripts it stays hidden.
for (const box of document.querySelectorAll("input[data-shows]")) {
  box.closest("label").hidden = false;
  const field = document.getElementById(box.dataset.shows);
  box.addEventListener("change", () => { field.type = box.checked ? "text" : "password"; });
  // Sent as a password, so that no browser keeps it among the texts that it offers.
  field.form.addEventListener("submit", () => { field.type = "password"; });
}
