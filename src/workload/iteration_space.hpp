#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workload/affine.hpp"

namespace tessera::workload {

/// `affine >= 0`.
struct Constraint {
    Affine affine;
    Place place;
    std::string text;
};

/// The integer points that meet all constraints of one Einsum, seen as their bounding box.
class IterationSpace {
public:
    explicit IterationSpace(const spec::Symbols& variables) : variables_(variables) {}

    /// 0 <= affine < size.
    void add_rank(const Affine& affine, std::int64_t size, const Place& place);
    /// Text such as "0 <= m < 128" or "0 <= r < 3 and 0 <= s < 3". \throws UserError
    void add_text(const std::string& text, const Place& place);

    struct Bounds {
        std::optional<std::int64_t> lowest, highest;
        const Constraint* limit = nullptr;  ///< what sets `highest`
    };
    /// One entry per variable of `names`. \throws UserError if no point is left.
    /// The box comes from interval propagation: exact when all coefficients are positive,
    /// otherwise never too small.
    std::vector<Bounds> box(const std::vector<std::string>& names) const;

private:
    void add_comparison(const std::string& op, const Affine& left, const Affine& right,
                        const Place& place, const std::string& text);
    void add_tree(const spec::Ast& ast, const Place& place, const std::string& text);

    const spec::Symbols& variables_;
    std::vector<Constraint> constraints_;
};

}  // namespace tessera::workload
