"""Learning from noisy answers: statistical queries, estimators, private training of networks, paid tuning.

Every model here sees the data through exact integer sums with exact noise; its price is known before the data is.
Training of networks (``train`` and what belongs to it) needs torch: the extra ``learn``, loaded at first use.
"""

from typing import TYPE_CHECKING

from discreet.errors import MissingExtra
from discreet.learning import inference
from discreet.learning.budget import event_of
from discreet.learning.membership import membership_trial
from discreet.learning.model_json import from_json, to_json
from discreet.learning.models.generalized import Logit, PoissonRegression
from discreet.learning.models.histogram_tree import HistogramTree
from discreet.learning.models.kmeans import KMeans
from discreet.learning.models.linear import LinearRegression
from discreet.learning.models.logistic import LogisticRegression
from discreet.learning.models.naive_bayes import CategoricalNB, GaussianNB
from discreet.learning.models.pca import PCA
from discreet.learning.models.tabular import TabularClassifier, TabularRegressor
from discreet.learning.oracle import Oracle, oracle
from discreet.learning.preprocessing.columns import Categorical, Numeric
from discreet.learning.preprocessing.scaling import QuantileBinner, StandardScaler
from discreet.learning.sums import ExactSums
from discreet.learning.tuning import Tuned, tune, tuning_event, tuning_price

if TYPE_CHECKING:
    from discreet.learning.torch_training.train import PrivateTraining, train

__all__ = [
    "PCA",
    "Categorical",
    "CategoricalNB",
    "ExactSums",
    "GaussianNB",
    "HistogramTree",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "Logit",
    "Numeric",
    "Oracle",
    "PoissonRegression",
    "PrivateTraining",
    "QuantileBinner",
    "StandardScaler",
    "TabularClassifier",
    "TabularRegressor",
    "Tuned",
    "event_of",
    "from_json",
    "inference",
    "membership_trial",
    "oracle",
    "to_json",
    "train",
    "tune",
    "tuning_event",
    "tuning_price",
]

_WITH_TORCH = ("PrivateTraining", "train")


def __getattr__(name: str) -> object:
    if name not in _WITH_TORCH:
        raise AttributeError(f"module 'discreet.learning' has no attribute {name!r}")
    try:
        from discreet.learning.torch_training import train as training
    except ImportError:
        raise MissingExtra("private training of networks", extra="learn") from None
    return getattr(training, name)


def __dir__() -> list[str]:
    return sorted(__all__)
