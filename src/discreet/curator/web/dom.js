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

/** What an error says, in a box. */
export function complaint(error) {
  return h("div", { class: "complaint", role: "alert" },
    h("strong", {}, error.kind || "Error"),
    h("p", {}, error.message),
    error.hint && !error.message.includes(error.hint) ? h("p", { class: "quiet" }, error.hint) : null);
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

/** An epsilon for people. */
export const eps = (value) => (value === null || value === undefined ? "–" : String(Number(Number(value).toPrecision(3))));

/** A fraction such as "1/3" as a number. */
export const ratio = (exact) => { const [a, b] = String(exact).split("/"); return b ? a / b : Number(a); };

/** ε first; what the ledger counted in brackets, where that says more. */
export function paid(data) {
  if (!data.parameters.epsilon) return data.price.text;
  const same = data.price.epsilon === data.parameters.epsilon && (data.price.delta ?? "0") === "0";
  return `ε ${eps(ratio(data.parameters.epsilon))}${same ? "" : ` (${data.price.text})`}`;
}

export const when = (text) => text.replace("T", " ").slice(0, 16);

/** Whether sums and averages of a column can be asked: a number, whether its bounds are declared or chosen. */
export const summable = (column) => ["number", "real"].includes(column.kind);

/** Whether there may be a group for each value of a column: listed, or exact values of which those of enough people are named. */
export const groupable = (column) => Boolean(column.keys || column.unknown_keys || ["text", "integer", "date"].includes(column.stored));

/** Call a function when its caller has been quiet for a while. */
export function later(f, milliseconds) {
  let waiting = 0;
  return (...given) => { clearTimeout(waiting); waiting = setTimeout(() => f(...given), milliseconds); };
}
