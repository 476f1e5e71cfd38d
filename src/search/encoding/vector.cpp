// Points as vectors. Map:
//   vector_look.hpp  what a template looks like: names and values
//   nearest_tile()   tile shapes, loop by loop from the outside in
//   Impl             the layout; Templates: where each number of an Einsum stands in it; Other: of
//                    spaces that say so themselves
#include "tessera/search/vector.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "search/other_space.hpp"
#include "search/space_data.hpp"
#include "tessera/base/error.hpp"
#include "tessera/workload/workload.hpp"
#include "vector_look.hpp"

namespace tessera::search {

namespace {

constexpr float absent_place = -0.5F;
// How much a difference counts when the nearest template is looked for: a holder too many or too
// few as much as 1, a place that is off by the whole nest as much as 2, a loop that the template
// has not as much as 1 for every 4 of its log2 trip count.
constexpr float weight_of_flag = 1, weight_of_place = 4, weight_of_absent_loop = 1.0F / 16;

const OpenSpace& opened(const Space& space) {
    const auto* open = dynamic_cast<const OpenSpace*>(&space);
    if (open == nullptr) {
        throw Bug("a vector encoding of a space that the host did not open");
    }
    return *open;
}

bool is_place(const std::string& name) {
    return name.starts_with("place ");
}
bool is_loop(const std::string& name) {
    return name.starts_with("trips ") || name.starts_with("spread ");
}

/// The value nearest to the target by ratio that may follow `outer`.
std::int64_t nearest_tile(const TemplateData& t, int symbol, std::int64_t outer,
                          double log_target) {
    const auto s = static_cast<std::size_t>(symbol);
    const mapspace::TileShapeSymbol& own = t.symbols[s];
    std::int64_t best = outer;
    double least = std::abs(std::log2(static_cast<double>(outer)) - log_target);
    const auto consider = [&](std::int64_t tile) {
        const double far = std::abs(std::log2(static_cast<double>(tile)) - log_target);
        if (far < least) {
            least = far;
            best = tile;
        }
    };
    if (own.choice == mapspace::TileChoice::partial_outermost && outer == own.bound) {
        for (const double tile : t.partial_tiles[s]) {
            consider(static_cast<std::int64_t>(tile));
        }
        return best;
    }
    const bool of_bound = own.choice == mapspace::TileChoice::divisors;
    if (!of_bound && own.choice != mapspace::TileChoice::divisors_of_outer &&
        own.choice != mapspace::TileChoice::partial_outermost) {
        return outer;
    }
    for (std::int64_t d = 1; d * d <= outer; ++d) {
        if (outer % d == 0) {
            for (const std::int64_t tile : {outer / d, d}) {
                if (!of_bound || own.bound % tile == 0) {
                    consider(tile);
                }
            }
        }
    }
    return best;
}

}  // namespace

/// The layout, and how points are numbers in it.
struct VectorEncoding::Impl {
    struct Templates;
    struct Other;

    virtual ~Impl() = default;
    virtual void encode(const Point& point, std::span<float> vector) const = 0;
    virtual void decode(std::span<const float> vector, Point& point) const = 0;

    /// Places every number of the space in the layout.
    void place_own(std::vector<std::string> names) {
        layout = std::move(names);
        for (std::size_t i = 0; i < layout.size(); ++i) {
            slot_of.emplace(layout[i], i);
        }
        for (std::size_t i = 0; i < own.size(); ++i) {
            const bool is_bound = i < n_bounds;
            const auto found = slot_of.find(own[i]);
            if (found == slot_of.end() || (is_bound && found->second != i)) {
                throw UserError("vectors of this family have no number '" + own[i] +
                                "', which mappings of this problem need");
            }
        }
        for (const std::string& name : layout) {
            pad.push_back(padding(name));
        }
    }

    std::vector<std::string> own;
    std::size_t n_bounds = 0;
    std::vector<std::string> layout;
    std::vector<float> pad;
    std::unordered_map<std::string, std::size_t> slot_of;
};

/// A space that says itself what its numbers are.
struct VectorEncoding::Impl::Other : Impl {
    Other(const VectorSpace& described, const std::vector<std::string>* names) : space(described) {
        own = space.numbers();
        n_bounds = space.n_bounds();
        place_own(names != nullptr ? *names : own);
        for (const std::string& name : own) {
            slots.push_back(slot_of.at(name));
        }
    }

