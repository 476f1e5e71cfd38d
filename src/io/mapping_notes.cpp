// Map:
//   Chain          one Einsum's way from the root to its compute: tile shapes shrink
//   loop_text      groups of Einsums that use a loop alike
//   Text           the tree, indented
#include "io/mapping_notes.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/printable.hpp"
#include "base/units.hpp"

namespace tessera::io {

namespace {

using mapping::EinsumMapping;
using mapping::NodeKind;
using mapping::PmappingNode;
using mapping::TreeKind;
using mapping::TreeNode;

std::size_t count(const TreeNode& node) {
    std::size_t result = 1;
    for (const TreeNode& child : node.children) {
        result += count(child);
    }
    return result;
}

double sum(const std::map<std::string, double>& values) {
    double result = 0;
    for (const auto& [name, value] : values) {
        result += value;
    }
    return result;
}

double value(const std::map<std::string, double>& values, const char* key) {
    const auto found = values.find(key);
    return found == values.end() ? 0 : found->second;
}

const model::EinsumReport* report_of(const model::Report& report, const std::string& einsum) {
    for (const model::EinsumReport& one : report.einsums) {
        if (one.einsum == einsum) {
            return &one;
        }
    }
    return nullptr;
}

const model::TensorReport* report_of(const model::EinsumReport& report,
                                     const std::string& component, const std::string& tensor) {
    for (const model::ComponentReport& one : report.components) {
        for (const model::TensorReport& held : one.tensors) {
            if (one.component == component && held.tensor == tensor) {
                return &held;
            }
        }
    }
    return nullptr;
}

/// One Einsum's way from the root to its compute.
class Chain {
public:
    Chain(const EinsumMapping& einsum, const model::Report& report, std::vector<NodeNote>& notes)
        : e_(einsum),
          report_(report_of(report, einsum.path.einsum.name)),
          notes_(notes),
          shape_(einsum.path.einsum.bounds()) {}

    void walk() {
        for (const PmappingNode& node : e_.nodes) {
            if (node.origin < 0) {
                continue;
            }
            if (node.is_loop()) {
                loop(node);
            } else if (node.is_holder()) {
                holder(node);
            }
        }
    }

private:
    void loop(const PmappingNode& node) {
        LoopNote note;
        note.rank_variable = e_.path.einsum.rank_variables[node.rank_variable].name;
        note.size = shape_[node.rank_variable];
        note.tile = node.tile;
        note.initial = node.base > 0 ? node.largest_tile() : 0;
        note.trips = node.trips(note.size);
        if (node.kind == NodeKind::spatial) {
            note.fanout = e_.path.levels[node.level].spatial[node.dim].fanout;
        }
        shape_[node.rank_variable] = node.largest_tile();
        std::vector<LoopNote>& known = notes_[node.origin].loops;
        const auto same = [&](const LoopNote& other) {
            return other.rank_variable == note.rank_variable && other.size == note.size &&
                   other.tile == note.tile && other.initial == note.initial &&
                   other.trips == note.trips && other.fanout == note.fanout;
        };
        auto found = std::find_if(known.begin(), known.end(), same);
        if (found == known.end()) {
            found = known.insert(known.end(), std::move(note));
        }
        found->einsums.push_back(e_.path.einsum.name);
    }

    void holder(const PmappingNode& node) {
        const workload::LocalTensor& tensor = e_.path.einsum.tensors[node.tensor];
        const arch::PathLevel& level = e_.path.levels[node.level];
        const auto local = static_cast<std::size_t>(node.tensor);
        const double word_bits = local < level.bits_per_value.size() ? level.bits_per_value[local]
                                                                     : tensor.bits_per_value;
        const model::TensorReport* const report =
            report_ == nullptr ? nullptr : report_of(*report_, level.name, tensor.name);
        const double copies = node.persistent ? e_.path.einsum.n_instances : 1;
        double bits = workload::box_values(tensor, shape_) * copies * word_bits;
        if (report != nullptr && report->has_occupancy && std::isfinite(level.size_bits)) {
            bits = report->occupancy * level.size_bits;
        }
        std::vector<TileNote>& tiles = notes_[node.origin].tiles;
        auto note = std::find_if(tiles.begin(), tiles.end(), [&](const TileNote& other) {
            return other.tensor == tensor.name;
        });
        if (note == tiles.end()) {
            note = tiles.insert(tiles.end(), TileNote{});
            note->tensor = tensor.name;
        }
        note->bits = std::max(note->bits, bits);
        note->banks = level.bank_bits > 0 ? note->bits / level.bank_bits : 0;
        note->words = std::max(note->words, word_bits > 0 ? bits / word_bits : 0);
        if (report != nullptr) {
            note->reads += value(report->actions, "read");
            note->writes += value(report->actions, "write");
            note->energy_j += sum(report->energy_j);
        }
    }

