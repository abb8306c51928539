// The client of the public HTTP API: the page uses nothing else.

import { T } from "/ui/text.js";

const BASE = "/api/v1";
const TOKEN = "recollect-token";
let askForToken = null;
let asking = null;

export class ApiError extends Error {
  constructor(status, error) {
    super(error.message);
    this.status = status;
    this.code = error.code;
    this.hint = error.hint || "";
  }
}

// Say how a token is asked for: a function that resolves once one was entered.
export function onToken(ask) {
  askForToken = ask;
}

// A token is kept for this tab alone, and gone with it.
export const keepToken = (token) => sessionStorage.setItem(TOKEN, token);
export const hasToken = () => sessionStorage.getItem(TOKEN) !== null;
export const dropToken = () => sessionStorage.removeItem(TOKEN);

function headers(more = {}) {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

async function failure(response) {
  const told = await response.json().catch(() => ({}));
  return new ApiError(response.status, told.error || { code: "unknown", message: T.server.answered(response.status) });
}

async function request(path, options, more) {
  const sent = headers(more);
  let response;
  try {
    response = await fetch(path, { ...options, headers: sent });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { code: "unreachable", message: T.server.silent, hint: T.server.start });
  }
  if (response.status === 401 && askForToken) {
    if (sent.Authorization === headers().Authorization) { // else a token was entered meanwhile
      asking = asking || failure(response).then(askForToken).finally(() => { asking = null; });
      await asking;
    }
    return request(path, options, more);
  }
  if (!response.ok) throw await failure(response);
  return response;
}

function without(values) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== undefined && !(Array.isArray(value) && !value.length)));
}

// Ask an operation; *values* that are not there are left out.
export async function ask(operation, values = {}, signal = undefined) {
  const body = JSON.stringify(without(values));
  const response = await request(`${BASE}/${operation}`, { method: "POST", body, signal }, { "Content-Type": "application/json" });
  return response.json();
}

// Return the address of the same answer as JSON.
export function twin(operation, values = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(without(values))) for (const each of [value].flat()) query.append(name, String(each));
  return `${BASE}/${operation}${query.size ? `?${query}` : ""}`;
}

// Send a file to be imported; call *progress* with the share that is sent.
export function upload(file, project, progress) {
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    const query = new URLSearchParams({ name: file.name, ...(project ? { project } : {}) });
    sending.open("POST", `${BASE}/import?${query}`);
    for (const [name, value] of Object.entries(headers({ "Content-Type": "application/octet-stream" }))) sending.setRequestHeader(name, value);
    sending.upload.onprogress = (event) => progress(event.total ? event.loaded / event.total : 1);
    sending.onload = () => {
      let told = {};
      try { told = JSON.parse(sending.responseText); } catch { /* it is no JSON */ }
      if (sending.status === 200) resolve(told);
      else reject(new ApiError(sending.status, told.error || { message: T.server.answered(sending.status) }));
    };
    sending.onerror = () => reject(new ApiError(0, { message: T.server.silent }));
    sending.send(file);
  });
}

// Call *each* with every entry from now on, until *signal* ends it; call *state* with "live" or "waiting".
export async function follow(values, each, state, signal) {
  while (!signal.aborted) {
    try {
      const response = await request(twin("events", values), { signal }, { Accept: "text/event-stream" });
      state("live");
      await readEvents(response.body.getReader(), each);
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 403 || error.status === 404) throw error;
    }
    if (signal.aborted) return;
    state("waiting");
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

async function readEvents(reader, each) {
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const data = part.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
      if (data.length) each(JSON.parse(data.join("\n")));
    }
  }
}
