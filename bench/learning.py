"""Learning: scores on Adult and on small data sets, and what a private step costs beside a plain one.

``python -m bench learning`` on the processor; ``python -m bench.learning gpu`` where there is a graphics card, with
nothing but torch, numpy and this package.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEEDS = 5
TRAINED = 39_073
CATEGORIES = {1, 4, 5, 6, 7, 8, 12}


def adult() -> tuple[NDArray[np.int64], list[int]] | None:
    """Adult in integer codes, from $DISCREET_DATA or a folder shared/data beside or above the repository."""
    roots = [Path(os.environ["DISCREET_DATA"])] if "DISCREET_DATA" in os.environ else []
    roots += [parent / "shared" / "data" for parent in Path(__file__).resolve().parents]
    for root in roots:
        if (root / "adult.csv").exists():
            table = np.loadtxt(root / "adult.csv", delimiter=",", skiprows=1, dtype=np.int64)
            return table, list(json.loads((root / "adult-domain.json").read_text()).values())
    return None


def adult_scores() -> list[Any]:
    """On the fixed split of the figures, and on five others that no setting was ever looked at on."""
    from sklearn.metrics import roc_auc_score

    from bench.measure import Row
    from discreet.learning import Categorical, Numeric, TabularClassifier
    from discreet.privacy.promises.measures import Approx

    found = adult()
    if found is None:
        print("Adult was not found; set DISCREET_DATA to its folder")
        return []
    table, sizes = found
    columns = [Categorical(k) if j in CATEGORIES or k <= 16 else Numeric(0, k) for j, k in enumerate(sizes[:-1])]
    rows = []
    for epsilon, best, auc_asked, accuracy_asked in ((1, "0.9127 / 0.8585", 0.912, 0.855), ("0.1", "0.897", 0.895, 0)):
        for name, splits in (("", [0] * SEEDS), (", other splits", range(1, 1 + SEEDS))):
            aucs, accuracies, times = [], [], []
            for split in splits:
                order = np.random.default_rng(split).permutation(len(table))
                train, test = table[order[:TRAINED]], table[order[TRAINED:]]
                model = TabularClassifier(columns=columns, classes=[0, 1], budget=Approx(epsilon, "1e-5"))
                start = time.process_time()
                model.fit(train[:, :-1], train[:, -1])
                times.append(time.process_time() - start)
                score = model.decision_function(test[:, :-1])
                aucs.append(float(roc_auc_score(test[:, -1], score)))
                accuracies.append(float(((score > 0) == test[:, -1]).mean()))
            auc, accuracy = statistics.mean(aucs), statistics.mean(accuracies)
            ours = f"{auc:.4f} / {accuracy:.4f} (sd {statistics.stdev(aucs):.4f})"
            task = f"Adult AUC / accuracy at ({epsilon}, 1e-5){name}"
            rows.append(Row(task, ours, "best, tuned", best, auc / auc_asked, 1))
            if accuracy_asked:
                rows.append(Row("  accuracy", f"{accuracy:.4f}", "asked", "0.855", accuracy / accuracy_asked, 1))
        seconds = statistics.median(times)
        rows.append(Row("  fit, CPU seconds", f"{seconds:.3f} s", "asked", "0.5 s", 0.5 / seconds, 1))
    return rows


def friedman(rows: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Friedman's first function: ten columns, five of which matter, two of them together."""
    dice = np.random.default_rng(0)
    x = dice.uniform(size=(rows, 10))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x, y + dice.normal(size=rows)


def regression_tables() -> list[tuple[str, list[Any], NDArray[Any], NDArray[Any], tuple[int, int], int]]:
    """Name, columns, rows, targets, their bounds, and how many rows are trained on."""
    from discreet.learning import Categorical, Numeric

    tables: list[Any] = []
    found = adult()
    if found is not None:
        table, sizes = found
        for name, target in (("Adult, hours a week", 11), ("Adult, age", 0)):
            kept = [j for j in range(len(sizes) - 2) if j != target]
            columns = [
                Categorical(sizes[j]) if j in CATEGORIES or sizes[j] <= 16 else Numeric(0, sizes[j]) for j in kept
            ]
            tables.append((name, columns, table[:, kept], table[:, target], (0, sizes[target]), TRAINED))
    for rows in (4_000, 20_000):
        x, y = friedman(rows + 4_000)
        tables.append((f"Friedman, {rows} rows", [Numeric(0, 1)] * 10, x, y, (0, 30), rows))
    return tables


