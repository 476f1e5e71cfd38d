// The shorthand `maximize_dims` of version 0.4, as Timeloop's Python front end works it out.
#include <algorithm>
#include <cstdlib>

#include "constraint_macros.hpp"
#include "tessera/base/divisors.hpp"

namespace tessera::timeloop {

namespace {

using spec::Node;

struct Part {
    std::size_t dimension = 0;
    std::int64_t factor = 1;
};
struct Allocation {
    std::vector<Part> parts;
    double used = 1;  ///< of the capacity, on average over the passes
};

/// The distinct prime factors, in the order of Python's sets: equally good allocations are decided
/// by which one is met first.
std::vector<std::int64_t> primes_of(std::int64_t n) {
    std::vector<std::int64_t> primes = base::prime_factors(n);
    // An open-addressing table of 8 slots; five numbers and more would need a larger one.
    constexpr std::size_t slots = 8;
    if (primes.size() > 4) {
        return primes;
    }
    std::int64_t table[slots] = {};
    for (const std::int64_t p : primes) {
        auto rest = static_cast<std::uint64_t>(p);
        std::uint64_t at = rest % slots;
        while (table[at] != 0) {
            rest >>= 5;
            at = (at * 5 + 1 + rest) % slots;
        }
        table[at] = p;
    }
    primes.clear();
    std::copy_if(std::begin(table), std::end(table), std::back_inserter(primes),
                 [](std::int64_t p) { return p != 0; });
    return primes;
}

/// The first of the best allocations. A dimension larger than the capacity may leave a shorter last
/// pass.
Allocation allocate(const std::vector<std::int64_t>& left, std::int64_t capacity) {
    Allocation best;
    if (capacity <= 1) {
        return best;
    }
    for (std::size_t d = 0; d < left.size(); ++d) {
        if (left[d] > capacity) {
            const std::int64_t passes = (left[d] + capacity - 1) / capacity;
            const std::int64_t factor = (left[d] + passes - 1) / passes;
            const double used = static_cast<double>(factor * (passes - 1) + left[d] % factor) /
                                static_cast<double>(passes);
            if (used > best.used) {
                best = {{{d, factor}}, used};
            }
        }
        for (const std::int64_t p : primes_of(left[d])) {
            if (p > capacity) {
                continue;
            }
            std::vector<std::int64_t> rest = left;
            rest[d] /= p;
            Allocation more = allocate(rest, capacity / p);
            more.used *= static_cast<double>(p);
            if (more.used > best.used) {
                more.parts.insert(more.parts.begin(), {d, p});
                best = std::move(more);
            }
        }
    }
    return best;
}

}  // namespace

class Maximizer {
public:
    explicit Maximizer(const Problem& problem) : problem_(problem) {
        for (const Dimension& dimension : problem.dimensions) {
            left_.push_back(dimension.bound);
        }
    }

    void run(const std::vector<FanoutConstraints>& nodes) {
        for (const FanoutConstraints& node : nodes) {
            for (const char* type : {"spatial", "temporal"}) {
                if (const Node* constraint = find(node, type)) {
                    take_given(*constraint);
                }
            }
        }
        for (const char* type : {"spatial", "temporal"}) {
            for (std::size_t i = nodes.size(); i-- > 0;) {
                if (Node* constraint = find(nodes[i], type)) {
                    expand(*constraint, std::string(type) == "spatial" ? nodes[i].fanout : 0);
                }
            }
        }
    }

private:
    static Node* find(const FanoutConstraints& node, const char* type) {
        const auto found = node.constraints->by_type_.find(type);
        return found == node.constraints->by_type_.end() ? nullptr : &found->second;
    }

    int dimension(const std::string& name, const Node& where) const {
        const int found = problem_.find_dimension(name);
        if (found < 0) {
            spec::fail(where, {"no dimension of the problem has this name", name, "", ""});
        }
        return found;
    }

    /// Calls `use(dimension, relation, value)` for every factor; 0 means the whole bound.
    template <class Use>
    void each_factor(const Node& constraint, Use use) const {
        const Node* factors = find_key(constraint, "factors");
        if (factors == nullptr) {
            return;
        }
        for (const std::string& text : items_of(*factors)) {
            const std::string name = dimension_of(text);
            const int d = dimension(name, *factors);
            const std::size_t digits = text.find_first_of("0123456789", name.size());
            const std::int64_t value = digits == text.npos ? 0 : std::atoll(text.c_str() + digits);
            const std::string relation = text.substr(name.size(), digits - name.size());
            use(d, relation, value == 0 ? problem_.dimensions[d].bound : value);
        }
    }

    void take_given(const Node& constraint) {
        each_factor(constraint, [&](int d, const std::string& relation, std::int64_t value) {
            if (relation == "=" || relation.empty()) {
                left_[d] = (left_[d] + value - 1) / value;
            }
        });
    }

    void expand(Node& constraint, std::int64_t fanout) {
        const Node* found = constraint.find("maximize_dims");
        if (found == nullptr || found->is_null() || found->items.empty()) {
            constraint.erase("maximize_dims");
            constraint.erase("maximize_dims_capacity");
            return;
        }
        const Node macro = *found;
        std::int64_t start = fanout;
        if (const Node* given = constraint.find("maximize_dims_capacity");
            given != nullptr && !given->is_null()) {
            start = std::atoll(given->text.c_str());
        }
        if (start < 1) {
            spec::fail(macro, {"maximize_dims in time lacks a capacity", "", "a whole number",
                               "give it as maximize_dims_capacity"});
        }
        constraint.erase("maximize_dims");
        constraint.erase("maximize_dims_capacity");
        if (!macro.items.front().is_sequence()) {
            maximize(constraint, macro, start);
            return;
        }
        for (const Node& group : macro.items) {
            maximize(constraint, group, start);
        }
    }

    void maximize(Node& constraint, const Node& group, std::int64_t capacity) {
        each_factor(constraint, [&](int, const std::string& relation, std::int64_t value) {
            capacity /= relation == "<=" ? 1 : value;
        });
        std::vector<int> dimensions;
        std::vector<std::int64_t> left;
        for (const std::string& name : items_of(group)) {
            dimensions.push_back(dimension(name, group));
            left.push_back(left_[static_cast<std::size_t>(dimensions.back())]);
            each_factor(constraint, [&](int d, const std::string&, std::int64_t) {
                if (d == dimensions.back()) {
                    spec::fail(group, {"a dimension to be maximized has a factor already", name, "",
                                       "remove one of them"});
                }
            });
        }
        std::vector<std::int64_t> factors(dimensions.size(), 1);
        for (const Part& part : allocate(left, capacity).parts) {
            factors[part.dimension] *= part.factor;
        }
        for (std::size_t i = 0; i < dimensions.size(); ++i) {
            const auto d = static_cast<std::size_t>(dimensions[i]);
            add_factor(constraint, problem_.dimensions[d].name + "=" + std::to_string(factors[i]),
                       group, false);
            left_[d] = (left_[d] + factors[i] - 1) / factors[i];
        }
    }

    const Problem& problem_;
    std::vector<std::int64_t> left_;  ///< per dimension, what no factor has taken
};

void maximize_dims(const std::vector<FanoutConstraints>& nodes, const Problem& problem) {
    Maximizer(problem).run(nodes);
}

}  // namespace tessera::timeloop
