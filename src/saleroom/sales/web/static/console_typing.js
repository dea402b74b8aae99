// What the clerk types faster than the house answers. While only the house can tell what the next key will be for, keys wait, in
// order. After something was not done, keys are for what the clerk has not seen yet: they count again after a pause.
const desk = window.desk;
const words = JSON.parse(document.getElementById("console-words").textContent);
const { queue } = window;
const by = (id) => document.getElementById(id);
const stored = `keys of ${desk.sale}`;
const HELD_MAX = 200;
const PAUSE_MS = 800;

// ---- The digits that were typed, and the lot that was on the block when the first of them was.
let entry = "";
let entryLot = null;
const lotShown = () => desk.shown.block.onBlock?.gid ?? null;

function clearEntry() {
  entry = "";
  showEntry();
}
function showEntry() {
  by("entry").textContent = entry;
  by("entry-help").textContent = entry ? desk.fill(words.help, { text: entry }) : "";
}
function typed(character) {
  if (!entry) entryLot = lotShown();
  if (character === "back") entry = entry.slice(0, -1);
  else if (entry.length < 24) entry += character;
  showEntry();
}
// Whether another lot is on the block than the one that the digits were typed for; they are dropped then, in words.
function isForAnother() {
  if (!entry || entryLot === lotShown()) return false;
  queue.tell(desk.fill(words.forAnother, { text: entry }));
  clearEntry();
  return true;
}

// ---- Keys that wait, each as {key} or {name}, {pledge} of a button. A reload of this tab keeps them.
let held = JSON.parse(sessionStorage.getItem(stored) ?? "[]");
let use = () => {};
const named = (name) => document.querySelector(`[data-act="${name}"] kbd, [data-digit="${name}"] kbd`)?.textContent ?? name;
const KEYS = { Enter: "call", " ": "bid", "Control+z": "undo" };
const text = ({ key, name, pledge }) => (pledge ? `×${pledge}` : name ? named(name) : KEYS[key] ? named(KEYS[key]) : key.toUpperCase());
const texts = (some) => some.map(text).join(" ").replaceAll(/(?<=\b\d) (?=\d\b)/g, "");

function showHeld() {
  sessionStorage.setItem(stored, JSON.stringify(held));
  by("held").hidden = held.length === 0;
  by("held").textContent = held.length ? desk.fill(words.held, { keys: texts(held) }) : "";
}

// Takes what was typed or pressed: now, or once the house has answered.
function take(one) {
  if (isResting()) rest(one);
  else if (one.key === "Escape") escape();
  else if (!held.length && !queue.isBlind) use(one);
  else if (held.length < HELD_MAX) {
    held.push(one);
    showHeld();
  } else stop(one);
}
function escape() {
  held = [];
  showHeld();
  clearEntry();
  queue.untell();
}
function goOn() {
  while (held.length && !queue.isBlind && !isResting()) {
    const one = held.shift();
    const dialog = document.querySelector("dialog[open]");
    if (!dialog) use(one);
    else if (!typedInto(dialog, one)) stop(one);
  }
  showHeld();
}

// Types into a dialog that a key which waited has opened. What it does not take was not meant for it.
function typedInto(dialog, { key = "" }) {
  const choice = [...dialog.querySelectorAll("[aria-keyshortcuts]")].find((one) => one.ariaKeyShortcuts === key.toUpperCase());
  if (choice) {
    choice.click();
    return true;
  }
  const field = dialog.querySelector('input[name="paddle"], input[name="label"]');
  if (!field || !["summon", "retract", "ask-paddle"].includes(dialog.id)) return false;
  if (key === "Backspace") field.value = field.value.slice(0, -1);
  else if (/^[0-9a-z]$/i.test(key)) field.value += key;
  else if (key === "Enter" && field.checkValidity()) dialog.querySelector("form").requestSubmit();
  else return false;
  return true;
}

// ---- The pause after something was not done. A clerk who has seen it stops typing; Escape ends it at once.
let unused = [];
let pause;
const isResting = () => pause !== undefined;

function stop(...more) {
  const digits = [...entry].map((key) => ({ key }));
  unused = [...(isResting() ? unused : []), ...digits, ...more, ...held];
  held = [];
  clearEntry();
  showHeld();
  pauseNow();
}
function rest(one) {
  if (one.key === "Escape" && !queue.isLooking) return wake();
  unused.push(one);
  return pauseNow();
}
function pauseNow() {
  clearTimeout(pause);
  pause = setTimeout(() => (queue.isLooking ? pauseNow() : wake()), PAUSE_MS);
  by("main").dataset.resting = "";
  by("unused").hidden = unused.length === 0;
  by("unused").textContent = unused.length ? desk.fill(words.unused, { keys: texts(unused) }) : "";
}
function wake() {
  clearTimeout(pause);
  pause = undefined;
  delete by("main").dataset.resting;
}
function forget() {
  by("unused").hidden = true;
}

window.typing = {
  take, typed, clearEntry, isForAnother, forget,
  get entry() { return entry; },
  get waits() { return held.length > 0 || queue.isBlind; },
  start(act) {
    use = act;
    queue.on("changed", goOn);
    queue.on("stopped", stop);
    showHeld();
  },
};
