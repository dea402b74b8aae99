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
