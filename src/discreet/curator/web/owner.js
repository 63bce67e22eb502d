// What the owner sees: budgets, data sets, analysts, and the ledger.

import { at, everything, get, post } from "./api.js";
import { gauge, steps } from "./charts.js";
import { complaint, cost, csv, dialog, download, eps, field, h, ratio, show, toast } from "./dom.js";
import { registerForm } from "./register.js";

// --- data sets -------------------------------------------------------------------------------------------------------

export async function datasetsView(place) {
  const [datasets, budgets, entries] = await Promise.all([get("/api/datasets"), get("/api/budget"), everything("/api/ledger", "entries", "sequence")]);
  const again = () => datasetsView(place);
  const cards = budgets.map((one) => populationCard(one, datasets.filter((d) => d.population === one.population), entries, again));
  show(place, h("div", { class: "page" },
    h("div", { class: "head" }, h("h1", {}, "Data sets"), h("span", { class: "grow" }), h("a", { class: "button", href: "#datasets", onclick: () => document.getElementById("register").scrollIntoView({ behavior: "smooth" }) }, "Register a data set")),
    cards.length ? h("div", { class: "cards" }, cards) : h("p", { class: "empty" }, "Nothing is registered yet."),
    h("section", { class: "card", id: "register" }, await registerForm(budgets, again))));
}

const COUNTED = { EITHER: "adding up or zCDP, whichever still admits a query", ZCDP: "zCDP", BASIC: "adding up" };

/** Which part of a budget was spent: amounts are counted in accounts of so many; of the account of which least was. */
function partSpent(total, together) {
  const parts = total.after.map((x, i) => Math.min(1, ratio(x) / (ratio(total.limit[i]) || 1)));
  const accounts = parts.filter((_, i) => i % together === 0).map((_, i) => parts.slice(i * together, (i + 1) * together));
  return Math.min(...accounts.map((own) => Math.max(...own)));
}

function populationCard(one, datasets, entries, again) {
  const charges = entries.filter((e) => e.kind === "charge" && e.body.population === one.population);
  const shares = [0, ...charges.map((e) => partSpent(e.body.total, one.rule === "EITHER" ? 2 : e.body.total.after.length))];
  const household = h("span", {}, "…");
  get(`${at("populations", one.population, "household")}?people=4`).then((data) => show(household, data.promised ? `for a household of 4: ${cost(data.promised)}` : "for a household, no bound is known"), () => show(household, ""));
  return h("article", { class: "card population" },
    h("div", { class: "head" }, h("h2", {}, one.population), h("span", { class: "grow" }), h("span", { class: "chip", title: one.budget.text }, cost(one.budget))),
    h("p", { class: "quiet small" }, "Protects ", h("b", {}, one.unit), one.rule ? ` · counted by ${COUNTED[one.rule] || one.rule}` : "", " · ", household),
    gauge(one.share, 0, { label: one.population }),
    h("div", { class: "legend" }, h("span", {}, h("i", { class: "dot spent" }), h("b", {}, `${(one.share * 100).toFixed(1)}%`), " spent"),
      h("span", { title: one.accounts.map((left) => left.text).join(" or ") }, h("i", { class: "dot" }), "left ", h("b", {}, one.remaining_epsilon !== null ? `ε = ${eps(one.remaining_epsilon)}` : one.remaining.text)),
      h("span", {}, h("b", {}, String(charges.length)), charges.length === 1 ? " query" : " queries")),
    steps(shares.map((s) => s)),
    datasets.map((d) => h("div", { class: "dataset" }, h("b", {}, d.name), h("span", { class: "quiet" }, d.tables.join(", ")), h("span", { class: "grow" }),
      h("button", { class: "plain small", onclick: () => retire(d.name, again) }, "Retire"))),
    one.analysts.length ? h("table", { class: "shares" }, h("caption", { class: "quiet small" }, "Analysts"), h("tbody", {}, one.analysts.map((a) => h("tr", {},
      h("th", { scope: "row" }, a.analyst), h("td", { class: "wide" }, gauge(a.share, 0, { label: a.analyst })), h("td", { class: "number" }, `${(a.share * 100).toFixed(0)}%`), h("td", { class: "quiet" }, a.budget.text === one.budget.text ? "no own cap" : `of ${cost(a.budget)}`))))) : null,
    changeBudget(one, again));
}

