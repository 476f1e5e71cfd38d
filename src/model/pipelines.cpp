// How long the branches of a !Pipeline take together.
#include "tessera/model/pipelines.hpp"

#include <algorithm>
#include <numeric>

#include "model/pipeline_trips.hpp"
#include "model/rounds.hpp"
#include "tessera/base/error.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::model {

namespace {

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

/// `later` runs `distance` stages after `earlier` or more.
struct Wait {
    int earlier = 0, later = 0, distance = 0;
};

std::vector<Wait> waits_of(const workload::Workload& workload, const std::vector<Part>& parts,
                           const Range& range, const LoopsAround& loops) {
    std::map<int, int> branch_of;  // by Einsum of the workload
    for (int i = range.begin; i < range.end; ++i) {
        branch_of[parts[at(i)].einsum->einsum] = i - range.begin;
    }
    std::vector<Wait> waits;
    for (std::size_t t = 0; t < workload.tensors.size(); ++t) {
        const workload::Tensor& tensor = workload.tensors[t];
        for (const int producer : tensor.producers) {
            const auto writer = branch_of.find(producer);
            const auto add = [&](const std::vector<int>& readers, bool older) {
                for (const int einsum : readers) {
                    const auto reader = branch_of.find(einsum);
                    if (reader == branch_of.end() || reader == writer) {
                        continue;
                    }
                    const int w = writer->second, r = reader->second;
                    if (!older) {
                        waits.push_back({w, r, 1});
                    } else if (states_in_flight(parts[at(range.begin + w)], static_cast<int>(t),
                                                loops)) {
                        waits.push_back({w, r, 0});
                    } else {
                        waits.push_back({r, w, 1});
                    }
                }
            };
            if (writer != branch_of.end()) {
                add(tensor.consumers, false);
                add(tensor.previous_readers, true);
            }
        }
    }
    return waits;
}

/// Time that the compute works for each branch: what a chart of the steady state shows.
std::vector<PipelineSlot> slots_of(const std::vector<Part>& parts, const Range& range,
                                   const Rounds& rounds, const std::vector<int>& stages) {
    std::map<std::string, double> free_s;
    std::vector<PipelineSlot> slots;
    for (int i = range.begin; i < range.end; ++i) {
        const std::size_t branch = at(i - range.begin);
        const std::string& unit = parts[at(i)].path->compute().name;
        const auto own = rounds.busy_s[branch].find(unit);
        const double start_s = free_s[unit];
        free_s[unit] += own == rounds.busy_s[branch].end() ? 0 : own->second;
        slots.push_back({i, unit, stages[branch], start_s, free_s[unit]});
    }
    std::ranges::stable_sort(slots, {}, &PipelineSlot::start_s);
    return slots;
}

}  // namespace

std::vector<Part> parts_of(const std::vector<mapping::EinsumMapping>& chains,
                           const Report& report) {
    std::vector<Part> parts;
    for (std::size_t i = 0; i < chains.size(); ++i) {
        parts.push_back(
            {&chains[i].path.einsum, &chains[i].path, &chains[i].nodes, &report.einsums[i]});
    }
    return parts;
}

Unpipelined::Unpipelined(const mapping::Mapping& mapping) : mapping_(mapping) {
    walk(mapping_.root);
}

void Unpipelined::walk(mapping::TreeNode& node) {
    const int first = leaves_;
    leaves_ += node.kind == mapping::TreeKind::compute;
    for (mapping::TreeNode& child : node.children) {
        walk(child);
    }
    if (node.kind == mapping::TreeKind::pipeline) {
        node.kind = mapping::TreeKind::sequential;
        ranges_.push_back({first, leaves_});
    }
}

std::vector<double> node_trips(const Part& part) {
    std::vector<double> trips;
    std::vector<std::int64_t> open = part.einsum->bounds();
    for (const mapping::PmappingNode& node : *part.nodes) {
        trips.push_back(1);
        if (node.is_loop()) {
            std::int64_t& outer = open[static_cast<std::size_t>(node.rank_variable)];
            trips.back() = static_cast<double>(node.trips(outer));
            outer = node.largest_tile();
        }
    }
    return trips;
}

