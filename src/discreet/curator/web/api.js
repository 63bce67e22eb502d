// Talking to the service. The token stays in this tab and travels in a header, never in an address or a cookie.

const KEY = "discreet.token";

export const token = {
  get: () => sessionStorage.getItem(KEY),
  set: (text) => sessionStorage.setItem(KEY, text),
  drop: () => sessionStorage.removeItem(KEY),
};

export class Refused extends Error {
  constructor(status, data) {
    super(data.message || "the service cannot be reached");
    this.status = status;
    this.kind = data.kind || "Unreachable";
    this.hint = data.hint || "";
  }
}

async function send(method, path, body, signal, read = (reply) => reply.json().catch(() => ({}))) {
  const headers = { "discreet-interface": "page" };
  if (token.get()) headers.authorization = `Bearer ${token.get()}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let reply;
  try {
    reply = await fetch(path, {
      method, headers, signal, cache: "no-store", credentials: "omit", referrerPolicy: "no-referrer",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, {});
  }
  if (reply.ok) return read(reply);
  const data = await reply.json().catch(() => ({}));
  throw new Refused(reply.status, data.error || {});
}

export const get = (path, signal) => send("GET", path, undefined, signal);
export const file = (path) => send("GET", path, undefined, undefined, (reply) => reply.blob());
export const post = (path, body, signal) => send("POST", path, body, signal);
export const at = (...parts) => `/api/${parts.map(encodeURIComponent).join("/")}`;
/** A key for one question: asking again under it is never charged twice. */
export const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
/** All that a route lists page by page; the next page begins after the last one's number. */
export async function everything(path, name, number) {
  const all = [];
  for (;;) {
    const page = (await get(`${path}?limit=1000&after=${all.length ? all.at(-1)[number] : 0}`))[name];
    all.push(...page);
    if (page.length < 1000) return all;
  }
}