function changeBudget(one, again) {
  const epsilon = h("input", { class: "small", required: true, "aria-label": one.budget.kind === "ZCDP" ? "rho" : "epsilon" });
  const reason = h("input", { required: true, placeholder: "why; it is recorded", "aria-label": "Reason" });
  const wrong = h("div", {});
  return h("details", {}, h("summary", {}, "Change the budget"), h("form", { class: "line", onsubmit: async (event) => {
    event.preventDefault();
    const budget = one.budget.kind === "ZCDP" ? { rho: epsilon.value, delta: one.budget.delta } : { epsilon: epsilon.value };
    if (one.budget.kind === "Approx") budget.delta = one.budget.delta;
    try { await post(at("populations", one.population, "budget"), { budget, reason: reason.value }); toast("The budget was changed"); again(); } catch (error) { show(wrong, complaint(error)); }
  } }, one.budget.kind === "ZCDP" ? "ρ" : "ε", epsilon, reason, h("button", {}, "Change")), wrong);
}

async function retire(name, again) {
  const reason = await dialog(`Retire ${name}?`, "It answers no further queries. What was spent stays spent.", { label: "Reason", yes: "Retire", bad: true });
  if (!reason) return;
  try { await post(at("datasets", name, "retire"), { reason }); toast(`${name} is retired`); again(); } catch (error) { toast(error.message, "bad"); }
}

// --- analysts --------------------------------------------------------------------------------------------------------

export async function analystsView(place) {
  const [analysts, budgets] = await Promise.all([get("/api/analysts"), get("/api/budget")]);
  const again = () => analystsView(place);
  const fresh = h("div", { "aria-live": "polite" });
  show(place, h("div", { class: "page" },
    h("h1", {}, "Analysts"), fresh,
    h("div", { class: "two even" },
      h("section", { class: "card" }, h("h2", {}, "Who may ask"), analysts.length ? h("ul", { class: "people" }, analysts.map((one) => person(one, budgets, fresh, again))) : h("p", { class: "empty" }, "None yet.")),
      h("section", { class: "card" }, addAnalyst(budgets, fresh, again)))));
}

function person(one, budgets, fresh, again) {
  const act = async (f, done) => { try { const data = await f(); toast(done); await again(); return data; } catch (error) { toast(error.message, "bad"); return null; } };
  const live = one.tokens.filter((t) => !t.revoked);
  return h("li", { class: one.revoked ? "gone" : "" },
    h("div", { class: "head" }, h("b", {}, one.name), one.revoked ? h("span", { class: "chip" }, "revoked") : null, h("span", { class: "grow" }),
      one.revoked ? null : h("button", { class: "plain small", onclick: async () => {
        try { showToken(fresh, await post(at("analysts", one.name, "tokens"), {})); } catch (error) { toast(error.message, "bad"); }
      } }, "New token"),
      one.revoked ? null : h("button", { class: "plain small bad", onclick: async () => {
        const reason = await dialog(`Revoke ${one.name}?`, "Their tokens end at once. Their queries stay in the ledger.", { label: "Reason", yes: "Revoke", bad: true });
        if (reason) act(() => post(at("analysts", one.name, "revoke"), { reason }), `${one.name} is revoked`);
      } }, "Revoke")),
    Object.entries(one.caps).map(([population, cap]) => {
      const share = budgets.find((b) => b.population === population)?.analysts.find((a) => a.analyst === one.name);
      return h("div", { class: "cap" }, h("span", {}, population), share ? gauge(share.share, 0, { label: `${one.name} in ${population}` }) : h("span", {}), h("span", { class: "quiet small" }, [share ? `${(share.share * 100).toFixed(0)}% of ` : "", cap ? cost(cap) : "the whole budget", share ? " spent" : ""]));
    }),
    live.length ? h("p", { class: "quiet small" }, live.map((t) => h("span", { class: "token" }, `${t.token.slice(0, 6)}… until ${t.expires.slice(0, 10)} `,
      h("button", { class: "plain small", "aria-label": `Revoke token ${t.token}`, onclick: () => act(() => post(at("tokens", t.token, "revoke"), { reason: "revoked on the page" }), "The token is revoked") }, "✕")))) : h("p", { class: "quiet small" }, "no token"));
}

