#include "tessera/testing/cost_model.hpp"

#include <array>
#include <cmath>
#include <thread>

#include "tessera/base/error.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/workload/workload.hpp"
#include "testing/common.hpp"

namespace tessera::testing {

namespace {

/// One multiplication; main memory holds all, then come loops with the given tile shapes, the
/// buffer holds all, and loops down to single values. Every model should know this kind of mapping.
mapping::Mapping nested(int m, int n0, int n1) {
    using mapping::TreeKind;
    mapping::Mapping tree;
    const auto add = [&](TreeKind kind) -> mapping::TreeNode& {
        tree.root.children.emplace_back().kind = kind;
        return tree.root.children.back();
    };
    const auto memory = [&](const char* name) {
        mapping::TreeNode& node = add(TreeKind::storage);
        node.component = name;
        node.tensors = {"T0", "W0", "T1"};
    };
    const auto loop = [&](const char* variable, int tile_shape) {
        mapping::TreeNode& node = add(TreeKind::temporal);
        node.rank_variables = {variable};
        node.tile_shape = tile_shape;
    };
    memory("MainMemory");
    loop("m", m);
    loop("n0", n0);
    loop("n1", n1);
    memory("Buffer");
    for (const char* variable : {"m", "n0", "n1"}) {
        loop(variable, 1);
    }
    mapping::TreeNode& compute = add(TreeKind::compute);
    compute.einsum = "Matmul0";
    compute.component = "Multiplier";
    return tree;
}

/// Legal mappings of small problems, drawn with the default model; some written by hand.
class Samples {
public:
    explicit Samples(const Settings& s, int einsums)
        : small_(einsums, 16, 8, 2048),
          drawer_(plugin::Registry<model::CostModel>::instance().create("looptree")),
          space_(small_.problem(), *drawer_, {}),
          worker_(space_) {
        search::Point point;
        for (std::uint64_t i = 0; i < 30; ++i) {
            if (worker_.draw(search::stream_seed(s.seed, i), point).legal()) {
                mappings_.push_back(worker_.mapping(point));
            }
        }
        if (einsums == 1) {
            for (const auto& [m, n0, n1] :
                 {std::array{16, 8, 1}, {4, 4, 4}, {1, 1, 8}, {2, 8, 8}}) {
                mappings_.push_back(nested(m, n0, n1));
            }
        }
    }

