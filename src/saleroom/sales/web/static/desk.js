// The desk of a live sale: the lot on the block as it is now, followed live. The console builds on it by `window.desk`.
const { sale, desk: first, currency, decimals, floor, words } = JSON.parse(document.getElementById("desk").textContent);
const language = document.documentElement.lang;
const figures = new Intl.NumberFormat(language, { style: "currency", currency, minimumFractionDigits: decimals, maximumFractionDigits: 3 });
const address = `/sales/${sale}/console/state`;
const { decimal, fill, mills, retryMs } = window.clerk;
let confirmed = first;
let predict = (state) => state; // what the acts that wait for their answers will change
const changed = []; // called after each change, with what was before

const money = (amount) => figures.format(amount);
const bidder = (name) => name === floor ? words.floor : /^#\d+$/.test(name) ? fill(words.paddle, { number: name.slice(1) }) : name;
const needs = window.needs;
const tools = { words, fill, mills, decimal, money, bidder };
const quietMs = 20000;
const isOver = () => ["closed", "cancelled"].includes(confirmed.block.status);
const lotOf = (state) => state.block.onBlock ?? state.block.lastLot;

function channelOf(state) {
  const lot = lotOf(state);
  const leading = state.lots.bids.find((bid) => bid.voided === null);
  const isIt = lot?.auction?.currentBid && leading && mills(leading.amount) === mills(lot.auction.currentBid);
  return lot?.channel ?? (isIt ? leading.channel : null);
}

function set(slot, text) {
  for (const place of document.querySelectorAll(`[data-slot="${slot}"]`)) {
    if (place.textContent !== text) place.textContent = text;
    place.toggleAttribute("data-long", text.length > (slot === "name" ? 80 : 12));
    place.hidden = text === "";
  }
}

function reserve(lot) {
  if (!lot.reservePrice) return words.noReserve;
  const amount = money(lot.reservePrice);
  if (lot.auction?.reserveMet) return fill(words.met, { amount });
  const price = lot.auction?.currentBid;
  if (!price) return fill(words.reserve, { amount });
  return fill(words.short, { amount, missing: money(decimal(mills(lot.reservePrice) - mills(price))) });
}

function range(lot) {
  if (!lot.estimateFrom) return "";
  return fill(words.estimate, { range: lot.estimateTo ? `${money(lot.estimateFrom)} – ${money(lot.estimateTo)}` : money(lot.estimateFrom) });
}

// How a lot ended. One that was withdrawn has no outcome.
const endOf = (auction) => (auction?.status === "cancelled" ? "cancelled" : auction?.outcome);
const result = (auction) => auction.outcome === "sold" || auction.outcome === "conditional"
  ? `${words.outcomes[auction.outcome]}: ${money(auction.currentBid)}, ${bidder(auction.currentBidder)}` : words.outcomes[endOf(auction)] ?? "";

function showLot(state) {
  const { onBlock, nextLots } = state.block;
  const lot = lotOf(state);
  const auction = lot?.auction;
  set("label", lot?.label ?? "");
  set("name", lot ? lot.name : nextLots.length ? words.nothing : words.nothingLeft);
  set("description", lot?.description ?? "");
  document.getElementById("main").dataset.kind = lot?.need ? "need" : "auction";
  const block = document.getElementById("block");
  const isPaused = state.block.status === "paused";
  block.dataset.stage = isPaused ? "paused" : !onBlock ? "off" : lot.need ? "called" : auction.hidden ? "hidden" : auction.stage;
  block.toggleAttribute("data-off", !onBlock);
  block.dataset.reserve = auction?.reserveMet === false ? "short" : "met";
  showPhoto(lot);
  if (lot?.need) {
    for (const [slot, text] of Object.entries(needs.slots(lot, onBlock !== null, tools))) set(slot, text);
    if (isPaused) set("stage", words.standsStill);
    return;
  }
  set("estimate", lot ? range(lot) : "");
  set("consignor", lot?.consignor ? fill(words.consignor, { code: lot.consignor }) : "");
  set("reserve", lot ? reserve(lot) : "");
  set("askLabel", onBlock ? words.ask : "");
  set("ask", onBlock ? (auction.minimumBid ? money(auction.minimumBid) : "") : auction ? result(auction) || words.nothing : "");
  set("priceLabel", onBlock && auction.currentBid ? words.bid : "");
  set("price", onBlock ? (auction.currentBid ? money(auction.currentBid) : words.noBids) : "");
  set("leader", onBlock && auction.currentBidder ? bidder(auction.currentBidder) : "");
  set("channel", onBlock && auction.currentBid ? words.channels[channelOf(state)] ?? "" : "");
  set("stage", isPaused ? words.standsStill : !onBlock ? "" : auction.hidden ? words.takenDown : words.stages[auction.stage] ?? "");
}

