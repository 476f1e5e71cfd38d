// A square matrix with values at most so far from its diagonal. Tiles are counted where the matrix
// is divided into them: rows of tiles at either end of the band, and one row that stands for those
// between.
#include <algorithm>
#include <cmath>
#include <map>

#include "sparsity/density.hpp"

namespace tessera::sparsity {

namespace {

/// Half open.
struct Block {
    std::int64_t row = 0, rows_end = 0, column = 0, columns_end = 0;
};

class Banded : public Density {
public:
    Banded(std::int64_t width, const Tile& tensor) : width_(width), side_(tensor[0]) {
        std::uint64_t values = static_cast<std::uint64_t>(side_);
        for (std::int64_t off = 1; off <= width; ++off) {
            values += static_cast<std::uint64_t>(side_ - off) * 2;
        }
        density_ = static_cast<double>(values) / static_cast<double>(points_of(tensor));
    }

    std::uint64_t most_values(const Tile& tile) const override {
        return points_of(tile) == 0 ? 0 : table(tile).rbegin()->first;
    }
    std::uint64_t most_values_of(std::uint64_t points) const override {
        return std::min(points, static_cast<std::uint64_t>(width_) * 2 + 1);
    }
    double least_density(const Tile& tile) const override {
        const auto points = static_cast<double>(points_of(tile));
        return points == 0 ? 0 : static_cast<double>(table(tile).begin()->first) / points;
    }
    double expected_values(const Tile& tile) const override {
        return static_cast<double>(points_of(tile)) * density_;
    }
    double probability(const Tile& tile, std::uint64_t values, const Known* inside) const override {
        if (points_of(tile) == 0) {
            return values == 0 ? 1 : 0;
        }
        if (inside != nullptr) {
            return empty_share(tile, example(*inside));
        }
        const std::map<std::uint64_t, double> known = table(tile);
        const auto found = known.find(values);
        return found == known.end() ? 0 : found->second;
    }
    std::vector<double> probabilities(const Tile& tile, std::uint64_t least,
                                      std::uint64_t most) const override {
        std::vector<double> result(most < least ? 0 : most - least + 1);
        if (points_of(tile) == 0) {
            return Density::probabilities(tile, least, most);
        }
        for (const auto& [values, share] : table(tile)) {
            if (values >= least && values <= most) {
                result[values - least] = share;
            }
        }
        return result;
    }
    std::uint64_t most_elements(const Tile& fiber, const Tile& element) const override {
        const std::uint64_t whole = points_of(fiber), part = points_of(element);
        if (part == 0 || whole % part != 0) {
            return Density::most_elements(fiber, element);  // which complains
        }
        const Known full{fiber, whole, most_values(fiber)};
        // Of those that are empty: Sparseloop's.
        return static_cast<std::uint64_t>(
            std::ceil(static_cast<double>(whole / part) * probability(element, 0, &full)));
    }

private:
    std::uint64_t values_in(const Block& block) const {
        std::uint64_t values = 0;
        for (std::int64_t row = block.row; row < block.rows_end; ++row) {
            const std::int64_t first =
                std::max(block.column, std::max<std::int64_t>(row - width_, 0));
            const std::int64_t end = std::min(block.columns_end, row + width_ + 1);
            values += first < end ? static_cast<std::uint64_t>(end - first) : 0;
        }
        return values;
    }

    std::int64_t ends(const Tile& tile) const {
        return static_cast<std::int64_t>(
            std::ceil(static_cast<double>(width_) / static_cast<double>(tile[0])));
    }

    /// Calls visit(row and column of tiles, block, beyond) up to the first tile beyond the band
    /// in every row of tiles that is looked at; what it returns ends the walk.
    template <class Visit>
    void walk(const Tile& tile, const Visit& visit) const {
        const std::int64_t rows = side_ / tile[0], columns = side_ / tile[1];
        for (std::int64_t r = 0; r < ends(tile) + 1 && r < rows; ++r) {
            const std::int64_t row = r * tile[0];
            for (std::int64_t c = 0; c < columns; ++c) {
                const std::int64_t column = c * tile[1];
                const bool beyond = column > row + tile[0] - 1 + width_;
                const Block block{row, row + tile[0], column, column + tile[1]};
                if (visit(r, c, block, beyond)) {
                    return;
                }
                if (beyond) {
                    break;
                }
            }
        }
    }

    std::map<std::uint64_t, double> table(const Tile& tile) const {
        const std::int64_t rows = side_ / tile[0], columns = side_ / tile[1], at_end = ends(tile);
        const std::int64_t between = std::max<std::int64_t>(rows - 2 * at_end, 0);
        std::map<std::uint64_t, std::int64_t> counts;
        counts[0] = 0;
        walk(tile, [&](std::int64_t r, std::int64_t c, const Block& block, bool beyond) {
            const std::int64_t times = r >= at_end ? between : at_end != rows ? 2 : 1;
            counts[beyond ? 0 : values_in(block)] += (beyond ? columns - c : 1) * times;
            return false;
        });
        std::map<std::uint64_t, double> shares;
        for (const auto& [values, count] : counts) {
            shares[values] = static_cast<double>(count) / static_cast<double>(rows * columns);
        }
        return shares;
    }

    void check_divides(const Tile& tile) const {
        for (const std::int64_t extent : tile) {
            if (side_ % extent != 0) {
                throw Unanswerable("tiles of " + std::to_string(extent) +
                                   " do not divide a banded matrix of " + std::to_string(side_));
            }
        }
    }

    /// The first tile that holds so many values.
    Block example(const Known& known) const {
        check_divides(known.tile);
        Block result;
        bool found = false;
        walk(known.tile, [&](std::int64_t, std::int64_t, const Block& block, bool beyond) {
            found = (beyond ? 0 : values_in(block)) == known.values;
            result = block;
            return found;
        });
        if (!found) {
            throw Unanswerable("no tile of a banded matrix holds " + std::to_string(known.values) +
                               " values");
        }
        return result;
    }

    /// Share of empty tiles in a block. Its first row counts twice: Sparseloop's.
    double empty_share(const Tile& tile, const Block& inside) const {
        if (inside.row == inside.rows_end || inside.column == inside.columns_end) {
            return 1;
        }
        check_divides(tile);
        const std::int64_t columns = (inside.columns_end - inside.column) / tile[1];
        const std::int64_t rows = (inside.rows_end - inside.row) / tile[0];
        std::uint64_t empty = 0;
        for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t c = 0; c < columns; ++c) {
                const std::int64_t row = inside.row + r * tile[0];
                const std::int64_t column = inside.column + c * tile[1];
                empty += values_in({inside.row + row, tile[0] + row, inside.column + column,
                                    tile[1] + column}) == 0;
            }
        }
        return static_cast<double>(empty) / static_cast<double>(rows * columns);
    }

    std::int64_t width_, side_;
    double density_ = 0;
};

}  // namespace

std::unique_ptr<const Density> make_banded(std::int64_t band_width, const Tile& tensor) {
    if (tensor.size() != 2 || tensor[0] != tensor[1]) {
        throw Unanswerable("only square matrices can be banded");
    }
    return std::make_unique<Banded>(band_width, tensor);
}

}  // namespace tessera::sparsity
