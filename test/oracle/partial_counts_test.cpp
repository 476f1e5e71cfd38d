// Partial last tiles: the cost model, the oracle's closed forms and the step simulator say the same
// of random mappings of small problems on two arrays with memories outside, between and inside, all
// of which take time. Outermost tile shapes are any number, so more than L6 of docs/mapspace.md
// admits.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "model/working_share.hpp"
#include "oracle/oracle_cost.hpp"
#include "oracle/oracle_instance.hpp"
#include "oracle/step_simulator.hpp"
#include "tessera/mapspace/template.hpp"
#include "tessera/model/formula_pool.hpp"
#include "tessera/plugin/registry.hpp"

using namespace tessera;
using mapping::NodeKind;
using mapping::PmappingNode;

namespace {

class Draw {
public:
    explicit Draw(std::uint64_t seed) : random_(seed) {}

    int below(int n) {
        return static_cast<int>(random_() % static_cast<std::uint64_t>(n));
    }
    bool chance(int percent) {
        return below(100) < percent;
    }
    template <class T>
    T of(const std::vector<T>& all) {
        return all[static_cast<std::size_t>(below(static_cast<int>(all.size())))];
    }

private:
    std::mt19937_64 random_;
};

std::string memory(Draw& draw, const std::string& name) {
    std::string text = "  - !Memory\n    name: " + name + "\n    size: inf\n    bits_per_action: " +
                       std::to_string(draw.chance(30) ? 4 : 1) + "\n    actions:\n";
    for (const char* action : {"read", "write"}) {
        text += "    - {name: " + std::string(action) +
                ", energy: " + std::to_string(1 + draw.below(9)) +
                ", throughput: " + std::to_string(1 + draw.below(4)) + "}\n";
    }
    return text + "    tensors: {may_keep: All}\n" +
           (draw.chance(25) ? "    skip_initial_output_write: Nothing\n" : "");
}

std::string dimension(Draw& draw, const std::string& name) {
    return "{name: " + name + ", fanout: 64" +
           draw.of<std::string>(
               {"", "", ", may_reuse: Nothing", ", may_reuse: Inputs", ", may_reuse: Outputs"}) +
           "}";
}

std::string problem(Draw& draw) {
    const auto bound = [&](const std::string& variable, int least, int most) {
        const int n = least + draw.below(most - least + 1);
        return "    " + variable + ": 0 <= " + variable + " < " + std::to_string(n) + "\n";
    };
    const std::string einsum = draw.of<std::string>({
        "[{name: A, projection: [m, k]}, {name: B, projection: [k, n]}, "
        "{name: Z, projection: [m, n], output: True}]",
        "[{name: A, projection: [n, m]}, {name: B, projection: [m]}, "
        "{name: Z, projection: [n, m], output: True}]",
        "[{name: A, projection: {M: m, P: k + n}}, {name: B, projection: [n]}, "
        "{name: Z, projection: [m, k], output: True}]",
        "[{name: A, projection: [m, n, k]}, {name: Z, projection: [n], output: True}]",
    });
    std::string text = "workload:\n  iteration_space_shape:\n" + bound("m", 2, 13) +
                       bound("k", 2, 7) + bound("n", 2, 7) +
                       "  bits_per_value: {All: 1}\n  einsums:\n  - name: E\n"
                       "    tensor_accesses: " +
                       einsum + "\narch:\n  nodes:\n" + memory(draw, "Main");
    text += memory(draw, "Buffer") + "  - !Container\n    name: Outer\n    spatial: [" +
            dimension(draw, "X") + ", " + dimension(draw, "Y") + "]\n" + memory(draw, "Middle") +
            "  - !Container\n    name: Inner\n    spatial: [" + dimension(draw, "U") + "]\n" +
            memory(draw, "Register");
    return text +
           "  - !Compute\n    name: MAC\n    actions: [{name: compute, energy: 1, "
           "throughput: " +
           std::to_string(1 + draw.below(3)) + "}]\n";
}

PmappingNode holder(int level, int tensor) {
    PmappingNode node;
    node.kind = NodeKind::storage;
    node.level = static_cast<std::int8_t>(level);
    node.tensor = static_cast<std::int8_t>(tensor);
    return node;
}

/// Holders in the order of the hierarchy, loops of an array above those inside it.
mapping::Pmapping mapping_of(const arch::Path& path, Draw& draw) {
    mapping::Pmapping nodes;
    const int n_tensors = static_cast<int>(path.einsum.tensors.size());
    const int n_variables = static_cast<int>(path.einsum.rank_variables.size());
    std::vector<PmappingNode> gap;
    std::int8_t summed = -1;  // the variable of a sum that is spread
    const auto loop = [&](NodeKind kind, int level, int dim) {
        PmappingNode node;
        node.kind = kind;
        node.rank_variable = static_cast<std::int8_t>(draw.below(n_variables));
        // Instances along two variables of one sum can ask for the same, which the walk sees.
        const auto v = static_cast<std::size_t>(node.rank_variable);
        if (kind == NodeKind::spatial && !path.einsum.rank_variables[v].simple) {
            node.rank_variable = summed >= 0 ? summed : node.rank_variable;
            summed = node.rank_variable;
        }
        node.level = static_cast<std::int8_t>(level);
        node.dim = static_cast<std::int8_t>(dim);
        gap.insert(gap.begin() + draw.below(static_cast<int>(gap.size()) + 1), node);
    };
    for (int l = 0; l < static_cast<int>(path.levels.size()); ++l) {
        const arch::PathLevel& level = path.levels[static_cast<std::size_t>(l)];
        for (std::size_t d = 0; d < level.spatial.size(); ++d) {
            for (int n = draw.below(3); n > 0; --n) {
                loop(NodeKind::spatial, l, static_cast<int>(d));
            }
        }
        if (level.kind != arch::LevelKind::memory) {
            continue;
        }
        nodes.insert(nodes.end(), gap.begin(), gap.end());
        gap.clear();
        for (int t = 0; t < n_tensors; ++t) {
            if (l == 0 || draw.chance(60)) {
                nodes.push_back(holder(l, t));
                nodes.back().backing = l == 0;
            }
            if (l > 0 && draw.chance(20)) {
                loop(NodeKind::temporal, -1, -1);
                nodes.push_back(gap.front());
                gap.clear();
            }
        }
        for (int n = draw.below(3); n > 0; --n) {
            loop(NodeKind::temporal, -1, -1);
        }
    }
    nodes.insert(nodes.end(), gap.begin(), gap.end());
    for (int v = 0; v < n_variables; ++v) {
        PmappingNode last;
        last.kind = NodeKind::temporal;
        last.rank_variable = static_cast<std::int8_t>(v);
        nodes.push_back(last);
    }
    PmappingNode compute;
    compute.level = static_cast<std::int8_t>(path.levels.size() - 1);
    nodes.push_back(compute);
    return nodes;
}

/// Outermost tile shapes of simple variables are any number, the others divisors. The loops are
/// the symbols of a template as well.
struct Filled {
    mapping::Pmapping nodes;
    mapspace::Template tmpl;
    std::vector<double> tiles;
    bool partial = false, spatial_inside = false;
};

Filled fill(const arch::Path& path, mapping::Pmapping nodes, Draw& draw) {
    Filled out;
    std::vector<std::int64_t> shape = path.einsum.bounds();
    std::vector<char> seen(shape.size(), 0), partial(shape.size(), 0);
    out.tmpl.nodes = nodes;
    const std::size_t innermost = nodes.size() - 1 - shape.size();
    for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
        PmappingNode& node = nodes[i];
        if (!node.is_loop()) {
            continue;
        }
        const auto v = static_cast<std::size_t>(node.rank_variable);
        const bool simple = path.einsum.rank_variables[v].simple;
        const bool any = seen[v] == 0 && simple;
        if (i < innermost) {
            do {
                node.tile = 1 + draw.below(static_cast<int>(shape[v]));
            } while (!any && shape[v] % node.tile != 0);
            out.tmpl.nodes[i].symbol = static_cast<std::int16_t>(out.tiles.size());
            out.tiles.push_back(static_cast<double>(node.tile));
        }
        out.tmpl.nodes[i].imperfect = simple;
        partial[v] |= shape[v] % node.tile != 0 ? 1 : 0;
        out.spatial_inside |= partial[v] != 0 && seen[v] != 0 && node.kind == NodeKind::spatial;
        out.partial |= partial[v] != 0;
        seen[v] = 1;
        shape[v] = node.tile;
    }
    out.nodes = nodes;
    return out;
}

