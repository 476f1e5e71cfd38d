#include "mapspace/tile_shapes_candidates.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <iterator>

#include "tessera/base/divisors.hpp"

namespace tessera::mapspace {

std::vector<double> partial_tiles(std::int64_t bound) {
    std::vector<double> out;
    for (const std::int64_t d : base::divisors(bound)) {
        // ceil(units / trips) for every number of trips, each value once.
        const std::int64_t units = bound / d;
        for (std::int64_t trips = 1;;) {
            const std::int64_t tile = (units + trips - 1) / trips;
            out.push_back(static_cast<double>(d * tile));
            if (tile == 1) {
                break;
            }
            trips = std::max(trips + 1, (units + tile - 2) / (tile - 1));
        }
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

std::span<const double> DivisorTable::partial_tiles() {
    if (partial_.empty()) {
        partial_ = mapspace::partial_tiles(bound_);
    }
    return partial_;
}

std::span<const double> DivisorTable::partial_chain_values() {
    if (chain_values_.empty()) {
        for (const double tile : partial_tiles()) {
            const std::span<const double> own = divisors_of(tile);
            chain_values_.insert(chain_values_.end(), own.begin(), own.end());
        }
        std::sort(chain_values_.begin(), chain_values_.end());
        chain_values_.erase(std::unique(chain_values_.begin(), chain_values_.end()),
                            chain_values_.end());
    }
    return chain_values_;
}

std::span<const double> DivisorTable::divisors_of(double value) {
    const auto n = static_cast<std::int64_t>(value);
    std::vector<double>& list = divisors_of_[n];
    if (list.empty()) {
        const std::vector<std::int64_t> found = base::divisors(n);
        list.assign(found.begin(), found.end());
    }
    return list;
}

bool has_partial_outermost(std::span<const TileShapeSymbol> symbols, int symbol) {
    while (symbols[symbol].outer >= 0) {
        symbol = symbols[symbol].outer;
    }
    for (int s = symbol; s >= 0; s = symbols[s].inner) {
        if (symbols[s].choice == TileChoice::partial_outermost) {
            return true;
        }
    }
    return false;
}

DivisorTable::DivisorTable(std::int64_t bound) : bound_(bound) {
    const std::vector<std::int64_t> divisors = base::divisors(bound);
    divisors_.assign(divisors.begin(), divisors.end());
    multiples_.resize(divisors_.size());
    primes_ = base::prime_factors(bound);
    for (const std::int64_t prime : primes_) {
        exponents_.push_back(0);
        for (std::int64_t rest = bound; rest % prime == 0; rest /= prime) {
            ++exponents_.back();
        }
    }
}

std::span<const double> DivisorTable::multiples(double value) {
    const auto at = std::lower_bound(divisors_.begin(), divisors_.end(), value);
    std::vector<double>& list = multiples_[static_cast<std::size_t>(at - divisors_.begin())];
    if (list.empty()) {
        const auto inner = static_cast<std::int64_t>(value);
        for (auto d = at; d != divisors_.end(); ++d) {
            if (static_cast<std::int64_t>(*d) % inner == 0) {
                list.push_back(*d);
            }
        }
    }
    return list;
}

DivisorTable& DivisorCache::of(std::int64_t bound) {
    std::unique_ptr<DivisorTable>& table = tables_[bound];
    if (!table) {
        table = std::make_unique<DivisorTable>(bound);
    }
    return *table;
}

CandidateCursor::CandidateCursor(std::span<const TileShapeSymbol> symbols, int symbol,
                                 DivisorTable& table)
    : symbols_(symbols), symbol_(symbol), table_(table) {
    bool divides = true;
    for (int s = symbol; s >= 0; s = symbols[s].outer) {
        divides = divides && divides_outer(symbols[s].choice);
    }
    from_list_ = divides || symbols[symbol].choice == TileChoice::divisors;
    plain_chain_ = true;
    int innermost = symbol;
    while (symbols[innermost].inner >= 0) {
        innermost = symbols[innermost].inner;
    }
    for (int s = innermost; s >= 0; s = symbols[s].outer) {
        plain_chain_ = plain_chain_ && symbols[s].choice == TileChoice::divisors;
    }
    partial_chain_ = !plain_chain_ && has_partial_outermost(symbols, symbol);
}

void CandidateCursor::start(const double* values, const model::SymbolSet& known) {
    values_ = values;
    known_ = known;
    const TileShapeSymbol& self = symbols_[symbol_];
    const bool inner_known = self.inner >= 0 && is_known(self.inner);
    const double inner = inner_known ? values[self.inner] : 1.0;
    const bool outer_known = is_known(self.outer);
    const double outer =
        self.outer >= 0 && outer_known ? values[self.outer] : static_cast<double>(self.bound);
    jump_ = false;
    pick_ = false;
    high_ = HUGE_VAL;
    place_ = 0;
    if (plain_chain_) {
        list_ = table_.multiples(inner);
        check_ = self.outer >= 0 && outer_known;
        return;
    }
    check_ = true;
    if (partial_chain_) {
        known_inside_ = self.inner;
        while (known_inside_ >= 0 && !is_known(known_inside_)) {
            known_inside_ = symbols_[known_inside_].inner;
        }
        check_ = known_inside_ >= 0;
        if (!outer_known) {
            list_ = table_.partial_chain_values();
        } else if (self.choice == TileChoice::partial_outermost &&
                   outer == static_cast<double>(self.bound)) {
            list_ = table_.partial_tiles();
        } else {
            list_ = table_.divisors_of(outer);
        }
        if (self.only && outer_known) {
            own_list_.clear();
            std::set_intersection(self.only->begin(), self.only->end(), list_.begin(), list_.end(),
                                  std::back_inserter(own_list_));
            if (own_list_.empty() || own_list_.back() != outer) {
                own_list_.push_back(outer);
            }
            list_ = own_list_;
        }
        return;
    }
    if (from_list_) {
        list_ = table_.divisors();
        return;
    }
    const bool multiple = inner_known && divides_outer(symbols_[self.inner].choice);
    step_ = multiple ? inner : 1.0;
    current_ = multiple ? inner : std::ceil(inner);
    last_ = outer;
    // Trip counts can be stepped through when both neighbours are fixed and nothing else is checked
    // against this symbol but the enclosing tile.
    jump_ = self.choice == TileChoice::one_per_trip_count && outer_known && is_known(self.inner);
}

void CandidateCursor::restrict(double low, double high, bool pick, double either, double other) {
    high_ = high;
    pick_ = pick;
    either_ = either;
    other_ = other;
    if (plain_chain_ || partial_chain_ || from_list_) {
        while (place_ < list_.size() && list_[place_] < low) {
            ++place_;
        }
    }
}

double CandidateCursor::read(int symbol, double otherwise, int changed,
                             double changed_value) const {
    if (symbol < 0) {
        return otherwise;
    }
    return symbol == changed ? changed_value : values_[symbol];
}

bool CandidateCursor::smallest_for_its_trips(int symbol, double value, int changed,
                                             double changed_value) const {
    const TileShapeSymbol& s = symbols_[symbol];
    const double outer = read(s.outer, static_cast<double>(s.bound), changed, changed_value);
    const double inner = read(s.inner, 1.0, changed, changed_value);
    const bool multiple = s.inner >= 0 && divides_outer(symbols_[s.inner].choice);
    const double smaller = value - (multiple ? inner : 1.0);
    return smaller < inner || std::ceil(outer / smaller) != std::ceil(outer / value);
}

bool CandidateCursor::linked(int inner_symbol, double inner, double outer) const {
    const TileShapeSymbol& s = symbols_[inner_symbol];
    if (s.choice == TileChoice::partial_outermost && outer == static_cast<double>(s.bound)) {
        const std::span<const double> tiles = table_.partial_tiles();
        return std::binary_search(tiles.begin(), tiles.end(), inner);
    }
    return base::divides(inner, outer);
}

bool CandidateCursor::legal(double value) const {
    const TileShapeSymbol& self = symbols_[symbol_];
    if (partial_chain_) {  // the list fits the outer tile
        const double inside = values_[known_inside_];
        if (known_inside_ == self.inner) {
            return linked(self.inner, inside, value);
        }
        return value == static_cast<double>(self.bound) || base::divides(inside, value);
    }
    if (is_known(self.outer)) {
        const double outer =
            self.outer >= 0 ? values_[self.outer] : static_cast<double>(self.bound);
        if (divides_outer(self.choice) ? !base::divides(value, outer) : value > outer) {
            return false;
        }
    }
    if (plain_chain_) {
        return true;  // the list holds multiples of the inner tile only
    }
    if (self.inner >= 0 && is_known(self.inner)) {
        const double inner = values_[self.inner];
        if (divides_outer(symbols_[self.inner].choice) ? !base::divides(inner, value) : inner > value) {
            return false;
        }
    }
    // Minimality concerns three neighbours; test each triple that this value completes.
    for (const int middle : {self.inner, symbol_, self.outer}) {
        if (middle < 0 || symbols_[middle].choice != TileChoice::one_per_trip_count) {
            continue;
        }
        const TileShapeSymbol& m = symbols_[middle];
        const auto ready = [&](int s) { return s == symbol_ || is_known(s); };
        if (!ready(middle) || !ready(m.outer) || !ready(m.inner)) {
            continue;
        }
        const double own = middle == symbol_ ? value : values_[middle];
        if (!smallest_for_its_trips(middle, own, symbol_, value)) {
            return false;
        }
    }
    return true;
}

std::size_t CandidateCursor::next(double* out, std::size_t room) {
    std::size_t n = 0;
    if (plain_chain_ || partial_chain_ || from_list_) {
        for (; n < room && place_ < list_.size() && list_[place_] <= high_; ++place_) {
            const double value = list_[place_];
            out[n] = value;
            n += (!pick_ || value == either_ || value == other_) && (!check_ || legal(value)) ? 1
                                                                                              : 0;
        }
        return n;
    }
    while (n < room && current_ <= last_ && current_ <= high_) {
        const double value = current_;
        if (jump_) {
            const double trips = std::ceil(last_ / value);
            if (trips <= 1.0) {
                current_ = last_ + 1.0;
            } else {
                const double least = std::ceil(last_ / (trips - 1.0));
                current_ = std::max(value + step_, std::ceil(least / step_) * step_);
            }
        } else {
            current_ += step_;
        }
        out[n] = value;
        n += (!pick_ || value == either_ || value == other_) && legal(value) ? 1 : 0;
    }
    return n;
}

namespace {

/// Multichains of divisors: for p^e, choose k weakly growing exponents out of 0..e.
std::uint64_t chains_of_prime(int exponent, int length) {
    std::uint64_t result = 1;
    for (int i = 1; i <= length; ++i) {
        result = result * static_cast<std::uint64_t>(exponent + i) / static_cast<std::uint64_t>(i);
    }
    return result;
}

constexpr std::int64_t kLargestCountedBound = 20000;

/// Number of chains by dynamic programming from the innermost symbol outwards; -1 if too large.
double count_by_table(std::span<const TileShapeSymbol> symbols, const std::vector<int>& chain,
                      DivisorCache& cache) {
    const std::int64_t bound = symbols[chain[0]].bound;
    for (const int s : chain) {
        const TileShapeSymbol& symbol = symbols[s];
        if (bound > kLargestCountedBound ||
            (symbol.choice == TileChoice::one_per_trip_count &&
             (symbol.outer >= 0 || symbol.inner >= 0) && chain.size() > 2)) {
            return -1.0;
        }
    }
    // ways[v]: number of legal choices of the symbols so far whose last value is v.
    std::vector<double> ways(static_cast<std::size_t>(bound) + 1, 0.0);
    std::vector<double> values(symbols.size(), 0.0);
    std::vector<double> batch(256);
    bool first = true;
    for (const int s : chain) {
        std::vector<double> next(ways.size(), 0.0);
        CandidateCursor cursor(symbols, s, cache.of(bound));
        for (std::int64_t inner = 1; inner <= bound; ++inner) {
            const double count = first ? (inner == 1 ? 1.0 : 0.0) : ways[inner];
            if (count == 0.0) {
                continue;
            }
            model::SymbolSet known;
            if (symbols[s].inner >= 0) {
                values[symbols[s].inner] = static_cast<double>(inner);
                known = model::SymbolSet::of(symbols[s].inner);
            }
            cursor.start(values.data(), known);
            for (std::size_t n = batch.size(); n == batch.size();) {
                n = cursor.next(batch.data(), batch.size());
                for (std::size_t i = 0; i < n; ++i) {
                    next[static_cast<std::size_t>(batch[i])] += count;
                }
            }
        }
        ways = std::move(next);
        first = false;
    }
    double total = 0.0;
    for (const double count : ways) {
        total += count;
    }
    return total;
}

/// The same for chains with partial tiles, from the outermost symbol inwards.
double count_partial_chains(std::span<const TileShapeSymbol> symbols, std::vector<int> chain,
                            DivisorCache& cache) {
    std::reverse(chain.begin(), chain.end());
    const std::int64_t bound = symbols[chain.front()].bound;
    std::string modes;
    for (const int s : chain) {
        modes += static_cast<char>(symbols[s].choice);
    }
    double& known = cache.partial_chains(bound, modes);
    if (known > 0.0) {
        return known;
    }
    std::map<double, double> ways{{static_cast<double>(bound), 1.0}};
    DivisorTable& table = cache.of(bound);
    for (const int s : chain) {
        std::map<double, double> next;
        for (const auto& [outer, count] : ways) {
            const bool partial = symbols[s].choice == TileChoice::partial_outermost &&
                                 outer == static_cast<double>(bound);
            for (const double v : partial ? table.partial_tiles() : table.divisors_of(outer)) {
                next[v] += count;
            }
        }
        ways = std::move(next);
    }
    known = 0.0;
    for (const auto& [value, count] : ways) {
        known += count;
    }
    return known;
}

}  // namespace

double count_assignments(std::span<const TileShapeSymbol> symbols, DivisorCache& cache,
                         std::string& exact) {
    double total = 1.0;
    boost::multiprecision::cpp_int digits = 1;
    bool counted = true;
    for (std::size_t innermost = 0; innermost < symbols.size(); ++innermost) {
        if (symbols[innermost].inner >= 0) {
            continue;
        }
        std::vector<int> chain;
        bool plain = true;
        for (int s = static_cast<int>(innermost); s >= 0; s = symbols[s].outer) {
            chain.push_back(s);
            plain = plain && divides_outer(symbols[s].choice);
        }
        if (has_partial_outermost(symbols, chain.front())) {
            const double n = count_partial_chains(symbols, chain, cache);
            total *= n;
            const bool limited = std::any_of(chain.begin(), chain.end(),
                                             [&](int s) { return symbols[s].only.has_value(); });
            counted = counted && !limited && n < 9007199254740992.0;
            if (counted) {
                digits *= static_cast<std::uint64_t>(n);
            }
            continue;
        }
        const DivisorTable& table = cache.of(symbols[innermost].bound);
        if (plain) {
            for (const int e : table.prime_exponents()) {
                const std::uint64_t n = chains_of_prime(e, static_cast<int>(chain.size()));
                total *= static_cast<double>(n);
                digits *= n;
            }
            continue;
        }
        const double n = count_by_table(symbols, chain, cache);
        if (n >= 0.0 && n < 9007199254740992.0) {
            total *= n;
            digits *= static_cast<std::uint64_t>(n);
        } else {
            // Weakly growing chains of integers: an upper estimate.
            const auto k = static_cast<double>(chain.size());
            const auto bound = static_cast<double>(symbols[innermost].bound);
            total *= std::exp(std::lgamma(bound + k) - std::lgamma(bound) - std::lgamma(k + 1.0));
            counted = false;
        }
    }
    exact = counted ? digits.str() : std::string();
    return total;
}

}  // namespace tessera::mapspace
