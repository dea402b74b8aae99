// The seller's form: photos go up at once with their progress, times stand in the reader's zone, choices fold away.
document.documentElement.classList.add("scripted");

// Instants from the house are shown in the reader's time zone; the field `zone` (site.js) names it.
for (const field of document.querySelectorAll("input[data-at]")) {
  const at = new Date(field.dataset.at);
  field.value = new Date(at - at.getTimezoneOffset() * 60000).toISOString().slice(0, at.getUTCSeconds() ? 19 : 16);
}
for (const note of document.querySelectorAll("[data-zone-words]")) {
  note.textContent = note.dataset.zoneWords.replace("{zone}", Intl.DateTimeFormat().resolvedOptions().timeZone);
}

function fold() {
  for (const part of document.querySelectorAll("[data-for]")) {
    const [name, value] = part.dataset.for.split("=");
    part.hidden = part.closest("form").querySelector(`input[name="${name}"]:checked`)?.value !== value;
  }
}
document.addEventListener("change", (event) => { if (event.target.type === "radio") fold(); });
fold();
document.getElementById("summary")?.focus();

// The form is saved as a draft while it is written, so that nothing is lost by leaving the page.
const KEEP_AFTER = 1500;
const written = document.querySelector("form[data-keep]");
let keepSoon = () => {};
if (written) {
  const told = written.querySelector(".kept-words");
  const content = () => { const body = new FormData(written); body.delete("files"); return body; };
  const post = (body, signal) => fetch(written.dataset.keep, { method: "POST", body, keepalive: true, redirect: "manual", signal });
  const text = (body) => new URLSearchParams(body).toString();
  let [kept, timer, underWay, leaves] = [text(content()), 0, null, false];

  function judge(answer) {
    const word = answer.ok ? "kept" : { 401: "ended", 403: "ended", 409: "full" }[answer.status] ?? "failed";
    told.textContent = written.dataset[word];
    if (word === "ended") told.append(" ", toLogIn());
  }
  async function keep() {
    clearTimeout(timer);
    const body = content();
    if (leaves || text(body) === kept) return;
    underWay?.abort();
    underWay = new AbortController();
    const { signal } = underWay;
    try {
      let answer = await post(body, signal);
      if (answer.status === 403 && await renew()) answer = await post(content(), signal);
      if (answer.ok) kept = text(body);
      judge(answer);
    } catch (error) {
      if (error.name !== "AbortError" && !leaves) told.textContent = written.dataset.failed;
    }
  }
  keepSoon = () => { clearTimeout(timer); timer = setTimeout(keep, KEEP_AFTER); };
  written.addEventListener("input", keepSoon);
  document.addEventListener("visibilitychange", () => { if (document.hidden) keep(); });
  addEventListener("pagehide", keep);
  addEventListener("pageshow", () => { leaves = false; });
  // The form itself is saved when it is sent; an older state must not come after it.
  addEventListener("submit", () => {
    leaves = true;
    clearTimeout(timer);
    underWay?.abort();
  });

  // What was written after the session had ended outlives the way to the form to log in; then it is saved as a draft.
  const memory = `form ${written.dataset.address}`;
  document.addEventListener("click", ({ target }) => {
    if (!target.closest?.("a[href^='/login?']:not([target])")) return;
    try {
      sessionStorage.setItem(memory, JSON.stringify([...content()]));
    } catch { /* the browser keeps nothing for this page */ }
  });
  async function bringBack(remembered) {
    const body = new FormData();
    for (const [name, value] of remembered) body.append(name, name === "csrfToken" ? tokenOf(document) : value);
    const answer = await post(body);
    judge(answer);
    if (!answer.ok) return;
    sessionStorage.removeItem(memory);
    location.reload();
  }
  try {
    const remembered = sessionStorage.getItem(memory);
    if (remembered) bringBack(JSON.parse(remembered)).catch(() => { told.textContent = written.dataset.failed; });
    written.addEventListener("submit", () => sessionStorage.removeItem(memory));
  } catch { /* as above */ }
}

// The token of a form holds for one session: after another login, in another tab, the form takes that of the new session.
function tokenOf(page) {
  return page.querySelector("form[data-keep]")?.elements.csrfToken.value;
}
// Returns whether the form can be sent now: undefined if the house is away.
async function renew() {
  const answer = await fetch(written.dataset.address).catch(() => null);
  if (!answer?.ok) return undefined;
  const token = tokenOf(new DOMParser().parseFromString(await answer.text(), "text/html"));
  for (const field of token ? document.getElementsByName("csrfToken") : []) field.value = token;
  return Boolean(token);
}
function toLogIn() {
  return document.getElementById("to-log-in").content.firstElementChild.cloneNode(true);
}

