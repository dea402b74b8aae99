// Logging out in one tab empties the user's own pages in others, also those that the back button brings back. Other pages
// stay: a lot that is half described, or a bid that is typed, is not lost with the session.
const KEY = "saleroom-left";
const LEAVING = "leaving", LEFT = "left";
const viewer = document.querySelector(".viewer") !== null;
const isOwn = /^\/(?:mine|admin)(?:\/|$)/.test(location.pathname);

function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // a browser that stores nothing
  }
}

function tell(what) {
  try {
    sessionStorage.clear();
    if (what === LEAVING) sessionStorage.setItem(KEY, LEAVING);
    localStorage.setItem(KEY, `${what} ${Date.now()}`);
  } catch {
    // A browser that stores nothing has no other page to tell.
  }
}

function again() {
  location.replace(location.pathname + location.search);
}

function clear(what) {
  document.body.replaceChildren();
  document.title = "…";
  sessionStorage.clear();
  // The session may have no end yet, or the house cannot be reached: then the page says so.
  if (what.startsWith(LEFT)) again();
  else setTimeout(again, 10000);
}

const before = stored();
if (viewer) {
  document.addEventListener("submit", (event) => {
    if (event.target.matches("form[data-leaves]")) tell(LEAVING);
  });
  addEventListener("storage", (event) => {
    if (isOwn && event.key === KEY && event.newValue) clear(event.newValue);
  });
  addEventListener("pageshow", (event) => {
    if (isOwn && event.persisted && stored() !== before) clear(LEFT);
  });
} else {
  try {
    if (sessionStorage.getItem(KEY) === LEAVING) tell(LEFT);
  } catch {
    // As above.
  }
}
