// Einsums that are equal up to renaming are explored once.
#include <algorithm>
#include <map>
#include <sstream>

#include "explore.hpp"

namespace tessera::ffm {
namespace {

/// Everything of an Einsum and its paths that costs depend on, without names: equal text means
/// equal exploration (templates are compared on top).
std::string cost_key(const EinsumSpace& space) {
    std::ostringstream s;
    s.precision(17);
    const workload::EinsumView& e = space.paths.front()->einsum;
    s << e.is_copy_operation << ' ' << e.n_instances;
    for (const workload::LocalRankVariable& v : e.rank_variables) {
        s << " v" << v.bound << ',' << v.simple;
    }
    for (const workload::LocalTensor& t : e.tensors) {
        s << " t" << t.output << t.persistent << t.intermediate << t.fusable << ','
          << t.bits_per_value;
        for (const workload::RankAccess& rank : t.ranks) {
            s << " r" << rank.constant;
            for (const workload::AffineTerm& term : rank.terms) {
                s << '+' << term.coefficient << '*' << term.rank_variable;
            }
        }
    }
    for (const auto& path : space.paths) {
        s << " p" << path->compute().name;
        for (const arch::PathLevel& level : path->levels) {
            s << " l" << level.name << ',' << static_cast<int>(level.kind) << level.enabled
              << level.skip_initial_output_write << static_cast<int>(level.topology) << ','
              << level.size_bits << ',' << level.actions_scale;
            for (const arch::PathAction& a : level.actions) {
                s << " a" << a.energy_j << ',' << a.throughput_per_s << ',' << a.latency_s;
                for (const double v : a.values_per_action) {
                    s << ',' << v;
                }
            }
            for (const double b : level.bits_per_value) {
                s << " b" << b;
            }
            for (const double b : level.actions_per_value) {
                s << " n" << b;
            }
            for (const arch::Direction d : level.direction) {
                s << " d" << static_cast<int>(d);
            }
            for (const arch::PathDim& d : level.spatial) {
                s << " f" << d.fanout << ',' << d.may_reuse << ',' << d.min_usage << ','
                  << d.usage_scale;
            }
            for (const arch::LatencyProgram::Step& step : level.latency.steps) {
                s << " q" << static_cast<int>(step.op) << ',' << step.value << ',' << step.action;
            }
        }
        for (const arch::Leak& leak : path->leaks) {
            s << " k" << leak.leak_power_w << ',' << leak.off;
            for (const arch::Leak::Gate& gate : leak.gates) {
                s << ',' << gate.level << ',' << gate.dim << ',' << gate.fanout;
            }
        }
    }
    return s.str();
}

bool same_templates(const EinsumSpace& a, const EinsumSpace& b) {
    return a.templates.size() == b.templates.size() &&
           std::equal(a.templates.begin(), a.templates.end(), b.templates.begin(),
                      [](const TemplateEntry& x, const TemplateEntry& y) {
                          return x.path_index == y.path_index && x.tmpl == y.tmpl;
                      });
}

}  // namespace

std::vector<std::size_t> representatives(const std::vector<EinsumSpace>& spaces, bool share) {
    std::multimap<std::string, std::size_t> seen;
    std::vector<std::size_t> out;
    for (std::size_t e = 0; e < spaces.size(); ++e) {
        const std::string key = cost_key(spaces[e]);
        std::size_t same = e;
        const auto [from, to] = seen.equal_range(key);
        for (auto it = from; share && it != to; ++it) {
            if (same_templates(spaces[it->second], spaces[e])) {
                same = it->second;
                break;
            }
        }
        if (same == e) {
            seen.emplace(key, e);
        }
        out.push_back(same);
    }
    return out;
}

}  // namespace tessera::ffm