function showPhoto(lot) {
  const photo = lot && lot.gid === lotOf(confirmed)?.gid ? confirmed.lots.photo : null;
  const image = document.getElementById("photo");
  if (photo && image.getAttribute("src") !== photo.url) Object.assign(image, { src: photo.url, width: photo.width, height: photo.height });
  image.hidden = photo === null;
  document.getElementById("no-photo").hidden = photo !== null;
}

function line(...parts) {
  const item = document.createElement("li");
  for (const [kind, text] of parts) {
    if (!text) continue;
    if (item.childNodes.length) item.append(" ");
    item.append(Object.assign(document.createElement(kind === "voided" ? "s" : "span"), { className: kind, textContent: text, dir: "auto" }));
  }
  return item;
}

function list(id, items) {
  const place = document.getElementById(id);
  if (!place) return;
  const made = items();
  if (place.textContent !== made.map((one) => one.textContent).join("")) place.replaceChildren(...made);
}

function show() {
  const state = predict(confirmed);
  const { status, lotsLeft, nextLots } = state.block;
  showLot(state);
  set("status", words.statuses[status] ?? status);
  set("pauseKey", status === "paused" ? words.goOn : words.pause);
  set("left", fill(words.left, { count: lotsLeft }));
  set("pace", confirmed.lots.perHour === null ? "" : fill(words.pace, { count: confirmed.lots.perHour }));
  const need = lotOf(state)?.need ? lotOf(state) : null;
  if (need) list("bids", () => needs.rows(need, tools).map(({ parts, undo }) => withUndo(line(...parts), undo)));
  else list("bids", () => state.lots.bids.map((bid) => line([bid.voided === null ? "figure" : "voided", money(bid.amount)], ["name", bidder(bid.bidder)],
    ["quiet", words.channels[bid.channel]], ["quiet", bid.voided === null ? "" : words.voided[bid.voided] ?? bid.voided])));
  list("next", () => nextLots.map((lot) => line(["lot-label", lot.label], ["name", lot.name], ["quiet", range(lot)],
    ["figure", lot.auction?.currentBid ? money(lot.auction.currentBid) : ""])));
  list("results", () => state.lots.results.map((lot) => line(["lot-label", lot.label], ["name", lot.name], ["figure", lot.need ? needs.result(lot, tools) : result(lot.auction)])));
}

function withUndo(item, undo) {
  if (undo && document.querySelector("[data-act]")) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "secondary", textContent: "×", ariaLabel: undo.label, title: undo.label });
    button.dataset.pledge = undo.pledge;
    item.append(" ", button);
  }
  return item;
}

// What has happened between two states, in words.
function news(before, after) {
  const told = [];
  const [was, is] = [before.block.onBlock, after.block.onBlock];
  if (was && was.gid !== is?.gid) {
    const left = [after.block.lastLot, ...after.lots.results].find((lot) => lot?.gid === was.gid);
    const over = left?.auction;
    const facts = { label: was.label, outcome: words.outcomes[endOf(over)] };
    if (was.need) told.push(fill(words.needLeft, { ...facts, total: money((left ?? was).need.total) }));
    else if (over?.outcome === "sold") told.push(fill(words.soldSaid, { ...facts, amount: money(over.currentBid), leader: bidder(over.currentBidder) }));
    else told.push(fill(facts.outcome ? words.overSaid : words.leftSaid, facts));
  }
  if (is) told.push(...newsOfLot(was?.gid === is.gid ? was : null, is, after));
  if (before.block.status !== after.block.status) told.push(fill(words.statusSaid, { status: words.statuses[after.block.status] }));
  return told.join(" ");
}

