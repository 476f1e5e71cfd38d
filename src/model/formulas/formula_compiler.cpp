#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "formula_program.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/hash.hpp"

// From formulas to flat code in three steps: emit instructions over as many virtual registers as
// there are results, order them, then give physical registers by last use. Register s < symbols is
// symbol s, register symbols + i the result of instruction i.

namespace tessera::model {

namespace {

constexpr std::uint16_t kNone = 0xffff;

}  // namespace

class FormulaCompiler {
public:
    using Op = CompiledFormulas::Op;
    using Order = CompiledFormulas::Order;

    void compile(const FormulaPool& pool, CompiledFormulas& program,
                 std::span<const Formula> formulas, Order order) {
        pool_ = &pool;
        program_ = &program;
        known_.assign(known_.size(), kNone);
        nodes_.clear();
        atoms_.clear();
        parts_.clear();
        compile(formulas);
        if (order == Order::by_kind) {
            order_by_kind();
        }
        assign_registers();
    }

private:
    void compile(std::span<const Formula> formulas) {
        SymbolSet mask;
        for (const Formula& f : formulas) {
            mask |= pool_->mask(f);
        }
        program_->symbols_read_ = mask;
        symbols_ = static_cast<std::uint16_t>(mask.end_symbol());
        next_ = symbols_;
        program_->code_.clear();
        program_->outputs_.clear();
        for (const Formula& f : formulas) {
            program_->outputs_.push_back(formula(f));
        }
    }

    struct Known {
        std::uint32_t id;
        std::uint16_t place;
    };
    struct Part {
        std::uint16_t over;
        std::uint16_t under;
        double coefficient;
        bool done;
    };

    /// An instruction that is there already gives its result again.
    std::uint16_t emit(Op op, std::uint16_t a = 0, std::uint16_t b = 0, double constant = 0.0) {
        auto& code = program_->code_;
        if (2 * (code.size() + 1) > known_.size()) {
            known_.assign(std::max<std::size_t>(2 * known_.size(), 1024), kNone);
            for (std::uint16_t i = 0; i < code.size(); ++i) {
                known_[find(code[i])] = i;
            }
        }
        const CompiledFormulas::Instruction wanted{op, next_, a, b, constant};
        std::uint16_t& slot = known_[find(wanted)];
        if (slot != kNone) {
            return code[slot].target;
        }
        if (next_ == kNone) {
            throw UserError(
                "the costs of one Einsum take more than 65000 steps to compute; take components "
                "out of the architecture");
        }
        slot = static_cast<std::uint16_t>(code.size());
        code.push_back(wanted);
        return next_++;
    }

    /// Where `known_` has the instruction with this result, or has room for it.
    std::size_t find(const CompiledFormulas::Instruction& wanted) const {
        const auto constant = std::bit_cast<std::uint64_t>(wanted.constant);
        std::uint64_t hash = static_cast<std::uint64_t>(wanted.op) << 32 |
                             static_cast<std::uint64_t>(wanted.a) << 16 | wanted.b;
        hash = base::mix(hash ^ base::mix(constant));
        for (std::size_t at = hash;; ++at) {
            at &= known_.size() - 1;
            if (known_[at] == kNone) {
                return at;
            }
            const CompiledFormulas::Instruction& i = program_->code_[known_[at]];
            if (i.op == wanted.op && i.a == wanted.a && i.b == wanted.b &&
                std::bit_cast<std::uint64_t>(i.constant) == constant) {
                return at;
            }
        }
    }

    std::uint16_t formula(const Formula& f) {
        if (f.is_constant()) {
            return emit(Op::constant, 0, 0, f.constant_value());
        }
        for (const Known& k : nodes_) {
            if (k.id == f.node()) {
                return k.place;
            }
        }
        const std::uint16_t place = pool_->is_max(f)
                                        ? extremum(pool_->branches(f), Op::max, Op::max_constant)
                                        : polynomial(pool_->terms(f));
        nodes_.push_back({f.node(), place});
        return place;
    }

    std::uint16_t extremum(std::span<const Formula> list, Op op, Op with_constant) {
        std::uint16_t place = kNone;
        for (const Formula& f : list) {
            if (!f.is_constant()) {
                const std::uint16_t next = formula(f);
                place = place == kNone ? next : emit(op, place, next);
            }
        }
        for (const Formula& f : list) {
            if (f.is_constant()) {
                place =
                    place == kNone ? formula(f) : emit(with_constant, place, 0, f.constant_value());
            }
        }
        return place;
    }

