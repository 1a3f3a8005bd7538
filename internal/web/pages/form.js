// The pages behind mail links: reads e-mail and token from the address, sends the forms to the API as
// JSON and shows what it answers. Markup names the steps: data-step, data-call, data-then, data-go.
"use strict";

const shortest = 8, longest = 128;
const link = takeLink();

// takeLink reads the link and removes it from the address bar, so that the token stays out of the
// history, of bookmarks and of screenshots.
function takeLink() {
  const query = new URLSearchParams(location.search);
  history.replaceState(null, "", location.pathname);
  return { email: (query.get("email") || "").trim(), token: (query.get("token") || "").trim() };
}

function show(step) {
  for (const section of document.querySelectorAll("[data-step]")) section.hidden = section.dataset.step !== step;
  const current = document.querySelector(`[data-step="${step}"]`);
  document.title = current.querySelector("h1").textContent + " · Steward";
  return current;
}

// move is show for a step the reader asked for: the heading takes the focus, so that it is read out.
function move(step) {
  show(step).querySelector("h1").focus();
}

function fillEmail(email) {
  for (const place of document.querySelectorAll("[data-email]")) {
    if ("value" in place) place.value = email; else place.textContent = email;
  }
}

function setError(input, message) {
  document.getElementById(input.id + "-error").textContent = message;
  if (message) input.setAttribute("aria-invalid", "true"); else input.removeAttribute("aria-invalid");
}

function setAlert(form, message) {
  const alert = form.querySelector("[data-alert]");
  alert.textContent = message;
  alert.hidden = !message;
}

function editable(form) {
  return [...form.querySelectorAll("input[name]:not([readonly])")];
}

// complaint says what is wrong with an input before it is sent; empty where nothing is. Characters are
// counted as the server counts them, by code point.
function complaint(form, input) {
  const length = [...input.value].length;
  if (length === 0) return "This is needed.";
  if (input.type === "email" && !input.validity.valid) return "This is not an e-mail address.";
  if (input.name === "newPassword" && length < shortest) return `At least ${shortest} characters, please.`;
  if (input.name === "newPassword" && length > longest) return `At most ${longest} characters, please.`;
  if (input.name === "repeat" && input.value !== form.elements.newPassword.value) return "The two passwords differ.";
  return "";
}

function checkAll(form) {
  const wrong = editable(form).filter((input) => {
    const message = complaint(form, input);
    setError(input, message);
    return message;
  });
  if (wrong.length) wrong[0].focus();
  return wrong.length === 0;
}

async function call(form, body) {
  const response = await fetch(form.dataset.call, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    cache: "no-store",
    credentials: "omit",
  });
  const answer = await response.json().catch(() => ({}));
  return { ok: response.ok, status: response.status, wait: response.headers.get("Retry-After"), answer };
}

function bodyOf(form) {
  const body = { email: link.email };
  for (const input of editable(form)) if (input.name !== "repeat") body[input.name] = input.value;
  if (form.closest("[data-step]").dataset.step === "form") body.token = link.token;
  return body;
}

// refuse puts each message at the field it is about; what has no field here stands above the form.
function refuse(form, { status, wait, answer }) {
  const rest = [];
  for (const { field, message } of answer.errors || []) {
    const name = String(field).split(".").pop();
    const input = editable(form).find((candidate) => candidate.name === name);
    if (input) setError(input, message);
    else if (name === "token") offerNewLink(form);
    else rest.push(message);
  }
  const first = form.querySelector("[aria-invalid]");
  if (first) return first.focus();
  if (rest.length) return setAlert(form, rest.join(" "));
  if (form.querySelector("[data-alert]").hidden) setAlert(form, reason(status, wait, answer));
}

function offerNewLink(form) {
  setAlert(form, "This link has expired or was used before.");
  form.parentElement.querySelector("[data-expired]").hidden = false;
}

function reason(status, wait, answer) {
  if (status === 429 || status === 503) {
    const when = /^\d+$/.test(wait || "") ? `in ${wait} ${wait === "1" ? "second" : "seconds"}` : "in a moment";
    return `${status === 429 ? "That was too often." : "The service is busy."} Please try again ${when}.`;
  }
  return answer.errorMessage || "That did not work. Please try again in a moment.";
}

async function submit(event) {
  event.preventDefault();
  const form = event.target;
  if (form.getAttribute("aria-busy") === "true") return;
  setAlert(form, "");
  if (!checkAll(form)) return;
  form.setAttribute("aria-busy", "true");
  try {
    const body = bodyOf(form);
    const result = await call(form, body);
    if (!result.ok) return refuse(form, result);
    fillEmail(body.email);
    form.reset();
    move(form.dataset.then);
  } catch {
    setAlert(form, "The service cannot be reached. Is your connection up?");
  } finally {
    form.removeAttribute("aria-busy");
  }
}

function reveal(event) {
  const type = event.target.checked ? "text" : "password";
  for (const input of event.target.form.querySelectorAll("[autocomplete=new-password]")) input.type = type;
}

for (const form of document.forms) {
  form.addEventListener("submit", submit);
  for (const input of editable(form)) {
    input.addEventListener("input", () => setError(input, ""));
  }
}
for (const box of document.querySelectorAll("[data-reveal]")) box.addEventListener("change", reveal);
for (const button of document.querySelectorAll("[data-go]")) button.addEventListener("click", () => move(button.dataset.go));
fillEmail(link.email);
show(link.email && link.token ? "form" : "ask");
