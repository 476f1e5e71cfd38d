// Why no mapping is legal: of random problems, tightened until none is. The constraints that are
// named are infeasible without all others, and feasible without any one of themselves; both are
// asked of the mappers, about a file that is written anew.
//
// TESSERA_SOAK=N and TESSERA_SOAK_FROM as for the other transformations.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <map>
#include <ranges>

#include "mapspace/infeasible_subset.hpp"
#include "support/setting.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/registry.hpp"
#include "transformation/random_problem.hpp"

using namespace tessera;
using namespace tessera::transformation;
using mapspace::ConstraintKind;
using mapspace::NamedConstraint;

namespace {

constexpr double most_s = 3;

enum class Answer { none, some, unknown };

Answer solved_by(const std::string& mapper, const plugin::KnobSettings& knobs,
                 const Problem& problem) {
    const LoadedProblem loaded(problem);
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    mapper::Options options;
    options.metrics = {mapper::Metric::energy};
    options.mapspace = problem.options;
    options.threads = 1;
    options.budget.max_time_s = most_s;
    try {
        const mapper::Result result = plugin::Registry<mapper::Mapper>::instance()
                                          .create(mapper, knobs)
                                          ->map(loaded.problem, *model, options);
        return !result.solutions.empty()                     ? Answer::some
               : result.status == mapper::Status::infeasible ? Answer::none
                                                             : Answer::unknown;
    } catch (const NoLegalMapping&) {
        return Answer::none;
    } catch (const LimitReached&) {
        return Answer::unknown;
    } catch (const UserError&) {
        return Answer::unknown;  // larger than a search can take
    }
}

Answer ffm(const Problem& problem) {
    return solved_by("ffm", {}, problem);
}

std::string* rule(Rules& rules, const std::string& key) {
    const auto found =
        std::ranges::find_if(rules, [&](const auto& one) { return one.first == key; });
    return found == rules.end() ? nullptr : &found->second;
}

void leave_out(Rules& rules, const std::string& key) {
    std::erase_if(rules, [&](const auto& one) { return one.first == key; });
}

void put(Rules& rules, const std::string& key, const std::string& value) {
    leave_out(rules, key);
    rules.emplace_back(key, value);
}

/// "[{a}, {b}]" -> "{a}", "{b}"
std::vector<std::string> entries(const std::string& list) {
    std::vector<std::string> out;
    for (std::size_t at = list.find('{'); at != std::string::npos; at = list.find('{', at + 1)) {
        out.push_back(list.substr(at, list.find('}', at) + 1 - at));
    }
    return out;
}

std::string list_of(const std::vector<std::string>& entries) {
    std::string out;
    for (const std::string& one : entries) {
        out += (out.empty() ? "" : ", ") + one;
    }
    return "[" + out + "]";
}

/// Without what it must keep or back, a memory may keep it.
void loosen(Rules& tensors, const std::string& key) {
    const std::string* const given = rule(tensors, key);
    if (given == nullptr) {
        return;
    }
    const std::string* const may = rule(tensors, "may_keep");
    // Neither key: it may keep all.
    const bool open = rule(tensors, "keep") == nullptr && may == nullptr;
    const std::string either =
        "(" + *given + ")" + (may == nullptr ? std::string() : " | (" + *may + ")");
    if (!open) {
        put(tensors, "may_keep", either);
    }
    leave_out(tensors, key);
}

void drop(const NamedConstraint& c, Dimension& d) {
    switch (c.kind) {
        case ConstraintKind::fanout:
            d.fanout = 1 << 12;  // four of them stay within 2^53 instances
            d.follows.clear();
            break;
        case ConstraintKind::min_usage:
            leave_out(d.rules, "min_usage");
            break;
        case ConstraintKind::reuse:
            leave_out(d.rules, "reuse");
            break;
        default:
            std::string& list = *rule(d.rules, "loop_bounds");
            std::vector<std::string> all = entries(list);
            all.erase(all.begin() + c.index);
            list = list_of(all);
    }
}

void drop(const NamedConstraint& c, Component& component) {
    Rules& tensors = component.tensors;
    switch (c.kind) {
        case ConstraintKind::banks:
            component.banks = 0;
            break;
        case ConstraintKind::size:
            if (component.banks > 0) {  // as many banks of this size as are needed
                component.size_bits *= 1024;
                component.banks *= 1024;
            } else {
                component.size_bits = std::numeric_limits<double>::infinity();
            }
            component.follows.clear();
            break;
        case ConstraintKind::no_refetch_from_above:
            leave_out(tensors, "no_refetch_from_above");
            break;
        case ConstraintKind::no_resend_to_below:
            leave_out(tensors, "no_resend_to_below");
            break;
        case ConstraintKind::tensor_order_options:
            leave_out(tensors, "tensor_order_options");
            break;
        case ConstraintKind::compute:
            component.enabled_for.clear();
            break;
        case ConstraintKind::back:
            loosen(tensors, "back");
            break;
        case ConstraintKind::may_keep:
            put(tensors, "may_keep", "All");
            break;
        default:
            loosen(tensors, "keep");
    }
}

void drop(const NamedConstraint& c, Problem& problem) {
    if (c.kind == ConstraintKind::option) {
        mapspace::MapSpaceOptions& o = problem.options;
        const int unlimited = mapspace::MapSpaceOptions::unlimited;
        o.unfused = o.unfused && c.component != "unfused";
        o.max_fused_loops = c.component == "max-fused-loops" ? unlimited : o.max_fused_loops;
        if (c.component == "max-fused-loops-per-rank-variable") {
            o.max_fused_loops_per_rank_variable = unlimited;
        }
        if (c.component == "max-loops-per-spatial-dimension") {
            o.max_loops_per_spatial_dimension = unlimited;
        }
        return;
    }
    for (Component& component : problem.components) {
        if (component.name != c.component) {
            continue;
        }
        if (c.dim.empty()) {
            drop(c, component);
        }
        for (Dimension& d : component.dimensions) {
            if (d.name == c.dim) {
                drop(c, d);
            }
        }
    }
}

/// Every constraint that a file of the generator may have; those that it lacks change nothing.
std::vector<NamedConstraint> all_of(const Problem& problem) {
    std::vector<NamedConstraint> out;
    for (const char* option : {"unfused", "max-fused-loops", "max-loops-per-spatial-dimension"}) {
        out.push_back({ConstraintKind::option, option, "", 0, {}});
    }
    if (problem.options.max_fused_loops_per_rank_variable !=
        mapspace::MapSpaceOptions().max_fused_loops_per_rank_variable) {
        out.push_back({ConstraintKind::option, "max-fused-loops-per-rank-variable", "", 0, {}});
    }
    for (const Component& c : problem.components) {
        for (const Dimension& d : c.dimensions) {
            const auto add = [&](ConstraintKind kind, int index = 0) {
                out.push_back({kind, c.name, d.name, index, {}});
            };
            if (d.fanout > 1 || d.other_fanout > 1) {
                add(ConstraintKind::fanout);
            }
            Rules rules = d.rules;
            if (rule(rules, "reuse") != nullptr) {
                add(ConstraintKind::reuse);
            }
            add(ConstraintKind::min_usage);
            if (const std::string* const list = rule(rules, "loop_bounds")) {
                for (std::size_t i = 0; i < entries(*list).size(); ++i) {
                    add(ConstraintKind::loop_bounds, static_cast<int>(i));
                }
            }
        }
        using Kind = ConstraintKind;
        if (c.kind == "Compute") {
            out.push_back({Kind::compute, c.name, "", 0, {}});
        }
        if (!c.holds_tensors()) {
            continue;
        }
        for (const Kind kind :
             {Kind::banks, Kind::size, Kind::no_refetch_from_above, Kind::no_resend_to_below,
              Kind::tensor_order_options, Kind::back, Kind::keep, Kind::may_keep}) {
            out.push_back({kind, c.name, "", 0, {}});
        }
    }
    return out;
}

/// The problem with these constraints alone.
Problem only(const std::vector<NamedConstraint>& kept, const Problem& problem) {
    Problem out = problem;
    const std::vector<NamedConstraint> all = all_of(problem);
    for (const NamedConstraint& c : std::views::reverse(all)) {  // last entries of lists first
        if (std::ranges::none_of(kept, [&](const auto& k) { return k.same(c); })) {
            drop(c, out);
        }
    }
    return out;
}

template <class Pick>
Component* one_of(Problem& problem, Random& r, Pick pick) {
    std::vector<Component*> all;
    for (Component& c : problem.components) {
        if (pick(c)) {
            all.push_back(&c);
        }
    }
    return all.empty() ? nullptr : r.pick(all);
}

std::string any_variable(const Problem& problem, Random& r) {
    return r.pick(problem.bounds).first;
}

void tighten_dimension(Problem& problem, Random& r) {
    Component* const c =
        one_of(problem, r, [](const Component& one) { return !one.dimensions.empty(); });
    if (c == nullptr) {
        return;
    }
    Dimension& d =
        c->dimensions[static_cast<std::size_t>(r.below(static_cast<int>(c->dimensions.size())))];
    if (r.chance(15)) {
        put(d.rules, "reuse", r.pick(std::vector<std::string>{"All", "Inputs", "Outputs"}));
        return;
    }
    if (r.chance(10)) {
        put(d.rules, "min_usage", "1");
        return;
    }
    const std::string variables =
        any_variable(problem, r) + (r.chance(40) ? " | " + any_variable(problem, r) : "");
    const std::string op =
        r.pick(std::vector<std::string>{"==", ">=", "<=", "product==", "product>=", ">"});
    const std::string entry = "{expression: " + variables + ", operator: \"" + op +
                              "\", value: " + std::to_string(1 + r.below(8)) + "}";
    std::vector<std::string> all;
    if (const std::string* const given = rule(d.rules, "loop_bounds")) {
        all = entries(*given);
    }
    all.push_back(entry);
    put(d.rules, "loop_bounds", list_of(all));
}

void tighten_memory(Problem& problem, Random& r) {
    Component* const c =
        one_of(problem, r, [](const Component& one) { return one.kind == "Memory"; });
    const bool outermost = c == &problem.components.front();
    const std::vector<std::string> sets{"All", "Inputs", "Outputs"};
    switch (r.below(7)) {
        case 0:
            put(c->tensors, "no_refetch_from_above", r.pick(sets));
            break;
        case 1:
            put(c->tensors, "no_resend_to_below", r.pick(sets));
            break;
        case 2:
            put(c->tensors, "keep", r.pick(sets));
            break;
        case 3:
            if (rule(c->tensors, "keep") != nullptr) {
                leave_out(c->tensors, "may_keep");
            }
            break;
        case 4:
            if (!outermost) {
                put(c->tensors, "back", "Outputs");
            }
            break;
        case 5:
            if (!outermost) {
                c->banks = 2 + r.below(3);
                c->size_bits = c->banks * std::max(1.0, std::floor(c->size_bits / c->banks));
                c->follows.clear();
            }
            break;
        default:
            if (!outermost) {
                const double share = r.pick(std::vector{0.3, 0.6, 0.85});
                c->size_bits = std::max(1.0, std::floor(c->size_bits * share));
                c->other_size_bits = c->size_bits;
                if (c->banks > 0) {
                    c->size_bits = c->banks * std::max(1.0, std::floor(c->size_bits / c->banks));
                    c->follows.clear();
                }
            }
    }
}

void tighten(Problem& problem, Random& r) {
    switch (r.below(8)) {
        case 0:
            problem.options.max_fused_loops = 0;
            break;
        case 1:
            if (Component* const c = one_of(
                    problem, r, [](const Component& one) { return one.kind == "Compute"; })) {
                c->enabled_for = r.pick(r.pick(problem.einsums).accesses).tensor;
            }
            break;
        case 2:
        case 3:
        case 4:
            tighten_dimension(problem, r);
            break;
        default:
            tighten_memory(problem, r);
    }
}

struct Tally {
    int infeasible = 0, explained = 0, together = 0, alone_shown = 0, alone_asked = 0,
        without_shown = 0, without_asked = 0, joint = 0;
    std::map<std::size_t, int> sizes;
    std::map<int, int> kinds;
};

/// No mapping although every Einsum alone has one.
bool fails_together(const Problem& problem) {
    const LoadedProblem loaded(problem);
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const auto subset = mapspace::infeasible_subset(loaded.problem, *model, problem.options);
    return subset && subset->einsum < 0;
}

void judge(std::uint64_t seed, const Problem& problem, Tally& tally) {
    const LoadedProblem loaded(problem);
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const auto subset = mapspace::infeasible_subset(loaded.problem, *model, problem.options);
    if (!subset) {
        BOOST_TEST_MESSAGE("seed " << seed << ": not explained");
        return;
    }
    ++tally.explained;
    tally.together += subset->einsum < 0 ? 1 : 0;
    ++tally.sizes[subset->constraints.size()];
    std::string said;
    for (const std::string& line : subset->lines) {
        said += line + "\n";
    }
    BOOST_TEST_CONTEXT("seed " << seed << "\n" << said << text(problem)) {
        ++tally.alone_asked;
        const Answer alone = ffm(only(subset->constraints, problem));
        BOOST_TEST((alone != Answer::some));
        tally.alone_shown += alone == Answer::none ? 1 : 0;
        for (const NamedConstraint& c : subset->constraints) {
            ++tally.kinds[static_cast<int>(c.kind)];
            if (std::ranges::any_of(subset->open, [&](const auto& o) { return o.same(c); })) {
                continue;
            }
            std::vector<NamedConstraint> rest = subset->constraints;
            std::erase_if(rest, [&](const auto& one) { return one.same(c); });
            ++tally.without_asked;
            const Problem loosened = only(rest, problem);
            const Answer without = ffm(loosened);
            const bool joint =
                subset->einsum >= 0 && without == Answer::none && fails_together(loosened);
            tally.joint += joint ? 1 : 0;
            BOOST_TEST((without != Answer::none || joint),
                       "without line " << c.where.line << ", kind " << static_cast<int>(c.kind));
            tally.without_shown += without == Answer::some || joint ? 1 : 0;
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_named_is_infeasible_and_smallest) {
    const std::uint64_t soak = test::setting("TESSERA_SOAK", 0);
    const std::uint64_t wanted = soak > 0 ? soak : 40;
    const std::uint64_t from = soak > 0 ? test::setting("TESSERA_SOAK_FROM", 1'000'000) : 0;
    Tally tally;
    for (std::uint64_t seed = from; seed < from + wanted; ++seed) {
        Problem problem = random_problem(seed);
        Random r(seed ^ 0x115);
        for (int step = 0; step < 8; ++step) {
            tighten(problem, r);
            Answer answer = Answer::unknown;
            BOOST_TEST_CONTEXT("seed " << seed << "\n" << text(problem)) {
                BOOST_REQUIRE_NO_THROW(answer = ffm(problem));
            }
            if (answer == Answer::none) {
                ++tally.infeasible;
                judge(seed, problem, tally);
                break;
            }
        }
    }
    std::string counts;
    for (const auto& [size, n] : tally.sizes) {
        counts += " " + std::to_string(n) + " of " + std::to_string(size);
    }
    for (const auto& [kind, n] : tally.kinds) {
        counts += "; kind " + std::to_string(kind) + ": " + std::to_string(n);
    }
    std::fprintf(stderr,
                 "%d infeasible, %d explained, %d together, alone %d of %d, without %d of %d, %d "
                 "fail together then;%s\n",
                 tally.infeasible, tally.explained, tally.together, tally.alone_shown,
                 tally.alone_asked, tally.without_shown, tally.without_asked, tally.joint,
                 counts.c_str());
    BOOST_TEST(tally.infeasible * 2 >= static_cast<int>(wanted));
    BOOST_TEST(tally.explained * 10 >= tally.infeasible * 9);
    BOOST_TEST(tally.alone_shown * 10 >= tally.alone_asked * 8);
    BOOST_TEST(tally.without_shown * 10 >= tally.without_asked * 9);
}
