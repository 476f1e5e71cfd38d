// Formula = evaluation: the same core gives formulas of a template and figures of its fillings.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <set>

#include "model/analysis/costs.hpp"
#include "support/random_template.hpp"
#include "support/reference_cases.hpp"
#include "tessera/base/error.hpp"
#include "tessera/model/formula_pool.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using model::Formula;

namespace {

bool close(double a, double b) {
    return std::fabs(a - b) <= 1e-12 * std::max(std::fabs(a), std::fabs(b));
}

/// Counts that are integers must be the same integer.
bool same_count(double a, double b) {
    const bool integer = a == std::floor(a) || b == std::floor(b);
    return integer && std::fabs(a) < 9e15 ? std::llround(a) == std::llround(b) && close(a, b)
                                          : close(a, b);
}

/// One Einsum on one compute of a reference architecture, with both kinds of analysis.
class Subject {
public:
    Subject(const arch::Path& path, arch::Compat compat) : compat_(compat), tables_(path, compat) {
        // Loops with one trip are not there in the mapping that a template's formulas stand for.
        tables_.convention.null_loops_spread = false;
    }

    /// False if the random template is not a legal nest.
    bool formulate(const mapspace::Template& tmpl) {
        try {
            plan_.build(tables_, tmpl.nodes);
        } catch (const IllegalMapping&) {
            return false;
        }
        formulas_.run(tables_, tmpl.nodes, plan_);
        formula_costs_.run(tables_, formulas_);
        check_contract(tmpl);
        return true;
    }
    void compare(const mapspace::Template& tmpl, const std::vector<double>& tiles);
    /// CostModel::formulate() gives these very formulas.
    void check_contract(const mapspace::Template& tmpl);

    int differences = 0;
    std::string first;

private:
    void check(bool same, const char* what, double formula, double number) {
        if (!same && differences++ == 0) {
            first = std::string(what) + ": formula " + std::to_string(formula) + ", number " +
                    std::to_string(number) + " on " + tables_.path().einsum.name;
        }
    }
    void count(const char* what, const Formula& formula, double number,
               const std::vector<double>& tiles) {
        const double value = formula.value(tiles);
        check(same_count(value, number), what, value, number);
    }

    void cost(const char* what, const Formula& formula, double number,
              const std::vector<double>& tiles) {
        const double value = formula.value(tiles);
        check(close(value, number), what, value, number);
    }

