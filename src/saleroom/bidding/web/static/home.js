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

look();
document.addEventListener("htmx:after:swap", look);
