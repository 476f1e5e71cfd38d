#include <algorithm>

#include "tile_shapes_engine.hpp"

// Candidates that are not made.
//   combinations of fused tile shapes that are of no use: after every step the table is projected
//   onto the symbols known so far, and a candidate needs some completion in it;
//   pairs of symmetric variables that stand for a product for which another pair counts.

namespace tessera::mapspace {

using model::SymbolSet;

/// One filter per table that has the step's symbol.
void TileShapeEngine::prepare_filters(Step& step) {
    for (std::size_t t = 0; t < run_.allowed.size(); ++t) {
        const AllowedShapes& table = run_.allowed[t];
        const auto own = std::find(table.symbols.begin(), table.symbols.end(), step.symbol);
        if (own == table.symbols.end()) {
            continue;
        }
        TileShapeFilter filter;
        filter.table = static_cast<int>(t);
        filter.own = static_cast<int>(own - table.symbols.begin());
        const std::size_t n = table.symbols.size();
        std::vector<std::size_t> stride(n, 0);  // in the projection; unknown symbols: 0
        std::size_t size = 1;
        for (std::size_t k = n; k-- > 0;) {
            if (step.after.has(table.symbols[k])) {
                stride[k] = size;
                size *= table.values[k].size();
            }
        }
        filter.allowed.assign(size, 0);
        std::vector<std::size_t> digit(n, 0);
        std::size_t to = 0;
        for (const std::uint8_t allowed : table.allowed) {
            filter.allowed[to] |= allowed;
            for (std::size_t k = n; k-- > 0;) {  // the next combination
                to += stride[k];
                if (++digit[k] < table.values[k].size()) {
                    break;
                }
                to -= stride[k] * digit[k];
                digit[k] = 0;
            }
        }
        for (std::size_t k = 0; k < n; ++k) {
            if (static_cast<int>(k) != filter.own && stride[k] > 0) {
                filter.symbols.push_back(static_cast<int>(k));
                filter.strides.push_back(stride[k]);
            }
        }
        filter.own_stride = stride[static_cast<std::size_t>(filter.own)];
        step.filters.push_back(std::move(filter));
    }
}

/// Looks up what is known of the row at hand.
void TileShapeEngine::start_filters(const Step& step, const RowTable& in, Expansion& at) const {
    at.base.assign(step.filters.size(), 0);
    at.place.assign(step.filters.size(), 0);
    for (std::size_t f = 0; f < step.filters.size(); ++f) {
        const TileShapeFilter& filter = step.filters[f];
        const AllowedShapes& table = run_.allowed[static_cast<std::size_t>(filter.table)];
        for (std::size_t k = 0; k < filter.symbols.size(); ++k) {
            const auto place = static_cast<std::size_t>(filter.symbols[k]);
            const std::vector<double>& values = table.values[place];
            const double value = in.columns[table.symbols[place]][at.row];
            const auto found = std::lower_bound(values.begin(), values.end(), value);
            at.base[f] += filter.strides[k] * static_cast<std::size_t>(found - values.begin());
        }
    }
}

/// Candidates come in ascending order. Returns how many are left, in front.
std::size_t TileShapeEngine::keep_allowed(const Step& step, Expansion& at, double* candidates,
                                          std::size_t n) {
    for (std::size_t f = 0; f < step.filters.size(); ++f) {
        const TileShapeFilter& filter = step.filters[f];
        const std::vector<double>& values = run_.allowed[static_cast<std::size_t>(filter.table)]
                                                .values[static_cast<std::size_t>(filter.own)];
        const std::uint8_t* allowed = filter.allowed.data() + at.base[f];
        std::size_t kept = 0, place = at.place[f];
        for (std::size_t i = 0; i < n; ++i) {
            while (values[place] < candidates[i]) {
                ++place;
            }
            candidates[kept] = candidates[i];
            kept += allowed[place * filter.own_stride];
        }
        at.place[f] = place;
        statistics_->dropped_as_not_allowed += static_cast<double>(n - kept);
        n = kept;
    }
    return n;
}

void TileShapeEngine::prepare_symmetries(Step& step) const {
    for (const SymmetricSymbols& t : run_.symmetries) {
        const SymbolSet all =
            SymbolSet::of(t.first) | SymbolSet::of(t.second) | SymbolSet::of(t.top);
        if (step.after.contains(all) && !step.before.contains(all)) {
            step.symmetries.push_back(t);
        }
    }
    for (std::size_t g = 0; g < run_.fused_symmetries.size(); ++g) {
        const SymbolSet all = fused_symbols(run_.fused_symmetries[g]);
        if (step.after.contains(all) && !step.before.contains(all)) {
            step.fused_symmetries.push_back(static_cast<int>(g));
        }
    }
}

SymbolSet TileShapeEngine::fused_symbols(const FusedSymmetries& group) {
    SymbolSet out;
    for (const std::vector<int>& chain : group.chains) {
        for (std::size_t k = 0; k < group.fused; ++k) {
            out |= SymbolSet::of(chain[chain.size() - 1 - k]);
        }
    }
    return out;
}

/// Returns how many candidates are left, in front.
std::size_t TileShapeEngine::keep_symmetries(const Step& step, const RowTable& in, std::size_t row,
                                             double* candidates, std::size_t n) const {
    const auto known = [&](int s) {
        return s == step.symbol ? 0.0 : in.columns[static_cast<std::size_t>(s)][row];
    };
    for (const SymmetricSymbols& t : step.symmetries) {
        double first = known(t.first), second = known(t.second);
        double top = t.top < 0 ? static_cast<double>(t.bound) : known(t.top);
        double& own = t.first == step.symbol ? first : t.second == step.symbol ? second : top;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < n; ++i) {
            own = candidates[i];
            candidates[kept] = own;
            kept += is_representative(top, first, second) ? 1 : 0;
        }
        n = kept;
    }
    double shapes[model::kMaxSymbols];
    for (const int g : step.fused_symmetries) {
        const FusedSymmetries& group = run_.fused_symmetries[static_cast<std::size_t>(g)];
        for (const int s : fused_symbols(group)) {
            shapes[s] = known(s);
        }
        std::size_t kept = 0;
        for (std::size_t i = 0; i < n; ++i) {
            shapes[step.symbol] = candidates[i];
            candidates[kept] = candidates[i];
            kept += group.counts(run_.symbols, shapes) ? 1 : 0;
        }
        n = kept;
    }
    return n;
}

}  // namespace tessera::mapspace
