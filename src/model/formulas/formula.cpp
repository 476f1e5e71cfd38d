#include "tessera/model/formula.hpp"

#include "tessera/model/formula_pool.hpp"

// The operators of the value type: constants are folded here, everything else is the pool's work.

namespace tessera::model {

Formula Formula::symbol(int index) {
    return FormulaPool::current().symbol(index);
}

Formula operator+(const Formula& a, const Formula& b) {
    if (a.is_constant() && b.is_constant()) {
        return Formula(a.constant_value() + b.constant_value());
    }
    return FormulaPool::current().add(a, b, 1.0);
}

Formula operator-(const Formula& a, const Formula& b) {
    if (a.is_constant() && b.is_constant()) {
        return Formula(a.constant_value() - b.constant_value());
    }
    return FormulaPool::current().add(a, b, -1.0);
}

Formula operator*(const Formula& a, const Formula& b) {
    if (a.is_constant() && b.is_constant()) {
        return Formula(a.constant_value() * b.constant_value());
    }
    return FormulaPool::current().multiply(a, b);
}

Formula operator/(const Formula& a, const Formula& b) {
    if (a.is_constant() && b.is_constant()) {
        return Formula(a.constant_value() / b.constant_value());
    }
    return FormulaPool::current().divide(a, b);
}

Formula operator-(const Formula& a) {
    return Formula(0.0) - a;
}

Formula& Formula::operator+=(const Formula& other) {
    return *this = *this + other;
}
Formula& Formula::operator-=(const Formula& other) {
    return *this = *this - other;
}
Formula& Formula::operator*=(const Formula& other) {
    return *this = *this * other;
}
Formula& Formula::operator/=(const Formula& other) {
    return *this = *this / other;
}

Formula max(const Formula& a, const Formula& b) {
    if (a.is_constant() && b.is_constant()) {
        return Formula(max(a.constant_value(), b.constant_value()));
    }
    return FormulaPool::current().max(a, b);
}

Formula min(const Formula& a, const Formula& b) {
    if (a.is_constant() && b.is_constant()) {
        return Formula(min(a.constant_value(), b.constant_value()));
    }
    return FormulaPool::current().min(a, b);
}

Formula ceil(const Formula& a) {
    if (a.is_constant()) {
        return Formula(model::ceil(a.constant_value()));
    }
    return FormulaPool::current().ceil(a);
}

Formula leading(const Formula& count, const Formula& period, const Formula& own) {
    if (count.is_constant() && period.is_constant() && own.is_constant()) {
        return Formula(
            leading(count.constant_value(), period.constant_value(), own.constant_value()));
    }
    return FormulaPool::current().leading(count, period, own);
}

}  // namespace tessera::model
