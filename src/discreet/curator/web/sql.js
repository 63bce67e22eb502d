// The editor: a textarea with coloured text behind it. The colours are spans with text nodes.

import { h } from "./dom.js";

const WORDS = new Set(("SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT AS AND OR NOT IN IS NULL LIKE ILIKE BETWEEN CASE WHEN THEN ELSE END JOIN LEFT INNER ON USING " +
  "UNION ALL DISTINCT FILTER WITH ASC DESC TRUE FALSE DATE TIMESTAMP INTERVAL CAST EXTRACT ROLLUP CUBE GROUPING SETS").split(" "));
const PIECE = /(--[^\n]*)|('(?:[^']|'')*'?)|("(?:[^"]|"")*"?)|(\b\d+(?:\.\d+)?\b)|([A-Za-z_]\w*)(\s*\()?|([\s\S])/g;

function coloured(text) {
  const found = [];
  for (const [all, comment, string, name, number, word, call] of text.matchAll(PIECE)) {
    if (comment) found.push(h("span", { class: "c" }, all));
    else if (string) found.push(h("span", { class: "s" }, all));
    else if (number) found.push(h("span", { class: "n" }, all));
    else if (word && WORDS.has(word.toUpperCase())) found.push(h("span", { class: "k" }, word), call || "");
    else if (word && call) found.push(h("span", { class: "f" }, word), call);
    else found.push(name || all);
  }
  return found;
}

export function editor(text, { onchange, onask }) {
  const back = h("pre", { "aria-hidden": "true" });
  const input = h("textarea", {
    id: "sql", class: "sql", spellcheck: "false", autocomplete: "off", autocapitalize: "off", "aria-label": "Query in SQL; Control and Enter asks", rows: 7, value: text,
    oninput: () => { paint(); onchange(); },
    onscroll: () => { back.scrollTop = input.scrollTop; back.scrollLeft = input.scrollLeft; },
    onkeydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); onask(); } },
  });
  const paint = () => back.replaceChildren(...coloured(input.value), "\n");
  paint();
  return {
    node: h("div", { class: "editor" }, back, input),
    get text() { return input.value; },
    set text(value) { input.value = value; paint(); onchange(); },
    insert(word) {
      input.setRangeText(word, input.selectionStart, input.selectionEnd, "end");
      paint();
      input.focus();
      onchange();
    },
    focus: () => input.focus(),
  };
}
