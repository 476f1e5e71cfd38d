#include "transformation/transformed.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

namespace tessera::transformation {

namespace {

const std::string& renamed(const std::string& name, const NewNames& names) {
    const auto found = names.find(name);
    return found == names.end() ? name : found->second;
}

// Numbers in random order, so that the alphabetical order changes, too.
NewNames fresh_names(const std::set<std::string>& old, const std::string& prefix, Random& r) {
    std::vector<int> numbers;
    for (std::size_t i = 0; i < old.size(); ++i) {
        numbers.push_back(10 + static_cast<int>(i));
    }
    shuffle(numbers, r);
    NewNames names;
    for (const std::string& name : old) {
        names[name] = prefix + std::to_string(numbers.back());
        numbers.pop_back();
    }
    return names;
}

/// Renames the words of an expression.
std::string reworded(const std::string& text, const NewNames& names) {
    std::string result, word;
    for (const char c : text + ' ') {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
            word += c;
            continue;
        }
        result += renamed(word, names) + c;
        word.clear();
    }
    result.pop_back();
    return result;
}

void reword(Rules& rules, const NewNames& names) {
    for (auto& [key, value] : rules) {
        value = reworded(value, names);
    }
}

template <class Visit>
void for_each_rules(Problem& p, Visit visit) {
    for (Component& c : p.components) {
        visit(c.tensors);
        for (Dimension& d : c.dimensions) {
            visit(d.rules);
        }
    }
}

template <class Visit>
void for_each_access(Problem& p, Visit visit) {
    for (Einsum& e : p.einsums) {
        for (Access& a : e.accesses) {
            visit(a);
        }
    }
}

void rank_order(Transformed& t, Random& r) {
    for_each_access(t.problem, [&](Access& a) { shuffle(a.ranks, r); });
}

void rank_names(Transformed& t, Random& r) {
    std::set<std::string> old;
    for_each_access(t.problem, [&](Access& a) {
        for (const Rank& rank : a.ranks) {
            old.insert(rank.name);
        }
    });
    const NewNames names = fresh_names(old, "R", r);
    for_each_access(t.problem, [&](Access& a) {
        for (Rank& rank : a.ranks) {
            rank.name = names.at(rank.name);
        }
    });
}

void variable_names(Transformed& t, Random& r) {
    std::set<std::string> old;
    for (const auto& [name, bound] : t.problem.bounds) {
        old.insert(name);
    }
    t.variables = fresh_names(old, "v", r);
    for (auto& [name, bound] : t.problem.bounds) {
        name = t.variables.at(name);
    }
    shuffle(t.problem.bounds, r);
    for_each_access(t.problem, [&](Access& a) {
        for (Rank& rank : a.ranks) {
            shuffle(rank.terms, r);
            for (Term& term : rank.terms) {
                term.variable = t.variables.at(term.variable);
            }
        }
    });
    for_each_rules(t.problem, [&](Rules& rules) { reword(rules, t.variables); });
}

/// Every Einsum gets variables of its own: Einsums meet in ranks, not in variables.
void variables_apart(Transformed& t, Random&) {
    if (t.problem.has_rule("loop_bounds") || t.problem.einsums.size() < 2) {
        return;
    }
    const auto bounds = t.problem.bounds;
    t.problem.bounds.clear();
    for (std::size_t e = 0; e < t.problem.einsums.size(); ++e) {
        const std::string suffix = "_" + std::to_string(e);
        std::set<std::string> used;
        for (Access& a : t.problem.einsums[e].accesses) {
            for (Rank& rank : a.ranks) {
                for (Term& term : rank.terms) {
                    used.insert(term.variable);
                    term.variable += suffix;
                }
            }
        }
        for (const auto& [name, bound] : bounds) {
            if (used.contains(name)) {
                t.problem.bounds.emplace_back(name + suffix, bound);
            }
        }
    }
    t.same_tree = false;
}

void tensor_names(Transformed& t, Random& r) {
    std::set<std::string> old;
    for_each_access(t.problem, [&](Access& a) { old.insert(a.tensor); });
    t.tensors = fresh_names(old, "T", r);
    std::map<std::string, double> bits;
    for (const auto& [name, value] : t.problem.bits_per_value) {
        bits[t.tensors.at(name)] = value;
    }
    t.problem.bits_per_value = bits;
    std::set<std::string> persistent;
    for (const std::string& name : t.problem.persistent) {
        persistent.insert(t.tensors.at(name));
    }
    t.problem.persistent = persistent;
    for_each_access(t.problem, [&](Access& a) { a.tensor = t.tensors.at(a.tensor); });
    for (Einsum& e : t.problem.einsums) {
        shuffle(e.accesses, r);
    }
    for (Component& c : t.problem.components) {
        c.follows = renamed(c.follows, t.tensors);
        c.enabled_for = renamed(c.enabled_for, t.tensors);
        for (Dimension& d : c.dimensions) {
            d.follows = renamed(d.follows, t.tensors);
        }
    }
}

void einsum_names(Transformed& t, Random& r) {
    std::set<std::string> old;
    for (const Einsum& e : t.problem.einsums) {
        old.insert(e.name);
    }
    t.einsums = fresh_names(old, "Op", r);
    for (Einsum& e : t.problem.einsums) {
        e.name = t.einsums.at(e.name);
    }
}

bool reads_from(const Einsum& reader, const Einsum& writer) {
    return std::any_of(reader.accesses.begin(), reader.accesses.end(), [&](const Access& read) {
        return std::any_of(writer.accesses.begin(), writer.accesses.end(), [&](const Access& w) {
            return w.output && !read.output && w.tensor == read.tensor;
        });
    });
}

/// Another order of the file; producers stay before their readers.
void einsum_order(Transformed& t, Random& r) {
    if (!t.problem.options.all_einsum_orders) {
        return;
    }
    std::vector<Einsum> rest = t.problem.einsums, order;
    while (!rest.empty()) {
        std::vector<std::size_t> free;
        for (std::size_t i = 0; i < rest.size(); ++i) {
            const bool waits = std::any_of(rest.begin(), rest.end(), [&](const Einsum& other) {
                return reads_from(rest[i], other);
            });
            if (!waits) {
                free.push_back(i);
            }
        }
        const auto next = static_cast<std::ptrdiff_t>(r.pick(free));
        order.push_back(rest[static_cast<std::size_t>(next)]);
        rest.erase(rest.begin() + next);
    }
    t.problem.einsums = order;
}

void component_names(Transformed& t, Random& r) {
    std::set<std::string> old, dimensions;
    for (const Component& c : t.problem.components) {
        old.insert(c.name);
        for (const Dimension& d : c.dimensions) {
            dimensions.insert(d.name);
        }
    }
    t.components = fresh_names(old, "C", r);
    t.dimensions = fresh_names(dimensions, "d", r);
    for (Component& c : t.problem.components) {
        c.name = t.components.at(c.name);
        for (Dimension& d : c.dimensions) {
            d.name = t.dimensions.at(d.name);
        }
    }
    for_each_rules(t.problem, [&](Rules& rules) { reword(rules, t.components); });
}

/// Inputs lie elsewhere, or the other way round, in ranks that several variables index.
void shift_projections(Transformed& t, Random& r) {
    std::set<std::string> made;
    for_each_access(t.problem, [&](Access& a) {
        if (a.output) {
            made.insert(a.tensor);
        }
    });
    for_each_access(t.problem, [&](Access& a) {
        for (Rank& rank : a.ranks) {
            if (made.contains(a.tensor) || rank.terms.size() < 2) {
                continue;
            }
            rank.offset += r.below(10);
            for (Term& term : rank.terms) {
                term.factor *= r.chance(30) ? -1 : 1;
            }
        }
    });
}

void energies(Transformed& t, double factor) {
    t.energy *= factor;
    for (Component& c : t.problem.components) {
        c.leak_w *= factor;
        for (Action& a : c.actions) {
            a.energy_j *= factor;
        }
    }
}

void times(Transformed& t, double factor) {
    t.time *= factor;
    for (Component& c : t.problem.components) {
        c.leak_w /= factor;
        for (Action& a : c.actions) {
            a.throughput_per_s /= factor;
        }
    }
}

/// Wider values in wider and larger memories: nothing changes.
void bits(Transformed& t, double factor) {
    for (auto& [tensor, value] : t.problem.bits_per_value) {
        value *= factor;
    }
    for (Component& c : t.problem.components) {
        c.size_bits *= factor;
        c.other_size_bits *= factor;
        c.bits_of_outputs *= factor;
        c.bits_per_action *= factor;
    }
}

struct Saying {
    const char* name;
    void (*apply)(Transformed&, Random&);
};

constexpr Saying sayings[] = {
    {"rank order", rank_order},         {"rank names", rank_names},
    {"variable names", variable_names}, {"variables apart", variables_apart},
    {"tensor names", tensor_names},     {"Einsum names", einsum_names},
    {"Einsum order", einsum_order},     {"component names", component_names},
};

struct Unit {
    const char* name;
    void (*scale)(Transformed&, double);
};

constexpr Unit units[] = {{"energies", energies}, {"times", times}, {"bits", bits}};

void rewrite(std::vector<std::string>& list, const NewNames& names) {
    for (std::string& name : list) {
        name = renamed(name, names);
    }
}

void rewrite(mapping::TreeNode& node, const Transformed& t) {
    rewrite(node.tensors, t.tensors);
    rewrite(node.rank_variables, t.variables);
    rewrite(node.einsums, t.einsums);
    node.component = renamed(node.component, t.components);
    node.dim = renamed(node.dim, t.dimensions);
    node.einsum = renamed(node.einsum, t.einsums);
    for (mapping::LoopUse& use : node.uses) {
        use.einsum = renamed(use.einsum, t.einsums);
        use.rank_variable = renamed(use.rank_variable, t.variables);
    }
    for (mapping::TreeNode& child : node.children) {
        rewrite(child, t);
    }
}

}  // namespace

mapping::Mapping Transformed::rewritten(mapping::Mapping mapping) const {
    rewrite(mapping.root, *this);
    return mapping;
}

Transformed draw_transformed(const Problem& problem, Random& r) {
    Transformed transformed;
    transformed.problem = problem;
    const int kind = r.below(3);  // 0: in other units, 1: said otherwise, 2: both
    for (const Saying& saying : sayings) {
        if (kind > 0 && r.chance(60)) {
            saying.apply(transformed, r);
            transformed.changes.emplace_back(saying.name);
            transformed.exact = false;
        }
    }
    const bool powers = r.chance(50);
    for (const Unit& unit : units) {
        if (kind != 1 && r.chance(60)) {
            unit.scale(transformed, powers ? std::ldexp(1.0, 1 + r.below(3)) : 3);
            transformed.changes.emplace_back(unit.name);
            transformed.exact = transformed.exact && powers;
        }
    }
    if (kind > 0 && problem.compat == arch::Compat::none && r.chance(60)) {
        shift_projections(transformed, r);
        transformed.changes.emplace_back("projections");
        transformed.exact = false;
    }
    return transformed;
}

}  // namespace tessera::transformation
