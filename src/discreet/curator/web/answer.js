// An answer: rows and a chart with error bars, what was paid, and the signed papers.

import { at, file, get } from "./api.js";
import { bars } from "./charts.js";
import { profileView } from "./profile.js";
import { complaint, cost, csv, download, h, paid, ratio, short, show, toast, when, withBar } from "./dom.js";

const MOST = 40;

// Shows stored answers by number in one place: the one that was opened last, in whatever order the answers arrive.
export function opener(side, charges, instead = () => null, arrived = () => {}) {
  let wanted;
  const open = async (number, again = false) => {
    wanted = number;
    let drawn = instead(number);
    try {
      drawn = drawn || answerView(await get(at("answers", number)), charges.findIndex((one) => one.number === number) + 1);
      if (again && wanted === number && side.isConnected) { arrived(); return; }
    } catch (error) {
      drawn = error.kind === "UnderWay" ? underWay() : complaint(error);
      if (error.kind === "UnderWay") setTimeout(() => { if (wanted === number && side.isConnected) open(number, true); }, 2000);
    }
    if (wanted === number) show(side, drawn);
  };
  return open;
}

/** A question that was paid, and whose answer is not stored yet: nothing is wrong. */
function underWay() {
  return h("article", { class: "card answer", "aria-busy": "true" }, h("h2", {}, "Being answered"),
    h("p", { class: "quiet" }, "This query is charged and is being answered. The answer appears here as soon as it is stored."));
}

/** An answer; ``position`` is the number among one's own questions. */
export function answerView(data, position) {
  if (data.parameters.profile || data.parameters.units) return profileView(data, position);
  const many = data.answer.answers ?? [data.answer], texts = questions(data);
  return h("article", { class: "card answer" },
    h("div", { class: "head" }, h("h2", {}, many.length > 1 ? `Answers to ${many.length} queries` : "Answer"), position > 0 ? h("span", { class: "chip" }, `no. ${position}`) : h("span", { class: "chip" }, data.derived ? `from ${data.number}` : `by ${data.by}`), h("span", { class: "grow" }),
      h("span", { class: "quiet small" }, data.paid_before ? `free: charged at ${when(data.time)}, ` : "charged ", h("b", {}, paid(data)))),
    many.map((answer, i) => oneAnswer(answer, texts[i])),
    h("div", { class: "actions" },
      data.card ? h("button", { id: "card", onclick: () => download(`card-${data.number}.json`, data.card) }, "Release card") : null,
      data.receipt ? h("button", { id: "receipt", onclick: () => download(`receipt-${data.number}.json`, data.receipt) }, "Receipt") : null,
      many.map((answer, i) => h("button", { onclick: () => copy(answer) }, many.length > 1 ? `Copy ${i + 1} as CSV` : "Copy as CSV")),
      many.map((answer, i) => h("button", { class: "csv", onclick: () => saveCsv(`answer-${data.number}${many.length > 1 ? `-${i + 1}` : ""}.csv`, answer) }, many.length > 1 ? `Save ${i + 1} as CSV` : "Save as CSV")),
      data.derived ? null : many.map((_, i) => h("button", { class: "parquet", onclick: () => parquet(data.number, i, many.length > 1) }, many.length > 1 ? `Save ${i + 1} as Parquet` : "Save as Parquet")),
      h("button", { id: "notebook", onclick: () => download(`answer-${data.number}.ipynb`, notebook(data)) }, "Save as notebook")),
    h("details", {}, h("summary", {}, "How it was made"), h("ol", { class: "story" }, many.map((answer) => [...answer.story, ...notes(answer)].map((line) => h("li", {}, line))), h("li", {}, `charged ${paid(data)}; the ledger counts ${cost(data.price)}, in its entry ${data.number}`))));
}

/** The texts of the questions: those of a workload stand one after the other, with their lengths in characters. */
function questions(data) {
  const lengths = data.parameters.workload;
  if (!lengths) return [data.query];
  const letters = [...data.query];
  let from = 0;
  return lengths.map((length) => { const text = letters.slice(from, from + length).join(""); from += length + 2; return text; });
}

function oneAnswer(answer, query) {
  const measures = Object.keys(answer.errors), charted = measures.filter((name) => !answer.kinds?.[name]);
  const labels = answer.columns.filter((name) => !measures.includes(name));
  const level = percent(answer.confidence);
  const place = h("div", { class: "picture" });
  const draw = (name) => {
    const column = answer.columns.indexOf(name);
    const rows = answer.rows.slice(0, MOST).map((row, i) => {
      const ends = answer.intervals[name]?.[i];
      return {
        label: labels.map((one) => bin(row[answer.columns.indexOf(one)], answer.bins?.[one])).join(" · ") || name,
        value: row[column], error: answer.errors[name][i], low: ends ? ends[0] : null, high: ends ? ends[1] : null,
      };
    });
    show(place, bars(rows, { name, confidence: level, touching: adjacent(answer, labels) }));
  };
  const tabs = charted.length > 1 ? h("div", { class: "choice", role: "group", "aria-label": "Column of the chart" }, charted.map((name, i) =>
    h("button", { type: "button", "aria-pressed": String(i === 0), onclick: (event) => {
      for (const one of event.target.parentNode.children) one.setAttribute("aria-pressed", String(one === event.target));
      draw(name);
    } }, name))) : null;
  if (charted.length) draw(charted[0]);
  return [
    h("code", { class: "asked" }, query),
    h("div", { class: "both" },
      h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Rows" }, table(answer, measures, level)),
      charted.length ? h("figure", {}, tabs, place, h("figcaption", { class: "quiet small" }, `Confidence intervals: ${level}${answer.rows.length > MOST ? `; the first ${MOST} rows` : ""}`)) : null),
    notes(answer).length ? h("p", { class: "note" }, notes(answer).slice(0, 2).map((line) => h("span", {}, line)), more(notes(answer).length - 2)) : null,
  ];
}

