// Queries and dashboards that run again and again.

import { at, get, post } from "./api.js";
import { complaint, cost, field, h, show, toast, when } from "./dom.js";
import { draft } from "./ask.js";

const EVERY = ["day", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "month"];

export async function schedulesView(place) {
  const [schedules, datasets] = await Promise.all([get("/api/schedules"), get("/api/datasets")]);
  const again = () => schedulesView(place);
  show(place, h("div", { class: "page" }, h("h1", {}, "Schedules"), h("div", { class: "two even" },
    h("section", { class: "card" }, h("h2", {}, "Your schedules"), schedules.length ? h("ul", { class: "people" }, schedules.reverse().map((one) => item(one, again))) : h("p", { class: "empty" }, "None yet.")),
    h("section", { class: "card" }, form(datasets, again)))));
}

function item(one, again) {
  const state = one.ended ? "ended" : one.next ? `next ${when(one.next)}` : "over";
  const spends = one.price.epsilon || one.price.rho ? `${cost({ epsilon: one.price.epsilon, rho: one.price.rho })} each` : "charged already";
  return h("li", { class: one.next ? "" : "gone" },
    h("div", { class: "head" }, h("b", {}, `Every ${one.every} at ${one.at} UTC, until ${one.until}`), h("span", { class: "grow" }), h("span", { class: "chip" }, state),
      one.next ? h("button", { class: "plain small bad", onclick: async () => {
        try { await post(at("schedules", one.schedule, "end"), { reason: "ended on the page" }); toast("Ended; what was charged stays charged"); again(); } catch (error) { toast(error.message, "bad"); }
      } }, "End") : null),
    one.board ? h("p", {}, `dashboard ${one.board}`) : one.sqls.map((sql) => h("pre", { class: "small" }, sql)),
    h("p", { class: "quiet small" }, `${one.dataset} · ${spends} · ${one.left} to come`),
    one.runs.length ? h("p", { class: "small" }, one.runs.slice(-10).reverse().map((run) => [run.number ? h("a", { href: `#history/${run.number}` }, run.day) : `${run.day}${run.refused ? ` (refused: ${run.refused})` : ""}`, " "])) : null);
}

function form(datasets, again) {
  const dataset = h("select", { name: "dataset" }, datasets.map((one) => h("option", { selected: one.name === draft.dataset }, one.name)));
  const sql = h("textarea", { name: "sql", rows: 5, required: true, value: draft.sql, spellcheck: "false" });
  const epsilon = h("input", { name: "epsilon", required: true, inputmode: "decimal", value: "0.05" });
  const every = h("select", { name: "every" }, EVERY.map((one) => h("option", { selected: one === "monday" }, one)));
  const time = h("input", { name: "at", type: "time", value: "06:00" }), until = h("input", { name: "until", type: "date", required: true });
  const shown = h("div", { "aria-live": "polite" });
  const body = () => ({ sqls: [sql.value], epsilon: epsilon.value.trim(), every: every.value, at: time.value, until: until.value });
  const send = async (preview) => {
    try {
      const made = await post(at("datasets", dataset.value, "schedules", ...(preview ? ["preview"] : [])), body());
      if (!preview) { toast("Set; nothing is charged before its first run"); again(); return; }
      const [each] = made.previews;
      show(shown, h("p", {}, `${made.left} runs, ${each.cost} each; left now: ${each.remaining}.`));
    } catch (error) { show(shown, complaint(error)); }
  };
  return h("form", { onsubmit: (event) => { event.preventDefault(); send(false); } }, h("h2", {}, "Set a schedule"),
    field("Data set", dataset), field("Query", sql), field("ε of each run", epsilon), field("Every", every), field("At (UTC)", time), field("Until", until, "the last day on which it may run"),
    h("div", { class: "line" }, h("button", { type: "button", id: "foresee", onclick: () => send(true) }, "What it costs"), h("button", { class: "main" }, "Set the schedule")), shown);
}
