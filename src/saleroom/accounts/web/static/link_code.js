// The code of a link stands in the fragment of its address. It goes into its field, and leaves the address and the history.
const field = document.getElementById("code");
const code = decodeURIComponent(location.hash.slice(1));
if (field && /^[1-9][0-9]{0,17}\.[A-Za-z0-9_-]{22}$/.test(code)) {
  field.value = code;
  field.closest("[data-code]").hidden = true;
  history.replaceState(null, "", location.pathname + location.search);
}
