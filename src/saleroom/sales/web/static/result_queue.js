// The lines that were typed, kept on this device until the house has answered them and people have decided on what it refused.
// Each is under a key of its own in the storage of the browser, so tabs do not overwrite each other's.
const WAITING_MAX = 500;
const SETTLED_MAX = 200;

class ResultQueue {
  constructor(sale, changed) {
    this.prefix = `result ${sale} `;
    this.name = `results of ${sale}`;
    this.changed = changed;
    this.offline = false;
    this.sending = null; // the id of the line that is on its way from this tab
    this.stopped = false;
    addEventListener("storage", (event) => {
      if (event.key === null || event.key.startsWith(this.prefix)) changed();
    });
  }

  lines() {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(this.prefix)).sort();
    return keys.map((key) => ResultQueue.parsed(localStorage.getItem(key))).filter(Boolean);
  }

  static parsed(text) {
    try {
      return JSON.parse(text);
    } catch {
      return null; // not written by this page
    }
  }

  line(id) { return this.lines().find((line) => line.id === id); }

  waiting() { return this.lines().filter((line) => line.state === "waiting"); }

  undecided() { return this.lines().filter((line) => ["waiting", "refused"].includes(line.state)); }

  // Adds a line behind all others; returns whether the browser has kept it.
  add(line) {
    if (this.undecided().length >= WAITING_MAX) return false;
    const last = this.lines().at(-1)?.order ?? 0;
    const made = { id: window.clerk.newKey(), key: window.clerk.newKey(), order: Math.max(Date.now(), last + 1), state: "waiting", ...line };
    if (!this.put(made)) return false;
    this.trim();
    return true;
  }

  // Writes a line; returns whether the browser has kept it.
  put(line) {
    try {
      localStorage.setItem(this.prefix + String(line.order).padStart(15, "0") + line.id, JSON.stringify(line));
    } catch (error) {
      console.info(`The browser keeps no more lines: ${error.message}`);
      return false;
    }
    this.changed();
    return true;
  }

  trim() {
    const settled = this.lines().filter((line) => ["done", "dropped", "undone"].includes(line.state));
    for (const line of settled.slice(0, Math.max(0, settled.length - SETTLED_MAX))) this.remove(line);
  }

  remove(line) {
    localStorage.removeItem(this.prefix + String(line.order).padStart(15, "0") + line.id);
    this.changed();
  }

  // Sends what waits, in order: one line at a time, and one tab at a time.
  async send(mine, post, answered) {
    this.stopped = false;
    const drain = () => this.drain(mine, post, answered);
    if (navigator.locks) await navigator.locks.request(this.name, drain);
    else if (this.sending === null) await drain();
  }

  async drain(mine, post, answered) {
    for (let tries = 0; !this.stopped;) {
      const next = this.waiting().find(mine);
      if (next === undefined) break;
      this.sending = next.id;
      if (!next.tried) this.put({ ...next, tried: true });
      try {
        const [ok, status, body] = await post(next);
        tries = 0;
        this.offline = false;
        this.sending = null;
        answered({ ...this.line(next.id) ?? next, tried: false }, ok, status, body);
      } catch (error) {
        console.info(`A line waits: ${error.message}`);
        this.offline = true;
        this.changed();
        await window.clerk.wait(window.clerk.retryMs[Math.min(tries++, window.clerk.retryMs.length - 1)]);
      }
    }
    this.sending = null;
    this.changed();
  }

  // Sends nothing more until `send` is called again.
  stop() { this.stopped = true; }
}

window.ResultQueue = ResultQueue;
