#include <algorithm>
#include <cstring>

#include "formula_program.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/model/compiled_formulas.hpp"

// Execution of compiled formulas. One text for lanes of width 1 and 4; on x86 the latter is also
// compiled for AVX2 and chosen at run time. Neither uses fused multiply-add, so every build and
// every path gives the same bits.

namespace tessera::model {

namespace {

using Lane = double;
using Lanes = double __attribute__((vector_size(32), aligned(32), may_alias));

inline void spread(double c, Lane& all) {
    all = c;
}
inline void spread(double c, Lanes& all) {
    all = Lanes{c, c, c, c};
}

inline void ceil_lanes(double& x) {
    x = ceil(x);
}

/// The same numbers as ceil(double): where numbers are below 2^51, the sum with 1.5 * 2^52 is
/// rounded to the nearest whole number.
inline void ceil_lanes(Lanes& x) {
    constexpr double shift = 6755399441055744.0, most = 2251799813685248.0;
    const Lanes size = x < 0.0 ? -x : x;
    const auto small = size < most;
    if ((small[0] & small[1] & small[2] & small[3]) == 0) {
        for (int i = 0; i < 4; ++i) {
            x[i] = ceil(static_cast<double>(x[i]));
        }
        return;
    }
    const Lanes nearest = (x + shift) - shift;
    const Lanes off = x - nearest;
    const Lanes distance = off < 0.0 ? -off : off;
    const Lanes above = off > 0.0 ? nearest + 1.0 : nearest;
    x = distance <= ceil_slack * size ? nearest : above;
}

}  // namespace

struct CompiledFormulas::Kernels {
    /// `result(t, a, b, c)` of this instruction and of those of its kind that follow it.
    template <class V, class Result>
    [[gnu::always_inline]] static inline void each(const Instruction*& i, const Instruction* end,
                                                   double* memory, std::size_t groups,
                                                   std::size_t stride, Result result) {
        const auto at = [&](std::uint16_t r) {
            return reinterpret_cast<V*>(memory + static_cast<std::size_t>(r) * stride);
        };
        const Op op = i->op;
        do {
            V* t = at(i->target);
            const V* a = at(i->a);
            const V* b = at(i->b);
            V c;
            spread(i->constant, c);
            for (std::size_t g = 0; g < groups; ++g) {
                result(t[g], a[g], b[g], c);
            }
            ++i;
        } while (i != end && i->op == op);
    }

    template <class V>
    [[gnu::always_inline]] static inline void run(const Instruction* i, std::size_t length,
                                                  double* memory, std::size_t groups,
                                                  std::size_t stride) {
        const Instruction* const end = i + length;
        const auto each = [&](auto result) {
            Kernels::each<V>(i, end, memory, groups, stride, result);
        };
        while (i != end) {
            switch (i->op) {
                case Op::constant:
                    each([](V& t, const V&, const V&, const V& c) { t = c; });
                    break;
                case Op::multiply:
                    each([](V& t, const V& a, const V& b, const V&) { t = a * b; });
                    break;
                case Op::scale:
                    each([](V& t, const V& a, const V&, const V& c) { t = c * a; });
                    break;
                case Op::add_scaled:
                    each([](V& t, const V& a, const V& b, const V& c) { t = b + c * a; });
                    break;
                case Op::add_constant:
                    each([](V& t, const V& a, const V&, const V& c) { t = a + c; });
                    break;
                case Op::add:
                    each([](V& t, const V& a, const V& b, const V&) { t = a + b; });
                    break;
                case Op::divide:
                    each([](V& t, const V& a, const V& b, const V&) { t = a / b; });
                    break;
                case Op::divide_constant:
                    each([](V& t, const V& a, const V&, const V& c) { t = c / a; });
                    break;
                case Op::max:
                    each([](V& t, const V& a, const V& b, const V&) { t = a < b ? b : a; });
                    break;
                case Op::max_constant:
                    each([](V& t, const V& a, const V&, const V& c) { t = a < c ? c : a; });
                    break;
                case Op::min:
                    each([](V& t, const V& a, const V& b, const V&) { t = b < a ? b : a; });
                    break;
                case Op::min_constant:
                    each([](V& t, const V& a, const V&, const V& c) { t = c < a ? c : a; });
                    break;
                case Op::ceil:
                    each([](V& t, const V& a, const V&, const V&) {
                        V x = a;
                        ceil_lanes(x);
                        t = x;
                    });
                    break;
            }
        }
    }

    [[gnu::flatten]] static void run_plain(const Instruction* code, std::size_t length,
                                           double* memory, std::size_t groups) {
        run<Lanes>(code, length, memory, groups, kBlockRows);
    }

#if defined(__x86_64__)
    [[gnu::target("avx2"), gnu::flatten]] static void run_avx2(const Instruction* code,
                                                               std::size_t length, double* memory,
                                                               std::size_t groups) {
        run<Lanes>(code, length, memory, groups, kBlockRows);
    }
#endif

    using Run = void (*)(const Instruction*, std::size_t, double*, std::size_t);

    static Run choose() {
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx2")) {
            return run_avx2;
        }
#endif
        return run_plain;
    }
};

double* FormulaWorkspace::reserve(std::size_t registers) {
    const std::size_t needed = registers * CompiledFormulas::kBlockRows + 4;
    if (memory_.size() < needed) {
        memory_.resize(needed);
    }
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    return memory_.data() + ((32 - address % 32) % 32) / sizeof(double);
}

void CompiledFormulas::run(double* block, std::size_t rows) const {
    static const Kernels::Run kernel = Kernels::choose();
    kernel(code_.data(), code_.size(), block, (rows + 3) / 4);
}

void CompiledFormulas::evaluate(std::span<const double* const> columns, std::size_t rows,
                                std::span<double* const> outputs,
                                FormulaWorkspace& workspace) const {
    double* registers = block(workspace);
    for (std::size_t begin = 0; begin < rows; begin += kBlockRows) {
        const std::size_t count = std::min(kBlockRows, rows - begin);
        base::poll_stop();
        for (std::size_t s = 0; s < columns.size(); ++s) {
            if (symbols_read_.has(static_cast<int>(s))) {
                std::memcpy(registers + s * kBlockRows, columns[s] + begin, count * sizeof(double));
            }
        }
        run(registers, count);
        for (std::size_t k = 0; k < outputs.size(); ++k) {
            std::memcpy(outputs[k] + begin, registers + outputs_[k] * kBlockRows,
                        count * sizeof(double));
        }
    }
}

[[gnu::flatten]] void CompiledFormulas::evaluate_one(std::span<const double> symbols,
                                                     std::span<double> outputs,
                                                     FormulaWorkspace& workspace) const {
    double* registers = block(workspace);
    // All of them up to the last that is read: no other register lies between.
    const auto read = static_cast<std::size_t>(symbols_read_.end_symbol());
    std::copy_n(symbols.begin(), std::min(symbols.size(), read), registers);
    Kernels::run<Lane>(code_.data(), code_.size(), registers, 1, 1);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
        outputs[k] = registers[outputs_[k]];
    }
}

}  // namespace tessera::model
