// The lot's page as it is looked at: the button of the bar on a phone, and the viewer of the photos.
const lot = document.querySelector(".lot");
const wholly = { threshold: 0.99, rootMargin: "0px 0px -64px" }; // above the bar
const seen = new IntersectionObserver((found) => {
  lot.classList.toggle("at-button", found.at(-1).intersectionRatio >= 0.99);
}, wholly);
function watchButton() {
  seen.disconnect();
  lot.classList.remove("at-button");
  const button = document.querySelector("#lot-box :is(button[type=submit], .actions .button)");
  if (button) seen.observe(button);
}
watchButton();
document.addEventListener("htmx:after:swap", watchButton);

// A photo opens in a dialog: arrows, a swipe or the buttons turn, + and - and a click zoom, Escape closes.
const zooms = [1, 2, 4];
function look(links, first) {
  const viewer = document.getElementById("viewer").content.cloneNode(true).firstElementChild;
  const [frames, place] = [viewer.querySelector(".frames"), viewer.querySelector(".place")];
  let index = first;
  for (const link of links) {
    const [frame, photo] = [document.createElement("li"), new Image()];
    photo.loading = "lazy";
    photo.draggable = false;
    photo.alt = link.querySelector("img").alt;
    photo.src = link.href;
    frame.append(photo);
    frames.append(frame);
  }

  const scale = () => Number(frames.children[index].dataset.scale ?? 1);
  function show() {
    place.textContent = `${index + 1} / ${links.length}`;
    for (const turn of viewer.querySelectorAll("[data-step]")) turn.hidden = !links[index + Number(turn.dataset.step)];
    viewer.querySelector("[data-zoom=in]").disabled = scale() === zooms.at(-1);
    viewer.querySelector("[data-zoom=out]").disabled = scale() === 1;
    if (!viewer.contains(document.activeElement) || document.activeElement.matches(":disabled, [hidden]")) frames.focus();
  }
  function zoom(to, x = 0.5, y = 0.5) {
    const frame = frames.children[index];
    const [across, down] = [frame.scrollLeft + x * frame.clientWidth, frame.scrollTop + y * frame.clientHeight];
    const grown = to / scale();
    frame.dataset.scale = to;
    if (to > 1) frame.tabIndex = 0; // it scrolls, so the keyboard reaches it
    else frame.removeAttribute("tabindex");
    frame.scrollTo(across * grown - x * frame.clientWidth, down * grown - y * frame.clientHeight);
    show();
  }
  function turn(to) {
    if (!links[to]) return;
    zoom(1);
    index = to;
    frames.children[index].scrollIntoView({ behavior: "instant", inline: "start", block: "nearest" });
    show();
  }
  const step = (by) => zoom(zooms[zooms.indexOf(scale()) + by] ?? scale());

  let dragged = false;
  frames.addEventListener("pointerdown", () => { dragged = false; });
  frames.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "mouse" || event.buttons !== 1 || scale() === 1) return;
    dragged ||= Math.abs(event.movementX) + Math.abs(event.movementY) > 1;
    frames.children[index].scrollBy(-event.movementX, -event.movementY);
  });
  frames.addEventListener("scroll", () => { // by a swipe
    const shown = Math.round(Math.abs(frames.scrollLeft) / frames.clientWidth);
    if (shown === index || !links[shown]) return;
    zoom(1);
    index = shown;
    show();
  });
  viewer.addEventListener("click", ({ target, clientX, clientY }) => {
    if (target.closest("[data-close]")) viewer.close();
    else if (target.dataset.step) turn(index + Number(target.dataset.step));
    else if (target.dataset.zoom) step(target.dataset.zoom === "in" ? 1 : -1);
    else if (target.matches("img") && !dragged) zoom(scale() > 1 ? 1 : 2, clientX / innerWidth, clientY / innerHeight);
  });
  viewer.addEventListener("keydown", (event) => {
    const [across, down] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (across !== undefined && scale() > 1) frames.children[index].scrollBy(across * 100, down * 100);
    else if (across) turn(index + across);
    else if (event.key === "Home") turn(0);
    else if (event.key === "End") turn(links.length - 1);
    else if (event.key === "+" || event.key === "=") step(1);
    else if (event.key === "-") step(-1);
    else if (event.key === "Tab") {
      const stops = [...viewer.querySelectorAll("[tabindex], button:not(:disabled, [hidden])")];
      stops.at((stops.indexOf(document.activeElement) + (event.shiftKey ? -1 : 1)) % stops.length).focus();
    } else return;
    event.preventDefault();
  });
  viewer.addEventListener("close", () => {
    viewer.remove();
    links[index].focus(); // the photo that was shown last
  });
  document.body.append(viewer);
  viewer.showModal();
  turn(first);
  frames.focus();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("#lot-photos .views a");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  const links = [...document.querySelectorAll("#lot-photos .views a")];
  look(links, links.indexOf(link));
});