    const EinsumMapping& e_;
    const model::EinsumReport* report_;
    std::vector<NodeNote>& notes_;
    std::vector<std::int64_t> shape_;  ///< per local rank variable, inside the loops so far
};

std::string listed(const std::vector<std::string>& names, const char* between) {
    std::string text;
    for (const std::string& name : names) {
        text += (text.empty() ? "" : between) + base::one_line(name);
    }
    return text;
}

/// Einsums that divide as much by as much, whatever the variable is called.
struct Group {
    LoopNote loop;
    std::vector<std::string> variables, einsums;
};

std::vector<Group> groups(const std::vector<LoopNote>& loops) {
    std::vector<Group> result;
    for (const LoopNote& loop : loops) {
        const auto same = [&](const Group& other) {
            return other.loop.size == loop.size && other.loop.tile == loop.tile &&
                   other.loop.initial == loop.initial && other.loop.trips == loop.trips;
        };
        auto group = std::find_if(result.begin(), result.end(), same);
        if (group == result.end()) {
            group = result.insert(result.end(), Group{loop, {}, {}});
        }
        std::vector<std::string>& names = group->variables;
        if (std::find(names.begin(), names.end(), loop.rank_variable) == names.end()) {
            names.push_back(loop.rank_variable);
        }
        group->einsums.insert(group->einsums.end(), loop.einsums.begin(), loop.einsums.end());
    }
    return result;
}

std::string trips_text(const LoopNote& loop) {
    const auto trips = static_cast<std::uint64_t>(loop.trips);
    return loop.fanout == 0
               ? base::counted(trips, "trip")
               : std::to_string(trips) + " of " +
                     base::counted(static_cast<std::uint64_t>(loop.fanout), "instance");
}

/// Indented lines; holders with many tensors go on below themselves.
class Text {
public:
    explicit Text(const std::vector<NodeNote>& notes) : notes_(notes) {}

    void write(const TreeNode& node, std::string& indent) {
        const NodeNote& note = notes_[next_++];
        switch (node.kind) {
            case TreeKind::storage:
            case TreeKind::toll:
                holder(node, note, indent);
                break;
            case TreeKind::temporal:
            case TreeKind::spatial:
                loop(node, note, indent);
                indent += "  ";
                break;
            case TreeKind::compute:
                out_ += indent + "compute " + base::one_line(node.einsum) + " on " +
                        base::one_line(node.component) + "\n";
                break;
            case TreeKind::nested:
                for (const TreeNode& child : node.children) {
                    write(child, indent);
                }
                break;
            case TreeKind::sequential:
            case TreeKind::pipeline:
                branches(node, indent);
                break;
            case TreeKind::reservation:
                break;
        }
    }

    std::string take() {
        return std::move(out_);
    }

private:
    static constexpr std::size_t columns = 76;  // the tree itself is printed two columns in

    void branches(const TreeNode& node, const std::string& indent) {
        for (const TreeNode& child : node.children) {
            out_ += indent + (&child == &node.children.front() ? "first" : "then") + "\n";
            std::string inside = indent + "  ";
            write(child, inside);
        }
    }

    void loop(const TreeNode& node, const NodeNote& note, const std::string& indent) {
        const bool spatial = node.kind == TreeKind::spatial;
        out_ += indent + (spatial ? "spatial " : "for ") + loop_text(note) +
                (spatial ? " over " + base::one_line(node.component + "." + node.dim) : "") + "\n";
    }

    void holder(const TreeNode& node, const NodeNote& note, const std::string& indent) {
        std::string line = indent + base::one_line(node.component) +
                           (node.kind == TreeKind::toll ? " passes"
                            : node.line_buffer          ? " windows"
                                                        : " holds");
        std::string end = node.persistent ? " (persistent)" : "";
        if (!node.einsums.empty()) {
            end += " (for " + listed(node.einsums, " ") + " only)";
        }
        for (const TileNote& tile : note.tiles) {
            const bool last = &tile == &note.tiles.back();
            const std::string one = " " + tile_text(tile) + (last ? end : ",");
            if (&tile != &note.tiles.front() && line.size() + one.size() > columns) {
                out_ += line + "\n";
                line = indent + "   ";
            }
            line += one;
        }
        out_ += line + "\n";
    }

    const std::vector<NodeNote>& notes_;
    std::size_t next_ = 0;
    std::string out_;
};

}  // namespace

std::vector<NodeNote> mapping_notes(const mapping::Mapping& mapping,
                                    const std::vector<EinsumMapping>& einsums,
                                    const model::Report& report) {
    std::vector<NodeNote> notes(count(mapping.root));
    for (const EinsumMapping& einsum : einsums) {
        Chain(einsum, report, notes).walk();
    }
    return notes;
}

std::string loop_text(const NodeNote& note) {
    const std::vector<Group> all = groups(note.loops);
    bool as_often = true;
    for (const Group& group : all) {
        as_often = as_often && group.loop.trips == all.front().loop.trips;
    }
    std::string text;
    for (const Group& group : all) {
        text += (text.empty() ? "" : ", ") + listed(group.variables, " or ") + " in " +
                std::to_string(group.loop.size) + " / " + std::to_string(group.loop.tile);
        text += group.loop.initial > 0 ? ", first " + std::to_string(group.loop.initial) : "";
        text += all.size() > 1 ? " (" + listed(group.einsums, " ") + ")" : "";
        text += as_often ? "" : " (" + trips_text(group.loop) + ")";
    }
    return text + (as_often && !all.empty() ? " (" + trips_text(all.front().loop) + ")" : "");
}

std::string tile_text(const TileNote& note) {
    return base::one_line(note.tensor) + " " +
           base::amount(note.words, note.words == 1 ? "word (" : "words (") +
           base::size(note.bits) +
           (note.banks > 0 ? ", " + base::amount(note.banks, note.banks == 1 ? "bank" : "banks")
                           : "") +
           ")";
}

std::string to_text(const mapping::Mapping& mapping, const std::vector<NodeNote>& notes) {
    Text text(notes);
    std::string indent;
    text.write(mapping.root, indent);
    return text.take();
}

}  // namespace tessera::io
