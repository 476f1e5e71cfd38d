"""Random sparse inputs for `timeloop-model`: random_sparse.py FIRST COUNT FOLDER writes one YAML
file per seed, in the spelling of version 3.0.3."""

import random
import sys


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


def split(r, bound, parts):
    """Factors of a bound, one for each loop."""
    factors = []
    for _ in range(parts - 1):
        f = r.choice(divisors(bound))
        factors.append(f)
        bound //= f
    factors.append(bound)
    r.shuffle(factors)
    return factors


SHAPES = {
    "matmul": (["M", "N", "K"],
               [("A", [[["M"]], [["K"]]]), ("B", [[["K"]], [["N"]]]), ("Z", [[["M"]], [["N"]]])]),
    "conv": (["K", "C", "R", "P"],
             [("W", [[["K"]], [["C"]], [["R"]]]), ("I", [[["C"]], [["R"], ["P"]]]),
              ("O", [[["K"]], [["P"]]])]),
    "dot": (["K", "J"], [("A", [[["K"]]]), ("B", [[["K"]], [["J"]]]), ("Z", [[["J"]]])]),
}


def text(value):
    if isinstance(value, list):
        return "[ " + ", ".join(text(v) for v in value) + " ]" if value else "[]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k}: {text(v)}" for k, v in value.items()) + " }"
    return str(value)


def dimensions_of(projection):
    return sorted({term[0] for rank in projection for term in rank})


def problem(r, kind):
    dims, spaces = SHAPES[kind]
    sizes = [1, 2, 3, 4, 6, 8, 12, 16] if kind != "conv" else [1, 2, 3, 4, 6, 8]
    bounds = {d: r.choice(sizes) for d in dims}
    square = kind == "matmul" and r.random() < 0.2
    if square:
        bounds["M"] = bounds["K"] = r.choice([4, 8, 16])
    lines = ["problem:", "  shape:", "    name: x", f"    dimensions: {text(dims)}",
             "    data-spaces:"]
    for i, (name, projection) in enumerate(spaces):
        lines.append(f"    - name: {name}")
        lines.append(f"      projection: {text(projection)}")
        if i == 2:
            lines.append("      read-write: True")
    densities = {}
    for i, (name, _) in enumerate(spaces):
        value = r.choice([0.05, 0.1, 0.2, 0.25, 0.33, 0.4433, 0.5, 0.7, 0.9, 1.0])
        pick = r.random()
        if square and i == 0 and pick < 0.6:
            densities[name] = {"distribution": "banded", "band_width": r.choice([0, 1, 2, 5])}
        elif pick < 0.15:
            continue
        elif pick < 0.3:
            densities[name] = value
        else:
            model = r.choice(["fixed-structured", "hypergeometric", "hypergeometric"])
            densities[name] = {"distribution": model, "density": value}
    instance = dict(bounds)
    instance["densities"] = densities
    lines.append(f"  instance: {text(instance)}")
    return dims, spaces, bounds, lines


def fan_outs(r, levels):
    """Of each level, innermost first, along X and Y."""
    return [(r.choice([1, 1, 1, 2, 3, 4]), r.choice([1, 1, 1, 1, 2])) for _ in range(levels)]


