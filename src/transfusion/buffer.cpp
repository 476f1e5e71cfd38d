// Buffer accesses as a nest of loops has them: at DRAM, at the buffer, and over the units of an
// array. A unit holds one value of every tensor.
//
//   reads    of an input: whenever a loop over one of its indices, or a loop outside of that, goes
//            on; what several units read is read once. Of an output: for every value that it comes
//            back to, once it has been written.
//   writes   of an input that comes from DRAM: its tile, likewise. Of an output: whenever it leaves
//            the units. What DRAM holds of an output and takes back is written as well.
//   bypass   a tensor that stays in the registers of one array is neither read nor written
//
// The loops and tiles are those of TransFusion's code. Its counts come from Timeloop, which reads
// first values back for some very large tensors (from 64K tokens on); that is left out here
// (docs/transfusion.md).
#include "transfusion/buffer.hpp"
#include "tessera/base/divisors.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

namespace tessera::transfusion {

namespace {

/// Dimensions by letter, as in the paper.
using Letters = const char*;
constexpr Letters all_dims = "BDEFHMNPS";

int dim(char letter) {
    return static_cast<int>(std::strchr(all_dims, letter) - all_dims);
}
bool has(Letters letters, char letter) {
    return std::strchr(letters, letter) != nullptr;
}

/// A size per dimension, 1 if nothing is said.
class Factors {
public:
    double& operator[](char letter) {
        return values_[static_cast<std::size_t>(dim(letter))];
    }
    double operator[](char letter) const {
        return values_[static_cast<std::size_t>(dim(letter))];
    }
    double product(Letters letters) const {
        double all = 1;
        for (; *letters != 0; ++letters) {
            all *= (*this)[*letters];
        }
        return all;
    }

private:
    std::array<double, 9> values_{1, 1, 1, 1, 1, 1, 1, 1, 1};
};

struct Operand {
    const char* name;
    Letters dims;
};

struct Rule {
    Phase phase;
    Operand output;
    std::vector<Operand> inputs;

