// Dashboards: one query, answered day by day for one privacy cost, as bars over time.

import { at, get, post } from "./api.js";
import { overTime } from "./charts.js";
import { bar, complaint, cost, field, h, show } from "./dom.js";

const WINDOWS = [["1", "each day"], ["7", "last 7 days"], ["30", "last 30 days"], ["0", "totals"]];

export async function boardsView(place, [dataset, chosen]) {
  const datasets = await get("/api/datasets");
  if (!datasets.length) {
    show(place, h("p", { class: "empty" }, "There is no data set that you may ask about yet. The owner can give you permission."));
    return;
  }
  const name = datasets.some((one) => one.name === dataset) ? dataset : datasets[0].name;
  const boards = await get(at("datasets", name, "boards"));
  const result = h("section", { class: "result", "aria-live": "polite", "aria-label": "Dashboard" });
  const open = (board) => { history.replaceState(null, "", `#boards/${encodeURIComponent(name)}/${encodeURIComponent(board)}`); drawBoard(result, name, board); };
  const list = h("section", { class: "card" }, h("h2", {}, "Dashboards"),
    datasets.length > 1 ? field("Data set", select(datasets.map((one) => [one.name, one.name]), name, (value) => boardsView(place, [value]))) : null,
    boards.length ? h("ol", { class: "list" }, boards.map((one) => h("li", {}, h("button", { class: "entry board", onclick: () => open(one.name) },
      h("span", {}, one.name), h("span", { class: "quiet small" }, one.last ? `${one.position} days, the last ${one.last}` : "no day yet")))))
      : h("p", { class: "quiet" }, "None yet. Open one below: it is charged once, for all of its days."),
    newBoard(name, (board) => boardsView(place, [name, board])));
  show(place, h("div", { class: "two" }, list, result));
  const first = boards.find((one) => one.name === chosen) || boards.at(-1);
  if (first) open(first.name);
}

function select(options, value, onchange) {
  return h("select", { onchange: (event) => onchange(event.target.value) },
    options.map(([key, label]) => h("option", { value: key, selected: key === value }, label)));
}

/** The form for a new dashboard: its cost is shown before it is charged. */
function newBoard(dataset, done) {
  const input = (name, more = {}) => h("input", { name, required: true, autocomplete: "off", ...more });
  const fields = {
    name: input("name"), sql: h("textarea", { name: "sql", rows: 3, required: true, spellcheck: "false" }),
    by: input("by", { list: "days-of" }), horizon: input("horizon", { type: "number", min: 1, value: "365" }),
    days: h("input", { name: "days", type: "number", min: 1 }), epsilon: input("epsilon", { value: "1", oninput: () => name() }),
  };
  const open = h("button", { class: "main", type: "submit" }), days = h("datalist", { id: "days-of" });
  const name = () => { open.textContent = `Open (spends ${cost({ epsilon: fields.epsilon.value })} once)`; };
  name();
  get(at("datasets", dataset)).then(({ tables }) => show(days, [...new Set(Object.values(tables).flatMap((table) => table.columns)
    .filter((column) => ["date", "timestamp"].includes(column.stored)).map((column) => column.name))].map((column) => h("option", { value: column }))), () => {});
  let method = "best";
  const told = h("div", { "aria-live": "polite" });
  const body = () => ({
    sql: fields.sql.value, by: fields.by.value, horizon: Number(fields.horizon.value),
    days: fields.days.value ? Number(fields.days.value) : null, epsilon: fields.epsilon.value, method,
  });
  const attempt = async (f) => { try { await f(); } catch (error) { show(told, complaint(error)); } };
  const preview = () => attempt(async () => {
    const found = await post(at("datasets", dataset, "boards", fields.name.value, "preview"), body());
    show(told, h("p", {}, `costs ${found.cost} for ${found.horizon} days`),
      h("ul", {}, Object.entries(found.day_errors).map(([column, error]) =>
        h("li", {}, `${column}: ± ${bar(error)} a day, ± ${bar(found.total_errors[column])} in all`))));
  });
  return h("details", { class: "new-board" }, h("summary", {}, "New dashboard"),
    h("form", { onsubmit: (event) => { event.preventDefault(); attempt(async () => { await post(at("datasets", dataset, "boards", fields.name.value), body()); done(fields.name.value); }); } },
      field("Name", fields.name), field("Query", fields.sql), field("Column of the day", fields.by, "a date or a time"), days,
      field("Days that it runs", fields.horizon), field("Days on which one person counts", fields.days, "all, if left out; fewer days, less noise"),
      field("Least error of", select([["best", "totals"], ["values", "single days"]], "best", (value) => { method = value; })),
      field("ε for all days", fields.epsilon),
      h("button", { class: "plain", type: "button", onclick: preview }, "Preview"), open, told));
}

async function drawBoard(place, dataset, name, width = "1") {
  const path = at("datasets", dataset, "boards", name);
  try {
    const found = await get(`${path}?width=${width}`);
    const day = h("input", { name: "day", type: "date", required: true });
    const told = h("div", {});
    const read = h("form", { class: "advance", onsubmit: async (event) => {
      event.preventDefault();
      try { await post(`${path}/advance`, { day: day.value }); drawBoard(place, dataset, name, width); } catch (error) { show(told, complaint(error)); }
    } }, field("Next day", day), h("button", { class: "main", type: "submit" }, "Read this day"), told);
    show(place, h("section", { class: "card" },
      h("h2", {}, name), h("p", { class: "quiet small" }, `charged: ${found.cost} for ${found.horizon} days`),
      field("Show", select(WINDOWS, width, (value) => drawBoard(place, dataset, name, value))),
      found.days.length ? charts(found) : h("p", { class: "empty" }, "No day to show yet."), read));
  } catch (error) { show(place, complaint(error)); }
}

/** One chart for each column of numbers and each group. */
function charts(found) {
  const { columns, errors } = found.days.at(-1);
  const measures = columns.filter((column) => column in errors), keys = columns.filter((column) => !(column in errors));
  const label = (row) => keys.map((key) => String(row[columns.indexOf(key)] ?? "NULL")).join(", ");
  const groups = found.days.at(-1).rows.map(label).slice(0, 12);
  return measures.map((measure) => h("div", {}, h("h3", {}, measure), groups.map((group) => {
    const points = found.days.map((one) => {
      const i = one.rows.findIndex((row) => label(row) === group);
      return i < 0 ? null : { label: one.day, value: one.rows[i][columns.indexOf(measure)], error: one.errors[measure][i] };
    }).filter(Boolean);
    return h("figure", { class: "over-time" }, h("figcaption", { class: "small" }, group), overTime(points, { name: `${measure} ${group}`, confidence: found.confidence }));
  })));
}
