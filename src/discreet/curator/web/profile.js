// A profile of a table: one picture for each histogram, of the classes that stand out from the noise.

import { bars } from "./charts.js";
import { download, h, paid } from "./dom.js";

const MOST = 24;

/** What is drawn: of keys the largest; of ordered classes all from the first to the last one that stands out, and NULL. */
function standing(rows, ordered) {
  const there = rows.map((row, i) => (row.value > (row.clear ?? 0) ? i : -1)).filter((i) => i >= 0);
  if (!ordered) return there.map((i) => rows[i]).sort((one, other) => other.value - one.value).slice(0, MOST);
  const between = there.filter((i) => rows[i].label !== "NULL");
  return rows.filter((row, i) => (row.label === "NULL" ? there.includes(i) : i >= between[0] && i <= between.at(-1))).slice(0, MOST);
}

export function profileView(data, position) {
  return h("article", { class: "card answer profile" },
    h("div", { class: "head" }, h("h2", {}, data.parameters.profile ? `Profile of ${data.parameters.profile}` : "Units of the joined rows of a query"), h("span", { class: "chip" }, `no. ${position}`), h("span", { class: "grow" }),
      h("span", { class: "quiet small" }, "charged ", h("b", {}, paid(data)))),
    h("p", { class: "quiet small" }, "Numbers of units: each weighs one in every picture, however many rows it has."),
    data.answer.answers.map(picture),
    h("div", { class: "actions" },
      h("button", { onclick: () => download(`card-${data.number}.json`, data.card) }, "Release card"),
      data.receipt ? h("button", { onclick: () => download(`receipt-${data.number}.json`, data.receipt) }, "Receipt") : null));
}

function picture(answer) {
  const value = answer.columns.indexOf("n"), key = answer.columns.indexOf("class");
  const rows = answer.rows.map((row, i) => {
    const ends = answer.intervals.n?.[i];
    return { label: answer.labels?.[i] ?? String(row[key]), value: row[value], error: answer.errors.n[i], clear: answer.errors_together.n[i], low: ends ? ends[0] : null, high: ends ? ends[1] : null };
  });
  const title = answer.about || "values", found = standing(rows, !/^keys/.test(title));
  return h("figure", {}, h("h3", {}, title),
    found.length ? bars(found, { name: title, confidence: answer.confidence }) : h("p", { class: "quiet" }, "Nothing stands out from the noise."));
}
