"""What a budget is good for, by the rule that counts it; and how much noise an (ε, δ) takes, exactly and through zCDP.

python -m bench.budgets
"""

from __future__ import annotations

from fractions import Fraction

from rich.console import Console
from rich.table import Table

import discreet as dp
from discreet.privacy.accountants.conversions import largest_gdp, largest_zcdp
from discreet.privacy.accountants.gaussian_vectors import vector_budget
from discreet.privacy.budgets.either import slack_of

BUDGET = dp.Approx(1, "1e-6")
HALF = Fraction(1, 2)
NUMBERS = (1, 5, 10, 17, 30, 100, 1000)


def error_of_each(rule: dp.Rule, questions: int) -> float:
    """The 95 % error of a count when so many, all alike, use up the budget; EITHER by whichever of its sums is better.

    >>> error_of_each(dp.Rule.BASIC, 1) == error_of_each(dp.Rule.EITHER, 1) < error_of_each(dp.Rule.ZCDP, 1)
    True
    """
    people = dp.table({"person": [1]}, unit="person", max_rows=1)
    asked = dp.Session(people=people, budget=BUDGET, rule=rule).sql("SELECT COUNT(*) AS n FROM people")
    slack = slack_of(BUDGET.delta, HALF) if rule is dp.Rule.EITHER else BUDGET.delta * HALF
    found = []
    if rule is not dp.Rule.ZCDP:
        found.append(asked.preview(epsilon=BUDGET.epsilon / questions).error("n"))
    if rule is not dp.Rule.BASIC:
        rho = largest_zcdp(dp.Approx(BUDGET.epsilon, slack)).rho
        found.append(asked.preview(rho=rho / questions).error("n"))
    return min(found)


def rules() -> None:
    """The error of each question by the rule of the budget."""
    named = (dp.Rule.BASIC, dp.Rule.ZCDP, dp.Rule.EITHER)
    table = Table("questions", *(rule.name for rule in named), title=f"95 % error of a count, {BUDGET} in all")
    for questions in NUMBERS:
        table.add_row(str(questions), *(f"± {error_of_each(rule, questions):.3g}" for rule in named))
    Console().print(table)


def gaussian() -> None:
    """σ of discrete Gaussian noise on a vector that moves by 1,000 cells, beside the continuous optimum."""
    table = Table("(ε, δ)", "continuous", "discrete, made for (ε, δ)", "through zCDP")
    moved = 10**6
    for promise in (dp.Approx(1, "1e-6"), dp.Approx("0.1", "1e-7"), dp.Approx("0.01", "1e-9"), dp.Approx(3, "1e-9")):
        best = float(moved / largest_gdp(promise).mu_squared) ** 0.5
        ours = float(vector_budget(promise).sigma_squared(moved, coordinates=moved)) ** 0.5
        before = float(moved / (2 * largest_zcdp(promise).rho)) ** 0.5
        table.add_row(str(promise), f"{best:,.0f}", f"{ours / best - 1:+.2%}", f"{before / best - 1:+.1%}")
    Console().print(table)


def main() -> None:
    rules()
    gaussian()


if __name__ == "__main__":
    main()
