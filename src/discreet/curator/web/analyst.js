// What an analyst sees: the question, its price before it is asked, its answer, and what was asked before.

import { at, get, newKey, post } from "./api.js";
import { gauge } from "./charts.js";
import { complaint, eps, h, later, ratio, short, show, summable, when } from "./dom.js";
import { builder } from "./builder.js";
import { editor } from "./sql.js";
import { answerView, opener } from "./answer.js";

const FIRST = 0.01;
let draft = { sql: "", mode: "price", epsilon: "0.3", error: "25", confidence: "0.95", dataset: "" };

export async function askView(place) {
  const [datasets, budgets] = await Promise.all([get("/api/datasets"), get("/api/budget")]);
  if (!datasets.length) {
    show(place, h("p", { class: "empty" }, "There is no data set that you may ask about yet. The owner can give you permission."));
    return () => {};
  }
  if (!datasets.some((one) => one.name === draft.dataset)) draft.dataset = datasets[0].name;
  const schema = await get(at("datasets", draft.dataset));
  const budget = budgets.find((one) => one.population === schema.population);
  const state = { budget, unit: budget.budget.kind === "ZCDP" ? "rho" : "epsilon", asking: false, controller: null };
  if (!draft.sql) draft.sql = firstQuestion(schema);

  const preview = h("section", { class: "card preview", "aria-live": "polite", "aria-label": "Preview" });
  const result = h("section", { class: "result", "aria-live": "polite", "aria-label": "Answer" });
  const price = priceControl(state, () => lookAhead());
  const box = editor(draft.sql, { onchange: () => { draft.sql = box.text; soon(); }, onask: ask });
  const button = h("button", { class: "main ask", id: "ask", onclick: ask }, "Ask");

  const lookAhead = async () => {
    state.controller?.abort();
    state.controller = new AbortController();
    if (!draft.sql.trim()) { show(preview, h("p", { class: "quiet" }, "Write a question: its cost and its error bars are shown here for free.")); return; }
    preview.classList.add("waiting");
    try {
      const data = await post(at("datasets", draft.dataset, "preview"), question(state), state.controller.signal);
      drawPreview(preview, data, state, price);
      button.disabled = !data.affordable;
    } catch (error) {
      if (error.name === "AbortError") return;
      show(preview, h("h2", {}, "Not yet a question"), complaint(error));
      button.disabled = true;
    } finally { preview.classList.remove("waiting"); }
  };
  const soon = later(lookAhead, 250);

  async function ask() {
    if (state.asking || button.disabled) return;
    state.asking = true;
    button.disabled = true;
    button.textContent = "Asking…";
    show(result, h("p", { class: "empty", "aria-busy": "true" }, "Paying, reading, adding noise…"));
    const body = { ...question(state), key: newKey() };
    try {
      show(result, answerView(await patiently(() => post(at("datasets", draft.dataset, "questions"), body))));
      const now = await get("/api/budget");
      state.budget = now.find((one) => one.population === schema.population);
    } catch (error) {
      show(result, complaint(error));
    } finally {
      state.asking = false;
      button.disabled = false;
      button.textContent = "Ask";
      lookAhead();
    }
  }

  async function profile(table) {
    if (state.asking) return;
    if (draft.mode !== "price") { show(result, h("p", { class: "complaint" }, "A profile has a price: set the price beside the question first.")); return; }
    state.asking = true;
    show(result, h("p", { class: "empty", "aria-busy": "true" }, "Paying, reading, adding noise…"));
    const body = { table, [state.unit]: draft.epsilon, key: newKey() };
    try {
      show(result, answerView(await patiently(() => post(at("datasets", draft.dataset, "profile"), body))));
      state.budget = (await get("/api/budget")).find((one) => one.population === schema.population);
    } catch (error) { show(result, complaint(error)); } finally { state.asking = false; lookAhead(); }
  }

  show(place, budget.share > 0 ? null : firstVisit(), h("div", { class: "desk" },
    h("aside", { class: "card schema", "aria-label": "Tables" }, schemaPanel(schema, datasets, box, (name) => { draft.dataset = name; draft.sql = ""; askView(place); }, profile)),
    h("section", { class: "card write" },
      h("div", { class: "head" }, h("h2", {}, "Question"), h("span", { class: "quiet small" }, h("kbd", {}, "Ctrl"), " ", h("kbd", {}, "Enter"), " asks")),
      builder(schema, (text) => { box.text = text; }), box.node, price.node, button),
    preview, result));
  lookAhead();
  return () => state.controller?.abort();
}

