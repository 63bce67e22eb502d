"""Whole runs: price, steps, empty batches, saving, refusals, an audit with a planted fault."""

import copy
import os
import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from discreet.checking import audit_one_run
from discreet.errors import BadData, BadParameter, ReceiptRefused
from discreet.learning.torch_training import train as module
from discreet.learning.torch_training.integers import RADIUS
from discreet.learning.torch_training.noise import Noise
from discreet.learning.torch_training.totals import Totals
from discreet.learning.torch_training.train import (
    Plan,
    PrivateTraining,
    sampled,
    train,
    usual_piece,
)
from discreet.privacy.accountants.compose import compose
from discreet.privacy.budgets.calibrate import covers
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Approx, Pure
from discreet.privacy.promises.neighbours import Neighbours

LOSS = nn.CrossEntropyLoss(reduction="none")
BUDGET = Approx(2, "1e-5")
torch.manual_seed(0)
X = torch.randn(400, 3)
Y = (X[:, 0] > 0).long()


class Silent:
    """No noise; it remembers what it was asked for."""

    asked: ClassVar[list[Fraction]] = []

    def __init__(self, sigma_squared: Fraction, parameters: list[nn.Parameter]) -> None:
        self.asked.append(sigma_squared)

    def add_to(self, totals: Totals, unit: float) -> list[torch.Tensor]:
        """The totals themselves."""
        return [t.double() * unit for t in totals.views]


def a_run(steps: int = 5, **options: Any) -> PrivateTraining:
    plan = Plan.of(BUDGET, "1/4", steps)
    return PrivateTraining(nn.Linear(3, 2), (X, Y), LOSS, plan=plan, rows=400, **options)


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "steps"), [("1/4", 20), ("1/50", 100), (1, 3)])
def test_the_plan_keeps_the_budget_and_hardly_less(rate: Any, steps: int) -> None:
    plan = Plan.of(BUDGET, rate, steps)
    spent = compose([plan.mechanism]).epsilon(BUDGET.delta)
    assert covers(plan.mechanism, BUDGET)
    assert spent.lower > 0.98 * 2
    assert plan.event == events.Approx(2, "1e-5").about(Neighbours.ADD_REMOVE)
    assert sampled(Fraction(1), Fraction(1), 2) == events.Repeat(events.Gaussian(sigma=1), 2)


@pytest.mark.slow
def test_it_learns() -> None:
    model = nn.Linear(3, 2)
    run = train(model, TensorDataset(X, Y), LOSS, budget=Approx(8, "1e-5"), rows=400, epochs=20, rate="1/8", clip=1,
                optimizer=lambda p: torch.optim.SGD(p, lr=2.0), micro_batch=32)  # fmt: skip
    assert float((model(X).argmax(1) == Y).float().mean()) > 0.85
    assert run.done == run.plan.steps == 160


@pytest.mark.slow
def test_an_empty_batch_is_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    run = a_run()
    monkeypatch.setattr(run._batches, "micro_batches", lambda: iter(()))
    before = [p.clone() for p in run.model.parameters()]
    run.step()
    assert run.done == 1
    assert all(not torch.equal(a, b) for a, b in zip(before, run.model.parameters(), strict=True))