bool close(double a, double b) {
    return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

/// Seconds that the busiest instance of a level works; `steps`: of the computes.
double busiest(const arch::PathLevel& level, const oracle::Simulation& walked, int l,
               double steps) {
    if (level.kind == arch::LevelKind::compute) {
        return steps / level.actions[0].throughput_per_s;
    }
    double most = 0;
    const auto found = walked.instances.find(l);
    if (found == walked.instances.end()) {
        return 0;
    }
    for (const auto& [place, n] : found->second) {
        most = std::max(most, n.reads / level.actions[0].throughput_per_s +
                                  n.writes / level.actions[1].throughput_per_s);
    }
    return most;
}

struct Totals {
    int mappings = 0, partial = 0, spatial_inside = 0;
};

void compare(const model::Problem& problem, const model::CostModel& model, const arch::Path& path,
             const Filled& filled, Totals& totals) {
    const auto walked = oracle::simulate(path, filled.nodes);
    const auto own = oracle::cost(path, filled.nodes);
    const auto report = model.evaluate(problem, path, filled.nodes);
    double energy_j = walked.computes * path.compute().actions[0].energy_j, latency_s = 0;
    for (const auto& h : own.holders) {
        const arch::PathLevel& level = path.levels[static_cast<std::size_t>(h.level)];
        const auto& n = walked.holders.at({h.level, h.tensor});
        const auto t = static_cast<std::size_t>(h.tensor);
        const double reads = level.actions[0].values_per_action[t];
        const double writes = level.actions[1].values_per_action[t];
        BOOST_TEST(close(h.reads * reads, n.reads), level.name << " reads");
        BOOST_TEST(close(h.writes * writes, n.writes), level.name << " writes");
        BOOST_TEST(close(h.unit_reads * reads, n.unit_reads), level.name << " unit reads");
        BOOST_TEST(close(h.unit_writes * writes, n.unit_writes), level.name << " unit writes");
        BOOST_TEST(n.largest <= h.bits);
        energy_j += n.reads / reads * level.actions[0].energy_j +
                    n.writes / writes * level.actions[1].energy_j;
    }
    BOOST_TEST(own.computes == walked.computes);
    // The last iteration of a loop takes its full time.
    BOOST_TEST((filled.partial ? own.compute_steps >= walked.compute_steps
                               : own.compute_steps == walked.compute_steps));
    double use = model::working_share({0, path, filled.nodes}, problem.compat), places = 1;
    for (const auto& component : report.components) {
        const int l = path.find_level(component.component);
        for (const auto& dim : path.levels[static_cast<std::size_t>(l)].spatial) {
            use *= component.spatial_usage.at(dim.name);
            places *= static_cast<double>(dim.fanout);
        }
        if (component.has_latency) {
            const double busy_s =
                busiest(path.levels[static_cast<std::size_t>(l)], walked, l, own.compute_steps);
            BOOST_TEST(close(component.latency_s, busy_s),
                       component.component << ": " << component.latency_s << ", not " << busy_s);
            latency_s = std::max(latency_s, busy_s);
        }
    }
    BOOST_TEST(close(report.latency_s, latency_s));
    BOOST_TEST(close(use, walked.computes / (places * own.compute_steps)));
    BOOST_TEST(close(report.dynamic_energy_j, energy_j),
               "energy " << report.dynamic_energy_j << ", not " << energy_j);
    BOOST_TEST(close(own.dynamic_energy_j, energy_j));
    BOOST_TEST(close(own.latency_s, latency_s));

    model::FormulaPool pool;
    const model::FormulaScope scope(pool);
    const auto formulas = model.formulate(problem, path, filled.tmpl);
    BOOST_TEST(close(formulas.dynamic_energy_j.value(filled.tiles), energy_j));
    BOOST_TEST(close(formulas.latency_s.value(filled.tiles), latency_s));
    ++totals.mappings;
    totals.partial += filled.partial;
    totals.spatial_inside += filled.spatial_inside;
}

}  // namespace

BOOST_AUTO_TEST_CASE(stepping_through_partial_tiles_confirms_counts_and_latencies) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    Totals totals;
    for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
        Draw draw(seed);
        const std::string text = problem(draw);
        const oracle::LoadedInstance instance(text, arch::Compat::none);
        const auto path = instance.problem.architecture->path(*instance.problem.workload, 0, "MAC",
                                                              arch::Compat::none);
        const Filled filled = fill(path, mapping_of(path, draw), draw);
        BOOST_TEST_CONTEXT("seed " << seed << "\n" << text) {
            compare(instance.problem, *model, path, filled, totals);
        }
    }
    BOOST_TEST(totals.mappings == 1500);
    BOOST_TEST(totals.partial >= 700);
    BOOST_TEST(totals.spatial_inside >= 300);
}
