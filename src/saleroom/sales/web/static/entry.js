// The page on which results are entered: a line is read, doubts are asked, and then it waits until the house has answered it.
const { notation, words } = JSON.parse(document.getElementById("entry-data").textContent);
const { fill, mills, retryMs, wait } = window.clerk;
const { ask, bidder, list, money, open, result, standing, tell } = window.entryList;
const lines = window.resultLines;
const sale = location.pathname.split("/")[2];
const address = `/sales/${sale}/entry`;
const known = `sheet of ${sale}`;
const typed = `line of ${sale}`;
const by = (id) => document.getElementById(id);
const field = by("line");

// ---- The sheet: all lots and paddles. What the browser keeps of it has no reserves and no names of bidders without a paddle.
let sheet = null;
let fresh = false; // whether it is from this visit, so that what it lacks is not there
function keepSheet() {
  const lots = sheet.lots.map(({ reservePrice, bidder: name, ...lot }) => ({ ...lot, bidder: /^#\d+$/.test(name ?? "") ? name : null }));
  try {
    localStorage.setItem(known, JSON.stringify({ ...sheet, lots }));
  } catch (error) {
    console.info(`The browser does not keep the sheet: ${error.message}`);
  }
}

function keptSheet() {
  try {
    return JSON.parse(localStorage.getItem(known));
  } catch {
    return null;
  }
}

let reading = false;
let again = false;
async function load() {
  if (reading) {
    again = true;
    return;
  }
  reading = true;
  for (let tries = 0; ; tries++) {
    again = false;
    try {
      const answer = await fetch(`${address}/sheet`, { headers: { "X-Requested-With": "desk" }, cache: "no-store", signal: AbortSignal.timeout(10000) });
      if (answer.status >= 500 || answer.status === 429) throw new Error(`status ${answer.status}`);
      take(answer.ok, answer.status, await answer.json());
      if (!again) break;
    } catch (error) {
      console.info(`The sheet cannot be read: ${error.message}`);
      lost(true);
      await wait(retryMs[Math.min(tries, retryMs.length - 1)]);
    }
  }
  reading = false;
}

function take(ok, status, answer) {
  lost(false);
  if (!ok) {
    forget(status, answer.message);
    return;
  }
  sheet = answer;
  fresh = true;
  keepSheet();
  show();
  follow();
  send();
}

function lost(isLost) {
  fresh &&= !isLost;
  by("lost").textContent = isLost ? (sheet === null ? words.noSheet : words.isLost) : "";
  by("lost").hidden = !isLost;
}

// A reader who is not logged in, or may not see the sale, keeps nothing of it here but lines that were not sent.
function forget(status, message) {
  queue.stop();
  localStorage.removeItem(known);
  sessionStorage.removeItem(typed);
  for (const line of queue.lines()) if (["done", "dropped", "undone"].includes(line.state)) queue.remove(line);
  const login = Object.assign(document.createElement("a"), { href: `/login?next=${encodeURIComponent(address)}`, textContent: words.logIn });
  if (status === 401) tell(words.loggedOut, login);
  else tell(message);
}

// A network that is cut without a word ends no stream. So after a quiet minute the page looks by itself, and opens another one.
const quietMs = 60000;
let stream = null;
let heard = performance.now();
let due = null;
const isQuiet = () => performance.now() - heard > quietMs;
const isOver = () => ["closed", "cancelled"].includes(sheet.status);
function follow() {
  if (isOver() || (stream !== null && stream.readyState !== EventSource.CLOSED && !isQuiet())) return;
  stream?.close();
  heard = performance.now();
  stream = new EventSource(`/sales/${sale}/events`);
  stream.onmessage = loadSoon;
  stream.addEventListener("stream.started", loadSoon); // what has happened since the sheet was read
}

function loadSoon() {
  heard = performance.now();
  due ??= setTimeout(() => { due = null; load(); }, 500);
}
setInterval(() => { if (fresh && isQuiet() && !isOver()) load(); }, 5000);

// ---- The queue.
const queue = new window.ResultQueue(sale, () => show());
const mine = (line) => line.user === sheet?.user;
const post = (line) => window.clerk.post(address, line.key, { user: line.user, act: line.of ? "undo" : "enter", line: JSON.stringify(line.body) });

function send() {
  if (sheet !== null) queue.send(mine, post, answered);
}

function answered(line, ok, status, body) {
  if (status === 401) {
    queue.put({ ...line, tried: true }); // it may have arrived before
    forget(status);
    return;
  }
  if (!ok) {
    const { code, message, ...facts } = body;
    const which = facts.label && line.body.labels?.length > 1 ? fill(words.ofLot, { label: facts.label, why: message }) : message;
    const said = doubtOf(code, facts, line.body.price) ?? which;
    queue.put({ ...line, state: "refused", refused: { code, facts }, said });
    say(fill(words.refusedSaid, { text: line.text, why: said }));
    load();
    return;
  }
  const said = body.lots.map(standing).join("; ");
  const lots = body.lots.map(({ label, tag }) => ({ label, tag }));
  queue.put({ ...line, state: "done", said, lots });
  if (line.of) {
    const undone = queue.line(line.of);
    if (undone) queue.put({ ...undone, state: "undone" });
  }
  say(said);
  for (const lot of body.lots) update(lot);
  sheet.status = body.status;
  keepSheet();
  show();
}

function update(lot) {
  const place = sheet.lots.findIndex((one) => one.label === lot.label);
  if (place < 0) sheet.lots.push(lot);
  else sheet.lots[place] = lot;
  if (!["open", "on_block", "withdrawn"].includes(lot.state)) sheet.called = lot.label;
}

function say(text) { by("said").textContent = text; }

// ---- What is asked, by the code of the refusal: the same words and choices before a line is sent and after.
const doubts = {
  unusual_price: [(facts) => fill(words.unusual, facts), () => [["sure", words.right]]],
  price_below_reserve: [(facts) => fill(words.below, facts), () => [["conditional", words.conditional], ["passed", words.passed]]],
  absentee_bid_stands: [(facts) => fill(words.absentee, facts), () => [["against", words.against]]],
  already_decided: [(facts) => fill(words.decided, facts), (facts) => (mayReplace(facts.label) ? [["replace", words.replace]] : [])],
};

// Returns what is to be decided, in words; `entered` is the price of the line.
function doubtOf(code, { label, bidder: name, maximum, currentBid, ...facts }, entered) {
  if (!(code in doubts)) return null;
  const price = currentBid ?? entered;
  const shown = { label, bidder: name && bidder(name), maximum: maximum && money(maximum), price: price && money(price), result: result({ ...facts, bidder: name }) };
  const text = doubts[code][0](shown);
  return code === "already_decided" && !mayReplace(label) ? `${text} ${words.mayNot}` : text;
}

const isLast = (labels) => labels.length === 1 && sheet?.called === labels[0];
const mayReplace = (label) => sheet !== null && (sheet.mayReopen || isLast([label]));

function decided(body, code, { value, reason }, facts) {
  if (value === "sure") return { ...body, isSure: true };
  if (value === "conditional" || value === "passed") return { ...body, below: value };
  if (value === "against") return { ...body, against: facts.maximum };
  return { ...body, seen: body.labels.map((label) => (label === facts.label ? facts.tag : lotOf(label)?.tag ?? "?")), ...(reason ? { reason } : {}) };
}

const needsReason = (choice, labels) => choice === "replace" && !isLast(labels);
const lotOf = (label) => sheet.lots.find((lot) => lot.label === label);

async function doubt(body, code, facts, price) {
  const choices = doubts[code][1](facts);
  const text = doubtOf(code, facts, price);
  if (choices.length === 0) {
    tell(text);
    return null;
  }
  const chosen = await ask(words.sure, text, choices, { why: needsReason(choices[0][0], [facts.label]) });
  return chosen && decided(body, code, chosen, facts);
}

// ---- A line that was typed: what the device can know is named before it is sent. The field is free for the next line at once,
// so no key that follows a decision gets into this one; a line that is not taken comes back.
// A reload in the middle of a question brings it back too.
async function enter(text) {
  tell("");
  field.value = "";
  sessionStorage.setItem(typed, text);
  if (!await accept(text) && field.value === "") field.value = text;
  sessionStorage.removeItem(typed);
}

// Returns whether the line is in the queue.
async function accept(text) {
  const meaning = lines.read(text, notation);
  if (meaning.fault === "empty") return false;
  if (meaning.fault === "doubt") return doubtful(meaning);
  if (meaning.fault) return fault(meaning.fault, meaning.text);
  if (sheet === null) return fault("noSheet");
  const { spans, ...body } = meaning;
  if (spans) {
    const chosen = lines.chosen(spans, sheet.lots);
    if (chosen.fault) return fault(chosen.fault, chosen.text);
    body.labels = chosen.labels;
  }
  const sure = await checked(body);
  if (sure === null) return false;
  if (!queue.add({ user: sheet.user, text: text.trim(), body: sure })) return fault("full");
  send();
  return true;
}

function fault(name, text = "") {
  tell(fill(words[name], { text }));
  return false;
}

function doubtful({ text, amount, meant, low, high }) {
  tell(fill(low ? words.doubt : words.meant, { text, amount: money(amount), meant: money(meant), exact: low, right: high }));
  return false;
}

// Returns the line with what people decided, or null: then the reason is shown, or they went back.
async function checked(body) {
  const { paddle, price } = body;
  const lots = (body.labels ?? []).map(lotOf);
  const gone = lots.find((lot) => lot.state === "withdrawn");
  if (gone) return no("withdrawn", { label: gone.label });
  if (paddle !== undefined) {
    const [, status] = sheet.paddles.find(([number]) => number === paddle) ?? [];
    if (status === "declined") return no("declined", { paddle });
    if (status === undefined && fresh) return no("unknownPaddle", { paddle });
    if (status === undefined && !await sure(fill(words.notSeen, { paddle }))) return null;
  }
  const over = lots.filter((lot) => ["sold", "conditional", "passed"].includes(lot.state));
  if (over.length > 1 || (over.length && lots.length > 1)) return no("others", { lots: over.map((lot) => lot.label).join(", ") });
  const waits = queue.undecided().find((line) => !line.of && line.body.labels?.some((label) => body.labels?.includes(label)));
  const label = waits?.body.labels.find((one) => body.labels.includes(one));
  if (waits && !await sure(fill(words.typed, { label, text: waits.text }))) return null;
  if (over.length) {
    if (isSame(over[0], body)) return no("same", { label: over[0].label });
    const [{ label: one, state, price: was, bidder: name, tag }] = over;
    body = await doubt(body, "already_decided", { label: one, outcome: state, price: was, bidder: name, tag });
  }
  const unusual = price && lots.find((lot) => mills(price) >= mills(lot.usualBelow));
  if (body && unusual) body = await doubt(body, "unusual_price", { label: unusual.label }, price);
  const below = price && lots.find((lot) => lot.reservePrice && mills(price) < mills(lot.reservePrice));
  if (body && below) body = await doubt(body, "price_below_reserve", { label: below.label }, price);
  return body;
}

function no(name, facts) {
  tell(fill(words[name], facts));
  return null;
}

const sure = (text) => ask(words.sure, text, [["enter", words.enter]]);
const isSame = (lot, { price, paddle }) => (price === undefined ? lot.state === "passed" : lot.state === "sold" && lot.bidder === `#${paddle}` && mills(lot.price) === mills(price));

by("entry").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!by("ask").open) enter(field.value);
});

