// A question without SQL: choose a table, what to compute, for which groups and rows. What is chosen becomes SQL in the
// editor, where it can be changed.

import { field, groupable, h, show, summable } from "./dom.js";

const name = (text) => (/^[a-z_][a-z0-9_]*$/i.test(text) ? text : `"${text.replaceAll('"', '""')}"`);
const literal = (value) => (value === null ? "NULL" : typeof value === "number" || typeof value === "boolean" ? String(value).toUpperCase() : `'${String(value).replaceAll("'", "''")}'`);
const plain = (text) => text.replace(/[^a-z0-9]+/gi, "_");

/** The SQL of what was chosen. */
export function written({ table, what, column, group, where, value }) {
  const aggregate = what === "COUNT" ? "COUNT(*) AS n" : `${what}(${name(column)}) AS ${what.toLowerCase()}_${plain(column)}`;
  const lines = [`SELECT ${group ? `${name(group)}, ` : ""}${aggregate}`, `FROM ${name(table)}`];
  if (where) lines.push(`WHERE ${name(where)} = ${literal(value)}`);
  if (group) lines.push(`GROUP BY ${name(group)}`);
  return lines.join("\n");
}

export function builder(schema, chosen) {
  const choice = { table: Object.keys(schema.tables)[0], what: "COUNT", column: "", group: "", where: "", value: null };
  const place = h("div", { class: "grid" });
  const pick = (id, label, options, value, changed) => field(label, h("select", { id, onchange: (event) => { changed(event.target.value); draw(); chosen(written(choice)); } },
    options.map(([key, text]) => h("option", { value: key, selected: key === value }, text))));
  const draw = () => {
    const columns = schema.tables[choice.table].columns.filter((one) => !one.unit);
    const numbers = columns.filter(summable).map((one) => one.name);
    const groups = columns.filter(groupable).map((one) => one.name);
    const listed = columns.filter((one) => one.keys && one.keys.length);
    if (!numbers.includes(choice.column)) choice.column = numbers[0] || "";
    if (!choice.column) choice.what = "COUNT";
    if (!groups.includes(choice.group)) choice.group = "";
    if (!listed.some((one) => one.name === choice.where)) { choice.where = ""; choice.value = null; }
    const keys = listed.find((one) => one.name === choice.where)?.keys || [];
    if (choice.where && !keys.includes(choice.value)) choice.value = keys[0];
    const what = [["COUNT", "how many rows"], ...(numbers.length ? [["AVG", "average of"], ["SUM", "sum of"], ["MEDIAN", "median of"]] : [])];
    show(place,
      pick("build-table", "Table", Object.keys(schema.tables).map((one) => [one, one]), choice.table, (v) => { choice.table = v; }),
      pick("build-what", "Compute", what, choice.what, (v) => { choice.what = v; }),
      choice.what === "COUNT" ? null : pick("build-column", "Of the column", numbers.map((one) => [one, one]), choice.column, (v) => { choice.column = v; }),
      pick("build-group", "For each", [["", "all together"], ...groups.map((one) => [one, one])], choice.group, (v) => { choice.group = v; }),
      pick("build-where", "Only rows with", [["", "no condition"], ...listed.map((one) => [one.name, one.name])], choice.where, (v) => { choice.where = v; choice.value = null; }),
      choice.where ? pick("build-value", `${choice.where} is`, keys.map((one, i) => [String(i), String(one)]), String(keys.indexOf(choice.value)), (v) => { choice.value = keys[Number(v)]; }) : null);
  };
  draw();
  return h("details", { class: "builder" }, h("summary", { id: "build" }, "Build a question without SQL"), place);
}
