// What an analyst asked before, and the answers.

import { everything } from "./api.js";
import { opener } from "./answer.js";
import { draft } from "./ask.js";
import { bar, cost, h, ratio, show, when } from "./dom.js";

const LATE = 120e3; // milliseconds after which a charge without an answer was lost

export async function historyView(place, [chosen]) {
  const charges = await everything("/api/answers", "charges", "number");
  if (!charges.length) {
    show(place, h("p", { class: "empty" }, "No queries yet. ", h("a", { href: "#ask" }, "Ask something.")));
    return;
  }
  const side = h("section", { class: "result", "aria-live": "polite" });
  const open = opener(side, charges, (number) => (charges.find((one) => one.number === number)?.parameters.synthetic
    ? h("p", { class: "quiet" }, "Synthetic rows. ", h("a", { href: "#synthetic" }, "Make more."))
    : charges.find((one) => one.number === number)?.parameters.published
      ? h("p", { class: "quiet" }, "Tables that add up. ", h("a", { href: `#tables/${number}` }, "Look at them.")) : null), () => historyView(place, [String(chosen || charges.at(-1).number)]));
  show(place, h("div", { class: "two" },
    h("section", { class: "card" }, h("h2", {}, "Your queries"),
      h("ol", { class: "list" }, charges.map((one, i) => entry(one, i + 1, () => { history.replaceState(null, "", `#history/${one.number}`); open(one.number); })).reverse()),
      h("p", { class: "small" }, h("a", { href: "#verify" }, "Verify a receipt"), " that was given to you.")),
    side));
  open(chosen ? Number(chosen) : charges.at(-1).number);
}

function entry(one, position, open) {
  const { workload, estimate, profile, units, ...kinds } = one.parameters, synthetic = kinds.synthetic || kinds.published;
  const running = !one.answered && Date.now() - Date.parse(one.time) < LATE;
  return h("li", {},
    h("button", { class: "entry", onclick: open },
      h("code", {}, one.query.replace(/\s+/g, " ").slice(0, 160)),
      h("span", { class: "quiet small" }, `${position} · ${when(one.time)} · ${one.dataset} · ${priceOf(one.parameters)}`, one.answered || synthetic ? null : running ? h("span", { class: "spinner" }, " running") : " · no answer")),
    workload || estimate || synthetic || profile || units ? null : h("button", { class: "plain small", title: "Edit this query", onclick: () => { draft.sql = one.query; draft.dataset = one.dataset; location.hash = "#ask"; } }, "Edit"));
}

const priceOf = ({ epsilon, rho, error }) => (epsilon || rho ? cost({ epsilon, rho }) : typeof error === "string" ? `± ${bar(ratio(error))}` : "");
