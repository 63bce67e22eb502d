// The answers that were paid for, by whomever: to be looked at for nothing.

import { at, get } from "./api.js";
import { opener } from "./answer.js";
import { draft } from "./ask.js";
import { h, later, show, when } from "./dom.js";

const PAGE = 100;

export async function libraryView(place, [chosen]) {
  const datasets = await get("/api/datasets");
  if (!datasets.length) {
    show(place, h("p", { class: "empty" }, "There is no data set that you may ask about yet. The owner can give you permission."));
    return;
  }
  if (!datasets.some((one) => one.name === draft.dataset)) draft.dataset = datasets[0].name;
  const side = h("section", { class: "result", "aria-live": "polite" }), list = h("ol", { class: "list" }), more = h("div", {});
  const open = opener(side, []);
  const words = h("input", { id: "words", type: "search", placeholder: "words of a query", "aria-label": "Search", oninput: later(() => load(), 200) });
  const dataset = h("select", { "aria-label": "Data set", onchange: () => { draft.dataset = dataset.value; load(); } },
    datasets.map((one) => h("option", { selected: one.name === draft.dataset }, one.name)));
  let turn = 0;

  async function load(before) {
    const mine = ++turn, page = before ? `&before=${before}` : "";
    const found = await get(`${at("datasets", draft.dataset, "answers")}?limit=${PAGE}&search=${encodeURIComponent(words.value)}${page}`);
    if (mine !== turn) return;
    const lines = found.answers.map((one) => entry(one, found.data, () => { history.replaceState(null, "", `#library/${one.number}`); open(one.number); }));
    if (before) list.append(...lines); else show(list, lines.length ? lines : h("li", { class: "empty" }, words.value ? "No answer has these words." : "No answers yet."));
    show(more, found.answers.length < PAGE ? null : h("button", { class: "plain", onclick: () => load(found.answers.at(-1).number) }, "Older ones"));
    if (!before && !chosen && found.answers.length) open(found.answers[0].number);
  }

  show(place, h("div", { class: "two" },
    h("section", { class: "card" }, h("h2", {}, "Answers that are there"), h("p", { class: "quiet small" }, "They were charged once; looking at them costs nothing."),
      h("div", { class: "line" }, dataset, words), list, more), side));
  if (chosen) open(Number(chosen));
  await load();
}

function entry(one, data, open) {
  return h("li", {},
    h("button", { class: "entry", onclick: open },
      h("code", {}, one.query.replace(/\s+/g, " ").slice(0, 160)),
      h("span", { class: "quiet small" }, `${when(one.time)} · ${one.by} · charged ${one.cost} · data ${one.data}${one.data === data ? "" : ", which have changed since"}`)),
    h("button", { class: "plain small", title: "Edit this query", onclick: () => { draft.sql = one.query; location.hash = "#ask"; } }, "Edit"));
}
