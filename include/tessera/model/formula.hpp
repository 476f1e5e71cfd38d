#pragma once

// Formulas over unknown tile shapes.
//
// A cost model is written once over an abstract number. With `double` it evaluates a mapping, with
// `Formula` it formulates a template. A formula is one of
//   - a constant,
//   - a Laurent polynomial: sum of coefficient * product of integer powers of tile-shape symbols
//     s0, s1, ... and of opaque atoms (ceil, min, nested max, sums that are divided by),
//   - a maximum over several such polynomials ("branches").
// Sums and non-negative factors are distributed over a maximum, so that an objective is always
// available as a maximum over branches.
//
// Every symbol stands for a positive integer. No other knowledge enters the construction.
//
// Non-constant formulas live in the FormulaPool that is current on this thread (FormulaScope).
// Equal formulas of one pool are the same node: comparing two formulas is comparing two numbers.
// Term order is structural, not historical: the same formula built in two pools evaluates to the
// same bits, provided its coefficients were summed in the same order.

#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include "tessera/model/symbol_set.hpp"

namespace tessera::model {

class FormulaPool;

/// Closed interval of real numbers; `lo` may be -inf, `hi` may be +inf.
struct Interval {
    double lo = 0.0;
    double hi = 0.0;
};

/// How a formula changes when one symbol grows and all others stay; never strict.
enum class Monotone : std::uint8_t { unknown, constant, increasing, decreasing };

/// A value type of 16 bytes. Constants need no pool; everything else needs a FormulaScope on this
/// thread, and dies with the pool (or its `clear`).
class Formula {
public:
    Formula() = default;
    Formula(double value) : value_(value) {}  // NOLINT: constants mix freely with formulas

    /// Symbol s<index>, 0 <= index < kMaxSymbols.
    static Formula symbol(int index);

    bool is_constant() const {
        return id_ == 0;
    }
    /// Value of a constant formula; meaningless otherwise.
    double constant_value() const {
        return value_;
    }
    /// Node of the current pool, 0 for constants.
    std::uint32_t node() const {
        return id_;
    }

    /// Symbols that the value depends on.
    SymbolSet depends_on() const;

    /// Value at the given tile shapes, symbol i = symbols[i].
    double value(std::span<const double> symbols) const;

    /// Sound enclosure of all values when symbol i lies in box[i]; ends are whole numbers >= 1, or
    /// inf.
    Interval bounds(std::span<const Interval> box) const;

    /// Direction of change in symbol `index` anywhere in the box; `unknown` when not proven.
    /// A change against the direction by less than 1e-12 of the terms involved is forgiven.
    Monotone monotone_in(int index, std::span<const Interval> box) const;

    std::string to_string() const;

    /// Identity of structure (same pool), not of mathematical value.
    friend bool operator==(const Formula& a, const Formula& b) {
        return a.id_ == b.id_ && (a.id_ != 0 || a.value_ == b.value_);
    }

    Formula& operator+=(const Formula& other);
    Formula& operator-=(const Formula& other);
    Formula& operator*=(const Formula& other);
    Formula& operator/=(const Formula& other);

private:
    friend class FormulaPool;
    Formula(std::uint32_t id, int) : id_(id) {}

    double value_ = 0.0;
    std::uint32_t id_ = 0;
};

Formula operator+(const Formula& a, const Formula& b);
Formula operator-(const Formula& a, const Formula& b);
Formula operator*(const Formula& a, const Formula& b);
/// Exact when `b` is one monomial; otherwise `b` becomes an opaque factor with exponent -1.
/// Division by the constant 0 gives an infinite or undefined constant factor, as with double.
Formula operator/(const Formula& a, const Formula& b);
Formula operator-(const Formula& a);

Formula max(const Formula& a, const Formula& b);
Formula min(const Formula& a, const Formula& b);
/// Least integer not below; the identity where the argument is provably an integer. Like the
/// overload for double it takes a value within 4e-15 (relative) of an integer for that integer:
/// 15 * 0.2 is 3 tiles, whichever way the quotient was rounded.
Formula ceil(const Formula& a);

// The same names for plain numbers, so that one template text serves both.
inline double max(double a, double b) {
    return a < b ? b : a;
}
inline double min(double a, double b) {
    return b < a ? b : a;
}
inline constexpr double ceil_slack = 4e-15;  ///< see ceil(const Formula&)
inline double ceil(double a) {
    const double nearest = std::rint(a);
    return std::abs(a - nearest) <= ceil_slack * std::abs(a) ? nearest : std::ceil(a);
}

/// Makes `pool` the pool of this thread while the scope lives; scopes nest.
class FormulaScope {
public:
    explicit FormulaScope(FormulaPool& pool);
    ~FormulaScope();
    FormulaScope(const FormulaScope&) = delete;
    FormulaScope& operator=(const FormulaScope&) = delete;

private:
    FormulaPool* previous_;
};

}  // namespace tessera::model
