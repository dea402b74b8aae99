// The lot's page: the plot of the price over time. The bid box is in box.js.
const bidPages = 5; // of a hundred bids each, for the plot

document.addEventListener("htmx:after:swap", draw);
document.addEventListener("htmx:sse:after:message", ({ detail: { message } }) => {
  if (!/id="lot-panel"[^>]* data-renewed/.test(message.data)) return;
  // The house may have lost some of the last bids: of these, the ones in the history count.
  const rows = [...document.querySelectorAll("#lot-history tr[data-at]")];
  const oldest = rows.length ? Math.min(...rows.map((row) => Date.parse(row.dataset.at) / 1000)) : 0;
  for (const time of known.keys()) if (time >= oldest) known.delete(time);
  draw();
});

const figure = document.getElementById("plot");
const known = new Map(); // instant -> amount
let plot = null;

function take(at, amount) {
  const time = Date.parse(at) / 1000;
  known.set(time, Math.max(known.get(time) ?? 0, Number(amount)));
}

function series() {
  for (const row of document.querySelectorAll("#lot-history tr[data-at]:not([data-voided])")) take(row.dataset.at, row.dataset.amount);
  const times = [...known.keys()].sort((a, b) => a - b);
  let highest = 0;
  return [times, times.map((time) => (highest = Math.max(highest, known.get(time))))];
}

function draw() {
  if (!figure || !window.uPlot) return;
  const data = series();
  if (data[0].length < 2) return;
  figure.hidden = false;
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const language = document.documentElement.lang;
  if (plot) {
    plot.setData(data);
    return;
  }
  const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
  const short = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 2 });
  const moment = { hour: "2-digit", minute: "2-digit" };
  const clocks = [
    [600, new Intl.DateTimeFormat(language, { ...moment, second: "2-digit" })],
    [86400 * 1.5, new Intl.DateTimeFormat(language, moment)],
    [Infinity, new Intl.DateTimeFormat(language, { day: "numeric", month: "short" })],
  ];
  const words = (u, splits) => {
    const [, clock] = clocks.find(([seconds]) => splits.at(-1) - splits[0] < seconds);
    return splits.map((at) => clock.format(at * 1000));
  };
  plot = new uPlot({
    width: figure.clientWidth - 16,
    height: figure.clientHeight - 16,
    padding: [8, 36, 0, 0],
    cursor: { show: false },
    legend: { show: false },
    scales: { y: { range: (u, low, high) => [Math.max(0, low - (high - low) * 0.15), high + (high - low || high) * 0.1] } },
    axes: [{ ...axis, values: words, space: 90, incrs: [1, 2, 5, 10, 30, 60, 300, 900, 1800, 3600, 7200, 14400, 43200, 86400, 172800, 604800, 2592000] }, { ...axis, size: 60, values: (u, splits) => splits.map((one) => short.format(one)) }],
    series: [{}, {
      stroke: colour("--accent"), width: 2.5, fill: colour("--tint"), paths: uPlot.paths.stepped({ align: 1 }), points: { size: 5 },
    }],
  }, data, figure);
  figure.setAttribute("role", "img");
  figure.setAttribute("aria-label", figure.dataset.label);
  new ResizeObserver(() => {
    plot.setSize({ width: figure.clientWidth - 16, height: figure.clientHeight - 16 });
  }).observe(figure);
}

async function load() {
  if (!figure) return;
  let address = `/auctions/${figure.dataset.gid}/bids?limit=100`;
  for (let page = 0; page < bidPages && address; page += 1) {
    const answer = await fetch(address).catch(() => null);
    if (!answer?.ok) break; // the house is away: the plot keeps the bids of the page
    const { bids, next } = await answer.json();
    for (const bid of bids) if (!bid.voided) take(bid.placedAt, bid.amount);
    address = next && `/auctions/${figure.dataset.gid}/bids?limit=100&cursor=${encodeURIComponent(next)}`;
  }
  draw();
}

if (document.querySelector("#lot-history tr[data-at]")) load();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  plot?.destroy();
  plot = null;
  draw();
});