// ---- What people can do with a line.
const renewed = (line, body) => ({ ...line, body, key: window.clerk.newKey(), state: "waiting", tried: false, said: "", refused: null });

function actsOf(line) {
  if (line.user !== sheet?.user && line.state === "waiting") return [[words.drop, () => queue.put({ ...line, state: "dropped" })]];
  if (line.state === "waiting") return [[words.undo, () => withdraw(line.id)]];
  if (line.state === "done") return line.of ? [] : [[words.undo, () => takeBack(line)]];
  if (line.state !== "refused") return [];
  const { code, facts } = line.refused;
  const choices = line.of ? [] : (doubts[code]?.[1](facts) ?? []);
  const acts = choices.map(([value, text]) => [text, () => choose(line, value, text)]);
  if (!(code in doubts) && code !== "result_changed") acts.push([words.again, () => retry(line)]);
  if (!line.of) acts.push([words.edit, () => edit(line)]);
  return [...acts, [words.drop, () => queue.put({ ...line, state: "dropped" })]];
}

async function choose(line, value, text) {
  const { code, facts } = line.refused;
  const why = needsReason(value, line.body.labels ?? []);
  const chosen = why ? await ask(text, line.said, [[value, text]], { why }) : { value };
  if (chosen === null) return;
  queue.put(renewed(line, decided(line.body, code, chosen, facts)));
  field.focus();
  send();
}

