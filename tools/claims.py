"""The register of claims: whatever is public and states a price, with what that price is about.

One row for each theorem: who states it, for which neighbours, whose data one step is about, over what it holds, where
it is proven, and which test holds the exact laws (or every strategy) against it. What only carries a number that
another object states is listed apart, with where the number comes from.

To add a class: put it into the row whose theorem it states, or write a new row. ``python -m tools.promises`` then
writes the page; ``tests/test_claims.py`` says what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass

STATES = frozenset({"spent", "charged", "cost", "event", "epsilon", "certified", "promise", "price", "reading"})
"""A public class with one of these, of its own or inherited, states a price or carries one."""

ANY = "as its parameters say"
ONE = "one release"
STRATEGIES = "every adaptive strategy"
NO_COPIES = "copies and forks are refused"
LEARNED = "add/remove, where both have a row"


@dataclass(frozen=True, slots=True)
class Claim:
    """One row: the classes that state one theorem."""

    about: str
    names: tuple[str, ...]
    """Dotted, without ``discreet.`` in front."""
    neighbours: str
    unit: str
    over: str
    proof: str
    """A file below src/discreet."""
    test: str
    """A test that enumerates: ``tests/...py::name``."""


CLAIMS = (
    # --- mechanisms ---------------------------------------------------------------------------------------------------
    Claim(
        "Laplace noise", ("mechanisms.additive.laplace.Laplace",), "any, within the sensitivity", "the caller's", ONE,
        "mechanisms/additive/laplace.md", "tests/contracts/test_mechanisms.py::test_no_price_is_refuted_by_neighbours",
    ),
    Claim(
        "Gaussian noise", ("mechanisms.additive.gaussian.Gaussian",), "any, within the sensitivity", "the caller's",
        ONE, "mechanisms/additive/gaussian.md",
        "tests/contracts/test_mechanisms.py::test_no_price_is_refuted_by_neighbours",
    ),
    Claim(
        "choices by score",
        (
            "mechanisms.selection.exponential.Exponential", "mechanisms.selection.permute_and_flip.PermuteAndFlip",
            "mechanisms.selection.noisy_max.NoisyMax", "mechanisms.selection.shared.Selection",
        ),
        "any, within the sensitivity of a score; add/remove with monotone=True", "the caller's", ONE,
        "mechanisms/selection/exponential.md",
        "tests/contracts/test_mechanisms.py::test_no_price_is_refuted_by_neighbours",
    ),
    Claim(
        "the k best", ("mechanisms.selection.top_k.TopK",),
        "any, within the sensitivity of a score; add/remove with monotone=True", "the caller's", ONE,
        "mechanisms/selection/top_k.md",
        "tests/contracts/test_mechanisms.py::test_no_price_is_refuted_by_neighbours",
    ),
    Claim(
        "randomized response",
        (
            "mechanisms.selection.randomized_response.RandomizedResponse",
            "mechanisms.selection.randomized_response.LabelledResponse",
        ),
        "any two values", "one person's value", ONE, "mechanisms/selection/randomized_response.md",
        "tests/contracts/test_mechanisms.py::test_no_price_is_refuted_by_neighbours",
    ),
    Claim(
        "above threshold", ("mechanisms.selection.above_threshold.AboveThreshold",),
        "any, within the sensitivity of an answer; add/remove with monotone=True", "the caller's",
        f"a run, {STRATEGIES}; {NO_COPIES}",
        "mechanisms/selection/above_threshold.md",
        "tests/checking/exact/test_interactive_own.py::test_a_sparse_vector_keeps_its_price_over_every_strategy",
    ),
    Claim(
        "what a query chooses in its own charge", ("query.choose.clips.Ascents", "query.choose.choosing.Choosing"),
        "the session's", "the table's unit", "one release: the choices and the answer; a failure draws nothing twice",
        "query/choose/choosing.md",
        "tests/query/choose/test_clips.py::test_no_pair_of_small_tables_refutes_the_price",
    ),
    Claim(
        "propose, test, release", ("mechanisms.selection.propose_test_release.ProposeTestRelease",),
        "any, within the distance to instability", "the caller's", ONE,
        "mechanisms/selection/propose_test_release.md",
        "tests/contracts/test_mechanisms.py::test_no_price_is_refuted_by_neighbours",
    ),
    Claim(
        "undeclared keys",
        ("mechanisms.selection.key_selection.ThresholdKeys", "mechanisms.selection.key_selection.OptimalKeys"),
        "one unit added or removed; a changed unit is two steps", "a unit with keys_per_unit keys", ONE,
        "mechanisms/selection/key_selection.md",
        "tests/contracts/test_mechanisms.py::test_no_price_is_refuted_by_neighbours",
    ),
    Claim(
        "statistics of rows",
        (
            "mechanisms.statistics.counting.Histogram", "mechanisms.statistics.counting.AttributeCounts",
            "mechanisms.statistics.counting.Shares", "mechanisms.statistics.cumulative.Cumulative",
            "mechanisms.statistics.marginals.Marginals", "mechanisms.statistics.noised.Noised",
            "mechanisms.statistics.sums.Count", "mechanisms.statistics.sums.BoundedSum",
            "mechanisms.statistics.tree.Hierarchy",
        ),
        "add/remove or change-one, as neighbours= says", "a row", ONE, "mechanisms/statistics/counting.md",
        "tests/contracts/test_mechanisms.py::test_no_price_is_refuted_by_neighbours",
    ),
    Claim(
        "moments", ("mechanisms.statistics.moments.Moments",), "add/remove or change-one, as neighbours= says",
        "a row", ONE, "mechanisms/statistics/moments.md",
        "tests/contracts/test_mechanisms.py::test_no_price_is_refuted_by_neighbours",
    ),
    Claim(
        "quantiles", ("mechanisms.statistics.quantiles.Quantiles",), "add/remove or change-one, as neighbours= says",
        "a row", ONE, "mechanisms/statistics/quantiles.md",
        "tests/contracts/test_mechanisms.py::test_no_price_is_refuted_by_neighbours",
    ),
    # --- weak randomness ----------------------------------------------------------------------------------------------
    Claim(
        "Laplace noise from biased bits", ("biased.laplace.BiasedLaplace",), "any, within the sensitivity",
        "the caller's", "one release of one stream of bits; costs of several do not add up", "biased/laplace.md",
        "tests/biased/test_laplace.py::test_the_price_holds_under_the_worst_source",
    ),
    Claim(
        "randomized response from biased bits", ("biased.randomized_response.BiasedResponse",), "any two values",
        "one person's value", "one release of one stream of bits; costs of several do not add up",
        "biased/bit_tree.md",
        "tests/biased/test_randomized_response.py::test_no_source_on_short_strings_beats_the_price",
    ),
    # --- stable maps --------------------------------------------------------------------------------------------------
    Claim(
        "a map, then a mechanism",
        (
            "stable.core.release.Release", "stable.core.release.Behind", "stable.core.release.Measured",
            "stable.core.release.Prepared", "stable.core.release.Then",
        ),
        "as its input metric says", "a row, or a unit with all its rows", "one release, at every distance",
        "stable/core/release.py",
        "tests/stable/core/test_release.py::test_noise_behind_a_map_keeps_its_price_on_all_small_data",
    ),
    Claim(
        "one after the other", ("stable.composing.Sequential",), "as its input metric says",
        "a row, or a unit with all its rows", "a list that is fixed in advance", "stable/composing.py",
        "tests/stable/test_composing.py::test_the_price_of_a_sequence_is_enough",
    ),
    Claim(
        "side by side on parts", ("stable.composing.Parallel",), "as its input metric says; a change may touch two",
        "a row; a unit only behind a cap", "one release of all parts, whose keys are public and fixed before it",
        "stable/composing.py", "tests/stable/test_composing.py::test_the_price_of_parts_is_enough",
    ),
    # --- budgets ------------------------------------------------------------------------------------------------------
    Claim(
        "a filter", ("privacy.budgets.filters.Filter",), "one relation for all charges", "that of the charges",
        f"a sequence, {STRATEGIES} and every choice of costs; {NO_COPIES}; what was charged so far is no odometer",
        "privacy/budgets/filters.py",
        "tests/checking/exact/test_interactive_own.py::"
        "test_a_filter_keeps_its_budget_against_every_choice_of_prices",
    ),
    Claim(
        "an odometer", ("privacy.budgets.odometers.Odometer", "privacy.budgets.odometers.PureOdometer"),
        "one relation for all charges", "that of the charges",
        f"a sequence, {STRATEGIES}, wherever it is stopped; {NO_COPIES}",
        "privacy/budgets/odometers.py",
        "tests/checking/exact/test_interactive_own.py::test_an_odometer_holds_wherever_the_adversary_stops",
    ),
    Claim(
        "a session of stable maps", ("stable.interact.Interaction",), "one relation for all releases",
        "a row, or a unit with all its rows", f"a sequence, {STRATEGIES}; copies share one budget, forks are refused",
        "privacy/budgets/filters.py",
        "tests/checking/exact/test_interactive_own.py::"
        "test_an_interaction_keeps_its_budget_also_through_copies",
    ),
    Claim(
        "composition of what was declared",
        ("privacy.accountants.compose.Composition", "privacy.pld.certify.Workload"),
        "one relation for all events", "that of the events", "a list that is fixed in advance", "privacy/pld/pld.md",
        "tests/privacy/pld/test_certify.py::test_delta_of_any_small_product_is_enclosed",
    ),
    Claim(
        "optimal composition of boxes",
        ("privacy.accountants.optimal.Optimal", "privacy.accountants.optimal.BoundedRange"),
        "one relation for all events", "that of the events", "boxes of fixed costs, chosen adaptively",
        "privacy/accountants/bounded_range.md",
        "tests/privacy/accountants/test_optimal.py::"
        "test_no_adaptive_choice_of_boxes_of_bounded_range_is_worse_than_said",
    ),
    # --- streams ------------------------------------------------------------------------------------------------------
    Claim(
        "totals over time, keys that are listed",
        ("continual.counter.Counter", "continual.release.OverStream", "continual.release.Plan"),
        "a move of one unit: steps, keys_per_step, sensitivity; a changed unit moves in old steps and new ones",
        "a unit over the whole stream", f"the whole stream, {STRATEGIES}, restored states; {NO_COPIES}",
        "continual/release.md",
        "tests/checking/exact/test_interactive_own.py::"
        "test_a_counter_keeps_its_price_through_saves_restores_and_copies",
    ),
    Claim(
        "totals over time, undeclared keys", ("continual.histogram.Histogram",),
        "a move of one unit: steps, keys_per_step, keys_per_unit, sensitivity; added, removed or changed",
        "a unit over the whole stream", f"the whole stream, {STRATEGIES}, restored states; {NO_COPIES}",
        "continual/release.md",
        "tests/continual/test_histogram_unlisted.py::test_a_unit_that_comes_cancels_or_changes_is_protected",
    ),
    Claim(
        "alarms over time", ("continual.alarms.Alarm",), "a move of one unit by sensitivity in all",
        "a unit over the whole stream", f"the whole stream, {STRATEGIES}; {NO_COPIES}", "continual/release.md",
        "tests/checking/exact/test_interactive_own.py::test_an_alarm_keeps_its_price_over_every_stream",
    ),
    Claim(
        "leaders over time", ("continual.alarms.Leaders", "continual.alarms.Leading"),
        "a move of one unit by sensitivity in all", "a unit over the whole stream",
        f"the whole stream, {STRATEGIES}; {NO_COPIES}", "continual/release.md",
        "tests/continual/test_alarms.py::test_no_sequence_of_leaders_tells_more_than_was_paid",
    ),
    Claim(
        "dashboards", ("continual.table_streams.TablePlan", "session.board.Board", "session.board.BoardPreview"),
        "add/remove or change-one, as the session says", "a unit over the whole horizon",
        "the whole horizon, with other queries in between; a crash and a restored state; copies are refused",
        "continual/by_day.md",
        "tests/continual/test_table_streams.py::test_no_two_lives_of_a_person_are_farther_apart_than_is_priced",
    ),
    # --- queries ------------------------------------------------------------------------------------------------------
    Claim(
        "a query of tables",
        ("query.estimate.noise_plan.NoisePlan", "query.estimate.noise_plan.Noised", "query.run.Quote"),
        "add/remove or change-one, as the session says", "a unit with all its rows", "one query, all its numbers",
        "query/estimate/noise_plan.md",
        "tests/query/estimate/test_noise_plan.py::test_how_far_a_changed_unit_moves_things_by_enumeration",
    ),
    Claim(
        "quantiles of a query", ("query.estimate.quantile_search.Search",),
        "add/remove or change-one, as the session says", "a unit with all its rows", "one query, all its groups",
        "query/estimate/quantile_search.md",
        "tests/query/estimate/test_quantile_search.py::test_choices_in_all_groups_cost_what_they_say",
    ),
    # --- the local model ----------------------------------------------------------------------------------------------
    Claim(
        "frequency oracles",
        (
            "local.oracle.Oracle", "local.hadamard.Hadamard", "local.hashing.Hashing", "local.response.Response",
            "local.subset.Subset", "local.unary.Unary",
        ),
        "any two values", "one person's value", "one report with fresh randomness", "local/oracles.md",
        "tests/local/test_oracle.py::test_the_exact_law_keeps_its_promise_and_nearly_uses_it_up",
    ),
    Claim(
        "RAPPOR with a memory", ("local.rappor.Rappor", "local.rappor.Device"), "any two values",
        "one person's value", "all reports of a device, with at most so many changes of the value", "local/oracles.md",
        "tests/local/test_rappor.py::test_the_price_is_that_of_the_worst_pair_of_all_sequences",
    ),
    Claim(
        "means of reports",
        ("local.means.MeanOracle", "local.means.Duchi", "local.means.Piecewise", "local.means.Hybrid"),
        "any two values", "one person's value", "one report", "local/means.md",
        "tests/local/test_means.py::test_the_exact_law_keeps_its_promise",
    ),
    Claim(
        "common texts", ("local.heavy_hitters.HeavyHitters",), "any two texts", "one person's text", "one report",
        "local/oracles.md", "tests/local/test_oracle.py::test_the_exact_law_keeps_its_promise_and_nearly_uses_it_up",
    ),
    Claim(
        "noise in shares",
        ("local.distributed.Shares", "local.distributed.LaplaceShares", "local.distributed.GaussianShares"),
        "change-one, with a dummy report for who is absent", "one person's number", "one sum", "local/distributed.md",
        "tests/local/test_distributed.py::"
        "test_the_claims_hold_for_every_change_of_one_client_and_everybody_who_may_drop_out",
    ),
    # --- synthetic data and learning ----------------------------------------------------------------------------------
    Claim(
        "multiplicative weights, online", ("synthetic.pmw.Stream",), "add/remove", "a unit, as its source says",
        f"the whole stream, {STRATEGIES}; copies share one filter, forks are refused; what was charged so far is no "
        "odometer",
        "synthetic/pmw.md",
        "tests/synthetic/test_pmw.py::test_no_sequence_of_questions_and_replies_costs_more_than_was_given",
    ),
    Claim(
        "what synthetic data spend",
        (
            "synthetic.spending.Spending", "synthetic.mwem.Weighted", "synthetic.direct.Answers",
            "synthetic.result.Synthetic",
        ),
        "add/remove", "a unit, as its source says",
        f"all choices and measurements, {STRATEGIES}; copies share a filter",
        "synthetic/spending.md",
        "tests/synthetic/test_spending.py::test_a_choice_keeps_its_price_and_the_price_of_a_monotone_one_is_refuted",
    ),
    Claim(
        "tables over a hierarchy that add up",
        ("synthetic.hierarchical.plan.HierarchicalPlan", "synthetic.hierarchical.released.PublishedTables"),
        "add/remove", "a unit, as its source says",
        "all tables of one publication, measured once; integers and rows are functions of them",
        "synthetic/hierarchical/hierarchical.md",
        "tests/synthetic/hierarchical/test_measure.py::test_the_joint_law_keeps_the_budget_for_every_row",
    ),
    Claim(
        "statistical queries",
        (
            "learning.oracle.Oracle", "learning.oracle_noise.OracleNoise", "learning.oracle_noise.GaussianNoise",
            "learning.oracle_noise.LaplaceNoise",
        ),
        LEARNED, "a row", f"all answers, {STRATEGIES}; {NO_COPIES}", "learning/oracle_noise.md",
        "tests/learning/test_oracle.py::test_no_sequence_of_questions_costs_more_than_was_given",
    ),
    Claim(
        "estimators",
        (
            "learning.estimator.Estimator", "learning.models.kmeans.KMeans",
            "learning.models.linear.LinearRegression", "learning.models.generalized.Generalized",
            "learning.models.generalized.Logit", "learning.models.generalized.PoissonRegression",
            "learning.models.logistic.LogisticRegression",
            "learning.models.logistic.LinearClassifier", "learning.models.tabular.TabularClassifier",
            "learning.models.tabular.TabularRegressor", "learning.models.naive_bayes.Bayes",
            "learning.models.naive_bayes.CategoricalNB", "learning.models.naive_bayes.GaussianNB",
            "learning.models.pca.PCA", "learning.preprocessing.scaling.StandardScaler",
            "learning.preprocessing.scaling.QuantileBinner",
        ),
        LEARNED, "a row, or a unit with all its rows", "one fit, all its sums", "learning/sums.md",
        "tests/learning/test_sums.py::test_no_unit_moves_the_sums_further_than_stated",
    ),
    Claim(
        "trees of histograms", ("learning.models.histogram_tree.HistogramTree",), LEARNED,
        "a row, or a unit with all its rows", "one fit",
        "learning/models/histogram_tree.md",
        "tests/learning/models/test_histogram_tree.py::"
        "test_a_row_moves_all_histograms_of_a_level_by_no_more_than_is_priced",
    ),
    Claim(
        "the best of many runs", ("learning.tuning.Tuned",), "that of the runs", "that of the runs",
        "a random number of runs, the best of which is shown", "learning/tuning.md",
        "tests/learning/test_tuning.py::test_the_best_of_all_runs_keeps_the_price_and_that_of_one_run_is_refuted",
    ),
    Claim(
        "private training", ("learning.torch_training.train.Plan", "learning.torch_training.train.PrivateTraining"),
        LEARNED, "a row, or a unit with all its rows",
        "all steps of a run, saved and resumed once: a process refuses a second time, two processes do not know of "
        "each other; forks are refused",
        "learning/torch_training/integers.md",
        "tests/learning/torch_training/test_train.py::test_noise_is_what_was_paid_for",
    ),
)  # fmt: skip

CARRIED = {
    "an abstract base, or a mechanism that waits for its sensitivity: it states nothing by itself": (
        "mechanisms.base.mechanism.Mechanism", "mechanisms.base.mechanism.Priced", "mechanisms.base.estimate.Estimate",
        "mechanisms.additive.shared.Additive", "mechanisms.additive.laplace.LaplaceFor",
        "mechanisms.additive.gaussian.GaussianFor", "stable.core.release.Noisy",
        "checking.exact.roles.ClaimsPrivacy",
    ),
    "an answer, or a preview of one: what its mechanism or query states": (
        "answer.Answer", "answer.GivenValue", "query.answer.answer.TableAnswer", "query.answer.preview.Preview",
        "query.profile.profile.Profile", "session.regress.RegressionPreview",
        "session.stored_answers.StoredAnswer", "session.stored_answers.ReleaseRequest",
        "curator.http.responses.LibraryLine", "curator.service.open_datasets.MadePreview",
        "learning.inference.comparisons.TestResult", "learning.inference.survival.SurvivalCurve",
        "curator.client.remote_answer.RemotePreview",
        "curator.client.remote_answer.RemoteAnswer", "curator.client.remote_board.RemoteBoard",
        "curator.client.remote_synthetic.RemoteSynthetic",
    ),
    "an event or a promise: a record of what somebody else states": (
        "privacy.promises.events.black_boxes.Pure", "privacy.promises.events.black_boxes.Approx",
        "privacy.promises.events.black_boxes.Biased",
        "privacy.promises.events.choices.RandomizedResponse", "privacy.promises.events.choices.Exponential",
        "privacy.promises.events.choices.PermuteAndFlip", "privacy.promises.events.choices.NoisyMax",
        "privacy.promises.events.choices.Threshold", "privacy.promises.events.choices.AboveThreshold",
        "privacy.promises.events.combined.Subsampled", "privacy.promises.events.combined.Repeat",
        "privacy.promises.events.combined.Interactive", "privacy.promises.events.combined.Stated",
        "privacy.promises.measures.Pure", "privacy.promises.measures.Approx", "privacy.promises.measures.Renyi",
        "privacy.promises.receipt.Receipt",
    ),
    "a part of an accountant, which its workload states": (
        "privacy.attacker.loss.LaplaceLoss", "privacy.budgets.currency.Currency", "privacy.pld.continuous.LaplacePair",
        "privacy.pld.continuous.BoundedRangePair", "privacy.pld.continuous.WideDiscreteLaplacePair",
    ),
    "an entry of a ledger, or a sum of entries: what was charged, by the rule of its filter": (
        "ledger.charges.Charge", "ledger.receipts.SignedReceipt", "ledger.records.ChargeRecord",
        "ledger.records.WriteOffRecord", "ledger.standing.Standing", "ledger.standing.Quote",
        "ledger.standing.Household", "ledger.state.State",
    ),
    "what a user asks for, or is told, over HTTP": (
        "curator.http.requests.Promise", "curator.http.requests.Priced", "curator.http.requests.Question",
        "curator.http.requests.PreviewIn", "curator.http.requests.AskIn", "curator.http.requests.Workload",
        "curator.http.requests.WorkloadPreviewIn", "curator.http.requests.WorkloadAskIn",
        "curator.http.requests.PlanPreviewIn", "curator.http.requests.PlanAskIn", "curator.http.requests.BoundsIn",
        "curator.http.requests.PublicationIn", "curator.http.requests.SyntheticIn",
        "curator.http.requests.ProfileIn", "curator.http.routes_boards.BoardIn",
        "curator.http.responses.PublicationPreviewOut",
        "curator.http.responses.SyntheticResult", "curator.http.responses.PaperOut", "curator.http.responses.Standing",
        "curator.http.responses.PreviewOut", "curator.http.responses.PlanOut", "curator.http.responses.AnswerTable",
        "curator.http.responses.AnswerTables", "curator.http.responses.AnswerOut", "curator.http.responses.EntryOut",
        "curator.http.responses.HouseholdOut",
        "curator.http.routes_boards.BoardPreviewOut", "curator.http.routes_boards.BoardOut",
        "curator.http.routes_schedules.ScheduleIn", "curator.http.routes_schedules.ScheduleOut",
        "curator.http.routes_schedules.ScheduledOut",
    ),
    "a question with the price that a user offers": (
        "curator.service.boards.BoardQuestion", "curator.service.questions.SqlQuestion",
        "curator.service.questions.WorkloadQuestion", "curator.service.questions.PlanQuestion",
        "curator.service.questions.SizesQuestion", "curator.service.questions.ProfileQuestion",
        "curator.service.job_questions.SyntheticQuestion", "curator.service.job_questions.PublicationQuestion",
        "curator.service.schedules.ScheduleRecord",
        "session.price.Price", "session.plan.PlanDraft", "session.plan_summary.PlanSummary",
        "session.board.BoardTerms", "commands.continual.BoardOptions",
        "session.plan_summary.TargetSummary", "session.counts_program.PaidSource",
        "session.counts_program.CountsStep", "session.count_tables.TablesStep", "session.program.QueryStep",
        "session.program.Program",
        "session.program.Step", "session.program.PartReceipt", "query.front.sql.privacy_clause.PrivacyClause",
    ),
    "a check or an audit of somebody else's claim": (
        "checking.exact.other_models.OneReport", "checking.exact.other_models.WholeStream",
        "checking.exact.replay.Step", "checking.sampling.audit.AuditReport", "checking.sampling.rate_band.Point",
    ),
}  # fmt: skip
"""What only carries a number, by where the number comes from."""
