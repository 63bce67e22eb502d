// Building the page. Everything that comes from elsewhere becomes a text node: there is no HTML in strings anywhere.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "path", "line", "rect", "circle", "text", "title", "polyline", "defs", "pattern"]);

/** An element: h("div", {class: "card", onclick: f}, "text", child). */
export function h(tag, attributes = {}, ...children) {
  const node = SVG_TAGS.has(tag) && tag !== "title" ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) node.style.setProperty(key, one);
    else if (name === "value" && "value" in node) node.value = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** A title for an SVG element, shown when pointed at. */
export function tip(text) {
  const node = document.createElementNS(SVG, "title");
  node.textContent = text;
  return node;
}

export const show = (place, ...children) => {
  place.replaceChildren(...children.flat(Infinity).filter(Boolean));
  return place;
};

let timer = 0;
/** A short message at the edge of the page. */
export function toast(text, kind = "") {
  const place = document.getElementById("toast");
  place.className = `on ${kind}`;
  place.textContent = text;
  clearTimeout(timer);
  timer = setTimeout(() => { place.className = ""; }, 6000);
}

const TITLES = {
  AlreadyProtected: "These people have a budget already", BadData: "The data cannot be read", BadParameter: "Something is filled in wrongly",
  BadQuestion: "This query cannot be asked", BadSignature: "Not genuine", BeyondRange: "A number is too large", EngineFailed: "The computation failed",
  EngineUnreachable: "The database cannot be reached", Fault: "Something went wrong", Forbidden: "Not allowed", KeyReused: "The key belongs to another query",
  LedgerBusy: "Still being answered", LedgerMismatch: "The ledger needs the owner", LedgerUnavailable: "The ledger cannot be reached", LedgerUnsafe: "The ledger needs the owner",
  Malformed: "Something is filled in wrongly", NoEstimate: "No estimate is possible", NotFound: "Nothing here", NotRegistered: "There is no such thing",
  OverBudget: "The budget is too small", Pruned: "This answer is no longer kept", ServiceBusy: "The service is busy", StaleState: "Another session was faster",
  TooLarge: "Too large", TooMany: "Too many requests", Unauthorised: "Sign in again", Unreachable: "No connection", Unsupported: "This is not supported",
};

/** What an error says, in a box: a title in plain words, what to do, and the name of its class for those who search for it. */
export function complaint(error) {
  const hint = error.hint && !error.message.includes(error.hint) ? error.hint : null;
  return h("div", { class: "complaint", role: "alert" },
    h("strong", {}, TITLES[error.kind] || error.kind || "Error"), h("p", {}, error.message),
    hint ? h("p", { class: "quiet" }, hint) : null, error.kind in TITLES ? h("small", { class: "quiet" }, error.kind) : null);
}

/** A field with its label. */
export function field(label, input, hint) {
  return h("label", { class: "field" }, h("span", {}, label), input, hint ? h("small", {}, hint) : null);
}

