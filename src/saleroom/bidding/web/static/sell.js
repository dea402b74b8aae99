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
  const text = (body) => new URLSearchParams(body).toString();
  let [kept, timer, underWay, leaves] = [text(content()), 0, null, false];

  function keep() {
    clearTimeout(timer);
    const body = content();
    if (leaves || text(body) === kept) return;
    underWay?.abort();
    underWay = new AbortController();
    fetch(written.dataset.keep, { method: "POST", body, keepalive: true, redirect: "manual", signal: underWay.signal })
      .then((answer) => {
        if (answer.ok) kept = text(body);
        const word = { 401: "ended", 403: "ended", 409: "full" }[answer.status] ?? "failed";
        told.textContent = written.dataset[answer.ok ? "kept" : word];
      }, (error) => { if (error.name !== "AbortError" && !leaves) told.textContent = written.dataset.failed; });
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
  const tell = () => { status.textContent = words("count", { count: count(), most }); keepSoon(); };

  function refuse(place, sentence) {
    const row = document.getElementById("photo-refused").content.firstElementChild.cloneNode(true);
    row.className = "refused";
    row.querySelector("span").textContent = sentence;
    place.replaceWith(row);
    status.textContent = sentence;
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
    return words({ 401: "ended", 403: "ended", 413: "large" }[request.status] ?? "refused", values);
  }

  // Not by fetch, which does not report how much of a file is sent.
  function send(file, data, row) {
    const request = new XMLHttpRequest();
    const body = new FormData();
    body.append("csrfToken", input.form.elements.csrfToken.value);
    body.append("files", data, file.name);
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable && event.loaded < event.total) row.querySelector("progress").value = event.loaded / event.total;
      else row.querySelector("progress").removeAttribute("value");
    });
    request.addEventListener("loadend", () => {
      underWay -= 1;
      const answer = new DOMParser().parseFromString(request.responseText, "text/html");
      const photo = answer.querySelector("li.thumb");
      if (photo) {
        row.replaceWith(document.importNode(photo, true));
        tell();
      } else {
        refuse(row, reason(request, file, data));
      }
      next();
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
