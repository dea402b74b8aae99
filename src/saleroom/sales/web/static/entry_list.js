// The lines below the field, the open lots, and the dialog that asks people to decide.
const { words, currency, decimals } = JSON.parse(document.getElementById("entry-data").textContent);
const { fill } = window.clerk;
const figures = new Intl.NumberFormat(document.documentElement.lang, { style: "currency", currency, minimumFractionDigits: decimals, maximumFractionDigits: 3 });
const by = (id) => document.getElementById(id);
const money = (amount) => figures.format(amount);
const bidder = (name) => (/^#\d+$/.test(name) ? fill(words.bidder, { number: name.slice(1) }) : name);
const made = (kind, facts) => Object.assign(document.createElement(kind), facts);

// How a lot stands, in words.
function standing({ label, state, price, bidder: name }) {
  const facts = { label, price: price && money(price), bidder: name && bidder(name) };
  return fill({ sold: words.sold, conditional: words.soldIf, passed: words.wasPassed }[state] ?? words.isOpen, facts);
}

function result({ outcome, state, price, bidder: name }) {
  return price && ["sold", "conditional"].includes(outcome ?? state)
    ? fill(words.resultSold, { price: money(price), bidder: bidder(name) }) : words.resultPassed;
}

function button(text, act, kind = "secondary") {
  const one = made("button", { type: "button", className: kind, textContent: text });
  one.addEventListener("click", act);
  return one;
}

// One item of the list. It is only made again if what it shows has changed: otherwise a button would lose the focus.
function item(line, state, acts) {
  const one = document.createElement("li");
  one.dataset.state = state;
  const kind = { done: "open", refused: "refused", waiting: "soon", sent: "soon" }[state] ?? "over";
  one.append(made("span", { className: "typed", textContent: line.text, dir: "auto" }), made("span", { className: `tag ${kind}`, textContent: words.states[state] }));
  if (line.said) one.append(made("span", { className: "why", textContent: line.said, dir: "auto" }));
  const buttons = made("span", { className: "entry-acts" });
  for (const [text, act] of acts) {
    const pressed = button(text, act);
    pressed.setAttribute("aria-label", `${text}: ${line.text}`);
    buttons.append(pressed);
  }
  if (acts.length) one.append(buttons);
  return one;
}

const shown = new Map(); // the item of each line, with what it shows
function list(lines, stateOf, actsOf) {
  const place = by("lines");
  const kept = new Set();
  let before = null;
  for (const line of lines) { // the newest is the last of them, and the first on the page
    const [state, acts] = [stateOf(line), actsOf(line)];
    const sign = JSON.stringify([line.text, line.said, state, acts.map(([text]) => text)]);
    let found = shown.get(line.id);
    if (found?.sign !== sign) {
      const one = item(line, state, acts);
      if (found) found.one.replaceWith(one);
      found = { sign, one };
      shown.set(line.id, found);
    }
    if (found.one.parentNode !== place || found.one.nextSibling !== before) place.insertBefore(found.one, before);
    before = found.one;
    kept.add(line.id);
  }
  for (const [id, { one }] of shown) {
    if (kept.has(id)) continue;
    one.remove();
    shown.delete(id);
  }
  by("none").hidden = lines.length > 0;
}

function open(lots) {
  const left = lots.filter((lot) => ["open", "on_block"].includes(lot.state));
  by("left").textContent = left.length === 1 ? words.leftOne : fill(words.left, { count: left.length });
  const items = left.map((lot) => {
    const one = document.createElement("li");
    one.append(made("span", { className: "lot-label", textContent: lot.label }), " ", made("span", { textContent: lot.name, dir: "auto" }));
    if (lot.state === "on_block") one.append(" ", made("span", { className: "quiet", textContent: words.open.on_block }));
    return one;
  });
  const place = by("open");
  if (place.textContent !== items.map((one) => one.textContent).join("")) place.replaceChildren(...items);
}

// Asks, and returns the value of the choice with the reason, or null for "Back".
function ask(heading, text, choices, { why = false } = {}) {
  const dialog = by("ask");
  by("ask-heading").textContent = heading;
  by("ask-text").textContent = text;
  by("ask-why").hidden = !why;
  by("ask-reason").required = why;
  by("ask-reason").value = "";
  by("ask-choices").replaceChildren(...choices.map(([value, label], index) => made("button", { type: "submit", value, textContent: label, className: index ? "secondary" : "" })));
  dialog.returnValue = "";
  dialog.showModal();
  if (why) by("ask-reason").focus();
  return new Promise((next) => {
    dialog.addEventListener("close", () => {
      by("line").focus();
      next(dialog.returnValue ? { value: dialog.returnValue, reason: by("ask-reason").value.trim() } : null);
    }, { once: true });
  });
}
by("ask").querySelector("[data-close]").addEventListener("click", () => by("ask").close(""));

function tell(text, link) {
  by("trouble").textContent = text;
  if (link) by("trouble").append(" ", link);
  by("trouble").hidden = text === "";
}

window.entryList = { ask, bidder, list, money, open, result, standing, tell };
