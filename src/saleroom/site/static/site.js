// For every page: instants in the reader's own time zone, countdowns by the server's clock, and the zone in forms.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const language = document.documentElement.lang;
const minutes = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
const whole = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" });
const named = new Intl.DateTimeFormat(language, { timeZoneName: "short", hour: "2-digit" });
const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
const thisYear = new Intl.DateTimeFormat(language, { day: "numeric", month: "short", ...clock });
const anyYear = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" });
let ahead = 0; // milliseconds by which the server's clock is ahead of this one

function nameOfZone(at) {
  return named.formatToParts(at).find((part) => part.type === "timeZoneName").value;
}

function localize(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([data-local])")) {
    const at = new Date(time.dateTime);
    time.dataset.local = "";
    const brief = at.getFullYear() === new Date().getFullYear() ? thisYear : anyYear;
    const full = time.dataset.planned !== undefined && at.getSeconds() === 0 ? minutes : whole;
    time.textContent = time.dataset.brief === undefined ? `${full.format(at)} ${nameOfZone(at)}` : brief.format(at);
    time.title = zone;
  }
  for (const field of root.querySelectorAll("input[data-zone]")) field.value = zone;
}

function left(milliseconds) {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  const parts = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
  const first = parts.findIndex(([size]) => seconds >= size);
  const shown = first < 0 ? parts.slice(3) : parts.slice(first, first + 2);
  let rest = seconds;
  return shown.map(([size, unit], place) => {
    const count = Math.floor(rest / size);
    rest %= size;
    return count === 0 && place > 0 && size > 1 ? "" : new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "short" }).format(count);
  }).join(" ").trim();
}

function count() {
  const now = Date.now() + ahead;
  for (const place of document.querySelectorAll("[data-until]")) {
    const remains = Date.parse(place.dataset.until) - now;
    const text = place.dataset.words.replace("{time}", left(remains));
    if (place.textContent !== text) place.textContent = text;
    place.classList.toggle("soon", remains < 5 * 60 * 1000);
    place.classList.toggle("last", remains < 60 * 1000);
  }
}

function setClock(instant) {
  ahead = Date.parse(instant) - Date.now();
  count();
}

const stated = document.querySelector("meta[name=house-time]");
if (stated) ahead = Date.parse(stated.content) - Date.now();
const footer = document.querySelector(".zone");
if (footer) footer.textContent = footer.dataset.words?.replace("{zone}", `${zone} (${nameOfZone(new Date())})`) ?? footer.textContent;
localize(document);
count();
setInterval(count, 250);
for (const moment of ["htmx:after:swap", "htmx:after:settle"]) {
  document.addEventListener(moment, () => { localize(document); count(); });
}
document.addEventListener("time", (event) => setClock(event.detail.data)); // a named event of a page's stream

// htmx reconnects to a stream that it has lost, but not to one that it has never had. The house answers 400 if it has lost the
// event that the page shows, as in a failover: then the page is loaded again.
function connectAgain(target, status) {
  if (status === 400) setTimeout(() => location.reload(), 5000);
  else setTimeout(() => htmx.trigger(target, "again"), 5000);
}
for (const failure of ["htmx:error", "htmx:response:error"]) {
  document.addEventListener(failure, ({ target, detail: { ctx } }) => {
    if (!target.matches?.("[hx-sse\\:connect]")) return;
    if (!leaving) tellOffline(true);
    connectAgain(target, ctx?.response?.status);
  });
}

// A field may be named `before` or `after`, which hides the method of its form.
const { before: putBefore, after: putAfter } = Element.prototype;

// A part of a page is replaced by that part only: not by a refusal, a form to log in, or a proxy's page. The part keeps
// what it has, and says in words what happened.
function say(target, problem) {
  for (const old of document.querySelectorAll("[data-problem]")) old.remove();
  if (target.matches("form")) putAfter.call(target, problem);
  else target.prepend(problem);
}