function table(answer, measures, level) {
  return h("table", {}, h("caption", { class: "quiet small" }, `± is a ${level} confidence interval for the noise`),
    h("thead", {}, h("tr", {}, answer.columns.map((name) => h("th", { scope: "col", class: measures.includes(name) ? "number" : "" }, name)))),
    h("tbody", {}, answer.rows.map((row, i) => h("tr", {}, answer.columns.map((name, j) => {
      if (!measures.includes(name)) return h("td", {}, text(row[j]));
      const error = answer.errors[name][i];
      const [shown, bar] = withBar(row[j], error);
      return h("td", { class: "number" }, h("b", {}, row[j] === null ? "NULL" : shown.replace("T", " ")), error === null ? null : h("span", { class: "pm" }, ` ± ${bar}${answer.kinds?.[name] ? " days" : ""}`));
    })))));
}

/** A key in words: of a bin, from its lower to its upper end. */
const bin = (value, width) => (width && typeof value === "number" ? `${short(value)} to ${short(value + width)}` : text(value));

/** Whether the rows are bins, each beginning where the one before ends. */
function adjacent(answer, labels) {
  const width = labels.length === 1 && answer.bins?.[labels[0]];
  const lows = answer.rows.slice(0, MOST).map((row) => row[answer.columns.indexOf(labels[0])]);
  return Boolean(width) && lows.every((low, i) => typeof low === "number" && (!i || Math.abs(low - lows[i - 1] - width) < width * 1e-6));
}

/** The notes as texts, worst first; an older version stored sentences. */
const notes = (answer) => [answer.counted, ...(answer.notes ?? []).map((note) => note.text ?? note)].filter(Boolean);

const more = (many) => (many > 0 ? h("span", {}, `${many} more under “How it was made”.`) : null);

const text = (value) => (value === null ? "NULL" : String(value));

const percent = (exact) => `${Number((ratio(exact) * 100).toPrecision(6))}%`;

/** The rows with their error bars, as CSV. */
function rowsAsCsv(answer) {
  const measures = Object.keys(answer.errors);
  const head = answer.columns.flatMap((name) => (measures.includes(name) ? [name, `${name}_error`] : [name]));
  return csv([head, ...answer.rows.map((row, i) => answer.columns.flatMap((name, j) => (measures.includes(name) ? [row[j], answer.errors[name][i]] : [row[j]])))]);
}

/** The CSV file, and beside it what was spent, how sure the errors are, and the notes. */
function saveCsv(name, answer) {
  download(name, rowsAsCsv(answer));
  const about = { spent: answer.cost, confidence_of_errors: percent(answer.confidence), notes: notes(answer), how_it_was_made: answer.story };
  download(`${name}-metadata.json`, `${JSON.stringify(about, null, 2)}\n`);
}

async function parquet(number, i, several) {
  try { download(`answer-${number}${several ? `-${i + 1}` : ""}.parquet`, await file(`${at("answers", number, "parquet")}?part=${i + 1}`)); } catch (error) { toast(error.message, "bad"); }
}

async function copy(answer) {
  await navigator.clipboard.writeText(rowsAsCsv(answer));
  toast("Copied");
}

/** A notebook that reads the stored answer again: that costs nothing. */
function notebook(data) {
  const lines = ["import os", "", "import discreet as dp", "", `session = dp.connect(${JSON.stringify(location.origin)}, os.environ["DISCREET_TOKEN"], ${JSON.stringify(data.dataset)})`,
    `answers = session.answers_to(${data.number})  # what was charged for; reading it again is free`, "answers[0].to_pandas()"];
  const cell = (kind, source, more) => ({ cell_type: kind, metadata: {}, source: source.map((line, i) => (i < source.length - 1 ? `${line}\n` : line)), ...more });
  return JSON.stringify({ nbformat: 4, nbformat_minor: 4, metadata: { language_info: { name: "python" } }, cells: [
    cell("markdown", [`Answer no. ${data.number}`, "", ...data.query.split("\n").map((line) => `    ${line}`)]),
    cell("code", lines, { execution_count: null, outputs: [] })] }, null, 1);
}
