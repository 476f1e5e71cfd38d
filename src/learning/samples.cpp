// Samples. Map:
//   Statistics      the outputs of one problem, and their values for a mapping
//   draw_samples()  draws, encodes, costs
//   Samples         joined, written, read
#include "learning/samples.hpp"

#include <algorithm>
#include <cmath>

#include "learning/container.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/learning/minimum.hpp"
#include "tessera/search/vector.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::learning {

namespace {

// Of costs over their minimum: what is less counts as this.
constexpr double least_ratio = 0x1p-20;

const model::ComponentReport* component_of(const model::EinsumReport& report,
                                           const std::string& name) {
    for (const model::ComponentReport& component : report.components) {
        if (component.component == name) {
            return &component;
        }
    }
    return nullptr;
}

class Statistics {
public:
    Statistics(const model::Problem& problem, const SampleOptions& options)
        : minimum_(algorithmic_minimum(problem)), log_(options.log) {
        if (options.predicted == Predicted::statistics) {
            for (const auto& [name, energy_j] : minimum_.by_tensor_j) {
                const std::size_t first = name.find(' '), second = name.find(' ', first + 1);
                energies_.push_back({name.substr(0, first),
                                     name.substr(first + 1, second - first - 1),
                                     name.substr(second + 1), energy_j});
                outputs_.push_back({"energy " + name, log_});
            }
            for (const workload::Einsum& einsum : problem.workload->einsums) {
                einsums_.push_back(einsum.name);
                outputs_.push_back({"usage " + einsum.name, log_});
            }
            for (const Energy& energy : energies_) {
                if (std::find(memories_.begin(), memories_.end(), energy.memory) ==
                    memories_.end()) {
                    memories_.push_back(energy.memory);
                    outputs_.push_back({"peak " + energy.memory, false});
                }
            }
            outputs_.push_back({"energy", log_});
            outputs_.push_back({"latency", log_});
        } else {
            outputs_.push_back({"edp", log_});
        }
    }

    const std::vector<Output>& outputs() const {
        return outputs_;
    }
    bool needs_report() const {
        return !energies_.empty();
    }

    void append(const model::Report& report, const search::Outcome& outcome,
                std::vector<float>& to) const {
        const double energy = outcome.energy_j / minimum_.energy_j;
        const double latency = outcome.latency_s / minimum_.latency_s;
        if (!needs_report()) {
            add(energy * latency, to);
            return;
        }
        for (const Energy& wanted : energies_) {
            add(energy_of(report, wanted) / wanted.minimum_j, to);
        }
        for (const std::string& einsum : einsums_) {
            add(usage_of(report, einsum), to);
        }
        for (const std::string& memory : memories_) {
            const auto found = report.peak_occupancy.find(memory);
            to.push_back(found == report.peak_occupancy.end() ? 0.0F
                                                              : static_cast<float>(found->second));
        }
        add(energy, to);
        add(latency, to);
    }

private:
    struct Energy {
        std::string einsum, memory, tensor;
        double minimum_j = 0;
    };

    void add(double ratio, std::vector<float>& to) const {
        const double safe = std::isfinite(ratio) ? std::max(ratio, least_ratio) : least_ratio;
        to.push_back(static_cast<float>(log_ ? std::log2(safe) : safe));
    }

    static double energy_of(const model::Report& report, const Energy& wanted) {
        double sum = 0;
        for (const model::EinsumReport& einsum : report.einsums) {
            const model::ComponentReport* const memory =
                einsum.einsum == wanted.einsum ? component_of(einsum, wanted.memory) : nullptr;
            for (std::size_t i = 0; memory != nullptr && i < memory->tensors.size(); ++i) {
                if (memory->tensors[i].tensor == wanted.tensor) {
                    for (const auto& [action, energy_j] : memory->tensors[i].energy_j) {
                        sum += energy_j;
                    }
                }
            }
        }
        return sum;
    }

    static double usage_of(const model::Report& report, const std::string& name) {
        double usage = 1;
        for (const model::EinsumReport& einsum : report.einsums) {
            for (const model::ComponentReport& component : einsum.components) {
                for (const auto& [dim, used] : component.spatial_usage) {
                    usage *= einsum.einsum == name ? used : 1;
                }
            }
        }
        return usage;
    }

    const Minimum minimum_;
    const bool log_;
    std::vector<Energy> energies_;
    std::vector<std::string> einsums_, memories_;
    std::vector<Output> outputs_;
};

}  // namespace

