// The screens of the hall and the page of a bidder: they say what changes, and notice a stream that has gone silent.
const silentMs = 40000; // the house sends its time every 15 seconds
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

// A network that is cut without a word ends no stream: without news from the house for a while, the page opens another one.
const live = document.querySelector("[data-live]");
const offline = document.getElementById("offline");
let heard = Date.now();
for (const news of ["time", "htmx:sse:before:message", "htmx:sse:after:connection"]) {
  document.addEventListener(news, () => { heard = Date.now(); });
}
const isOver = () => ["closed", "cancelled"].includes(state()?.dataset.status);
setInterval(() => {
  if (!live || isOver() || Date.now() - heard < silentMs) return;
  heard = Date.now();
  offline.textContent = offline.dataset.words;
  offline.hidden = false;
  live._htmx?.sse?.reader?.cancel(); // htmx takes that for the end of the stream, and connects again
}, 5000);

// A page that asks the house again and again shows old figures once the answers stay away, whatever the reason.
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
