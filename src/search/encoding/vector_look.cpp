#include "vector_look.hpp"

#include <map>

namespace tessera::search {

namespace {

using mapping::NodeKind;
using mapping::PmappingNode;

class Looking {
public:
    explicit Looking(const TemplateData& t) : t_(t), path_(*t.path), nodes_(t.tmpl.nodes) {
        for (const PmappingNode& n : nodes_) {
            n_holders_ += n.is_holder() ? 1 : 0;
        }
    }

    Look look() {
        std::size_t holders = 0, in_gap = 0;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            const PmappingNode& n = nodes_[i];
            if (n.is_loop()) {
                add_loop(i, holders, ++in_gap);
            } else if (n.is_holder()) {
                add_holder(n, holders++);
                in_gap = 0;
            } else if (n.kind == NodeKind::compute) {
                flag("compute " + einsum() + " " + level(n));
            }
        }
        return std::move(look_);
    }

private:
    const std::string& einsum() const {
        return path_.einsum.name;
    }
    const std::string& level(const PmappingNode& n) const {
        return path_.levels[static_cast<std::size_t>(n.level)].name;
    }
    void flag(const std::string& name) {
        look_.fixed.emplace_back(name, 1.0F);
    }

    /// Loops between two holders come one after the other without reaching the next holder.
    void place(const std::string& what, std::size_t holders, std::size_t in_gap) {
        const double gap = static_cast<double>(in_gap) / static_cast<double>(nodes_.size() + 1);
        const double at = (static_cast<double>(holders) + gap) / static_cast<double>(n_holders_);
        look_.fixed.emplace_back("place " + what, static_cast<float>(at));
    }

    void add_holder(const PmappingNode& n, std::size_t holders) {
        const workload::LocalTensor& tensor =
            path_.einsum.tensors[static_cast<std::size_t>(n.tensor)];
        const std::string what = einsum() + " " + level(n) + " " + tensor.name;
        flag("keep " + what);
        place(what, holders, 0);
        if (n.backing && tensor.fusable) {
            flag("backing " + what);
        }
        if (n.line_buffer) {
            flag("line " + what);
        }
    }

    void add_loop(std::size_t i, std::size_t holders, std::size_t in_gap) {
        const PmappingNode& n = nodes_[i];
        const std::string variable =
            path_.einsum.rank_variables[static_cast<std::size_t>(n.rank_variable)].name;
        std::string what = einsum() + " ";
        if (n.kind == NodeKind::spatial) {
            const arch::PathLevel& owner = path_.levels[static_cast<std::size_t>(n.level)];
            what += owner.name + "." + owner.spatial[static_cast<std::size_t>(n.dim)].name;
        } else {
            std::size_t below = i;
            while (nodes_[below].is_loop() || nodes_[below].level < 0) {
                ++below;  // the compute ends every template
            }
            what += level(nodes_[below]);
        }
        what += " " + variable;
        const std::string kind = n.kind == NodeKind::spatial ? "spread " : "trips ";
        if (const int count = ++occurrences_[kind + what]; count > 1) {
            what += " " + std::to_string(count);
        }
        place((n.kind == NodeKind::spatial ? "spread " : "") + what, holders, in_gap);
        if (n.base > 0) {
            flag("prologue " + einsum() + " " + variable + " " + std::to_string(n.prologue) + " " +
                 std::to_string(n.base));
        }
        look_.loops.push_back({n.rank_variable, n.symbol, kind + what});
    }

    const TemplateData& t_;
    const arch::Path& path_;
    const mapping::Pmapping& nodes_;
    std::size_t n_holders_ = 0;
    std::map<std::string, int> occurrences_;
    Look look_;
};

}  // namespace

Look look_of(const TemplateData& t) {
    return Looking(t).look();
}

}  // namespace tessera::search
