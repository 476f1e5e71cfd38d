// Why no mapping is legal, against brute force: what is named is infeasible without all other
// constraints, and feasible without any one of itself.
#include <boost/test/unit_test.hpp>
#include <regex>
#include <sstream>

#include "mapspace/infeasible_subset.hpp"
#include "oracle/full_compare.hpp"
#include "tessera/mapspace/feasibility.hpp"
#include "tessera/plugin/registry.hpp"

using namespace tessera;
using mapspace::ConstraintKind;
using mapspace::NamedConstraint;

namespace {

/// A file line by line, and changes of the components named in it.
class Lines {
public:
    explicit Lines(const std::string& yaml) {
        std::istringstream in(yaml);
        for (std::string line; std::getline(in, line);) {
            all_.push_back(line);
        }
    }

    std::string text() const {
        std::string out;
        for (const std::string& line : all_) {
            out += line + "\n";
        }
        return out;
    }

    /// `change(line)` for the component's lines.
    template <class Change>
    void change(const std::string& component, const Change& change) {
        std::string name;
        for (std::string& line : all_) {
            const std::string key = "    name: ";
            name = line.rfind("  - !", 0) == 0 || line.rfind("workload", 0) == 0 ? ""
                   : line.rfind(key, 0) == 0 ? line.substr(key.size())
                                             : name;
            if (name == component) {
                change(line);
            }
        }
    }

