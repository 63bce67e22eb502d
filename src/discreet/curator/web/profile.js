// A profile of a table: one picture for each histogram, of the classes that stand out from the noise.

import { bars } from "./charts.js";
import { download, h } from "./dom.js";

const MOST = 24;

export function profileView(data) {
  return h("article", { class: "card answer profile" },
    h("div", { class: "head" }, h("h2", {}, data.parameters.profile ? `Profile of ${data.parameters.profile}` : "Units of the joined rows of a question"), h("span", { class: "chip" }, `no. ${data.number}`), h("span", { class: "grow" }),
      h("span", { class: "quiet small" }, "paid ", h("b", {}, data.price.text))),
    h("p", { class: "quiet small" }, "Numbers of units: each weighs one in every picture, however many rows it has. Caps and bounds of questions are chosen from these numbers, for nothing more."),
    data.answer.answers.map(picture),
    h("div", { class: "actions" },
      h("button", { onclick: () => download(`card-${data.number}.json`, data.card) }, "Release card"),
      h("button", { onclick: () => download(`receipt-${data.number}.json`, data.receipt) }, "Receipt")));
}

function picture(answer) {
  const value = answer.columns.indexOf("n"), key = answer.columns.indexOf("class");
  const found = answer.rows.map((row, i) => {
    const ends = answer.intervals.n?.[i];
    return { label: answer.labels?.[i] ?? String(row[key]), value: row[value], error: answer.errors.n[i], low: ends ? ends[0] : null, high: ends ? ends[1] : null };
  }).filter((one) => one.value > (one.error ?? 0)).slice(0, MOST);
  const title = answer.about || "values";
  return h("figure", {}, h("h3", {}, title),
    found.length ? bars(found, { name: title, confidence: answer.confidence }) : h("p", { class: "quiet" }, "Nothing stands out from the noise."));
}
