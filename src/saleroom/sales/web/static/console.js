// The clerk's console: keys become acts. `console_typing.js` has the keys that wait, `console_queue.js` the acts that do.
const desk = window.desk;
const words = JSON.parse(document.getElementById("console-words").textContent);
const notation = JSON.parse(document.getElementById("notation").textContent);
const { amounts } = window;
const { queue, typing } = window;
const { holds, standing, step, tell, untell } = queue;
const by = (id) => document.getElementById(id);
const SLIP_MS = 600;

// Whether nothing but this is done while the sale stands still, in words.
function standsStill(name) {
  if (desk.shown.block.status !== "paused" || ["pause", "resume", "leave"].includes(name)) return false;
  typing.clearEntry();
  tell(words.standsStill);
  return true;
}
function act(name, facts) {
  if (standsStill(name)) return; // by a dialog that was opened before
  untell();
  typing.forget();
  by("done").textContent = "";
  typing.clearEntry();
  queue.add(name, facts);
}

function enteredPaddle() {
  if (/^[1-9]\d{0,5}$/.test(typing.entry)) return typing.entry;
  tell(desk.fill(words.noPaddle, { text: typing.entry }));
  return null;
}

// ---- The acts by their names.
function onBlock() {
  const lot = desk.shown.block.onBlock;
  if (!lot) {
    typing.clearEntry(); // otherwise the next Enter would not call a lot
    tell(words.offBlock);
  }
  return lot;
}
function bid(facts) {
  const lot = onBlock();
  if (lot?.need) {
    if (facts.paddle) act("pledge", { label: lot.label, amount: lot.need.level, ...facts });
    else tell(words.digitsFirst);
    return;
  }
  if (lot?.auction.minimumBid) act("bid", { label: lot.label, amount: lot.auction.minimumBid, ...facts });
}
function ask(amount) {
  const lot = onBlock();
  if (!lot) return;
  if (lot.need) {
    if (desk.mills(amount) > 0n) act("level", { amount });
    return;
  }
  const price = lot.auction.currentBid;
  if (price && desk.mills(amount) <= desk.mills(price)) tell(desk.fill(words.tooLow, { amount: desk.money(price) }));
  else if (desk.mills(amount) > 0n) act("ask", { amount });
}
const doubtful = (text, { amount, meant, low, high }) => ({ text, amount: desk.money(amount), meant: desk.money(meant), exact: low, right: high });
function stepped(up) {
  const need = desk.shown.block.onBlock?.need;
  if (need) {
    const now = desk.mills(need.level);
    const next = up ? need.levels.findLast((level) => desk.mills(level) > now) : need.levels.find((level) => desk.mills(level) < now);
    if (next) act("level", { amount: next });
    else tell(words.noLevel);
    return;
  }
  const auction = onBlock()?.auction;
  if (!auction?.minimumBid) return;
  const now = desk.mills(auction.minimumBid);
  const size = step(auction, up ? now : now - 1n);
  const lower = now - size;
  ask(desk.decimal(up ? now + size : lower > 0n ? lower : now / 2n));
}
function named(then) {
  const lot = onAuction();
  if (!lot) return;
  if (lot.auction.currentBidder !== desk.floor) {
    tell(lot.auction.currentBidder ? desk.fill(words.notFloor, { leader: desk.bidder(lot.auction.currentBidder) }) : words.noBid);
    return;
  }
  const number = enteredPaddle();
  if (number === null) return;
  act("name", { paddle: number });
  then?.();
}
function sell() {
  const lot = onBlock();
  if (!lot) return;
  if (lot.need) {
    if (typing.entry) tell(desk.fill(words.notTaken, { text: typing.entry }));
    else act("sell");
    return;
  }
  if (typing.entry) return named(sell);
  const { currentBid, currentBidder, reserveMet } = lot.auction;
  if (!currentBid) tell(words.noBid);
  else if (currentBidder === desk.floor) openDialog("ask-paddle");
  else if (reserveMet === false) openDialog("below");
  else act("sell");
}
function onAuction() {
  const lot = onBlock();
  if (!lot?.need) return lot;
  tell(words.notOnNeed);
  return null;
}
function undo() {
  const need = desk.shown.block.onBlock?.need;
  const last = need?.lastPledges.find((one) => !one.undone);
  if (!last) act("undo");
  else if (last.pledge) undoRow(last.pledge);
  else tell(words.stillSent);
}
const undoRow = (pledge) => act("undo_pledge", { pledge, label: desk.shown.block.onBlock?.label });
const simple = (name) => () => { if (onAuction()) act(name); };
const acts = {
  call() {
    const lot = desk.shown.block.onBlock;
    if (typing.entry) acts.paddle();
    else if (lot) tell(desk.fill(lot.need ? words.needOnBlock : words.onBlock, { label: lot.label }));
    else act("call");
  },
  bid() { if (typing.entry) acts.paddle(); else bid({}); },
  paddle() { const number = enteredPaddle(); if (number) bid({ paddle: number }); },
  phone() { const number = typing.entry ? enteredPaddle() : tell(words.digitsFirst); if (number) bid({ paddle: number, channel: "phone" }); },
  ask() {
    const { exact, fault, ...facts } = amounts.typed(typing.entry, notation);
    if (exact) ask(exact);
    else if (fault === "doubt") tell(desk.fill(words[facts.low ? "doubt" : "meant"], doubtful(typing.entry, facts)));
    else tell(desk.fill(words.noAmount, { text: typing.entry }));
  },
  name() { if (typing.entry) named(); else tell(words.digitsFirst); },
  sell, warn: simple("warn"), pass: simple("pass"), skip() { if (onBlock()) act("skip"); },
  undo,
  unpledge() {
    if (/^[1-9]\d{0,4}$/.test(typing.entry)) undoRow(typing.entry);
    else tell(words.rowFirst);
  },
  take() { queue.slips.settle(true); },
  leave() { queue.slips.settle(false); },
  raise() { stepped(true); },
  lower() { stepped(false); },
  retract() { if (onAuction()) openDialog("retract"); },
  summon() { openDialog("summon"); },
  reopen() { openDialog("reopen"); },
  decide() { openDialog("decide"); },
  pause() {
    const { status } = desk.shown.block;
    if (["running", "paused"].includes(status)) openDialog(status === "paused" ? "resume" : "pause");
    else tell(words.notRunning);
  },
  end() { openDialog("end"); },
};

