// What the tables hold, and how strategies see it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "search/other_space.hpp"
#include "search/space_data.hpp"
#include "tessera/search/tables.hpp"

namespace tessera::search {

/// Pmappings of an Einsum that other Einsums see alike.
struct CompatibilityGroup {
    int structure = 0;                ///< index into EinsumData::structures
    std::vector<std::int64_t> trips;  ///< of the running fused loops, outermost first
    std::uint32_t first = 0;          ///< into EinsumRows::rows
    std::uint32_t rows = 0;
    /// What a question for one of its rows is charged: rows looked at to make the group for each of
    /// its rows, as a share of all that were looked at.
    double charge = 0;
};

struct TableRow {
    std::uint32_t tmpl = 0;
    std::size_t tiles = 0;  ///< where they begin in EinsumRows::tiles
    double cost = 0;        ///< product of what rows are compared by
};

struct EinsumRows {
    std::vector<CompatibilityGroup> groups;  ///< by structure, then trip counts
    std::vector<TableRow> rows;              ///< group by group, cheapest first
    std::vector<std::int64_t> tiles;
    std::vector<std::uint32_t> begin;  ///< by structure: its first group; then the end
};

/// One tile shape, the row, for each Einsum.
class TableSpace final : public Space, public VectorSpace, public PartialSpace {
public:
    explicit TableSpace(const OpenSpace& of) : of_(of) {}

    std::uint32_t n_einsums() const override {
        return static_cast<std::uint32_t>(einsums.size());
    }
    std::uint32_t n_templates(std::uint32_t einsum) const override {
        return static_cast<std::uint32_t>(einsums[einsum].groups.size());
    }
    /// \throws UserError: rows of one group are of several
    const mapspace::Template& tmpl(std::uint32_t einsum, std::uint32_t index) const override;
    std::unique_ptr<Enumerator> enumerate() const override;

    const std::vector<std::string>& numbers() const override {
        return names;
    }
    std::size_t n_bounds() const override {
        return 0;
    }
    void to_numbers(const Point& point, std::span<float> numbers) const override;
    void from_numbers(std::span<const float> numbers, Point& point) const override;
    Point any_point() const override;
    std::unique_ptr<PartialPoint> partial() const override;

    /// One group and one row for each Einsum, all of which there are.
    bool has(const Point& point) const;
    const OpenSpace::Data& data() const {
        return of_.data();
    }
    const CompatibilityGroup& group(std::size_t einsum, std::uint32_t index) const {
        return einsums[einsum].groups[index];
    }
    const TableRow& row(std::size_t einsum, std::uint32_t group, std::int64_t row) const {
        const EinsumRows& own = einsums[einsum];
        return own.rows[own.groups[group].first + static_cast<std::uint32_t>(row)];
    }
    /// \pre has(rows)
    void translate(const Point& rows, Point& point) const;

    std::vector<EinsumRows> einsums;
    std::vector<std::string> names;

private:
    const OpenSpace& of_;
};

struct Tables::Data {
    explicit Data(const OpenSpace& of) : space(of) {}

    TableSpace space;
    std::uint64_t rows = 0;
};

}  // namespace tessera::search
