// Surrogates. Map:
//   scales         means and deviations of vectors and outputs over the training set
//   predictions    costs(), gradients()
//   files          bytes(), load()
#include "tessera/learning/surrogate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/directory.hpp"
#include "learning/container.hpp"
#include "tessera/base/error.hpp"

namespace tessera::learning {

namespace {

// Of a linear output the least that counts as a cost.
constexpr double least_cost = 1e-3;

int find(const std::vector<Output>& outputs, const std::string& name) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i].name == name) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

bool is_peak(const Output& output) {
    return output.name.starts_with("peak ");
}

std::vector<std::size_t> widths_of(std::size_t inputs, const std::vector<std::size_t>& hidden,
                                   std::size_t outputs) {
    std::vector<std::size_t> widths = {inputs};
    widths.insert(widths.end(), hidden.begin(), hidden.end());
    widths.push_back(outputs);
    return widths;
}

/// Mean and deviation of each column.
void moments(const std::vector<float>& rows, std::size_t width, std::vector<float>& mean,
             std::vector<float>& deviation) {
    std::vector<double> sum(width, 0), squares(width, 0);
    const std::size_t n = width == 0 ? 0 : rows.size() / width;
    for (std::size_t i = 0; i < n * width; ++i) {
        sum[i % width] += rows[i];
    }
    for (std::size_t k = 0; k < width; ++k) {
        sum[k] /= static_cast<double>(std::max<std::size_t>(n, 1));
    }
    for (std::size_t i = 0; i < n * width; ++i) {
        const double off = rows[i] - sum[i % width];
        squares[i % width] += off * off;
    }
    mean.clear();
    deviation.clear();
    for (std::size_t k = 0; k < width; ++k) {
        mean.push_back(static_cast<float>(sum[k]));
        const double own = std::sqrt(squares[k] / static_cast<double>(std::max<std::size_t>(n, 1)));
        deviation.push_back(own > 1e-5 ? static_cast<float>(own) : 0.0F);
    }
}

}  // namespace

Surrogate::Surrogate(Family family, std::vector<Output> outputs,
                     const std::vector<std::size_t>& hidden, std::uint64_t seed)
    : family_(std::move(family)),
      outputs_(std::move(outputs)),
      input_mean_(family_.layout.size(), 0.0F),
      input_deviation_(family_.layout.size(), 1.0F),
      network_(widths_of(family_.layout.size(), hidden, outputs_.size()), Activation::linear, seed),
      energy_(find(outputs_, "energy")),
      latency_(find(outputs_, "latency")),
      edp_(find(outputs_, "edp")) {
    if (edp_ < 0 && (energy_ < 0 || latency_ < 0)) {
        throw Bug("a surrogate that predicts no EDP");
    }
}

void Surrogate::fit_scales(const TrainingSet& raw) {
    moments(raw.inputs, raw.n_inputs, input_mean_, input_deviation_);
    std::vector<float> mean, deviation;
    moments(raw.outputs, raw.n_outputs, mean, deviation);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
        outputs_[i].mean = mean[i];
        outputs_[i].deviation = deviation[i] > 0 ? deviation[i] : 1.0F;
    }
}

TrainingSet Surrogate::standardised(const TrainingSet& raw) const {
    TrainingSet set = raw;
    for (std::size_t i = 0; i < set.inputs.size(); ++i) {
        const std::size_t k = i % set.n_inputs;
        const float deviation = input_deviation_[k];
        set.inputs[i] = deviation > 0 ? (set.inputs[i] - input_mean_[k]) / deviation : 0.0F;
    }
    for (std::size_t i = 0; i < set.outputs.size(); ++i) {
        const Output& output = outputs_[i % set.n_outputs];
        set.outputs[i] = (set.outputs[i] - output.mean) / output.deviation;
    }
    return set;
}

