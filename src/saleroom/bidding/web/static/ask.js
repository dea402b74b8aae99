// The ask of a lot on the block: one press sends the bid that the button names, and says what becomes of it.
const settleMs = 600; // a button that has just changed under the finger takes no press for so long
const answerMs = 10000;
const askMs = [1000, 2000, 4000, 8000]; // pauses between questions after a lost answer; the last one repeats
const theForm = () => document.getElementById("ask");
const theButton = () => document.querySelector("#ask-now button[data-ask]");
const said = () => document.getElementById("ask-said");
const meaning = () => theButton()?.dataset.ask ?? "";

let shown = meaning();
let since = -Infinity;
let pressed = null; // what the button meant when the finger came down
let way = null; // the bid that is on its way

function say(words, kind = "") {
  const place = document.createElement("p");
  place.className = `standing ${kind}`;
  place.dataset.way = kind;
  place.textContent = words;
  said()?.replaceChildren(place);
}

// A result is gone with the next change of the lot, and with the next lot.
function endResult() {
  const result = document.getElementById("ask-result");
  const now = document.getElementById("ask-now");
  if (!result || !now) return;
  if (result.dataset.lot !== now.dataset.lot || Number(now.dataset.version) > Number(result.dataset.version)) said()?.replaceChildren();
}

function look() {
  if (meaning() !== shown) {
    said()?.querySelector("[data-way=changed]")?.remove();
    if (meaning()) since = performance.now();
    shown = meaning();
  }
  theButton()?.setAttribute("aria-disabled", String(way !== null));
  endResult();
}

addEventListener("pointerdown", ({ target }) => { pressed = target.closest?.("#ask-now button") ? meaning() : null; }, true);
addEventListener("keydown", ({ target, key, repeat }) => {
  if (!repeat && ["Enter", " "].includes(key)) pressed = target.closest?.("#ask-now button") ? meaning() : null;
}, true);
document.addEventListener("htmx:after:swap", look);
new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributeFilter: ["data-ask"] });

async function post(bid, asked) {
  const body = new URLSearchParams(bid.fields);
  if (asked) body.set("asked", "1");
  return fetch(bid.address, { method: "POST", headers: { "HX-Request": "true" }, body, signal: AbortSignal.timeout(answerMs) });
}

// The page of a lot takes the form away once its reader leads: there may be no place for words then.
const words = (name) => theForm()?.dataset[name] ?? "";

async function follow(bid, asked = false) {
  let text = "";
  try {
    const answer = await post(bid, asked);
    if (answer.status === 204) return say(words("unsent"), "unsent");
    if (answer.status >= 500) throw new Error(`The house answered ${answer.status}`);
    text = await answer.text();
  } catch (error) {
    console.info(`A bid waits for its answer: ${error.message}`);
    say(words("lost"), "lost");
    await new Promise((resolve) => {
      setTimeout(resolve, askMs[Math.min(bid.tries++, askMs.length - 1)]);
      addEventListener("online", resolve, { once: true });
    });
    return follow(bid, true);
  }
  take(new DOMParser().parseFromString(text, "text/html"));
}

function take(page) {
  const result = page.getElementById("ask-result");
  const now = page.getElementById("ask-now");
  const here = document.getElementById("ask-now");
  if (!result) { // such as: no longer logged in
    const problem = page.querySelector("[data-problem]");
    if (problem) said()?.replaceChildren(document.importNode(problem, true));
    return;
  }
  said()?.replaceChildren(document.importNode(result, true));
  // The stream may have brought a later state, or the next lot.
  if (here && now && now.dataset.lot === here.dataset.lot && Number(now.dataset.version) > Number(here.dataset.version)) {
    const focused = here.contains(document.activeElement);
    here.replaceWith(document.importNode(now, true));
    if (focused) (theButton() ?? document.querySelector("#ask-now [tabindex]"))?.focus();
  }
}

const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

document.addEventListener("submit", async (event) => {
  if (event.target !== theForm()) return;
  event.preventDefault();
  const button = theButton();
  const meant = pressed ?? meaning();
  pressed = null;
  if (!button || way) return;
  if (meant !== meaning() || performance.now() - since < settleMs) {
    say(words("changed"), "changed");
    return;
  }
  const fields = new FormData(theForm());
  fields.set("key", newKey());
  way = { address: button.getAttribute("formaction"), fields, tries: 0 };
  say(words("sent").replace("{amount}", button.dataset.words), "sent");
  look();
  try {
    await follow(way);
  } finally {
    way = null;
    look();
  }
});
