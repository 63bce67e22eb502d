// What a question would cost and how far off its answer would be; and the price that is set for it.

import { gauge } from "./charts.js";
import { bar, cost, eps, h, later, percent, ratio, short, show } from "./dom.js";

const LEAST = 0.01;

/** The price, or the error that is wished for. */
export function priceControl(draft, state, changed) {
  const symbol = state.unit === "rho" ? "ρ" : "ε";
  const most = () => Math.max(LEAST * 2, state.unit === "rho" ? Number(ratio(state.budget.remaining.rho)) : state.budget.remaining_epsilon || 1);
  const toSlider = (x) => Math.round(1000 * Math.log(Math.max(x, LEAST) / LEAST) / Math.log(most() / LEAST));
  const fromSlider = (s) => Number((LEAST * (most() / LEAST) ** (s / 1000)).toPrecision(2));
  const number = h("input", { id: "epsilon", type: "text", inputmode: "decimal", class: "small", value: draft.epsilon, "aria-label": `Cost in ${state.unit}`,
    oninput: () => { draft.epsilon = number.value.trim(); slider.value = toSlider(Number(draft.epsilon)); soon(); } });
  const slider = h("input", { id: "slider", type: "range", min: 0, max: 1000, value: toSlider(Number(draft.epsilon)), "aria-label": `Cost in ${state.unit}`,
    oninput: () => { draft.epsilon = String(fromSlider(Number(slider.value))); number.value = draft.epsilon; soon(); } });
  const error = h("input", { id: "error", type: "text", inputmode: "decimal", class: "small", value: draft.error, "aria-label": "Error",
    oninput: () => { draft.error = error.value.trim(); soon(); } });
  const level = h("select", { id: "confidence", onchange: () => { draft.confidence = level.value; changed(); } },
    ["0.8", "0.9", "0.95", "0.99", "0.999"].map((one) => h("option", { value: one, selected: one === draft.confidence }, `${Number(one) * 100}%`)));
  const soon = later(changed, 120);
  const byPrice = h("div", { class: "line" }, h("span", { class: "symbol" }, symbol), slider, number);
  const byError = h("div", { class: "line" }, "I want every number within ±", error);
  const pick = (mode) => {
    draft.mode = mode;
    byPrice.hidden = mode !== "price";
    byError.hidden = mode === "price";
    for (const [name, one] of Object.entries(choices)) one.setAttribute("aria-pressed", String(name === mode));
  };
  const choices = {
    price: h("button", { type: "button", id: "by-price", onclick: () => { pick("price"); changed(); } }, "Set the cost"),
    error: h("button", { type: "button", id: "by-error", onclick: () => { pick("error"); changed(); } }, "Set the error"),
  };
  pick(draft.mode);
  return {
    node: h("div", { class: "price" },
      h("div", { class: "line" }, h("div", { class: "choice", role: "group", "aria-label": "Cost or error" }, Object.values(choices)), h("span", { class: "grow" }),
        h("label", { class: "level quiet small" }, "Confidence ", level)),
      byPrice, byError),
  };
}

/** Which part of what is left a price takes: of its scarcest coordinate. */
function share(amount, left) {
  let most = 0;
  for (const name of ["epsilon", "rho", "delta"]) {
    if (amount[name] === undefined || left[name] === undefined) continue;
    const rest = ratio(left[name]);
    if (rest > 0) most = Math.max(most, ratio(amount[name]) / rest);
    else if (ratio(amount[name]) > 0) most = Math.max(most, 2);
  }
  return most;
}