std::vector<int> shared_loops(const std::vector<Part>& parts) {
    std::vector<int> result;
    for (std::size_t e = 0; e + 1 < parts.size(); ++e) {
        const auto loops = [&](const Part& part) {
            const std::vector<double> trips = node_trips(part);
            std::vector<std::pair<int, bool>> found;  // origin, more than one iteration
            for (std::size_t i = 0; i < part.nodes->size(); ++i) {
                if ((*part.nodes)[i].is_loop()) {
                    found.emplace_back((*part.nodes)[i].origin, trips[i] > 1);
                }
            }
            return found;
        };
        const auto a = loops(parts[e]), b = loops(parts[e + 1]);
        int shared = 0;
        for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i].first == b[i].first; ++i) {
            shared += a[i].second;
        }
        result.push_back(shared);
    }
    return result;
}

LoopsAround loops_around(const std::vector<int>& shared, const Range& range) {
    LoopsAround loops;
    if (range.begin > 0) {
        loops.outside = shared[at(range.begin) - 1];
    }
    if (at(range.end) <= shared.size()) {
        loops.outside = std::max(loops.outside, shared[at(range.end) - 1]);
    }
    loops.all = range.end - range.begin < 2 ? loops.outside
                                            : *std::min_element(shared.begin() + range.begin,
                                                                shared.begin() + range.end - 1);
    loops.outside = std::min(loops.outside, loops.all);
    return loops;
}

double iterations(const Part& part, int from, int to) {
    double count = 1;
    int loop = 0;
    const std::vector<double> trips = node_trips(part);
    for (std::size_t i = 0; i < trips.size(); ++i) {
        if (trips[i] > 1) {
            const bool counts = from <= loop && loop < to;
            count *= counts && (*part.nodes)[i].kind == mapping::NodeKind::temporal ? trips[i] : 1;
            ++loop;
        }
    }
    return count;
}

Rounds rounds_of(const std::vector<Part>& parts, const std::vector<int>& shared,
                 const Range& range) {
    Rounds rounds;
    const LoopsAround loops = loops_around(shared, range);
    rounds.count = iterations(parts[at(range.begin)], loops.outside, loops.all);
    const double instances = parts[at(range.begin)].einsum->n_instances;
    for (int i = range.begin; i < range.end; ++i) {
        const Part& part = parts[at(i)];
        if (part.einsum->n_instances != instances) {
            throw UserError("Einsum '" + part.einsum->name +
                            "' stands in a pipeline with others but has another n_instances");
        }
        std::map<std::string, double>& busy_s = rounds.busy_s.emplace_back();
        for (const ComponentReport& one : part.report->components) {
            if (one.has_latency) {
                busy_s[one.component] += one.latency_s;
            }
        }
    }
    return rounds;
}

bool states_in_flight(const Part& part, int tensor, const LoopsAround& loops) {
    int variable = -1;
    for (const workload::LocalTensor& one : part.einsum->tensors) {
        variable = one.tensor == tensor && one.state_variable >= 0 ? one.state_variable : variable;
    }
    const std::vector<double> trips = node_trips(part);
    int loop = 0;
    for (std::size_t i = 0; i < trips.size(); ++i) {
        if (trips[i] > 1) {
            if ((*part.nodes)[i].rank_variable == variable) {
                return loops.outside <= loop && loop < loops.all;
            }
            ++loop;
        }
    }
    return false;
}

namespace {

/// Of each branch the first one of its circle: the branches that wait for it and it for them, if
/// one of these waits is for what is written in the same iteration.
std::vector<int> circles_of(const std::vector<Wait>& waits, std::size_t n) {
    std::vector<std::vector<char>> follows(n, std::vector<char>(n, 0));
    for (const Wait& wait : waits) {
        follows[at(wait.earlier)][at(wait.later)] = 1;
    }
    for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; follows[i][k] && j < n; ++j) {
                follows[i][j] |= follows[k][j];
            }
        }
    }
    std::vector<int> circle(n);
    std::iota(circle.begin(), circle.end(), 0);
    const auto together = [&](std::size_t i, std::size_t j) {
        return follows[i][j] && follows[j][i];
    };
    for (const Wait& wait : waits) {
        const std::size_t one = at(wait.earlier);
        if (wait.distance == 0 || !together(one, at(wait.later))) {
            continue;
        }
        int first = 0;
        while (!together(one, at(first))) {
            ++first;
        }
        for (std::size_t i = 0; i < n; ++i) {
            circle[i] = together(one, i) ? first : circle[i];
        }
    }
    return circle;
}

}  // namespace

