#!/usr/bin/env python3
"""Lets the published code of four auditors look at releases of this library.

    git clone https://github.com/eth-sri/dp-sniper                # MIT; ee087b25
    git clone https://github.com/eth-sri/Delta-Siege              # MIT; 358377f4
    git clone https://github.com/cmla-psu/statdp                  # MIT; d1f1e8fa
    git clone https://github.com/google/differential-privacy      # Apache-2.0; b5b0286e
    python3 examples/evidence/audit/published.py DIR <claims               # DIR has these checkouts

None of their code is here. It needs torch, numpy, scipy, scikit-learn, tqdm and absl (Debian has
all as python3-…); what else they import and do not need for this is replaced by stand-ins, and
tensorflow by the few classes of it below, over torch.

A line of claims is TITLE, BINARY, MECHANISM, N and then δ ε pairs of the claimed profile, divided by
tabs; `evidence audit -all DIR` writes them. A row of the table has what each auditor found, in bold if
that is more than the claim: DP-Sniper a lower bound on ε at δ = 0, Delta-Siege the claimed ε by the
one it found at the same δ, StatDP its p-value, and the hockey-stick tester a lower bound on δ at
the first ε. A dash stands where an auditor knows pure ε alone, or did not end. A false find has a
probability of about 1e-3 by each.
"""
import importlib.abc, importlib.machinery, logging, os, subprocess, sys, tempfile, types, warnings

import numpy as np
import scipy.stats
import torch

CONFIDENCE = 0.999


class StandIn(types.ModuleType):
    """A module of which every name is a class that does nothing, or a decorator that changes nothing."""
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("njit", "jit"):
            return lambda *a, **k: a[0] if a and callable(a[0]) else lambda f: f
        return type(name, (), {"__init__": lambda self, *a, **k: None, "__getattr__": lambda self, n: lambda *a, **k: None,
                               "__class_getitem__": classmethod(lambda cls, x: cls)})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    names = {"aim", "cdp2adp", "diffprivlib", "dpopt", "matplotlib", "mbi", "mst", "numba", "opendp", "optuna", "pydp"}

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names or name == "torch.utils.tensorboard":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


class Model(torch.nn.Module):
    """As much of keras.Sequential as the hockey-stick tester uses."""

    def __init__(self, widths):
        super().__init__()
        self.widths = widths

    def compile(self, optimizer, loss, metrics):
        self.rate = optimizer

    def logits(self, x):
        return self.layers(torch.tensor(x, dtype=torch.get_default_dtype()))

    def fit(self, x, y, shuffle, epochs, batch_size, verbose):
        sizes, layers = [x.shape[1], *self.widths], []
        for a, b in zip(sizes, sizes[1:]):
            layers += [torch.nn.Linear(a, b), torch.nn.ReLU()]
        self.layers = torch.nn.Sequential(*layers[:-1])
        optimizer = torch.optim.Adam(self.layers.parameters(), self.rate)
        y = torch.tensor(y, dtype=torch.get_default_dtype())
        for _ in range(epochs):
            for part in torch.randperm(len(x)).split(batch_size):
                optimizer.zero_grad()
                torch.nn.functional.binary_cross_entropy_with_logits(self.logits(x[part]), y[part]).backward()
                optimizer.step()

    def evaluate(self, x, y, batch_size):
        with torch.no_grad():
            return 0, float(((self.logits(x).numpy() > 0) == (y > 0.5)).mean())


def tensorflow():
    keras = types.SimpleNamespace(
        Model=Model, Sequential=Model, layers=types.SimpleNamespace(Dense=lambda width, activation=None: width),
        models=types.SimpleNamespace(clone_model=lambda m: Model(m.widths)), optimizers=types.SimpleNamespace(Adam=lambda rate: rate),
        losses=types.SimpleNamespace(BinaryCrossentropy=lambda from_logits: None), metrics=types.SimpleNamespace(BinaryAccuracy=lambda threshold: None))
    sys.modules["tensorflow"] = module = types.ModuleType("tensorflow")
    module.keras = keras