    bool has(char letter) const {
        return transfusion::has(output.dims, letter) ||
               std::any_of(inputs.begin(), inputs.end(),
                           [&](const Operand& one) { return transfusion::has(one.dims, letter); });
    }
};

const std::vector<Rule>& one_pass_rules() {
    static const std::vector<Rule> rules = {
        {Phase::qkv, {"Q", "BEHP"}, {{"XQ", "BDP"}, {"WQ", "DEH"}}},
        {Phase::qkv, {"BK", "BEHMN"}, {{"XK", "BDMN"}, {"WK", "DEH"}}},
        {Phase::qkv, {"BV", "BFHMN"}, {{"XV", "BDMN"}, {"WV", "DFH"}}},
        {Phase::attention, {"QK", "BHMNP"}, {{"Q", "BEHP"}, {"BK", "BEHMN"}}},
        {Phase::attention, {"LM", "BHMP"}, {{"QK", "BHMNP"}}},
        {Phase::attention, {"RM", "BHMP"}, {{"LM", "BHMP"}, {"older RM", "BHMP"}}},
        {Phase::attention, {"SLN", "BHMNP"}, {{"QK", "BHMNP"}, {"RM", "BHMP"}}},
        {Phase::attention, {"SLD", "BHMP"}, {{"SLN", "BHMNP"}}},
        {Phase::attention, {"SLNV", "BFHMP"}, {{"BV", "BFHMN"}, {"SLN", "BHMNP"}}},
        {Phase::attention, {"PRM", "BHMP"}, {{"RM", "BHMP"}, {"older RM", "BHMP"}}},
        {Phase::attention, {"SPD", "BHMP"}, {{"PRM", "BHMP"}, {"older RD", "BHMP"}}},
        {Phase::attention, {"RD", "BHMP"}, {{"SLD", "BHMP"}, {"SPD", "BHMP"}}},
        {Phase::attention, {"SPNV", "BFHMP"}, {{"PRM", "BHMP"}, {"older RNV", "BFHMP"}}},
        {Phase::attention, {"RNV", "BFHMP"}, {{"SLNV", "BFHMP"}, {"SPNV", "BFHMP"}}},
        {Phase::attention, {"AV", "BFHP"}, {{"last RD", "BHP"}, {"last RNV", "BFHP"}}},
        {Phase::norm, {"IAV", "BFHP"}, {{"INP", "BFHP"}, {"AV", "BFHP"}}},
        {Phase::norm, {"SAV", "BP"}, {{"IAV", "BFHP"}}},
        {Phase::norm, {"MAV", "BP"}, {{"SAV", "BP"}}},
        {Phase::norm, {"DAV", "BFHP"}, {{"IAV", "BFHP"}, {"MAV", "BP"}}},
        {Phase::norm, {"QAV", "BFHP"}, {{"DAV", "BFHP"}}},
        {Phase::norm, {"SQAV", "BP"}, {{"QAV", "BFHP"}}},
        {Phase::norm, {"MQAV", "BP"}, {{"SQAV", "BP"}}},
        {Phase::norm, {"SR", "BP"}, {{"MQAV", "BP"}}},
        {Phase::norm, {"NR", "BFHP"}, {{"DAV", "BFHP"}, {"SR", "BP"}}},
        {Phase::feed_forward, {"FFN1", "BSP"}, {{"WF1", "FHS"}, {"NR", "BFHP"}, {"BF1", "S"}}},
        {Phase::feed_forward, {"AR", "BSP"}, {{"FFN1", "BSP"}}},
        {Phase::feed_forward, {"FFN2", "BFHP"}, {{"WF2", "FHS"}, {"AR", "BSP"}, {"BF2", "FH"}}},
    };
    return rules;
}

/// Attention in three passes; the other phases are the same.
const std::vector<Rule>& three_pass_rules() {
    static const std::vector<Rule> rules = {
        {Phase::attention, {"QK", "BHMNP"}, {{"Q", "BEHP"}, {"BK", "BEHMN"}}},
        {Phase::attention, {"MX", "BHP"}, {{"QK", "BHMNP"}}},
        {Phase::attention, {"SN", "BHMNP"}, {{"MX", "BHP"}, {"QK", "BHMNP"}}},
        {Phase::attention, {"SD", "BHP"}, {{"SN", "BHMNP"}}},
        {Phase::attention, {"SM", "BHMNP"}, {{"SN", "BHMNP"}, {"SD", "BHP"}}},
        {Phase::attention, {"AV", "BFHP"}, {{"SM", "BHMNP"}, {"BV", "BFHMN"}}},
    };
    return rules;
}

using Names = std::vector<const char*>;

bool same(const char* a, const char* b) {
    return std::strcmp(a, b) == 0;
}
bool contains(const Names& names, const char* name) {
    return std::any_of(names.begin(), names.end(),
                       [&](const char* one) { return same(one, name); });
}

struct Nest {
    Factors dram, buffer, units;
    Names in_dram, bypassed;
};

struct Words {
    double reads = 0, writes = 0;
};

/// Iterations of the loops down to the innermost one over an index. Outermost loop first: at DRAM
/// S B H P M N E F D, at the buffer with P after N.
double iterations(const Nest& nest, Letters dims, bool at_dram_only) {
    double all = 1, relevant = 1;
    const auto go = [&](const Factors& factors, Letters order) {
        for (; *order != 0; ++order) {
            all *= factors[*order];
            if (factors[*order] > 1 && has(dims, *order)) {
                relevant = all;
            }
        }
    };
    go(nest.dram, "SBHPMNEFD");
    if (!at_dram_only) {
        go(nest.buffer, "SBHMNPEFD");
    }
    return relevant;
}

Words words_of(const Rule& rule, const Nest& nest) {
    Words words;
    const auto tiles = [&](Letters dims) {
        return iterations(nest, dims, true) * nest.units.product(dims) * nest.buffer.product(dims);
    };
    for (const Operand& one : rule.inputs) {
        if (contains(nest.bypassed, one.name)) {
            continue;
        }
        words.reads += iterations(nest, one.dims, false) * nest.units.product(one.dims);
        words.writes += contains(nest.in_dram, one.name) ? tiles(one.dims) : 0;
    }
    const Operand& output = rule.output;
    if (!contains(nest.bypassed, output.name)) {
        const double updates =
            iterations(nest, output.dims, false) * nest.units.product(output.dims);
        const double size = nest.units.product(output.dims) * nest.buffer.product(output.dims) *
                            nest.dram.product(output.dims);
        words.writes += updates;
        words.reads += updates - size;
        words.writes += contains(nest.in_dram, output.name) ? tiles(output.dims) - size : 0;
    }
    return words;
}

/// Divisors h of `heads` and e of `width` whose product divides `room` and is largest; of these the
/// largest e.
std::pair<double, double> heads_and_width(double heads, double width, double room) {
    double best = 0, h_best = 1, e_best = 1;
    const std::vector<std::int64_t> widths = base::divisors(static_cast<std::int64_t>(width));
    for (auto e = widths.rbegin(); e != widths.rend() && best < room; ++e) {
        for (const std::int64_t h : base::divisors(static_cast<std::int64_t>(heads))) {
            const auto product = static_cast<double>(h * *e);
            if (std::fmod(room, product) == 0 && product > best) {
                best = product;
                h_best = static_cast<double>(h);
                e_best = static_cast<double>(*e);
            }
        }
    }
    return {h_best, e_best};
}

/// Largest divisor of n that `fits`, 1 if none does.
template <class Fits>
double largest_divisor(double n, const Fits& fits) {
    double found = 1;
    for (const std::int64_t d : base::divisors(static_cast<std::int64_t>(n))) {
        found = fits(static_cast<double>(d)) ? static_cast<double>(d) : found;
    }
    return found;
}

class Nests {
public:
    Nests(const Problem& problem, Method method, const OuterTiles& tiles)
        : z_(problem), method_(method), tiles_(tiles), fused_(method == Method::fusemax_layerfuse) {
        size_['B'] = z_.B;
        size_['D'] = z_.D;
        size_['E'] = size_['F'] = z_.E;
        size_['H'] = z_.H;
        size_['M'] = z_.nP;
        size_['N'] = z_.r;
        size_['P'] = z_.P;
        size_['S'] = z_.S;
        heads_ = fused_ ? z_.H : 1;
        rows_ = z_.nP / static_cast<double>(tiles.p);
        hidden_tile_ = fused_ ? hidden_tile() : 1;
    }

