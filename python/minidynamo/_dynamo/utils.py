"""Counters of what the compiler did. The name is the reference's: programs read `torch._dynamo.utils.counters`."""

import collections

# counters["frames"]["total"], counters["stats"]["unique_graphs"], counters["graph_break"][message], ...
# Cleared by the user (counters.clear()), not by reset().
counters = collections.defaultdict(collections.Counter)
