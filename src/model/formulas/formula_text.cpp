#include <cstdio>

#include "tessera/model/formula_pool.hpp"

namespace tessera::model {

namespace {

void append(const FormulaPool& pool, const Formula& f, std::string& out);

void append_list(const FormulaPool& pool, std::span<const Formula> list, std::string& out) {
    for (std::size_t i = 0; i < list.size(); ++i) {
        out += i ? ", " : "(";
        append(pool, list[i], out);
    }
    out += ")";
}

void append_number(double value, std::string& out) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", value);
    double back = 0.0;
    for (int digits = 1; digits < 17; ++digits) {
        char shorter[32];
        std::snprintf(shorter, sizeof shorter, "%.*g", digits, value);
        if (std::sscanf(shorter, "%lf", &back) == 1 && back == value) {
            out += shorter;
            return;
        }
    }
    out += text;
}

void append_power(int exponent, std::string& out) {
    if (exponent != 1) {
        out += "^" + std::to_string(exponent);
    }
}

void append_monomial(const FormulaPool& pool, const Monomial& m, std::string& out) {
    static constexpr const char* kNames[] = {"ceil", "min", "max", "", "leading"};
    for (const int s : m.own_symbols()) {
        out += "*s" + std::to_string(s);
        append_power(m.exponents.get(s), out);
    }
    for (const AtomPower& p : pool.atom_powers(m)) {
        const Atom& atom = pool.atom(p.atom);
        out += std::string("*") + kNames[static_cast<int>(atom.kind)];
        append_list(pool, atom.arguments, out);
        append_power(p.exponent, out);
    }
}

void append(const FormulaPool& pool, const Formula& f, std::string& out) {
    if (f.is_constant()) {
        append_number(f.constant_value(), out);
        return;
    }
    if (pool.is_max(f)) {
        out += "max";
        append_list(pool, pool.branches(f), out);
        return;
    }
    bool first = true;
    for (const Term& term : pool.terms(f)) {
        out += first ? "" : " + ";
        first = false;
        append_number(term.coefficient, out);
        append_monomial(pool, pool.monomial(term.monomial), out);
    }
}

}  // namespace

std::string Formula::to_string() const {
    std::string out;
    if (id_ == 0) {
        append_number(value_, out);
    } else {
        append(FormulaPool::current(), *this, out);
    }
    return out;
}

}  // namespace tessera::model
