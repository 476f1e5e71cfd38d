// Templates that no other Einsum can meet, found before anything is explored. Of use only where
// loops have a prologue: which of them have one, and how long, must agree among all users of a
// tensor.
//   way        how a template treats a shared tensor, as far as all users have to do it alike
//   Semijoins  who offers which ways; a template that nobody can share goes, with its offers
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>

#include "../templates/open.hpp"

namespace tessera::ffm {
namespace {

using mapping::PmappingNode;

/// A loop above a shared tensor with a prologue: rank of the tensor, spatial dimension, bound,
/// base, prologue. Such loops are never null.
using Prologue = std::array<std::int64_t, 5>;

/// What all users of a tensor have in common: memory, rank and values of it that the line buffer
/// moves over, loops above it with a prologue.
using Way = std::tuple<std::int32_t, int, std::int64_t, std::vector<Prologue>>;

struct CompatibilityKey {
    std::size_t way = 0;
    std::int64_t prologue = 0;  ///< of a line buffer: how far its Einsum has come, or reads
};

/// What of a memory, loops and line-buffer decides whether two Einsums can share the tensor (J1,
/// J4).
Way way_of(const TemplateEntry& t, std::size_t holder, const mapspace::TabulateContext& table,
           std::int64_t& prologue) {
    const workload::EinsumView& e = t.path->einsum;
    const mapping::Pmapping& nodes = t.tmpl.nodes;
    const PmappingNode& h = nodes[holder];
    const workload::LocalTensor& tensor = e.tensors[static_cast<std::size_t>(h.tensor)];
    Way way{choice_of(table.component_of_level[static_cast<std::size_t>(h.level)], h.persistent),
            -1,
            0,
            {}};
    prologue = 0;
    if (h.persistent) {
        return way;
    }
    for (std::size_t i = 0; i < holder; ++i) {
        const PmappingNode& n = nodes[i];
        if (n.base > 0) {
            const auto v = static_cast<std::size_t>(n.rank_variable);
            std::get<3>(way).push_back({tensor.rank_of_variable[v],
                                        n.kind == mapping::NodeKind::spatial ? 1 : 0,
                                        e.rank_variables[v].bound, n.base, n.prologue});
        }
    }
    std::sort(std::get<3>(way).begin(), std::get<3>(way).end());
    if (h.line_buffer) {
        std::size_t below = holder + 1;
        while (!nodes[below].is_loop()) {
            ++below;
        }
        const PmappingNode& loop = nodes[below];
        for (const workload::Window& s : tensor.windows) {
            if (s.variable == loop.rank_variable) {
                std::get<1>(way) = s.rank;
                std::get<2>(way) = loop.base > 0 ? s.factor * loop.base : s.base;
                prologue = s.factor * loop.prologue + (tensor.output ? 0 : s.need);
            }
        }
    }
    return way;
}

class Semijoins {
public:
    Semijoins(const ExploreContext& c, const std::vector<EinsumSpace>& spaces)
        : spaces_(spaces), alive_(spaces.size()), ways_(spaces.size()) {
        for (std::size_t e = 0; e < spaces.size(); ++e) {
            alive_[e].assign(spaces[e].templates->size(), 1);
            if (spaces[e].same == e) {
                describe(c, e);
            }
        }
    }

    /// True if any template is alone; `alone[e]` of distinct Einsums then says which.
    bool run(std::vector<std::vector<char>>& alone) {
        while (pass()) {
        }
        alone.assign(spaces_.size(), {});
        for (std::size_t e = 0; e < spaces_.size(); ++e) {
            if (spaces_[e].same == e) {
                alone[e].assign(alive_[e].size(), 1);
            }
            std::vector<char>& own = alone[spaces_[e].same];
            bool any = false;
            for (std::size_t i = 0; i < own.size(); ++i) {
                own[i] = own[i] && !alive_[e][i];  // of use for one of the equal Einsums
                any = any || alive_[e][i];
            }
            if (!any) {
                return false;  // no mapping at all: the join says why
            }
        }
        return true;
    }

private:
    /// One way to treat a tensor as one Einsum offers it.
    struct Offer {
        bool writes = false;
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        std::int64_t most = std::numeric_limits<std::int64_t>::min();
    };
    using Key = std::pair<int, std::size_t>;  ///< tensor, way

    const workload::EinsumView& view(std::size_t e) const {
        return spaces_[e].paths.front()->einsum;
    }

