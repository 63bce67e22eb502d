// Five sliders without a server. What is computed is in `play`, which the tests compare with the library.

"use strict";

const play = {
  /** P(Z = z) of discrete Laplace noise of scale 1/ε. */
  laplace: (epsilon, z) => Math.tanh(epsilon / 2) * Math.exp(-epsilon * Math.abs(z)),
  /** The smallest whole error that holds with 95 %. */
  laplaceError: (epsilon) => {
    const q = Math.exp(-epsilon);
    let k = 0;
    while ((2 * q ** (k + 1)) / (1 + q) > 0.05) k += 1;
    return k;
  },
  /** ε of k answers of ε each: added up, and by ρ = kε²/2 at δ. */
  added: (epsilon, k) => k * epsilon,
  concentrated: (epsilon, k, delta = 1e-6) => {
    const rho = (k * epsilon ** 2) / 2;
    return Math.min(k * epsilon, rho + 2 * Math.sqrt(rho * Math.log(1 / delta)));
  },
  /** The most true positives at a rate of false positives. */
  truePositives: (epsilon, delta, rate) => Math.min(1, Math.exp(epsilon) * rate + delta, 1 - Math.exp(-epsilon) * (1 - delta - rate)),
  corner: (epsilon, delta) => (1 - delta) / (1 + Math.exp(epsilon)),
  guess: (epsilon, delta) => (Math.exp(epsilon) + delta) / (1 + Math.exp(epsilon)),
  /** The mean share of reports that say yes, and the standard deviation of the estimate made of them. */
  reported: (epsilon, share) => (share * Math.exp(epsilon) + 1 - share) / (1 + Math.exp(epsilon)),
  deviation: (epsilon, share, people) => {
    const yes = play.reported(epsilon, share);
    return (Math.sqrt((yes * (1 - yes)) / people) * (Math.exp(epsilon) + 1)) / (Math.exp(epsilon) - 1);
  },
};

const log = (s, low, high) => Number((low * (high / low) ** (s / 100)).toPrecision(2));
const short = (x) => (x >= 100 ? Math.round(x).toLocaleString("en") : String(Number(x.toPrecision(3))));
const line = (points, kind) => `<path class="curve ${kind}" d="${points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("")}"/>`;
const say = (x, y, words, anchor = "middle") => `<text x="${x}" y="${y}" text-anchor="${anchor}">${words}</text>`;
const frame = (width, height) => `<path class="axis" fill="none" d="M40 10V${height - 30}H${width - 10}"/>`;

/** One section: its sliders as numbers, and what to draw from them. */
function part(id, scales, draw) {
  const place = document.getElementById(id);
  const inputs = [...place.querySelectorAll("input")];
  const outputs = [...place.querySelectorAll("output")];
  const show = () => {
    const values = inputs.map((input, i) => scales[i](Number(input.value)));
    outputs.forEach((output, i) => (output.textContent = short(values[i])));
    const [picture, words] = draw(...values);
    place.querySelector("svg").innerHTML = picture;
    place.querySelector(".says").innerHTML = words;
  };
  inputs.forEach((input) => input.addEventListener("input", show));
  show();
  return show;
}

part("noise", [(s) => log(s, 0.05, 5)], (epsilon) => {
  const reach = Math.min(60, Math.ceil(3 / epsilon) + 2), wide = 540 / (2 * reach + 1), top = play.laplace(epsilon, 0);
  let bars = "";
  for (let z = -reach; z <= reach; z += 1) {
    const tall = (190 * play.laplace(epsilon, z)) / top;
    bars += `<rect class="bar" x="${(45 + (z + reach) * wide).toFixed(1)}" y="${(210 - tall).toFixed(1)}" width="${(wide * 0.8).toFixed(1)}" height="${tall.toFixed(1)}"/>`;
  }
  const words = `A count comes out within <b>± ${play.laplaceError(epsilon)}</b> of the truth, 19 times out of 20; it is exact with probability ${short(top)}.`;
  return [frame(600, 240) + bars + say(45, 230, -reach) + say(315, 230, 0) + say(585, 230, reach), words];
});