@pytest.mark.slow
def test_the_update_is_linear_in_a_row_and_knows_no_batch_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise: the gradient of a batch is the sum over rows by one constant, whatever the batch is."""
    monkeypatch.setattr(module, "Noise", Silent)
    seen = []
    for rows in ([0, 1, 2], [0], [1], [2]):
        torch.manual_seed(1)
        run = a_run(micro_batch=4)
        pieces = [(torch.tensor(rows + [0] * (4 - len(rows))).numpy(), (torch.arange(4) < len(rows)).float().numpy())]
        monkeypatch.setattr(run._batches, "micro_batches", lambda pieces=pieces: iter(pieces))
        weight = next(run.model.parameters())
        start = weight.detach().clone()
        run.step()
        seen.append(weight.detach() - start)
    assert torch.allclose(seen[0], seen[1] + seen[2] + seen[3], atol=1e-6)
    assert float(seen[1].norm()) <= 1 / (0.25 * 400) * 1.0001


@pytest.mark.slow
def test_noise_is_what_was_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Noise", Silent)
    Silent.asked.clear()
    run = a_run()
    run.step()
    assert Silent.asked == [(run.plan.sigma * RADIUS) ** 2]


@pytest.mark.slow
def test_steps_end_with_the_plan_and_a_receipt_is_used_once() -> None:
    ledger = Filter(Approx(4, "2e-5"))
    plan = Plan.of(BUDGET, "1/4", 2)
    receipt = ledger.spend(plan.event)
    run = PrivateTraining(nn.Linear(3, 2), (X, Y), LOSS, plan=plan, rows=400, receipt=receipt)
    run.run()
    with pytest.raises(ReceiptRefused, match="all 2 steps"):
        run.step()
    with pytest.raises(ReceiptRefused):
        PrivateTraining(nn.Linear(3, 2), (X, Y), LOSS, plan=plan, rows=400, receipt=receipt)


def test_steps_of_a_run_do_not_overlap() -> None:
    run = a_run()

    def again(outputs: Any, targets: Any) -> torch.Tensor:
        with pytest.raises(ReceiptRefused, match="under way"):
            run.step()
        return LOSS(outputs, targets)

    run._sums.loss = again
    run.step()
    assert run.done == 1
    run._sums.loss = LOSS
    run.step()
    assert run.done == 2


@pytest.mark.slow
def test_a_step_that_fails_is_a_step_that_was_paid() -> None:
    run = a_run()

    def broken(outputs: Any, targets: Any) -> torch.Tensor:
        raise ZeroDivisionError

    run._sums.loss = broken
    with pytest.raises(ZeroDivisionError):
        run.run()
    assert run.done >= 1


@pytest.mark.slow
def test_save_and_resume(tmp_path: Any) -> None:
    run = a_run(4)
    run.step()
    torch.save(run.state(), tmp_path / "state.pt")
    with pytest.raises(ReceiptRefused):
        run.step()
    state = torch.load(tmp_path / "state.pt", weights_only=True)
    again = PrivateTraining.resume(state, nn.Linear(3, 2), (X, Y), LOSS, rows=400)
    assert again.plan == run.plan
    assert again.done == 1
    assert all(torch.equal(a, b) for a, b in zip(run.model.parameters(), again.model.parameters(), strict=True))
    again.run()
    assert again.done == 4
    with pytest.raises(ReceiptRefused, match="twice"):
        PrivateTraining.resume(state, nn.Linear(3, 2), (X, Y), LOSS, rows=400)
    with pytest.raises(BadData):
        PrivateTraining.resume({}, nn.Linear(3, 2), (X, Y), LOSS, rows=400)


@pytest.mark.slow
def test_a_run_is_handed_over_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by two states, nor by copies, nor in the middle of a step."""
    run = a_run(4)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(ReceiptRefused, match="copied"):
            copied(run)

    def asked(outputs: Any, targets: Any) -> torch.Tensor:
        with pytest.raises(ReceiptRefused, match="under way"):
            run.state()
        return LOSS(outputs, targets)

    monkeypatch.setattr(run._sums, "loss", asked)
    run.step()
    first, second = run.state(), run.state()
    PrivateTraining.resume(first, nn.Linear(3, 2), (X, Y), LOSS, rows=400)
    with pytest.raises(ReceiptRefused, match="twice"):
        PrivateTraining.resume(second, nn.Linear(3, 2), (X, Y), LOSS, rows=400)
    with pytest.raises(BadParameter, match="done"):
        a_run(done=-1)


@pytest.mark.slow
def test_a_run_stays_in_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that goes on after a fork would make the paid steps a second time."""
    run = a_run(4)
    run.step()
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)
    for asked in (run.step, run.run, run.state):
        with pytest.raises(ReceiptRefused, match="process"):
            asked()
    assert run.done == 1


def test_a_plan_that_was_changed_makes_no_claim() -> None:
    plan = Plan.of(BUDGET, 1, 20)
    assert plan.event == events.Approx(2, "1e-5").about(Neighbours.ADD_REMOVE)
    assert replace(plan, sigma=2 * plan.sigma).event == plan.event
    for wrong in (replace(plan, steps=40), replace(plan, sigma=plan.sigma / 2)):
        with pytest.raises(BadParameter, match=r"Plan\.of"):
            _ = wrong.event


@pytest.mark.slow
@pytest.mark.parametrize("function", [torch.sigmoid, functional.silu, functional.softplus, functional.elu])
def test_rows_of_a_piece_are_rounded_alike_wherever_they_stand(function: Any) -> None:
    """Torch computes what is left over of 32 numbers by another function: 63 rows fail, a whole piece does not."""

    def same(rows: int) -> bool:
        x = torch.randn(rows, 1001, generator=torch.Generator().manual_seed(8))
        found = function(x)
        return all(torch.equal(function(x.roll(by, 0)), found.roll(by, 0)) for by in (1, 5, 31))

    assert same(a_run(micro_batch=63)._batches.micro)


@pytest.mark.parametrize("budget", [Pure(1), Approx(0, "1e-5"), Approx(1, 0), None])
def test_budgets_that_cannot_be_kept(budget: Any) -> None:
    with pytest.raises(BadParameter, match="budget"):
        Plan.of(budget, "1/4", 3)


@pytest.mark.parametrize("clip", ["1e-13", "1e-20", "1e20", 0, -1])
def test_a_clip_that_floats_cannot_keep_is_refused(clip: Any) -> None:
    """Cells for one unit of a gradient would be infinite, and a row's integers beyond their bound."""
    with pytest.raises(BadParameter, match="clip"):
        a_run(clip=clip)


