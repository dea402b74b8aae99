// A fund-a-need on the desk: what it shows of one, and what the acts that wait will change. The desk builds on it by `window.needs`.
const plus = (desk, amount, more) => desk.decimal(desk.mills(amount) + desk.mills(more));

function slots(lot, isOn, { words, money, fill }) {
  const { level, levels, goal, total, pledges } = lot.need;
  return {
    estimate: fill(words.levels, { levels: levels.map(money).join(" / ") }),
    consignor: "",
    reserve: goal ? fill(words.goal, { amount: money(goal) }) : "",
    askLabel: isOn ? words.level : words.raised,
    ask: money(isOn ? level : total),
    priceLabel: isOn ? words.raised : "",
    price: isOn ? money(total) : "",
    leader: pledges === 1 ? words.onePledge : fill(words.pledges, { count: pledges }),
    channel: "",
    stage: isOn ? words.stages.called : "",
  };
}

const result = (lot, { words, money }) => `${words.raised} ${money(lot.need.total)}`;

function rows(lot, { words, money, bidder, fill }) {
  return lot.need.lastPledges.map((one) => ({
    parts: [["quiet", one.pledge ? `${one.pledge}.` : ""], [one.undone ? "voided" : "figure", money(one.amount)], ["name", one.bidder ? bidder(one.bidder) : ""],
      ["quiet", words.channels[one.channel] ?? ""], ["quiet", one.undone ? words.voided.undone : ""]],
    undo: one.pledge && !one.undone && lot.need.stage !== "closed" ? { pledge: one.pledge, label: fill(words.undoRow, { number: one.pledge }) } : null,
  }));
}

// What an act of the clerk makes of it before the house has answered.
function ahead(need, one, desk) {
  if (one.act === "call") return { ...need, stage: "on_block", level: need.level ?? need.levels[0] };
  if (one.act === "level") {
    const lower = need.levels.find((level) => desk.mills(level) < desk.mills(need.level));
    return { ...need, level: one.amount ?? lower ?? need.level };
  }
  if (one.act === "pledge") {
    const made = { pledge: null, amount: one.amount, bidder: `#${one.paddle}`, channel: one.channel ?? "floor", undone: false };
    return { ...need, total: plus(desk, need.total, one.amount), pledges: need.pledges + 1, lastPledges: [made, ...need.lastPledges] };
  }
  if (one.act === "undo_pledge") {
    const undone = need.lastPledges.find((row) => String(row.pledge) === String(one.pledge) && !row.undone);
    if (!undone) return need;
    const rest = need.lastPledges.map((row) => (row === undone ? { ...row, undone: true } : row));
    return { ...need, total: desk.decimal(desk.mills(need.total) - desk.mills(undone.amount)), pledges: need.pledges - 1, lastPledges: rest };
  }
  return need;
}

// What has happened to it between two states, in words.
function news(was, is, { words, money, fill, bidder }) {
  const facts = { label: is.label, name: is.name, level: money(is.need.level), total: money(is.need.total) };
  if (was === null) return [fill(words.needCalled, facts)];
  if (is.need.level !== was.need.level) return [fill(words.levelSaid, facts)];
  if (is.need.total === was.need.total) return [];
  const last = is.need.lastPledges[0];
  const isMore = is.need.pledges > was.need.pledges && last?.bidder;
  return [fill(isMore ? words.pledgeSaid : words.raisedSaid, { ...facts, bidder: isMore ? bidder(last.bidder) : "", amount: isMore ? money(last.amount) : "" })];
}

// Paddles that give an amount once more, which is mostly a slip: asked for one after the other, while others are typed.
function slips(show, take) {
  const held = [];
  const look = () => show(held[0], held.length - 1);
  return {
    add(one) { held.push(one); look(); },
    settle(isTaken) {
      const one = held.shift();
      look();
      if (one && isTaken) take(one);
    },
  };
}

window.needs = { slips, slots, result, rows, ahead, news };