/** For somebody who has paid for nothing yet. */
function firstVisit() {
  return h("ol", { class: "first" }, [
    ["Choose", " a table: its public columns are listed with what everybody may know of them."],
    ["Build", " a question by clicking, or write SQL: COUNT, SUM, AVG, MEDIAN and more, for groups."],
    ["Move ε", " and watch the error bars. A smaller ε protects more and costs less; nothing is paid yet."],
    ["Ask", ": the price is paid, and the answer is yours to keep, with its error bars and a signed receipt."],
  ].map(([word, rest]) => h("li", {}, h("b", {}, word), rest)));
}

/** A connection that breaks is tried again under the same key: nothing is charged twice. */
async function patiently(f) {
  for (let left = 3; ; left -= 1) {
    try { return await f(); } catch (error) {
      if (!left || !(error.status === 0 || ["LedgerBusy", "ServiceBusy"].includes(error.kind))) throw error;
      await new Promise((done) => { setTimeout(done, 500); });
    }
  }
}

function question(state) {
  const body = { sql: draft.sql, confidence: draft.confidence };
  if (draft.mode === "error") body.error = draft.error; else body[state.unit] = draft.epsilon;
  return body;
}

function firstQuestion(schema) {
  const largest = Object.entries(schema.tables).sort((one, other) => other[1].columns.length - one[1].columns.length);
  for (const [name, table] of largest) {
    const key = table.columns.find((one) => one.keys && one.kind === "text");
    const value = table.columns.findLast((one) => summable(one) && !one.unit && one.low !== null) ?? table.columns.findLast((one) => summable(one) && !one.unit);
    const items = [key?.name, "COUNT(*) AS n", value && `AVG(${value.name}) AS mean_${value.name}`].filter(Boolean);
    if (key && value) return `SELECT ${items.join(", ")}\nFROM ${name}\nGROUP BY ${key.name}`;
  }
  return `SELECT COUNT(*) AS n\nFROM ${Object.keys(schema.tables)[0]}`;
}

// --- price -----------------------------------------------------------------------------------------------------------

function priceControl(state, changed) {
  const symbol = state.unit === "rho" ? "ρ" : "ε";
  const most = () => Math.max(FIRST * 2, state.unit === "rho" ? Number(ratio(state.budget.remaining.rho)) : state.budget.remaining_epsilon || 1);
  const toSlider = (x) => Math.round(1000 * Math.log(Math.max(x, FIRST) / FIRST) / Math.log(most() / FIRST));
  const fromSlider = (s) => Number((FIRST * (most() / FIRST) ** (s / 1000)).toPrecision(2));
  const number = h("input", { id: "epsilon", type: "text", inputmode: "decimal", class: "small", value: draft.epsilon, "aria-label": `Price in ${state.unit}`,
    oninput: () => { draft.epsilon = number.value.trim(); slider.value = toSlider(Number(draft.epsilon)); soon(); } });
  const slider = h("input", { id: "slider", type: "range", min: 0, max: 1000, value: toSlider(Number(draft.epsilon)), "aria-label": `Price in ${state.unit}`,
    oninput: () => { draft.epsilon = String(fromSlider(Number(slider.value))); number.value = draft.epsilon; soon(); } });
  const error = h("input", { id: "error", type: "text", inputmode: "decimal", class: "small", value: draft.error, "aria-label": "Error",
    oninput: () => { draft.error = error.value.trim(); soon(); } });
  const level = h("select", { id: "confidence", "aria-label": "Confidence", onchange: () => { draft.confidence = level.value; changed(); } },
    ["0.8", "0.9", "0.95", "0.99", "0.999"].map((one) => h("option", { value: one, selected: one === draft.confidence }, `${Number(one) * 100} %`)));
  const soon = later(changed, 120);
  const byPrice = h("div", { class: "line" }, h("span", { class: "symbol" }, symbol), slider, number);
  const byError = h("div", { class: "line" }, "I want every number within ±", error);
  const pick = (mode) => {
    draft.mode = mode;
    byPrice.hidden = mode !== "price";
    byError.hidden = mode === "price";
    for (const [name, one] of Object.entries(choices)) one.setAttribute("aria-pressed", String(name === mode));
  };
  const choices = {
    price: h("button", { type: "button", id: "by-price", onclick: () => { pick("price"); changed(); } }, "Set the price"),
    error: h("button", { type: "button", id: "by-error", onclick: () => { pick("error"); changed(); } }, "Set the error"),
  };
  pick(draft.mode);
  return {
    node: h("div", { class: "price" },
      h("div", { class: "line" }, h("div", { class: "choice", role: "group", "aria-label": "Price or error" }, Object.values(choices)), h("span", { class: "grow" }), h("span", { class: "quiet small" }, "error bars"), level),
      byPrice, byError),
  };
}

// --- preview ---------------------------------------------------------------------------------------------------------

function share(amount, left) {
  // which part of what is left a price takes: of its scarcest coordinate
  let most = 0;
  for (const name of ["epsilon", "rho", "delta"]) {
    if (amount[name] === undefined || left[name] === undefined) continue;
    const rest = ratio(left[name]);
    if (rest > 0) most = Math.max(most, ratio(amount[name]) / rest);
    else if (ratio(amount[name]) > 0) most = Math.max(most, 2);
  }
  return most;
}

