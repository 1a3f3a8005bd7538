// The start page: shows the address it was opened at, whether the service is ready, and copies commands.
"use strict";

const base = new URL(".", location.href).href.replace(/\/$/, "");
for (const place of document.querySelectorAll("[data-base]")) place.textContent = base;

async function showStatus() {
  const status = document.querySelector("[data-status]");
  const text = status.querySelector("[data-status-text]");
  const version = text.textContent;
  let ready = false;
  try {
    ready = (await fetch("readyz", { cache: "no-store", credentials: "omit" })).ok;
  } catch {
    // Unreachable is not ready.
  }
  status.classList.add(ready ? "ready" : "unready");
  text.textContent = (ready ? "Ready" : "Not ready") + " · " + version;
}

function offerCopy(button) {
  const code = button.parentElement.querySelector("code");
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}

showStatus();
// Browsers give the clipboard to pages on https and on loopback only.
if (navigator.clipboard) document.querySelectorAll("[data-copy]").forEach(offerCopy);
