// The clerk's console: keys become acts, which are shown at once and sent one after the other, each with its own key.
const desk = window.desk;
const words = JSON.parse(document.getElementById("console-words").textContent);
const main = document.getElementById("main");
const stored = `acts of ${desk.sale}`;
const { needs } = window;
const { retryMs, wait } = window.clerk;
const by = (id) => document.getElementById(id);

// ---- The acts that wait. They survive a reload of this tab: their keys keep them from being done twice.
let queue = JSON.parse(sessionStorage.getItem(stored) ?? "[]");
const typedOn = new Map(); // the state that each act was typed on, by its key; a reload forgets it
let sending = false;
let offline = false;

function keep() {
  sessionStorage.setItem(stored, JSON.stringify(queue));
  desk.show();
  const place = by("queue");
  place.hidden = !(offline && queue.length);
  place.textContent = place.hidden ? "" : queue.length === 1 ? words.waitingOne : desk.fill(words.waiting, { count: queue.length });
  for (const tag of document.querySelectorAll("[data-slot=pending]")) {
    tag.textContent = queue.length ? words.pending : "";
    tag.hidden = queue.length === 0;
  }
}

function act(name, facts = {}) {
  untell();
  by("done").textContent = "";
  clearEntry();
  // An act on top of one that waits rests on the state after that one, which its answer names.
  const key = window.clerk.newKey();
  typedOn.set(key, desk.confirmed);
  queue.push({ act: name, ...facts, key, seen: queue.length ? null : desk.confirmed.block.tag });
  keep();
  send();
}

async function send() {
  if (sending) return;
  sending = true;
  for (let tries = 0; queue.length;) {
    let answer;
    try {
      const { key, ...members } = queue[0];
      answer = await window.clerk.post(`/sales/${desk.sale}/console`, key, members);
    } catch (error) {
      console.info(`An act waits: ${error.message}`);
      offline = true;
      keep();
      await wait(retryMs[Math.min(tries++, retryMs.length - 1)]);
      continue;
    }
    const [ok, status, body] = answer;
    if (status === 401) {
      loggedOut();
      await wait(retryMs.at(-1));
      continue;
    }
    tries = 0;
    offline = false;
    const done = queue.shift();
    if (ok) {
      typedOn.delete(done.key);
      if (queue.length) queue[0].seen = body.tag;
      sessionStorage.setItem(stored, JSON.stringify(queue));
      desk.answer(body.desk);
      by("done").textContent = desk.fill(words.done[done.act] ?? "", done);
    } else {
      await refused(done, body);
    }
    keep();
  }
  sending = false;
}

addEventListener("beforeunload", (event) => { if (queue.length && offline) event.preventDefault(); });

// ---- What the waiting acts will change: shown at once, and replaced by what the house answers.
const step = (auction, price) => {
  const ladder = auction.increment;
  if (typeof ladder === "string") return desk.mills(ladder);
  return desk.mills(ladder.findLast((tier) => desk.mills(tier.from) <= price)?.step ?? "0");
};
const paddle = (number) => (number ? `#${number}` : desk.floor);

function ahead(state, one) {
  const block = { ...state.block };
  const lot = block.onBlock;
  const change = (facts, more) => { block.onBlock = { ...lot, ...more, auction: { ...lot.auction, ...facts } }; };
  if (one.act === "call" && !one.label && !lot && block.nextLots.length) {
    const [following, ...rest] = block.nextLots;
    const called = following.need ? { need: needs.ahead(following.need, one, desk) } : { auction: { ...following.auction, stage: "called" } };
    Object.assign(block, { onBlock: { ...following, ...called }, nextLots: rest });
  }
  if (lot === null) return { ...state, block };
  if (lot.need) {
    const need = needs.ahead(lot.need, one, desk);
    const off = { sell: { ...need, stage: "closed" }, skip: { ...need, stage: "waiting" } }[one.act];
    Object.assign(block, off ? { onBlock: null, lastLot: { ...lot, need: off } } : { onBlock: { ...lot, need } });
    return { ...state, block };
  }
  const { auction } = lot;
  if (one.act === "bid") {
    const price = desk.mills(one.amount);
    const facts = { currentBid: one.amount, currentBidder: paddle(one.paddle), minimumBid: desk.decimal(price + step(auction, price)), stage: "called" };
    change({ ...facts, reserveMet: lot.reservePrice ? price >= desk.mills(lot.reservePrice) : null }, { channel: one.channel ?? "floor" });
  }
  if (one.act === "ask") change({ minimumBid: one.amount, stage: "called" });
  if (one.act === "name") change({ currentBidder: paddle(one.paddle) });
  if (one.act === "warn") change({ stage: auction.stage === "called" ? "fair_warning" : "final_call" });
  const outcome = { sell: "sold", sell_conditionally: "conditional", pass: auction.currentBid ? "reserve_not_met" : "no_bids", skip: "" }[one.act];
  if (outcome !== undefined) Object.assign(block, { onBlock: null, lastLot: { ...lot, auction: { ...auction, outcome } } });
  return { ...state, block };
}
desk.predict = (state) => queue.reduce(ahead, state);

