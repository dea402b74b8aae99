// The hall's screen of one lot: says what changes, and goes to the next lot.
const said = document.getElementById("said");
let words = document.getElementById("screen-state")?.dataset.said;
let address = location.pathname + location.search;

document.addEventListener("htmx:after:swap", () => {
  const now = document.getElementById("screen-state")?.dataset.said;
  if (now !== words) said.textContent = words = now;
  const here = document.getElementById("screen")?.dataset.address;
  // The next lot replaces this one in the page: loading another page would end the full screen.
  if (here && here !== address) history.replaceState(null, "", (address = here));
});
