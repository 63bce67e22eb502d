// The tables of a data set, as everybody may know them.

import { h, summable } from "./dom.js";

/** A question to begin with. */
export function firstQuestion(schema) {
  const largest = Object.entries(schema.tables).sort((one, other) => other[1].columns.length - one[1].columns.length);
  for (const [name, table] of largest) {
    const key = table.columns.find((one) => one.keys && one.kind === "text");
    const value = table.columns.findLast((one) => summable(one) && !one.unit && one.low !== null) ?? table.columns.findLast((one) => summable(one) && !one.unit);
    const items = [key?.name, "COUNT(*) AS n", value && `AVG(${value.name}) AS mean_${value.name}`].filter(Boolean);
    if (key && value) return `SELECT ${items.join(", ")}\nFROM ${name}\nGROUP BY ${key.name}`;
  }
  return `SELECT COUNT(*) AS n\nFROM ${Object.keys(schema.tables)[0]}`;
}

/** A drawer, closed on a phone. */
export function schemaPanel(schema, datasets, box, choose, profile) {
  return h("details", { class: "card schema", open: !matchMedia("(max-width: 820px)").matches }, h("summary", {}, h("h2", {}, `Tables of ${schema.name}`)),
    datasets.length < 2 ? null : h("select", { id: "dataset", "aria-label": "Data set", onchange: (event) => choose(event.target.value) },
      datasets.map((one) => h("option", { value: one.name, selected: one.name === schema.name }, one.name))),
    h("p", { class: "quiet small" }, "Protects ", h("b", {}, schema.protects), "."),
    Object.entries(schema.tables).map(([name, table]) => h("div", { class: "table" },
      h("h3", {}, h("button", { class: "plain mono", title: "Insert into the query", onclick: () => box.insert(name) }, name), bounded(table)),
      columnList(table, (column) => box.insert(column)),
      table.public ? null : h("button", { class: "plain small", title: "Rows per person, keys and values, with confidence intervals; charged once at the cost set beside the query", onclick: () => profile(name) }, `Profile of ${name}`))));
}

/** How many rows of a unit count. */
export function bounded(table) {
  if (table.public) return h("span", { class: "chip" }, "public");
  if (table.max_rows === "auto") return h("span", { class: "chip", title: "Rows of one unit that count: each query chooses, within its own cost" }, "bound chosen");
  return table.max_rows ? h("span", { class: "chip", title: "Rows of one unit that count" }, `≤ ${table.max_rows} ${table.max_rows === 1 ? "row" : "rows"} each`) : null;
}

/** The columns of a table; with what to do when one is clicked. */
export function columnList(table, choose) {
  return h("ul", { class: "columns" }, table.columns.map((column) => h("li", {},
    choose ? h("button", { class: "plain mono", title: "Insert into the query", onclick: () => choose(column.name) }, column.name) : h("code", {}, column.name),
    h("span", { class: "kind" }, describe(column)))));
}

function describe(column) {
  if (column.unit) return h("span", { class: "chip unit", title: "Identifies the person of each row; it can be counted, never shown" }, "unit");
  if (column.keys && column.kind !== "boolean") {
    const listed = column.keys.map((key) => (key === null ? "NULL" : String(key)));
    const text = listed.slice(0, 4).join(", ") + (listed.length + column.more_keys > 4 ? ", …" : "");
    return h("span", { title: listed.slice(0, 100).join(", ") }, text);
  }
  if (column.unknown_keys) return h("span", { title: "The keys are not listed: a key is shown if enough people have it" }, "keys unknown");
  if (column.low !== null) return h("span", { title: `${column.low} to ${column.high}` }, `${column.low} … ${column.high}`);
  if (summable(column)) return h("span", { title: "Bounds of the values that count: each query chooses, within its own cost" }, "bounds chosen");
  return column.kind;
}