function retry(line) {
  queue.put(renewed(line, line.body));
  field.focus();
  send();
}

function edit(line) {
  queue.put({ ...line, state: "dropped" });
  field.value = line.text;
  field.focus();
}

function withdraw(id) {
  const line = queue.line(id);
  if (line?.state === "waiting" && !line.tried) queue.put({ ...line, state: "dropped" });
  else tell(words.onItsWay);
  field.focus();
}

async function takeBack(line) {
  tell("");
  const labels = line.lots.map((lot) => lot.label);
  const last = isLast(labels);
  if (!last && !sheet?.mayReopen) return tell(words.mayNot);
  const text = fill(words.undoes, { text: line.text });
  const chosen = await ask(words.takeBack, line.said, [["undo", words.takeBack]], { why: !last });
  if (chosen === null) return;
  const body = { labels, seen: line.lots.map((lot) => lot.tag), ...(chosen.reason ? { reason: chosen.reason } : {}) };
  if (!queue.add({ user: sheet.user, of: line.id, text, body })) return tell(words.full);
  send();
}

// ---- What the page shows.
function stateOf(line) {
  return line.state === "waiting" && queue.sending === line.id && !queue.offline ? "sent" : line.state;
}

function show() {
  const all = queue.lines();
  list(all.map((line) => (line.user === sheet?.user || line.state !== "waiting" ? line : { ...line, said: fill(words.ofAnother, { user: line.user }) })), stateOf, actsOf);
  const waiting = all.filter((line) => line.state === "waiting").length;
  by("queue").hidden = !(waiting && (queue.offline || !fresh));
  by("queue").textContent = by("queue").hidden ? "" : waiting === 1 ? words.waitingOne : fill(words.waiting, { count: waiting });
  if (sheet === null) return;
  by("title").textContent = sheet.title;
  by("status").textContent = words.statuses[sheet.status] ?? sheet.status;
  by("status").hidden = false;
  open(sheet.lots);
}

// The browser opens this page without a connection if its service worker has kept it.
async function keepPage() {
  const registration = await navigator.serviceWorker?.ready;
  const channel = new MessageChannel();
  const told = new Promise((next) => { channel.port1.onmessage = (event) => next(event.data); });
  registration?.active.postMessage({ keep: address }, [channel.port2]);
  const kept = await Promise.race([told, new Promise((next) => setTimeout(next, 5000, false))]);
  by("stay").hidden = kept;
}

by("to-console").href = `/sales/${sale}/console`;
by("to-catalogue").href = `/catalogues/${sale}`;
sheet = keptSheet();
field.value = sessionStorage.getItem(typed) ?? field.value;
sessionStorage.removeItem(typed);
show();
load();
if (navigator.serviceWorker) keepPage();
else by("stay").hidden = false;
for (const moment of ["online", "pageshow"]) addEventListener(moment, load);
