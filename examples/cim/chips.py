"""Compute-in-memory chips of AccelForge's examples, mapped by Tessera.

    python chips.py ACCELFORGE [--own]

ACCELFORGE is a checkout of AccelForge, whose package and component models are installed. A line for
each chip and setting: published figures, AccelForge's model of Tessera's optimum, and with --own
the optimum of AccelForge's own mapper. Seconds are CPU seconds of one process.
"""

import argparse
import logging
import resource
import sys
import warnings
from pathlib import Path
from typing import Any, Callable, NamedTuple


class Setting(NamedTuple):
    chip: str
    name: str
    change: Callable[[Any], None]   # of the spec of the example
    tops: float | None = None       # published, of one array
    tops_per_w: float | None = None
    macs: float = 1                 # arrays on the chip that the published figure speaks of
    area_mm2: float | None = None   # published
    part: tuple[str, ...] = ()      # components whose energy the published figure has; none: all


def bits(input: int, weight: int, output: int, **variables: Any) -> Callable[[Any], None]:
    """Widths of the tensors; other names are variables of the spec."""
    widths = {"input": input, "weight": weight, "output": output}

    def change(spec: Any) -> None:
        for einsum in spec.workload.einsums:
            for access in einsum.tensor_accesses:
                access.bits_per_value = widths[access.name]
        values(**variables)(spec)
    return change


def values(**given: Any) -> Callable[[Any], None]:
    def change(spec: Any) -> None:
        for name, value in given.items():
            if name in spec.arch.variables:
                spec.arch.variables[name] = value
            else:
                setattr(spec.variables, name, value)
    return change


def sinangil(voltage: float, output: float) -> Callable[[Any], None]:
    operand = 0.25 * output ** 0.5
    return values(voltage=voltage, average_input_value=operand, average_weight_value=operand,
                  average_output_value=output)


ARRAY = ("RowDrivers", "CimUnit", "ADC", "ColumnDrivers", "BitcellCapacitor", "WeightDrivers")
SETTINGS = [
    Setting("colonnade_jssc_2021", "0.8 V, 1 b x 8 b", bits(1, 8, 16, force_100mhz=True),
            tops_per_w=2 / 0.1443, area_mm2=0.2272),
    Setting("jia_jssc_2020", "0.85 V, 1 b", bits(1, 1, 1, voltage=0.85), 0.874, 400, area_mm2=4.296,
            part=ARRAY),
    Setting("jia_jssc_2020", "1.2 V, 1 b", bits(1, 1, 1, voltage=1.2), 2.185, 192, area_mm2=4.296,
            part=ARRAY),
    Setting("neurram_nature_2022", "4 b in, 6 b out", bits(4, 4, 6, one_phase=0), 0.7439, 15.95,
            macs=48, area_mm2=0.7083),
    Setting("neurram_nature_2022", "6 b in, 8 b out", bits(6, 4, 8, one_phase=0), 0.4177, 8.257,
            macs=48, area_mm2=0.7083),
    Setting("sinangil_jssc_2021", "0.8 V, mean output 6", sinangil(0.8, 6), 0.3724, 351,
            area_mm2=0.002556),
    Setting("sinangil_jssc_2021", "1 V, mean output 6", sinangil(1.0, 6), 0.4551, 321,
            area_mm2=0.002556),
    Setting("wang_vlsi_2022", "0.7 V", values(voltage=0.7), 0.3, 32.2),
    Setting("wang_vlsi_2022", "1.1 V", values(voltage=1.1), 0.5, 15.5),
    Setting("albireo_isca_2021", "as given", values()),
    Setting("basic_analog", "as given", values()),
    Setting("isaac_isca_2016", "as given", values()),
    Setting("raella_isca_2023", "as given", values()),
]


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def efficiency(mappings: Any, setting: Setting) -> tuple[float, float]:
    """TOPS of the chip, and TOPS/W."""
    one = mappings.per_compute()
    energy = one.energy(per_component=True)
    parts = [float(energy[name]) for name in setting.part or energy if name in energy]
    return 2 * setting.macs / float(one.latency()) / 1e12, 2 / sum(parts) / 1e12


def text(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("accelforge", type=Path)
    parser.add_argument("--own", action="store_true", help="AccelForge's own mapper, too")
    parser.add_argument("--chip", action="append", help="this one only; may be repeated")
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.accelforge / "examples" / "arches" / "compute_in_memory"))
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)

    import accelforge
    from _load_spec import get_spec
    from accelforge.mapper.FFM import map_workload_to_arch as own_mapper

    from tessera import accelforge as bridge

    accelforge.set_n_parallel_jobs(1)
    print("| chip | setting | TOPS | published | TOPS/W | published | pJ/MAC | mm² | published | s "
          "| own mapper: pJ/MAC | s |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for setting in SETTINGS:
        if arguments.chip and setting.chip not in arguments.chip:
            continue
        cells = [setting.chip, setting.name]
        try:
            spec = get_spec(setting.chip, add_dummy_main_memory=True)
            setting.change(spec)
            start = cpu_seconds()
            found = bridge.map_workload_to_arch(spec, print_progress=False)
            ours = cpu_seconds() - start
            area = sum(spec.calculate_component_costs().arch.per_component_total_area.values())
            tops, tops_per_w = efficiency(found, setting)
            cells += [text(tops), text(setting.tops), text(tops_per_w), text(setting.tops_per_w),
                      text(float(found.per_compute().energy()) * 1e12), text(float(area) * 1e6),
                      text(setting.area_mm2), text(ours)]
            if arguments.own:
                start = cpu_seconds()
                own = own_mapper(spec, print_progress=False)
                cells += [text(float(own.per_compute().energy()) * 1e12),
                          text(cpu_seconds() - start)]
            else:
                cells += ["", ""]
        except Exception as error:  # what AccelForge itself cannot evaluate is a line of the table
            cells += [f"{type(error).__name__}: {str(error).splitlines()[0][:80]}"] + [""] * 9
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