    std::uint16_t atom(AtomId id) {
        for (const Known& k : atoms_) {
            if (k.id == id) {
                return k.place;
            }
        }
        const Atom& atom = pool_->atom(id);
        std::uint16_t place = kNone;
        switch (atom.kind) {
            case AtomKind::ceil:
                place = emit(Op::ceil, formula(atom.arguments[0]));
                break;
            case AtomKind::min:
                place = extremum(atom.arguments, Op::min, Op::min_constant);
                break;
            case AtomKind::max:
                place = extremum(atom.arguments, Op::max, Op::max_constant);
                break;
            case AtomKind::sum:
                place = formula(atom.arguments[0]);
                break;
            case AtomKind::leading:
                place = leading(atom);
                break;
        }
        atoms_.push_back({id, place});
        return place;
    }

    /// min(iterations own, count - (iterations - 1) (period - own)); where own = period, both
    /// are count or the first is more.
    std::uint16_t leading(const Atom& atom) {
        const std::vector<Formula> arguments = atom.arguments;
        const std::uint16_t count = formula(arguments[0]);
        const std::uint16_t period = formula(arguments[1]);
        const std::uint16_t own = formula(arguments[2]);
        const std::uint16_t iterations = emit(Op::ceil, emit(Op::divide, count, period));
        const std::uint16_t others = emit(Op::add_scaled, own, period, -1.0);
        const std::uint16_t before = emit(Op::add_constant, iterations, 0, -1.0);
        const std::uint16_t gone = emit(Op::multiply, before, others);
        return emit(Op::min, emit(Op::multiply, iterations, own),
                    emit(Op::add_scaled, gone, count, -1.0));
    }

    /// Product of the factors with positive (sign = 1) or negative (sign = -1) exponents, kNone if
    /// empty. Products that begin alike, in symbol order, share what they begin with.
    std::uint16_t product(const Monomial& m, int sign) {
        std::uint16_t place = kNone;
        const auto times = [&](std::uint16_t factor) {
            place = place == kNone ? factor : emit(Op::multiply, place, factor);
        };
        for (const int s : m.own_symbols()) {
            for (int k = 0; k < sign * m.exponents.get(s); ++k) {
                times(static_cast<std::uint16_t>(s));
            }
        }
        for (const AtomPower& p : pool_->atom_powers(m)) {
            for (int k = 0; k < sign * p.exponent; ++k) {
                times(atom(p.atom));
            }
        }
        return place;
    }

    std::uint16_t polynomial(std::span<const Term> terms) {
        // Groups by denominator, in order of first appearance. Atoms compile polynomials of their
        // own meanwhile: the places first, then the parts.
        const std::size_t first = parts_.size();
        for (const Term& term : terms) {
            const Monomial& m = pool_->monomial(term.monomial);
            const std::uint16_t over = product(m, 1);
            const std::uint16_t under = product(m, -1);
            parts_.push_back({over, under, term.coefficient, false});
        }
        std::uint16_t total = kNone;
        for (std::size_t i = first; i < parts_.size(); ++i) {
            if (parts_[i].done) {
                continue;
            }
            const std::uint16_t under = parts_[i].under;
            std::uint16_t sum = kNone;
            double constant = 0.0;
            for (std::size_t j = i; j < parts_.size(); ++j) {
                if (parts_[j].under != under) {
                    continue;
                }
                parts_[j].done = true;
                const double c = parts_[j].coefficient;
                if (parts_[j].over == kNone) {
                    constant += c;
                } else if (sum == kNone) {
                    sum = c == 1.0 ? parts_[j].over : emit(Op::scale, parts_[j].over, 0, c);
                } else {
                    sum = c == 1.0 ? emit(Op::add, sum, parts_[j].over)
                                   : emit(Op::add_scaled, parts_[j].over, sum, c);
                }
            }
            total = join(total, sum, constant, under);
        }
        parts_.resize(first);
        return total;
    }

    /// total + (sum + constant) / under, where any of the places may be absent.
    std::uint16_t join(std::uint16_t total, std::uint16_t sum, double constant,
                       std::uint16_t under) {
        if (sum == kNone && under == kNone) {
            return total == kNone ? emit(Op::constant, 0, 0, constant)
                                  : emit(Op::add_constant, total, 0, constant);
        }
        if (sum == kNone) {
            sum = emit(Op::divide_constant, under, 0, constant);
        } else {
            sum = constant == 0.0 ? sum : emit(Op::add_constant, sum, 0, constant);
            sum = under == kNone ? sum : emit(Op::divide, sum, under);
        }
        return total == kNone ? sum : emit(Op::add, total, sum);
    }

    static bool reads_b(Op op) {
        return op == Op::multiply || op == Op::add_scaled || op == Op::add || op == Op::divide ||
               op == Op::max || op == Op::min;
    }

