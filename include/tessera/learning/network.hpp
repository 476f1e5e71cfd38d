// Fully connected networks with rectified linear units, and what trains them. Numbers are float in
// use, double in tests of gradients. All sums have a fixed order: the same seed gives the same
// network on the same processor, for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/parallel.hpp"

namespace tessera::learning {

/// Of the last layer; the others are max(0, x).
enum class Activation : std::uint8_t { linear, sigmoid };

/// What a batch went through; scratch of one thread.
template <class Real>
struct Trace {
    std::size_t n = 0;                       ///< samples
    std::vector<std::vector<Real>> outputs;  ///< of the inputs and of each layer, sample by sample
    std::vector<Real> gradient, before;
};

/// Immutable but for weights(). Thread rule: const functions may run in several threads.
template <class Real>
class Network {
public:
    Network() = default;
    /// `widths`: inputs, hidden layers, outputs; at least two. Weights are drawn after He et al.,
    /// "Delving Deep into Rectifiers", ICCV 2015; biases are 0.
    /// \throws base::Stopped
    Network(std::vector<std::size_t> widths, Activation last, std::uint64_t seed);

    const std::vector<std::size_t>& widths() const {
        return widths_;
    }
    std::size_t n_inputs() const {
        return widths_.front();
    }
    std::size_t n_outputs() const {
        return widths_.back();
    }
    Activation last() const {
        return last_;
    }
    /// Layer after layer: the matrix, input by input, then the biases.
    std::vector<Real>& weights() {
        return weights_;
    }
    const std::vector<Real>& weights() const {
        return weights_;
    }

    /// `inputs`: n samples one after the other. \returns the outputs, sample by sample, which live
    /// in `trace`
    std::span<const Real> forward(std::span<const Real> inputs, Trace<Real>& trace) const;

    /// After forward(): from the gradient by the outputs to those by the weights, which is added to
    /// `by_weights`, and by the inputs. Either may be empty: not wanted.
    void backward(Trace<Real>& trace, std::span<const Real> by_outputs, std::span<Real> by_weights,
                  std::span<Real> by_inputs) const;

private:
    std::vector<std::size_t> widths_;
    Activation last_ = Activation::linear;
    std::vector<Real> weights_;
};

extern template class Network<float>;
extern template class Network<double>;

/// Per number d = predicted - wanted: d^2 / 2 up to |d| = 1, |d| - 1/2 beyond (huber); d^2; |d|.
enum class Loss : std::uint8_t { huber, squared, absolute };

/// The sum over all numbers; `gradient` gets `factor` times its derivatives.
template <class Real>
double loss(Loss kind, std::span<const Real> predicted, std::span<const Real> wanted, Real factor,
            std::span<Real> gradient);

/// Samples one after the other.
struct TrainingSet {
    std::size_t n_inputs = 0, n_outputs = 0;
    std::vector<float> inputs, outputs;

    std::size_t size() const {
        return n_inputs == 0 ? 0 : inputs.size() / n_inputs;
    }
};

/// Defaults: Mind Mappings (Hegde et al., ASPLOS 2021, section 5.5).
struct TrainOptions {
    Loss loss = Loss::huber;
    std::size_t batch = 128;
    double rate = 1e-2;
    double momentum = 0.9;
    std::size_t drop_every = 25;  ///< epochs after which the rate becomes
    double drop = 0.1;            ///< so many times what it was
    std::uint64_t seed = 0;
    int threads = 1;  ///< results do not depend on it
};

/// Stochastic gradient descent with momentum: v <- momentum v - rate g, w <- w + v.
class Trainer {
public:
    /// Both outlive this.
    Trainer(Network<float>& network, const TrainingSet& set, TrainOptions options);

    /// Once through the set in a random order. \returns the mean loss on the way. Polls the stop
    /// token (base::Stopped): the network is then in the midst of an epoch.
    double epoch();
    std::size_t epochs() const {
        return epochs_;
    }

    /// What epoch() goes on from beside the number of epochs, and back. False: not of this network.
    std::vector<float> save() const;
    bool restore(std::size_t epochs, std::span<const float> state);

private:
    void step(std::span<const std::uint32_t> samples, double rate);

    Network<float>& network_;
    const TrainingSet& set_;
    const TrainOptions options_;
    std::size_t epochs_ = 0;
    double sum_ = 0;
    std::vector<float> velocity_;
    struct Part {
        Trace<float> trace;
        std::vector<float> inputs, wanted, by_outputs, by_weights;
        double loss = 0;
    };
    std::vector<Part> parts_;
    std::unique_ptr<base::Threads> threads_;
};

/// The mean loss per number.
double mean_loss(const Network<float>& network, const TrainingSet& set, Loss kind);

/// The optimizer Adam (Kingma and Ba, ICLR 2015), with their constants.
class Adam {
public:
    explicit Adam(double rate) : rate_(rate) {}
    void step(std::vector<float>& weights, std::span<const float> gradient);

    /// What step() goes on from beside the number of steps, and back. Twice as many numbers as
    /// there are weights; none before the first step.
    std::vector<float> save() const;
    std::uint64_t steps() const {
        return steps_;
    }
    /// False: no such state.
    bool restore(std::uint64_t steps, std::span<const float> state);

private:
    double rate_;
    std::uint64_t steps_ = 0;
    std::vector<float> mean_, square_;
};

}  // namespace tessera::learning