void Surrogate::forward(std::span<const float> vectors, Scratch& scratch) const {
    const std::size_t width = family_.layout.size();
    scratch.inputs.resize(vectors.size());
    for (std::size_t i = 0; i < vectors.size(); ++i) {
        const std::size_t k = i % width;
        scratch.inputs[i] =
            input_deviation_[k] > 0 ? (vectors[i] - input_mean_[k]) / input_deviation_[k] : 0.0F;
    }
    network_.forward(scratch.inputs, scratch.trace);
}

double Surrogate::value_of(std::size_t output, float standardised) const {
    const Output& o = outputs_[output];
    return static_cast<double>(standardised) * o.deviation + o.mean;
}

bool Surrogate::is_cost(std::size_t output) const {
    const int o = static_cast<int>(output);
    return edp_ >= 0 ? o == edp_ : o == energy_ || o == latency_;
}

double Surrogate::cost_of(const float* standardised) const {
    const auto log_of = [&](int output) {
        const auto i = static_cast<std::size_t>(output);
        const double value = value_of(i, standardised[i]);
        return outputs_[i].log ? value : std::log2(std::max(value, least_cost));
    };
    return edp_ >= 0 ? log_of(edp_) : log_of(energy_) + log_of(latency_);
}

void Surrogate::costs(std::span<const float> vectors, Scratch& scratch,
                      std::span<double> out) const {
    forward(vectors, scratch);
    for (std::size_t i = 0; i < scratch.trace.n; ++i) {
        out[i] = cost_of(scratch.trace.outputs.back().data() + i * outputs_.size());
    }
}

void Surrogate::gradients(Objective objective, double penalty, std::span<const float> vectors,
                          Scratch& scratch, std::span<double> costs, std::span<float> out) const {
    forward(vectors, scratch);
    const std::vector<float>& predicted = scratch.trace.outputs.back();
    scratch.by_outputs.assign(predicted.size(), 0.0F);
    for (std::size_t i = 0; i < scratch.trace.n; ++i) {
        const float* const own = predicted.data() + i * outputs_.size();
        float* const by = scratch.by_outputs.data() + i * outputs_.size();
        costs[i] = cost_of(own);
        for (std::size_t k = 0; k < outputs_.size(); ++k) {
            const Output& o = outputs_[k];
            const double value = value_of(k, own[k]);
            if (is_peak(o)) {
                by[k] = value > 1 ? static_cast<float>(penalty) * o.deviation : 0.0F;
            } else if (objective == Objective::sum) {
                by[k] = 1;
            } else if (is_cost(k)) {
                const double slope = o.log ? 1 : std::numbers::log2e / std::max(value, least_cost);
                by[k] = static_cast<float>(slope * o.deviation);
            }
        }
    }
    network_.backward(scratch.trace, scratch.by_outputs, {}, out);
    const std::size_t n_problem = family_.lowest.size();
    for (std::size_t i = 0; i < out.size(); ++i) {
        const std::size_t k = i % family_.layout.size();
        if (k < n_problem || input_deviation_[k] == 0) {
            out[i] = 0;
        }
    }
}

std::string Surrogate::bytes() const {
    base::Json header;
    header["facts"] = family_.facts;
    header["layout"] = family_.layout;
    header["lowest"] = family_.lowest;
    header["highest"] = family_.highest;
    std::vector<std::string> names;
    std::vector<float> logs, means, deviations;
    for (const Output& o : outputs_) {
        names.push_back(o.name);
        logs.push_back(o.log ? 1.0F : 0.0F);
        means.push_back(o.mean);
        deviations.push_back(o.deviation);
    }
    header["outputs"] = names;
    header["log"] = logs;
    header["output_mean"] = means;
    header["output_deviation"] = deviations;
    header["input_mean"] = input_mean_;
    header["input_deviation"] = input_deviation_;
    std::vector<float> hidden;
    for (std::size_t i = 1; i + 1 < network_.widths().size(); ++i) {
        hidden.push_back(static_cast<float>(network_.widths()[i]));
    }
    header["hidden"] = hidden;
    header["samples"] = samples_;
    return container_bytes("surrogate", header, network_.weights());
}

