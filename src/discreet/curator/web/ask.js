// Asking: the question, its price and error bars before it is paid, and its answer.

import { Refused, at, everything, get, newKey, post } from "./api.js";
import { answerView } from "./answer.js";
import { builder } from "./builder.js";
import { bar, complaint, cost, download, h, later, show, when } from "./dom.js";
import { drawPreview, priceControl } from "./preview.js";
import { firstQuestion, schemaPanel } from "./schema.js";
import { editor } from "./sql.js";

/** What the answers of this tab took, by their text, in seconds: nobody else is told. */
const took = new Map();
/** Seconds after which a question is looked at as a job. */
const WAIT = 3;
export const draft = { sql: "", mode: "price", epsilon: "0.3", error: "25", confidence: "0.95", rows: "1000", dataset: "" };

export async function askView(place) {
  const [datasets, budgets, charges] = await Promise.all([get("/api/datasets"), get("/api/budget"), everything("/api/answers", "charges", "number")]);
  if (!datasets.length) {
    show(place, h("p", { class: "empty" }, "There is no data set that you may ask about yet. The owner can give you permission."));
    return () => {};
  }
  if (!datasets.some((one) => one.name === draft.dataset)) draft.dataset = datasets[0].name;
  const schema = await get(at("datasets", draft.dataset));
  const budget = budgets.find((one) => one.population === schema.population);
  const state = { budget, charges, unit: budget.budget.kind === "ZCDP" ? "rho" : "epsilon", affordable: false, waiting: null, controller: null };
  if (!draft.sql) draft.sql = firstQuestion(schema);

  const preview = h("div", { "aria-live": "polite" }), before = h("div", { "aria-live": "polite" });
  const result = h("section", { class: "result", "aria-live": "polite", "aria-label": "Answer" });
  const price = priceControl(draft, state, () => lookAhead());
  const box = editor(draft.sql, { onchange: () => { draft.sql = box.text; build.follow(box.text); soon(); }, onask: ask });
  const build = builder(schema, (text) => { box.text = text; });
  const button = h("button", { class: "main ask", id: "ask", disabled: true, onclick: ask }, "Run");
  const keep = h("button", { class: "plain", id: "script", onclick: () => download("query.py", script(question(), draft.dataset)) }, "Save as script");
  const panel = h("section", { class: "card preview", "aria-label": "Preview" }, preview, before, button, keep);

  const drawButton = (spends) => {
    button.disabled = Boolean(state.waiting) || !state.affordable;
    if (spends !== undefined) button.textContent = spends ? `Run${state.earlier ? " again" : ""} (spends ${spends})` : "Run";
  };

  const lookAhead = async () => {
    state.controller?.abort();
    state.controller = new AbortController();
    if (!draft.sql.trim()) { show(preview, h("p", { class: "quiet" }, "Write a query: its cost and its confidence intervals are shown here for free.")); return; }
    panel.classList.add("waiting");
    try {
      const rows = Number(draft.rows);
      const data = await post(at("datasets", draft.dataset, "preview"), { ...question(), rows: rows >= 1 ? rows : null }, state.controller.signal);
      state.expected = took.get(draft.sql.trim()) ?? Math.max(0, ...[...took.values()].slice(-5));
      state.affordable = data.affordable;
      drawPreview(preview, data, draft, state, soon);
      drawEarlier(data.earlier, data.earlier ? null : await post(at("datasets", draft.dataset, "derived"), { sql: draft.sql, confidence: draft.confidence }, state.controller.signal));
      drawButton(draft.mode === "price" ? cost({ [state.unit]: draft.epsilon }) : cost({ epsilon: data.price_epsilon, rho: data.price_epsilon === null ? data.price.rho : null }));
    } catch (error) {
      if (error.name === "AbortError") return;
      state.affordable = false;
      show(preview, h("h2", {}, "Not yet a query"), complaint(error));
      show(before);
      drawButton("");
    } finally { panel.classList.remove("waiting"); }
  };
  const soon = later(lookAhead, 250);

  /** The same query of the same data was answered for at least this cost: its answer is free. */
  function drawEarlier(earlier, follows) {
    state.earlier = earlier;
    if (follows) {
      const numbers = follows.answer, worst = Object.values(numbers.errors).map((some) => Math.max(...some.filter((one) => one !== null)));
      show(before, h("p", { class: "earlier" }, "This follows from an answer that is there, with ", h("b", {}, worst.map((one) => `± ${bar(one)}`).join(", ")), ": ",
        h("button", { class: "plain", id: "follows", onclick: () => show(result, answerView(follows, 0)) }, "show it (free)"), "."));
      return;
    }
    if (!earlier) { show(before); return; }
    const position = state.charges.findIndex((one) => one.number === earlier.number) + 1;
    const look = async () => {
      try { show(result, answerView({ ...await get(at("answers", earlier.number)), paid_before: true }, position)); } catch (error) { show(result, complaint(error)); }
    };
    show(before, h("p", { class: "earlier" }, `${position ? "You have this answer" : `${earlier.by} has this answer`} from ${when(earlier.time)}: `,
      h("button", { class: "plain", id: "show", onclick: look }, "show it (free)"), " or run it again."));
  }

  /** What is known to be there is paid again only by this button, which says so. */
  function ask() { pay("questions", { ...question(), key: newKey(), fresh: Boolean(state.earlier) }); }

  async function profile(table) {
    if (draft.mode !== "price") { show(result, h("p", { class: "complaint" }, "A profile has a cost: set the cost beside the query first.")); return; }
    await pay("profile", { table, [state.unit]: draft.epsilon, key: newKey() }, true);
  }

  async function pay(route, body, always = false) {
    if (state.waiting || (button.disabled && !always)) return;
    state.waiting = new AbortController();
    drawButton();
    show(result, progress(state.expected, () => state.waiting.abort()));
    result.scrollIntoView({ behavior: "smooth", block: "nearest" });
    const started = performance.now();
    try {
      const begun = await patiently(() => post(at("datasets", draft.dataset, route), { ...body, wait: WAIT }, state.waiting.signal));
      const data = begun.state ? await finished(begun.number, result, state.waiting.signal) : begun;
      took.delete(draft.sql.trim());
      took.set(draft.sql.trim(), (performance.now() - started) / 1000);
      state.charges = await everything("/api/answers", "charges", "number");
      show(result, answerView(data, state.charges.findIndex((one) => one.number === data.number) + 1));
      state.budget = (await get("/api/budget")).find((one) => one.population === schema.population);
    } catch (error) {
      show(result, error.name === "AbortError" ? h("p", { class: "card" }, "You no longer wait. If it was charged, its answer will be in your ", h("a", { href: "#history" }, "history"), ".") : complaint(error));
    } finally {
      state.waiting = null;
      lookAhead();
    }
  }

  function question() {
    const body = { sql: draft.sql, confidence: draft.confidence };
    if (draft.mode === "error") body.error = draft.error; else body[state.unit] = draft.epsilon;
    return body;
  }

  build.follow(draft.sql);
  show(place, state.budget.share > 0 ? null : firstVisit(), h("div", { class: "desk" },
    schemaPanel(schema, datasets, box, (name) => { draft.dataset = name; draft.sql = ""; askView(place); }, profile),
    h("section", { class: "card write" },
      h("div", { class: "head" }, h("h2", {}, "Question"), h("span", { class: "quiet small" }, h("kbd", {}, "Ctrl"), " ", h("kbd", {}, "Enter"), " runs it")),
      build.node, box.node, price.node),
    panel, result));
  lookAhead();
  return () => state.controller?.abort();
}

