"""training_time(): estimate the time of training, stage by stage, from samples of the training graphs.

Programs are found in two samples, and the head is trained for a few steps on a made table of the expected
width. All of it is measured in CPU time, which other processes hardly change.
"""

from __future__ import annotations

import math
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from gdlnn.graphs.splits import stratified_sample
from gdlnn.matching import n_threads_for
from gdlnn.mining.estimate import estimate
from gdlnn.model.calibration import FEWEST_PER_CLASS, checked_rule, rule_for
from gdlnn.model.domain import Domain
from gdlnn.model.head import MLPHead
from gdlnn.model.inputs import MIN_VALIDATION, SeenValues, as_labelled
from gdlnn.model.layer import GDLTransformer
from gdlnn.model.pooling import PooledFeatures
from gdlnn.model.seen import SeenGraphs
from gdlnn.model.training_stages import (
    CALIBRATING,
    EXAMPLES,
    HEAD,
    MATCHING,
    RECORDING,
    Seconds,
    TrainingTime,
)
from gdlnn.model.vocabulary import (
    FOLDS,
    NEIGHBOURHOODS,
    Mined,
    Neighbourhoods,
    RunOptions,
    listed_epsilons,
    mining_stage,
    union,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdlnn.graphs import GraphDataset
    from gdlnn.mining import ProgramSet
    from gdlnn.model.classifier import GDLNNClassifier
    from gdlnn.model.inputs import GraphsLike, Validation
    from gdlnn.model.training_stages import Settled

SAMPLE_SHARE, FEWEST, MOST = 1 / 8, 200, 2000
"""The larger sample: its share of the training graphs, and its bounds."""
BAR_SHARE, BAR_FEWEST, BAR_MOST = 1 / 16, 100, 600
"""The same for the progress bar of training, which must not take long."""
EPOCHS_OF_ALL = 0.85
"""Average share of the epochs run with early stopping: see docs/model-results.md."""
STEADY_SECONDS = 1.0
"""If a sample takes less time, growth cannot be measured and is assumed to be proportional."""
LEVELLING = 0.5
"""Growth of the number of matched programs per graph beyond the samples, relative to that between them."""
STEPS = 8
"""Training steps of one epoch in which the head is timed."""
PROGRAMS_PER_TARGET = 0.5
"""Distinct programs that one descent adds, on average."""
MATCHED_SAMPLE, EXAMPLE_SAMPLE = 100, 100
"""Maximum number of validation graphs matched, and of programs for which examples are found."""


def training_time(model: GDLNNClassifier, X: GraphsLike, *, validation: Validation = None) -> TrainingTime:
    """Estimate the time of ``model.fit(X, validation=validation)``; the model is unchanged.

    Parameters
    ----------
    model
        A classifier, fitted or not.
    X, validation
        As for `fit`.
    """
    own = clone(model)
    settled = own._settle(as_labelled(X, None), validation, own.validation_fraction)
    return _Measured(own, settled, SAMPLE_SHARE, (FEWEST, MOST)).told()


def expected_stages(model: GDLNNClassifier, settled: Settled, *, mined: bool) -> dict[str, float]:
    """Return about how long the stages take, for the bar of a training that begins.

    Parameters
    ----------
    model
        The classifier that is being fitted.
    settled
        What it has settled.
    mined
        Whether programs are to be found; otherwise they were given.
    """
    if not mined:
        return {MATCHING: 0.05, HEAD: 0.7, CALIBRATING: 0.2, EXAMPLES: 0.05}
    started, watch = time.monotonic(), _Watch(n_threads_for(model.n_jobs))
    stages = _Measured(model, settled, BAR_SHARE, (BAR_FEWEST, BAR_MOST)).told().stages
    busy = waiting_factor(time.monotonic() - started, watch.read().wall)
    return {name: stage.wall * busy for name, stage in stages.items()}


def waiting_factor(passed: float, worked: float) -> float:
    """Return the slowdown caused by other processes."""
    return max(1.0, passed / max(worked, 1e-3))


class _Sampled(NamedTuple):
    """The extrapolation to all graphs: columns of the head, and how many of them match a graph."""

    n_columns: float
    n_matched: float
    n_pooled: int


class _Measured:
    """Measures samples of the training graphs, and extrapolates to all of them."""

    def __init__(
        self, model: GDLNNClassifier, settled: Settled, share: float, bounds: tuple[int, int]
    ) -> None:
        self._model, self._settled, self._n_threads = model, settled, n_threads_for(model.n_jobs)
        self._started = time.process_time()
        train = settled.train
        assert train.y is not None
        self._codes = np.unique(train.y, return_inverse=True)[1]
        n = len(train)
        large = min(n, max(bounds[0], min(bounds[1], round(share * n))))
        self._samples = [self._sample(size) for size in (max(2, large // 2), large)]
        self._growth = n / len(self._samples[1])

    def _sample(self, size: int) -> GraphDataset:
        """Draw graphs with at least two classes; classes keep their shares."""
        rows = stratified_sample(self._codes, size, seed=0)
        first = np.unique(self._codes, return_index=True)[1]
        return self._settled.train.take(np.union1d(rows, first))

    def _timed(self, call: Callable[[], Any]) -> tuple[Seconds, Any]:
        """Return the time of a call and its result."""
        watch = _Watch(self._n_threads)
        result = call()
        return watch.read(), result

    def told(self) -> TrainingTime:
        """Return the estimate of all stages."""
        train, _, sources, pooled = self._settled
        stages: dict[str, Seconds] = {}
        columns = matched = 0.0
        programs: ProgramSet | None = None
        for source in sources:
            if isinstance(source, Neighbourhoods):
                seconds, programs, found = self._neighbourhoods(source)
                stages[NEIGHBOURHOODS] = stages.get(NEIGHBOURHOODS, Seconds(0, 0)).plus(seconds)
            else:
                mined = self._mined(source)
                stages |= {name: seconds for name, (seconds, _) in mined.items()}
                number = PROGRAMS_PER_TARGET * sum(n_tasks for _, n_tasks in mined.values())
                found = number, number / 4
            columns, matched = columns + found[0], matched + found[1]
        n_pooled = len(PooledFeatures().fit(self._samples[0]).names_) if pooled else 0
        sampled = _Sampled(columns, min(matched, columns), n_pooled)
        stages |= self._of_head(sampled, programs)
        return TrainingTime(
            stages,
            len(train),
            round(columns),
            self._n_threads,
            time.process_time() - self._started,
        )

    # --- programs -------------------------------------------------------------------------------------------

    def _neighbourhoods(self, source: Neighbourhoods) -> tuple[Seconds, ProgramSet, tuple[float, float]]:
        """Return the time, the programs of the larger sample, and columns and matches per graph of all."""
        own = clone(source)
        own.min_support = source.least_support(len(self._settled.train))
        own.max_programs = None
        run = RunOptions(self._model.seed, self._model.n_jobs, progress=False)
        times, sets = [], []
        for sample in self._samples:
            seconds, found = self._timed(lambda sample=sample: union(own.find(sample, run)))  # type: ignore[misc]
            times.append(seconds)
            sets.append(found)
        long_enough = times[1].cpu >= STEADY_SECONDS
        growth = self._exponent(times[0].cpu, times[1].cpu, 1.0, 1.15) if long_enough else 1.0
        sizes = [float(len(found)) for found in sets]
        density = [found.sparse_supports().nnz / found.info.n_graphs if len(found) else 0.0 for found in sets]
        columns = sizes[1] * self._growth ** self._exponent(sizes[0], sizes[1], 0.0, 1.0)
        matched = density[1] * self._growth ** (LEVELLING * self._exponent(density[0], density[1], 0.0, 1.0))
        most = columns if source.max_programs is None else float(source.max_programs)
        seconds = times[1].times(self._growth**growth)
        return seconds, sets[1], (min(columns, most), min(matched, most))

    def _exponent(self, small: float, large: float, least: float, most: float) -> float:
        """Return the power of the number of graphs that two samples grow with."""
        ratio = len(self._samples[1]) / len(self._samples[0])
        if small <= 0 or large <= 0 or ratio <= 1:
            return least
        return min(most, max(least, math.log(large / small) / math.log(ratio)))

    def _mined(self, source: Mined) -> dict[str, tuple[Seconds, int]]:
        """Return the time and the descents of every ε."""
        train = self._settled.train
        seen = source.as_mined(train)
        found = {}
        for epsilon in listed_epsilons(source.epsilon, len(train)):
            told = estimate(
                seen,
                epsilon,
                *(source.strategy, source.connected, source.targets, source.nominal, source.step_budget),
                n_jobs=self._model.n_jobs,
                seed=self._model.seed,
                restarts=source.restarts,
                bags=source.bags,
                sample=max(8, min(50, len(train) // 40)),
            )
            found[mining_stage(epsilon)] = Seconds(told.cpu_seconds, told.wall_seconds), told.n_tasks
        return found

    # --- the head -------------------------------------------------------------------------------------------

    def _of_head(self, sampled: _Sampled, programs: ProgramSet | None) -> dict[str, Seconds]:
        """Return the time of all stages after finding programs."""
        train, val, _, _ = self._settled
        head = self._model.head_
        n_val = 0 if val is None else len(val)
        stops = isinstance(head, MLPHead) and n_val > 0 and head.stops_early(n_val)
        checked = n_val >= MIN_VALIDATION
        stages: dict[str, Seconds] = {}
        matching = Seconds(0, 0)
        if programs is not None and len(programs) and val is not None and (stops or checked):
            matching = self._matching(sampled, programs, val)
        if stops:
            stages[MATCHING] = matching
        stages[HEAD] = self._fitting(sampled, programs, head, len(train), n_val if stops else 0)
        stages[CALIBRATING] = Seconds(0, 0)
        if self._calibrates():
            if checked:
                stages[CALIBRATING] = matching
            elif np.bincount(self._codes).min() >= FEWEST_PER_CLASS:
                smaller = self._model._make_head()
                if getattr(smaller, "ensemble_size", 1) > 2:
                    smaller.ensemble_size = 2
                rows = round(len(train) * (1 - 1 / FOLDS))
                stages[CALIBRATING] = self._fitting(sampled, programs, smaller, rows, 0).times(FOLDS)
        if train.reading is not None:
            stages[EXAMPLES] = self._examples(sampled, programs)
        stages[RECORDING] = self._recording(programs)
        return stages

    def _recording(self, programs: ProgramSet | None) -> Seconds:
        """Return the time of recording what was seen; every graph is compared with all others."""
        sample = self._samples[1]
        seconds, _ = self._timed(lambda: SeenGraphs.of(sample))
        if programs is None:
            return seconds.times(self._growth)
        values = SeenValues.of(sample)
        alone, _ = self._timed(lambda: Domain.of(sample, programs[:0], values))
        compared, _ = self._timed(lambda: Domain.of(sample, programs, values))
        pairs = max(0.0, compared.cpu - alone.cpu) * self._growth**2
        return seconds.plus(alone).times(self._growth).plus(Seconds(pairs, pairs))

    def _calibrates(self) -> bool:
        """Say whether the head is asked about graphs that it was not trained on."""
        model = self._model
        counts = np.bincount(self._codes)
        rule = rule_for(checked_rule(model.decide), (counts / counts.sum()).tolist())
        return (model.calibrate and isinstance(model.head_, MLPHead)) or (len(counts) == 2 and rule != 0.5)

    def _matching(self, sampled: _Sampled, programs: ProgramSet, val: GraphDataset) -> Seconds:
        """Return the time of matching the programs in the validation set."""
        part = val.take(np.arange(min(MATCHED_SAMPLE, len(val))))
        layer = GDLTransformer(programs, self._model.activation, n_jobs=self._model.n_jobs).fit(part)
        compiling, _ = self._timed(lambda: layer.transform(part[:1]))
        matching, _ = self._timed(lambda: layer.transform(part))
        wider = sampled.n_columns / len(programs)
        return compiling.times(wider).plus(matching.times(wider * len(val) / len(part)))

    def _fitting(
        self, sampled: _Sampled, programs: ProgramSet | None, head: Any, n_rows: int, n_val: int
    ) -> Seconds:
        """Return the time of fitting a head to rows, which `n_val` rows stop early unless there are none."""
        width = max(1, round(sampled.n_columns) + sampled.n_pooled)
        if not isinstance(head, MLPHead):
            return self._fitting_other(programs, head, n_rows)
        import_module("gdlnn.model.network")  # loads torch, which is not to be timed
        steps = min(STEPS, math.ceil(n_rows / head.batch_size))
        X = _made_table(min(n_rows, steps * head.batch_size), width, sampled, programs)
        y = np.arange(X.shape[0]) % len(self._model.classes_)
        some = slice(0, math.ceil(X.shape[0] * n_val / n_rows))
        held_out = (X[some], y[some]) if n_val else None
        short = clone(head).set_params(
            linear_share=0.0, soft_labels=None, class_weight=None, early_stopping=n_val > 0
        )
        times = []
        for n_epochs in (1, 1, 4):  # the first warms up
            short.set_params(epochs=n_epochs)
            times.append(self._timed(lambda: short.fit(X, y, held_out))[0].cpu)
        per_step = max(times[2] - times[1], 1e-6) / 3 / steps
        total = (
            per_step
            * math.ceil(n_rows / head.batch_size)
            * max(1, round(head.epochs * (EPOCHS_OF_ALL if n_val else 1.0)))
        )
        if head.share_of_linear:
            total += self._fitting_linear(sampled, programs, n_rows)
        return Seconds(total, total)

    def _fitting_linear(self, sampled: _Sampled, programs: ProgramSet | None, n_rows: int) -> float:
        """Return the CPU time of the linear model."""
        from sklearn.linear_model import LogisticRegression

        from gdlnn.model.network import LINEAR_C

        if programs is None or not len(programs):
            return 0.0
        table, codes = programs.sparse_supports(), self._sample_codes()
        model = LogisticRegression(C=LINEAR_C, max_iter=1000)
        seconds, _ = self._timed(lambda: model.fit(table, codes))
        return seconds.cpu * n_rows * sampled.n_matched / max(1.0, float(table.nnz))

    def _fitting_other(self, programs: ProgramSet | None, head: Any, n_rows: int) -> Seconds:
        """Return the time of fitting a head of another kind: at the larger sample, in proportion to rows."""
        if programs is None or not len(programs):
            return Seconds(0, 0)
        table = programs.sparse_supports().toarray()
        seconds, _ = self._timed(lambda: clone(head).fit(table, self._sample_codes()))
        return seconds.times(n_rows / table.shape[0])

    def _sample_codes(self) -> np.ndarray[Any, Any]:
        """Return the numbers of the labels of the larger sample."""
        return np.unique(np.asarray(self._samples[1].y), return_inverse=True)[1]

    def _examples(self, sampled: _Sampled, programs: ProgramSet | None) -> Seconds:
        """Return the time of finding an example molecule for every program."""
        if programs is None or not len(programs):
            return Seconds(0, 0)
        some = programs.take(np.unique(np.linspace(0, len(programs) - 1, EXAMPLE_SAMPLE).astype(int)))
        programs[:1].with_examples(self._samples[1])  # loads RDKit
        seconds, _ = self._timed(lambda: some.with_examples(self._samples[1]))
        return seconds.times(sampled.n_columns / len(some))


class _Watch:
    """Measures calls; the CPU time of other threads is the core's work, evenly distributed."""

    def __init__(self, n_threads: int) -> None:
        self._n_threads = n_threads
        self._cpu, self._own = time.process_time(), time.thread_time()

    def read(self) -> Seconds:
        """Return the time since the start, as on otherwise idle processors."""
        cpu, own = time.process_time() - self._cpu, time.thread_time() - self._own
        return Seconds(cpu, own + max(0.0, cpu - own) / self._n_threads)


def _made_table(n_rows: int, width: int, sampled: _Sampled, programs: ProgramSet | None) -> Any:
    """Return a table as the head is expected to see it; columns are as common as in the sample."""
    rng = np.random.default_rng(0)
    if sampled.n_pooled or programs is None or not len(programs):
        return rng.random((n_rows, width))
    known = np.sort([item.n_matched for item in programs])
    shares = np.interp(np.linspace(0, 1, width), np.linspace(0, 1, len(known)), known)
    shares *= sampled.n_matched / shares.sum()
    return csr_array(np.asarray(rng.random((n_rows, width)) < shares, dtype=np.float64))
