#include "tessera/learning/network.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "learning/dense.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/search/rng.hpp"

namespace tessera::learning {

namespace {

/// Weights between two looks at the stop token: some tens of microseconds.
constexpr std::size_t poll_every = 1024;

/// Box and Muller, 1958.
double normal(search::Rng& rng) {
    const double radius = std::sqrt(-2 * std::log(1 - rng.uniform()));
    return radius * std::cos(2 * std::numbers::pi * rng.uniform());
}

}  // namespace

template <class Real>
Network<Real>::Network(std::vector<std::size_t> widths, Activation last, std::uint64_t seed)
    : widths_(std::move(widths)), last_(last) {
    if (widths_.size() < 2 || std::find(widths_.begin(), widths_.end(), 0U) != widths_.end()) {
        throw Bug("a network needs inputs and outputs, and no empty layer");
    }
    search::Rng rng(seed);
    for (std::size_t i = 0; i + 1 < widths_.size(); ++i) {
        const double deviation = std::sqrt(2 / static_cast<double>(widths_[i]));
        for (std::size_t k = 0; k < widths_[i] * widths_[i + 1]; ++k) {
            if (k % poll_every == 0) {
                base::poll_stop();
            }
            weights_.push_back(static_cast<Real>(normal(rng) * deviation));
        }
        weights_.insert(weights_.end(), widths_[i + 1], Real{0});
    }
}

template <class Real>
std::span<const Real> Network<Real>::forward(std::span<const Real> inputs,
                                             Trace<Real>& trace) const {
    trace.n = inputs.size() / n_inputs();
    trace.outputs.resize(widths_.size());
    trace.outputs[0].assign(inputs.begin(), inputs.end());
    const Real* w = weights_.data();
    for (std::size_t i = 0; i + 1 < widths_.size(); ++i) {
        std::vector<Real>& to = trace.outputs[i + 1];
        to.resize(widths_[i + 1] * trace.n);
        const LayerShape shape{widths_[i], widths_[i + 1], trace.n};
        const Real* const biases = w + shape.inputs * shape.outputs;
        affine(shape, w, biases, trace.outputs[i].data(), to.data());
        w = biases + shape.outputs;
        if (i + 2 < widths_.size()) {
            for (Real& x : to) {
                x = std::max(x, Real{0});
            }
        } else if (last_ == Activation::sigmoid) {
            for (Real& x : to) {
                x = 1 / (1 + std::exp(-x));
            }
        }
    }
    return trace.outputs.back();
}

template <class Real>
void Network<Real>::backward(Trace<Real>& trace, std::span<const Real> by_outputs,
                             std::span<Real> by_weights, std::span<Real> by_inputs) const {
    trace.gradient.assign(by_outputs.begin(), by_outputs.end());
    std::size_t at = weights_.size();
    for (std::size_t i = widths_.size() - 1; i-- > 0;) {
        const std::vector<Real>& out = trace.outputs[i + 1];
        const bool is_last = i + 2 == widths_.size();
        if (!is_last) {
            for (std::size_t k = 0; k < out.size(); ++k) {
                trace.gradient[k] = out[k] > 0 ? trace.gradient[k] : Real{0};
            }
        } else if (last_ == Activation::sigmoid) {
            for (std::size_t k = 0; k < out.size(); ++k) {
                trace.gradient[k] *= out[k] * (1 - out[k]);
            }
        }
        const LayerShape shape{widths_[i], widths_[i + 1], trace.n};
        at -= (shape.inputs + 1) * shape.outputs;
        if (!by_weights.empty()) {
            Real* const dw = by_weights.data() + at;
            add_weight_gradient(shape, trace.gradient.data(), trace.outputs[i].data(), dw,
                                dw + shape.inputs * shape.outputs);
        }
        if (i == 0 && by_inputs.empty()) {
            return;
        }
        trace.before.resize(shape.inputs * trace.n);
        input_gradient(shape, weights_.data() + at, trace.gradient.data(), trace.before.data());
        std::swap(trace.gradient, trace.before);
    }
    std::copy(trace.gradient.begin(), trace.gradient.end(), by_inputs.begin());
}

template class Network<float>;
template class Network<double>;

template <class Real>
double loss(Loss kind, std::span<const Real> predicted, std::span<const Real> wanted, Real factor,
            std::span<Real> gradient) {
    double sum = 0;
    for (std::size_t i = 0; i < predicted.size(); ++i) {
        const Real d = predicted[i] - wanted[i];
        const Real size = std::abs(d), sign = d > 0 ? Real{1} : (d < 0 ? Real{-1} : Real{0});
        Real value = size, slope = sign;
        if (kind == Loss::squared) {
            value = d * d;
            slope = 2 * d;
        } else if (kind == Loss::huber) {
            value = size < 1 ? d * d / 2 : size - Real{0.5};
            slope = size < 1 ? d : sign;
        }
        sum += static_cast<double>(value);
        gradient[i] = factor * slope;
    }
    return sum;
}

template double loss(Loss, std::span<const float>, std::span<const float>, float, std::span<float>);
template double loss(Loss, std::span<const double>, std::span<const double>, double,
                     std::span<double>);

}  // namespace tessera::learning
