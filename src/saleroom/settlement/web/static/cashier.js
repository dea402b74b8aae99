// At the desk: a form is sent once, whatever keys follow before the answer; and a reload does not say again what was done.
const forms = document.querySelectorAll("form[data-once]");

function hold(form, held) {
  form.toggleAttribute("data-sent", held);
  for (const field of form.querySelectorAll("input:not([type=hidden])")) field.readOnly = held;
}

for (const form of forms) {
  form.addEventListener("submit", (event) => {
    if (form.hasAttribute("data-sent")) event.preventDefault();
    else hold(form, true);
  });
  form.addEventListener("unsent", () => hold(form, false)); // site.js has kept it here
}
addEventListener("pageshow", (event) => { if (event.persisted) forms.forEach((form) => hold(form, false)); });

const address = new URL(location);
for (const name of ["change", "done", "netted"]) address.searchParams.delete(name);
history.replaceState(history.state, "", address);