function drawPreview(place, data, state) {
  const spent = state.budget.gone, mine = state.budget.share;
  const either = state.budget.rule === "EITHER" && data.affordable && data.left_epsilon; // of two accounts: what is left tells
  const takes = (either ? 1 - data.left_after_epsilon / data.left_epsilon : share(data.price, data.left)) * (1 - spent);
  const cost = data.price_epsilon !== null ? `ε ${eps(data.price_epsilon)}` : data.cost;
  const level = `${Number((data.confidence * 100).toPrecision(6))}\u00a0%`;
  show(place,
    h("h2", {}, "What you would get"),
    h("ul", { class: "bars" }, data.columns.map((one) => h("li", {},
      h("span", { class: "column" }, one.name),
      one.error === null ? h("span", { class: "error quiet" }, "not known yet") : h("span", { class: "error" }, "± ", h("b", {}, short(one.error)), one.unit ? ` ${one.unit}` : ""),
      one.error === null ? null : whisker(one, state, data.columns),
      one.error === null || one.rows === null ? null : h("small", {}, `in a group of ${short(one.rows)} rows${one.evenly ? " with values spread evenly over their bounds; else it may be far longer" : ""}`)))),
    data.named_from === null ? null : h("p", { class: "note" }, `Keys are not listed: a key is shown if about ${short(data.named_from)} people or more have it.`),
    data.notes.map((note) => h("p", { class: "note" }, note.text)),
    data.shares.length < 2 ? null : h("p", { class: "quiet small" }, "Where the price goes: ", data.shares.map((one) => `${(one.share * 100).toFixed(0)} % ${one.what}`).join("; ")),
    h("p", { class: "quiet small" }, `${data.noise}; each bar holds with ${level}. ${sentence(data.advice)}`),
    h("h3", {}, "What it costs"),
    gauge(spent, takes, { label: "your budget", over: !data.affordable, mine }),
    h("div", { class: "legend" },
      h("span", {}, h("i", { class: "dot spent" }), "spent by you ", h("b", {}, `${(mine * 100).toFixed(1)} %`)),
      spent - mine > 0.0005 ? h("span", { title: "Spent by other analysts from the budget of all" }, h("i", { class: "dot others" }), "spent by others ", h("b", {}, `${((spent - mine) * 100).toFixed(1)} %`)) : null,
      h("span", {}, h("i", { class: "dot asked" }), "this question ", h("b", { id: "cost" }, cost)),
      h("span", { title: "What one more question could cost you after this one: by your own cap and by the budget of all" }, h("i", { class: "dot" }), "left for your next question ", h("b", { id: "left" }, data.affordable ? (data.left_after_epsilon !== null ? `ε ${eps(data.left_after_epsilon)}` : data.left_after.text) : "not enough"))),
    h("details", {}, h("summary", {}, "In the currency of the ledger"), h("p", { class: "quiet small" }, `This question: ${data.price.text}. Left now: ${data.left.text}.${data.left_after === null ? "" : ` After it: ${data.left_after.text}.`} What is left is smaller than the difference of two ε: budgets that are counted by zCDP add up their ρ.`)),
    data.affordable ? null : h("p", { class: "complaint" }, "The budget does not cover this: ask for less, or accept more error."),
    h("details", {}, h("summary", {}, "How it would be made"), h("ol", { class: "story" }, data.story.map((line) => h("li", {}, line)))));
}

/** An error bar whose length moves with the price: all on one scale of powers, the longest half of the width at first. */
function whisker(one, state, columns) {
  if (state.seen?.sql !== draft.sql) state.seen = { sql: draft.sql, first: Math.max(...columns.map((c) => c.error || 0)) || 1 };
  const first = state.seen.first;
  const half = Math.max(0.04, Math.min(1, 0.5 + 0.35 * Math.log10((one.error || first) / first))) * 50;
  return h("span", { class: "whisker", "aria-hidden": "true" }, h("i", { style: { left: `${50 - half}%`, width: `${2 * half}%` } }));
}

const sentence = (text) => (text ? `${text[0].toUpperCase()}${text.slice(1)}.` : "");

// --- schema ----------------------------------------------------------------------------------------------------------

