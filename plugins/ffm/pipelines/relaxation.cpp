#include "relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "tessera/mapping/assemble.hpp"
#include "tessera/model/pipelines.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::ffm {

namespace {

/// In any round of neighbouring stages: the fullest component, if the known ones are less busy.
void add_fullest(const PipelineRelaxation& known, const model::Rounds& rounds,
                 const std::vector<int>& stages, PipelineRelaxation& out) {
    const int last = *std::ranges::max_element(stages);
    for (int from = 0; from <= last; ++from) {
        for (int to = from; to <= last; ++to) {
            std::map<std::string, double> sums;
            double known_s = 0;
            for (std::size_t b = 0; b < stages.size(); ++b) {
                if (from <= stages[b] && stages[b] <= to) {
                    for (const auto& [component, seconds] : rounds.busy_s[b]) {
                        sums[component] += seconds;
                        known_s = std::max(known_s, seconds);
                    }
                }
            }
            std::string fullest;
            double most_s = 0;
            for (const auto& [component, seconds] : sums) {
                if (known.components.contains(component)) {
                    known_s = std::max(known_s, seconds);
                }
                if (seconds > most_s) {
                    fullest = component;
                    most_s = seconds;
                }
            }
            if (most_s > known_s) {
                out.components.insert(fullest);
            }
        }
    }
}

}  // namespace

void for_each_level(const model::Problem& problem,
                    const std::function<void(const arch::PathLevel&)>& use) {
    const std::shared_ptr<arch::Paths> paths = problem.paths_or_new();
    for (int e = 0; e < static_cast<int>(problem.workload->einsums.size()); ++e) {
        for (const std::string& compute : problem.architecture->compute_names()) {
            std::ranges::for_each(paths->of(e, compute).levels, use);
        }
    }
}

std::set<std::string> memories_of_one_value(const model::Problem& problem) {
    std::map<std::string, bool> one;
    for_each_level(problem, [&](const arch::PathLevel& level) {
        if (!level.enabled || level.kind != arch::LevelKind::memory ||
            !std::isfinite(level.size_bits)) {
            return;
        }
        const bool two_fit = std::ranges::any_of(level.bits_per_value, [&](double bits) {
            return 2 * bits <= arch::most_bits(level.size_bits);
        });
        const auto [known, first] = one.emplace(level.name, true);
        known->second = known->second && !two_fit;
    });
    std::set<std::string> out;
    for (const auto& [memory, is_of_one] : one) {
        if (is_of_one) {
            out.insert(memory);
        }
    }
    return out;
}

PipelineRelaxation missing_in(const PipelineRelaxation& known, const model::Problem& problem,
                              const mapping::Mapping& mapping, const model::Report& report,
                              const std::vector<std::pair<int, int>>& at_once) {
    const std::vector<mapping::EinsumMapping> chains =
        mapping::split(mapping, *problem.workload, *problem.architecture, problem.compat);
    const std::vector<model::Part> parts = model::parts_of(chains, report);
    const std::vector<int> shared = model::shared_loops(parts);
    PipelineRelaxation out;
    for (const auto& [begin, end] : at_once) {
        const model::Range range{begin, end};
        const std::vector<int> stages =
            model::stages_of(*problem.workload, parts, range, model::loops_around(shared, range))
                .stage;
        add_fullest(known, model::rounds_of(parts, shared, range), stages, out);
        for (const auto& [memory, share] :
             model::shares_held(*problem.workload, parts, shared, range, stages)) {
            if (share > arch::most_bits(1) && !known.memories.contains(memory)) {
                out.memories.insert(memory);
            }
        }
    }
    return out;
}

}  // namespace tessera::ffm
