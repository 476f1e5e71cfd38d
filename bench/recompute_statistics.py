#!/usr/bin/env python3
"""Recomputes what `tessera compare --instances` says of mappers, from its trials.csv alone, with
scipy, and compares it with result.json (or, without one, with the tables of report.html).

    python3 bench/recompute_statistics.py FOLDER        # prints every difference; exit 1 if any

Recomputed: the geometric means of value / best (a search without a mapping makes them infinite),
how many searches found the best, Wilcoxon's signed-rank tests of values and of times to within 1 %,
over searches and over instances by the medians of their seeds, and Holm's adjustment. The standing
must be by these means, mappers that found less last."""

import csv
import html.parser
import json
import math
import sys
from itertools import combinations
from pathlib import Path
from statistics import median

import numpy
from scipy import stats

SAME = 1e-9  # values that differ less are the same
MOST_EXACT = 60  # differences; of more the normal approximation
EVIDENCE = 0.05


class Field:
    """The searches of trials.csv."""

    def __init__(self, path):
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        self.mappers = list(dict.fromkeys(row["mapper"] for row in rows))
        self.instances = list(dict.fromkeys(row["instance"] for row in rows))
        self.trials = {}
        for row in rows:
            if row["status"] != "not run":
                key = row["instance"], row["mapper"]
                self.trials.setdefault(key, {})[row["seed"]] = row

    def values(self, instance, mapper, column="value"):
        """By seed; infinity: nothing was found, or it was not reached."""
        return {
            seed: float(row[column]) if row[column] else math.inf
            for seed, row in self.trials.get((instance, mapper), {}).items()
        }

    def best(self, instance):
        return min(v for m in self.mappers for v in self.values(instance, m).values())

    def ratio(self, mapper):
        logs = [
            math.log(value / self.best(instance))
            for instance in self.instances
            if math.isfinite(self.best(instance))
            for value in self.values(instance, mapper).values()
        ]
        return math.exp(numpy.mean(logs)) if logs else math.inf

    def n_best(self, mapper):
        return sum(
            same(value, self.best(instance))
            for instance in self.instances
            for value in self.values(instance, mapper).values()
            if math.isfinite(value)
        )

    def n_found(self, mapper):
        return sum(
            math.isfinite(value)
            for instance in self.instances
            for value in self.values(instance, mapper).values()
        )

    def differences(self, a, b, column):
        """Over searches, and over instances."""
        searches, instances = [], []
        for instance in self.instances:
            one, other = (self.values(instance, m, column) for m in (a, b))
            seeds = [seed for seed in one if seed in other]
            if not seeds:
                continue
            searches += [log_ratio(one[seed], other[seed]) for seed in seeds]
            instances.append(
                log_ratio(median(one[s] for s in seeds), median(other[s] for s in seeds))
            )
        return searches, instances


def same(a, b):
    return a == b or (math.isfinite(a) and math.isfinite(b) and abs(a - b) <= SAME * abs(b))


def log_ratio(a, b):
    if same(a, b):
        return 0.0
    return math.inf if math.isinf(a) else -math.inf if math.isinf(b) else math.log(a / b)


def signed_ranks(differences):
    """p and effect."""
    left = numpy.array([d for d in differences if d != 0])
    if len(left) == 0:
        return 1.0, 0.0
    finite = numpy.abs(left[numpy.isfinite(left)])
    largest = 1 + (finite.max() if len(finite) else 0)
    left = numpy.where(numpy.isinf(left), numpy.sign(left) * largest, left)
    ranks = stats.rankdata(numpy.abs(left))
    plus, minus = ranks[left > 0].sum(), ranks[left < 0].sum()
    if len(left) > MOST_EXACT:
        p = stats.wilcoxon(left, correction=True, method="asymptotic").pvalue
    elif len(set(ranks)) == len(ranks):
        p = stats.wilcoxon(left, method="exact").pvalue
    else:
        p = exact_with_ties(ranks, min(plus, minus))
    return float(p), float((plus - minus) / (plus + minus))


def exact_with_ties(ranks, least):
    """The sums of all choices of signs, as a product of polynomials."""
    ways = numpy.array([1.0])
    for twice in numpy.rint(2 * ranks).astype(int):
        factor = numpy.zeros(twice + 1)
        factor[0] = factor[twice] = 0.5
        ways = numpy.convolve(ways, factor)
    return min(1.0, 2 * float(ways[: int(round(2 * least)) + 1].sum()))


