// A surrogate: a network that predicts what the mappings of a family of problems cost, from their
// vectors (tessera/search/vector.hpp), and the direction in which they become cheaper.
// Source: Hegde et al., "Mind Mappings", ASPLOS 2021.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/learning/network.hpp"
#include "tessera/search/space.hpp"

namespace tessera::learning {

/// The problems that a surrogate holds for.
struct Family {
    std::vector<std::string> facts;      ///< of Einsums and hardware, equal for all its problems
    std::vector<std::string> layout;     ///< of its vectors
    std::vector<float> lowest, highest;  ///< log2 of the bounds it was trained for

    /// What one problem is as a family. \throws Bug if the host did not open the space
    static Family of(const search::Space& space);
    /// The family of both. \throws UserError naming the first fact that differs
    void join(const Family& other);
    /// \throws UserError naming the first fact that differs, or the bound that is out of range.
    /// `name`: of the surrogate
    void require(const search::Space& space, const std::string& name) const;
};

/// A number that is predicted.
///   energy, latency, edp   of the mapping
///   energy E L T           of Einsum E in memory L for tensor T
///   usage E                the fraction of all computes that Einsum E uses
///   peak L                 the fraction of memory L that is in use at most
/// Energies and latencies are relative to the algorithmic minimum (tessera/learning/minimum.hpp).
struct Output {
    std::string name;
    bool log = true;  ///< log2 of it is predicted; peak: itself
    float mean = 0, deviation = 1;
};

/// What descends: the sum of all standardised outputs but peaks (the code of Mind Mappings), or the
/// logarithm of energy times latency, with a penalty for memories that overflow.
enum class Objective : std::uint8_t { sum, log_edp };

class Surrogate {
public:
    /// `hidden`: widths between vectors and outputs. Outputs must allow a prediction of the EDP.
    Surrogate(Family family, std::vector<Output> outputs, const std::vector<std::size_t>& hidden,
              std::uint64_t seed);

    const Family& family() const {
        return family_;
    }
    const std::vector<Output>& outputs() const {
        return outputs_;
    }
    Network<float>& network() {
        return network_;
    }
    const Network<float>& network() const {
        return network_;
    }

    /// Takes means and deviations from vectors and outputs as they are.
    void fit_scales(const TrainingSet& raw);
    /// Vectors and outputs as the network has them.
    TrainingSet standardised(const TrainingSet& raw) const;

    struct Scratch {
        Trace<float> trace;
        std::vector<float> inputs, by_outputs;
    };
    /// log2 of the predicted EDP over its minimum, of each vector; of output edp if there is one.
    void costs(std::span<const float> vectors, Scratch& scratch, std::span<double> out) const;
    /// The same, and the derivatives of the objective by the numbers of the vectors in units of
    /// their deviations; 0 for those that describe the problem and for those that never varied.
    void gradients(Objective objective, double penalty, std::span<const float> vectors,
                   Scratch& scratch, std::span<double> costs, std::span<float> out) const;
    /// Of one number of the vectors; 0: it never varied.
    float deviation(std::size_t input) const {
        return input_deviation_[input];
    }

    /// Mappings that it was trained on; 0: unknown.
    std::uint64_t samples() const {
        return samples_;
    }
    void set_samples(std::uint64_t n) {
        samples_ = n;
    }

    /// \throws UserError naming the file and what is wrong with it: none of ours, of a later
    /// format, cut short, changed
    static Surrogate load(const std::string& path);
    std::string bytes() const;
    /// Of bytes(). `name`: of where they come from. \throws UserError as load() does
    static Surrogate read(const std::string& bytes, const std::string& name);

private:
    void forward(std::span<const float> vectors, Scratch& scratch) const;
    double cost_of(const float* standardised) const;
    double value_of(std::size_t output, float standardised) const;
    bool is_cost(std::size_t output) const;

    Family family_;
    std::vector<Output> outputs_;
    std::vector<float> input_mean_, input_deviation_;
    Network<float> network_;
    int energy_ = -1, latency_ = -1, edp_ = -1;
    std::uint64_t samples_ = 0;
};

}  // namespace tessera::learning