    std::vector<std::string> names() const {
        std::vector<std::string> out;
        for (std::size_t i = 1; i < all_.size(); ++i) {
            if (all_[i - 1].rfind("  - !", 0) == 0) {
                out.push_back(all_[i].substr(std::string("    name: ").size()));
            }
        }
        return out;
    }

private:
    std::vector<std::string> all_;
};

void replace(std::string& line, const std::string& pattern, const std::string& by) {
    line = std::regex_replace(line, std::regex(pattern), by);
}

void drop(ConstraintKind kind, const std::string& component, Lines& lines) {
    lines.change(component, [&](std::string& line) {
        switch (kind) {
            case ConstraintKind::size:
                replace(line, "^    size: .*", "    size: inf");
                break;
            case ConstraintKind::fanout:
                replace(line, "fanout: [0-9]+", "fanout: 64");
                break;
            case ConstraintKind::may_keep:
                replace(line, "may_keep: [^,}]*", "may_keep: All");
                replace(line, "\\{keep: ([^,}]*)\\}", "{keep: $1, may_keep: All}");
                break;
            case ConstraintKind::keep:
                replace(line, "\\{keep: ([^,}]*), may_keep: ([^}]*)\\}", "{may_keep: ($1) | ($2)}");
                replace(line, "\\{keep: ([^,}]*)\\}", "{may_keep: $1}");
                break;
            default:
                BOOST_FAIL("a constraint that the instances do not have");
        }
    });
}

/// The instance with these constraints alone.
oracle::Instance only(const std::vector<NamedConstraint>& kept, const oracle::Instance& drawn) {
    oracle::Instance out = drawn;
    Lines lines(drawn.yaml);
    const auto keeps = [&](ConstraintKind kind, const std::string& component) {
        return std::ranges::any_of(kept, [&](const NamedConstraint& c) {
            return c.kind == kind && c.component == component;
        });
    };
    for (const std::string& name : lines.names()) {
        for (const ConstraintKind kind : {ConstraintKind::size, ConstraintKind::fanout,
                                          ConstraintKind::keep, ConstraintKind::may_keep}) {
            if (!keeps(kind, name)) {
                drop(kind, name, lines);
            }
        }
    }
    out.yaml = lines.text();
    if (!keeps(ConstraintKind::option, "max-fused-loops")) {
        out.options.max_fused_loops = mapspace::MapSpaceOptions::unlimited;
    }
    return out;
}

void tighten(oracle::Instance& drawn, oracle::Random& r) {
    Lines lines(drawn.yaml);
    const std::string keep = r.pick(std::vector<std::string>{"Outputs", "Inputs", "All"});
    lines.change("Buffer", [&](std::string& line) {
        replace(line, "^    size: .*",
                "    size: " + std::to_string(r.pick(std::vector{1, 2, 3, 4, 5, 6, 7, 8, 10, 12})));
        if (r.chance(50)) {
            replace(line, "\\{keep: ~MainMemory", "{keep: " + keep);
        }
    });
    if (r.chance(75)) {
        lines.change("MainMemory",
                     [&](std::string& line) { replace(line, ", may_keep: All", ""); });
    }
    drawn.yaml = lines.text();
    if (r.chance(20)) {
        drawn.options.max_fused_loops = 0;
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_named_is_infeasible_and_smallest_by_brute_force) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    int named = 0, together = 0, refuted = 0, freed = 0, asked = 0, joint = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        oracle::Instance drawn = oracle::random_full_instance(seed);
        oracle::Random r(seed ^ 0x1157);
        tighten(drawn, r);
        const oracle::LoadedInstance loaded(drawn.yaml);
        const auto subset = mapspace::infeasible_subset(loaded.problem, *model, drawn.options);
        if (!subset) {
            continue;
        }
        ++named;
        together += subset->einsum < 0 ? 1 : 0;
        BOOST_TEST_CONTEXT(seed << "\n" << subset->lines.front() << "\n" << drawn.yaml) {
            const oracle::Outcome alone = oracle::judge(only(subset->constraints, drawn));
            BOOST_TEST(alone.error == "");
            BOOST_TEST(!(alone.judged && alone.mapped));
            refuted += alone.judged ? 1 : 0;
            for (const NamedConstraint& c : subset->constraints) {
                std::vector<NamedConstraint> rest = subset->constraints;
                std::erase_if(rest, [&](const auto& one) { return one.same(c); });
                const oracle::Instance loosened = only(rest, drawn);
                const oracle::Outcome without = oracle::judge(loosened);
                if (!without.judged) {
                    continue;
                }
                ++asked;
                freed += without.mapped ? 1 : 0;
                if (!without.mapped && subset->einsum >= 0) {  // then they do not fit together
                    const oracle::LoadedInstance left(loosened.yaml);
                    const auto other =
                        mapspace::infeasible_subset(left.problem, *model, loosened.options);
                    BOOST_TEST((other && other->einsum < 0));
                    ++joint;
                } else {
                    BOOST_TEST(without.mapped, "without line " << c.where.line);
                }
            }
        }
    }
    BOOST_TEST_MESSAGE(named << " named, " << together << " together, " << refuted << " refuted, "
                             << freed << " of " << asked << " freed, " << joint << " joint");
    BOOST_TEST(named >= 40);
    BOOST_TEST(together >= 3);
    BOOST_TEST(refuted * 10 >= named * 7);
    BOOST_TEST(freed * 10 >= asked * 9);
    BOOST_TEST(asked >= 40);
}

BOOST_AUTO_TEST_CASE(only_what_brute_force_finds_infeasible_is_proved_so) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    int none = 0, proved = 0, some = 0;
    for (std::uint64_t seed = 1000; seed < 1300; ++seed) {
        oracle::Instance drawn = oracle::random_full_instance(seed);
        oracle::Random r(seed ^ 0x1157);
        tighten(drawn, r);
        const oracle::Outcome outcome = oracle::judge(drawn);
        if (!outcome.judged) {
            continue;
        }
        const oracle::LoadedInstance loaded(drawn.yaml);
        const bool infeasible =
            mapspace::proves_infeasible(loaded.problem, *model, drawn.options, 10);
        BOOST_TEST(!(infeasible && outcome.mapped), "seed " << seed);
        some += outcome.mapped ? 1 : 0;
        none += outcome.mapped ? 0 : 1;
        proved += infeasible ? 1 : 0;
    }
    BOOST_TEST_MESSAGE(some << " with a mapping, " << proved << " of " << none << " proved");
    BOOST_TEST(some >= 50);
    BOOST_TEST(none >= 30);
    BOOST_TEST(proved * 10 >= none * 9);
}
