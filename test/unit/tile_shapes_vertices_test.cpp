#include <boost/test/unit_test.hpp>
#include <random>
#include <vector>

#include "mapspace/bounds/tile_shapes_bounds.hpp"

// Bounds of sums with negative terms, as halos make them: never above the least completion, and
// close to it where term-by-term comparison proves nothing.

using namespace tessera;
using mapspace::ChainBounds;
using mapspace::TileShapeSymbol;
using model::Formula;

namespace {

/// Two symbols per rank variable (outer, inner): p 0 1, r 2 3, q 4 5, s 6 7.
std::vector<TileShapeSymbol> convolution(std::int64_t image, std::int64_t filter) {
    std::vector<TileShapeSymbol> out;
    for (const std::int64_t bound : {image, filter, image, filter}) {
        const int first = static_cast<int>(out.size());
        TileShapeSymbol outer, inner;
        outer.bound = inner.bound = bound;
        outer.inner = first + 1;
        inner.outer = first;
        out.push_back(outer);
        out.push_back(inner);
    }
    return out;
}

Formula sym(int i) {
    return Formula::symbol(i);
}

/// Fetches of an input tile per output: (p + r - 1) / (p r) for each of both dimensions.
Formula halo(int p, int r, int q, int s) {
    return (1.0 / sym(r) + 1.0 / sym(p) - 1.0 / (sym(p) * sym(r))) *
           (1.0 / sym(s) + 1.0 / sym(q) - 1.0 / (sym(q) * sym(s)));
}

/// Calls `visit` for all legal assignments.
template <class Visit>
void for_all(const std::vector<TileShapeSymbol>& symbols, std::vector<double>& values,
             std::size_t at, const Visit& visit) {
    if (at == symbols.size()) {
        visit();
        return;
    }
    const int outer = symbols[at].outer;
    const auto limit = outer < 0
                           ? symbols[at].bound
                           : static_cast<std::int64_t>(values[static_cast<std::size_t>(outer)]);
    for (std::int64_t v = 1; v <= limit; ++v) {
        if (limit % v == 0) {
            values[at] = static_cast<double>(v);
            for_all(symbols, values, at + 1, visit);
        }
    }
}

struct Pool {
    model::FormulaPool pool;
    model::FormulaScope scope{pool};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(tile_shapes_vertices)

BOOST_AUTO_TEST_CASE(a_halo_is_bounded_by_its_least_value) {
    Pool use;
    const std::vector<TileShapeSymbol> symbols = convolution(16, 3);
    const Formula f = halo(0, 2, 4, 6);
    ChainBounds bounds(use.pool, symbols);
    // Whole image and whole filter: (16 + 3 - 1) / (16 * 3), squared.
    const double least = (18.0 / 48.0) * (18.0 / 48.0);
    BOOST_TEST(bounds.never_above(f, {}).constant_value() == least,
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(bounds.never_below(f, {}).constant_value() == 1.0,
               boost::test_tools::tolerance(1e-12));
    ChainBounds term_by_term(use.pool, symbols, false);
    BOOST_TEST(term_by_term.never_above(f, {}).constant_value() < 0.0);
}

BOOST_AUTO_TEST_CASE(two_halos_and_a_product_against_them_are_bounded_part_by_part) {
    Pool use;
    const std::vector<TileShapeSymbol> symbols = convolution(16, 3);
    const Formula f = 3.0 * halo(0, 2, 4, 6) + 2.0 * halo(1, 3, 5, 7) + 0.01 * sym(0) * sym(4);
    ChainBounds bounds(use.pool, symbols);
    const double least = 5.0 * (18.0 / 48.0) * (18.0 / 48.0);
    BOOST_TEST(bounds.never_above(f, {}).constant_value() >= least);
}

BOOST_AUTO_TEST_CASE(no_completion_is_outside_the_bounds) {
    std::mt19937_64 random(5);
    std::size_t compared = 0;
    for (int round = 0; round < 40; ++round) {
        Pool use;
        const std::vector<TileShapeSymbol> symbols = convolution(round % 2 == 0 ? 4 : 6, 3);
        const auto pick = [&](int v) { return 2 * v + static_cast<int>(random() % 2); };
        const auto weight = [&] { return static_cast<double>(random() % 7) / 2.0 - 0.5; };
        Formula f(weight());
        for (int part = 0; part < 3; ++part) {
            f += weight() * halo(pick(0), pick(1), pick(2), pick(3));
            f += weight() * (sym(pick(0)) + sym(pick(1)) - 1.0) / sym(pick(2));
        }
        tessera::model::SymbolSet known;
        known.set_byte(0, random() % 256);
        ChainBounds bounds(use.pool, symbols);
        const Formula low = bounds.never_above(f, known);
        const Formula high = bounds.never_below(f, known);
        std::vector<double> values(symbols.size(), 1.0);
        bool inside = true;
        for_all(symbols, values, 0, [&] {
            const double v = f.value(values);
            inside = inside && low.value(values) <= v + 1e-9 && high.value(values) >= v - 1e-9;
            ++compared;
        });
        BOOST_TEST(inside, "round " << round);
    }
    BOOST_TEST(compared > 10000u);
}

BOOST_AUTO_TEST_SUITE_END()
