// Amounts as people type them, read as the forms of the house read them. It is pure: a text and how the reader writes amounts
// in, an exact amount such as 1234.500 or the fault out.
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

function bare(text, { signs }) {
  const names = signs.map(escaped).join("|");
  return text.replace(new RegExp(`^(?:${names})|(?:${names})$`, "i"), "").replace(/\u2019/g, "'").replace(/[\u2009\u202f]/g, "\u00a0");
}

// An exact amount from what people write in their language; null if it is none. `groups` are the marks between thousands,
// which are all there or none: apostrophes are alike, and so are spaces. A dash may stand in place of the decimals.
function amount(text, notation) {
  const { decimal, groups } = notation;
  const grouped = groups.map((mark) => `\\d{1,3}(?:${escaped(mark)}\\d{3})+`).join("|");
  const found = new RegExp(`^(${grouped}|\\d+)(?:${escaped(decimal)}(\\d{1,3})|(?:${escaped(decimal)}|[.])(?:--?|[\u2010-\u2015\u2212]))?$`).exec(bare(text, notation));
  if (!found) return null;
  const whole = found[1].replace(/\D/g, "");
  const exact = `${whole}.${(found[2] ?? "").padEnd(3, "0")}`;
  return whole.length > 17 || /^0\d|^[0.]+$/.test(exact) ? null : exact;
}

// An exact amount as it stands in a field.
function written(exact, { decimal, decimals }) {
  const [whole, part] = exact.split(".");
  const shown = part.replace(/0+$/, "").padEnd(decimals, "0");
  return shown ? whole + decimal + shown : whole;
}

// What `text` is in a notation where its decimals are thousands, such as 12,500 in German; null if that cannot be meant.
function inThousands(text, notation) {
  const grouped = notation.decimals === 3 ? null : /^([1-9]\d{0,2})[.,](\d{3})$/.exec(bare(text, notation));
  const meant = grouped && `${grouped[1]}${grouped[2]}.000`;
  const exact = amount(text, notation);
  return meant && exact && meant !== exact ? meant : null;
}

// {exact}, or {fault}. A `doubt` has the `amount` that was read and the one that may be `meant`, and how each is written as
// `low` and `high`. An amount that nobody can write without doubt has no `low`.
function sure(text, notation) {
  const [exact, meant] = [amount(text, notation), inThousands(text, notation)];
  if (meant === null) return exact === null ? { fault: "amount" } : { exact };
  const low = written(exact, notation);
  return { fault: "doubt", amount: exact, meant, low: inThousands(low, notation) ? null : low, high: written(meant, notation) };
}

// What is typed at a desk, where a keypad may have another mark than the language: one or two decimals are after either mark.
function typed(text, notation) {
  const swapped = /^\d+[.,]\d{1,2}$/.test(text) ? text.replace(/[.,]/, notation.decimal) : text;
  return sure(swapped, notation);
}

globalThis.amounts = { amount, inThousands, sure, typed, written };