function problem(words) {
  const place = document.createElement("p");
  place.className = "alert";
  place.dataset.problem = "";
  place.setAttribute("role", "alert");
  place.textContent = words;
  return place;
}

// A form with `data-lost` says by itself what becomes of it on a bad line.
const isByHand = (ctx) => ctx.sourceEvent?.isTrusted && !(ctx.sourceElement?.dataset?.lost && !(ctx.response?.status < 500));
const unanswered = () => problem(document.getElementById("offline").dataset.unanswered);
document.addEventListener("htmx:before:swap", (event) => {
  const { ctx } = event.detail;
  if (!ctx?.response || !ctx.target) return;
  const answer = new DOMParser().parseFromString(ctx.text, "text/html");
  const refusal = answer.querySelector("body > [data-problem]");
  const isPart = ctx.select ? answer.querySelector(`${ctx.select}, [hx-swap-oob]`) : !/^\s*<(!doctype|html)/i.test(ctx.text);
  if (!refusal && isPart) return;
  event.preventDefault();
  if (refusal && (isByHand(ctx) || ctx.response.status < 500)) say(ctx.target, document.importNode(refusal, true));
  else if (isByHand(ctx)) say(ctx.target, unanswered());
});
document.addEventListener("htmx:error", ({ detail: { ctx } }) => {
  if (ctx?.target?.isConnected && isByHand(ctx)) say(ctx.target, unanswered());
});

// A form with `data-sending` that a script sends says so while it is on its way, as a browser does for other forms.
function tellOnItsWay({ sourceElement: form, sourceEvent, values }, isOnItsWay) {
  if (values || !form?.matches?.("form[data-sending]:not(.confirm)")) return;
  form.querySelector(".way").textContent = isOnItsWay ? form.dataset.sending : "";
  const button = sourceEvent?.submitter ?? form.querySelector("button");
  button.setAttribute("aria-busy", String(isOnItsWay));
}
document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => tellOnItsWay(ctx, true));
document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => tellOnItsWay(ctx, false));

// A reader of old prices should know that they are old.
const offline = document.getElementById("offline");
function tellOffline(lost) {
  if (!offline || offline.hidden === !lost) return;
  offline.hidden = !lost;
  offline.textContent = lost ? offline.dataset.words : "";
}
let leaving = false;
addEventListener("pagehide", () => { leaving = true; });
document.addEventListener("htmx:sse:error", ({ target, detail: { status } }) => {
  if (!leaving && !document.hidden) tellOffline(true);
  if (status === 400) connectAgain(target, status); // htmx itself would ask on and on
});
document.addEventListener("htmx:sse:after:connection", () => tellOffline(false));

// A network that is cut without a word ends no stream: without news from the house for a while, the page opens another one.
const silentMs = 40000; // the house sends its time every 15 seconds
let heard = Date.now();
let isOver = false;
for (const news of ["time", "htmx:sse:before:message", "htmx:sse:after:connection"]) {
  document.addEventListener(news, () => { heard = Date.now(); isOver = false; });
}
document.addEventListener("htmx:sse:close", ({ detail }) => { isOver = detail.reason === "message"; });
document.addEventListener("visibilitychange", () => { heard = Date.now(); }); // a page in the background has no stream
setInterval(() => {
  const place = document.querySelector("[hx-sse\\:connect]");
  if (!place || isOver || document.hidden || Date.now() - heard < silentMs) return;
  heard = Date.now();
  tellOffline(true);
  place._htmx?.sse?.reader?.cancel(); // htmx takes that for the end of the stream, and connects again
}, 5000);

