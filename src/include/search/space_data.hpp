// What an opened space holds: immutable, shared by all threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <ranges>
#include <utility>
#include <vector>

#include "mapspace/join_state.hpp"
#include "search/relatives.hpp"
#include "tessera/mapspace/tile_shapes.hpp"
#include "tessera/model/compiled_formulas.hpp"
#include "tessera/search/open_space.hpp"

namespace tessera::search {

/// A condition on the tile shapes of one template: output of `check` against a limit.
struct Limit {
    mapspace::Relation relation = mapspace::Relation::less_equal;
    double limit = 0;
    model::SymbolSet symbols;             ///< that it depends on
    model::SymbolSet grows_in, falls_in;  ///< symbols in which the output never falls, never grows
    bool trips = false;  ///< the output is a product of trip counts, a / b with tile shapes b <= a
    Verdict verdict = Verdict::constraint;
    model::CompiledFormulas formula;  ///< one output
    /// If `trips`: the same as the formula, factor times symbols over symbols.
    double factor = 1;
    std::vector<int> over, under;

    double quotient(const double* values) const {
        double top = factor, bottom = 1;
        for (const int s : over) {
            top *= values[s];
        }
        for (const int s : under) {
            bottom *= values[s];
        }
        return top / bottom;
    }
    bool holds(double value) const {
        return base::holds(relation, value, limit);
    }
};

/// Bits that a template reserves in a finite memory: output of `cost` from the third on.
struct Holding {
    int memory = 0;       ///< index into Data::memories
    int loops_above = 0;  ///< template loops, null ones included; -1: persistent
    int tensor = -1;      ///< global tensor of a fusable tensor's backing holder, -1 otherwise
};

/// A loop above the last backing holder of a fusable tensor. At most
/// mapspace::max_fused_loops_of_template in a template.
struct FusedLoop {
    int symbol = -1;  ///< -1: tile shape 1
    int outer = -1;   ///< enclosing fused loop over the same variable, -1: the bound
    int inner = -1;   ///< enclosed one
    std::int64_t bound = 1;
    bool runs = false;  ///< more than once: a holder moves with it, or it has a prologue
};

/// Where the loop of a symbol stands: the innermost memory around it, and its spatial dimension.
struct LoopPlace {
    int level = 0, dim = -1;
};

/// Which fused loops run more than once, and the structure that the join sees then.
struct Pattern {
    std::uint32_t loops = 0;  ///< bit per fused loop
    int structure = 0;        ///< index into EinsumData::structures
};

struct TemplateData {
    const arch::Path* path = nullptr;
    mapspace::Template tmpl;
    std::vector<mapspace::TileShapeSymbol> symbols;
    std::vector<std::vector<double>> partial_tiles;  ///< of symbols that may have them, else empty
    std::vector<std::int64_t> extents;  ///< by rank variable: bound, or base of its prologue
    std::vector<FusedLoop> fused;
    std::vector<int> fused_of_symbol;  ///< index into `fused`, -1: the loop is not fused
    std::vector<int> fused_of_loop;  ///< number of loops above -> number of fused loops among them
    std::vector<LoopPlace> places;   ///< of the symbols
    std::vector<int> order;          ///< symbols as they are chosen
    std::vector<Pattern> patterns;   ///< sorted by `loops`
    std::vector<Limit> limits;
    std::vector<mapspace::LoopLimit> loop_limits;
    model::SymbolSet limited;  ///< symbols that a limit depends on
    std::vector<Holding> holdings;
    /// By memory of the space: how much smaller it is for this Einsum, as if that were taken.
    std::vector<double> taken_bits;
    model::CompiledFormulas check;  ///< one output per limit
    model::CompiledFormulas cost;   ///< energy, latency, then one output per holding
};

struct EinsumData {
    std::vector<std::unique_ptr<arch::Path>> paths;
    std::vector<TemplateData> templates;
    std::vector<mapspace::GroupStructure> structures;
    /// By structure: tensors that lie in the buffers of others, and of which.
    std::vector<std::vector<std::pair<int, int>>> buffers;
    Relatives relatives;  ///< of the templates
};

/// One after the other as they run; the spaces of several orders share them.
class Einsums {
public:
    void add(std::shared_ptr<EinsumData> einsum) {
        all_.push_back(std::move(einsum));
    }
    const std::shared_ptr<EinsumData>& shared(std::size_t i) const {
        return all_[i];
    }
    std::size_t size() const {
        return all_.size();
    }
    auto all() const {
        return std::views::transform(
            all_, [](const std::shared_ptr<EinsumData>& e) -> const EinsumData& { return *e; });
    }
    EinsumData& operator[](std::size_t i) {
        return *all_[i];
    }
    const EinsumData& operator[](std::size_t i) const {
        return *all_[i];
    }

private:
    std::vector<std::shared_ptr<EinsumData>> all_;
};

struct Memory {
    int component = 0;
    double size_bits = 0;
};

struct OpenSpace::Data {
    model::Problem problem;
    mapspace::MapSpaceOptions mapspace;
    Einsums einsums;                              ///< as they run
    std::vector<int> order;                       ///< which of the workload's they are
    std::vector<Memory> memories;                 ///< finite ones
    std::vector<std::vector<char>> needed_later;  ///< per Einsum and tensor: after it has run
    int n_tensors = 0;
};

/// Formulas, limits and patterns of one template, whose path and nodes are known. No patterns: no
/// tile shapes are legal. `structures`: what the patterns index. `some_fit` is set if some tile
/// shapes meet all limits; once it is set nobody looks.
void compile_template(const OpenSpace::Data& space, const model::CostModel& model, TemplateData& t,
                      std::vector<mapspace::GroupStructure>& structures,
                      mapspace::TileShapeExplorer& explorer, model::FormulaPool& pool,
                      std::atomic<bool>& some_fit);

/// Fills t.patterns; what they index is appended to `structures`.
void add_patterns(const OpenSpace::Data& space, TemplateData& t, const model::TemplateFormulas& f,
                  std::vector<mapspace::GroupStructure>& structures);

/// How often a fused loop runs.
double fused_trips(const TemplateData& t, std::size_t fused, const double* values);
/// Bit per fused loop that runs more than once.
std::uint32_t running_loops(const TemplateData& t, const double* values);
/// Trip counts of the running fused loops, outermost first.
void trips_of(const TemplateData& t, std::uint32_t running, const double* values,
              std::vector<std::int64_t>& out);

/// The pattern of these running loops; null: no legal tile shapes have it.
const Pattern* find_pattern(const TemplateData& t, std::uint32_t running);

/// Whether at most as many loops run more than once as the mapspace allows.
bool meets_loop_limits(const TemplateData& t, const double* values);

/// The first symbol whose tile shape does not nest as its symbol demands; -1: all do.
int wrong_tile_shape(const TemplateData& t, const double* values);

}  // namespace tessera::search