def regressions() -> list[Any]:
    """R² of shapes on rows that were not trained on, beside lines, and DP-EBM where interpret is installed."""
    from bench.measure import Row
    from discreet.learning import LinearRegression, TabularRegressor
    from discreet.privacy.promises.measures import Approx

    rows = []
    for name, columns, x, y, bounds, trained in regression_tables():
        for epsilon in ("0.5", 1):
            budget = Approx(epsilon, "1e-5")
            scores: dict[str, list[float]] = {"": [], "LinearRegression": [], "DP-EBM": []}
            for split in range(3):
                order = np.random.default_rng(split).permutation(len(y))
                train, test = order[:trained], order[trained:]
                shapes = TabularRegressor(columns=columns, target_bounds=bounds, budget=budget)
                line = LinearRegression(bounds=[*map(_ends, columns)], target_bounds=bounds, budget=budget)
                scores[""].append(shapes.fit(x[train], y[train]).score(x[test], y[test]))
                scores["LinearRegression"].append(line.fit(x[train], y[train]).score(x[test], y[test]))
                theirs = _boosted(columns, x[train], y[train], bounds=bounds, epsilon=float(epsilon))
                if theirs is not None:
                    spread = ((y[test] - y[test].mean()) ** 2).sum()
                    scores["DP-EBM"].append(float(1 - ((y[test] - theirs.predict(x[test])) ** 2).sum() / spread))
            ours = statistics.mean(scores.pop(""))
            for peer, values in scores.items():
                if values:
                    mean = statistics.mean(values)
                    task = f"{name}: R2 at epsilon {epsilon}"
                    rows.append(Row(task, f"{ours:.3f}", peer, f"{mean:.3f}", float(ours > mean), 1))
    return rows


def _ends(column: Any) -> tuple[float, float]:
    """Of numbers, or of codes."""
    return (float(column.low), float(column.high)) if hasattr(column, "low") else (0.0, column.size - 1.0)


def _boosted(columns: list[Any], x: Any, y: Any, *, bounds: tuple[int, int] | None, epsilon: float) -> Any:
    """DP-EBM of interpret, with our public facts; None where it is not installed."""
    from importlib import import_module

    from discreet.learning import Numeric

    try:
        privacy: Any = import_module("interpret.privacy")
    except ImportError:
        return None
    facts = {
        "feature_types": ["continuous" if isinstance(c, Numeric) else "nominal" for c in columns],
        "epsilon": epsilon, "delta": 1e-5, "privacy_bounds": dict(enumerate(map(_ends, columns))),
    }  # fmt: skip
    if bounds is None:
        return privacy.DPExplainableBoostingClassifier(**facts).fit(x, y)
    low, high = bounds
    return privacy.DPExplainableBoostingRegressor(**facts, privacy_target_min=low, privacy_target_max=high).fit(x, y)


def boosted_classes() -> list[Any]:
    """AUC on Adult beside DP-EBM."""
    from sklearn.metrics import roc_auc_score

    from bench.measure import Row
    from discreet.learning import Categorical, Numeric

    found = adult()
    if found is None:
        return []
    table, sizes = found
    columns = [Categorical(k) if j in CATEGORIES or k <= 16 else Numeric(0, k) for j, k in enumerate(sizes[:-1])]
    order = np.random.default_rng(0).permutation(len(table))
    train, test = table[order[:TRAINED]], table[order[TRAINED:]]
    rows = []
    for epsilon in ("0.5", 1):
        theirs = _boosted(columns, train[:, :-1], train[:, -1], bounds=None, epsilon=float(epsilon))
        if theirs is None:
            print("interpret is not installed: its rows are left out")
            return []
        peer = float(roc_auc_score(test[:, -1], theirs.predict_proba(test[:, :-1])[:, 1]))
        ours = _ours(columns, train, test, epsilon)
        rows.append(Row(f"Adult AUC at epsilon {epsilon}", f"{ours:.4f}", "DP-EBM", f"{peer:.4f}", ours / peer, 1))
    return rows


