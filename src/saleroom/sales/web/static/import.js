// The form stays filled while its files are checked and imported: only what came of it is exchanged.
const form = document.querySelector("form[data-import]");
const line = form.querySelector(".import-progress");
const [bar, words] = line.children;

function told(text, done, all) {
  line.hidden = false;
  words.textContent = text;
  if (all) { bar.max = all; bar.value = done; } else bar.removeAttribute("value");
}

// Shows what came of it; or what another page of the house says, such as that the session has ended.
function show(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const found = page.getElementById("outcome");
  const here = document.getElementById("outcome");
  const other = page.getElementById("main");
  if (found) here.replaceWith(found);
  else if (other) here.replaceChildren(...other.childNodes);
  else return false;
  document.getElementById("outcome").focus();
  return true;
}

async function read(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let left = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return left === "";
    const lines = (left + value).split("\n");
    left = lines.pop();
    for (const one of lines.map((text) => JSON.parse(text))) {
      if (one.location) location.assign(one.location);
      else if (one.html) return show(one.html);
      else told(form.dataset.making.replace("{done}", one.photos).replace("{all}", one.of), one.photos, one.of);
    }
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const address = event.submitter?.formAction ?? form.action;
  const buttons = form.querySelectorAll("button");
  for (const button of buttons) button.disabled = true;
  told(form.dataset.sending);
  let whole = false;
  try {
    const answer = await fetch(address, { method: "POST", body: new FormData(form), headers: { Accept: "application/x-ndjson" } });
    whole = answer.headers.get("content-type")?.startsWith("application/x-ndjson") ? await read(answer) : show(await answer.text());
  } catch { /* the connection broke off */ }
  line.hidden = whole;
  if (!whole) told(form.dataset.failed, 0, 1);
  for (const button of buttons) button.disabled = false;
});
