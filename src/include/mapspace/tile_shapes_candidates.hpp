#pragma once

// Values that a tile shape may take, given its neighbours; and the number of legal chains.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tessera/mapspace/tile_shapes.hpp"

namespace tessera::mapspace {

/// Divisors of one bound, and for each of them the list of its multiples among them (made on
/// first use: a bound of 1e9 has up to 1344 divisors but needs few of the lists).
class DivisorTable {
public:
    explicit DivisorTable(std::int64_t bound);

    std::span<const double> divisors() const {
        return divisors_;
    }
    /// Multiples of `value`, a divisor, that divide the bound; ascending.
    std::span<const double> multiples(double value);
    /// Prime factors of the bound, ascending.
    std::span<const std::int64_t> primes() const {
        return primes_;
    }
    /// Their exponents.
    std::span<const int> prime_exponents() const {
        return exponents_;
    }
    /// partial_tiles(bound), made on first use.
    std::span<const double> partial_tiles();
    /// Everything that can stand in a chain with partial tiles: their divisors. Ascending.
    std::span<const double> partial_chain_values();
    /// Divisors of any number up to the bound, ascending. Valid as long as the table.
    std::span<const double> divisors_of(double value);

private:
    std::int64_t bound_;
    std::vector<double> partial_, chain_values_;
    std::unordered_map<std::int64_t, std::vector<double>> divisors_of_;
    std::vector<double> divisors_;
    std::vector<std::vector<double>> multiples_;
    std::vector<std::int64_t> primes_;
    std::vector<int> exponents_;
};

/// Tables by bound, kept as long as the cache lives.
class DivisorCache {
public:
    DivisorTable& of(std::int64_t bound);
    /// Number of chains with partial tiles by bound and modes; 0 if it was not counted yet.
    double& partial_chains(std::int64_t bound, const std::string& modes) {
        return partial_chains_[{bound, modes}];
    }

private:
    std::map<std::pair<std::int64_t, std::string>, double> partial_chains_;
    std::map<std::int64_t, std::unique_ptr<DivisorTable>> tables_;
};

/// Whether some symbol of the chain of `symbol` is partial_outermost.
bool has_partial_outermost(std::span<const TileShapeSymbol> symbols, int symbol);

inline bool divides_outer(TileChoice choice) {
    return choice == TileChoice::divisors || choice == TileChoice::divisors_of_outer;
}

/// Enumerates the legal values of one symbol for given neighbours in ascending order, piece by
/// piece, without ever holding them all.
class CandidateCursor {
public:
    /// `known`: bit per symbol whose value is fixed; `value(i)` reads it.
    CandidateCursor(std::span<const TileShapeSymbol> symbols, int symbol, DivisorTable& table);

    /// Restarts for a new row. `values[i]` is meaningful for known symbols.
    void start(const double* values, const model::SymbolSet& known);
    /// After `start`: only values between, and with `pick` only `either` and `other`.
    void restrict(double low, double high, bool pick, double either, double other);
    /// Writes up to `room` values and returns their number; fewer than `room` means the end.
    std::size_t next(double* out, std::size_t room);

private:
    bool legal(double value) const;
    /// Whether the inner of two neighbours, by its mode, fits the outer one's value.
    bool linked(int inner_symbol, double inner, double outer) const;
    bool smallest_for_its_trips(int symbol, double value, int changed, double changed_value) const;
    double read(int symbol, double otherwise, int changed, double changed_value) const;
    bool is_known(int symbol) const {
        return symbol < 0 || known_.has(symbol);
    }

    std::span<const TileShapeSymbol> symbols_;
    int symbol_;
    DivisorTable& table_;
    bool from_list_;         // candidates are divisors of the bound
    bool plain_chain_;       // every symbol of the chain is in mode `divisors`
    bool partial_chain_;     // some symbol of the chain is partial_outermost; candidates are listed
    int known_inside_ = -1;  // partial_chain_: the next symbol further in that is known
    const double* values_ = nullptr;
    model::SymbolSet known_;
    std::span<const double> list_;
    std::vector<double> own_list_;  ///< what `only` leaves of another list
    std::size_t place_ = 0;
    double current_ = 1.0;
    double step_ = 1.0;
    double last_ = 0.0;
    bool check_ = false;  // values need the full legality test
    bool jump_ = false;   // one value per trip count of a known enclosing tile
    double high_ = 0.0;
    bool pick_ = false;
    double either_ = 0.0, other_ = 0.0;
};

/// Number of legal assignments of all symbols. `exact` holds the digits if it is a whole number
/// known exactly, and is empty for an estimate.
double count_assignments(std::span<const TileShapeSymbol> symbols, DivisorCache& cache,
                         std::string& exact);

}  // namespace tessera::mapspace
