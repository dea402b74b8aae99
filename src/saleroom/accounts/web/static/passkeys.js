// Passkeys (WebAuthn): the browser is asked for one, and its answer goes with the form.
const toBytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (one) => one.charCodeAt(0));
const toText = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const numbered = (list) => (list ?? []).map((one) => ({ ...one, id: toBytes(one.id) }));
const PARTS = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];

function question(options) {
  const asked = { ...options, challenge: toBytes(options.challenge) };
  if (options.user) Object.assign(asked, { user: { ...options.user, id: toBytes(options.user.id) }, excludeCredentials: numbered(options.excludeCredentials) });
  return { publicKey: asked };
}

function answer(credential) {
  const response = {};
  for (const part of PARTS) if (credential.response[part]) response[part] = toText(credential.response[part]);
  return JSON.stringify({ id: credential.id, rawId: toText(credential.rawId), type: credential.type, response });
}

async function ask(form) {
  if (!form.dataset.asks) return navigator.credentials.create(question(JSON.parse(form.dataset.options)));
  const got = await fetch(form.dataset.asks);
  if (!got.ok) throw new Error(String(got.status));
  const { ticket, options } = await got.json();
  form.elements.ticket.value = ticket;
  return navigator.credentials.get(question(options));
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  const button = form.querySelector("button");
  const say = (what) => { for (const words of form.querySelectorAll("[data-says]")) words.hidden = words.dataset.says !== what; };
  form.hidden = false;
  if (!window.PublicKeyCredential) {
    button.hidden = true;
    say("missing");
    continue;
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    say("");
    button.disabled = true;
    try {
      form.elements.credential.value = answer(await ask(form));
      form.submit();
    } catch (error) {
      say(error.name === "InvalidStateError" ? "known" : "failed");
    }
    button.disabled = false;
  });
}