def architecture(r, fans):
    levels = len(fans)
    x, y = [1] * (levels + 1), [1] * (levels + 1)
    for i in reversed(range(levels)):
        x[i], y[i] = x[i + 1] * fans[i][0], y[i + 1] * fans[i][1]
    lines = ["arch:",
             f"  arithmetic: {{ name: MAC, instances: {x[0] * y[0]}, meshX: {x[0]}, "
             f"meshY: {y[0]}, word-bits: 8 }}", "  storage:"]
    word_bits = []
    for i in range(levels):
        outer = i == levels - 1
        word = r.choice([4, 8, 16])
        word_bits.append(word)
        a = {"name": f"L{i}", "instances": x[i + 1] * y[i + 1], "meshX": x[i + 1],
             "meshY": y[i + 1], "word-bits": word,
             "block-size": r.choice([1, 1, 1, 2, 4, 8])}
        if outer and r.random() < 0.7:
            a["technology"] = "DRAM"
        elif r.random() < 0.6:
            a["entries"] = r.choice([64, 256, 4096, 65536])
            a["metadata_storage_depth"] = r.choice([256, 4096, 65536])
        elif not outer:
            a["entries"] = 100000
            a["metadata_storage_depth"] = 100000
        a["metadata_storage_width"] = r.choice([16, 32, 64])
        a["metadata_datawidth"] = r.choice([2, 4, 8, 16])
        for key in ("decompression_supported", "compression_supported"):
            if r.random() < 0.9:
                a[key] = True
        for key in ("read_bandwidth", "write_bandwidth", "shared_bandwidth"):
            if r.random() < 0.2:
                a[key] = r.choice([0.5, 1, 2, 8])
        if r.random() < 0.1:
            a["multiple-buffering"] = 2
        if r.random() < 0.2:
            a["energy-per-hop"] = 0.125
        lines.append(f"  - {text(a)}")
    return lines


ACTIONS = ["read", "write", "update", "idle", "gated_read", "gated_write", "gated_fill",
           "gated_update", "skipped_read", "skipped_write", "random_read", "random_fill",
           "random_update", "metadata_read", "metadata_write", "metadata_idle",
           "gated_metadata_read", "gated_metadata_write", "skipped_metadata_read",
           "random_metadata_read", "random_metadata_fill", "skipped_metadata_fill",
           "random_metadata_update", "decompression_count", "compression_count"]


def energies(r, levels):
    if r.random() < 0.15:
        return []
    lines = ["ERT:", "  version: 0.3", "  tables:"]
    for i in range(levels):
        picked = ["read", "write"] + [a for a in ACTIONS[2:] if r.random() < 0.5]
        actions = [{"name": a, "arguments": {}, "energy": round(r.uniform(0.1, 9), 2)}
                   for a in picked]
        lines.append(f"  - {{ name: system.L{i}, actions: {text(actions)} }}")
    picked = ["compute"] + [a for a in ("mac_gated", "mac_skipped", "compute_gated")
                            if r.random() < 0.5]
    actions = [{"name": a, "arguments": {}, "energy": round(r.uniform(0.1, 2), 2)} for a in picked]
    lines.append(f"  - {{ name: system.MAC, actions: {text(actions)} }}")
    return lines


def mapping(r, dims, bounds, fans, spaces):
    levels = len(fans)
    places = [(i, "temporal") for i in range(levels)]
    factors = {place: dict.fromkeys(dims, 1) for place in places}
    rest = dict(bounds)
    spatial = {}
    for i, (x, y) in enumerate(fans):
        if x * y == 1:
            continue
        order = dims[:]
        r.shuffle(order)
        cut = r.randint(0, len(dims))
        if x == 1:
            cut = 0
        elif y == 1:
            cut = len(dims)
        own = {}
        for side, some in ((x, order[:cut]), (y, order[cut:])):
            for d in some:
                f = r.choice([f for f in divisors(rest[d]) if side % f == 0 or f <= side])
                own[d] = f
                side //= f
                rest[d] //= f
        spatial[i] = (own, order, cut)
    for d in dims:
        for place, f in zip(places, split(r, rest[d], levels)):
            factors[place][d] = f
    lines = ["mapping:"]
    kept = {}
    for i in range(levels):
        order = dims[:]
        r.shuffle(order)
        own = " ".join(f"{d}={factors[(i, 'temporal')][d]}" for d in dims)
        lines.append(f"- {{ target: L{i}, type: temporal, factors: {own}, "
                     f"permutation: {''.join(order)} }}")
        if i in spatial:
            own, order, cut = spatial[i]
            own = " ".join(f"{d}={own[d]}" for d in dims)
            lines.append(f"- {{ target: L{i}, type: spatial, factors: {own}, "
                         f"permutation: {''.join(order)}, split: {cut} }}")
        names = [name for name, _ in spaces]
        keep = [n for n in names if i == levels - 1 or r.random() < 0.75]
        kept[i] = keep
        bypass = [n for n in names if n not in keep]
        lines.append(f"- {{ target: L{i}, type: bypass, keep: {text(keep)}, "
                     f"bypass: {text(bypass)} }}")
    return kept, lines


