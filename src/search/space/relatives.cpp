#include "search/relatives.hpp"

#include <algorithm>

#include "search/space_data.hpp"

namespace tessera::search {

namespace {

using Code = std::vector<int>;

void append(const mapping::PmappingNode& n, Code& out) {
    out.insert(out.end(), {static_cast<int>(n.kind), n.tensor, n.level, n.dim, n.rank_variable,
                           n.backing ? 1 : 0, n.line_buffer ? 1 : 0, n.prologue, n.base});
}

/// Nodes as blocks of equal length, in an order of their own.
Code sorted(std::vector<Code> nodes) {
    std::sort(nodes.begin(), nodes.end());
    Code out;
    for (const Code& node : nodes) {
        out.insert(out.end(), node.begin(), node.end());
    }
    return out;
}

class Numbering {
public:
    int of(Code code) {
        return numbers_.try_emplace(std::move(code), static_cast<int>(numbers_.size()))
            .first->second;
    }

private:
    std::map<Code, int> numbers_;
};

}  // namespace

void Relatives::build(const std::vector<TemplateData>& templates) {
    Numbering fused, holders, spatial;
    std::map<const arch::Path*, int> paths;
    attributes_.clear();
    alike_.clear();
    for (const TemplateData& t : templates) {
        Code above;
        std::vector<Code> held, spread;
        for (std::size_t i = 0; i < t.tmpl.nodes.size(); ++i) {
            const mapping::PmappingNode& n = t.tmpl.nodes[i];
            Code code;
            append(n, code);
            if (static_cast<int>(i) < t.tmpl.n_fused_nodes || n.backing) {
                above.insert(above.end(), code.begin(), code.end());
            } else if (n.kind == mapping::NodeKind::spatial) {
                spread.push_back(std::move(code));
            } else if (!n.is_loop()) {
                held.push_back(std::move(code));
            }
        }
        const int path = paths.try_emplace(t.path, static_cast<int>(paths.size())).first->second;
        held.push_back({path});
        attributes_.push_back({fused.of(std::move(above)), holders.of(sorted(std::move(held))),
                               spatial.of(sorted(std::move(spread)))});
        const Attributes& a = attributes_.back();
        const auto index = static_cast<std::uint32_t>(attributes_.size() - 1);
        alike_[{a.fused, a.holders, a.spatial}].push_back(index);
        alike_[{a.fused, -1, a.spatial}].push_back(index);
    }
}

}  // namespace tessera::search