function newsOfLot(was, is, after) {
  if (is.need) return needs.news(was, is, tools);
  const { currentBid, currentBidder, minimumBid, bidCount, stage } = is.auction;
  const ask = minimumBid ? money(minimumBid) : "";
  if (was === null) return [fill(words.called, { label: is.label, name: is.name, ask })];
  if (is.auction.hidden && !was.auction.hidden) return [words.takenDown];
  const facts = { ask, amount: currentBid && money(currentBid), leader: currentBidder && bidder(currentBidder), channel: words.channels[channelOf(after)] ?? "" };
  if (currentBid && (bidCount !== was.auction.bidCount || currentBid !== was.auction.currentBid)) return [fill(words.bidSaid, facts)];
  if (currentBid && currentBidder !== was.auction.currentBidder) return [fill(words.namedSaid, facts)];
  if (stage !== was.auction.stage && stage !== "called") return [words.stages[stage]];
  return minimumBid !== was.auction.minimumBid ? [fill(words.askSaid, { ask })] : [];
}

function accept(state) {
  const before = confirmed;
  confirmed = state;
  const told = news(before, state);
  if (told) document.getElementById("said").textContent = told;
  follow();
  show();
  for (const act of changed) act(before);
}

// One request at a time reads the desk; one that began before an act was answered is read again.
let reading = false;
let again = false;
let failures = 0;
let answered = 0;
let asked = performance.now();
async function load() {
  if (reading) {
    again = true;
    return;
  }
  reading = true;
  again = false;
  const began = performance.now();
  const isLate = began - asked > quietMs;
  asked = began;
  try {
    const answer = await fetch(address, { headers: { "X-Requested-With": "desk" }, cache: "no-store", signal: AbortSignal.timeout(10000) });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const state = await answer.json();
    const isNews = state.block.tag !== confirmed.block.tag || state.block.status !== confirmed.block.status;
    if (failures || (isLate && isNews)) closeStreams(); // they have missed something; others are opened below
    failures = 0;
    tellLost(false);
    if (began < answered) again = true;
    else accept(state);
  } catch (error) {
    console.info(`The desk cannot be read: ${error.message}`);
    tellLost(true);
    setTimeout(load, retryMs[Math.min(failures++, retryMs.length - 1)]);
    again = false;
  }
  reading = false;
  if (again) load();
}

let leaving = false;
addEventListener("pagehide", () => { leaving = true; });
function tellLost(lost) {
  const place = document.getElementById("line");
  if (leaving || place.hidden === !lost) return;
  place.hidden = !lost;
  place.textContent = lost ? words.lost : "";
}

// The sale has a stream, and the lot that is on the block, or was on it last, has another one.
const streams = new Map();
function open(path) {
  const stream = new EventSource(path);
  stream.onmessage = load;
  stream.addEventListener("stream.started", load);
  stream.onerror = () => {
    if (stream.readyState !== EventSource.CLOSED || streams.get(path) !== stream) return;
    streams.delete(path);
    setTimeout(follow, 4000);
  };
  streams.set(path, stream);
}

function closeStreams() {
  for (const stream of streams.values()) stream.close();
  streams.clear();
}

// A network that is cut without a word ends no stream, and a stream tells nothing while nobody acts. So the desk looks now and then.
setInterval(() => { if (performance.now() - asked > quietMs && !isOver()) load(); }, 5000);

function follow() {
  const gid = lotOf(confirmed)?.gid;
  const wanted = isOver() ? [] : [`/sales/${sale}/events`, ...(lotOf(confirmed)?.auction ? [`/auctions/${gid}/events`] : [])];
  for (const [path, stream] of streams) {
    if (wanted.includes(path)) continue;
    stream.close();
    streams.delete(path);
  }
  for (const path of wanted) if (!streams.has(path)) open(path);
}

window.desk = {
  sale, words, floor, fill, mills, decimal, money, bidder, channelOf, lotOf, load, news, show,
  get confirmed() { return confirmed; },
  get shown() { return predict(confirmed); },
  set predict(make) { predict = make; },
  answer(state) { answered = performance.now(); tellLost(false); accept(state); },
  onChange(act) { changed.push(act); },
};
show();
follow();
for (const moment of ["online", "pageshow"]) addEventListener(moment, () => { leaving = false; load(); });
