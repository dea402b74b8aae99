// A page that people look at for a whole evening keeps the device awake. A screen of the hall goes full screen, and hides the pointer.
const whole = document.getElementById("whole");
if (whole && document.fullscreenEnabled) {
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
if (whole) {
  for (const event of ["pointermove", "keydown", "focusin"]) document.addEventListener(event, move);
  move();
}