    static bool reads_a(Op op) {
        return op != Op::constant;
    }

    /// Calls `use(register)` for the results of other instructions that one reads.
    template <class Use>
    void for_operands(const CompiledFormulas::Instruction& i, const Use& use) const {
        if (reads_a(i.op) && i.a >= symbols_) {
            use(i.a);
        }
        if (reads_b(i.op) && i.b >= symbols_) {
            use(i.b);
        }
    }

    /// Of all kinds of instructions the one goes on of which most are ready, as long as any is.
    void order_by_kind() {
        const auto code = program_->code_;
        // Who reads the result of instruction i: users[first[i]], ..., users[first[i + 1] - 1].
        std::vector<std::uint32_t> first(code.size() + 2, 0), users, missing(code.size(), 0);
        for (const auto& i : code) {
            for_operands(i, [&](std::uint16_t r) { ++first[r - symbols_ + 2]; });
        }
        std::partial_sum(first.begin(), first.end(), first.begin());
        users.resize(first.back());
        std::vector<std::vector<std::uint32_t>> ready(static_cast<std::size_t>(Op::ceil) + 1);
        for (std::uint32_t n = 0; n < code.size(); ++n) {
            for_operands(code[n], [&](std::uint16_t r) {
                users[first[r - symbols_ + 1]++] = n;
                ++missing[n];
            });
            if (missing[n] == 0) {
                ready[static_cast<std::size_t>(code[n].op)].push_back(n);
            }
        }
        program_->code_.clear();
        while (program_->code_.size() < code.size()) {
            std::vector<std::uint32_t>& most =
                *std::max_element(ready.begin(), ready.end(),
                                  [](const auto& a, const auto& b) { return a.size() < b.size(); });
            for (std::size_t k = 0; k < most.size(); ++k) {
                const std::uint32_t n = most[k];
                program_->code_.push_back(code[n]);
                for (std::uint32_t u = first[n]; u < first[n + 1]; ++u) {
                    if (--missing[users[u]] == 0) {
                        ready[static_cast<std::size_t>(code[users[u]].op)].push_back(users[u]);
                    }
                }
            }
            most.clear();
        }
    }

    void assign_registers() {
        auto& code = program_->code_;
        last_.assign(next_, 0);
        for (std::uint32_t i = 0; i < code.size(); ++i) {
            if (reads_a(code[i].op)) {
                last_[code[i].a] = i;
            }
            if (reads_b(code[i].op)) {
                last_[code[i].b] = i;
            }
        }
        for (const std::uint16_t output : program_->outputs_) {
            last_[output] = std::numeric_limits<std::uint32_t>::max();
        }
        physical_.resize(next_);
        free_.clear();
        std::uint16_t used = symbols_;
        for (std::uint16_t s = 0; s < symbols_; ++s) {
            physical_[s] = s;
        }
        for (std::uint32_t i = 0; i < code.size(); ++i) {
            auto& instruction = code[i];
            const std::uint16_t a = instruction.a;
            const std::uint16_t b = instruction.b;
            const bool has_a = reads_a(instruction.op);
            const bool has_b = reads_b(instruction.op);
            instruction.a = has_a ? physical_[a] : 0;
            instruction.b = has_b ? physical_[b] : 0;
            // A target may take the register of an operand that ends here: lanes are independent.
            if (has_a && a >= symbols_ && last_[a] == i) {
                free_.push_back(physical_[a]);
            }
            if (has_b && b >= symbols_ && b != a && last_[b] == i) {
                free_.push_back(physical_[b]);
            }
            if (free_.empty()) {
                free_.push_back(used++);
            }
            physical_[instruction.target] = free_.back();
            instruction.target = free_.back();
            free_.pop_back();
        }
        for (std::uint16_t& output : program_->outputs_) {
            output = physical_[output];
        }
        program_->registers_ = used;
    }

    const FormulaPool* pool_ = nullptr;
    CompiledFormulas* program_ = nullptr;
    std::uint16_t symbols_ = 0;
    std::uint16_t next_ = 0;
    std::vector<std::uint16_t> known_;  // instructions by content, an open hash table
    std::vector<Known> nodes_;
    std::vector<Known> atoms_;
    std::vector<Part> parts_;
    std::vector<std::uint32_t> last_;
    std::vector<std::uint16_t> physical_;
    std::vector<std::uint16_t> free_;
};

void CompiledFormulas::compile(const FormulaPool& pool, std::span<const Formula> formulas,
                               Order order) {
    static thread_local FormulaCompiler compiler;  // for its memory only
    compiler.compile(pool, *this, formulas, order);
}

}  // namespace tessera::model