/** Save a text or a blob as a file. */
export function download(name, content) {
  const link = h("a", { href: URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: "application/json" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** A number for people: enough digits, thousands apart. */
export function short(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return String(value);
  const x = Number(value);
  if (!Number.isFinite(x)) return String(value);
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-3 || size >= 1e12)) return x.toExponential(2);
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 4;
  return x.toLocaleString("en", { maximumFractionDigits: digits });
}

/** A released number and its error bar for people: the bar to two digits, the number to the last of them. */
export function withBar(value, error) {
  const bar = Number(error);
  if (typeof value !== "number" || !(bar >= 1e-9 && bar < 1e15)) return [short(value), short(error)];
  const digits = 1 - Number(bar.toExponential(1).split("e")[1]);
  const round = (x, places) => x.toLocaleString("en", { minimumFractionDigits: Math.max(places, 0), maximumFractionDigits: Math.max(places, 0) });
  const step = 10 ** Math.max(-digits, 0);
  return [round(Math.round(value / step) * step || 0, Number.isInteger(value) && digits > 0 ? 0 : digits), round(Math.round(bar / step) * step, digits)];
}

/** An error bar for people: two digits. */
export const bar = (error) => withBar(0, error)[1];

/** A share for people: two digits, or none of what is small or large. */
export const percent = (share) => (share < 0.001 ? "under 0.1%" : share > 9.99 ? "over 999%" : `${Number((share * 100).toPrecision(share < 0.1 ? 1 : 2))}%`);

/** An epsilon for people. */
export const eps = (value) => (value === null || value === undefined ? "–" : String(Number(Number(value).toPrecision(3))));

/** A fraction such as "1/3" as a number. */
export const ratio = (exact) => { const [a, b] = String(exact).split("/"); return b ? a / b : Number(a); };

/** A price or budget: ε, and δ where there is one; ρ only where nothing else was named. */
export function cost(amount) {
  const parts = [["ε", amount.epsilon], ["ρ", amount.rho], ["δ", amount.delta]].filter(([, part]) => part !== undefined && part !== null);
  return parts.filter(([symbol, part]) => symbol !== "δ" || ratio(part)).map(([symbol, part]) => `${symbol} = ${eps(ratio(part))}`).join(", ") || amount.text;
}

/** What was paid for a question, as it was asked: in ε or ρ, else what the ledger counted. */
export const paid = (data) => cost(data.parameters.epsilon || data.parameters.rho ? { epsilon: data.parameters.epsilon, rho: data.parameters.rho } : data.price);

/** A moment of the service, which counts in UTC: of today the time alone. */
export const when = (text) => (text.slice(0, 10) === new Date().toISOString().slice(0, 10) ? text.slice(11, 16) : text.replace("T", " ").slice(0, 16));

/** Whether sums and averages of a column can be asked: a number, whether its bounds are declared or chosen. */
export const summable = (column) => ["number", "real"].includes(column.kind);

/** Whether there may be a group for each value of a column: listed, or exact values of which those of enough people are named. */
export const groupable = (column) => Boolean(column.keys || column.unknown_keys || ["text", "integer", "date"].includes(column.stored));

/** Call a function when its caller has been quiet for a while. */
export function later(f, milliseconds) {
  let waiting = 0;
  return (...given) => { clearTimeout(waiting); waiting = setTimeout(() => f(...given), milliseconds); };
}

/** A question in a dialog of the page: what was written into its field (or true, if it has none), null if it was left. */
export function dialog(title, text, { label = "", yes = "OK", bad = false } = {}) {
  return new Promise((done) => {
    const input = label ? h("input", { required: true, maxlength: 2000 }) : null;
    const leave = (value) => { box.remove(); done(value); };
    const box = h("dialog", { class: "card", "aria-label": title, oncancel: () => leave(null) }, h("form", { onsubmit: (event) => { event.preventDefault(); leave(input ? input.value : true); } },
      h("h2", {}, title), h("p", {}, text), input ? field(label, input) : null,
      h("div", { class: "actions" }, h("button", { class: bad ? "main bad" : "main" }, yes), h("button", { type: "button", onclick: () => leave(null) }, "Cancel"))));
    document.body.append(box);
    box.showModal();
  });
}

/** Rows of cells as CSV. What looks like a formula must stay a text where it is pasted, also after what ends a cell in another country. */
export function csv(rows) {
  const plain = (value) => (typeof value !== "string" ? String(value) : value.replace(/(^|[;\t\r\n])(?=[=+\-@＝＋－＠])/g, "$1'").replace(/^(?=[\t\r\n])/, "'"));
  const quote = (value) => (value === null || value === undefined ? "" : /[",;\t\r\n]/.test(plain(value)) ? `"${plain(value).replaceAll('"', '""')}"` : plain(value));
  return rows.map((row) => row.map(quote).join(",")).join("\n");
}