    Nest of(const Rule& rule, const PhaseCost& cost) const {
        if (method_ == Method::transfusion) {
            return transfusion_nest(rule, cost);
        }
        switch (rule.phase) {
            case Phase::qkv:
                return projection(rule);
            case Phase::attention:
                return method_ == Method::unfused ? unfused_attention(rule)
                       : method_ == Method::flat  ? flat_attention(rule)
                                                  : fusemax_attention(rule);
            case Phase::norm:
                return norm(rule);
            default:
                return feed_forward(rule);
        }
    }

private:
    /// What is not spread over units, and not in the buffer, is run over at DRAM.
    void rest_to_dram(const Rule& rule, Nest& nest) const {
        for (Letters letter = all_dims; *letter != 0; ++letter) {
            if (rule.has(*letter)) {
                nest.dram[*letter] = size_[*letter] / nest.units[*letter] / nest.buffer[*letter];
            }
        }
    }
    void rest_to_buffer(const Rule& rule, Nest& nest) const {
        for (Letters letter = all_dims; *letter != 0; ++letter) {
            if (rule.has(*letter)) {
                nest.buffer[*letter] = size_[*letter] / nest.units[*letter] / nest.dram[*letter];
            }
        }
    }

    // --- transfusion: outer tiles of TileSeek, heads and their dimensions on the chip ------------

    static Unit unit_of(const PhaseCost& cost, const char* einsum) {
        return std::find_if(cost.einsums.begin(), cost.einsums.end(),
                            [&](const EinsumCost& one) { return one.name == einsum; })
            ->unit;
    }

    Nest transfusion_nest(const Rule& rule, const PhaseCost& cost) const {
        Nest nest;
        const Unit unit = unit_of(cost, rule.output.name);
        const double room = unit == Unit::array_2d ? z_.r : std::floor(z_.l1 / z_.r);
        const char row = rule.has('P') ? 'P' : 'N';
        nest.units[row] = z_.r;
        const char width = rule.has('E') ? 'E' : 'F';
        const bool by_heads = rule.phase == Phase::qkv || rule.phase == Phase::norm;
        if (by_heads && rule.has('H') && rule.has(width)) {
            std::tie(nest.units['H'], nest.units[width]) = heads_and_width(z_.H, z_.E, room);
        } else if (rule.phase == Phase::attention && rule.has('N')) {
            nest.units['N'] = room;
        } else if (rule.phase == Phase::attention) {
            nest.units['H'] = std::min({room, z_.H, 4.0});
        } else if (rule.phase == Phase::feed_forward) {
            nest.units['S'] = room;
        }
        for (const auto& [letter, count] :
             {std::pair{'B', tiles_.b}, std::pair{'D', tiles_.d}, std::pair{'M', tiles_.m},
              std::pair{'P', tiles_.p}, std::pair{'S', tiles_.s}}) {
            nest.dram[letter] = rule.has(letter) ? static_cast<double>(count) : 1;
        }
        rest_to_buffer(rule, nest);
        nest.in_dram = from_dram(rule.phase);
        // An output stays if all that read it are on this array; an input, if it was made on it.
        if (stays(rule, unit, cost)) {
            nest.bypassed.push_back(rule.output.name);
        }
        for (const Operand& one : rule.inputs) {
            for (const Rule& other : one_pass_rules()) {
                if (other.phase == rule.phase && same(other.output.name, one.name) &&
                    unit_of(cost, one.name) == unit) {
                    nest.bypassed.push_back(one.name);
                }
            }
        }
        return nest;
    }