    arch::Compat compat_;
    model::PathTables tables_;
    model::NestPlan plan_;
    model::Analysis<Formula> formulas_;
    model::Costs<Formula> formula_costs_;
    model::Analysis<double> numbers_;
    model::Costs<double> number_costs_;
};

void Subject::compare(const mapspace::Template& tmpl, const std::vector<double>& tiles) {
    const mapping::Pmapping nodes = testing::filled(tmpl, tiles);
    numbers_.run(tables_, nodes, plan_);
    number_costs_.run(tables_, numbers_);
    count("operations", formulas_.operations, numbers_.operations, tiles);
    count("steps", formulas_.steps, numbers_.steps, tiles);
    for (std::size_t h = 0; h < numbers_.holders.size(); ++h) {
        const auto& formula = formulas_.holders[h];
        const auto& number = numbers_.holders[h];
        count("reads", formula.reads, number.reads, tiles);
        count("writes", formula.writes, number.writes, tiles);
        count("unit reads", formula.unit_reads, number.unit_reads, tiles);
        count("unit writes", formula.unit_writes, number.unit_writes, tiles);
        count("bits", formula.bits, number.bits, tiles);
    }
    for (std::size_t r = 0; r < numbers_.networks.size(); ++r) {
        count("hops", formulas_.networks[r].hops, numbers_.networks[r].hops, tiles);
        count("longest route", formulas_.networks[r].max_hops, numbers_.networks[r].max_hops,
              tiles);
    }
    for (std::size_t d = 0; d < numbers_.used.size(); ++d) {
        count("fan-out", formulas_.used[d], numbers_.used[d], tiles);
    }
    cost("dynamic energy", formula_costs_.dynamic_energy_j, number_costs_.dynamic_energy_j, tiles);
    cost("leak energy", formula_costs_.leak_energy_j, number_costs_.leak_energy_j, tiles);
    cost("latency", formula_costs_.latency_s, number_costs_.latency_s, tiles);
}

void Subject::check_contract(const mapspace::Template& tmpl) {
    const model::Problem problem{nullptr, nullptr, compat_};
    const model::TemplateFormulas formulas = plugin::Registry<model::CostModel>::instance()
                                                 .create("looptree")
                                                 ->formulate(problem, tables_.path(), tmpl);
    check(formulas.dynamic_energy_j == formula_costs_.dynamic_energy_j, "dynamic energy", 0, 0);
    check(formulas.leak_energy_j == formula_costs_.leak_energy_j, "leak energy", 0, 0);
    check(formulas.latency_s == formula_costs_.latency_s, "latency", 0, 0);
    for (const model::FanoutFormula& fanout : formulas.fanouts) {
        const int dim = tables_.levels[fanout.level].first_dim + fanout.dim;
        check(fanout.used == formulas_.used[dim], "fan-out", 0, 0);
    }
    std::size_t counted = 0, memories = 0;
    for (const model::OccupancyFormula& occupancy : formulas.occupancies) {
        counted += !occupancy.shared;
    }
    for (const auto& holder : formulas_.holders) {
        memories += tables_.levels[holder.level].kind == arch::LevelKind::memory;
    }
    check(counted == memories, "occupancies", static_cast<double>(counted),
          static_cast<double>(memories));
}

std::vector<std::string> files(const std::string& folder) {
    std::set<std::string> names;
    for (const auto& entry :
         std::filesystem::directory_iterator(testing::accelforge_folder() + folder)) {
        names.insert(entry.path().string());
    }
    return {names.begin(), names.end()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(looptree_formulas_equal_evaluation_on_random_templates) {
    std::mt19937 random(20240607);
    const std::vector<std::string> architectures = files("arch"), workloads = files("workload");
    model::FormulaPool pool;
    const model::FormulaScope scope(pool);
    int pairs = 0, differences = 0, templates = 0;
    std::string first;
    for (std::size_t a = 0; a < architectures.size(); ++a) {
        const arch::Architecture architecture = arch::load_architecture(architectures[a], {});
        for (int round = 0; round < 6; ++round) {
            const workload::Workload workload =
                workload::load_workload(workloads[random() % workloads.size()], {});
            const int einsum = static_cast<int>(random() % workload.einsums.size());
            const auto& computes = architecture.compute_names();
            const arch::Compat compat =
                random() % 2 ? arch::Compat::none : arch::Compat::accelforge;
            std::unique_ptr<arch::Path> path;
            try {
                path = std::make_unique<arch::Path>(architecture.path(
                    workload, einsum, computes[random() % computes.size()], compat));
            } catch (const UserError&) {
                continue;  // the architecture names tensors that this workload does not have
            }
            for (int t = 0; t < 4; ++t) {
                pool.clear();
                const mapspace::Template tmpl = testing::random_template(*path, random);
                Subject subject(*path, compat);
                if (tmpl.symbols.size() > model::kMaxSymbols || !subject.formulate(tmpl)) {
                    continue;
                }
                ++templates;
                for (int filling = 0; filling < 8; ++filling) {
                    subject.compare(tmpl, testing::random_tiles(*path, tmpl, random));
                    ++pairs;
                }
                differences += subject.differences;
                first = first.empty() && !subject.first.empty()
                            ? architectures[a] + ": " + subject.first
                            : first;
            }
        }
    }
    BOOST_TEST_MESSAGE(templates << " templates, " << pairs << " fillings");
    BOOST_TEST(pairs >= 5000);
    BOOST_TEST(differences == 0, differences << " differences; first: " << first);
}