function schemaPanel(schema, datasets, box, choose, profile) {
  const pick = datasets.length < 2 ? h("h2", {}, schema.name) : h("select", { id: "dataset", "aria-label": "Data set", onchange: (event) => choose(event.target.value) },
    datasets.map((one) => h("option", { value: one.name, selected: one.name === schema.name }, one.name)));
  return [
    pick,
    h("p", { class: "quiet small" }, "Protects ", h("b", {}, schema.protects), "."),
    Object.entries(schema.tables).map(([name, table]) => h("div", { class: "table" },
      h("h3", {}, h("button", { class: "plain mono", title: "Insert into the question", onclick: () => box.insert(name) }, name),
        table.public ? h("span", { class: "chip" }, "public") : table.max_rows === "auto" ? h("span", { class: "chip", title: "Rows of one unit that count: each question chooses, within its own price" }, "caps chosen") : table.max_rows ? h("span", { class: "chip", title: "Rows of one unit that count" }, `≤ ${table.max_rows} ${table.max_rows === 1 ? "row" : "rows"} each`) : null),
      h("ul", { class: "columns" }, table.columns.map((column) => h("li", {},
        h("button", { class: "plain mono", title: "Insert into the question", onclick: () => box.insert(column.name) }, column.name),
        h("span", { class: "kind" }, describe(column))))),
      table.public ? null : h("button", { class: "plain small", title: "Rows per person, keys and values, with error bars; paid once at the price set beside the question", onclick: () => profile(name) }, `Profile of ${name}`))),
  ];
}

function describe(column) {
  if (column.unit) return h("span", { class: "chip unit", title: "Identifies the person of each row; it can be counted, never shown" }, "unit");
  if (column.keys && column.kind !== "boolean") {
    const known = column.keys.map((key) => (key === null ? "NULL" : String(key)));
    const text = known.slice(0, 4).join(", ") + (known.length + column.more_keys > 4 ? ", …" : "");
    return h("span", { title: known.slice(0, 100).join(", ") }, text);
  }
  if (column.unknown_keys) return h("span", { title: "The keys are not listed: a key is shown if enough people have it" }, "keys unknown");
  if (column.low !== null) return `${column.low} … ${column.high}`;
  if (summable(column)) return h("span", { title: "Bounds of the values that count: each question chooses, within its own price" }, "bounds chosen");
  return column.kind;
}

// --- history ---------------------------------------------------------------------------------------------------------

export async function historyView(place, [chosen]) {
  const { charges } = await get("/api/answers?limit=1000");
  const side = h("section", { class: "result", "aria-live": "polite" });
  const open = opener(side, (number) => (charges.find((one) => one.number === number)?.parameters.synthetic
    ? h("p", { class: "quiet" }, "Synthetic rows. ", h("a", { href: "#synthetic" }, "Make more.")) : null));
  if (!charges.length) {
    show(place, h("p", { class: "empty" }, "No questions yet. ", h("a", { href: "#ask" }, "Ask something.")));
    return;
  }
  show(place, h("div", { class: "two" },
    h("section", { class: "card" }, h("h2", {}, "Your questions"),
      h("ol", { class: "list" }, [...charges].reverse().map((one) => h("li", {},
        h("button", { class: "entry", onclick: () => { history.replaceState(null, "", `#history/${one.number}`); open(one.number); } },
          h("code", {}, one.query.replace(/\s+/g, " ").slice(0, 160)),
          h("span", { class: "quiet small" }, `${when(one.time)} · ${one.dataset} · ${priceOf(one.parameters)}${one.answered ? "" : " · no answer yet"}`)),
        one.parameters.workload || one.parameters.estimate || one.parameters.synthetic || one.parameters.profile || one.parameters.units ? null : h("button", { class: "plain small", title: "Edit this question", onclick: () => { draft.sql = one.query; draft.dataset = one.dataset; location.hash = "#ask"; } }, "Edit")))),
      papers()),
    side));
  open(chosen ? Number(chosen) : charges.at(-1).number);
}

/** A receipt or release card that somebody shows: is it this ledger's, and does its charge stand there? */
function papers() {
  const verdict = h("p", { class: "small", id: "verdict", "aria-live": "polite" });
  const choose = h("input", { type: "file", id: "paper", accept: ".json", onchange: async () => {
    if (!choose.files.length) return;
    try {
      const paper = await post("/api/papers/verify", { text: (await choose.files[0].text()).trim() });
      show(verdict, h("b", {}, paper.stands ? "Genuine. " : "Signed here, but the ledger no longer holds this charge: tell the owner. "),
        `${paper.kind === "card" ? "Release card" : "Receipt"} no. ${paper.number}, ${paper.dataset}, ${paper.price}: `, h("code", {}, paper.query));
    } catch (error) { show(verdict, complaint(error)); }
  } });
  return h("details", {}, h("summary", {}, "Check a receipt or release card"), h("label", {}, "A file that was saved here ", choose), verdict);
}

function priceOf(parameters) {
  if (parameters.epsilon) return `ε ${eps(ratio(parameters.epsilon))}`;
  if (parameters.rho) return `ρ ${eps(ratio(parameters.rho))}`;
  return typeof parameters.error === "string" ? `± ${short(ratio(parameters.error))}` : "";
}