// ---- Keys. A key that stands on a button or in a field is that part's own.
const keys = { Enter: "call", " ": "bid", f: "warn", h: "sell", p: "pass", s: "skip", n: "name", t: "phone", r: "retract", l: "summon", o: "reopen", c: "decide", e: "end", b: "pause", "+": "raise", "-": "lower", "*": "ask", u: "unpledge", y: "take", x: "leave" };
function nameOf(key) {
  if (/^[\d.,]$/.test(key)) return "digit";
  if (key === "Backspace") return "back";
  if (key === "Control+z") return "undo";
  if (key === "=") return typing.entry ? "ask" : "raise";
  if (key === "a" && typing.entry) return "ask";
  const name = keys[key];
  return document.querySelector(`[data-act="${name}"], [data-digit="${name}"]`) ? name : undefined;
}
// Does what a key, or the button of an act, a digit or a row, stands for.
function use({ key, name = nameOf(key), pledge }) {
  if (pledge) undoRow(pledge);
  else if (name === "digit") typing.typed(key);
  else if (!acts[name]) typing.typed(name);
  else if (!standsStill(name) && !typing.isForAnother()) acts[name]();
}
// While keys wait, any may be for a dialog that one of them opens.
const isTaken = (key) => key === "Escape" || nameOf(key) !== undefined || (typing.waits && key.length === 1);
document.addEventListener("keydown", (event) => {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  // A browser moves the focus out of a dialog that was closed only when it draws again.
  const at = event.target.closest("dialog:not([open])") ? document.body : event.target;
  if (document.querySelector("dialog[open]") || at.closest("input, select, textarea")) return;
  const isUndo = (event.ctrlKey || event.metaKey) && key === "z" && !event.shiftKey;
  if (!isUndo) {
    if (event.ctrlKey || event.metaKey || event.altKey || !by("keys").checked) return;
    if ((key === "Enter" || key === " ") && at.closest("button, a, summary")) return;
    if (!isTaken(key)) return;
  }
  event.preventDefault();
  if (!event.repeat || ["+", "=", "-", "Backspace"].includes(key)) typing.take({ key: isUndo ? "Control+z" : key });
});
// Words above the buttons come and go with an act, and move them: the second click of a double click is for no other button.
let last = { button: null, timeStamp: -Infinity };
function isSlip(button, { detail, clientX, clientY, timeStamp }) {
  const isNear = Math.hypot(clientX - last.clientX, clientY - last.clientY) < 16;
  const slips = detail > 0 && button !== last.button && isNear && timeStamp - last.timeStamp < SLIP_MS;
  last = { button: slips ? last.button : button, clientX, clientY, timeStamp };
  return slips;
}
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-act], [data-digit], [data-pledge]");
  if (!button || isSlip(button, event)) return;
  const { act: name, digit, pledge } = button.dataset;
  typing.take(pledge ? { pledge } : { name: name ?? digit });
});
// A pointer leaves the focus where it is: otherwise the next Space would press the same button again.
document.addEventListener("mousedown", (event) => { if (event.target.closest("[data-act], [data-digit]")) event.preventDefault(); });

// ---- Dialogs. The browser keeps the focus inside, and Escape closes them.
let opened; // what stood when the last one was opened
function openDialog(id) {
  const dialog = by(id);
  if (dialog.open) return;
  dialog.querySelector("form").reset();
  opened = standing(desk.shown);
  dialog.showModal();
}
const dialogs = {
  "ask-paddle": ({ paddle: number }) => { act("name", { paddle: number }); sell(); },
  below: (_, button) => act(button),
  retract: ({ paddle: number }) => act("retract", number ? { paddle: number } : {}),
  summon: ({ label }) => act("call", { label }),
  reopen: (members) => act("reopen", members),
  decide: (members) => act("decide", members),
  pause: () => act("pause"),
  resume: () => act("resume"),
  end: () => act("end"),
};
const ON_THE_LOT = ["ask-paddle", "below", "retract"];
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
  dialog.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    const members = Object.fromEntries([...new FormData(event.target)].map(([name, value]) => [name, value.trim()]));
    dialog.close();
    if (ON_THE_LOT.includes(dialog.id) && !holds(opened, desk.shown)) tell(words.changedSince, words.again);
    else dialogs[dialog.id](members, event.submitter?.value);
  });
}
// A dialog whose buttons have letters of their own. Enter goes back there, so that a key of a routine lot decides nothing.
for (const dialog of document.querySelectorAll("dialog:has([aria-keyshortcuts])")) {
  dialog.addEventListener("keydown", (event) => {
    const button = [...dialog.querySelectorAll("[aria-keyshortcuts]")].find((one) => one.ariaKeyShortcuts === event.key.toUpperCase());
    if (button === undefined || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation(); // the dialog is closed when the key reaches the document
    button.click();
  });
}

typing.start(use);
queue.start();
by("main").dataset.ready = ""; // keys count from here on
