// Small problems and helpers of the contract kits.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/plugin/registry.hpp"
#include "tessera/testing/contract.hpp"
#include "tessera/workload/workload.hpp"

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

/// Costs of legal mappings of a kit's problem (0: not legal). \throws Bug unless some are above 0
/// and differ: where all mappings cost the same, whatever a plugin does passes.
void refuse_vacuous(const std::vector<double>& costs);

/// A kit's checks of its own between those that every role has: name and knobs, and silence while
/// `work` is done.
template <class Role>
std::vector<Check> with_common_checks(const std::string& name, std::vector<Check> own,
                                      std::function<void()> work);
extern template std::vector<Check> with_common_checks<model::CostModel>(const std::string&,
                                                                        std::vector<Check>,
                                                                        std::function<void()>);
extern template std::vector<Check> with_common_checks<search::SearchStrategy>(
    const std::string&, std::vector<Check>, std::function<void()>);
extern template std::vector<Check> with_common_checks<mapper::Mapper>(const std::string&,
                                                                      std::vector<Check>,
                                                                      std::function<void()>);

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
