#pragma once

// Many formulas compiled together to flat code: no tree walk, no branch per row.
//
// A program runs over registers of kBlockRows numbers each (structure of arrays). Common products
// and sub-formulas are computed once. Terms are collected by denominator and divided once, so that
// quotients of whole numbers stay whole:  sum_D (sum_i c_i * N_i) / D.
//
// The block path and the scalar path execute the same operations in the same order per row: their
// results are bit-identical and do not depend on the position of a row in a block.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tessera/model/formula_pool.hpp"

namespace tessera::model {

/// Scratch memory of one thread; reused by any number of programs.
class FormulaWorkspace {
public:
    /// Room for `registers` registers of one block; contents undefined.
    double* reserve(std::size_t registers);

private:
    std::vector<double> memory_;
};

/// Immutable after `compile`; may be shared by threads, each with its own workspace.
class CompiledFormulas {
public:
    /// Few enough for the registers of one program to stay in a first-level cache.
    static constexpr std::size_t kBlockRows = 64;

    /// Of the instructions: as they come needs few registers, which is best for blocks. Those of
    /// one kind after each other, as far as possible, are twice as fast row by row.
    enum class Order : std::uint8_t { as_they_come, by_kind };

    CompiledFormulas() = default;
    CompiledFormulas(const FormulaPool& pool, std::span<const Formula> formulas) {
        compile(pool, formulas);
    }

    /// Replaces the program; keeps the memory. The formulas may be forgotten afterwards. The order
    /// changes no bit of the results. \throws UserError if a program has more than 65000
    /// instructions
    void compile(const FormulaPool& pool, std::span<const Formula> formulas,
                 Order order = Order::as_they_come);

    std::size_t output_count() const {
        return outputs_.size();
    }
    SymbolSet symbols_read() const {
        return symbols_read_;
    }

    /// outputs[k][row] = formula k at (columns[0][row], columns[1][row], ...). Columns of symbols
    /// that are not read may be null.
    void evaluate(std::span<const double* const> columns, std::size_t rows,
                  std::span<double* const> outputs, FormulaWorkspace& workspace) const;

    /// One row.
    void evaluate_one(std::span<const double> symbols, std::span<double> outputs,
                      FormulaWorkspace& workspace) const;

    // ---- one block in place, for callers that produce rows block by block ----
    /// Registers of a block: fill register `s` (kBlockRows numbers) for every symbol read, `run`,
    /// then read register output_register(k).
    double* block(FormulaWorkspace& workspace) const {
        return workspace.reserve(registers_);
    }
    void run(double* block, std::size_t rows) const;
    std::size_t output_register(std::size_t k) const {
        return outputs_[k];
    }

private:
    friend class FormulaCompiler;
    enum class Op : std::uint16_t;
    struct Instruction {
        Op op;
        std::uint16_t target = 0;
        std::uint16_t a = 0;
        std::uint16_t b = 0;
        double constant = 0.0;
    };
    struct Kernels;

    std::vector<Instruction> code_;
    std::vector<std::uint16_t> outputs_;
    std::size_t registers_ = 0;
    SymbolSet symbols_read_;
};

}  // namespace tessera::model