    void describe(const ExploreContext& c, std::size_t e) {
        std::vector<mapspace::TabulateContext> tables;
        for (const auto& path : spaces_[e].paths) {
            tables.push_back(table_context(c, *path));
        }
        const std::size_t n = view(e).tensors.size();
        for (const TemplateEntry& t : *spaces_[e].templates) {
            std::vector<CompatibilityKey> all(n);
            for (std::size_t i = 0; i < t.tmpl.nodes.size(); ++i) {
                const PmappingNode& node = t.tmpl.nodes[i];
                if (!node.backing || node.tensor < 0) {
                    continue;
                }
                CompatibilityKey& own = all[static_cast<std::size_t>(node.tensor)];
                const Way way =
                    way_of(t, i, tables[static_cast<std::size_t>(t.path_index)], own.prologue);
                own.way = known_.try_emplace(way, known_.size()).first->second;
            }
            ways_[e].push_back(std::move(all));
        }
    }

    const CompatibilityKey& compatibility_key(std::size_t e, std::size_t i, std::size_t t) const {
        return ways_[spaces_[e].same][i][t];
    }

    std::map<Key, std::map<std::size_t, Offer>> offers() const {
        std::map<Key, std::map<std::size_t, Offer>> out;
        for (std::size_t e = 0; e < spaces_.size(); ++e) {
            for (std::size_t t = 0; t < view(e).tensors.size(); ++t) {
                const workload::LocalTensor& tensor = view(e).tensors[t];
                for (std::size_t i = 0; tensor.fusable && i < alive_[e].size(); ++i) {
                    if (!alive_[e][i]) {
                        continue;
                    }
                    const CompatibilityKey& own = compatibility_key(e, i, t);
                    Offer& offer = out[{tensor.tensor, own.way}][e];
                    offer.writes = tensor.output;
                    offer.least = std::min(offer.least, own.prologue);
                    offer.most = std::max(offer.most, own.prologue);
                }
            }
        }
        return out;
    }

    /// Drops templates for which some user of a tensor offers nothing. True if there were any.
    bool pass() {
        const std::map<Key, std::map<std::size_t, Offer>> all = offers();
        std::map<int, std::size_t> users;
        for (std::size_t e = 0; e < spaces_.size(); ++e) {
            for (const workload::LocalTensor& tensor : view(e).tensors) {
                ++users[tensor.tensor];
            }
        }
        bool dropped = false;
        for (std::size_t e = 0; e < spaces_.size(); ++e) {
            for (std::size_t i = 0; i < alive_[e].size(); ++i) {
                for (std::size_t t = 0; alive_[e][i] && t < view(e).tensors.size(); ++t) {
                    const workload::LocalTensor& tensor = view(e).tensors[t];
                    if (!tensor.fusable) {
                        continue;
                    }
                    const CompatibilityKey& own = compatibility_key(e, i, t);
                    const auto& offered = all.at({tensor.tensor, own.way});
                    const bool met =
                        offered.size() == users.at(tensor.tensor) &&
                        std::all_of(offered.begin(), offered.end(), [&](auto& o) {
                            return serves(o.second, tensor.output, own.prologue) || o.first == e;
                        });
                    alive_[e][i] = met ? 1 : 0;
                    dropped = dropped || !met;
                }
            }
        }
        return dropped;
    }

    /// A reader reaches no further than the writer has come.
    static bool serves(const Offer& other, bool writes, std::int64_t prologue) {
        return writes ? other.writes || other.least <= prologue
                      : !other.writes || other.most >= prologue;
    }

    const std::vector<EinsumSpace>& spaces_;
    std::vector<std::vector<char>> alive_;  ///< by Einsum and template
    std::vector<std::vector<std::vector<CompatibilityKey>>>
        ways_;  ///< by distinct Einsum, template, tensor
    std::map<Way, std::size_t> known_;
};

bool runs_prologue(const TemplateEntry& t) {
    return std::any_of(t.tmpl.nodes.begin(), t.tmpl.nodes.end(),
                       [](const PmappingNode& n) { return n.base > 0 || n.line_buffer; });
}

}  // namespace

void mark_unmatched(const ExploreContext& c, std::vector<EinsumSpace>& spaces) {
    const bool any = std::any_of(spaces.begin(), spaces.end(), [](const EinsumSpace& s) {
        return std::any_of(s.templates->begin(), s.templates->end(), runs_prologue);
    });
    std::vector<std::vector<char>> alone;
    if (!any || !Semijoins(c, spaces).run(alone)) {
        return;
    }
    for (std::size_t e = 0; e < spaces.size(); ++e) {
        for (std::size_t i = 0; i < alone[e].size(); ++i) {
            (*spaces[e].templates)[i].unmatched = alone[e][i] != 0;
        }
    }
}

}  // namespace tessera::ffm
