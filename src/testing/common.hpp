// Small problems and helpers of the contract kits.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/plugin/registry.hpp"
#include "tessera/testing/contract.hpp"

namespace tessera::testing {

/// A chain of matrix multiplications on a buffer and a row of multipliers.
class SmallProblem {
public:
    /// `einsums` multiplications of m x n by n x n; a buffer of so many bits.
    SmallProblem(int einsums, int m, int n, double buffer_bits);
    SmallProblem(const SmallProblem&) = delete;
    SmallProblem& operator=(const SmallProblem&) = delete;

    const model::Problem& problem() const {
        return problem_;
    }

private:
    workload::Workload workload_;
    std::unique_ptr<arch::Architecture> architecture_;
    model::Problem problem_;
};

bool close(double a, double b);

/// Values outside a knob's range are refused, the ends of the range make an object.
template <class Role>
void check_knobs(const std::string& name, Findings& findings);
extern template void check_knobs<model::CostModel>(const std::string&, Findings&);
extern template void check_knobs<search::SearchStrategy>(const std::string&, Findings&);
extern template void check_knobs<mapper::Mapper>(const std::string&, Findings&);

/// While it lives, what this process writes to stdout and stderr is caught.
class Silence {
public:
    Silence();
    ~Silence();
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;
    /// Bytes written so far.
    long written() const;

private:
    int out_, err_, file_;
};

/// CPU time of this process.
double cpu_s();

}  // namespace tessera::testing