/** A Python program that asks the same of this curator: a preview, and the release as a comment. */
function script({ sql, ...options }, dataset) {
  const given = Object.entries(options).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", ");
  return ["import os", "", "import discreet as dp", "", `session = dp.connect(${JSON.stringify(location.origin)}, os.environ["DISCREET_TOKEN"], ${JSON.stringify(dataset)})`,
    `query = session.sql(${JSON.stringify(sql)})`, `print(query.preview(${given}))`, `# print(query.release(${given}))  # charged to the budget`, ""].join("\n");
}

/** For somebody who has paid for nothing yet. */
function firstVisit() {
  return h("ol", { class: "first" }, [
    ["Choose", " a table: its public columns are listed with what everybody may know of them."],
    ["Build", " a query by clicking, or write SQL: COUNT, SUM, AVG, MEDIAN and more, for groups."],
    ["Move ε", " and watch the confidence intervals. A smaller ε protects more and costs less; nothing is charged yet."],
    ["Run", ": the cost is charged, and the answer is yours to keep, with its confidence intervals and a signed receipt."],
  ].map(([word, rest]) => h("li", {}, h("b", {}, word), rest)));
}

/** A question under way: how long it has taken, how long it is expected to take, and a way to stop waiting. */
function progress(expected, stop) {
  const began = performance.now();
  const passed = h("span", {}, "0 s"), meter = h("progress", { "aria-label": "Progress", max: 1 });
  const node = h("div", { class: "card underway", "aria-busy": "true" }, h("h2", {}, "Charging, reading, adding noise"), meter,
    h("p", { class: "quiet small" }, passed, expected ? `, expected ${bar(expected)} s` : "", ". The answer comes to your history too."), h("button", { class: "plain", id: "stop", onclick: stop }, "Stop waiting"));
  const tick = setInterval(() => {
    const seconds = (performance.now() - began) / 1000;
    passed.textContent = `${Math.round(seconds)} s`;
    if (expected) meter.value = Math.min(0.98, seconds / expected);
    if (!node.isConnected) clearInterval(tick);
  }, 500);
  return node;
}

/** The answer of a job, which can be cancelled meanwhile. */
async function finished(number, result, signal) {
  const cancel = h("button", { class: "plain", id: "cancel", onclick: () => { cancel.disabled = true; post(at("jobs", number, "cancel"), {}); } }, "Cancel it (it stays charged)");
  result.querySelector("#stop")?.before(cancel);
  for (;;) {
    const job = await get(at("jobs", number), signal);
    if (job.state === "done") return job.answer;
    if (job.state !== "running") throw new Refused(409, ENDS[job.state] || ENDS.failed);
    await new Promise((done) => { setTimeout(done, 1000); });
  }
}
const ENDS = {
  cancelled: { kind: "Cancelled", message: "This query was cancelled after it was charged.", hint: "Running it again costs again." },
  failed: { kind: "EngineFailed", message: "This query could not be answered; it stays charged.", hint: "Running it again costs again." },
  lost: { kind: "EngineFailed", message: "The server ended while it answered; the query stays charged.", hint: "Running it again costs again." },
};

/** A connection that breaks is tried again under the same key: nothing is charged twice. */
async function patiently(f) {
  for (let left = 3; ; left -= 1) {
    try { return await f(); } catch (error) {
      if (!left || !(error.status === 0 || ["LedgerBusy", "ServiceBusy"].includes(error.kind))) throw error;
      await new Promise((done) => { setTimeout(done, 500); });
    }
  }
}
