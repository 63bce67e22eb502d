// Requests for budget: an analyst asks for a cap, an owner or steward decides.

import { at, get, post } from "./api.js";
import { complaint, cost, field, h, show, toast, when } from "./dom.js";

export async function requestsView(place, _, me) {
  const [requests, budgets] = await Promise.all([get("/api/requests"), get("/api/budget")]);
  const again = () => requestsView(place, _, me);
  const decides = me.role !== "analyst";
  const [open, decided] = [requests.filter((one) => one.state === "open"), requests.filter((one) => one.state !== "open").reverse()];
  const list = (items, empty) => (items.length ? h("ul", { class: "people" }, items.map((one) => item(one, decides, again))) : h("p", { class: "empty" }, empty));
  show(place, h("div", { class: "page" }, h("h1", {}, "Requests for budget"), h("div", { class: "two even" },
    h("section", { class: "card" }, h("h2", {}, "Waiting"), list(open, "None.")),
    h("section", { class: "card" }, decides ? [h("h2", {}, "Decided"), list(decided, "None yet.")] : [form(budgets, again), decided.length ? [h("h2", {}, "Decided"), list(decided, "")] : null]))));
}

function item(one, decides, again) {
  const reason = h("input", { placeholder: "why; it is recorded", "aria-label": `Reason for ${one.analyst}`, maxlength: 2000 });
  const act = async (what, body) => {
    try { await post(at("requests", one.request, what), body); toast(what === "grant" ? "Granted" : "Refused"); again(); } catch (error) { toast(error.message, "bad"); }
  };
  return h("li", {},
    h("div", { class: "head" }, h("b", {}, one.analyst), h("span", {}, `up to ${cost(one.cap)} of ${one.population}`), h("span", { class: "grow" }), h("span", { class: "chip" }, one.state)),
    h("p", {}, one.reason), h("p", { class: "quiet small" }, when(one.time), one.decided_by ? ` · ${one.state} by ${one.decided_by}${one.granted ? `, up to ${cost(one.granted)}` : ""}${one.decision ? `: ${one.decision}` : ""}` : ""),
    decides && one.state === "open" ? h("div", { class: "line" }, reason,
      h("button", { class: "main", onclick: () => act("grant", { reason: reason.value }) }, "Grant"),
      h("button", { class: "plain bad", onclick: () => (reason.value.trim() ? act("refuse", { reason: reason.value }) : reason.focus()) }, "Refuse")) : null);
}

function form(budgets, again) {
  const population = h("select", { name: "population" }, budgets.map((one) => h("option", {}, one.population)));
  const amount = h("input", { name: "amount", required: true, inputmode: "decimal" }), reason = h("input", { name: "reason", required: true, maxlength: 2000 }), wrong = h("div", {});
  return h("form", { onsubmit: async (event) => {
    event.preventDefault();
    const { budget } = budgets.find((one) => one.population === population.value);
    const cap = { [budget.kind === "ZCDP" ? "rho" : "epsilon"]: amount.value.trim(), ...(budget.kind === "Pure" ? {} : { delta: budget.delta }) };
    try { await post("/api/requests", { population: population.value, cap, reason: reason.value }); toast("Sent"); again(); } catch (error) { show(wrong, complaint(error)); }
  } }, h("h2", {}, "Ask for more"), field("Of the people of", population), field("Up to (ε or ρ, all that you may ever spend)", amount), field("What for", reason), h("button", { class: "main" }, "Send"), wrong);
}
