// A question without SQL: choose tables, what to compute, for which groups and rows. The editor has the same question as
// SQL: what is chosen here is written there, and what is written there is shown here, as long as the builder has words for it.

import { groupable, h, show, summable } from "./dom.js";

const MEASURES = { COUNT: "how many rows", UNITS: "how many units", DISTINCT: "how many different", AVG: "average of", SUM: "sum of", MEDIAN: "median of", STDDEV: "standard deviation of" };
const PERIODS = ["day", "week", "month", "quarter", "year"];
const NAME = String.raw`(?:[a-z_]\w*|"(?:[^"]|"")+")(?:\.(?:[a-z_]\w*|"(?:[^"]|"")+"))?`, VALUE = String.raw`-?\d+(?:\.\d+)?|TRUE|FALSE|NULL|(?:DATE |TIMESTAMP )?'(?:[^']|'')*'`;

const quoted = (name) => (/^[a-z_][a-z0-9_]*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`);
const plain = (name) => name.replace(/[^a-z0-9]+/gi, "_");
const bare = (text) => (text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text);

/** A value as SQL: numbers and truth values as they are, all else as text. */
function literal(value, column) {
  if (value === null) return "NULL";
  if (typeof value === "boolean" || typeof value === "number") return String(value).toUpperCase();
  if (["number", "real"].includes(column?.kind) && /^-?\d+(\.\d+)?$/.test(value)) return value;
  return `${["date", "timestamp"].includes(column?.kind) ? `${column.kind.toUpperCase()} ` : ""}'${String(value).replaceAll("'", "''")}'`;
}

/** How a table may be joined to another: along the column that leads to its row, or along the unit that both have. */
function joint(schema, from, to) {
  const [one, other] = [schema.tables[from], schema.tables[to]];
  if (one.leads_to?.[0] === to) return [one.unit, one.leads_to[1]];
  if (other.leads_to?.[0] === from) return [other.leads_to[1], other.unit];
  return !one.public && !other.public && !one.through && !other.through && one.unit && other.unit ? [one.unit, other.unit] : null;
}

/** The columns of the chosen tables, by the names under which SQL knows them. */
function columnsOf(schema, choice) {
  const all = [choice.table, ...choice.joins].flatMap((table) => schema.tables[table].columns.map((column) => ({ ...column, table })));
  const names = all.map((column) => column.name.toLowerCase());
  return new Map(all.map((column) => {
    const sql = names.indexOf(column.name.toLowerCase()) === names.lastIndexOf(column.name.toLowerCase()) ? quoted(column.name) : `${quoted(column.table)}.${quoted(column.name)}`;
    return [sql, column];
  }));
}

const last = (sql) => plain(bare(sql.split(".").at(-1)));

/** The SQL of what was chosen. */
export function written(choice, schema) {
  const columns = columnsOf(schema, choice);
  const measures = choice.measures.map(({ what, column }) => (what === "COUNT" ? "COUNT(*) AS n" : what === "UNITS" ? `COUNT(DISTINCT ${column}) AS units`
    : what === "DISTINCT" ? `COUNT(DISTINCT ${column}) AS different_${last(column)}` : `${what}(${column}) AS ${what.toLowerCase()}_${last(column)}`));
  const groups = choice.groups.map(({ column, by }) => (!by ? [column, column] : PERIODS.includes(by) ? [`DATE_TRUNC('${by}', ${column}) AS ${last(column)}_${by}`, `${last(column)}_${by}`]
    : [`FLOOR(${column} / ${by}) * ${by} AS ${last(column)}_bin`, `${last(column)}_bin`]));
  const where = choice.where.flatMap(({ column, low, high, values }) => {
    const type = columns.get(column);
    if (values) return values.length === 1 ? [`${column} = ${literal(values[0], type)}`] : values.length ? [`${column} IN (${values.map((value) => literal(value, type)).join(", ")})`] : [];
    return [low && `${column} >= ${literal(low, type)}`, high && `${column} <= ${literal(high, type)}`].filter(Boolean);
  });
  const joins = choice.joins.map((table) => {
    const [here, there] = joint(schema, choice.table, table);
    return ` JOIN ${quoted(table)} ON ${quoted(choice.table)}.${quoted(here)} = ${quoted(table)}.${quoted(there)}`;
  });
  return [`SELECT ${[...groups.map(([item]) => item), ...measures].join(", ")}`, `FROM ${quoted(choice.table)}${joins.join("")}`,
    where.length ? `WHERE ${where.join(" AND ")}` : null, groups.length ? `GROUP BY ${groups.map(([, name]) => name).join(", ")}` : null].filter(Boolean).join("\n");
}