// A form that the browser sends leaves its page, also where no answer can come. So if the line may be down, the page asks the
// house first, and stays if there is no answer. Most forms with a script of their own have stopped the event before.
const isPost = (form) => form.getAttribute("method") === "post"; // a field may have the name `method`
const isSentByScript = ({ target, defaultPrevented }) => defaultPrevented || target.dataset.lost !== undefined;
// The form then hears `unsent`, whose detail says whether it goes now after all.
let asking = null; // the form for which the house is asked
let isReached = null; // the form that goes now
const unsent = (isThere) => new CustomEvent("unsent", { detail: isThere });
document.addEventListener("submit", async (event) => {
  const { target: form, submitter } = event;
  if (form === isReached || !isPost(form) || isSentByScript(event)) return;
  if (!offline || (navigator.onLine && offline.hidden)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (asking) {
    if (asking !== form) form.dispatchEvent(unsent(false));
    return;
  }
  asking = form;
  const house = document.querySelector("link[rel=manifest]").href;
  const ask = fetch(house, { method: "HEAD", cache: "no-store", signal: AbortSignal.timeout(5000) });
  const isThere = await ask.then(() => true, () => false);
  asking = null;
  form.dispatchEvent(unsent(isThere));
  if (!isThere) {
    say(form, problem(form.closest("[data-unsent]")?.dataset.unsent ?? offline.dataset.unsent));
    return;
  }
  isReached = form;
  form.requestSubmit(submitter);
  isReached = null;
});

// What was typed outlives a login, and an answer that did not come: if the answer to a form is the form to log in, or a refusal
// that leads there, or the browser's own page, the page of the form has it again, for the same user. Pages of lots and the form of
// a seller keep theirs by themselves. No password and no file is kept.
{
  const key = "typed";
  const pages = /^\/(admin|mine|sales)(\/|$)/;
  const user = document.querySelector(".masthead .viewer")?.textContent;
  const unkept = "[type=hidden], [type=password], [type=file], button";
  const fieldsOf = (form) => [...form.elements].filter((one) => one.name && !one.matches(unkept));
  const property = (one) => (one.matches("[type=checkbox], [type=radio]") ? "checked" : "value");
  const here = () => location.pathname + location.search;
  // A page of the house that came after the form has removed what is kept. So this is the way back from the browser's own page.
  const isBack = performance.getEntriesByType("navigation")[0]?.type === "back_forward";

  const typeAgain = ({ action, values }, words) => {
    const isSame = (form) => {
      const fields = fieldsOf(form);
      return fields.length === values.length && fields.every((one, place) => one.name === values[place][0]);
    };
    const form = [...document.forms].find((one) => one.getAttribute("action") === action && isSame(one));
    if (!form) return;
    fieldsOf(form).forEach((one, place) => { one[property(one)] = values[place][1]; });
    for (const fold of form.querySelectorAll("details")) fold.open = true;
    form.closest("details")?.setAttribute("open", "");
    const told = problem(words);
    putBefore.call(form, told);
    told.scrollIntoView({ block: "nearest" });
  };

  try {
    const typed = JSON.parse(sessionStorage.getItem(key) ?? "null");
    const isAsked = document.querySelector("[data-keeps-typed]") !== null;
    if (typed && isAsked) sessionStorage.setItem(key, JSON.stringify({ ...typed, isLost: true }));
    else sessionStorage.removeItem(key);
    const { typed: lost, pressed, open } = offline?.dataset ?? {};
    if (!isAsked && typed?.user === user) {
      if (typed.isLost) typeAgain(typed, typed.values.length ? lost : pressed);
      else if (isBack && typed.values.length && typed.at === here()) typeAgain(typed, open);
    }
  } catch { /* the browser keeps nothing */ }

  document.addEventListener("submit", (event) => {
    const { target } = event;
    if (!isPost(target) || !pages.test(location.pathname)) return;
    const values = fieldsOf(target).map((one) => [one.name, one[property(one)]]);
    const at = isSentByScript(event) ? null : here();
    try {
      sessionStorage.setItem(key, JSON.stringify({ action: target.getAttribute("action"), user, values, at }));
    } catch { /* as above */ }
  });
}

// Only where the house is reached by https, or on the same machine, may it have a service worker.
navigator.serviceWorker?.register("/service-worker.js", { updateViaCache: "none" }).catch(() => {});