Samples draw_samples(const model::Problem& problem, const model::CostModel& model,
                     const SampleOptions& options, std::size_t n, std::uint64_t seed) {
    const search::OpenSpace space(problem, model, {options.mapspace, 1, nullptr});
    const search::VectorEncoding encoding(space);
    const Statistics statistics(problem, options);
    search::Worker worker(space);
    Samples samples;
    samples.family = Family::of(space);
    samples.outputs = statistics.outputs();
    samples.raw.n_inputs = encoding.size();
    samples.raw.n_outputs = samples.outputs.size();
    search::Point point;
    std::vector<float> vector(encoding.size());
    for (std::size_t i = 0; i < n; ++i) {
        base::poll_stop();
        const search::Outcome outcome = worker.draw(search::stream_seed(seed, i), point);
        if (!outcome.legal()) {
            break;
        }
        encoding.encode(point, vector);
        samples.raw.inputs.insert(samples.raw.inputs.end(), vector.begin(), vector.end());
        model::Report report;
        if (statistics.needs_report()) {
            report = model.evaluate(problem, worker.mapping(point));
        }
        statistics.append(report, outcome, samples.raw.outputs);
    }
    samples.per_problem = {samples.raw.size()};
    return samples;
}

void Samples::append(const Samples& more) {
    if (family.layout.empty()) {
        *this = more;
        return;
    }
    const auto same = [](const Output& a, const Output& b) {
        return a.name == b.name && a.log == b.log;
    };
    if (outputs.size() != more.outputs.size() ||
        !std::equal(outputs.begin(), outputs.end(), more.outputs.begin(), same)) {
        throw UserError("the samples have different outputs: they are of different runs");
    }
    const std::vector<std::string> before = family.layout;
    family.join(more.family);
    const std::vector<std::string>& layout = family.layout;
    const auto widen = [&](const std::vector<std::string>& own, const std::vector<float>& rows,
                           std::vector<float>& to) {
        std::vector<std::size_t> slots;
        for (const std::string& name : own) {
            slots.push_back(static_cast<std::size_t>(
                std::find(layout.begin(), layout.end(), name) - layout.begin()));
        }
        std::vector<float> row;
        for (const std::string& name : layout) {
            row.push_back(search::padding(name));
        }
        for (std::size_t at = 0; at < rows.size(); at += own.size()) {
            for (std::size_t k = 0; k < own.size(); ++k) {
                row[slots[k]] = rows[at + k];
            }
            to.insert(to.end(), row.begin(), row.end());
        }
    };
    if (before.size() != layout.size()) {
        std::vector<float> wider;
        widen(before, raw.inputs, wider);
        raw.inputs = std::move(wider);
    }
    widen(more.family.layout, more.raw.inputs, raw.inputs);
    raw.n_inputs = layout.size();
    raw.outputs.insert(raw.outputs.end(), more.raw.outputs.begin(), more.raw.outputs.end());
    per_problem.insert(per_problem.end(), more.per_problem.begin(), more.per_problem.end());
}

std::string Samples::bytes() const {
    base::Json header;
    header["facts"] = family.facts;
    header["layout"] = family.layout;
    header["lowest"] = family.lowest;
    header["highest"] = family.highest;
    std::vector<std::string> names;
    std::vector<float> logs, counts;
    for (const Output& output : outputs) {
        names.push_back(output.name);
        logs.push_back(output.log ? 1.0F : 0.0F);
    }
    for (const std::size_t n : per_problem) {
        counts.push_back(static_cast<float>(n));
    }
    header["outputs"] = names;
    header["log"] = logs;
    header["per_problem"] = counts;
    std::vector<float> numbers = raw.inputs;
    numbers.insert(numbers.end(), raw.outputs.begin(), raw.outputs.end());
    return container_bytes("samples", header, numbers);
}

Samples Samples::read(const std::string& bytes, const std::string& name) {
    const Container file = read_container(bytes, "samples", name);
    Samples samples;
    samples.family.facts = strings_of(file, "facts", name);
    samples.family.layout = strings_of(file, "layout", name);
    samples.family.lowest = numbers_of(file, "lowest", name);
    samples.family.highest = numbers_of(file, "highest", name);
    const std::vector<float> logs = numbers_of(file, "log", name);
    for (const std::string& output : strings_of(file, "outputs", name)) {
        samples.outputs.push_back({output});
    }
    std::size_t n = 0;
    for (const float count : numbers_of(file, "per_problem", name)) {
        samples.per_problem.push_back(
            count >= 0 && count <= 1e7F ? static_cast<std::size_t>(count) : 0);
        n += samples.per_problem.back();
    }
    const std::size_t width = samples.family.layout.size(), outputs = samples.outputs.size();
    if (logs.size() != outputs || width == 0 ||
        samples.family.lowest.size() != n_bounds(samples.family.layout) ||
        samples.family.highest.size() != samples.family.lowest.size() ||
        file.numbers.size() != n * (width + outputs)) {
        throw UserError(name + ": its header does not fit its numbers");
    }
    for (std::size_t i = 0; i < outputs; ++i) {
        samples.outputs[i].log = logs[i] != 0;
    }
    const auto middle = file.numbers.begin() + static_cast<std::ptrdiff_t>(n * width);
    samples.raw = {width, outputs, {file.numbers.begin(), middle}, {middle, file.numbers.end()}};
    return samples;
}

}  // namespace tessera::learning
