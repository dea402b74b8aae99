// Messages on this device: what stands in their way here, or the button that begins them.
const here = document.getElementById("push-here");
const button = here.querySelector("button");

function show(state) {
  for (const part of here.querySelectorAll("[data-push]")) part.hidden = part.dataset.push !== state;
}

async function look() {
  if (!isSecureContext || !navigator.serviceWorker || !window.PushManager || !window.Notification) return show("unable");
  if (Notification.permission === "denied") return show("blocked");
  const worker = await navigator.serviceWorker.getRegistration("/");
  const known = await worker?.pushManager.getSubscription();
  return show(known && here.dataset.subscribed ? "on" : "off");
}

async function begin() {
  if ((await Notification.requestPermission()) !== "granted") return look();
  const { pushManager } = await navigator.serviceWorker.ready;
  await (await pushManager.getSubscription())?.unsubscribe(); // it may be for a key that the house no longer has
  const made = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: here.dataset.key });
  const { endpoint, keys } = made.toJSON();
  const answer = await fetch("/mine/notices/browsers", {
    method: "POST",
    headers: { "X-Requested-With": "push.js" },
    body: new URLSearchParams({ subscription: JSON.stringify({ endpoint, keys }) }),
  });
  if (!answer.ok) throw new Error(`The house answered ${answer.status}`);
  return location.reload();
}

button.addEventListener("click", async () => {
  button.disabled = true;
  try {
    await begin();
  } catch {
    show("failed");
    button.parentElement.hidden = false;
  } finally {
    button.disabled = false;
  }
});
look();
