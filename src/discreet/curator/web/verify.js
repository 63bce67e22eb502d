// Verifying a receipt or release card in this browser: a file is read here, and its signature is checked here.

import { get, post, token } from "./api.js";
import { complaint, cost, field, h, show, when } from "./dom.js";

/** The text that was signed: equal values have equal texts. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value && typeof value === "object") return `{${Object.keys(value).sort().map((key) => `${canonical(key)}:${canonical(value[key])}`).join(",")}}`;
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** What a paper says, and whether this key signed it. */
async function opened(text, key) {
  const { discreet: kind, version, body, signature } = JSON.parse(text);
  if (!["card", "receipt"].includes(kind) || !body || !/^([0-9a-f]{2})+$/.test(signature)) throw new SyntaxError();
  const signed = new TextEncoder().encode(`discreet ${kind} ${version}\n${canonical(body)}`);
  const imported = await crypto.subtle.importKey("raw", bytes(key), "Ed25519", false, ["verify"]);
  const genuine = await crypto.subtle.verify("Ed25519", imported, bytes(signature), signed);
  if (kind === "card") return { kind, genuine, body, number: body.charge.sequence };
  const entry = JSON.parse(body.entry);
  const hash = Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(body.entry))), (b) => b.toString(16).padStart(2, "0")).join("");
  return { kind, genuine: genuine && hash === body.hash, body: { ...entry.body, analyst: entry.by, time: entry.time }, number: entry.sequence };
}

export async function verifyView(place) {
  const { public_key: own } = await get("/api/key");
  const key = h("input", { id: "key", class: "mono", value: own, pattern: "[0-9a-f]{64}", spellcheck: "false" });
  const verdict = h("div", { id: "verdict", "aria-live": "polite" });
  const choose = h("input", { type: "file", id: "paper", accept: ".json,application/json", onchange: () => check(choose.files[0]) });
  const check = async (file) => {
    if (!file) return;
    try {
      const text = (await file.text()).trim();
      show(verdict, crypto.subtle ? said(await opened(text, key.value.trim())) : null, token.get() ? await standing(text) : null);
    } catch (error) {
      show(verdict, complaint(error.kind ? error : { kind: "This cannot be read", message: "It is neither a receipt nor a release card, or the key is not 64 hexadecimal digits." }));
    }
  };
  show(place, h("div", { class: "page" }, h("h1", {}, "Verify a receipt"),
    h("section", { class: "card drop", ondragover: (event) => event.preventDefault(), ondrop: (event) => { event.preventDefault(); check(event.dataTransfer.files[0]); } },
      h("p", { class: "quiet" }, "Drop a receipt or release card here. It is checked in your browser with the public key of the ledger, and sent nowhere without your token."),
      field("A saved receipt or release card", choose),
      h("details", {}, h("summary", {}, "The key"), field("Public key of the ledger", key, "This service’s own. For an older key or another service, write the one that its owner published.")),
      verdict)));
}

function said({ kind, genuine, body, number }) {
  const rows = [["asked by", body.analyst], ["data set", body.dataset], ["query", h("code", {}, body.query)], ["cost", body.parameters.epsilon || body.parameters.rho ? cost(body.parameters) : "see its release card"],
    ["protects", body.unit], ["entry of the ledger", String(number)], ["written", body.time && when(body.time)]].filter(([, value]) => value);
  return [h("p", {}, h("b", {}, genuine ? "Genuine. " : "Not genuine: "), genuine
    ? `This key signed this ${kind === "card" ? "release card: its query was answered, with this guarantee, at this privacy cost." : "receipt: its query was charged, with this privacy cost, at this place of the ledger."}`
    : `this ${kind === "card" ? "release card" : "receipt"} was changed, or signed by another key.`),
  genuine ? h("table", { class: "says" }, h("tbody", {}, rows.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value))))) : null];
}

/** Only the service can say whether the ledger still holds the charge; it knows its older keys too. */
async function standing(text) {
  try {
    const paper = await post("/api/papers/verify", { text });
    return h("p", {}, paper.stands ? "The ledger holds this charge." : h("b", {}, "The ledger no longer holds this charge: tell the owner."));
  } catch (error) { return complaint(error); }
}
