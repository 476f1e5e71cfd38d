// Training. A batch is cut into parts of a fixed size, whose gradients are added in their order: so
// that threads make no difference.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/base/parallel.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/learning/network.hpp"
#include "tessera/search/rng.hpp"

namespace tessera::learning {

namespace {

constexpr std::size_t part_size = 64;

void gather(const std::vector<float>& from, std::size_t width,
            std::span<const std::uint32_t> samples, std::vector<float>& to) {
    to.resize(samples.size() * width);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(samples[i] * width), width,
                    to.begin() + static_cast<std::ptrdiff_t>(i * width));
    }
}

}  // namespace

Trainer::Trainer(Network<float>& network, const TrainingSet& set, TrainOptions options)
    : network_(network),
      set_(set),
      options_(options),
      velocity_(network.weights().size(), 0.0F),
      threads_(std::make_unique<base::Threads>(std::max(options.threads, 1))) {}

void Trainer::step(std::span<const std::uint32_t> samples, double rate) {
    const std::size_t n_parts = (samples.size() + part_size - 1) / part_size;
    if (parts_.size() < n_parts) {
        parts_.resize(n_parts);
    }
    const auto factor =
        static_cast<float>(1.0 / static_cast<double>(samples.size() * set_.n_outputs));
    const auto work = [&](std::size_t p) {
        Part& part = parts_[p];
        const std::size_t from = p * part_size;
        const auto own = samples.subspan(from, std::min(part_size, samples.size() - from));
        gather(set_.inputs, set_.n_inputs, own, part.inputs);
        gather(set_.outputs, set_.n_outputs, own, part.wanted);
        const std::span<const float> predicted = network_.forward(part.inputs, part.trace);
        part.by_outputs.resize(predicted.size());
        part.loss = loss<float>(options_.loss, predicted, part.wanted, factor, part.by_outputs);
        part.by_weights.assign(network_.weights().size(), 0.0F);
        network_.backward(part.trace, part.by_outputs, part.by_weights, {});
    };
    threads_->for_each(n_parts, [&](std::size_t p, int) { work(p); });
    std::vector<float>& weights = network_.weights();
    std::vector<float>& sum = parts_[0].by_weights;
    for (std::size_t p = 1; p < n_parts; ++p) {
        const std::vector<float>& more = parts_[p].by_weights;
        for (std::size_t i = 0; i < sum.size(); ++i) {
            sum[i] += more[i];
        }
    }
    const auto keep = static_cast<float>(options_.momentum), go = static_cast<float>(rate);
    for (std::size_t i = 0; i < sum.size(); ++i) {
        velocity_[i] = keep * velocity_[i] - go * sum[i];
        weights[i] += velocity_[i];
    }
    for (std::size_t p = 0; p < n_parts; ++p) {
        sum_ += parts_[p].loss;
    }
}

double Trainer::epoch() {
    std::vector<std::uint32_t> order(set_.size());
    std::iota(order.begin(), order.end(), 0U);
    search::Rng rng(search::stream_seed(options_.seed, epochs_));
    for (std::size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[rng.below(i)]);
    }
    const double rate =
        options_.rate *
        std::pow(options_.drop,
                 static_cast<double>(epochs_ / std::max<std::size_t>(options_.drop_every, 1)));
    sum_ = 0;
    for (std::size_t at = 0; at < order.size(); at += options_.batch) {
        base::poll_stop();
        const std::size_t n = std::min(options_.batch, order.size() - at);
        step({order.data() + at, n}, rate);
    }
    ++epochs_;
    return sum_ / static_cast<double>(std::max<std::size_t>(set_.size() * set_.n_outputs, 1));
}

std::vector<float> Trainer::save() const {
    std::vector<float> state = network_.weights();
    state.insert(state.end(), velocity_.begin(), velocity_.end());
    return state;
}

bool Trainer::restore(std::size_t epochs, std::span<const float> state) {
    const std::size_t n = velocity_.size();
    if (state.size() != 2 * n) {
        return false;
    }
    std::copy_n(state.begin(), n, network_.weights().begin());
    std::copy_n(state.begin() + static_cast<std::ptrdiff_t>(n), n, velocity_.begin());
    epochs_ = epochs;
    return true;
}

double mean_loss(const Network<float>& network, const TrainingSet& set, Loss kind) {
    constexpr std::size_t block = 256;
    Trace<float> trace;
    std::vector<float> unused;
    double sum = 0;
    for (std::size_t at = 0; at < set.size(); at += block) {
        base::poll_stop();
        const std::size_t n = std::min(block, set.size() - at);
        const std::span<const float> predicted = network.forward(
            std::span(set.inputs).subspan(at * set.n_inputs, n * set.n_inputs), trace);
        unused.resize(predicted.size());
        sum += loss<float>(kind, predicted,
                           std::span(set.outputs).subspan(at * set.n_outputs, predicted.size()),
                           1.0F, unused);
    }
    return sum / static_cast<double>(std::max<std::size_t>(set.outputs.size(), 1));
}

void Adam::step(std::vector<float>& weights, std::span<const float> gradient) {
    constexpr double keep_mean = 0.9, keep_square = 0.999, small = 1e-8;
    mean_.resize(weights.size(), 0.0F);
    square_.resize(weights.size(), 0.0F);
    ++steps_;
    const auto n = static_cast<double>(steps_);
    const auto rate = static_cast<float>(rate_ * std::sqrt(1 - std::pow(keep_square, n)) /
                                         (1 - std::pow(keep_mean, n)));
    const auto m = static_cast<float>(keep_mean), s = static_cast<float>(keep_square);
    for (std::size_t i = 0; i < weights.size(); ++i) {
        mean_[i] = m * mean_[i] + (1 - m) * gradient[i];
        square_[i] = s * square_[i] + (1 - s) * gradient[i] * gradient[i];
        weights[i] -= rate * mean_[i] / (std::sqrt(square_[i]) + static_cast<float>(small));
    }
}

std::vector<float> Adam::save() const {
    std::vector<float> state = mean_;
    state.insert(state.end(), square_.begin(), square_.end());
    return state;
}

bool Adam::restore(std::uint64_t steps, std::span<const float> state) {
    const std::size_t n = state.size() / 2;
    if (state.size() % 2 != 0 || (steps == 0) != state.empty()) {
        return false;
    }
    steps_ = steps;
    mean_.assign(state.begin(), state.begin() + static_cast<std::ptrdiff_t>(n));
    square_.assign(state.begin() + static_cast<std::ptrdiff_t>(n), state.end());
    return true;
}

}  // namespace tessera::learning