    const std::vector<mapping::Mapping>& mappings() const {
        return mappings_;
    }
    const model::Problem& problem() const {
        return small_.problem();
    }

private:
    SmallProblem small_;
    plugin::Owned<model::CostModel> drawer_;
    search::OpenSpace space_;
    search::Worker worker_;
    std::vector<mapping::Mapping> mappings_;
};

/// `visit(samples, mapping, report)` for all mappings that the model takes; it must take one.
template <class Visit>
void for_each_report(const std::string& name, const Settings& s, Findings& f, const Visit& visit) {
    const auto model = plugin::Registry<model::CostModel>::instance().create(name);
    int taken = 0;
    std::string reason;
    for (const int einsums : {1, 2}) {
        const Samples samples(s, einsums);
        for (const mapping::Mapping& tree : samples.mappings()) {
            try {
                visit(*model, samples.problem(), tree, model->evaluate(samples.problem(), tree));
                ++taken;
            } catch (const Error& declined) {
                reason = declined.what();  // not this kind of mapping
            }
        }
    }
    f.expect(taken > 0, "it takes none of the mappings: " + reason);
}

void check_figures(const std::string& name, const Settings& s, Findings& f) {
    const auto good = [&](double value, const std::string& what) {
        f.expect(std::isfinite(value) && value >= 0, what + " is " + std::to_string(value));
    };
    for_each_report(name, s, f, [&](const auto&, const auto&, const auto&, const model::Report& r) {
        good(r.energy_j(), "energy");
        good(r.latency_s(), "latency");
        for (const model::EinsumReport& einsum : r.einsums) {
            for (const model::ComponentReport& c : einsum.components) {
                good(c.leak_j, "leakage of " + c.component);
                good(c.latency_s, "latency of " + c.component);
                for (const model::TensorReport& t : c.tensors) {
                    for (const auto& [action, count] : t.actions) {
                        good(count, action + "s of " + t.tensor + " in " + c.component);
                    }
                }
            }
        }
    });
}

void check_pure(const std::string& name, const Settings& s, Findings& f) {
    for_each_report(
        name, s, f,
        [&](const model::CostModel& model, const model::Problem& problem,
            const mapping::Mapping& tree, const model::Report& first) {
            model::Report again[2];
            std::thread other([&] { again[0] = model.evaluate(problem, tree); });
            again[1] = model.evaluate(problem, tree);
            other.join();
            for (const model::Report& r : again) {
                f.expect(r.energy_j() == first.energy_j() && r.latency_s() == first.latency_s(),
                         "two evaluations of one mapping differ");
            }
        });
}

void check_work(const std::string& name, const Settings& s, Findings& f) {
    for_each_report(
        name, s, f,
        [&](const auto&, const model::Problem& problem, const auto&, const model::Report& r) {
            for (std::size_t e = 0; e < r.einsums.size(); ++e) {
                double wanted = 1, found = 0;
                for (const int variable : problem.workload->einsums[e].rank_variables) {
                    wanted *= static_cast<double>(problem.workload->rank_variables[variable].bound);
                }
                bool counted = false;
                for (const model::ComponentReport& c : r.einsums[e].components) {
                    for (const auto& [action, count] : c.compute_actions) {
                        found += count;
                        counted = true;
                    }
                }
                f.expect(!counted || close(found, wanted),
                         "computations: " + std::to_string(found) + " instead of " +
                             std::to_string(wanted));
            }
        });
}

/// The same mapping of a larger problem never costs less: everything streams through the buffer.
void check_ladder(const std::string& name, Findings& f) {
    const auto model = plugin::Registry<model::CostModel>::instance().create(name);
    double energy = 0, latency = 0;
    for (const int m : {8, 16, 32, 64}) {
        const SmallProblem small(1, m, 8, 1e6);
        const mapping::Mapping tree = nested(m, 8, 8);
        const model::Report r = model->evaluate(small.problem(), tree);
        f.expect(r.energy_j() >= energy && r.latency_s() >= latency,
                 "with m = " + std::to_string(m) + " it costs less than with half of it");
        energy = r.energy_j();
        latency = r.latency_s();
    }
    f.expect(energy > 0 || latency > 0, "it costs nothing at all");
}

void check_formulas(const std::string& name, const Settings& s, Findings& f) {
    const auto model = plugin::Registry<model::CostModel>::instance().create(name);
    if (!model->has_formulas()) {
        return;
    }
    for (const int einsums : {1, 2}) {
        const SmallProblem small(einsums, 16, 8, 2048);
        const search::OpenSpace space(small.problem(), *model, {});
        search::Worker worker(space);
        search::Point point;
        for (std::uint64_t i = 0; i < 50; ++i) {
            const search::Outcome drawn = worker.draw(search::stream_seed(s.seed, i), point);
            if (!f.expect(drawn.legal(), "no legal mapping could be drawn by its formulas")) {
                return;
            }
            const model::Report r = model->evaluate(small.problem(), worker.mapping(point));
            f.expect(close(r.energy_j(), drawn.energy_j) && close(r.latency_s(), drawn.latency_s),
                     "formulas and evaluation of a mapping differ");
        }
    }
}

}  // namespace

std::vector<Check> cost_model_checks(const std::string& name, const Settings& s) {
    std::vector<Check> own = {
        {"figures", "everything is finite and not negative",
         [=](Findings& f) { check_figures(name, s, f); }},
        {"pure", "same mapping, same costs, on two threads at once",
         [=](Findings& f) { check_pure(name, s, f); }},
        {"work", "all computations are counted", [=](Findings& f) { check_work(name, s, f); }},
        {"ladder", "a larger problem never costs less",
         [=](Findings& f) { check_ladder(name, f); }},
        {"formulas", "formulas give what evaluation gives",
         [=](Findings& f) { check_formulas(name, s, f); }},
    };
    return with_common_checks<model::CostModel>(name, std::move(own), [=] {
        Findings unread;
        for_each_report(name, s, unread, [](const auto&, const auto&, const auto&, const auto&) {});
    });
}

}  // namespace tessera::testing