// ---- Words to the clerk.
function tell(...sentences) {
  const place = by("trouble");
  place.replaceChildren(...sentences.filter(Boolean).map((text) => Object.assign(document.createElement("p"), { textContent: text })));
  place.hidden = false;
}
function untell() {
  by("trouble").hidden = true;
  by("trouble").replaceChildren();
}

function loggedOut() {
  tell(words.loggedOut);
  const link = Object.assign(document.createElement("a"), { href: main.dataset.login, textContent: words.logIn });
  by("trouble").append(link);
  offline = true;
  keep();
}

// Pledges do not rest on one another: those that wait go on, and a paddle that gives twice is asked for beside them.
const slips = needs.slips((one, more) => {
  by("repeat").hidden = one === undefined;
  if (one) by("repeat-words").textContent = desk.fill(words.twice, { paddle: one.paddle, amount: desk.money(one.amount), more });
}, ({ paddle: given, amount, channel }) => act("pledge", { paddle: given, amount, channel, again: true }));

async function refusedPledge(one, { code, message }) {
  const state = await present();
  if (state) desk.answer(state);
  if (queue.length) queue[0].seen = desk.confirmed.block.tag;
  if (code === "pledged_already") return slips.add(one);
  const what = one.paddle ? desk.fill(words.pledgeOf, { paddle: one.paddle, amount: desk.money(one.amount) }) : desk.fill(words.undoOf, { number: one.pledge });
  return tell(desk.fill(words.notDone, { act: what }), message);
}

async function refused(one, { code, message }) {
  if (["pledge", "undo_pledge"].includes(one.act)) return refusedPledge(one, { code, message });
  const before = typedOn.get(one.key) ?? desk.confirmed;
  typedOn.clear();
  const followed = queue.map((each) => words.acts[each.act]).join(", ");
  queue = [];
  keep();
  const state = await present();
  if (state) desk.answer(state);
  if (code === "below_reserve") return openDialog("below");
  if (code === "needs_paddle") return openDialog("ask-paddle");
  const others = ["block_changed", "ask_changed"].includes(code);
  const news = others && state ? desk.news(before, state) : "";
  tell(desk.fill(words.notDone, { act: words.acts[one.act] }), others ? "" : message,
    others ? (news ? desk.fill(words.since, { news }) : words.nothingSeen) : "",
    followed ? desk.fill(words.notSent, { acts: followed }) : "", others ? words.again : "");
}

async function present() {
  try {
    const answer = await fetch(`/sales/${desk.sale}/console/state`, { headers: { "X-Requested-With": "desk" }, cache: "no-store", signal: AbortSignal.timeout(5000) });
    return answer.ok ? await answer.json() : null;
  } catch {
    desk.load();
    return null;
  }
}

// ---- The digits that were typed.
let entry = "";
function clearEntry() {
  entry = "";
  showEntry();
}
function showEntry() {
  by("entry").textContent = entry;
  by("entry-help").textContent = entry ? desk.fill(words.help, { text: entry }) : "";
}
function typed(character) {
  if (character === "back") entry = entry.slice(0, -1);
  else if (entry.length < 24) entry += character === "," ? "." : character;
  showEntry();
}
function enteredPaddle() {
  if (/^[1-9]\d{0,5}$/.test(entry)) return entry;
  tell(desk.fill(words.noPaddle, { text: entry }));
  return null;
}

