"""Metrics for Prometheus: counts and durations, never queries or contents."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from recollect.surfaces.serve.answer_cache import AnswerCache
from recollect.version import __version__


class Metrics:
    """The metrics of one server."""

    def __init__(self, answers: AnswerCache) -> None:
        self._registry = CollectorRegistry()
        kept = self._registry
        self.requests = Counter(
            "recollect_requests", "Requests by operation and status.", ["operation", "status"], registry=kept
        )
        self.seconds = Histogram(
            "recollect_request_duration_seconds", "How long requests took.", ["operation"], registry=kept
        )
        self.searches = Histogram("recollect_search_duration_seconds", "How long searches took.", registry=kept)
        self.outcomes = Counter("recollect_search_outcomes", "Searches by their outcome.", ["outcome"], registry=kept)
        self.running = Gauge("recollect_requests_in_flight", "Requests that are running.", registry=kept)
        about = Gauge("recollect_build_info", "The version that runs.", ["version"], registry=kept)
        about.labels(version=__version__).set(1)
        self._registry.register(_Cache(answers))

    def count(self, operation: str, *, status: int, seconds: float, outcome: str | None = None) -> None:
        """Count one request."""
        self.requests.labels(operation=operation, status=str(status)).inc()
        self.seconds.labels(operation=operation).observe(seconds)
        if outcome is not None:
            self.searches.observe(seconds)
            self.outcomes.labels(outcome=outcome).inc()

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self._registry)


class _Cache(Collector):
    """Counters of the answer cache, read when Prometheus asks."""

    def __init__(self, answers: AnswerCache) -> None:
        self._answers = answers

    def collect(self) -> list[CounterMetricFamily | GaugeMetricFamily]:
        """Return the current counts."""
        cache = self._answers
        return [
            CounterMetricFamily("recollect_cache_hits", "Searches answered from the cache.", value=cache.hits),
            CounterMetricFamily("recollect_cache_misses", "Searches that were not in the cache.", value=cache.misses),
            CounterMetricFamily("recollect_searches_executed", "Searches that were run.", value=cache.executed),
            GaugeMetricFamily("recollect_cache_entries", "Replies in the cache.", value=len(cache)),
        ]
