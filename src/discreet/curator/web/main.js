// The page: who is here, and which view they look at.

import { get, token } from "./api.js";
import { complaint, field, h, show, toast } from "./dom.js";
import { askView } from "./ask.js";
import { boardsView } from "./boards.js";
import { historyView } from "./history.js";
import { learnView } from "./learn.js";
import { libraryView } from "./library.js";
import * as signOn from "./signon.js";
import { requestsView } from "./requests.js";
import { schedulesView } from "./schedules.js";
import { analystsView, datasetsView, ledgerView } from "./owner.js";
import { syntheticView } from "./synthetic.js";
import { tablesView } from "./tables.js";
import { verifyView } from "./verify.js";
import { alertsView, profilesView } from "./watch.js";

const VIEWS = {
  analyst: { ask: ["Ask", askView], boards: ["Dashboards", boardsView], history: ["History", historyView], library: ["Library", libraryView], schedules: ["Schedules", schedulesView], requests: ["Requests", requestsView], synthetic: ["Rows", syntheticView], tables: ["Tables", tablesView], verify: ["Verify", verifyView], learn: ["Learn", learnView] },
  owner: { datasets: ["Data sets", datasetsView], analysts: ["Analysts", analystsView], requests: ["Requests", requestsView], profiles: ["Profiles", profilesView], ledger: ["Ledger", ledgerView], alerts: ["Alerts", alertsView], verify: ["Verify", verifyView], learn: ["Learn", learnView] },
  steward: { requests: ["Requests", requestsView], verify: ["Verify", verifyView], learn: ["Learn", learnView] },
  auditor: { ledger: ["Ledger", ledgerView], alerts: ["Alerts", alertsView], verify: ["Verify", verifyView], learn: ["Learn", learnView] },
  nobody: { signin: ["Sign in", signInView], verify: ["Verify", verifyView], learn: ["Learn", learnView] },
};
const bar = document.getElementById("bar"), main = document.getElementById("main");
let me = null, leave = () => {}, turn = 0, refused = null;

function role() { return me ? me.role : "nobody"; }

function drawBar(current) {
  const tabs = Object.entries(VIEWS[role()]).map(([name, [label]]) =>
    h("a", { href: `#${name}`, class: "tab", "aria-current": name === current ? "page" : null }, label));
  show(bar,
    h("a", { class: "brand", href: "#", "aria-label": "discreet, start" }, h("img", { src: "/web/icon.svg", alt: "", width: 28, height: 28 }), h("span", {}, "discreet")),
    h("nav", { "aria-label": "Views" }, tabs),
    me ? h("div", { class: "who" }, h("span", { class: "name" }, me.name), h("span", { class: "chip" }, me.role),
      h("button", { class: "plain", onclick: signOut }, "Sign out")) : null);
}

async function route() {
  leave();
  leave = () => {};
  const views = VIEWS[role()];
  const [name, ...rest] = location.hash.slice(1).split("/");
  const current = name in views ? name : Object.keys(views)[0];
  drawBar(current);
  document.title = `${views[current][0]} · discreet`;
  // Each view has a place of its own: one that comes late draws where nobody looks any more.
  const mine = ++turn, place = h("div", {}, h("p", { class: "empty", "aria-busy": "true" }, "…"));
  show(main, place);
  try {
    const ended = (await views[current][1](place, rest.map(decodeURIComponent), me)) || (() => {});
    if (mine === turn) leave = ended; else ended();
    if (!place.querySelector("h1")) place.prepend(h("h1", { class: "unseen" }, views[current][0])); // for screen readers
  } catch (error) {
    if (mine !== turn) return;
    if (error.status === 401) { signOut(); return; }
    show(place, complaint(error));
  }
}

function go(hash) {
  if (location.hash === hash) route(); else location.hash = hash; // which routes
}

function signOut() {
  token.drop();
  me = null;
  go("#signin");
}

function signInView(place) {
  const input = h("input", { type: "password", name: "token", autocomplete: "off", spellcheck: "false", required: true, placeholder: "discreet_…" });
  const wrong = h("div", {});
  const form = h("form", { class: "signin card", onsubmit: async (event) => {
    event.preventDefault();
    token.set(input.value.trim());
    try {
      me = await get("/api/me");
      go(`#${Object.keys(VIEWS[me.role])[0]}`);
    } catch (error) {
      token.drop();
      show(wrong, complaint(error.status === 401 || error.status === 403
        ? { kind: "This token is not valid", message: "Check that you copied all of it. It may have expired or been revoked: ask the owner of the data for a new one.", hint: "" } : error));
    }
  } },
    h("h1", {}, "Query sensitive data"),
    h("p", { class: "quiet" }, "Every answer has exact noise that protects each person, a confidence interval, and a cost that is charged from a budget before the data are read."),
    field("Your token", input, "It is kept in this tab only, and forgotten when you close it."),
    h("button", { class: "main", type: "submit" }, "Sign in"),
    wrong,
    h("p", { class: "quiet small" }, "No token? ", h("a", { href: "#learn" }, "Learn about differential privacy"), " is open to everybody."));
  if (refused) show(wrong, complaint(refused));
  refused = null;
  const elsewhere = h("div", {});
  form.querySelector("h1 + p").after(elsewhere);
  signOn.provider().then((there) => there && show(elsewhere,
    h("button", { class: "main provider", type: "button", onclick: () => signOn.begin(there) }, `Sign on with ${new URL(there.address).hostname}`),
    h("p", { class: "quiet small" }, "Or with a token, as programs do:")));
  show(place, form);
  input.focus();
}

window.addEventListener("hashchange", route);
window.addEventListener("unhandledrejection", (event) => toast(event.reason?.message || "something went wrong", "bad"));

try { await signOn.end(); } catch (error) { refused = error; }
if (token.get()) {
  try { me = await get("/api/me"); } catch { token.drop(); }
}
await route();