    void encode(const Point& point, std::span<float> vector) const override {
        std::vector<float> numbers(own.size());
        space.to_numbers(point, numbers);
        std::copy(pad.begin(), pad.end(), vector.begin());
        for (std::size_t i = 0; i < own.size(); ++i) {
            vector[slots[i]] = numbers[i];
        }
    }
    void decode(std::span<const float> vector, Point& point) const override {
        std::vector<float> numbers;
        for (const std::size_t slot : slots) {
            const float value = vector[slot];
            numbers.push_back(std::isfinite(value) ? value : 0.0F);
        }
        space.from_numbers(numbers, point);
    }

    const VectorSpace& space;
    std::vector<std::size_t> slots;  ///< of its own numbers in the layout
};

struct VectorEncoding::Impl::Templates : Impl {
    struct Code {
        std::vector<float> values, weights;  ///< per number of the Einsum
        std::vector<VectorLoop> loops;       ///< slot: in the layout
    };
    struct EinsumCode {
        std::vector<std::size_t> slots;  ///< of its numbers in the layout, without `way`
        std::vector<Code> templates;
        int way = -1;
    };

    Templates(const Space& space, const std::vector<std::string>* names)
        : data(opened(space).data()), n_orders(space.n_orders()) {
        for (const workload::RankVariable& v : data.problem.workload->rank_variables) {
            bounds.push_back(std::log2(static_cast<float>(v.bound)));
            own.push_back("bound " + v.name);
        }
        std::unordered_map<std::string, bool> known;
        const auto add = [&](const std::string& name) {
            if (known.emplace(name, true).second) {
                own.push_back(name);
            }
        };
        for (std::size_t e = 0; e < data.einsums.size(); ++e) {
            looks.emplace_back();
            for (const TemplateData& t : data.einsums[e].templates) {
                looks.back().push_back(look_of(t));
                for (const auto& [name, value] : looks.back().back().fixed) {
                    add(name);
                }
                for (const VectorLoop& loop : looks.back().back().loops) {
                    add(loop.name);
                }
            }
            if (e > 0 || n_orders > 1) {
                add(way_name(e));
            }
        }
        if (n_orders > 1) {
            add("order");
        }
        n_bounds = bounds.size();
        place_own(names != nullptr ? *names : own);
        for (std::size_t e = 0; e < looks.size(); ++e) {
            add_einsum(e);
        }
        order = n_orders > 1 ? static_cast<int>(slot_of.at("order")) : -1;
        looks.clear();
    }

    void encode(const Point& point, std::span<float> vector) const override;
    void decode(std::span<const float> vector, Point& point) const override;

    std::string way_name(std::size_t e) const {
        return "way " + data.problem.workload->einsums[e].name;
    }

    void add_einsum(std::size_t e) {
        EinsumCode code;
        std::unordered_map<std::string, std::size_t> numbers;
        for (const Look& look : looks[e]) {
            const auto add = [&](const std::string& name) {
                if (numbers.emplace(name, code.slots.size()).second) {
                    code.slots.push_back(slot_of.at(name));
                }
            };
            for (const auto& [name, value] : look.fixed) {
                add(name);
            }
            for (const VectorLoop& loop : look.loops) {
                add(loop.name);
            }
        }
        for (Look& look : looks[e]) {
            Code t;
            for (const std::size_t slot : code.slots) {
                const std::string& name = layout[slot];
                t.values.push_back(pad[slot]);
                t.weights.push_back(is_place(name)  ? weight_of_place
                                    : is_loop(name) ? weight_of_absent_loop
                                                    : weight_of_flag);
            }
            for (const auto& [name, value] : look.fixed) {
                t.values[numbers.at(name)] = value;
            }
            for (VectorLoop& loop : look.loops) {
                t.weights[numbers.at(loop.name)] = 0;
                loop.slot = slot_of.at(loop.name);
            }
            t.loops = std::move(look.loops);
            code.templates.push_back(std::move(t));
        }
        code.way = e > 0 || n_orders > 1 ? static_cast<int>(slot_of.at(way_name(e))) : -1;
        einsums.push_back(std::move(code));
    }