namespace {

/// Widths a file may ask for before its numbers are looked at.
constexpr float widest = 65536;
constexpr std::size_t most_layers = 64;

std::vector<std::size_t> hidden_of(const Container& file, const std::string& path) {
    std::vector<std::size_t> hidden;
    for (const float width : numbers_of(file, "hidden", path)) {
        if (!(width >= 1 && width <= widest) || width != std::floor(width) ||
            hidden.size() == most_layers) {
            throw UserError(path + ": 'hidden' in its header is no list of up to 64 widths from " +
                            "1 to 65536");
        }
        hidden.push_back(static_cast<std::size_t>(width));
    }
    return hidden;
}

std::size_t n_weights(const std::vector<std::size_t>& widths) {
    std::size_t n = 0;
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
        n += (widths[i] + 1) * widths[i + 1];
    }
    return n;
}

std::vector<float> as_many(std::vector<float> values, std::size_t n, const std::string& what,
                           const std::string& path) {
    if (values.size() != n) {
        throw UserError(path + ": '" + what + "' in its header has " +
                        std::to_string(values.size()) + " entries, expected " + std::to_string(n));
    }
    return values;
}

}  // namespace

Surrogate Surrogate::load(const std::string& path) {
    const std::optional<std::string> bytes = base::read_regular_file(path);
    if (!bytes) {
        throw UserError(path + ": there is no such file; tessera train makes surrogates");
    }
    return read(*bytes, path);
}

Surrogate Surrogate::read(const std::string& bytes, const std::string& name) {
    const Container file = read_container(bytes, "surrogate", name);
    Family family;
    family.facts = strings_of(file, "facts", name);
    family.layout = strings_of(file, "layout", name);
    const std::size_t bounds = n_bounds(family.layout);
    family.lowest = as_many(numbers_of(file, "lowest", name), bounds, "lowest", name);
    family.highest = as_many(numbers_of(file, "highest", name), bounds, "highest", name);
    std::vector<Output> outputs;
    for (const std::string& output : strings_of(file, "outputs", name)) {
        outputs.push_back({output});
    }
    const std::size_t n = outputs.size(), n_inputs = family.layout.size();
    const auto logs = as_many(numbers_of(file, "log", name), n, "log", name);
    const auto means = as_many(numbers_of(file, "output_mean", name), n, "output_mean", name);
    const auto deviations =
        as_many(numbers_of(file, "output_deviation", name), n, "output_deviation", name);
    for (std::size_t i = 0; i < n; ++i) {
        outputs[i].log = logs[i] != 0;
        outputs[i].mean = means[i];
        outputs[i].deviation = deviations[i];
    }
    if (find(outputs, "edp") < 0 && (find(outputs, "energy") < 0 || find(outputs, "latency") < 0)) {
        throw UserError(name + ": it predicts neither 'edp' nor 'energy' and 'latency'");
    }
    const std::vector<std::size_t> hidden = hidden_of(file, name);
    const std::size_t wanted = n_weights(widths_of(n_inputs, hidden, n));
    if (wanted != file.numbers.size() || n_inputs == 0) {
        throw UserError(name + ": it has " + std::to_string(file.numbers.size()) +
                        " weights, its layers need " + std::to_string(wanted));
    }
    Surrogate surrogate(std::move(family), std::move(outputs), hidden, 0);
    surrogate.input_mean_ =
        as_many(numbers_of(file, "input_mean", name), n_inputs, "input_mean", name);
    surrogate.input_deviation_ =
        as_many(numbers_of(file, "input_deviation", name), n_inputs, "input_deviation", name);
    surrogate.network_.weights() = file.numbers;
    const auto samples = file.header.find("samples");
    if (samples == file.header.end() || !samples->is_number_unsigned()) {
        throw UserError(name +
                        ": 'samples' in its header is no number of mappings; train it again");
    }
    surrogate.samples_ = samples->get<std::uint64_t>();
    return surrogate;
}

}  // namespace tessera::learning