Stages stages_of(const workload::Workload& workload, const std::vector<Part>& parts,
                 const Range& range, const LoopsAround& loops) {
    const std::vector<Wait> waits = waits_of(workload, parts, range, loops);
    const auto n = at(range.end - range.begin);
    Stages result;
    result.circle = circles_of(waits, n);
    std::vector<int> stage(n, 0);  // of circles, by their first
    for (bool moved = true; moved;) {
        moved = false;
        for (const Wait& wait : waits) {
            const int from = result.circle[at(wait.earlier)], to = result.circle[at(wait.later)];
            const int earliest = stage[at(from)] + wait.distance;
            if (from != to && stage[at(to)] < earliest) {
                stage[at(to)] = earliest;
                moved = true;
            }
        }
    }
    for (const int first : result.circle) {
        result.stage.push_back(stage[at(first)]);
    }
    return result;
}

Rounds with_circles(Rounds rounds, const std::vector<int>& circle) {
    const auto alone_s = [](const std::map<std::string, double>& busy_s) {
        double most = 0;
        for (const auto& [component, seconds] : busy_s) {
            most = std::max(most, seconds);
        }
        return most;
    };
    for (std::size_t first = 0; first < circle.size(); ++first) {
        if (std::ranges::count(circle, static_cast<int>(first)) < 2) {
            continue;
        }
        double whole_s = 0;
        std::map<std::string, double> pace;  // the largest share of the time of an Einsum
        for (std::size_t b = 0; b < circle.size(); ++b) {
            if (circle[b] == static_cast<int>(first)) {
                const std::map<std::string, double> busy_s = std::move(rounds.busy_s[b]);
                const double own_s = alone_s(busy_s);
                whole_s += own_s;
                for (const auto& [component, seconds] : busy_s) {
                    double& most = pace[component];
                    most = own_s > 0 ? std::max(most, seconds / own_s) : most;
                }
                rounds.busy_s[b].clear();
            }
        }
        for (const auto& [component, share] : pace) {
            rounds.busy_s[first][component] = share * whole_s;
        }
    }
    return rounds;
}

double rounds_s(double count, int stages, int components, const double* busy_s, bool alone) {
    double total_s = 0, now = 0;
    int from = 0, to = 0;  // these stages take part
    for (;;) {
        for (; to < stages && to <= now; ++to) {
        }
        for (; from < stages && from + count <= now; ++from) {
        }
        if (from == stages) {
            return total_s;
        }
        const double next = to < stages ? std::min<double>(from + count, to) : from + count;
        double fullest_s = 0;
        for (int u = 0; u < components; ++u) {
            double sum_s = 0;
            for (int s = from; s < to; ++s) {
                const double own_s = busy_s[s * components + u];
                sum_s = alone && u + 1 == components ? std::max(sum_s, own_s) : sum_s + own_s;
            }
            fullest_s = std::max(fullest_s, sum_s);
        }
        total_s += fullest_s * ((next - now) / count);
        now = next;
    }
}

double latency_of(const Rounds& rounds, const std::vector<int>& stages) {
    std::map<std::string, std::size_t> components;
    for (const auto& branch : rounds.busy_s) {
        for (const auto& [component, seconds] : branch) {
            components.try_emplace(component, components.size());
        }
    }
    const int last = *std::ranges::max_element(stages);
    std::vector<double> busy_s(at(last + 1) * components.size(), 0);
    for (std::size_t b = 0; b < stages.size(); ++b) {
        for (const auto& [component, seconds] : rounds.busy_s[b]) {
            busy_s[at(stages[b]) * components.size() + components[component]] += seconds;
        }
    }
    return rounds_s(rounds.count, last + 1, static_cast<int>(components.size()), busy_s.data());
}

double fullest_s(const Rounds& rounds) {
    std::map<std::string, double> sums;
    double most = 0;
    for (const auto& branch : rounds.busy_s) {
        for (const auto& [component, seconds] : branch) {
            most = std::max(most, sums[component] += seconds);
        }
    }
    return most;
}

PipelineRun run_pipeline(const workload::Workload& workload, const std::vector<Part>& parts,
                         const std::vector<int>& shared, const Range& range) {
    const Rounds rounds = rounds_of(parts, shared, range);
    const Stages stages = stages_of(workload, parts, range, loops_around(shared, range));
    PipelineRun run;
    run.shares = shares_held(workload, parts, shared, range, stages.stage);
    check_held(run.shares, parts, range);
    run.pipeline.latency_s = latency_of(with_circles(rounds, stages.circle), stages.stage);
    run.pipeline.slots = slots_of(parts, range, rounds, stages.stage);
    return run;
}

}  // namespace tessera::model