def people() -> list[Any]:
    """Adult, each person with 1 to 50 copies of their row, as one unit, beside one row a person."""
    from sklearn.metrics import roc_auc_score

    from bench.measure import Row
    from discreet.learning import Categorical, Numeric, TabularClassifier
    from discreet.privacy.promises.measures import Approx

    found = adult()
    if found is None:
        return []
    table, sizes = found
    columns = [Categorical(k) if j in CATEGORIES or k <= 16 else Numeric(0, k) for j, k in enumerate(sizes[:-1])]
    order = np.random.default_rng(0).permutation(len(table))
    train, test = table[order[:TRAINED]], table[order[TRAINED:]]
    people = np.repeat(np.arange(TRAINED), np.random.default_rng(1).integers(1, 51, TRAINED))
    scores: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(3):
        for several, scored in scores.items():
            model = TabularClassifier(columns=columns, classes=[0, 1], budget=Approx(1, "1e-5"))
            rows, unit = (train[people], people) if several else (train, None)
            model.fit(rows[:, :-1], rows[:, -1], unit=unit)
            scored.append(float(roc_auc_score(test[:, -1], model.decision_function(test[:, :-1]))))
    one, many = (statistics.mean(scored) for scored in scores.values())
    task = "Adult AUC, 1 to 50 rows a person: within 0.01 of one row"
    return [Row(task, f"{many:.4f}", "one row a person", f"{one:.4f}", float(many > one - 0.01), 1)]


def diabetes() -> list[Any]:
    from sklearn.datasets import load_diabetes

    from bench.measure import Row
    from discreet.learning import LinearRegression
    from discreet.privacy.promises.measures import Approx

    x, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    train, test = order[:353], order[353:]
    rows = []
    for epsilon, peer, least in ((10, "0.30", 0.30), (1, "0.04", 0.0), ("0.1", "-0.22", -0.25)):
        scores = [
            LinearRegression(bounds=(-0.2, 0.2), target_bounds=(0, 350), budget=Approx(epsilon, "1e-5"), length=0.7)
            .fit(x[train], y[train])
            .score(x[test], y[test])
            for _ in range(50)
        ]
        mean = statistics.mean(scores)
        task = f"diabetes R2 at epsilon {epsilon}, 50 fits"
        rows.append(Row(task, f"{mean:.3f} (least {min(scores):.2f})", "AdaSSP", peer, float(mean >= least), 1))
    return rows


def in_turns(works: list[Callable[[], object]], *, rounds: int = 15, calls: int = 48) -> list[float]:
    """CPU seconds of each work at its quickest, taken in turns so that a busy machine hits all alike.

    So many calls at once that what is drawn ahead (noise, for 6 or 44 steps of these models) is drawn in each of them.
    """
    for work in works:
        for _ in range(3):
            work()
    blocks: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for block, work in zip(blocks, works, strict=True):
            start = time.process_time()
            for _ in range(calls):
                work()
            block.append((time.process_time() - start) / calls)
    return [min(block) for block in blocks]


