// What the pages of those who run a live sale share: exact amounts, words with facts, and requests that are repeated with the
// same key until they are answered.
const clerk = {
  retryMs: [500, 1000, 2000, 4000],

  fill: (text, facts) => text.replace(/\{(\w+)\}/g, (whole, name) => facts[name] ?? whole),

  // Amounts are exact: whole thousandths, as no number of a script has 20 digits.
  mills(amount) {
    const [whole, part = ""] = String(amount).split(".");
    return BigInt(whole + part.padEnd(3, "0"));
  },

  decimal(count) {
    const text = String(count).padStart(4, "0");
    return `${text.slice(0, -3)}.${text.slice(-3)}`;
  },

  newKey() {
    const random = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (one) => one.toString(16).padStart(2, "0")).join("");
    return crypto.randomUUID?.() ?? random();
  },

  // Returns whether the house did it, the status and the answer; throws if the request has to be repeated.
  async post(address, key, members) {
    const body = new URLSearchParams(Object.entries(members).filter(([, value]) => value !== null && value !== undefined));
    const headers = { "X-Requested-With": "desk", "Idempotency-Key": key };
    const answer = await fetch(address, { method: "POST", body, headers, signal: AbortSignal.timeout(8000) });
    if (answer.status >= 500 || answer.status === 429 || answer.status === 408) throw new Error(`status ${answer.status}`);
    return [answer.ok, answer.status, await answer.json()];
  },

  // Waits, but not longer than until the network is back.
  wait: (ms) => new Promise((next) => {
    const timer = setTimeout(next, ms);
    addEventListener("online", () => { clearTimeout(timer); next(); }, { once: true });
  }),
};
window.clerk = clerk;