function addAnalyst(budgets, fresh, again) {
  const name = h("input", { name: "name", required: true, maxlength: 100 }), days = h("input", { type: "number", min: 1, max: 3660, value: 90, class: "small" });
  const grants = budgets.map((one) => ({ one, box: h("input", { type: "checkbox", "aria-label": `May ask about ${one.population}` }), cap: h("input", { class: "small", placeholder: "no cap", inputmode: "decimal", "aria-label": `Cap in ${one.population}` }) }));
  const wrong = h("div", {});
  return h("form", { onsubmit: async (event) => {
    event.preventDefault();
    if (!grants.some((g) => g.box.checked)) { show(wrong, complaint({ kind: "Nothing is chosen", message: "Choose at least one population that they may ask about.", hint: "" })); return; }
    const open = grants.filter((g) => g.box.checked && !g.cap.value.trim()).map((g) => g.one.population);
    if (open.length && !(await dialog("No cap", `Without a cap, ${name.value} may spend the whole budget of ${open.join(", ")}.`, { yes: "Add without a cap" }))) return;
    const body = { name: name.value, days: Number(days.value), grants: grants.filter((g) => g.box.checked).map(({ one, cap }) => {
      const grant = { population: one.population };
      if (cap.value.trim()) grant.cap = { [one.budget.kind === "ZCDP" ? "rho" : "epsilon"]: cap.value.trim(), ...(one.budget.kind === "Pure" ? {} : { delta: one.budget.delta }) };
      return grant;
    }) };
    try { const data = await post("/api/analysts", body); await again(); showToken(document.querySelector("main [aria-live]") || fresh, data); } catch (error) { show(wrong, complaint(error)); }
  } },
    h("h2", {}, "Add an analyst"), field("Name", name, "A name belongs to one person permanently."),
    h("fieldset", {}, h("legend", {}, "May ask about"), grants.map(({ one, box, cap }) => h("label", { class: "line" }, box, h("span", { class: "grow" }, one.population), `up to ${one.budget.kind === "ZCDP" ? "ρ" : "ε"}`, cap))),
    field("Days until the token expires", days), h("button", { class: "main" }, "Add"), wrong);
}

function showToken(place, { name, token }) {
  const text = h("input", { class: "mono", readonly: true, value: token, "aria-label": `Token of ${name}`, onfocus: () => text.select() });
  show(place, h("div", { class: "card secret" }, h("h2", {}, `A token for ${name}`), h("p", {}, "It is shown only once. Send it to them over a secure channel."),
    h("div", { class: "line" }, text, h("button", { onclick: async () => { await navigator.clipboard.writeText(token); toast("Copied"); } }, "Copy"))));
  place.scrollIntoView({ block: "center" });
}

// --- the ledger ------------------------------------------------------------------------------------------------------