    std::uint32_t nearest_template(const EinsumCode& einsum, std::span<const float> vector) const {
        std::vector<float> wanted;
        wanted.reserve(einsum.slots.size());
        for (const std::size_t slot : einsum.slots) {
            wanted.push_back(std::isfinite(vector[slot]) ? vector[slot] : 0.0F);
        }
        std::uint32_t best = 0;
        float least = std::numeric_limits<float>::infinity();
        for (std::size_t i = 0; i < einsum.templates.size(); ++i) {
            const float* const values = einsum.templates[i].values.data();
            const float* const weights = einsum.templates[i].weights.data();
            float sum = 0;
            for (std::size_t k = 0; k < wanted.size() && sum < least; ++k) {
                const float off = wanted[k] - values[k];
                sum += weights[k] * off * off;
            }
            if (sum < least) {
                least = sum;
                best = static_cast<std::uint32_t>(i);
            }
        }
        return best;
    }

    void add_tiles(const TemplateData& t, const Code& code, std::span<const float> vector,
                   std::vector<std::int64_t>& tiles) const;

    const OpenSpace::Data& data;
    const std::uint32_t n_orders;
    int order = -1;  ///< slot
    std::vector<float> bounds;
    std::vector<std::vector<Look>> looks;  ///< while it is made
    std::vector<EinsumCode> einsums;
};

void VectorEncoding::Impl::Templates::add_tiles(const TemplateData& t, const Code& code,
                                                std::span<const float> vector,
                                                std::vector<std::int64_t>& tiles) const {
    const std::size_t at = tiles.size(), n = t.path->einsum.rank_variables.size();
    tiles.resize(at + t.symbols.size(), 1);
    const auto wanted = [&](const VectorLoop& loop) {
        const float value = vector[loop.slot];
        return std::isfinite(value) ? std::max<double>(value, 0) : 0.0;
    };
    // The trip counts of a variable's loops multiply to its bound: what is asked for too much or
    // too little is shared out among them.
    std::vector<double> sum(n, 0), loops(n, 0), log_tile(n, 0);
    std::vector<std::int64_t> outer(n, 1);
    for (std::size_t v = 0; v < n; ++v) {
        outer[v] = t.extents[v];
        log_tile[v] = std::log2(static_cast<double>(outer[v]));
    }
    for (const VectorLoop& loop : code.loops) {
        sum[static_cast<std::size_t>(loop.variable)] += wanted(loop);
        loops[static_cast<std::size_t>(loop.variable)] += 1;
    }
    for (const VectorLoop& loop : code.loops) {
        const auto v = static_cast<std::size_t>(loop.variable);
        const double whole = std::log2(static_cast<double>(t.extents[loop.variable]));
        const double share = wanted(loop) + (whole - sum[v]) / loops[v];
        log_tile[v] = std::max(0.0, log_tile[v] - std::max(0.0, share));
        if (loop.symbol < 0) {
            outer[v] = 1;
            continue;
        }
        outer[v] = nearest_tile(t, loop.symbol, outer[v], log_tile[v]);
        tiles[at + static_cast<std::size_t>(loop.symbol)] = outer[v];
    }
}

std::unique_ptr<VectorEncoding::Impl> VectorEncoding::made(const Space& space,
                                                           const std::vector<std::string>* names) {
    if (const auto* other = dynamic_cast<const VectorSpace*>(&space)) {
        return std::make_unique<Impl::Other>(*other, names);
    }
    return std::make_unique<Impl::Templates>(space, names);
}

VectorEncoding::VectorEncoding(const Space& space) : impl_(made(space, nullptr)) {}

VectorEncoding::VectorEncoding(const Space& space, std::vector<std::string> layout)
    : impl_(made(space, &layout)) {}

VectorEncoding::~VectorEncoding() = default;
VectorEncoding::VectorEncoding(VectorEncoding&&) noexcept = default;
VectorEncoding& VectorEncoding::operator=(VectorEncoding&&) noexcept = default;

const std::vector<std::string>& VectorEncoding::layout() const {
    return impl_->layout;
}

std::size_t VectorEncoding::n_problem() const {
    return impl_->n_bounds;
}

void VectorEncoding::encode(const Point& point, std::span<float> vector) const {
    impl_->encode(point, vector);
}

void VectorEncoding::decode(std::span<const float> vector, Point& point) const {
    impl_->decode(vector, point);
}

void VectorEncoding::Impl::Templates::encode(const Point& point, std::span<float> vector) const {
    std::copy(pad.begin(), pad.end(), vector.begin());
    std::copy(bounds.begin(), bounds.end(), vector.begin());
    if (order >= 0) {
        vector[static_cast<std::size_t>(order)] =
            static_cast<float>(point.order) / static_cast<float>(n_orders - 1);
    }
    std::size_t at = 0;
    for (std::size_t e = 0; e < einsums.size(); ++e) {
        const EinsumCode& einsum = einsums[e];
        const Choice& choice = point.choices[e];
        const TemplateData& t = data.einsums[e].templates[choice.tmpl];
        const Code& code = einsum.templates[choice.tmpl];
        for (std::size_t k = 0; k < einsum.slots.size(); ++k) {
            vector[einsum.slots[k]] = code.values[k];
        }
        if (einsum.way >= 0) {
            vector[static_cast<std::size_t>(einsum.way)] = static_cast<float>(choice.join);
        }
        std::vector<std::int64_t> outer = t.extents;
        for (const VectorLoop& loop : code.loops) {
            std::int64_t& around = outer[static_cast<std::size_t>(loop.variable)];
            const std::int64_t tile =
                loop.symbol < 0 ? 1 : point.tiles[at + static_cast<std::size_t>(loop.symbol)];
            vector[loop.slot] = std::log2(static_cast<float>(around) / static_cast<float>(tile));
            around = tile;
        }
        at += t.symbols.size();
    }
}

void VectorEncoding::Impl::Templates::decode(std::span<const float> vector, Point& point) const {
    point.choices.clear();
    point.tiles.clear();
    point.order = 0;
    if (order >= 0) {
        const float share = vector[static_cast<std::size_t>(order)];
        point.order = static_cast<std::uint32_t>(
            std::lround((std::isfinite(share) ? std::clamp(share, 0.0F, 1.0F) : 0.0F) *
                        static_cast<float>(n_orders - 1)));
    }
    for (std::size_t e = 0; e < einsums.size(); ++e) {
        const EinsumCode& einsum = einsums[e];
        Choice choice;
        choice.tmpl = nearest_template(einsum, vector);
        if (einsum.way >= 0) {
            const float way = vector[static_cast<std::size_t>(einsum.way)];
            choice.join = std::isfinite(way)
                              ? static_cast<std::uint32_t>(std::lround(std::clamp(way, 0.0F, 1e6F)))
                              : 0;
        }
        point.choices.push_back(choice);
        add_tiles(data.einsums[e].templates[choice.tmpl], einsum.templates[choice.tmpl], vector,
                  point.tiles);
    }
}

void join_layouts(std::vector<std::string>& layout, const std::vector<std::string>& more) {
    const auto bounds = [](const std::vector<std::string>& names) {
        std::size_t n = 0;
        while (n < names.size() && names[n].starts_with("bound ")) {
            ++n;
        }
        return n;
    };
    const std::size_t n = bounds(layout);
    const auto end_of_bounds = more.begin() + static_cast<std::ptrdiff_t>(bounds(more));
    if (bounds(more) != n || !std::equal(more.begin(), end_of_bounds, layout.begin())) {
        throw UserError("problems with different rank variables are no family");
    }
    std::unordered_map<std::string, bool> known;
    for (const std::string& name : layout) {
        known.emplace(name, true);
    }
    for (const std::string& name : more) {
        if (known.emplace(name, true).second) {
            layout.push_back(name);
        }
    }
}

float padding(const std::string& name) {
    return is_place(name) ? absent_place : 0.0F;
}

Outcome project(SpaceWorker& worker, const VectorEncoding& encoding, std::span<const float> vector,
                std::uint64_t seed, Point& point) {
    encoding.decode(vector, point);
    const Outcome repaired = worker.repair(seed, point);
    if (repaired.legal()) {
        return repaired;
    }
    constexpr std::uint64_t draws = 16;
    Outcome best = repaired;
    Point drawn;
    std::vector<float> own(encoding.size());
    double least = std::numeric_limits<double>::infinity();
    for (std::uint64_t i = 0; i < draws; ++i) {
        const Outcome outcome = worker.draw(stream_seed(seed, i), drawn);
        if (!outcome.legal()) {
            break;  // it has tried thousands
        }
        encoding.encode(drawn, own);
        double sum = 0;
        for (std::size_t k = 0; k < own.size(); ++k) {
            const double off = std::isfinite(vector[k]) ? own[k] - vector[k] : own[k];
            sum += off * off;
        }
        if (sum < least) {
            least = sum;
            point = drawn;
            best = outcome;
        }
    }
    return best;
}

}  // namespace tessera::search