const pieces = (text) => text.split(/,\s*(?![^(]*\))/);
const value = (text) => (/^(TRUE|FALSE)$/i.test(text) ? text.toUpperCase() === "TRUE" : /^NULL$/i.test(text) ? null : text.replace(/^(DATE|TIMESTAMP) /i, "").replace(/^'(.*)'$/s, (_, inside) => inside.replaceAll("''", "'")));

/** What was chosen, from the SQL; null if the builder has no words for it. Whatever is not written back the same is not. */
export function readBack(text, schema) {
  const flat = text.trim().replace(/\s+/g, " ");
  const parts = flat.match(new RegExp(`^SELECT (.+?) FROM (.+?)(?: WHERE (.+?))?(?: GROUP BY ((?:${NAME}|\\d+)(?:, (?:${NAME}|\\d+))*))?$`, "i"));
  if (!parts) return null;
  const [, items, from, where, by] = parts, [table, ...joins] = from.split(/ JOIN /i).map((one) => bare(one.split(/ ON /i)[0]));
  if (![table, ...joins].every((one) => one in schema.tables) || !joins.every((one) => joint(schema, table, one))) return null;
  const choice = { table, joins, measures: [], groups: [], where: [] }, columns = columnsOf(schema, choice);
  for (const item of pieces(items)) {
    const [, what, distinct, inside] = item.match(new RegExp(`^(COUNT|AVG|SUM|MEDIAN|STDDEV)\\((DISTINCT )?(\\*|${NAME})\\)`, "i")) ?? [];
    const [, period, dated] = item.match(new RegExp(`^DATE_TRUNC\\('(\\w+)', (${NAME})\\)`, "i")) ?? [];
    const [, binned, width] = item.match(new RegExp(`^FLOOR\\((${NAME}) / (\\d+(?:\\.\\d+)?)\\)`, "i")) ?? [];
    if (what) choice.measures.push(inside === "*" ? { what: "COUNT" } : { what: distinct ? (columns.get(inside)?.unit ? "UNITS" : "DISTINCT") : what.toUpperCase(), column: inside });
    else choice.groups.push(period ? { column: dated, by: period } : binned ? { column: binned, by: width } : { column: item });
  }
  for (const [, column, operator, right] of where?.matchAll(new RegExp(`(${NAME}) (=|>=|<=|IN) (\\([^)]*\\)|${VALUE})`, "gi")) ?? []) {
    const range = choice.where.at(-1);
    if (operator === "<=" && range?.column === column && range.low) range.high = value(right);
    else if (operator === ">=" || operator === "<=") choice.where.push({ column, [operator === ">=" ? "low" : "high"]: value(right) });
    else choice.where.push({ column, values: operator === "=" ? [value(right)] : [...right.matchAll(new RegExp(VALUE, "gi"))].map(([one]) => value(one)) });
  }
  const same = (one) => one.replace(/\s+/g, " ").replace(/ AS (\w+|"[^"]*")/gi, "").replace(/ GROUP BY .*$/i, "");
  if (![...choice.measures, ...choice.groups, ...choice.where].every((one) => !one.column || columns.has(one.column))) return null;
  return choice.measures.length && choice.groups.length === (by ? pieces(by).length : 0) && same(written(choice, schema)) === same(flat) ? choice : null;
}

/** The builder: a node, and ``follow``, which is told of every text of the editor. */
export function builder(schema, chosen) {
  let choice, latest = "", following = false;
  const place = h("div", {}), hand = h("p", { class: "quiet small", hidden: true }, "The editor has a query that only SQL can say. What is chosen here replaces it.");
  const fresh = (table) => ({ table, joins: [], measures: [{ what: "COUNT" }], groups: [], where: [] });

  const tell = () => { latest = written(choice, schema); hand.hidden = true; following = true; chosen(latest); following = false; };
  const change = () => { draw(); tell(); };
  const select = (label, options, current, changed, more = {}) => h("select", { "aria-label": label, ...more, onchange: (event) => { changed(event.target.value); change(); } },
    options.map(([key, text]) => h("option", { value: key, selected: key === current }, text)));
  const input = (label, current, changed, more = {}) => h("input", { class: "small", "aria-label": label, value: current ?? "", ...more, oninput: (event) => { changed(event.target.value.trim()); tell(); } });
  const drop = (list, i, label) => h("button", { type: "button", class: "plain small", "aria-label": `Remove ${label}`, onclick: () => { list.splice(i, 1); change(); } }, "✕");
  const add = (id, text, list, one) => (one ? h("button", { type: "button", class: "plain small", id, onclick: () => { list.push(one()); change(); } }, `+ ${text}`) : null);

  function measure(one, i, columns) {
    const fitting = columns.filter(([, column]) => (one.what === "UNITS" ? column.unit : one.what === "DISTINCT" ? !column.unit : summable(column) && !column.unit));
    if (one.what === "COUNT") delete one.column; else if (!fitting.some(([name]) => name === one.column)) one.column = fitting[0][0];
    const kinds = Object.entries(MEASURES).filter(([what]) => what === "COUNT" || columns.some(([, column]) => (what === "UNITS" ? column.unit : what === "DISTINCT" ? !column.unit : summable(column) && !column.unit)));
    return h("div", { class: "line measure" }, select("Compute", kinds, one.what, (what) => { one.what = what; }),
      ["COUNT", "UNITS"].includes(one.what) ? null : select("Of the column", fitting.map(([name]) => [name, name]), one.column, (name) => { one.column = name; }), choice.measures.length > 1 ? drop(choice.measures, i, "measure") : null);
  }

  function group(one, i, columns) {
    const column = new Map(columns).get(one.column);
    const dated = ["date", "timestamp"].includes(column.kind), binned = summable(column) && column.low !== null;
    return h("div", { class: "line group" }, select("For each", columns.filter(([, c]) => mayGroup(c)).map(([name]) => [name, name]), one.column, (name) => { one.column = name; one.by = startBy(new Map(columns).get(name)); }),
      dated ? select("Period", [["", "each value"], ...PERIODS.map((period) => [period, period])], one.by ?? "", (by) => { one.by = by; }) : null,
      binned ? ["in bins of", input("Width of bins", one.by, (by) => { one.by = /^\d+(\.\d+)?$/.test(by) && Number(by) ? by : ""; }, { inputmode: "decimal" })] : null, drop(choice.groups, i, "group"));
  }

  function condition(one, i, columns) {
    const column = new Map(columns).get(one.column), listed = column.kind === "boolean" ? [true, false] : column.keys;
    return h("div", { class: "line condition" }, select("Only rows with", columns.filter(([, c]) => mayFilter(c)).map(([name]) => [name, name]), one.column, (name) => { Object.assign(one, start(name, new Map(columns).get(name))); }),
      listed ? ["is one of", h("span", { class: "picks", role: "group", "aria-label": `Values of ${one.column}` }, listed.slice(0, 50).map((key) => h("label", {}, h("input", { type: "checkbox", checked: one.values.some((v) => String(v) === String(key)),
        onchange: (event) => { one.values = listed.filter((v) => (String(v) === String(key) ? event.target.checked : one.values.some((w) => String(w) === String(v)))); tell(); } }), String(key))))]
        : one.values ? ["is", input("Value", one.values[0], (text) => { one.values = text ? [text] : []; })]
          : ["from", input("From", one.low, (text) => { one.low = text; }, moment(column)), "to", input("To", one.high, (text) => { one.high = text; }, moment(column))], drop(choice.where, i, "condition"));
  }

  const moment = (column) => (column.kind === "date" ? { type: "date" } : { inputmode: "decimal" });
  const mayGroup = (column) => !column.unit && (groupable(column) || (summable(column) && column.low !== null) || column.kind === "date");
  const mayFilter = (column) => !column.unit && (column.keys || ["boolean", "number", "real", "date", "timestamp", "time", "text"].includes(column.kind));
  const startBy = (column) => (column.keys ? "" : column.kind === "date" ? "month" : summable(column) && column.low !== null ? String(Number(((column.high - column.low) / 10).toPrecision(1)) || 1) : "");
  const start = (name, column) => ({ column: name, low: undefined, high: undefined, values: column.keys ? [column.keys[0]] : column.kind === "boolean" ? [true] : column.kind === "text" ? [""] : undefined });

  function draw() {
    const tables = Object.keys(schema.tables), others = tables.filter((table) => table !== choice.table && joint(schema, choice.table, table));
    const columns = [...columnsOf(schema, choice)], names = new Set(columns.map(([name]) => name));
    for (const one of [...choice.measures, ...choice.groups, ...choice.where]) { // a join may make a name ambiguous
      if (one.column && !names.has(one.column)) one.column = columns.find(([name]) => last(name) === last(one.column))?.[0] ?? "gone";
    }
    for (const list of ["measures", "groups", "where"]) choice[list] = choice[list].filter((one) => one.column !== "gone");
    if (!choice.measures.length) choice.measures.push({ what: "COUNT" });
    const groups = columns.filter(([, column]) => mayGroup(column)), filters = columns.filter(([, column]) => mayFilter(column));
    show(place,
      h("div", { class: "line" }, h("span", { class: "what" }, "Table"), select("Table", tables.map((table) => [table, table]), choice.table, (table) => { choice = fresh(table); }, { id: "build-table" }),
        others.map((table) => h("label", { class: "join" }, h("input", { type: "checkbox", checked: choice.joins.includes(table), onchange: (event) => { choice.joins = event.target.checked ? [...choice.joins, table] : choice.joins.filter((one) => one !== table); change(); } }), `with ${table}`))),
      h("div", { class: "part" }, h("span", { class: "what" }, "Compute"), h("div", {}, choice.measures.map((one, i) => measure(one, i, columns)), add("add-measure", "another", choice.measures, () => ({ what: "COUNT" })))),
      h("div", { class: "part" }, h("span", { class: "what" }, "For each"), h("div", {}, choice.groups.map((one, i) => group(one, i, columns)),
        add("add-group", choice.groups.length ? "another" : "group", choice.groups, groups.length && (() => ({ column: groups[0][0], by: startBy(groups[0][1]) }))))),
      h("div", { class: "part" }, h("span", { class: "what" }, "Only rows"), h("div", {}, choice.where.map((one, i) => condition(one, i, columns)),
        add("add-condition", choice.where.length ? "another" : "condition", choice.where, filters.length && (() => start(...filters[0]))))));
  }

  function follow(text) {
    if (following || text === latest) return;
    latest = text;
    const read = readBack(text, schema);
    hand.hidden = read !== null;
    if (read) { choice = read; draw(); }
  }

  choice = fresh(Object.keys(schema.tables)[0]);
  draw();
  return { node: h("details", { class: "builder" }, h("summary", { id: "build" }, "Build a query without SQL"), hand, place), follow };
}
