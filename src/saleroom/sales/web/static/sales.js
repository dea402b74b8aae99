// The editor of a sale: lots are dragged by their grips; with the keyboard, Alt and an arrow move the lot of the focused grip.
for (const field of document.querySelectorAll("input[data-at]")) {
  const at = new Date(field.dataset.at);
  field.value = new Date(at - at.getTimezoneOffset() * 60000).toISOString().slice(0, at.getUTCSeconds() ? 19 : 16);
}
for (const note of document.querySelectorAll("[data-zone-words]")) {
  note.textContent = note.dataset.zoneWords.replace("{zone}", Intl.DateTimeFormat().resolvedOptions().timeZone);
}

const rows = document.querySelector(".lot-rows");
const moved = "moved lot";

let isSending = false;

// `home` is the row before which this one stood. The row is put back there if the move cannot be sent, which site.js says.
function send(row, name, value, home = row.nextElementSibling) {
  const form = row.querySelector("form.move");
  const field = Object.assign(document.createElement("input"), { type: "hidden", name, value });
  form.append(field);
  sessionStorage.setItem(moved, row.dataset.gid);
  isSending = true;
  const judge = ({ detail: isSent }) => {
    if (isSent) return;
    form.removeEventListener("unsent", judge);
    field.remove();
    sessionStorage.removeItem(moved);
    isSending = false;
    if (home === row.nextElementSibling) return;
    const isFocused = row.contains(document.activeElement);
    rows.insertBefore(row, home);
    if (isFocused) row.querySelector(".grip").focus();
  };
  form.addEventListener("unsent", judge);
  form.requestSubmit();
}
addEventListener("pageshow", () => { isSending = false; }); // by the browser's way back

if (rows) {
  let held = null;
  const clear = () => rows.querySelectorAll(".over").forEach((row) => row.classList.remove("over", "under"));
  // The last row has a place behind it too.
  const behind = (event, row) => row.nextElementSibling === null
    && event.clientY > row.getBoundingClientRect().top + row.offsetHeight / 2;
  rows.addEventListener("dragstart", (event) => {
    held = event.target.closest("li");
    held.classList.add("dragged");
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", held.dataset.label);
  });
  rows.addEventListener("dragover", (event) => {
    const row = event.target.closest("li");
    if (held === null || row === null) return;
    event.preventDefault();
    clear();
    row.classList.add("over");
    row.classList.toggle("under", behind(event, row));
  });
  rows.addEventListener("drop", (event) => {
    const row = event.target.closest("li");
    event.preventDefault();
    if (held === null || row === null || row === held || isSending) return;
    send(held, behind(event, row) ? "behind" : "before", row.dataset.label);
  });
  rows.addEventListener("dragend", () => { held?.classList.remove("dragged"); held = null; clear(); });
  // Each key moves the row at once; the move is sent when no other key follows, or the grip loses the focus.
  let waiting = null;
  const settle = () => {
    if (waiting === null) return;
    const { row, home, timer } = waiting;
    clearTimeout(timer);
    waiting = null;
    const [above, below] = [row.previousElementSibling, row.nextElementSibling];
    if (above !== null) send(row, "behind", above.dataset.label, home);
    else send(row, "before", below.dataset.label, home);
  };
  rows.addEventListener("keydown", (event) => {
    const to = { ArrowUp: "up", ArrowDown: "down" }[event.key];
    if (!event.altKey || to === undefined || !event.target.matches(".grip")) return;
    event.preventDefault();
    if (isSending) return;
    const row = event.target.closest("li");
    const other = to === "up" ? row.previousElementSibling : row.nextElementSibling;
    if (other === null) {
      if (waiting === null) send(row, "to", to);
      return;
    }
    const home = waiting === null ? row.nextElementSibling : waiting.home;
    if (waiting !== null) clearTimeout(waiting.timer);
    waiting = null;  // before the row moves, which takes its focus away
    if (to === "up") other.before(row); else other.after(row);
    event.target.focus();
    waiting = { row, home, timer: setTimeout(settle, 600) };
  });
  rows.addEventListener("focusout", settle);
  // The page comes back after a move: the same lot keeps the focus, so that it can go on by the keyboard.
  const back = sessionStorage.getItem(moved);
  sessionStorage.removeItem(moved);
  // Not before the browser has gone to the place that the address names, which takes the focus away.
  const grip = back === null ? null : rows.querySelector(`li[data-gid="${CSS.escape(back)}"] .grip`);
  if (grip !== null) addEventListener("load", () => requestAnimationFrame(() => grip.focus()));
}
