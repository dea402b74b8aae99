// The line of the page on which results are entered: `12 340 57`, `12 -`, `1-3,5 20 44`, `0 A jar of honey 25 44`.
// It is pure: a text and how the reader writes amounts in, what it means or the fault out.
const LOT = /^0*([1-9]\d{0,5})([A-Za-z]{0,2})$/;
const DASH = /^(?:--?|[\u2010-\u2015\u2212])$/;
const LOTS_MAX = 100;
const NAME_MAX = 200;

const parts = (label) => { const [, digits, letters] = LOT.exec(label); return [Number(digits), letters.length, letters]; };

// The natural order of labels: 2 < 12 < 12A < 12Z < 12AA < 13.
function compare(one, other) {
  const [a, b] = [parts(one), parts(other)];
  const place = a.findIndex((part, index) => part !== b[index]);
  return place < 0 ? 0 : a[place] < b[place] ? -1 : 1;
}

function label(text) {
  const found = LOT.exec(text);
  return found && found[1] + found[2].toUpperCase();
}

// The spans of `1-3,5`: pairs of labels.
function spans(text) {
  const found = text.split(/[,;]/).map((part) => part.split(/[-\u2013]/).map(label));
  const good = found.every((ends) => ends.length <= 2 && ends.every(Boolean) && compare(ends[0], ends.at(-1)) <= 0);
  return good ? found.map((ends) => [ends[0], ends.at(-1)]) : null;
}

// What a line means: {spans | name, price, paddle}, without price and paddle for lots that were passed; or {fault, text}.
function read(text, notation) {
  const typed = text.trim();
  const line = /^0+\s/.test(typed) ? typed : typed.replace(/[,;]\s+(?=\d+[A-Za-z]{0,2}(?:[-\u2013,;\s]))/g, ",");
  const [first, ...rest] = line.split(/[ \t]+/);
  if (line === "") return { fault: "empty", text: "" };
  if (/^0+$/.test(first)) return made(rest, notation);
  const which = spans(first);
  if (which === null) return { fault: "lots", text: first };
  if (rest.length === 1 && DASH.test(rest[0])) return { spans: which };
  return rest.length === 2 ? sold({ spans: which }, rest, notation) : { fault: "form", text: line };
}

function made(rest, notation) {
  const name = rest.slice(0, -2).join(" ");
  if (rest.length < 3) return { fault: "form", text: rest.join(" ") };
  return name.length > NAME_MAX ? { fault: "name", text: name } : sold({ name }, rest.slice(-2), notation);
}

function sold(what, [price, paddle], notation) {
  const { exact, fault, ...facts } = globalThis.amounts.sure(price, notation);
  if (fault) return { fault, text: price, ...facts };
  const number = /^#?0*([1-9]\d{0,4})$/.exec(paddle);
  return number ? { ...what, price: exact, paddle: Number(number[1]) } : { fault: "paddle", text: paddle };
}

// The lots that spans mean, of `lots` with a label and a state; or {fault, text} for one that is not there.
function chosen(which, lots) {
  const found = new Set();
  for (const [from, to] of which) {
    if (!lots.some((lot) => lot.label === from)) return { fault: "unknown", text: from };
    if (!lots.some((lot) => lot.label === to)) return { fault: "unknown", text: to };
    for (const lot of lots) {
      const within = compare(from, lot.label) <= 0 && compare(lot.label, to) <= 0;
      if (within && (from === to || lot.state !== "withdrawn")) found.add(lot.label);
    }
  }
  return found.size > LOTS_MAX ? { fault: "many", text: String(LOTS_MAX) } : { labels: [...found].sort(compare) };
}

// The line that means this, as people write it.
function write({ spans: which, name, price, paddle }, { decimal }) {
  const first = name === undefined ? which.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(",") : `0 ${name}`;
  if (price === undefined) return `${first} -`;
  return `${first} ${price.replace(/\.?0+$/, "").replace(".", decimal)} ${paddle}`;
}

globalThis.resultLines = { chosen, compare, read, write };