export function drawPreview(place, data, draft, state, again) {
  const spent = state.budget.gone, mine = state.budget.share;
  const either = state.budget.rule === "EITHER" && data.affordable && data.left_epsilon; // of two accounts: what is left tells
  const takes = (either ? 1 - data.left_after_epsilon / data.left_epsilon : share(data.price, data.left)) * (1 - spent);
  const price = data.price_epsilon !== null ? `ε = ${eps(data.price_epsilon)}` : cost(data.price);
  const typical = h("input", { id: "typical", class: "small", inputmode: "numeric", value: draft.rows, "aria-label": "Rows in a typical group", oninput: () => { draft.rows = typical.value.replace(/\D/g, ""); again(); } });
  const writing = document.activeElement?.id === "typical" && document.activeElement.selectionStart;
  const half = state.unit === "rho" ? null : 2 * (draft.mode === "price" ? ratio(draft.epsilon) : data.price_epsilon);
  show(place,
    h("h2", {}, "What you would get"),
    h("label", { class: "typical quiet small" }, "in a typical group of ", typical, " rows"),
    h("ul", { class: "bars" }, data.columns.map((one) => h("li", {},
      h("span", { class: "column" }, one.name),
      one.error === null ? h("span", { class: "error quiet" }, "not known yet") : h("span", { class: "error" }, "± ", h("b", {}, bar(one.error)), one.unit ? ` ${one.unit}` : ""),
      whisker(one),
      one.relative === null ? null : h("small", {}, `about ${percent(one.relative)} in a group of ${short(Number(draft.rows) || 1000)}`, one.evenly ? ", if its values are spread evenly; else it may be far more" : "")))),
    data.named_from === null ? null : h("p", { class: "note" }, `Groups are not listed: one is shown if about ${short(data.named_from)} people or more are in it.`),
    data.notes.slice(0, 2).map((note) => h("p", { class: "note" }, note.text)),
    h("h3", {}, "What it costs"),
    gauge(spent, takes, { label: "your budget", over: !data.affordable, mine }),
    h("div", { class: "legend" },
      h("span", {}, h("i", { class: "dot spent" }), "spent by you ", h("b", {}, percentOf(mine, state.budget))),
      spent - mine > 0.0005 ? h("span", { title: "Spent by other analysts from the budget of all" }, h("i", { class: "dot others" }), "by others ", h("b", {}, percentOf(spent - mine, state.budget))) : null,
      h("span", {}, h("i", { class: "dot asked" }), "this query ", h("b", { id: "cost" }, price)),
      h("span", { title: "What one more query could cost you after this one: by your own cap and by the budget of all" }, h("i", { class: "dot" }), "left after it ", h("b", { id: "left" }, !data.affordable ? "not enough" : data.left_after_epsilon !== null ? `ε = ${eps(data.left_after_epsilon)}` : cost(data.left_after)), data.more === null ? null : h("span", { id: "times" }, `, about ${short(data.more)} more like this`))),
    data.affordable ? null : h("p", { class: "complaint" }, "The budget does not cover this: spend less, or accept more error."),
    h("details", {}, h("summary", {}, "How it would be made"), h("ol", { class: "story" },
      [...data.story, ...(data.shares.length > 1 ? data.shares.map((one) => `${percent(one.share)} of the cost: ${one.what}`) : []),
        `${data.noise}; each interval holds with ${percent(data.confidence)}`, half ? `half the error costs about ε = ${eps(half)}` : null,
        `the ledger counts ${cost(data.price)} of ${cost(data.left)} that is left`].filter(Boolean).map((line) => h("li", {}, line)))));
  if (writing !== false && writing !== undefined) { typical.focus(); typical.setSelectionRange(writing, writing); } // it was drawn anew
}

/** A part of a budget in the unit of the budget. */
const percentOf = (part, budget) => (budget.budget.epsilon ? `ε = ${eps(part * ratio(budget.budget.epsilon))}` : `ρ = ${eps(part * ratio(budget.budget.rho))}`);

/** The number as a bar and its error on the same scale: an error as large as the number reaches from end to end. */
function whisker(one) {
  if (one.relative === null) return null;
  const half = Math.min(1, one.relative) * 50;
  return h("span", { class: `whisker${one.relative > 0.5 ? " wide" : ""}`, "aria-hidden": "true" }, h("b", {}), h("i", { style: { left: `${50 - half}%`, width: `${2 * half}%` } }));
}