def rank_formats(r, count):
    """Innermost first: compressed ranks inside, uncompressed ones outside."""
    inside = r.randint(0, count)
    if r.random() < 0.8:
        inside = max(inside, 1)
    return [r.choice(["CP", "B", "RLE", "CP"]) for _ in range(inside)] + \
           [r.choice(["UOP", "UOP", "UB"]) for _ in range(count - inside)]


def ranks(r, formats, flattened):
    result = []
    for f in reversed(formats):
        rank = {"format": f}
        if flattened:
            rank["flattened-rankIDs"] = [flattened]
        if r.random() < 0.15:
            rank["metadata-word-bits"] = r.choice([1, 2, 3, 5, 8])
        if r.random() < 0.1:
            rank["payload-word-bits"] = r.choice([2, 4, 6])
        result.append(rank)
    return result


def optimizations(r, spaces, levels, kept):
    """What each level does; formats that have a chance to fit each other."""
    formats = {i: [] for i in range(levels)}
    for name, projection in spaces:
        if r.random() < 0.3:
            continue
        flat = dimensions_of(projection) if r.random() < 0.6 else None
        count = r.randint(1, 3) if flat else r.randint(2, 4)
        all_of_them = rank_formats(r, count)
        order = r.random() < 0.2
        for i in reversed(range(levels)):
            if name not in kept[i] and r.random() < 0.9:
                continue
            if r.random() < 0.15:
                continue
            entry = {"name": name, "ranks": ranks(r, all_of_them[:count], flat)}
            if order:
                entry["rank-application-order"] = "inner-to-outer"
            formats[i].append(entry)
            if count > 1 and r.random() < 0.6:
                count -= 1
    names = [name for name, _ in spaces]
    lines = []
    for i in range(levels):
        target = {"name": f"L{i}"}
        if formats[i] and r.random() < 0.9:
            target["representation-format"] = {"data-spaces": formats[i]}
        actions = []
        for _ in range(r.choice([0, 0, 1, 1, 2, 3])):
            target_space = r.choice(names)
            others = [n for n in names[:2] if n != target_space]
            if r.random() < 0.4 or len(others) < 2:
                others = [r.choice(others)]
            option = {"target": target_space, "condition-on": others}
            kind = r.choice(["gating", "skipping", "skipping", "skipping-spatial"])
            if kind == "skipping-spatial":
                if r.random() < 0.5:
                    continue
                option["condition-on"] = others[:1]
            if kind != "skipping-spatial" and r.random() < 0.2:
                second = {"target": names[1 - names.index(others[0])],
                          "condition-on": [others[0]]}
                actions.append({"type": kind, "options": [option, second]})
            else:
                actions.append({"type": kind, **option})
        if actions:
            target["action-optimization"] = actions
        if len(target) > 1:
            lines.append(f"  - {text(target)}")
    if r.random() < 0.6 or not lines:
        some = [{"type": t} for t in ("gating", "skipping") if r.random() < 0.7]
        some = some or [{"type": "gating"}]
        lines.append(f"  - {text({'name': 'MAC', 'compute-optimization': some})}")
    return ["sparse_optimizations:", "  targets:"] + lines


def case(seed):
    r = random.Random(seed)
    kind = r.choice(["matmul", "matmul", "conv", "dot"])
    dims, spaces, bounds, lines = problem(r, kind)
    fans = fan_outs(r, r.choice([2, 2, 3]))
    lines += architecture(r, fans)
    lines += energies(r, len(fans))
    kept, mapped = mapping(r, dims, bounds, fans, spaces)
    lines += mapped
    lines += optimizations(r, spaces, len(fans), kept)
    return "\n".join(lines) + "\n"


def main():
    first, count, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    for seed in range(first, first + count):
        with open(f"{folder}/{seed}.yaml", "w", encoding="utf-8") as out:
            out.write(case(seed))


if __name__ == "__main__":
    main()
