// Registering a data set: choose files, name the column that identifies each person, declare what is publicly known of the columns.

import { get, post } from "./api.js";
import { complaint, field, h, show, toast } from "./dom.js";

const PUBLIC = " public"; // no column has this name: names have no space at an end

export async function registerForm(budgets, again) {
  const sources = await get("/api/sources");
  const name = h("input", { required: true, maxlength: 100, placeholder: "hospital" });
  const file = h("input", { list: "sources", placeholder: "visits.parquet", "aria-label": "File" });
  const tables = [], place = h("div", {}), wrong = h("div", {});
  const people = h("select", { "aria-label": "People", onchange: () => { fresh.hidden = people.value !== ""; } },
    h("option", { value: "" }, "a new population with its own budget"), budgets.map((one) => h("option", { value: one.population }, `the people of ${one.population}`)));
  const epsilon = h("input", { class: "small", value: "2" }), delta = h("input", { class: "small", value: "1e-9" }), protects = h("input", { value: "one person" });
  const fresh = h("div", { class: "grid" }, field("Budget ε", epsilon), field("and δ (empty for none)", delta), field("One unit is", protects, "in words, for the release cards"));
  const decision = h("input", { placeholder: "only if the same people are to have a second budget" });
  const add = async () => {
    if (!file.value) return;
    try {
      const columns = await post("/api/sources/columns", { source: file.value });
      tables.push(tableForm(file.value, columns, (one) => { tables.splice(tables.indexOf(one), 1); show(place, tables.map((t) => t.node)); }));
      show(place, tables.map((t) => t.node));
      file.value = "";
      show(wrong);
    } catch (error) { show(wrong, complaint(error)); }
  };
  return h("form", { onsubmit: async (event) => {
    event.preventDefault();
    const body = { name: name.value, tables: Object.fromEntries(tables.map((t) => t.read())) };
    if (people.value) body.population = people.value; else { body.budget = delta.value.trim() ? { epsilon: epsilon.value, delta: delta.value } : { epsilon: epsilon.value }; body.protects = protects.value; }
    if (decision.value.trim()) body.decision = decision.value.trim();
    try { await post("/api/datasets", body); toast(`${name.value} is registered`); again(); } catch (error) { show(wrong, complaint(error)); }
  } },
    h("h2", {}, "Register a data set"),
    h("p", { class: "quiet" }, "Names and types of columns are read from the file. Bounds and keys are yours to declare: what everybody may know without looking at the data."),
    h("div", { class: "grid" }, field("Name", name), field("It is about", people)), fresh,
    h("datalist", { id: "sources" }, sources.map((one) => h("option", { value: one }))),
    h("div", { class: "line" }, field("File or glob below the data folder", file), h("button", { type: "button", id: "add-table", onclick: add }, "Add table")),
    place, field("Decision", decision), wrong, h("button", { class: "main", id: "register-button" }, "Register"));
}

function tableForm(source, columns, drop) {
  const name = h("input", { value: source.split("/").pop().split(".")[0].replace(/\W/g, "_"), "aria-label": "Table name" });
  const units = columns.filter((one) => one.may_be_unit);
  const likely = units.find((one) => /patient|person|user|customer|client|member|employee|subject|household/i.test(one.name)) || units.find((one) => /id$/i.test(one.name)) || units.find((one) => one.kind !== "real");
  // Nothing is public by default: without a likely unit, somebody has to say so.
  const unit = h("select", { "aria-label": "Unit", required: true, onchange: () => mark() }, likely ? null : h("option", { value: "" }, "say whose row it is"),
    units.map((one) => h("option", { value: one.name, selected: one === likely }, one.name)), h("option", { value: PUBLIC }, "no unit: a public table"));
  const rows = h("input", { class: "small", value: "auto", pattern: "auto|[1-9][0-9]*", title: "auto: each query chooses it, within its own cost; or a number" });
  const data = columns.map((column) => ({ column, input: h("input", { class: "mono", placeholder: hint(column.kind), "aria-label": `Declaration of ${column.name}` }) }));
  const mark = () => { // nothing is declared of the column that says whose row it is
    for (const { column, input } of data) {
      input.disabled = column.name === unit.value;
      input.placeholder = !input.disabled ? hint(column.kind) : column.kind === "real" ? "whose row it is: read as integers; any other row has no unit" : "whose row it is";
    }
  };
  mark();
  const form = { node: null, read() {
    const found = { source, columns: {} };
    if (unit.value === PUBLIC) found.public = true; else { found.unit = unit.value; found.max_rows = rows.value.trim() === "auto" ? "auto" : Number(rows.value); }
    for (const { column, input } of data) if (input.value.trim() && column.name !== unit.value) found.columns[column.name] = declaration(column, input.value.trim());
    return [name.value, found];
  } };
  form.node = h("fieldset", { class: "tableform" }, h("legend", {}, source), h("div", { class: "grid" }, field("Called in SQL", name), field("Whose row it is", unit), field("Rows of one unit that count", rows)),
    h("table", {}, h("thead", {}, h("tr", {}, ["column", "stored as", "what everybody may know"].map((one) => h("th", { scope: "col" }, one)))),
      h("tbody", {}, data.map(({ column, input }) => h("tr", {}, h("td", { class: "mono" }, column.name), h("td", { class: "quiet" }, column.kind), h("td", {}, input))))),
    h("button", { type: "button", class: "plain small bad", onclick: () => drop(form) }, "Remove"));
  return form;
}

const hint = (kind) => ({ integer: "0 .. 100   or   keys 1, 2, 3", decimal: "0 .. 100", real: "0 .. 100", text: "keys North, South", date: "2025-01-01 .. 2025-12-31", timestamp: "2025-01-01 .. 2025-12-31" }[kind] || "nothing to declare");

function declaration(column, text) {
  if (/^unknown/i.test(text)) return { unknown_keys: true };
  const keys = text.match(/^keys\s+(.*)$/i);
  if (keys) {
    const listed = keys[1].split(",").map((one) => one.trim());
    if (column.kind === "date") return { keys: listed, type: "date" };
    return { keys: column.kind === "integer" ? listed.map(Number) : listed };
  }
  if (/^auto$/i.test(text)) return { bounds: "auto" };
  const [low, high] = text.split("..").map((one) => one.trim());
  return { bounds: [low, high ?? ""] };
}