part("composition", [(s) => log(s, 0.01, 1), (s) => Math.round(log(s, 2, 5000))], (epsilon, many) => {
  const top = play.added(epsilon, many), at = (k, y) => [40 + (550 * k) / many, 210 - (190 * y) / top];
  const places = Array.from({ length: 61 }, (_, i) => (many * i) / 60);
  const picture = frame(600, 240) + line(places.map((k) => at(k, play.added(epsilon, k))), "two") + line(places.map((k) => at(k, play.concentrated(epsilon, k))), "one");
  const words = `${short(many)} questions of ε = ${short(epsilon)} cost <b>ε = ${short(play.concentrated(epsilon, many))}</b> together; added up it would be ${short(top)}.`;
  return [picture + say(590, 230, `${short(many)} questions`, "end") + say(36, 20, short(top), "end"), words];
});

part("attacker", [(s) => log(s, 0.01, 10), (s) => s / 500], (epsilon, delta) => {
  const corner = play.corner(epsilon, delta), rates = [0, corner, 1, ...Array.from({ length: 40 }, (_, i) => i / 40)].sort((a, b) => a - b);
  const at = (x, y) => [40 + 250 * x, 270 - 250 * y];
  const picture = frame(310, 300) + line([at(0, 0), at(1, 1)], "grid") + line(rates.map((x) => at(x, play.truePositives(epsilon, delta, x))), "one");
  const words = `From one half, the best attacker guesses right in <b>${(100 * play.guess(epsilon, delta)).toFixed(1)} %</b> of all cases; accusing 1 % wrongly, he finds at most ${(100 * play.truePositives(epsilon, delta, 0.01)).toFixed(1)} %.`;
  return [picture + say(165, 292, "false positives") + say(300, 24, "true positives", "start"), words];
});

part("response", [(s) => log(s, 0.1, 5), (s) => Math.round(log(s, 10, 100000)), (s) => s / 100], (epsilon, people, share) => {
  const half = 1.96 * play.deviation(epsilon, share, people), yes = play.reported(epsilon, share);
  const x = (p) => 40 + 520 * Math.max(0, Math.min(1, p));
  const picture = `<path class="axis" d="M40 80H560"/>` + say(40, 104, "0") + say(560, 104, "1") +
    `<circle class="spent" cx="${x(yes).toFixed(1)}" cy="80" r="6"/>` + line([[x(share - half), 50], [x(share + half), 50]], "one") +
    `<circle class="bar" cx="${x(share).toFixed(1)}" cy="50" r="6"/>`;
  return [picture, `Of all reports ${(100 * yes).toFixed(1)} % say yes. The estimate is ${(100 * share).toFixed(0)} % <b>± ${(100 * half).toFixed(1)}</b> points.`];
});

{
  // in thousandths, so that a budget of 1 is used up by ten tenths
  let left = 1000, refused = false;
  const place = document.getElementById("budget");
  const show = part("budget", [(s) => Math.round(1000 * log(s, 0.01, 1)) / 1000], (price) => {
    const picture = `<rect class="spent" x="0" y="15" width="600" height="30"/><rect class="bar" x="0" y="15" width="${(0.6 * left).toFixed(1)}" height="30"/>`;
    const next = refused ? `Refused: ε = ${short(price)} does not fit.` : `The next question costs ε = ${short(price)}.`;
    return [picture, `<b>ε = ${left / 1000}</b> is left. ${next}`];
  });
  const price = () => Math.round(1000 * Number(place.querySelector("output").textContent));
  place.querySelector(".ask").addEventListener("click", () => {
    refused = price() > left;
    left -= refused ? 0 : price();
    show();
  });
  place.querySelector(".again").addEventListener("click", () => {
    [left, refused] = [1000, false];
    show();
  });
}
