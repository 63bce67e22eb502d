// Synthetic rows: one charge, a job to watch or stop, and a table to download.

import { at, get, newKey, post, token } from "./api.js";
import { complaint, cost, field, h, show } from "./dom.js";

export async function syntheticView(place) {
  const [datasets, budgets] = await Promise.all([get("/api/datasets"), get("/api/budget")]);
  const tables = datasets.flatMap((one) => one.tables.map((table) => ({ dataset: one.name, population: one.population, table })));
  if (!tables.length) {
    show(place, h("p", { class: "empty" }, "There is no data set that you may ask about yet."));
    return () => {};
  }
  const state = { number: null, timer: 0 };
  const chosen = h("select", { id: "table" }, tables.map((one, i) => h("option", { value: i }, `${one.dataset}: ${one.table}`)));
  const price = h("input", { id: "price", value: "0.5", inputmode: "decimal", autocomplete: "off", class: "small", oninput: name });
  const rows = h("input", { id: "rows", value: "1000", inputmode: "numeric", autocomplete: "off", class: "small" });
  const result = h("section", { class: "card result", "aria-live": "polite" }, h("p", { class: "quiet" }, "Rows that look like the table: its columns with listed keys or bounds, private for any use."));
  const start = h("button", { class: "main", id: "make", onclick: begin });
  chosen.addEventListener("change", name);

  const slot = () => (budgets.find((other) => other.population === tables[Number(chosen.value)].population).budget.kind === "ZCDP" ? "rho" : "epsilon");

  function name() {
    start.textContent = `Make rows (spends ${cost({ [slot()]: price.value })})`;
  }

  async function begin() {
    const one = tables[Number(chosen.value)];
    const body = { table: one.table, rows: Number(rows.value), key: newKey() };
    body[slot()] = price.value;
    start.disabled = true;
    try { draw(await post(at("datasets", one.dataset, "synthetic"), body)); }
    catch (error) { show(result, complaint(error)); start.disabled = false; }
  }

  function draw(job) {
    state.number = job.number;
    start.disabled = job.state === "running";
    if (job.state === "running") {
      const stop = h("button", { class: "plain", id: "stop", onclick: async () => draw(await post(at("synthetic", job.number, "cancel"), {})) }, "Stop here");
      show(result, h("p", { "aria-busy": "true" }, `${job.doing || "at work"}…`), h("p", { class: "quiet small" }, "It is charged. Stopping keeps what was measured; nothing is given back."), stop);
      clearTimeout(state.timer);
      state.timer = setTimeout(async () => { try { draw(await get(at("synthetic", job.number))); } catch (error) { show(result, complaint(error)); } }, 700);
    } else if (job.state === "done") {
      const { columns, rows: many, spent, complete, report } = job.result;
      show(result, h("h2", {}, `${many.toLocaleString()} rows of ${columns.join(", ")}`),
        h("p", { class: "quiet" }, `spent ${spent}${complete ? "" : "; stopped before its end"}`),
        h("button", { class: "main", id: "download", onclick: () => save(job.number) }, "Download Parquet"),
        h("table", {}, h("thead", {}, h("tr", {}, ["measured", "model from it", "noise alone"].map((text) => h("th", {}, text)))),
          h("tbody", {}, report.slice(0, 12).map(([names, , , distance, noise]) => h("tr", {}, h("td", {}, names.join(" × ")), h("td", { class: "number" }, distance.toFixed(3)), h("td", { class: "number" }, noise.toFixed(3)))))));
    } else {
      show(result, h("p", { class: "complaint" }, job.state === "lost" ? "This job was charged, and lost with a server that ended." : "The engine could not finish; what was spent stays spent."));
    }
  }

  name();
  show(place, h("div", { class: "page" }, h("section", { class: "card" }, h("h1", {}, "Synthetic rows"),
    field("Table", chosen), field("Privacy cost", price, "ε, or ρ where the budget is in ρ"), field("Rows", rows), start), result));
  return () => clearTimeout(state.timer);
}

async function save(number) {
  const reply = await fetch(at("synthetic", number, "rows"), { headers: { authorization: `Bearer ${token.get()}` }, cache: "no-store", credentials: "omit" });
  const link = h("a", { href: URL.createObjectURL(await reply.blob()), download: `synthetic-${number}.parquet` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
