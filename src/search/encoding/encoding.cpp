#include "encoding.hpp"

#include <algorithm>

namespace tessera::search {

namespace {

using mapping::PmappingNode;

/// A pmapping as it is taken apart: its front is a block of holders or of loops.
class Rest {
public:
    Rest(const arch::Path& path, const mapping::Pmapping& nodes) {
        std::vector<std::int64_t> tiles = path.einsum.bounds();
        for (const PmappingNode& n : nodes) {
            if (n.is_loop()) {
                std::int64_t& outer = tiles[static_cast<std::size_t>(n.rank_variable)];
                if (n.base == 0 && n.tile == outer) {
                    continue;  // a null loop
                }
                outer = n.tile;
            }
            if (n.is_loop() || n.is_holder()) {
                nodes_.push_back(n);
            }
        }
    }

    bool empty() const {
        return nodes_.empty();
    }

    /// Takes the first node of the front block that is as `n`; null: there is none.
    const PmappingNode* take(const PmappingNode& n) {
        // A line buffer moves with the loop right below it.
        const std::size_t most = taken_.line_buffer && n.is_loop() ? 1 : nodes_.size();
        for (std::size_t i = 0; i < std::min(most, nodes_.size()); ++i) {
            if (nodes_[i].is_loop() != n.is_loop()) {
                break;
            }
            if (alike(nodes_[i], n)) {
                taken_ = nodes_[i];
                nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(i));
                return &taken_;
            }
        }
        return nullptr;
    }

private:
    static bool alike(const PmappingNode& a, const PmappingNode& b) {
        if (a.kind != b.kind) {
            return false;
        }
        return a.is_loop() ? a.rank_variable == b.rank_variable && a.prologue == b.prologue &&
                                 a.base == b.base &&
                                 (a.kind != mapping::NodeKind::spatial ||
                                  (a.level == b.level && a.dim == b.dim))
                           : a.tensor == b.tensor && a.level == b.level &&
                                 a.persistent == b.persistent && a.line_buffer == b.line_buffer;
    }

    mapping::Pmapping nodes_;
    PmappingNode taken_;
};

}  // namespace

bool tiles_of(const TemplateData& t, const mapping::Pmapping& nodes,
              std::vector<std::int64_t>& tiles) {
    Rest rest(*t.path, nodes);
    tiles.assign(t.symbols.size(), 1);
    std::vector<std::int64_t> outer = t.extents;
    for (const PmappingNode& n : t.tmpl.nodes) {
        if (n.is_holder()) {
            if (rest.take(n) == nullptr) {
                return false;
            }
        } else if (n.is_loop()) {
            std::int64_t& enclosing = outer[static_cast<std::size_t>(n.rank_variable)];
            const PmappingNode* const found = rest.take(n);
            const std::int64_t own = found != nullptr ? found->tile : enclosing;
            if (n.symbol >= 0) {
                tiles[static_cast<std::size_t>(n.symbol)] = own;
            } else if (own != n.tile) {
                return false;
            }
            enclosing = own;
        }
    }
    return rest.empty();
}

bool Encoding::candidates(const mapping::Mapping& mapping, std::vector<Choices>& out) const {
    const model::Problem& problem = space_.problem;
    const std::vector<mapping::EinsumMapping> parts =
        mapping::split(mapping, *problem.workload, *problem.architecture, problem.compat);
    if (parts.size() != space_.einsums.size()) {
        return false;
    }
    std::vector<std::int64_t> tiles;
    for (std::size_t e = 0; e < parts.size(); ++e) {
        if (parts[e].einsum != space_.order[e]) {
            return false;
        }
        Choices& choices = out.emplace_back();
        const std::vector<TemplateData>& templates = space_.einsums[e].templates;
        for (std::uint32_t i = 0; i < templates.size(); ++i) {
            if (templates[i].path->compute().name == parts[e].path.compute().name &&
                tiles_of(templates[i], parts[e].nodes, tiles)) {
                choices.templates.push_back(i);
                choices.tiles.push_back(tiles);
            }
        }
        if (choices.templates.empty()) {
            return false;
        }
    }
    return true;
}

Repair::Kept Encoding::build(const std::vector<Choices>& choices, const std::vector<Pick>& picks) {
    repair_.start();
    Repair::Kept kept = Repair::Kept::yes;
    for (std::size_t e = 0; e < picks.size() && kept == Repair::Kept::yes; ++e) {
        const Choices& own = choices[e];
        kept = repair_.keep_as(own.templates[picks[e].tmpl], picks[e].way,
                               own.tiles[picks[e].tmpl].data());
    }
    return kept;
}

}  // namespace tessera::search
