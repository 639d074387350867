#!/usr/bin/env python3
"""Lets DP-Sniper's own code audit this library.

    go build -o /tmp/audit ./examples/audit
    git clone https://github.com/eth-sri/dp-sniper && git -C dp-sniper checkout ee087b25
    python3 examples/audit/dpsniper.py dp-sniper /tmp/audit [NAME ...]

It needs torch, numpy, scipy and scikit-learn (Debian: python3-torch python3-scipy python3-sklearn). Their
code is MIT and not part of this repository. Without names it takes all mechanisms that `audit -list`
prints. A number is DP-Sniper's lower bound on ε at δ = 0, at a confidence of 90 %, for the one pair of
neighbours that the sampler has; claims with a δ can be above their ε by it.
"""
import os, subprocess, sys, types

import numpy

checkout, binary, names = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:]
sys.path.insert(0, checkout)


class Writer:  # of a log for tensorboard, which nothing here reads
    def __init__(self, *args, **kwargs):
        pass

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


board = types.ModuleType("torch.utils.tensorboard")
board.SummaryWriter = Writer
sys.modules["torch.utils.tensorboard"] = board

from dpsniper.attack.dpsniper import DPSniper  # noqa: E402
from dpsniper.classifiers.classifier_factory import LogisticRegressionFactory  # noqa: E402
from dpsniper.classifiers.torch_optimizer_factory import AdamOptimizerFactory  # noqa: E402
from dpsniper.mechanisms.abstract import Mechanism  # noqa: E402
from dpsniper.search.ddconfig import DDConfig  # noqa: E402
from dpsniper.search.ddwitness import DDWitness  # noqa: E402
from dpsniper.probability.estimators import EpsEstimator, PrEstimator  # noqa: E402
from dpsniper.utils.initialization import initialize_dpsniper  # noqa: E402


class Sampled(Mechanism):
    """Releases of one mechanism, read from the sampler many at a time."""

    def __init__(self, name, ahead):
        self.name, self.ahead, self.kept = name, ahead, {}

    def m(self, a, n_samples=1):
        side = int(a[0])
        kept = self.kept.get(side)
        if kept is None or len(kept) < n_samples:
            out = subprocess.run([binary, "-sample", self.name, "-side", str(side), "-n", str(max(self.ahead, n_samples))], check=True, stdout=subprocess.PIPE).stdout
            numbers = numpy.frombuffer(out, "<f8")
            kept = numbers[1:].reshape(-1, int(numbers[0]))
        self.kept[side] = kept[n_samples:]
        return kept[:n_samples]


def main():
    listed = subprocess.run([binary, "-list"], check=True, stdout=subprocess.PIPE, text=True).stdout
    size = int(os.environ.get("RELEASES", "40000"))
    config = DDConfig(c=0.01, n_train=size, n=size, n_check=size, n_final=2 * size, n_processes=1, confidence=0.9, training_batch_size=size // 20)
    with initialize_dpsniper(config, out_dir=os.environ.get("OUT", "dpsniper-out")):
        print("| mechanism | bound on ε |\n|---|---|")
        for name in names or [line.split("\t")[0] for line in listed.splitlines()]:
            mechanism = Sampled(name, size)
            features = mechanism.m([0], 1).shape[1]
            sniper = DPSniper(mechanism, LogisticRegressionFactory(in_dimensions=features, optimizer_factory=AdamOptimizerFactory(), epochs=10), config)
            best = 0.0
            for a, b in (([0], [1]), ([1], [0])):
                witness = DDWitness(a, b, sniper.best_attack(a, b))
                witness.compute_eps_using_estimator(EpsEstimator(PrEstimator(mechanism, config.n_final, config), allow_swap=True))
                best = max(best, witness.lower_bound)
            print("| %s | %.3f |" % (name, best), flush=True)


if __name__ == "__main__":
    main()
