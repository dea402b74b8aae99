// Home: the address follows the search while the reader types, and a price that has changed is marked.
let known = document.getElementById("catalogue");
let prices = new Map();

function look() {
  const found = document.getElementById("catalogue");
  if (found !== known) {
    known = found;
    prices = new Map();
    // Replaced and not added, so that Back leads to the page before, not through each letter.
    history.replaceState(null, "", found.dataset.address);
  }
  for (const card of document.querySelectorAll(".state[data-price]")) {
    const before = prices.get(card.id);
    card.classList.toggle("changed", before !== undefined && before !== card.dataset.price);
    prices.set(card.id, card.dataset.price);
  }
}

// The list has other lots: it is fetched again, not by all readers at once, and not under the hand of one who is at a card.
const spread = 6000;
const restSeconds = 10;
let news = document.getElementById("list-news");
let due = null;
let moved = 0;
for (const event of ["pointermove", "keydown"]) addEventListener(event, () => { moved = Date.now(); }, { passive: true });

function hear() {
  const latest = document.getElementById("list-news");
  if (latest === news) return;
  news = latest;
  due ??= setTimeout(refresh, 1000 + Math.random() * spread);
}

function refresh() {
  const busy = Date.now() - moved < restSeconds * 1000 && document.querySelector(".lot-card:is(:hover, :focus-within)");
  due = busy ? setTimeout(refresh, 1000) : null;
  if (!busy) htmx.trigger(document.getElementById("again"), "stale");
}

// The focus was on a card that is gone: it goes on from the list, not from the top of the page.
let inside = false;
document.addEventListener("htmx:before:swap", () => { inside = known?.contains(document.activeElement); });

look();
document.addEventListener("htmx:after:swap", () => {
  look();
  hear();
  if (inside && document.activeElement === document.body) known.focus({ preventScroll: true });
});
