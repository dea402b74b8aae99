// The service worker (docs/pages.md, "As an app"). It shows a page of its own where the house cannot be reached, and keeps
// nothing but that page and its files: no page of a lot or of a person, no bid, nothing to be sent later. A page that works
// without a connection is kept once somebody has opened it, in a form that is the same for all: what it shows is not in it.
// `HOUSE` stands before this file: `version`, which changes with everything that is kept; `pages`, the offline page by
// language; `files`, what these pages need; `shells`, the pages that work without a connection, each with the pattern of its
// addresses; `icon`, the picture beside messages.
const CACHE = `saleroom-${HOUSE.version}`;
const LANGUAGE = "/service-worker.js?language"; // a key in the cache, and no address of the house
const FILES = new Set([...HOUSE.files, ...HOUSE.shells.flatMap((shell) => shell.files)]);
let told; // the language of the last page that the house has sent

async function add(paths) {
  await (await caches.open(CACHE)).addAll(paths.map((path) => new Request(path, { credentials: "omit" })));
}

async function keep() {
  await add([...Object.values(HOUSE.pages), ...HOUSE.files]);
  // What a former version kept because somebody works with it is kept in its new form.
  for (const shell of HOUSE.shells) if (await caches.match(mark(shell))) await keepShell(shell);
  await self.skipWaiting();
}

const mark = (shell) => `/service-worker.js?kept=${encodeURIComponent(shell.path)}`; // a key in the cache
const shellOf = (path) => HOUSE.shells.find((shell) => new RegExp(`^${shell.path}$`).test(path));

async function keepShell(shell) {
  await add([...Object.values(shell.pages), ...shell.files]);
  await (await caches.open(CACHE)).put(mark(shell), new Response(""));
}

async function replace() {
  for (const name of await caches.keys()) if (name !== CACHE) await caches.delete(name);
  await self.registration.navigationPreload?.enable();
  await self.clients.claim();
}

async function stored(path) {
  return (await caches.open(CACHE)).match(path, { ignoreVary: true });
}

// The pages are in languages such as `de`, or `pt-BR`; the house and the browser also name the region of a reader.
const known = (tag) => [tag, tag.split("-")[0]].find((one) => one in HOUSE.pages);

async function note(language) {
  if (!language || language === told) return;
  told = language;
  await (await caches.open(CACHE)).put(LANGUAGE, new Response(language));
}

async function offline(path) {
  const last = await (await stored(LANGUAGE))?.text();
  const language = last ?? navigator.languages.map(known).find(Boolean) ?? Object.keys(HOUSE.pages)[0];
  const shell = shellOf(path);
  return (shell && (await stored(shell.pages[language]))) ?? (await stored(HOUSE.pages[language])) ?? Response.error();
}

async function page(event) {
  try {
    const answer = (await event.preloadResponse) ?? (await fetch(event.request));
    event.waitUntil(note(known(answer.headers.get("Content-Language") ?? "")));
    return answer;
  } catch {
    return offline(new URL(event.request.url).pathname);
  }
}

async function file(request) {
  try {
    return await fetch(request);
  } catch {
    return (await stored(new URL(request.url).pathname)) ?? Response.error();
  }
}

self.addEventListener("install", (event) => event.waitUntil(keep()));
self.addEventListener("activate", (event) => event.waitUntil(replace()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  // A form that is sent goes its own way: what the browser says of a lost answer is true, and this page would not know.
  if (request.method !== "GET") return;
  if (request.mode === "navigate") event.respondWith(page(event));
  else if (FILES.has(new URL(request.url).pathname)) event.respondWith(file(request));
});

// A page that works without a connection asks to be kept, and hears whether it is.
async function kept(path) {
  const shell = shellOf(path);
  if (!shell) return false;
  try {
    await keepShell(shell);
    return true;
  } catch {
    return false;
  }
}

self.addEventListener("message", (event) => {
  event.waitUntil(kept(event.data.keep).then((answer) => event.ports[0].postMessage(answer)));
});

// Messages of the house (docs/notices.md): the words are made by the house, in the language of this browser.
function say(said) {
  const { title, body, lang, dir, tag, url, at } = said;
  const options = { body, lang, dir, tag, renotify: true, timestamp: at, icon: HOUSE.icon, data: { url } };
  return self.registration.showNotification(title, options);
}

async function open(url) {
  const address = new URL(url, location.origin);
  if (address.origin !== location.origin) return;
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const shown = windows.find((one) => new URL(one.url).pathname === address.pathname);
  await (shown ? shown.focus() : self.clients.openWindow(address.href));
}

// The browser has another address for its messages. A user who has logged out here gets none.
async function move(event) {
  const options = event.oldSubscription?.options;
  const made = event.newSubscription ?? (options && (await self.registration.pushManager.subscribe(options)));
  if (!made) return;
  const { endpoint, keys } = made.toJSON();
  await fetch("/mine/notices/browsers", {
    method: "POST",
    headers: { "X-Requested-With": "service-worker.js" },
    body: new URLSearchParams({ subscription: JSON.stringify({ endpoint, keys }) }),
  });
}

self.addEventListener("push", (event) => {
  if (event.data) event.waitUntil(say(event.data.json()));
});
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.url ?? "/"));
});
self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(move(event)));
