// The bid box: it keeps what the reader types, follows the price, and says what becomes of a bid on its way.
const theBox = () => document.getElementById("lot-box");
const panel = () => document.getElementById("lot-panel");
const heading = document.querySelector("h1");
const settleMs = 600; // a button that has just changed under the finger takes no click for so long
const askMs = [1000, 2000, 4000, 8000]; // pauses between questions after a lost answer; the last one repeats

// An answer to the reader's own bid is newer than a message of the stream that was on its way before it. But after a failover
// the house may have lost what the page shows.
document.addEventListener("htmx:sse:before:message", (event) => {
  const [tag, version] = /<div id="lot-panel"[^>]* data-version="([0-9]+)"[^>]*>/.exec(event.detail.message.data) ?? [];
  if (Number(version) < Number(panel()?.dataset.version) && !tag.includes("data-renewed")) event.preventDefault();
});

// What the reader has typed outlives the box, and a login.
const memory = `bid ${location.pathname}`;
let typed = {};
try {
  typed = JSON.parse(sessionStorage.getItem(memory) ?? "{}");
  sessionStorage.removeItem(memory);
} catch { /* the browser keeps nothing for this page */ }

function restore() {
  if (theBox()?.querySelector("#lot-result, .alert:not(.note-alert)")) typed = {};
  for (const [name, value] of Object.entries(typed)) {
    const field = theBox()?.querySelector(`form.bid [name="${name}"]:is(input)`);
    if (!field || field.dataset.typed !== undefined) continue;
    field.value = value;
    field.dataset.typed = "";
  }
}

document.addEventListener("input", ({ target }) => {
  if (!target.closest?.("#lot-box form.bid")) return;
  target.dataset.typed = "";
  typed[target.name] = target.value;
});
document.addEventListener("click", ({ target }) => {
  if (!target.closest?.("#lot-box a[href]:not([hx-get])")) return;
  for (const field of theBox().querySelectorAll("form.bid input:not([type=hidden])")) typed[field.name] = field.value;
  try {
    sessionStorage.setItem(memory, JSON.stringify(typed));
  } catch { /* as above */ }
});

function follow() {
  const field = document.querySelector("[data-follows=least]");
  const least = panel()?.dataset.least;
  if (!field || !least || field === document.activeElement || field.dataset.typed !== undefined) return;
  if (field.value !== least && field.getAttribute("aria-invalid") !== "true") field.value = least;
}

// A leader raises a limit, another reader bids, and the first bid ends buying now: if that has changed, the box is fetched
// again, but not while the reader uses it.
let asked = "";
function keepBox() {
  const box = theBox();
  const role = document.getElementById("lot-standing")?.dataset.role;
  if (!box?.dataset.role || !role) return;
  const same = (box.dataset.role === "leading") === (role === "leading");
  const { bids, version } = panel().dataset;
  if (same && !(box.dataset.bids === "0" && bids !== "0")) return;
  if (box.querySelector("form.confirm, [data-typed]") || box.contains(document.activeElement)) return;
  if (asked === `${role} ${version}`) return; // once for each state: the box may be newer than the page
  asked = `${role} ${version}`;
  htmx.ajax("GET", box.dataset.address, { target: "#lot-box", swap: "outerHTML" });
}
document.addEventListener("focusout", () => setTimeout(keepBox, 200));
for (const failure of ["htmx:error", "htmx:response:error"]) {
  document.addEventListener(failure, ({ detail }) => {
    if (detail.ctx?.target?.id === "lot-box") asked = ""; // after a lost answer, ask again
  });
}

// A bid that waits for its confirmation is looked at again when the lot has changed.
function lookAgain() {
  const form = theBox()?.querySelector("form.confirm");
  if (!form || form.dataset.way || !panel()?.dataset.version) return;
  const seen = Number(form.dataset.seen ?? form.elements.version.value);
  if (Number(panel().dataset.version) <= seen) return;
  form.dataset.seen = panel().dataset.version;
  send(form, "stale", "outerMorph");
}

