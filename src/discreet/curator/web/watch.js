// What the owner watches: alerts, and the profiles of tables that were bought.

import { everything, get } from "./api.js";
import { opener } from "./answer.js";
import { eps, h, ratio, show, when } from "./dom.js";

const SOON = 14; // days
const NEARLY = 0.9;

// --- alerts ----------------------------------------------------------------------------------------------------------

export async function alertsView(place) {
  const [audit, budgets, analysts, ready] = await Promise.all([get("/api/audit"), get("/api/budget"), get("/api/analysts"), get("/readyz").catch((error) => error)]);
  const urgent = [], notes = [];
  if (audit.trouble) urgent.push(["No query is answered", audit.trouble, "#ledger"]);
  else if (ready instanceof Error) urgent.push(["The service is not ready", "The log of the service names the reason: the disk, the store of the ledger, a mismatch, or a data set whose tables are gone or changed.", null]);
  for (const one of budgets) {
    const part = `${(one.share * 100).toFixed(0)}% of the budget is spent`;
    if (one.share >= NEARLY) (one.share >= 1 ? urgent : notes).push([one.population, one.share >= 1 ? "The budget is spent: no further query is answered." : `${part}.`, "#datasets"]);
    for (const analyst of one.analysts) if (analyst.share >= NEARLY && analyst.budget.text !== one.budget.text) notes.push([analyst.analyst, `${(analyst.share * 100).toFixed(0)}% of their own cap for ${one.population} is spent.`, "#analysts"]);
  }
  for (const text of audit.cautions) notes.push(["Caution", text, null]);
  if (audit.unanswered.length) notes.push(["Charged without a stored answer", `${audit.unanswered.join(", ")}. They stay charged: under way, or lost with a server that ended.`, "#ledger"]);
  const limit = Date.now() + SOON * 86400e3;
  for (const one of analysts) {
    const live = one.revoked ? [] : one.tokens.filter((t) => !t.revoked && Date.parse(t.expires) > Date.now());
    if (!one.revoked && !live.length) notes.push([one.name, "They have no valid token.", "#analysts"]);
    else if (live.length && live.every((t) => Date.parse(t.expires) < limit)) notes.push([one.name, `Their last token expires on ${live.map((t) => t.expires).sort().at(-1).slice(0, 10)}.`, "#analysts"]);
  }
  const list = (items, kind) => h("ul", { class: "alerts" }, items.map(([head, text, to]) => h("li", { class: kind }, h("b", {}, head), h("p", {}, text), to ? h("a", { href: to }, "Look") : null)));
  show(place, h("div", { class: "page" }, h("h1", {}, "Alerts"),
    urgent.length ? h("section", { class: "card" }, h("h2", {}, "Needs you now"), list(urgent, "complaint")) : null,
    notes.length ? h("section", { class: "card" }, h("h2", {}, "To know"), list(notes, "note")) : null,
    urgent.length || notes.length ? null : h("p", { class: "empty" }, "Nothing needs you."),
    h("p", { class: "quiet small" }, "Counters for an alert manager are at ", h("code", {}, "/metrics"), ", for a token of the role monitor.")));
}

// --- profiles --------------------------------------------------------------------------------------------------------

export async function profilesView(place, [chosen]) {
  const [datasets, charges] = [await get("/api/datasets"), await everything("/api/answers", "charges", "number")];
  const bought = charges.filter((one) => one.parameters.profile && one.answered).reverse();
  const side = h("section", { class: "result", "aria-live": "polite" });
  const open = opener(side, charges);
  const known = new Set(bought.map((one) => `${one.dataset}\n${one.parameters.profile}`));
  const without = datasets.flatMap((one) => one.tables.filter((table) => !known.has(`${one.name}\n${table}`)).map((table) => `${one.name}: ${table}`));
  show(place, h("div", { class: "page" }, h("h1", {}, "Profiles"),
    h("p", { class: "quiet" }, "A profile is a set of noisy histograms of a table, charged once by an analyst: rows of each unit, groups, values. It is there to be looked at; synthetic rows of a table whose bounds are open are planned with it."),
    bought.length ? h("div", { class: "two" }, h("section", { class: "card" }, h("h2", {}, "Bought"), h("ol", { class: "list" }, bought.map((one) => h("li", {},
      h("button", { class: "entry", onclick: () => open(one.number) }, h("b", {}, `${one.dataset}: ${one.parameters.profile}${one.parameters.columns ? ` (${one.parameters.columns.join(", ") || "rows"})` : ""}`),
        h("span", { class: "quiet small" }, `${when(one.time)} · ${one.by}${one.parameters.epsilon ? ` · ε ${eps(ratio(one.parameters.epsilon))}` : ""}`)))))), side) : h("p", { class: "empty" }, "No profile yet."),
    without.length ? h("p", { class: "quiet small" }, `Without a profile: ${without.join(", ")}.`) : null));
  if (bought.length) await open(chosen ? Number(chosen) : bought[0].number);
}