def holm(p):
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted, most = [0.0] * len(p), 0.0
    for place, i in enumerate(order):
        most = max(most, p[i] * (len(p) - place))
        adjusted[i] = min(1.0, most)
    return adjusted


def tests(field):
    """{(measure, scope): {(a, b): (p, p after Holm, effect)}}"""
    pairs = list(combinations(field.mappers, 2))
    result = {}
    for measure, column in (("value", "value"), ("time_to_1%", "to_1pct_s")):
        both = [field.differences(a, b, column) for a, b in pairs]
        for which, scope in enumerate(("searches", "instances")):
            found = [signed_ranks(one[which]) for one in both]
            adjusted = holm([p for p, _ in found])
            result[measure, scope] = {
                pair: (p, after, effect)
                for pair, (p, effect), after in zip(pairs, found, adjusted)
            }
    return result


def close(a, b, tolerance=1e-9):
    if a is None or b is None or math.isinf(a) or math.isinf(b):
        return (a is None or math.isinf(a)) and (b is None or math.isinf(b))
    return a == b or abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-12)


def against_json(field, path):
    root = json.loads(Path(path).read_text())
    wrong = []
    for one in root["mappers"]:
        name = one["name"] if "name" in one else one["mapper"]
        for key, own in (("ratio", field.ratio(name)), ("best", field.n_best(name))):
            if not close(one[key], own):
                wrong.append(f"{key} of {name}: {one[key]} told, {own} recomputed")
    wrong += wrong_order(field, [one.get("name", one.get("mapper")) for one in root["mappers"]])
    own = tests(field)
    for pair in root["pairs"]:
        for measure in ("value", "time_to_1%"):
            for scope in ("searches", "instances"):
                told = pair[measure] if scope == "searches" else pair[measure]["over_instances"]
                mine = own[measure, scope][pair["a"], pair["b"]]
                for key, value in zip(("p", "p_holm", "effect"), mine):
                    if not close(told[key], value):
                        wrong.append(
                            f"{key} of {measure} over {scope}, {pair['a']} and {pair['b']}: "
                            f"{told[key]} told, {value} recomputed"
                        )
    return wrong


def wrong_order(field, names):
    keys = [(field.ratio(name), -field.n_found(name)) for name in names]
    later = [
        f"{b} stands behind {a}"
        for (a, x), (b, y) in zip(zip(names, keys), zip(names[1:], keys[1:]))
        if (y[0] < x[0] and not same(x[0], y[0])) or (math.isinf(x[0]) and y < x)
    ]
    return later


class Tables(html.parser.HTMLParser):
    """The cells of all tables of a page."""

    def __init__(self, text):
        super().__init__()
        self.tables = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_data(self, data):
        if self.tables and self.tables[-1] and self.tables[-1][-1]:
            self.tables[-1][-1][-1] += data


def against_page(field, path):
    """Ratios to the digits that are told, how many are best, and the words of the matrices."""
    wrong = []
    tables = Tables(Path(path).read_text()).tables
    standing = [row for row in tables[0][1:]]
    for row in standing:
        own = field.ratio(row[0])
        told = math.inf if row[1] == "-" else float(row[1])
        if not close(told, own, 6e-4):
            wrong.append(f"ratio of {row[0]}: {row[1]} told, {own} recomputed")
        if row[2].split("/")[0] != str(field.n_best(row[0])):
            wrong.append(f"best of {row[0]}: {row[2]} told, {field.n_best(row[0])} recomputed")
    own = tests(field)
    for table in tables:
        measure = {"value": "value"}.get(table[0][0], "time_to_1%")
        if table[0][0] != "value" and not table[0][0].startswith("time to 1 %"):
            continue
        for row in table[1:]:
            for name, word in zip(table[0][1:], row[1:]):
                pair = (row[0], name)
                if pair in own[measure, "searches"]:
                    _, after, _ = own[measure, "searches"][pair]
                    _, others, _ = own[measure, "instances"][pair]
                    evidence = after < EVIDENCE or others < EVIDENCE
                    if bool(word) != evidence:
                        wrong.append(f"{measure}, {pair}: '{word}' told, p {after} recomputed")
    return wrong


def main(folder):
    folder = Path(folder)
    field = Field(folder / "trials.csv")
    result = folder / "result.json"
    page = folder / "report.html"
    wrong = against_json(field, result) if result.exists() else against_page(field, page)
    for line in wrong:
        print(line)
    print(f"{folder}: {len(field.mappers)} mappers, {len(field.instances)} instances, "
          f"{len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