    /// Everyone in the phase who reads it is on this array, and somebody does. The published code
    /// overlooks a second reader in three places.
    static bool stays(const Rule& maker, Unit unit, const PhaseCost& cost) {
        static constexpr std::array<std::pair<const char*, const char*>, 3> overlooked = {
            {{"QK", "SLN"}, {"IAV", "DAV"}, {"DAV", "NR"}}};
        const char* const tensor = maker.output.name;
        bool read = false;
        for (const Rule& other : one_pass_rules()) {
            const bool counts =
                other.phase == maker.phase &&
                std::any_of(other.inputs.begin(), other.inputs.end(),
                            [&](const Operand& one) { return reads_state(one.name, tensor); }) &&
                std::none_of(overlooked.begin(), overlooked.end(), [&](const auto& pair) {
                    return same(pair.first, tensor) && same(pair.second, other.output.name);
                });
            if (counts && unit_of(cost, other.output.name) != unit) {
                return false;
            }
            read |= counts;
        }
        return read;
    }
    /// The tensor itself or its last state.
    static bool reads_state(const char* operand, const char* tensor) {
        return same(operand, tensor) ||
               (std::strncmp(operand, "last ", 5) == 0 && same(operand + 5, tensor));
    }

    // --- Baselines -----------------------------------------------------------------------------

    static Names from_dram(Phase phase) {
        return phase == Phase::qkv            ? Names{"XQ", "WQ", "XK", "WK", "WV", "BK", "BV"}
               : phase == Phase::attention    ? Names{"BK", "BV"}
               : phase == Phase::feed_forward ? Names{"WF1", "BF1", "WF2", "BF2"}
                                              : Names{};
    }

    /// FuseMax keeps a tile of queries in the buffer, with one head or with all.
    Nest query_tiles(const Rule& rule, bool array_2d) const {
        Nest nest;
        nest.in_dram = from_dram(rule.phase);
        nest.bypassed = {"SLN", "SPNV"};
        nest.units['P'] = rule.has('P') ? z_.r : 1;
        nest.units['N'] = rule.has('N') && array_2d ? z_.r : 1;
        nest.buffer['N'] = rule.has('N') && !array_2d ? z_.r : 1;
        nest.buffer['P'] = rule.has('P') ? rows_ : 1;
        nest.buffer['H'] = rule.has('H') ? heads_ : 1;
        for (const char letter : {'E', 'F'}) {
            nest.buffer[letter] = rule.has(letter) ? size_[letter] : 1;
        }
        return nest;
    }
    /// Part of what the buffer holds is spread over units instead.
    static void spread(Nest& nest, char letter, double units) {
        nest.units[letter] = units;
        nest.buffer[letter] /= units;
    }

    Nest projection(const Rule& rule) const {
        const char width = rule.has('E') ? 'E' : 'F';
        const auto [h, e] = heads_and_width(heads_, z_.E, z_.r);
        Nest nest = query_tiles(rule, true);
        spread(nest, 'H', h);
        spread(nest, width, e);
        nest.buffer['D'] = z_.D / static_cast<double>(tiles_.d);
        if (!fused_) {
            nest.buffer = {};
            nest.in_dram.push_back("Q");
        }
        rest_to_dram(rule, nest);
        return nest;
    }

    Nest fusemax_attention(const Rule& rule) const {
        static const Names on_2d = {"QK", "SLN", "SLD", "SLNV"};
        Nest nest = query_tiles(rule, contains(on_2d, rule.output.name));
        if (!fused_) {
            nest.in_dram = {"Q", "BK", "BV", "AV"};
        }
        rest_to_dram(rule, nest);
        return nest;
    }

    Nest unfused_attention(const Rule& rule) const {
        Nest nest;
        nest.in_dram = {"Q", "BK", "BV", "QK", "SM", "AV"};
        const bool product = rule.has('E') || rule.has('F');
        nest.units['P'] = product ? z_.r : 1;
        nest.units['N'] = rule.has('N') ? z_.r : 1;
        nest.buffer['M'] = !product && rule.has('M') ? size_['M'] : 1;
        rest_to_dram(rule, nest);
        return nest;
    }

