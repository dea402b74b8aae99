// The code of a link stands in the fragment of its address. It goes into its field, and leaves the address and the history.
// Where the reader has to log in first, this tab keeps it until a link with `next` has led them back.
const field = document.getElementById("code");
const links = document.querySelectorAll(`a[href$="?next=${location.pathname}"]`);
const kept = `code of ${location.pathname}`;
const isCode = (text) => /^[1-9][0-9]{0,17}\.[A-Za-z0-9_-]{22}$/.test(text ?? "");

const sent = decodeURIComponent(location.hash.slice(1));
const code = isCode(sent) ? sent : sessionStorage.getItem(kept);
if (isCode(sent)) history.replaceState(null, "", location.pathname + location.search);
if (field && isCode(code)) {
  field.value = code;
  field.closest("[data-code]").hidden = true;
}
if (isCode(code) && !field && links.length) sessionStorage.setItem(kept, code);
else sessionStorage.removeItem(kept);
for (const link of links) {
  link.addEventListener("click", () => { if (isCode(field?.value)) sessionStorage.setItem(kept, field.value); });
}