// A confirmed bid on its way: being sent, perhaps lost, known not to have arrived.
function send(form, what, swap) {
  htmx.ajax("POST", form.getAttribute("action"), { source: form, target: "#lot-box", swap, values: { [what]: "1" } });
}

function tell(form, way) {
  form.dataset.way = way;
  form.querySelector(".way").textContent = form.dataset[way] ?? "";
  form.querySelector("button").setAttribute("aria-busy", String(way === "sending"));
}

const isConfirmed = (form) => form?.matches?.("form.confirm") && form.isConnected;
let waiting = null; // the timer of the next question
let tries = 0;

function ask() {
  const form = document.querySelector("form.confirm[data-way=lost]");
  clearTimeout(waiting);
  if (form) send(form, "asked", "outerHTML");
}

function lose(form) {
  tell(form, "lost");
  clearTimeout(waiting);
  waiting = setTimeout(ask, askMs[Math.min(tries++, askMs.length - 1)]);
}

document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  if (!isConfirmed(ctx.sourceElement) || ctx.values) return;
  clearTimeout(waiting);
  tries = 0;
  tell(ctx.sourceElement, "sending");
});
document.addEventListener("htmx:error", ({ detail: { ctx } }) => {
  if (isConfirmed(ctx?.sourceElement) && !ctx.values?.stale) lose(ctx.sourceElement);
});
document.addEventListener("htmx:before:swap", (event) => {
  const { ctx } = event.detail;
  const form = ctx.sourceElement;
  if (!isConfirmed(form) || ctx.values?.stale) return;
  const { status } = ctx.response;
  if (status === 204) tell(form, "unsent");
  else if (event.defaultPrevented && [401, 403, 429].includes(status)) tell(form, ""); // site.js has said why
  else if (event.defaultPrevented) lose(form);
});
addEventListener("online", ask);
document.addEventListener("htmx:sse:after:connection", ask);

// A button that has just come or changed is not pressed by a click that was meant for another one.
let words = "";
function settle() {
  const button = theBox()?.querySelector("form.confirm button");
  if (!button || button.textContent === words) {
    words = button?.textContent ?? "";
    return;
  }
  words = button.textContent;
  if (button === document.activeElement) theBox().querySelector("[data-focus]").focus();
  button.classList.add("fresh");
  setTimeout(() => button.classList.remove("fresh"), settleMs);
}
// Such a click takes the focus from nothing either: it falls through to the page, which would get it.
document.addEventListener("mousedown", (event) => {
  if (event.target.closest("form.confirm")?.querySelector("button.fresh")) event.preventDefault();
});

// A result is gone with the next change of the lot; beside it the standing would say the same once more.
function endResult() {
  const result = document.getElementById("lot-result");
  if (!result || Number(panel()?.dataset.version) <= Number(result.dataset.version)) return;
  const focused = result === document.activeElement;
  result.remove();
  if (focused) document.getElementById("lot-standing").focus();
}

// The title of an open tab says that its reader was outbid.
const title = document.title.replace(`${document.getElementById("lot-standing")?.dataset.title} · `, "");
function mark() {
  const outbid = document.getElementById("lot-standing")?.dataset.title;
  document.title = outbid ? `${outbid} · ${title}` : title;
}

// The focus moves to the answer at once: to the field with a fault, to the heading of a confirmation, to the result.
// The second click of a double one meets a button that waits, and leaves the focus on the main part of the page.
document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
  const inBox = ctx?.target?.id === "lot-box";
  if (inBox) {
    restore();
    settle();
  }
  endResult();
  follow();
  keepBox();
  lookAgain();
  mark();
  if (!inBox || !document.activeElement.matches("body, main") || !ctx.sourceEvent?.isTrusted) return;
  (theBox().querySelector("[aria-invalid=true]") ?? theBox().querySelector("[data-focus]"))?.focus();
});
restore();
