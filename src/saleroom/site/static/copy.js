// Puts a button beside each command, which copies it. Browsers offer no clipboard over plain http: then there is no button.
for (const block of navigator.clipboard ? document.querySelectorAll("pre[data-copy]") : []) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = document.body.dataset.copy;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("code").textContent);
    button.textContent = document.body.dataset.copied;
    setTimeout(() => { button.textContent = document.body.dataset.copy; }, 2000);
  });
  block.prepend(button);
}
