// Tables that add up: choose them level by level, see their errors before paying, then a job and its files.

import { at, file, get, newKey, post } from "./api.js";
import { bar, complaint, cost, field, h, show } from "./dom.js";

const ALL = "all places";

export async function tablesView(place, [number]) {
  const [datasets, budgets] = await Promise.all([get("/api/datasets"), get("/api/budget")]);
  const listed = datasets.flatMap((one) => one.tables.map((table) => ({ dataset: one.name, population: one.population, table })));
  if (!listed.length) {
    show(place, h("p", { class: "empty" }, "There is no data set that you may ask about yet."));
    return () => {};
  }
  let schema = null, timer = 0, asked = 0, tables = [];
  const chosen = h("select", { id: "table", onchange: read }, listed.map((one, i) => h("option", { value: i }, `${one.dataset}: ${one.table}`)));
  const price = h("input", { id: "price", value: "0.5", inputmode: "decimal", autocomplete: "off", class: "small", oninput: later });
  const format = h("select", { id: "format" }, ["csv", "xlsx", "parquet"].map((one) => h("option", { value: one }, one)));
  const rows = h("input", { id: "rows", type: "checkbox", onchange: later });
  const list = h("div", { class: "tables" }), errors = h("div", { class: "errors", "aria-live": "polite" });
  const result = h("section", { class: "card result", "aria-live": "polite" }, h("p", { class: "quiet" }, "Integers that add up at every level and in every table, for one charge."));
  const publish = h("button", { class: "main", id: "publish", onclick: begin, disabled: true }, "Publish");
  const more = h("button", { class: "plain", id: "more", onclick: () => { tables.push(empty()); draw(); } }, "One more table");

  const slot = () => (budgets.find((other) => other.population === here().population).budget.kind === "ZCDP" ? "rho" : "epsilon");
  const here = () => listed[Number(chosen.value)];
  const levels = () => schema?.tables[here().table].places[0] || [];
  const others = () => (schema?.tables[here().table].columns || []).filter((one) => !one.unit && !levels().includes(one.name) && (one.keys || one.bounds) && !one.unknown_keys);
  const empty = () => ({ level: levels().at(-1) || ALL, columns: [] });

  async function read() {
    try {
      schema = await get(at("datasets", here().dataset));
      tables = levels().length ? levels().map((level) => ({ level, columns: [] })) : [{ level: ALL, columns: others().slice(0, 1).map((one) => one.name) }];
      draw();
    } catch (error) { show(errors, complaint(error)); }
  }

  function draw() {
    show(list, tables.map((table, i) => h("fieldset", { class: "one" }, h("legend", {}, `Table ${i + 1}`),
      h("label", {}, "by ", h("select", { class: "level", onchange: (event) => { table.level = event.target.value; later(); } },
        [ALL, ...levels()].map((level) => h("option", { value: level, selected: level === table.level }, level)))),
      others().map(({ name }) => h("label", {}, h("input", { type: "checkbox", checked: table.columns.includes(name), onchange: (event) => {
        table.columns = event.target.checked ? [...table.columns, name] : table.columns.filter((one) => one !== name);
        later();
      } }), ` ${name}`)),
      tables.length > 1 ? h("button", { class: "plain", "aria-label": `Leave out table ${i + 1}`, onclick: () => { tables.splice(i, 1); draw(); } }, "Leave out") : null)));
    later();
  }

  function body() {
    return { table: here().table, tables: tables.map(({ level, columns }) => [...(level === ALL ? [] : [level]), ...columns]), rows: rows.checked,
      [slot()]: price.value };
  }

  function later() {
    publish.textContent = `Publish (spends ${cost({ [slot()]: price.value })})`;
    clearTimeout(timer);
    timer = setTimeout(preview, 250);
  }

  async function preview() {
    const mine = ++asked;
    publish.disabled = true;
    try {
      const found = await post(at("datasets", here().dataset, "publication", "preview"), body());
      if (mine !== asked) return;
      const most = Math.max(...found.tables.map((one) => one.error));
      show(errors, h("h2", {}, "How far off the numbers would be"),
        h("table", {}, h("thead", {}, h("tr", {}, ["table", "cells", "±", "beside the others"].map((text) => h("th", {}, text)))),
          h("tbody", {}, found.tables.map((one) => h("tr", {}, h("td", {}, one.table), h("td", { class: "number" }, one.cells.toLocaleString()), h("td", { class: "number" }, bar(one.error)),
            h("td", {}, h("meter", { min: 0, max: most, value: one.error, "aria-label": `± ${bar(one.error)} in ${one.table}` })))))),
        h("p", { class: "quiet small" }, `Of the cost: ${found.shares.filter((one) => one.share > 0.0005).map((one) => `${one.level} ${Number((100 * one.share).toPrecision(2))}%`).join(", ")}. ± is a 95% confidence interval, before numbers are made whole.`),
        found.consequences.map((text) => h("p", { class: "quiet small" }, text)));
      publish.disabled = false;
    } catch (error) { if (mine === asked) show(errors, complaint(error)); }
  }

  async function begin() {
    publish.disabled = true;
    try { done(await post(at("datasets", here().dataset, "publication"), { ...body(), format: format.value, key: newKey() })); }
    catch (error) { show(result, complaint(error)); publish.disabled = false; }
  }

  function done(job) {
    publish.disabled = job.state === "running";
    if (job.state === "running") {
      show(result, h("p", { "aria-busy": "true" }, "It is charged. The tables are being made…"));
      clearTimeout(timer);
      timer = setTimeout(() => look(job.number), 500);
    } else if (job.state === "done") {
      const { card, mismatches } = job.result;
      show(result, h("h2", {}, `${card.tables.length} tables for ${card.guarantee}`),
        h("p", { class: "quiet" }, `${mismatches} cells are negative or do not add up.`),
        h("ul", {}, card.tables.map((one) => h("li", {}, `${one.table}: ${one.cells.toLocaleString()} cells, estimates ± ${bar(one.error)}`))),
        card.consequence.map((text) => h("p", { class: "quiet small" }, text)),
        h("button", { class: "main", id: "download", onclick: () => save(job.number) }, "Download tables"));
    } else {
      show(result, h("p", { class: "complaint" }, job.state === "lost" ? "This job was charged, and lost with a server that ended." : "The engine could not finish; what was spent stays spent."));
    }
  }

  async function look(known) {
    try { done(await get(at("published", known))); } catch (error) { show(result, complaint(error)); }
  }

  show(place, h("div", { class: "page" }, h("section", { class: "card" }, h("h1", {}, "Tables that add up"), field("Table", chosen), list, more,
    field("Privacy cost", price, "ε, or ρ where the budget is in ρ"), field("Files", format),
    h("label", {}, rows, " also rows that have every count"), errors, publish), result));
  await read();
  if (number) await look(number);
  return () => { clearTimeout(timer); asked++; };
}

async function save(number) {
  const link = h("a", { href: URL.createObjectURL(await file(at("published", number, "files"))), download: `tables-${number}.zip` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
