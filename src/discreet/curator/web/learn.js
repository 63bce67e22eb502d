// The learning corner: three pictures, each drawn from what the library itself computes.

import { get } from "./api.js";
import { curves } from "./charts.js";
import { h, later, short, show } from "./dom.js";

const log = (s, low, high) => Number((low * (high / low) ** (s / 100)).toPrecision(2));

function slider(label, low, high, start, changed) {
  const out = h("output", {}, String(start));
  const input = h("input", { type: "range", min: 0, max: 100, value: Math.round(100 * Math.log(start / low) / Math.log(high / low)), "aria-label": label,
    oninput: () => { out.textContent = String(log(Number(input.value), low, high)); soon(); } });
  const soon = later(() => changed(), 60);
  return { node: h("label", { class: "line slider" }, h("span", {}, label), input, out), get value() { return out.textContent; } };
}

export async function learnView(place) {
  const stop = [];
  show(place, h("div", { class: "learn" },
    h("div", { class: "intro" }, h("h1", {}, "What does ε mean?"),
      h("p", {}, "Differential privacy promises each person that nobody who sees the answers can determine with confidence whether they are in the data. ε bounds that confidence; a budget bounds it for all answers together.")),
    await attacker(), await composition(), await noise(stop)));
  return () => stop.forEach((f) => f());
}

async function attacker() {
  const picture = h("div", {}), words = h("p", { class: "big" });
  const draw = async () => {
    const data = await get(`/api/learn/attacker?epsilon=${encodeURIComponent(epsilon.value)}&delta=1e-6`);
    const points = data.false_positives.map((x, i) => [x, data.true_positives[i]]);
    show(picture, curves([{ points, class: "one", area: true }], { x: [0, 1], y: [0, 1], xlabel: "false positives", ylabel: "true positives", label: `What an attacker can do at epsilon ${epsilon.value}`, diagonal: true }));
    show(words, "If the person is in the data with probability 1/2, the best attacker guesses right ", h("b", {}, `${(data.guess * 100).toFixed(1)}%`), " of the time. 50% is no knowledge at all.");
  };
  const epsilon = slider("ε", 0.01, 10, 1, draw);
  await draw();
  return h("section", { class: "card" }, h("h2", {}, "An attacker’s chances"), epsilon.node, picture, words,
    h("p", { class: "quiet" }, "The attacker knows everything but this: whether one person is in the data. No test, however clever, lies above the curve. The dashed line is a blind guess."));
}

async function composition() {
  const picture = h("div", {}), words = h("p", { class: "big" });
  const draw = async () => {
    const many = Math.round(Number(questions.value));
    const data = await get(`/api/learn/composition?epsilon=${encodeURIComponent(epsilon.value)}&delta=1e-6&questions=${many}`);
    const line = (name) => [[0, 0], ...data.questions.map((k, i) => [k, data[name][i]])];
    const top = Math.max(...data.basic);
    show(picture, curves([
      { points: line("basic"), class: "two", label: "adding up" },
      { points: line("zcdp"), class: "one", label: "counted by zCDP", below: true },
    ], { x: [0, many], y: [0, top], xlabel: "queries", ylabel: "ε of all together", label: "How budgets compose" }));
    show(words, `${short(many)} queries of ε ${epsilon.value} each cost `, h("b", {}, `ε ${short(data.zcdp.at(-1))}`), ` together, not ${short(data.basic.at(-1))}.`);
  };
  const epsilon = slider("ε of each", 0.01, 1, 0.1, draw), questions = slider("queries", 2, 5000, 500, draw);
  await draw();
  return h("section", { class: "card" }, h("h2", {}, "Many queries"), epsilon.node, questions.node, picture, words,
    h("p", { class: "quiet" }, "Each answer reveals a little, and several reveal more. Composition is tighter than adding up (δ = 10⁻⁶). The curator refuses the query that would go over the budget."));
}

async function noise(stop) {
  const wide = 420, tall = 260, floor = tall - 34;
  const picture = h("div", {}), words = h("p", { class: "big" });
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let frame = 0;
  const draw = async () => {
    cancelAnimationFrame(frame);
    const data = await get(`/api/learn/noise?epsilon=${encodeURIComponent(epsilon.value)}`);
    const reach = Math.max(4, ...Object.keys(data.law).map((k) => Math.abs(Number(k)))) * 0.8;
    const x = (k) => wide / 2 + (Math.max(-reach, Math.min(reach, k)) / reach) * (wide / 2 - 16);
    const size = Math.max(2.2, Math.min(5.5, 26 / Math.sqrt(reach))), bin = Math.max(1, Math.ceil((4 * size * reach) / (wide - 32))), piles = new Map();
    const placed = data.samples.map((k) => {
      const at = Math.round(k / bin) * bin, height = piles.get(at) || 0;
      piles.set(at, height + 1);
      return [x(at), height];
    });
    // dots and curve share one scale, and both stay inside of the picture
    const tallest = Math.max(...piles.values(), ...Object.values(data.law).map((p) => p * bin * data.samples.length));
    const each = Math.min(size * 1.7, (floor - 12) / tallest);
    const dots = placed.map(([at, height]) => ({ end: floor - size - height * each, node: h("circle", { class: "dot", r: size * 0.9, cx: at.toFixed(1), cy: -20 }) }));
    const expected = (p) => floor - p * bin * data.samples.length * each;
    const curve = Object.entries(data.law).map(([k, p]) => [x(Number(k)), expected(p)]).sort((one, other) => one[0] - other[0]);
    show(picture, h("svg", { class: "chart", viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": `Draws of noise at epsilon ${epsilon.value}` },
      h("line", { class: "ground", x1: 0, x2: wide, y1: floor, y2: floor }),
      [-reach, -reach / 2, 0, reach / 2, reach].map((k) => h("text", { class: "tick", x: x(k), y: tall - 12, "text-anchor": "middle" }, short(Math.round(k)))),
      dots.map((d) => d.node),
      h("path", { class: "curve two", d: curve.map(([a, b], i) => `${i ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join(" ") })));
    show(words, "The count of a group comes out within ", h("b", {}, `± ${short(data.error)}`), " of the truth, 19 times out of 20, however large the group is.");
    const start = performance.now();
    const fall = (now) => {
      let moving = false;
      dots.forEach((d, i) => {
        const t = still ? 1 : Math.max(0, Math.min(1, (now - start - i * 7) / 520));
        d.node.setAttribute("cy", (-20 + (d.end + 20) * t * t).toFixed(1));
        moving ||= t < 1;
      });
      if (moving) frame = requestAnimationFrame(fall);
    };
    frame = requestAnimationFrame(fall);
  };
  const epsilon = slider("ε", 0.02, 5, 0.5, draw);
  stop.push(() => cancelAnimationFrame(frame));
  await draw();
  return h("section", { class: "card" }, h("h2", {}, "Noise"), epsilon.node, picture, words,
    h("div", { class: "actions" }, h("button", { onclick: draw }, "Draw again")),
    h("p", { class: "quiet" }, "Fresh draws of the exact discrete Laplace noise that a count gets, and their distribution. Half the ε means twice the noise."));
}
