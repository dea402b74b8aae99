// The hall's screen: says what changes, goes full screen, keeps the projector awake and hides the pointer.
const whole = document.getElementById("whole");
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

if (document.fullscreenEnabled) {
  whole.hidden = false;
  whole.addEventListener("click", () => document.documentElement.requestFullscreen());
  document.addEventListener("fullscreenchange", () => { whole.hidden = document.fullscreenElement !== null; });
}

async function stayAwake() {
  if (document.visibilityState !== "visible") return;
  // A browser may refuse, such as on a low battery; the screen then sleeps as usual.
  await navigator.wakeLock?.request("screen").catch((error) => console.info(`The screen may sleep: ${error.message}`));
}
document.addEventListener("visibilitychange", stayAwake);
stayAwake();

let idle;
function move() {
  document.documentElement.classList.remove("idle");
  clearTimeout(idle);
  idle = setTimeout(() => document.documentElement.classList.add("idle"), 3000);
}
for (const event of ["pointermove", "keydown", "focusin"]) document.addEventListener(event, move);
move();
