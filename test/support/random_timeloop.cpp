#include "support/random_timeloop.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>

namespace tessera::testing {

namespace {

using namespace timeloop;
using Random = std::mt19937_64;

std::int64_t pick(Random& random, std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

bool chance(Random& random, double share) {
    return std::uniform_real_distribution<double>(0, 1)(random) < share;
}

template <class T>
T one_of(Random& random, std::initializer_list<T> values) {
    return *(values.begin() + pick(random, 0, static_cast<std::int64_t>(values.size()) - 1));
}

struct Shape {
    const char* dimensions;
    /// Data spaces separated by blanks; ranks by commas; terms by plus, a digit is a coefficient's
    /// number; `!` marks outputs.
    const char* spaces;
};

const Shape shapes[] = {
    {"MKN", "A:M,K B:K,N !Z:M,N"},
    {"RPCK", "W:K,C,R I:C,P1+R2 !O:K,P"},
    {"RSPQCKN", "W:K,C,R,S I:N,C,P1+R2,Q3+S4 !O:N,K,P,Q"},
    {"CMRSPQ", "W:C,M,R,S I:C,R+P,S+Q !O:M,Q,P"},
    {"IJKL", "A:I,K,L B:K,J C:L,J !Z:I,J"},
    {"BHMNE", "Q:B,H,M,E K:B,H,N,E !S:B,H,M,N"},
    {"RPC", "W:C,R I:C,P1+R !O:C,P"},
};

Problem random_problem(Random& random) {
    const Shape& shape = shapes[pick(random, 0, std::size(shapes) - 1)];
    Problem problem;
    problem.name = "random";
    const std::string dimensions = shape.dimensions;
    const std::int64_t largest = dimensions.size() > 5 ? 8 : dimensions.size() > 3 ? 16 : 36;
    for (char name : dimensions) {
        const std::int64_t bound = chance(random, 0.1) ? 1 : pick(random, 2, largest);
        problem.dimensions.push_back({std::string(1, name), bound});
    }
    std::istringstream spaces(shape.spaces);
    for (std::string text; spaces >> text;) {
        DataSpace space;
        space.read_write = text[0] == '!';
        text.erase(0, space.read_write ? 1 : 0);
        space.name = text.substr(0, text.find(':'));
        std::istringstream ranks(text.substr(text.find(':') + 1));
        for (std::string rank; std::getline(ranks, rank, ',');) {
            space.ranks.emplace_back();
            std::istringstream terms(rank);
            for (std::string term; std::getline(terms, term, '+');) {
                std::int64_t value = term.size() > 1 ? pick(random, 1, 3) : 1;
                value *= term.size() > 1 && chance(random, 0.1) ? -1 : 1;
                int name = -1;
                if (value != 1) {
                    name = static_cast<int>(problem.coefficients.size());
                    problem.coefficients.push_back({"c" + std::to_string(name), value});
                }
                space.ranks.back().push_back(
                    {problem.find_dimension(term.substr(0, 1)), value, name});
            }
        }
        problem.data_spaces.push_back(space);
    }
    return problem;
}

std::optional<double> maybe(Random& random, double share, std::initializer_list<double> values) {
    return chance(random, share) ? std::optional(one_of(random, values)) : std::nullopt;
}

StorageLevel random_level(Random& random, int index, bool top, const TimeloopCaseOptions& options) {
    StorageLevel level;
    level.name = "L" + std::to_string(index);
    level.word_bits = one_of<std::int64_t>(random, {8, 16, 16, 32, 12});
    level.block_size = one_of<std::int64_t>(random, {1, 1, 2, 4, 3});
    level.cluster_size = 1;
    if (top && chance(random, 0.8)) {
        level.technology = Technology::dram;
        if (chance(random, 0.3)) {
            level.reduction_supported = chance(random, 0.5);
        }
    } else {
        level.size = options.finite ? pick(random, 4, 4000) : 1 << 24;
        if (chance(random, 0.2)) {
            level.multiple_buffering = one_of(random, {2.0, 1.5});
        }
        if (chance(random, 0.1)) {
            level.reduction_supported = chance(random, 0.5);
        }
    }
    level.read_bandwidth = maybe(random, 0.3, {0.5, 1, 2, 4, 0.3});
    level.write_bandwidth = maybe(random, 0.3, {0.5, 1, 2, 4, 0.7});
    level.shared_bandwidth = maybe(random, 0.2, {1, 2, 4, 0.9});
    if (chance(random, 0.2)) {
        level.addr_gen_energy_pj = one_of(random, {0.0, 0.25, 1.1});
    }
    if (chance(random, 0.2)) {
        level.energy.source = "user";
        level.energy.vector_access_pj = one_of(random, {0.37, 2.5, 11.0});
        level.energy.read_pj = level.energy.fill_pj = level.energy.update_pj =
            level.energy.vector_access_pj;
    }
    if (options.networks) {
        level.network.energy_per_hop_pj = maybe(random, 0.4, {0.1, 0.5, 0.13});
        level.network.router_energy_pj = maybe(random, 0.3, {0.5, 0.07});
        level.network.energy_per_ingress_pj = maybe(random, 0.2, {0.25, 1});
        level.network.wire_energy_pj_per_bit_mm = maybe(random, 0.2, {0.3});
        level.network.tile_width_um = maybe(random, 0.3, {100, 250});
        level.area_um2 = chance(random, 0.3) ? 1000 : 0;
    }
    if (chance(random, 0.1)) {
        level.network.fill_latency = pick(random, 0, 20);
        level.network.drain_latency = pick(random, 0, 20);
    }
    return level;
}

Architecture random_architecture(Random& random, const TimeloopCaseOptions& options) {
    Architecture architecture;
    const int levels = static_cast<int>(pick(random, 1, options.most_levels));
    std::int64_t x = 1, y = 1;
    int fanouts = 0;
    std::vector<StorageLevel> outermost_first;
    for (int i = levels - 1; i >= 0; --i) {
        StorageLevel level = random_level(random, i, i == levels - 1, options);
        level.mesh_x = x;
        level.mesh_y = y;
        level.instances = x * y;
        if (level.technology == Technology::sram && chance(random, 0.2)) {
            for (std::int64_t cluster : {2, 3, 4}) {
                level.cluster_size = level.instances % cluster == 0 ? cluster : level.cluster_size;
            }
        }
        outermost_first.push_back(level);
        if (fanouts < 3 && chance(random, 0.5)) {
            x *= pick(random, 1, 5);
            y *= pick(random, 1, 4);
            ++fanouts;
        }
    }
    architecture.storage.assign(outermost_first.rbegin(), outermost_first.rend());
    architecture.arithmetic.mesh_x = x;
    architecture.arithmetic.mesh_y = y;
    architecture.arithmetic.instances = x * y;
    architecture.arithmetic.word_bits = one_of<std::int64_t>(random, {8, 16, 24});
    apply_default_energies(architecture);
    return architecture;
}

std::int64_t room(const Architecture& architecture, const Mapping& mapping, int level,
                  bool along_x) {
    const Expansion used = expansion(mapping.levels[level].spatial);
    return along_x ? architecture.fanout_x(level) / used.x : architecture.fanout_y(level) / used.y;
}

/// Puts a divisor of `rest` (imperfect: any number) into the spatial block of `level`.
std::int64_t spatial_factor(Random& random, std::int64_t rest, std::int64_t room, bool imperfect) {
    std::vector<std::int64_t> options;
    for (std::int64_t f = 1; f <= std::min(rest, room); ++f) {
        if (imperfect || rest % f == 0) {
            options.push_back(f);
        }
    }
    return options[pick(random, 0, static_cast<std::int64_t>(options.size()) - 1)];
}

void factorise(Random& random, const Problem& problem, const Architecture& architecture,
               int dimension, bool imperfect, Mapping& mapping) {
    // Innermost first: what is left is split again; residuals follow from the outermost inwards.
    std::int64_t rest = problem.dimensions[dimension].bound;
    std::vector<Factor*> slots;
    for (int i = 0; i < architecture.levels(); ++i) {
        LevelMapping& level = mapping.levels[i];
        const auto& order = level.spatial.permutation;
        const auto at = std::find(order.begin(), order.end(), dimension) - order.begin();
        const bool odd = imperfect && chance(random, 0.4);
        std::int64_t f = 1;
        if (chance(random, 0.7)) {
            f = spatial_factor(random, rest,
                               room(architecture, mapping, i, at < level.spatial.split), odd);
        }
        level.spatial.factors[dimension].end = f;
        rest = (rest + f - 1) / f;
        slots.push_back(&level.spatial.factors[dimension]);
        const bool last = i + 1 == architecture.levels();
        f = last ? rest : chance(random, 0.6) ? spatial_factor(random, rest, rest, odd) : 1;
        level.temporal.factors[dimension].end = f;
        rest = (rest + f - 1) / f;
        slots.push_back(&level.temporal.factors[dimension]);
    }
    // The bound minus one in the mixed radix of the ends gives the residuals.
    std::int64_t last = problem.dimensions[dimension].bound - 1;
    for (Factor* slot : slots) {
        slot->residual = last % slot->end + 1;
        last /= slot->end;
    }
}

}  // namespace

Mapping random_timeloop_mapping(Random& random, const Problem& problem,
                                const Architecture& architecture,
                                const TimeloopCaseOptions& options) {
    Mapping mapping = empty_mapping(problem, architecture);
    const bool imperfect = chance(random, options.imperfect);
    const bool bypasses = chance(random, 0.7);
    const std::int64_t dimensions = static_cast<std::int64_t>(problem.dimensions.size());
    for (int i = 0; i < architecture.levels(); ++i) {
        LevelMapping& level = mapping.levels[i];
        std::shuffle(level.spatial.permutation.begin(), level.spatial.permutation.end(), random);
        std::shuffle(level.temporal.permutation.begin(), level.temporal.permutation.end(), random);
        level.spatial.split = static_cast<int>(pick(random, 0, dimensions));
        for (std::size_t s = 0; bypasses && s < problem.data_spaces.size(); ++s) {
            const bool top = i + 1 == architecture.levels();
            if (chance(random, top ? 0.05 : 0.35)) {
                level.keep &= ~(DataSpaceMask{1} << s);
            }
        }
        const auto some = [&](double share) {
            const auto mask = static_cast<DataSpaceMask>(pick(random, 1, 7));
            return options.reuse_limits && chance(random, share)
                       ? mask & ((DataSpaceMask{1} << problem.data_spaces.size()) - 1)
                       : DataSpaceMask{0};
        };
        level.no_temporal_reuse = some(0.2);
        if (architecture.fanout(i) > 1) {
            level.no_link_transfer = some(0.3);
            level.no_multicast_no_reduction = some(0.3);
        }
    }
    for (std::size_t s = 0; s < problem.data_spaces.size(); ++s) {
        bool kept = false;
        for (const LevelMapping& level : mapping.levels) {
            kept = kept || level.keeps(static_cast<int>(s));
        }
        if (!kept) {
            mapping.levels.back().keep |= DataSpaceMask{1} << s;
        }
    }
    std::vector<int> order(dimensions);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (int d : order) {
        factorise(random, problem, architecture, d, imperfect, mapping);
    }
    return mapping;
}

TimeloopCase random_timeloop_case(Random& random, const TimeloopCaseOptions& options) {
    TimeloopCase c;
    c.problem = random_problem(random);
    c.architecture = random_architecture(random, options);
    c.mapping = random_timeloop_mapping(random, c.problem, c.architecture, options);
    return c;
}

void let_leak(Architecture& architecture) {
    for (StorageLevel& level : architecture.storage) {
        level.energy.leak_pj = 0.03;
    }
    architecture.storage.front().power_gated_at = architecture.storage.back().name;
}

}  // namespace tessera::testing
