#pragma once

// Criteria by which partial choices of tile shapes are compared.
//
// An objective is max_i sum_j c_ij * x^e_ij * u^g_ij with x known and u unknown tile shapes.
// For every branch the addends are grouped by their unknown monomial u^g; the known factor of each
// group is one criterion P_g(x). Since u^g > 0, "all P_g of row a <= those of row b" gives
// a <= b for every completion. Adding up groups with different unknown monomials (weights 1) would
// not: 100/a + b*c, with a and b known, prefers (100, 50) to (1, 1) although c = 64 reverses it.
//
// A row may replace another only if it permits the same completions: the values of known symbols
// with an unknown neighbour must be equal. They are keys, as are fused symbols. Within equal keys
// a factor of keys only is a positive constant and is stripped, a sum of keys only is dropped.

#include <cstdint>
#include <span>
#include <vector>

#include "mapspace/bounds/tile_shapes_bounds.hpp"

namespace tessera::mapspace {

struct Criteria {
    /// Serves one condition only: void for rows that meet the condition whatever comes later.
    struct OfCondition {
        model::Formula formula;
        int condition = 0;
    };

    std::vector<model::Formula> minimise;
    std::vector<OfCondition> minimise_unless_safe;
    std::vector<model::Formula> equal;  ///< formulas whose values must agree, beside the keys
    model::SymbolSet keys;              ///< symbols whose values must agree
};

class CriteriaBuilder {
public:
    explicit CriteriaBuilder(ChainBounds& bounds) : bounds_(bounds), pool_(bounds.pool()) {}

    void start(const model::SymbolSet& known, const model::SymbolSet& keys);
    /// See TileShapeOptions::sum_groups.
    void sum_groups(bool on) {
        sum_groups_ = on;
    }
    /// Completions must not get a larger value of `f`.
    void add_objective(const model::Formula& f);
    /// Completions must not get a larger (sign = 1) or smaller (sign = -1) value of `f`, unless all
    /// of them meet the condition of this number.
    void add_condition(const model::Formula& f, int sign, int condition);
    /// Completions must get the same value of `f`.
    void add_equal(const model::Formula& f);
    /// Simplified criteria with the same meaning.
    Criteria finish();

private:
    struct Part {
        model::Exponents unknown;
        std::uint32_t unknown_atoms = 0;
        model::Term known;
        bool taken = false;
    };

    void add(const model::Formula& f, int sign);
    void add_polynomial(const model::Formula& f, int sign);
    void push_floor(std::size_t first_group);
    bool split(const model::Term& term, int sign, Part& part);
    void push_group(std::size_t first);
    /// Known symbols that are no keys, and unknown ones.
    bool is_mixed(const model::SymbolSet& symbols) const {
        return (known_ - keys_).meets(symbols) && !known_.contains(symbols);
    }
    model::Formula simplify(std::span<const model::Term> terms);
    void reduce_monomial(model::Term& term);
    void move_opposites(Criteria& criteria) const;
    bool merge_equal_directions(std::vector<model::Formula>& list);
    void remove_implied(Criteria& criteria) const;
    bool contains(const std::vector<model::Formula>& list, const model::Formula& f) const;
    int unit_direction(const model::Formula& f, int& symbol) const;
    bool same_up_to_factor(const model::Formula& a, const model::Formula& b) const;

    ChainBounds& bounds_;
    model::FormulaPool& pool_;
    model::SymbolSet known_;
    model::SymbolSet keys_;
    /// Purpose of the groups being added: a condition's number or one of these.
    static constexpr int kObjective = -1;
    static constexpr int kEqual = -2;
    int purpose_ = kObjective;
    bool sum_groups_ = false;
    std::vector<model::Term> terms_;  // groups, one after the other
    std::vector<std::size_t> group_ends_;
    std::vector<int> group_purpose_;
    std::vector<std::size_t> replaced_;  // groups whose floor stands in for them
    std::vector<Part> parts_;
};

}  // namespace tessera::mapspace
