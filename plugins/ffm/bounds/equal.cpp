// Einsums that are equal up to renaming are opened and explored once.
#include <algorithm>
#include <cstring>
#include <string>

#include "../templates/open.hpp"

namespace tessera::ffm {
namespace {

/// Appends numbers byte by byte and texts with their length: different contents never look equal.
class Key {
public:
    template <class... Number>
    Key& operator()(Number... numbers) {
        (put(static_cast<double>(numbers)), ...);
        return *this;
    }
    Key& mask(std::uint64_t bits) {
        return (*this)(bits >> 32, bits & 0xffffffffu);
    }
    Key& text(const std::string& s) {
        (*this)(s.size());
        bytes_ += s;
        return *this;
    }
    std::string take() {
        return std::move(bytes_);
    }

private:
    void put(double number) {
        char bytes[sizeof number];
        std::memcpy(bytes, &number, sizeof number);
        bytes_.append(bytes, sizeof number);
    }

    std::string bytes_;
};

void add_einsum(const workload::EinsumView& e, Key& key) {
    key(e.is_copy_operation, e.n_instances, e.rank_variables.size(), e.tensors.size());
    for (const workload::LocalRankVariable& v : e.rank_variables) {
        key(v.bound, v.simple, v.only_last, v.prologues.size());
        for (const workload::Prologue& prologue : v.prologues) {
            key(prologue.base, prologue.prologue);
        }
    }
    for (const workload::LocalTensor& t : e.tensors) {
        key(t.output, t.persistent, t.intermediate, t.fusable, t.bits_per_value, t.size_values);
        key(static_cast<int>(t.state), t.state_variable);
        key.mask(t.relevant).mask(t.partially_relevant);
        key.mask(t.directly_indexing).mask(t.expression_indexing);
        key(t.windows.size());
        for (const workload::Window& s : t.windows) {
            key(s.variable, s.rank, s.factor, s.base, s.need);
        }
        key(t.ranks.size());
        for (const workload::RankAccess& rank : t.ranks) {
            key(rank.constant, rank.terms.size());
            for (const workload::AffineTerm& term : rank.terms) {
                key(term.coefficient, term.rank_variable);
            }
        }
    }
}

/// What an expression over tensors says about this Einsum: its text and what its names stand for.
/// Names of memories stand for what is chosen while templates are made.
void add_expression(const spec::Expression& e, const arch::Path& path, Key& key) {
    key(e.empty());
    if (e.empty()) {
        return;
    }
    const std::vector<std::string> names = e.names();
    if (names.empty()) {
        key.mask(arch::evaluate_tensors(e, path.symbols));  // constants have no text
        return;
    }
    key.text(e.text());
    for (const std::string& name : names) {
        if (name == "Above" || path.find_level(name) >= 0) {
            continue;
        }
        const std::optional<spec::Value> value = path.symbols.find(name);
        if (value && value->is<spec::TensorSet>()) {
            key(1).mask(value->as<spec::TensorSet>().mask);
        } else if (value && value->is<spec::RankVariableSet>()) {
            key(2).mask(value->as<spec::RankVariableSet>().mask);
        } else if (value && value->is<double>()) {
            key(3, value->as<double>());
        } else if (value && value->is<bool>()) {
            key(4, value->as<bool>());
        } else if (value && value->is<std::string>()) {
            key(5).text(value->as<std::string>());
        } else {
            key(6, path.einsum.einsum);  // not compared: equal to no other Einsum
        }
    }
}

void add_dim(const arch::PathDim& d, Key& key) {
    key.text(d.name).mask(d.may_reuse).mask(d.reuse);
    key(d.fanout, d.min_usage, d.usage_scale, d.power_gateable, d.loop_bounds.size());
    for (const arch::LoopBound& b : d.loop_bounds) {
        key.mask(b.variables)(b.product, b.op, b.value);
    }
}

/// What the mapper may put into the level.
void add_choices(const arch::PathLevel& level, const arch::Path& path, Key& key) {
    for (const spec::Expression* e : {&level.keep, &level.may_keep, &level.back}) {
        add_expression(*e, path, key);
    }
    key(level.has_may_keep, level.has_keep, level.force_memory_hierarchy_order);
    key.mask(level.no_refetch_from_above).mask(level.no_resend_to_below);
    key(level.tensor_order_options.size());
    for (const auto& order : level.tensor_order_options) {
        key(order.size());
        for (const spec::Expression& e : order) {
            add_expression(e, path, key);
        }
    }
}

void add_level(const arch::PathLevel& level, const arch::Path& path, Key& key) {
    key.text(level.name)(level.kind, level.enabled, level.skip_initial_output_write);
    key(level.topology, level.size_bits, level.bank_bits, level.actions_scale,
        level.cumulative_fanout);
    key(level.has_latency, level.actions.size());
    for (const arch::PathAction& a : level.actions) {
        key.text(a.name)(a.energy_j, a.throughput_per_s, a.latency_s, a.values_per_action.size());
        for (const double v : a.values_per_action) {
            key(v);
        }
    }
    for (const std::vector<double>* list : {&level.bits_per_value, &level.actions_per_value}) {
        key(list->size());
        for (const double b : *list) {
            key(b);
        }
    }
    key(level.direction.size());
    for (const arch::Direction d : level.direction) {
        key(d);
    }
    key(level.spatial.size());
    for (const arch::PathDim& d : level.spatial) {
        add_dim(d, key);
    }
    key(level.physical.size());
    for (const arch::PhysicalDim& d : level.physical) {
        key.text(d.name)(d.fanout, d.stride);
    }
    key(level.latency.steps.size());
    for (const arch::LatencyProgram::Step& step : level.latency.steps) {
        key(step.op, step.value, step.action);
    }
    if (level.holds_tensors() && level.enabled) {
        add_choices(level, path, key);
    }
}

/// Everything of an Einsum and its paths that templates and costs depend on, without names of
/// tensors, rank variables and Einsums: equal keys mean equal templates and equal exploration.
std::string key_of(const EinsumSpace& space) {
    Key key;
    add_einsum(space.paths.front()->einsum, key);
    key(space.paths.size());
    for (const auto& path : space.paths) {
        key.text(path->compute().name)(path->levels.size());
        for (const arch::PathLevel& level : path->levels) {
            add_level(level, *path, key);
        }
        key(path->leaks.size());
        for (const arch::Leak& leak : path->leaks) {
            key(leak.leak_power_w, leak.off, leak.gates.size());
            for (const arch::Leak::Gate& gate : leak.gates) {
                key(gate.level, gate.dim, gate.fanout);
            }
        }
    }
    return key.take();
}

}  // namespace

std::size_t EqualEinsums::first(const EinsumSpace& space) {
    return seen_.try_emplace(key_of(space), static_cast<std::size_t>(space.einsum)).first->second;
}

}  // namespace tessera::ffm
