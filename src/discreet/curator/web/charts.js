// Charts in SVG, drawn by hand: bars with error bars, curves, steps, gauges.

import { h, short, tip, withBar } from "./dom.js";

const nice = (span, steps) => {
  const raw = span / Math.max(1, steps);
  const power = 10 ** Math.floor(Math.log10(raw));
  const unit = [1, 2, 2.5, 5, 10].find((u) => u * power >= raw) || 10;
  return unit * power;
};

export function ticks(low, high, steps = 5) {
  if (!(high > low)) return [low];
  const step = nice(high - low, steps);
  const found = [];
  for (let t = Math.ceil(low / step) * step; t <= high + step * 1e-9; t += step) found.push(Math.abs(t) < step * 1e-9 ? 0 : t);
  return found;
}

const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** Horizontal bars: rows of {label, value, low, high}; touching each other, if the rows are adjacent bins. */
export function bars(rows, { name, confidence, touching = false }) {
  const wide = 560, left = 132, right = 74, high = 26, top = 8, foot = 30;
  const found = rows.flatMap((row) => [row.value, row.low, row.high]).filter((x) => x !== null && Number.isFinite(x));
  const low = Math.min(0, ...found), most = Math.max(0, ...found);
  const span = most - low || 1;
  const x = (value) => left + ((value - low) / span) * (wide - left - right);
  const tall = top + rows.length * high + foot;
  const lines = ticks(low, most, 4).map((t) => h("g", { class: "tick" },
    h("line", { x1: x(t), x2: x(t), y1: top, y2: tall - foot + 4 }),
    h("text", { x: x(t), y: tall - 10, "text-anchor": "middle" }, short(t))));
  const drawn = rows.map((row, i) => {
    const y = top + i * high, middle = y + high / 2;
    const label = h("text", { class: "label", x: left - 10, y: middle + 4, "text-anchor": "end" }, cut(row.label, 19));
    if (row.value === null) return h("g", {}, label, h("text", { class: "tick", x: x(0) + 6, y: middle + 4 }, "NULL"));
    const a = Math.min(x(0), x(row.value)), b = Math.max(x(0), x(row.value));
    const whisker = row.low === null || row.high === null ? null : h("g", { class: "whisker" },
      h("line", { x1: x(row.low), x2: x(row.high), y1: middle, y2: middle }),
      h("line", { x1: x(row.low), x2: x(row.low), y1: middle - 4, y2: middle + 4 }),
      h("line", { x1: x(row.high), x2: x(row.high), y1: middle - 4, y2: middle + 4 }));
    const error = row.error === null ? "" : ` ± ${short(row.error)}`;
    return h("g", { class: "row" }, tip(`${row.label}: ${short(row.value)}${error}`), label,
      h("rect", { class: "bar", x: a, y: touching ? y + 0.5 : y + 4, width: Math.max(1, b - a), height: touching ? high - 1 : high - 8, rx: touching ? 0 : 3 }),
      whisker,
      h("text", { class: "value", x: Math.max(b, x(row.high ?? row.value)) + 7, y: middle + 4 }, withBar(row.value, row.error)[0]));
  });
  return h("svg", { class: "chart", viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": `Bars of ${name} with confidence intervals of ${confidence}` }, lines, drawn);
}

/** Upright bars over time: points of {label, value, error}, the oldest first. */
export function overTime(points, { name, confidence }) {
  const wide = 560, tall = 130, left = 56, foot = 20, top = 8;
  const known = points.filter((point) => point.value !== null);
  const ends = known.flatMap((point) => [point.value - (point.error ?? 0), point.value + (point.error ?? 0)]);
  const low = Math.min(0, ...ends), span = Math.max(0, ...ends) - low || 1;
  const y = (value) => tall - foot - ((value - low) / span) * (tall - foot - top);
  const step = (wide - left) / Math.max(1, points.length), thick = Math.max(1, Math.min(24, step * 0.7));
  const lines = ticks(low, low + span, 3).map((t) => h("g", { class: "tick" },
    h("line", { x1: left, x2: wide, y1: y(t), y2: y(t) }), h("text", { x: left - 6, y: y(t) + 4, "text-anchor": "end" }, short(t))));
  const drawn = points.map((point, i) => {
    if (point.value === null) return null;
    const middle = left + (i + 0.5) * step, a = Math.min(y(0), y(point.value)), b = Math.max(y(0), y(point.value));
    const whisker = point.error === null ? null : h("g", { class: "whisker" },
      h("line", { x1: middle, x2: middle, y1: y(point.value - point.error), y2: y(point.value + point.error) }));
    return h("g", { class: "row" }, tip(`${point.label}: ${short(point.value)}${point.error === null ? "" : ` ± ${short(point.error)}`}`),
      h("rect", { class: "bar", x: middle - thick / 2, y: a, width: thick, height: Math.max(1, b - a), rx: 2 }), whisker);
  });
  const ticked = points.length > 1 ? [0, points.length - 1] : [0];
  const dates = ticked.map((i) => h("text", { class: "tick", x: left + (i + 0.5) * step, y: tall - 4, "text-anchor": i ? "end" : "start" }, points[i].label));
  return h("svg", { class: "chart", viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": `Bars of ${name} over time with confidence intervals of ${confidence}` }, lines, drawn, dates);
}

/** Curves in a frame: [{points: [[x, y]], class, label}]. */
export function curves(lines, { x: xs, y: ys, xlabel, ylabel, label, diagonal }) {
  const wide = 420, tall = 300, left = 48, bottom = 42, top = 14, right = 16;
  const px = (v) => left + ((v - xs[0]) / (xs[1] - xs[0] || 1)) * (wide - left - right);
  const py = (v) => tall - bottom - ((v - ys[0]) / (ys[1] - ys[0] || 1)) * (tall - bottom - top);
  const grid = [
    ...ticks(xs[0], xs[1], 5).map((t) => h("g", { class: "tick" }, h("line", { x1: px(t), x2: px(t), y1: top, y2: tall - bottom }), h("text", { x: px(t), y: tall - bottom + 16, "text-anchor": "middle" }, short(t)))),
    ...ticks(ys[0], ys[1], 5).map((t) => h("g", { class: "tick" }, h("line", { x1: left, x2: wide - right, y1: py(t), y2: py(t) }), h("text", { x: left - 7, y: py(t) + 4, "text-anchor": "end" }, short(t)))),
  ];
  const path = (points) => points.map(([a, b], i) => `${i ? "L" : "M"}${px(a).toFixed(1)} ${py(b).toFixed(1)}`).join(" ");
  return h("svg", { class: "chart", viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": label },
    grid,
    diagonal ? h("line", { class: "chance", x1: px(xs[0]), y1: py(ys[0]), x2: px(xs[1]), y2: py(ys[1]) }) : null,
    lines.map((line) => [
      line.area ? h("path", { class: `area ${line.class}`, d: `${path(line.points)} L ${px(xs[1])} ${py(ys[0])} L ${px(xs[0])} ${py(ys[0])} Z` }) : null,
      h("path", { class: `curve ${line.class}`, d: path(line.points) }),
      line.label ? h("text", { class: `name ${line.class}`, x: px(line.points.at(-1)[0]) - 6, y: Math.max(14, py(line.points.at(-1)[1]) + (line.below ? 24 : -8)), "text-anchor": "end" }, line.label) : null,
    ]),
    h("text", { class: "axis", x: (left + wide - right) / 2, y: tall - 6, "text-anchor": "middle" }, xlabel),
    h("text", { class: "axis", x: 14, y: (top + tall - bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${(top + tall - bottom) / 2})` }, ylabel));
}

/** A budget: the part that is spent, and the part that a question would take. */
export function gauge(spent, asked = 0, { label = "budget", over = false, mine = spent } = {}) {
  const part = (x) => `${Math.max(0, Math.min(1, x)) * 100}%`;
  const percent = `${(spent * 100).toFixed(spent < 0.1 ? 1 : 0)} % spent`;
  return h("div", { class: `gauge${over ? " over" : ""}`, role: "meter", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": (spent * 100).toFixed(1), "aria-label": `${label}: ${percent}` },
    h("div", { class: "others", style: { width: part(spent) } }),
    h("div", { class: "spent", style: { width: part(Math.min(mine, spent)) } }),
    asked ? h("div", { class: "asked", style: { left: part(spent), width: part(Math.min(asked, 1 - spent)) } }) : null);
}

/** How a budget went down: shares after each charge. */
export function steps(shares) {
  const wide = 420, tall = 160, left = 70, bottom = 44, top = 10, right = 10;
  if (shares.length < 2) return h("p", { class: "quiet small" }, "No queries yet.");
  const x = (i) => left + (i / (shares.length - 1)) * (wide - left - right), y = (s) => top + Math.min(1, s) * (tall - top - bottom);
  const axes = [
    [0, 0.5, 1].map((s) => h("g", { class: "tick" }, h("line", { x1: left, x2: wide - right, y1: y(s), y2: y(s) }), h("text", { x: left - 7, y: y(s) + 4, "text-anchor": "end" }, `${100 - 100 * s}%`))),
    [...new Set([0, Math.round((shares.length - 1) / 2), shares.length - 1])].map((i) => h("text", { class: "axis", x: x(i), y: tall - 25, "text-anchor": i === 0 ? "start" : i === shares.length - 1 ? "end" : "middle" }, String(i))),
    h("text", { class: "axis", x: (left + wide - right) / 2, y: tall - 4, "text-anchor": "middle" }, "left of the budget, after each query"),
  ];
  let path = `M${left} ${y(shares[0])}`;
  shares.forEach((s, i) => { if (i) path += ` H${x(i).toFixed(1)} V${y(s).toFixed(1)}`; });
  return h("svg", { class: "chart steps", viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": `What was left after each of ${shares.length - 1} queries` },
    axes, h("path", { class: "area one", d: `${path} V${y(1)} H${left} Z` }), h("path", { class: "curve one", d: path }));
}