const photos = document.querySelector(".photos");
if (photos) {
  const list = photos.querySelector(".thumbs");
  const status = photos.querySelector(".status");
  const input = photos.querySelector("input[type=file]");
  const words = (kind, values) => photos.dataset[kind].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const most = Number(photos.dataset.most);
  const waiting = [];
  let [underWay, pressed] = [0, null];

  const count = () => list.querySelectorAll("input[name=photo]").length;
  const showCount = () => { status.textContent = words("count", { count: count(), most }); };
  const tell = () => { showCount(); keepSoon(); };

  function refuse(place, sentence, ended = false) {
    const row = document.getElementById("photo-refused").content.firstElementChild.cloneNode(true);
    row.className = "refused";
    row.querySelector("span").textContent = sentence;
    if (ended) row.querySelector("span").after(" ", toLogIn());
    place.replaceWith(row);
    showCount();
  }

  function add(files) {
    for (const file of files) {
      const row = document.getElementById("photo-sending").content.firstElementChild.cloneNode(true);
      row.querySelector(".sending-name").textContent = file.name;
      row.querySelector("progress").setAttribute("aria-label", words("sending", { name: file.name }));
      list.append(row);
      if (list.querySelectorAll(".thumb, .sending").length > most) refuse(row, `${file.name}: ${words("full", { most })}`);
      else waiting.push([file, row]);
    }
    next();
  }

  // One picture is made smaller at a time, as an opened one takes much memory, while others are on their way.
  let opened = Promise.resolve();
  function next() {
    while (underWay < 2 && waiting.length) {
      underWay += 1;
      const [file, row] = waiting.shift();
      opened = opened.then(() => smaller(file)).catch(() => file);
      opened.then((data) => send(file, data, row));
    }
    // The form was pressed while photos were on their way.
    if (underWay || !pressed) return;
    const button = pressed;
    pressed = null;
    if (!list.querySelector(".refused")) input.form.requestSubmit(button);
  }

  // Why a photo was not taken: the house says so in a row of its list; otherwise its status says whose refusal it is.
  function reason(request, file, data) {
    const row = new DOMParser().parseFromString(request.responseText, "text/html").querySelector("li.refused");
    if (row) return row.textContent.trim();
    const values = { name: file.name, status: request.status };
    if (request.status === 0) return words(data.size > 1_000_000 ? "failedLarge" : "failed", values);
    return words(request.status === 413 ? "large" : "refused", values);
  }

  // Not by fetch, which does not report how much of a file is sent.
  function send(file, data, row, again = false) {
    const request = new XMLHttpRequest();
    const body = new FormData();
    body.append("csrfToken", input.form.elements.csrfToken.value);
    body.append("files", data, file.name);
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable && event.loaded < event.total) row.querySelector("progress").value = event.loaded / event.total;
      else row.querySelector("progress").removeAttribute("value");
    });
    request.addEventListener("loadend", async () => {
      const photo = new DOMParser().parseFromString(request.responseText, "text/html").querySelector("li.thumb");
      let ended = [401, 403].includes(request.status);
      // A refusal that came before the whole file was sent may look like a broken connection.
      if ((ended || request.status === 0) && !again) {
        const renewed = await renew();
        if (renewed) return send(file, data, row, true);
        ended ||= renewed === false;
      }
      underWay -= 1;
      if (photo) {
        row.replaceWith(document.importNode(photo, true));
        tell();
      } else {
        refuse(row, ended ? words("ended", { name: file.name }) : reason(request, file, data), ended);
      }
      return next();
    });
    request.open("POST", photos.dataset.send);
    request.send(body);
  }

  list.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const row = button.closest("li");
    event.preventDefault();
    const [kind] = button.value.split(" ");
    const beside = kind === "earlier" ? row.previousElementSibling : row.nextElementSibling;
    if (kind === "earlier" && beside) beside.before(row);
    else if (kind === "later" && beside) beside.after(row);
    else if (kind !== "earlier" && kind !== "later") {
      (row.nextElementSibling?.querySelector("button:last-child") ?? input).focus();
      row.remove();
    }
    if (row.isConnected) {
      const same = getComputedStyle(button).visibility === "hidden" ? row.querySelector("button:last-child") : button;
      same.focus();
    }
    tell();
  });

  const drop = photos.querySelector(".drop");
  for (const kind of ["dragenter", "dragover"]) {
    drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over"); });
  }
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    add(event.dataTransfer.files);
  });
  input.addEventListener("change", () => {
    add([...input.files]);
    input.value = ""; // they are sent already, so the form does not send them again
  });
  // The form waits for the files on their way.
  input.form.addEventListener("submit", (event) => {
    if (!underWay && !waiting.length) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    pressed = event.submitter;
    status.textContent = list.querySelector(".sending progress")?.getAttribute("aria-label") ?? "";
  });
  if (count()) tell();
}