class Releases:
    """A pool of releases of both sides, with features of mean 0 and variance 1."""

    def __init__(self, binary, mechanism, n):
        out = subprocess.run([binary, "audit", "-sample", mechanism, "-n", str(n)], check=True, stdout=subprocess.PIPE).stdout
        numbers = np.frombuffer(out, "<f8")
        sides = np.split(numbers[1:].reshape(-1, int(numbers[0])), 2)
        pilot = np.concatenate([x[:n // 10] for x in sides])
        varied = pilot.std(axis=0) > 1e-9
        if not varied.any():
            varied[0] = True
        mean, spread = pilot.mean(axis=0)[varied], np.maximum(pilot.std(axis=0)[varied], 1e-9)
        self.sides = [(x[:, varied] - mean) / spread for x in sides]
        self.n, self.at = n, [0, 0]

    def next(self, side, n):
        """The next n of a side; an auditor never sees one twice but after begin."""
        first = self.at[side]
        self.at[side] += n
        if self.at[side] > self.n:
            raise EOFError("the releases are used up")
        return self.sides[side][first:first + n].copy()

    def begin(self):
        self.at = [0, 0]


def dp_sniper(r, profile):
    from dpsniper.attack.dpsniper import DPSniper
    from dpsniper.classifiers.classifier_factory import LogisticRegressionFactory
    from dpsniper.classifiers.torch_optimizer_factory import AdamOptimizerFactory
    from dpsniper.mechanisms.abstract import Mechanism
    from dpsniper.probability.estimators import EpsEstimator, PrEstimator
    from dpsniper.search.ddconfig import DDConfig
    from dpsniper.search.ddwitness import DDWitness
    from dpsniper.utils.initialization import initialize_dpsniper
    if profile[0][0] > 0:
        return None

    class Sampled(Mechanism):
        def m(self, a, n_samples=1):
            return r.next(int(a[0]), n_samples)

    part = r.n // 5
    config = DDConfig(c=0.1, n_train=part, n=part, n_check=part, n_final=2 * part, n_processes=1, confidence=CONFIDENCE, training_batch_size=part // 20)
    best = 0.0
    with tempfile.TemporaryDirectory() as out, initialize_dpsniper(config, out_dir=out):
        for a, b in (([0], [1]), ([1], [0])):
            r.begin()
            factory = LogisticRegressionFactory(in_dimensions=r.sides[0].shape[1], optimizer_factory=AdamOptimizerFactory(), epochs=10)
            witness = DDWitness(a, b, DPSniper(Sampled(), factory, config).best_attack(a, b))
            witness.compute_eps_using_estimator(EpsEstimator(PrEstimator(Sampled(), config.n_final, config), allow_swap=True))
            best = max(best, witness.lower_bound)
    return "%.2f" % best, best > profile[0][1]


def delta_siege(r, profile):
    from sklearn.linear_model import LogisticRegression
    from deltasiege.attack.optimizers.linesearch_optimizer import LinesearchEstimator
    from deltasiege.attack.witnesses import WitnessOptimization
    from deltasiege.classifiers import SklearnClassifier
    from deltasiege.main.trial import Trial
    from deltasiege.mechanism import Mechanism
    from deltasiege.utils import Config
    claimed = dict(profile)

    class Sampled(Mechanism):
        """The claim is a curve, so the level of a pair is by how much it is better than the curve."""

        def __call__(self, side, n):
            return r.next(side, n)

        def guarantee_(self, epsilon, delta):
            return claimed[delta] / max(epsilon, 1e-9)

        def perturb_delta(self, delta):
            return claimed[delta]

    r.begin()
    part = r.n // 5
    config = Config(n_train=part, n_init=part, n_check=part, n_final=2 * part, batch_size=part, confidence=CONFIDENCE, n_jobs=1)
    # Deltas are those of the claim, and a witness takes releases in order.
    estimator = LinesearchEstimator(delta_steps=np.array(sorted(claimed)))
    trial = Trial(config=config, input_pair=(0, 1), mechanism=Sampled(epsilon=profile[0][1], delta=profile[0][0]),
                  classifier_factories=SklearnClassifier.get_factory(classifier=LogisticRegression()),
                  witnesses_factories=WitnessOptimization.get_factory(estimator=estimator))
    trial._init_classifiers()
    r_at, best = list(r.at), np.inf
    trial._init_witnesess()
    for witness in trial.witnesses:  # each order of the sides, chosen on releases that are not counted
        r.at = [x + part for x in r_at]
        witness.state = type(witness.state).Final
        witness.compute_estimate()
        best = min(best, witness.estimate_c)
    return "%.2f" % best if best < 10 else "> 10", best < 1


def statdp(r, profile):
    if not hasattr(np, "bool"):
        np.bool = bool
    exact = types.ModuleType("statdp._hypergeom")
    exact.sf = scipy.stats.hypergeom.sf
    sys.modules["statdp._hypergeom"] = exact
    from statdp.hypotest import hypothesis_test
    from statdp.selectors import select_event
    if profile[0][0] > 0 or profile[0][1] > 2:  # its p-value is a mean over thinned counts, of no power at large ε
        return None
    a, b = (x[:r.n // 10] for x in r.sides)
    apart = np.argsort(-np.abs(a.mean(axis=0) - b.mean(axis=0)))[:2]  # events are products, so two features at most
    at = [r.n // 10, r.n // 10]

    def algorithm(prng, side, epsilon):
        at[side] += 1
        return tuple(r.sides[side][at[side] - 1, apart])

    class Serial:
        _processes = 1
        imap_unordered = staticmethod(map)

    pairs, part = ((0, 1, {"epsilon": 0}),), r.n * 2 // 5
    d1, d2, kwargs, event = select_event(algorithm, pairs, profile[0][1], part - 1, Serial, quiet=True)
    p = hypothesis_test(algorithm, d1, d2, kwargs, event, profile[0][1], part - 1, Serial, report_p2=False)
    return "%.2g" % p, p < 1 - CONFIDENCE


def hockey_stick(r, profile):
    from dp_auditorium.configs import privacy_property, property_tester_config
    from dp_auditorium.testers import hockey_stick_tester
    best, claim = -np.inf, next(x for x in profile if x[1] > 0)
    for order in ((0, 1), (1, 0)):
        config = property_tester_config.HockeyStickPropertyTesterConfig(
            training_config=hockey_stick_tester.make_default_hs_training_config(),
            approximate_dp=privacy_property.ApproximateDp(epsilon=claim[1], delta=claim[0]))
        tester = hockey_stick_tester.HockeyStickPropertyTester(config=config, base_model=Model([12, 12, 12, 1]))
        rng = np.random.default_rng(1)
        samples = [r.sides[side][rng.permutation(r.n)] for side in order]
        best = max(best, tester.estimate_lower_bound(*samples, 1 - CONFIDENCE))
    return "%.3f" % max(best, 0), tester.reject_property(best)


def main():
    directory = os.path.abspath(sys.argv[1])
    sys.dont_write_bytecode = True
    for path in ("dp-sniper", "Delta-Siege", "statdp", "differential-privacy/python/dp_auditorium"):
        sys.path.insert(0, os.path.join(directory, path))
    sys.meta_path.insert(0, Finder())
    tensorflow()
    for name in ("dp_auditorium", "dp_auditorium.testers"):  # without all that their __init__ imports
        sys.modules[name] = package = types.ModuleType(name)
        package.__path__ = [os.path.join(directory, "differential-privacy/python/dp_auditorium", *name.split("."))]
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    for line in sys.stdin:
        title, binary, mechanism, n, *profile = line.rstrip("\n").split("\t")
        profile = [(float(d), float(e)) for d, e in (x.split() for x in profile)]
        np.random.seed(1)
        torch.manual_seed(1)
        releases, cells = Releases(binary, mechanism, int(n)), []
        for auditor in (dp_sniper, delta_siege, statdp, hockey_stick):
            try:
                result = auditor(releases, profile)
            except (ArithmeticError, ValueError, LookupError, EOFError) as e:
                print("%s: %s: %r" % (auditor.__name__, title, e), file=sys.stderr)
                result = None
            cells.append("–" if result is None else "**%s**" % result[0] if result[1] else result[0])
        print("| %s | %s |" % (title, " | ".join(cells)), flush=True)


if __name__ == "__main__":
    main()