def steps() -> list[Any]:
    """One step of an MLP 586-128-2 with 512 rows, and an epoch on a table of Adult's size, private beside plain.

    Plain with batches of the same law; and, nothing being asked, with those of a shuffled epoch: no coin a row.
    """
    import torch
    from torch import nn

    from bench.measure import Row
    from discreet.learning.torch_training.batches import read_rate
    from discreet.learning.torch_training.train import Plan, PrivateTraining
    from discreet.privacy.promises.measures import Approx

    torch.set_num_threads(1)
    loss = nn.CrossEntropyLoss(reduction="none")

    def network(*widths: int) -> nn.Module:
        layers = [nn.Linear(a, b) for a, b in pairwise(widths)]
        return nn.Sequential(*[part for layer in layers for part in (layer, nn.ReLU())][:-1])

    def compared(name: str, widths: tuple[int, ...], batch: int, total: int, asked: float) -> list[Row]:
        x = (torch.rand(total, widths[0]) < 13 / widths[0]).float()
        y = torch.randint(0, 2, (total,))
        model, twin = network(*widths), network(*widths)
        optimizer = torch.optim.SGD(twin.parameters(), lr=0.1)
        plan = Plan(Approx(1, "1e-5"), read_rate(Fraction(batch, total)), 1 << 30, Fraction(1))
        run = PrivateTraining(model, (x, y), loss, plan=plan, rows=total)

        def plain(picked: torch.Tensor | None) -> None:
            optimizer.zero_grad()
            rows, targets = (x, y) if picked is None else (x.index_select(0, picked), y.index_select(0, picked))
            loss(twin(rows), targets).mean().backward()
            optimizer.step()

        def poisson() -> None:
            plain(None if batch == total else (torch.rand(total) < batch / total).nonzero().squeeze(1))

        shuffled = (part for _ in repeat(None) for part in torch.split(torch.randperm(total), batch)[: total // batch])
        ours, *others = in_turns([run.step, poisson, lambda: plain(next(shuffled))])
        task, mine = f"{name}: private at most {asked:g} times plain", f"{ours * 1e3:.2f} ms"
        peers = zip(("plain torch", "plain torch, shuffled batches"), others, (1, 0), strict=True)
        return [Row(task, mine, peer, f"{t * 1e3:.2f} ms", asked * t / ours, target) for peer, t, target in peers]

    figures = [
        compared("step, MLP 586-128-2, batch 512", (586, 128, 2), 512, 512, 2)[:1],
        compared("step of an epoch, MLP 586-128-2, batch 512", (586, 128, 2), 512, 39_073, 1.25),
        compared("step of an epoch, logistic 180-2, 39,073 rows", (180, 2), 1002, 39_073, 1.25),
        compared("step of an epoch, MLP 180-64-2, 39,073 rows", (180, 64, 2), 1002, 39_073, 1.25),
    ]
    return [row for rows in figures for row in rows]


def one_hot(columns: list[Any], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Public bins, one column of 0 and 1 for each."""
    from discreet.learning.preprocessing.columns import codes_of

    codes = codes_of(rows, columns)
    return np.concatenate([np.eye(c.size)[codes[:, j]] for j, c in enumerate(columns)], axis=1)


def peers() -> list[Any]:
    """diffprivlib and Opacus on the same split and bins, where they are installed (bench/requirements.txt)."""
    found = adult()
    if found is None:
        return []
    table, sizes = found
    from discreet.learning import Categorical, Numeric

    columns = [Categorical(k) if j in CATEGORIES or k <= 16 else Numeric(0, k) for j, k in enumerate(sizes[:-1])]
    order = np.random.default_rng(0).permutation(len(table))
    train, test = table[order[:TRAINED]], table[order[TRAINED:]]
    rows = []
    for name, beside in (("diffprivlib", _beside_diffprivlib), ("opacus", _beside_opacus)):
        try:
            version(name)
        except PackageNotFoundError:
            print(f"{name} is not installed: its rows are left out")
        else:
            rows += beside(columns, train, test)
    return rows


def _ours(columns: list[Any], train: NDArray[np.int64], test: NDArray[np.int64], epsilon: Any = 1) -> float:
    from sklearn.metrics import roc_auc_score

    from discreet.learning import TabularClassifier
    from discreet.privacy.promises.measures import Approx

    model = TabularClassifier(columns=columns, classes=[0, 1], budget=Approx(epsilon, "1e-5"))
    scores = model.fit(train[:, :-1], train[:, -1]).decision_function(test[:, :-1])
    return float(roc_auc_score(test[:, -1], scores))


def _beside_diffprivlib(columns: list[Any], train: NDArray[np.int64], test: NDArray[np.int64]) -> list[Any]:
    """Its logistic regression and naive Bayes, epsilon 1 (pure), norms and bounds from the public bins."""
    from importlib import import_module

    from sklearn.metrics import roc_auc_score

    from bench.measure import Row

    models: Any = import_module("diffprivlib.models")
    ours, x, seen = _ours(columns, train, test), one_hot(columns, train[:, :-1]), one_hot(columns, test[:, :-1])
    norm = len(columns) ** 0.5
    rows = []
    for name, model in (
        ("LogisticRegression", models.LogisticRegression(epsilon=1, data_norm=norm, max_iter=500)),
        ("GaussianNB", models.GaussianNB(epsilon=1, bounds=(0, 1), priors=None)),
    ):
        scores = model.fit(x, train[:, -1]).predict_proba(seen)[:, 1]
        theirs = float(roc_auc_score(test[:, -1], scores))
        peer = f"diffprivlib {version('diffprivlib')} {name}"
        rows.append(Row("Adult AUC at epsilon 1", f"{ours:.4f}", peer, f"{theirs:.4f}", ours / theirs, 1))
    return rows


def _beside_opacus(columns: list[Any], train: NDArray[np.int64], test: NDArray[np.int64]) -> list[Any]:
    """DP-SGD of a logistic model at (1, 1e-5), ten epochs of about 39 steps: its score, and CPU seconds of an epoch."""
    from importlib import import_module

    import torch
    from sklearn.metrics import roc_auc_score
    from torch import nn

    import discreet as dp
    from bench.measure import Row

    torch.set_num_threads(1)
    engine: Any = import_module("opacus").PrivacyEngine
    x = torch.tensor(one_hot(columns, train[:, :-1]), dtype=torch.float32)
    y = torch.tensor(train[:, -1])
    seen = torch.tensor(one_hot(columns, test[:, :-1]), dtype=torch.float32)
    epochs, batch = 10, 1002

    def score(model: nn.Module) -> float:
        with torch.no_grad():
            out = model(seen)
        return float(roc_auc_score(test[:, -1], (out[:, 1] - out[:, 0]).numpy()))

    def theirs() -> nn.Module:
        model: Any = nn.Linear(x.shape[1], 2)
        data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=batch)
        model, optimizer, loader = engine().make_private_with_epsilon(
            module=model, optimizer=torch.optim.SGD(model.parameters(), lr=2.0), data_loader=data,
            target_epsilon=1, target_delta=1e-5, epochs=epochs, max_grad_norm=1.0,
        )  # fmt: skip
        start.append(time.process_time())
        for _ in range(epochs):
            for rows, labels in loader:
                optimizer.zero_grad()
                loss: Any = nn.functional.cross_entropy(model(rows), labels)
                loss.backward()
                optimizer.step()
        start.append(time.process_time())
        return model  # type: ignore[no-any-return]

    def ours() -> nn.Module:
        model = nn.Linear(x.shape[1], 2)
        loss = nn.CrossEntropyLoss(reduction="none")
        rate = Fraction(batch, len(x))
        private = dp.learning.train(
            model, (x, y), loss, budget=dp.Approx(1, "1e-5"), rows=len(x), epochs=epochs, rate=rate, clip=1,
            optimizer=lambda parameters: torch.optim.SGD(parameters, lr=2.0), progress=False,
        )  # fmt: skip
        plan = private.plan
        again = dp.learning.PrivateTraining(nn.Linear(x.shape[1], 2), (x, y), loss, plan=plan, rows=len(x))
        start.append(time.process_time())
        for _ in range(plan.steps):
            again.step()
        start.append(time.process_time())
        return model

    figures = []
    for work in (ours, theirs):
        start: list[float] = []
        made = work()
        figures.append((score(made), (start[1] - start[0]) / epochs))
    (mine, cpu), (peer, slow) = figures
    name = f"Opacus {version('opacus')}, logistic"
    return [
        Row("Adult AUC at (1, 1e-5), TabularClassifier", f"{_ours(columns, train, test):.4f}", name, f"{peer:.4f}",
            _ours(columns, train, test) / peer, 1),
        Row("  the same model by dp.learning.train", f"{mine:.4f}", name, f"{peer:.4f}", mine / peer, 0.99),
        Row("  CPU seconds of an epoch", f"{cpu:.3f} s", name, f"{slow:.3f} s", slow / cpu, 4),
    ]  # fmt: skip


def main() -> None:
    from bench.measure import show

    show("Learning", [*adult_scores(), *boosted_classes(), *regressions(), *people(), *diabetes(), *peers(), *steps()])


if __name__ == "__main__":
    if sys.argv[1:] == ["gpu"]:
        from bench.learning_gpu import main as on_a_card

        on_a_card()
    else:
        main()
