// The screens of the hall and the page of a bidder: they say what changes.
const said = document.getElementById("said");
const state = () => document.getElementById("hall-state");
let words = state()?.dataset.said;

function tell() {
  const now = state()?.dataset.said;
  if (said && now && now !== words) said.textContent = now;
  words = now;
}
document.addEventListener("htmx:after:swap", tell);

// The button of a fund-a-need: right after the level has changed under the finger, a press gives nothing.
const settleMs = 600;
const level = () => document.querySelector("#pledge-now button")?.dataset.pledge;
let levelShown = level();
let levelSince = -Infinity;
function lookAtLevel() {
  if (levelShown && level() && level() !== levelShown) levelSince = performance.now();
  levelShown = level();
}
document.addEventListener("htmx:after:swap", lookAtLevel);
document.getElementById("pledge")?.addEventListener("submit", (event) => {
  lookAtLevel();
  if (performance.now() - levelSince >= settleMs) return;
  event.preventDefault();
  said.textContent = event.target.dataset.changed;
});

// A page that asks the house again and again shows old figures once the answers stay away, whatever the reason.
const offline = document.getElementById("offline");
const asking = document.querySelector("[data-refresh]");
if (asking) {
  const lateMs = 3000 * asking.dataset.refresh;
  let answered = Date.now();
  const tellAge = () => {
    offline.hidden = Date.now() - answered < lateMs;
    offline.textContent = offline.hidden ? "" : offline.dataset.words;
  };
  document.addEventListener("htmx:after:swap", () => { answered = Date.now(); tellAge(); });
  setInterval(() => { if (!document.hidden) tellAge(); }, 1000);
}
