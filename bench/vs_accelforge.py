"""Maps one workload with an installed AccelForge and prints one JSON object.

usage: vs_accelforge.py ARCH.yaml WORKLOAD.yaml MAX_FUSED_LOOPS(number or inf) JOBS MAPPING.yaml

The mapping that was found is written to the last file.

Metric: energy-delay product. Settings are the package's own defaults but for the limit on fused
loops, one fused loop per rank variable, and the number of jobs. Printed are
  edp_js            the mapper's own figure (single precision),
  evaluated_edp_js  the package's evaluation of the mapping that the mapper returned, or
  refused           the reason why that evaluation takes it for no legal mapping,
  evaluation_cpu_s  CPU seconds of this evaluation, which are not the mapper's.
"""
import copy
import json
import sys
import time

import accelforge
from accelforge.mapper import FFM
from accelforge.model.main import evaluate_mapping


def lowest_edp(mappings):
    values = mappings.to_dict(list_if_one_mapping=True)["Total<SEP>energy_delay_product"]
    values = [float(v) for v in values]
    return min(values), values.index(min(values))


def node_lines(node, depth):
    """A node of a mapping tree as lines of a mapping file."""
    kind, pad = type(node).__name__, "  " * depth
    if kind == "Reservation":
        return []
    if kind == "Storage" or kind == "Toll":
        tensors = ", ".join(map(str, node.tensors))
        return [f"{pad}- !{kind} {{tensors: [{tensors}], component: {node.component}}}"]
    if kind == "Compute":
        return [f"{pad}- !Compute {{einsum: {node.einsum}, component: {node.component}}}"]
    if kind == "Temporal" or kind == "Spatial":
        fields = f"rank_variable: {node.rank_variable}, tile_shape: {node.tile_shape}"
        if kind == "Spatial":
            fields += f", name: {node.name}, component: {node.component}"
        return [f"{pad}- !{kind} {{{fields}}}"]
    inner = [line for n in node.nodes for line in node_lines(n, depth + 1)]
    return [f"{pad}- !{kind}", f"{pad}  nodes:", *inner]


def write_mapping(tree, file):
    lines = ["mapping:", "  nodes:"]
    for node in tree.nodes:
        lines += node_lines(node, 1)
    with open(file, "w") as out:
        out.write("\n".join(lines) + "\n")


def evaluated(spec, found, index):
    """What the package's model says of a mapping that its mapper found."""
    begin = time.process_time()
    spec.model.metrics = spec.mapper.info_metrics
    spec.mapping = found.data.iloc[index]["Total<SEP>mapping"](_for_model=True)
    try:
        again = evaluate_mapping(
            spec,
            flattened_arches=found.flattened_arches,
            evaluated_specs=found.evaluated_specs,
        )
        data = again.data.iloc[0]
        edp = float(data["Total<SEP>energy"]) * float(data["Total<SEP>latency"])
        result = {"evaluated_edp_js": edp}
    except Exception as error:  # whatever its evaluation raises, it is the refusal to be shown
        result = {"refused": f"{type(error).__name__}: {error}"[:300]}
    result["evaluation_cpu_s"] = time.process_time() - begin
    return result


def main():
    arch, workload, limit, jobs, mapping = sys.argv[1:]
    accelforge.set_n_parallel_jobs(int(jobs))
    spec = accelforge.Spec.from_yaml(arch, workload)
    spec.mapper.metrics = accelforge.Metrics.ENERGY_DELAY_PRODUCT
    spec.mapper.max_fused_loops = float(limit) if limit == "inf" else int(limit)
    spec.mapper.max_fused_loops_per_rank_variable = 1
    pmappings = FFM.make_pmappings(spec, print_progress=False)
    found = FFM.join_pmappings(
        pmappings, metrics=spec.mapper.metrics, print_progress=False
    )
    edp, index = lowest_edp(found)
    write_mapping(found.data.iloc[index]["Total<SEP>mapping"](), mapping)
    result = {"edp_js": edp, **evaluated(copy.deepcopy(spec), found, index)}
    print("RESULT " + json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