    Nest flat_attention(const Rule& rule) const {
        Nest nest;
        nest.in_dram = {"Q", "BK", "BV", "AV"};
        nest.units['N'] = rule.has('N') ? z_.r : 1;
        if (rule.has('E')) {
            nest.units['P'] = z_.r;
            nest.buffer['P'] = rows_;
            nest.buffer['E'] = z_.E;
        } else if (rule.has('F')) {
            nest.buffer['P'] = rows_ * z_.r;
            nest.buffer['F'] = std::max(1.0, std::floor(z_.E / z_.r));
            nest.units['F'] = z_.E / nest.buffer['F'];
        } else {
            nest.buffer['M'] = rule.has('M') ? size_['M'] : 1;
        }
        rest_to_dram(rule, nest);
        return nest;
    }

    Nest norm(const Rule& rule) const {
        Nest nest = query_tiles(rule, false);
        if (rule.has('H') && rule.has('F')) {
            const auto [h, f] = heads_and_width(heads_, z_.E, std::floor(z_.l1 / z_.r));
            spread(nest, 'H', h);
            spread(nest, 'F', f);
        }
        if (!fused_) {
            nest.buffer = {};
            nest.in_dram = {"AV", "NR"};
        }
        rest_to_dram(rule, nest);
        return nest;
    }

    Nest feed_forward(const Rule& rule) const {
        const bool array_2d = !same(rule.output.name, "AR");
        Nest nest = query_tiles(rule, array_2d);
        if (fused_) {
            nest.buffer['S'] = hidden_tile_ * z_.r;
            spread(nest, 'S',
                   array_2d ? z_.r : divisor_of(nest.buffer['S'], std::floor(z_.l1 / z_.r)));
        } else {
            nest.buffer = {};
            nest.in_dram.push_back("NR");
            nest.in_dram.push_back("FFN2");
            nest.units['P'] = array_2d ? z_.r : z_.l1;
            nest.units['S'] = array_2d ? z_.r : 1;
        }
        rest_to_dram(rule, nest);
        return nest;
    }
    /// The largest divisor of n that divides `room`.
    static double divisor_of(double n, double room) {
        return heads_and_width(1, n, room).second;
    }

    /// Of the hidden units, in units of r: what fits beside the tiles of tokens, and whose largest
    /// Einsum fits by itself.
    double hidden_tile() const {
        const double rows = rows_ * z_.r, all = heads_ * z_.E;
        const double left = z_.L3 - 2 * all * (1 + 2 * rows) - 2 * z_.r;
        const double most = left / (2 * (rows + 2 * all + 1) * z_.r);
        const auto largest = [&](double s) {
            const double hidden = s * z_.r;
            return 2 *
                   std::max({all * hidden + all * rows + hidden + hidden * rows, 2 * hidden * rows,
                             all * hidden + hidden * rows + all + all * rows});
        };
        return std::min(largest_divisor(z_.S / z_.r, [&](double s) { return s <= most; }),
                        largest_divisor(z_.S, [&](double s) { return largest(s) < z_.L3; }));
    }

    Sizes z_;
    Method method_;
    OuterTiles tiles_;
    bool fused_;
    Factors size_;
    double heads_ = 1, rows_ = 1;  ///< that the buffer holds; rows in units of r
    double hidden_tile_ = 1;
};

}  // namespace

void add_buffer_words(const Problem& problem, Method method, Phase phase, const OuterTiles& tiles,
                      PhaseCost& cost) {
    const Nests nests(problem, method, tiles);
    const bool three =
        phase == Phase::attention && (method == Method::unfused || method == Method::flat);
    for (const Rule& rule : three ? three_pass_rules() : one_pass_rules()) {
        if (rule.phase != phase) {
            continue;
        }
        for (EinsumCost& one : cost.einsums) {
            if (one.name == rule.output.name) {
                const Words words = words_of(rule, nests.of(rule, cost));
                one.buffer_reads = words.reads;
                one.buffer_writes = words.writes;
            }
        }
    }
}

double buffer_energy_j(const Accelerator& accelerator, const PhaseCost& cost) {
    double sum = 0;
    for (const EinsumCost& one : cost.einsums) {
        sum += one.buffer_reads * accelerator.buffer_read_j +
               one.buffer_writes * accelerator.buffer_write_j;
    }
    return sum / buffer_line_words;
}

}  // namespace tessera::transfusion
