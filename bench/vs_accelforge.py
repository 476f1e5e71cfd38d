"""Maps one workload with an installed AccelForge and prints one JSON object.

usage: vs_accelforge.py ARCH.yaml WORKLOAD.yaml MAX_FUSED_LOOPS(number or inf) JOBS

Metric: energy-delay product. Only the package's public interface is used; its settings are its own
defaults but for the limit on fused loops, one fused loop per rank variable, and the number of jobs.
The figure is the mapper's own (single precision): its detailed evaluation afterwards is not timed.
"""
import json
import sys

import accelforge
from accelforge.mapper import FFM


def main():
    arch, workload, limit, jobs = sys.argv[1:]
    accelforge.set_n_parallel_jobs(int(jobs))
    spec = accelforge.Spec.from_yaml(arch, workload)
    spec.mapper.metrics = accelforge.Metrics.ENERGY_DELAY_PRODUCT
    spec.mapper.max_fused_loops = float(limit) if limit == "inf" else int(limit)
    spec.mapper.max_fused_loops_per_rank_variable = 1
    pmappings = FFM.make_pmappings(spec, print_progress=False)
    found = FFM.join_pmappings(
        pmappings, metrics=spec.mapper.metrics, print_progress=False
    )
    values = found.to_dict(list_if_one_mapping=True)["Total<SEP>energy_delay_product"]
    print("RESULT " + json.dumps({"edp_js": min(float(v) for v in values)}), flush=True)


if __name__ == "__main__":
    main()