export async function ledgerView(place) {
  const [audit, entries] = await Promise.all([get("/api/audit"), everything("/api/ledger", "entries", "sequence")]);
  const state = h("section", { class: "card chain", "aria-live": "polite" });
  const list = h("tbody", {}), kinds = ["all", ...new Set(entries.map((e) => e.kind))];
  const kind = h("select", { "aria-label": "Kind of entry", onchange: () => draw() }, kinds.map((one) => h("option", {}, one)));
  const words = h("input", { type: "search", placeholder: "find", "aria-label": "Find in entries", oninput: () => draw() });
  const draw = () => {
    const wanted = entries.filter((e) => (kind.value === "all" || e.kind === kind.value) && (!words.value || e.text.toLowerCase().includes(words.value.toLowerCase())));
    show(list, wanted.slice(-500).reverse().map(row));
    return wanted;
  };
  const save = () => download("ledger.csv", new Blob([csv([["number", "time", "by", "kind", "cost", "about", "hash"],
    ...draw().map((e) => [e.sequence, e.time, e.by, e.kind, e.price, about(e), e.hash])])], { type: "text/csv" }));
  const status = (data) => {
    const good = data.ok && !audit.trouble;
    show(state, h("div", { class: "head" }, h("span", { class: `lamp ${good ? "good" : "bad"}` }), h("h2", {}, good ? "The chain is whole" : "The ledger needs you"), h("span", { class: "grow" }), h("button", { id: "verify", onclick: check }, "Check again")),
      h("p", { class: "quiet small" }, `${data.entries} entries, the last one `, h("code", {}, audit.head.hash.slice(0, 16)), "… Receipts of analysts point into this chain: a change would be detected."),
      audit.cautions.map((one) => h("p", { class: "note" }, one)),
      audit.unanswered.length ? h("p", { class: "note" }, `Charged without a stored answer: ${audit.unanswered.join(", ")}. They stay charged.`) : null,
      data.problems.map((one) => h("p", { class: "complaint" }, one)),
      audit.trouble ? acknowledge(audit.trouble, () => ledgerView(place)) : null);
  };
  const check = async () => { status(await get("/api/ledger/verify")); toast("Every entry, sum and answer was checked"); };
  show(place, h("div", { class: "page" }, h("h1", {}, "Ledger"), state,
    h("section", { class: "card" }, h("div", { class: "head" }, h("h2", {}, "Entries"), h("span", { class: "grow" }), kind, words, h("button", { id: "export", onclick: save }, "Save as CSV")),
      h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Entries" }, h("table", { class: "entries" }, h("caption", { class: "quiet small" }, "Newest first"),
        h("thead", {}, h("tr", {}, ["no.", "time", "by", "what", "cost", "about", "hash"].map((one) => h("th", { scope: "col" }, one)))), list)))));
  draw();
  status(await get("/api/ledger/verify"));
}

const about = ({ body }) => String(body.query || body.reason || [body.dataset, body.analyst, body.name, body.population].filter(Boolean).join(" · ")).replace(/\s+/g, " ");

function row(entry) {
  const more = h("tr", { class: "more", hidden: true }, h("td", { colspan: 7 }, h("pre", {}, JSON.stringify(entry.body, null, 2))));
  return [h("tr", { class: "entry" }, h("td", { class: "number" }, h("button", { class: "plain", "aria-expanded": "false", onclick: (event) => {
    more.hidden = !more.hidden;
    event.target.setAttribute("aria-expanded", String(!more.hidden));
  } }, String(entry.sequence))), h("td", { class: "time" }, entry.time.replace("T", " ").slice(0, 16)), h("td", {}, entry.by), h("td", {}, h("span", { class: `chip ${entry.kind === "charge" ? "charge" : ""}` }, entry.kind)),
    h("td", { class: "number" }, entry.price || ""), h("td", { class: "about" }, about(entry).slice(0, 140)), h("td", {}, h("code", {}, entry.hash.slice(0, 10)))), more];
}

function acknowledge(trouble, again) {
  const reason = h("input", { required: true, placeholder: "what happened; it is recorded" }), wrong = h("div", {});
  return h("form", { onsubmit: async (event) => {
    event.preventDefault();
    try { await post("/api/ledger/acknowledge", { reason: reason.value }); toast("Recorded"); again(); } catch (error) { show(wrong, complaint(error)); }
  } }, h("p", { class: "complaint" }, trouble), h("p", { class: "quiet" }, "No query is answered until you restore a copy that has all entries, or record here why this one is correct."), h("div", { class: "line" }, reason, h("button", { class: "main" }, "Acknowledge")), wrong);
}