def test_a_loss_of_the_whole_batch_is_refused_before_anything_is_spent() -> None:
    plan = Plan.of(BUDGET, "1/4", 2)
    receipt = Filter(Approx(4, "2e-5")).spend(plan.event)
    with pytest.raises(BadParameter, match="reduction"):
        PrivateTraining(nn.Linear(3, 2), (X, Y), nn.CrossEntropyLoss(), plan=plan, rows=400, receipt=receipt)
    PrivateTraining(nn.Linear(3, 2), (X, Y), LOSS, plan=plan, rows=400, receipt=receipt)  # it is still good


def test_pieces_follow_from_declared_numbers_and_all_rows_are_worked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [usual_piece(Fraction(1, 4), n, 512) for n in (1, 400, 3000, 100_000)] == [1, 116, 398, 506]
    monkeypatch.setattr(module, "Noise", Silent)
    weights = []
    for micro in (None, 1, 400):
        torch.manual_seed(3)
        plan = Plan.of(BUDGET, 1, 1)
        run = PrivateTraining(nn.Linear(3, 2), (X, Y), LOSS, plan=plan, rows=100, micro_batch=micro)
        run.run()
        weights.append(next(run.model.parameters()).detach())
    assert torch.allclose(weights[0], weights[1], atol=1e-6)
    assert torch.allclose(weights[0], weights[2], atol=1e-6)


@pytest.mark.slow
def test_bad_data_and_foreign_batches() -> None:
    for data in ((X, Y[:3]), (X,), (X[:0], Y[:0])):
        with pytest.raises(BadData):
            train(nn.Linear(3, 2), data, LOSS, budget=BUDGET, rows=400, epochs=1)
    with pytest.raises(BadParameter, match="DataLoader"):
        train(nn.Linear(3, 2), DataLoader(TensorDataset(X, Y)), LOSS, budget=BUDGET, rows=400, epochs=1)


@pytest.mark.parametrize("divided_by", [1, 100, 200], ids=["honest", "a hundredth", "by the size of the batch"])
def test_canaries_find_noise_that_was_left_out(monkeypatch: pytest.MonkeyPatch, divided_by: int) -> None:
    """Canaries that each own a weight. The claim stands (false alarm below 1e-8); less noise than was priced does not:
    a hundredth, or noise that is scaled by the size of the batch.
    """
    canaries = 200
    honest = divided_by == 1
    if not honest:
        monkeypatch.setattr(module, "Noise", lambda s2, parameters: Noise(s2 / divided_by**2, parameters))

    def learn(included: list[int]) -> Any:
        model = nn.Linear(canaries, 1, bias=False)
        nn.init.zeros_(model.weight)
        x = torch.eye(canaries)[included]
        plan = Plan.of(Approx(1, "1e-10"), 1, 1)
        run = PrivateTraining(model, (x, torch.zeros(len(x))), lambda out, y: -out[:, 0], plan=plan, rows=canaries)
        run.run()
        return model.weight.detach()[0]

    report = audit_one_run(
        learn, range(canaries), score=lambda weight, i: float(weight[i]), claim=Approx(1, "1e-10"), guesses=70
    )
    assert report.refuted is not honest


def test_of_each_person_one_row_is_in_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """At rate 1 a person with 399 rows that all say the same moves the sums by at most one clipping length."""
    monkeypatch.setattr(module, "Noise", Silent)
    plan = Plan.of(BUDGET, 1, 1)
    moved = []
    for people in ([0] * 399 + [None], range(400)):
        model = nn.Linear(3, 2)
        before = [p.detach().clone() for p in model.parameters()]
        rows = X[:1].expand(400, 3).contiguous()
        run = PrivateTraining(model, (rows, Y[:1].expand(400)), LOSS, plan=plan, rows=1, unit=list(people), clip="1/64")
        run.step()
        moves = [p - q for p, q in zip(model.parameters(), before, strict=True)]
        moved.append(float(torch.cat([m.flatten() for m in moves]).norm().detach()))
    assert 0.9 / 64 < moved[0] <= 1 / 64
    assert moved[1] > 300 / 64  # the twin: as many persons as rows
    for bad in ([1, 2], 7):
        with pytest.raises(BadData, match="person of each row"):
            a_run(unit=bad)
    assert a_run(unit=torch.arange(400) // 2)._batches.rows == 200
