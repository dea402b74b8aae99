// The acts of the clerk that wait for the house: shown at once, sent one after the other, each with its own key.
//
// An act rests on what the clerk saw when it was typed. If the house answers with something else than what was shown, the acts
// that were typed after it are not sent.
const desk = window.desk;
const words = JSON.parse(document.getElementById("console-words").textContent);
const { needs } = window;
const { retryMs, wait } = window.clerk;
const by = (id) => document.getElementById(id);
const stored = `acts of ${desk.sale}`;
const OF_PLEDGES = ["pledge", "undo_pledge"]; // they rest on no other act: those that wait go on

// They survive a reload of this tab: their keys keep them from being done twice.
let queue = JSON.parse(sessionStorage.getItem(stored) ?? "[]");
const typedOn = new Map(); // the state that each act was typed on, by its key; a reload forgets it
const told = { changed: () => {}, stopped: () => {} }; // after each answer; when something was not done
let sending = false;
let offline = false;
let isLooking = false; // at the present state, after an act was refused

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

function add(name, facts = {}) {
  // An act on top of one that waits rests on the state after that one, which its answer names.
  const key = window.clerk.newKey();
  typedOn.set(key, desk.confirmed);
  const rests = { on: standing(desk.shown), blind: isBlind(name, facts, desk.shown) };
  queue.push({ members: { act: name, ...facts, seen: queue.length ? null : desk.confirmed.block.tag }, key, ...rests });
  keep();
  send();
}

async function send() {
  if (sending) return;
  sending = true;
  for (let tries = 0; queue.length;) {
    let answer;
    try {
      answer = await window.clerk.post(`/sales/${desk.sale}/console`, queue[0].key, queue[0].members);
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
    if (ok) answered(done, body);
    else await refused(done, body);
    keep();
    told.changed();
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

// What an act rests on. The channel of the leader is only known of a bid that waits.
function standing({ block: { onBlock: lot } }) {
  if (!lot) return { lot: null };
  if (lot.need) return { lot: lot.gid, level: lot.need.level };
  const { currentBid, currentBidder, minimumBid, stage } = lot.auction;
  return { lot: lot.gid, stage, price: currentBid, isFloor: currentBidder === desk.floor, ask: minimumBid, channel: lot.channel };
}

function holds(expected, state) {
  const now = { ...standing(state), channel: desk.channelOf(state) };
  return Object.entries(expected).every(([name, value]) => value === undefined || value === now[name]);
}

// Whether only the house can tell what will stand after an act.
function isBlind(name, facts, { block }) {
  if (name === "call") return Boolean(facts.label) || !block.nextLots.length;
  return ["undo", "retract", "reopen", "decide", "pause", "resume", "end"].includes(name);
}

function ahead(state, { members: one }) {
  const block = { ...state.block };
  if (one.act === "pause") block.status = "paused";
  const lot = block.onBlock;
  const change = (facts, more) => { block.onBlock = { ...lot, ...more, auction: { ...lot.auction, ...facts } }; };
  if (one.act === "call" && !one.label && !lot && block.nextLots.length) {
    const [following, ...rest] = block.nextLots;
    const called = following.need ? { need: needs.ahead(following.need, one, desk) } : { auction: { ...following.auction, stage: "called" } };
    // The first call begins the sale.
    Object.assign(block, { onBlock: { ...following, ...called }, nextLots: rest, status: "running" });
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
// The stream may bring what an act has done before its answer does: then it changes nothing more.
desk.predict = (state) => queue.reduce((shown, one) => (holds(one.on, shown) ? ahead(shown, one) : shown), state);

// ---- The answers of the house.
function answered(done, body) {
  const before = typedOn.get(done.key) ?? desk.confirmed;
  typedOn.delete(done.key);
  if (queue.length) queue[0].members.seen = body.tag;
  sessionStorage.setItem(stored, JSON.stringify(queue));
  desk.answer(body.desk);
  by("done").textContent = desk.fill(words.done[done.members.act] ?? "", done.members);
  if (!queue.length || OF_PLEDGES.includes(queue[0].members.act) || holds(queue[0].on, desk.confirmed)) return;
  const news = desk.news(before, desk.confirmed);
  tell(...dropped(), news ? desk.fill(words.since, { news }) : words.nothingSeen, words.again);
  told.stopped();
}

// Drops the acts that wait, and returns the words that name them.
function dropped() {
  const followed = queue.map((one) => words.acts[one.members.act]).join(", ");
  queue = [];
  typedOn.clear();
  return followed ? [desk.fill(words.notSent, { acts: followed })] : [];
}

// Pledges do not rest on one another: those that wait go on, and a paddle that gives twice is asked for beside them.
const slips = needs.slips((one, more) => {
  by("repeat").hidden = one === undefined;
  if (one) by("repeat-words").textContent = desk.fill(words.twice, { paddle: one.paddle, amount: desk.money(one.amount), more });
}, ({ paddle: given, amount, channel, label }) => add("pledge", { paddle: given, amount, channel, label, again: true }));

async function refusedPledge(one, { code, message }) {
  const state = await present();
  if (state) desk.answer(state);
  if (queue.length) queue[0].members.seen = desk.confirmed.block.tag;
  if (code === "pledged_already") return slips.add(one);
  const what = one.paddle ? desk.fill(words.pledgeOf, { paddle: one.paddle, amount: desk.money(one.amount) }) : desk.fill(words.undoOf, { number: one.pledge });
  return tell(desk.fill(words.notDone, { act: what }), message);
}

async function refused({ key, members: one }, { code, message }) {
  if (OF_PLEDGES.includes(one.act)) return refusedPledge(one, { code, message });
  const before = typedOn.get(key) ?? desk.confirmed;
  const followed = dropped();
  keep();
  isLooking = true;
  told.stopped();
  const state = await present();
  isLooking = false;
  if (state) desk.answer(state);
  const others = ["block_changed", "ask_changed"].includes(code);
  const news = others && state ? desk.news(before, state) : "";
  tell(desk.fill(words.notDone, { act: words.acts[one.act] }), others ? "" : message,
    others ? (news ? desk.fill(words.since, { news }) : words.nothingSeen) : "", ...followed, others ? words.again : "");
  told.stopped(); // what was typed while the present state was read was typed for the one before
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
  const link = Object.assign(document.createElement("a"), { href: by("main").dataset.login, textContent: words.logIn });
  by("trouble").append(link);
  offline = true;
  keep();
}

window.queue = {
  add, slips, standing, holds, step, tell, untell,
  get isBlind() { return queue.some((one) => one.blind); },
  get isLooking() { return isLooking; },
  on(name, act) { told[name] = act; },
  start() {
    keep();
    if (queue.length) send();
  },
};
