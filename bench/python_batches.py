"""Evaluations a second of batches in Python, beside the same points one by one, in one run.

usage: PYTHONPATH=build/python python_batches.py [ARCH] [WORKLOAD] [POINTS]
"""
import sys
import time

import tessera


def seconds(work):
    """The least of three runs."""
    taken = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return min(taken)


def main(arch="eyeriss", workload="cnn-layer", points="20000"):
    opened = tessera.OpenSpace(tessera.Problem.load(arch, workload), seed=1)
    drawn = opened.run(opened.draw(int(points))).points
    legal = len(opened.run(opened.at(drawn)))
    few = min(legal, 200)
    batch_s = seconds(lambda: opened.run(opened.at(drawn))) / legal
    single_s = seconds(lambda: [opened.run(opened.at(drawn.take([i]))) for i in range(few)]) / few
    print(f"{workload} on {arch}: {1 / batch_s:.0f} evaluations a second in batches, "
          f"{1 / single_s:.0f} one by one, ratio {single_s / batch_s:.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
