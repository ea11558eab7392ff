"""What is computed of each key: aggregators, over whole batches, one a file."""

from unskew.window.aggregator import Aggregator
from unskew.window.classifier import predict
from unskew.window.count import Count
from unskew.window.groups import Groups, group_rows
from unskew.window.histogram import Histogram
from unskew.window.many import Many
from unskew.window.mean import Mean
from unskew.window.naive_bayes import NaiveBayes
from unskew.window.quantiles import count_up_to, quantile
from unskew.window.sum import Sum
from unskew.window.top_k import TopK
from unskew.window.variance import StandardDeviation, Variance

__all__ = [
    "Aggregator",
    "Count",
    "Groups",
    "Histogram",
    "Many",
    "Mean",
    "NaiveBayes",
    "StandardDeviation",
    "Sum",
    "TopK",
    "Variance",
    "count_up_to",
    "group_rows",
    "predict",
    "quantile",
]