// ---- The acts by their names.
function onBlock() {
  const lot = desk.shown.block.onBlock;
  if (!lot) {
    clearEntry(); // otherwise the next Enter would not call a lot
    tell(words.offBlock);
  }
  return lot;
}
function bid(facts) {
  const lot = onBlock();
  if (lot?.need) {
    if (facts.paddle) act("pledge", { amount: lot.need.level, ...facts });
    else tell(words.digitsFirst);
    return;
  }
  if (lot?.auction.minimumBid) act("bid", { amount: lot.auction.minimumBid, ...facts });
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
    if (entry) tell(desk.fill(words.notTaken, { text: entry }));
    else act("sell");
    return;
  }
  if (entry) return named(sell);
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
  else if (last.pledge) act("undo_pledge", { pledge: last.pledge });
  else tell(words.stillSent);
}
const simple = (name) => () => { if (onAuction()) act(name); };
const acts = {
  call() {
    const lot = desk.shown.block.onBlock;
    if (entry) acts.paddle();
    else if (lot) tell(desk.fill(lot.need ? words.needOnBlock : words.onBlock, { label: lot.label }));
    else act("call");
  },
  bid() { bid({}); },
  paddle() { const number = enteredPaddle(); if (number) bid({ paddle: number }); },
  phone() { const number = entry ? enteredPaddle() : tell(words.digitsFirst); if (number) bid({ paddle: number, channel: "phone" }); },
  ask() {
    if (/^\d{1,17}(\.\d{1,3})?$/.test(entry)) ask(desk.decimal(desk.mills(entry)));
    else tell(desk.fill(words.noAmount, { text: entry }));
  },
  name() { if (entry) named(); else tell(words.digitsFirst); },
  sell, warn: simple("warn"), pass: simple("pass"), skip() { if (onBlock()) act("skip"); },
  undo,
  unpledge() {
    if (/^[1-9]\d{0,4}$/.test(entry)) act("undo_pledge", { pledge: entry });
    else tell(words.rowFirst);
  },
  take() { slips.settle(true); },
  leave() { slips.settle(false); },
  raise() { stepped(true); },
  lower() { stepped(false); },
  retract() { if (onAuction()) openDialog("retract"); },
  summon() { openDialog("summon"); },
  reopen() { openDialog("reopen"); },
  decide() { openDialog("decide"); },
  end() { openDialog("end"); },
};

// ---- Keys. A key that stands on a button or in a field is that part's own.
const keys = { Enter: "call", " ": "bid", f: "warn", h: "sell", p: "pass", s: "skip", n: "name", t: "phone", r: "retract", l: "summon", o: "reopen", c: "decide", e: "end", "+": "raise", "-": "lower", "*": "ask", u: "unpledge", y: "take", x: "leave" };
document.addEventListener("keydown", (event) => {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (document.querySelector("dialog[open]") || event.target.closest("input, select, textarea")) return;
  if ((event.ctrlKey || event.metaKey) && key === "z" && !event.shiftKey) {
    event.preventDefault();
    if (!event.repeat) acts.undo();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || !by("keys").checked) return;
  if ((key === "Enter" || key === " ") && event.target.closest("button, a, summary")) return;
  let name = keys[key];
  if (/^[\d.,]$/.test(key)) name = "digit";
  else if (key === "Backspace") name = "back";
  else if (key === "Escape") name = "clear";
  else if (entry && (key === "=" || key === "a")) name = "ask";
  else if (key === "=") name = "raise";
  if (name === undefined || (acts[name] && !document.querySelector(`[data-act="${name}"], [data-digit="${name}"]`))) return;
  event.preventDefault();
  if (event.repeat && !["raise", "lower", "back"].includes(name)) return;
  if (name === "digit") typed(key);
  else if (name === "back") typed("back");
  else if (name === "clear") { clearEntry(); untell(); }
  else acts[name]();
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-act], [data-digit], [data-pledge]");
  if (!button) return;
  if (button.dataset.pledge) return act("undo_pledge", { pledge: button.dataset.pledge });
  const name = button.dataset.act ?? button.dataset.digit;
  if (acts[name]) acts[name]();
  else typed(name);
});
// A pointer leaves the focus where it is: otherwise the next Space would press the same button again.
document.addEventListener("mousedown", (event) => { if (event.target.closest("[data-act], [data-digit]")) event.preventDefault(); });

// ---- Dialogs. The browser keeps the focus inside, and Escape closes them.
function openDialog(id) {
  const dialog = by(id);
  if (dialog.open) return;
  dialog.querySelector("form").reset();
  dialog.showModal();
}
const dialogs = {
  "ask-paddle": ({ paddle: number }) => { act("name", { paddle: number }); sell(); },
  below: (_, button) => act(button),
  retract: ({ paddle: number }) => act("retract", number ? { paddle: number } : {}),
  summon: ({ label }) => act("call", { label }),
  reopen: (members) => act("reopen", members),
  decide: (members) => act("decide", members),
  end: () => act("end"),
};
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
  dialog.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    const members = Object.fromEntries([...new FormData(event.target)].map(([name, value]) => [name, value.trim()]));
    dialog.close();
    dialogs[dialog.id](members, event.submitter?.value);
  });
}
by("below").addEventListener("keydown", (event) => {
  const value = { c: "sell_conditionally", p: "pass" }[event.key.toLowerCase()];
  if (value === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation(); // the dialog is closed when the key reaches the document
  by("below").close();
  act(value);
});

keep();
if (queue.length) send();
