// The mapping in Timeloop's five notations.

#include <algorithm>
#include <ostream>
#include <sstream>

#include "base/printable.hpp"
#include "timeloop/write.hpp"

namespace tessera::timeloop {

namespace {

const std::string& name_of(const Problem& problem, int dimension) {
    return problem.dimensions[static_cast<std::size_t>(dimension)].name;
}

/// A directive of `map.yaml` or `map.cfg` for one block.
struct Directive {
    std::string factors, permutation;
    int split = 0;
    bool spatial = false, trivial = true;
};

Directive directive_of(const Problem& problem, const LoopBlock& block, bool spatial) {
    Directive result;
    result.spatial = spatial;
    for (std::size_t d = 0; d < problem.dimensions.size(); ++d) {
        const Factor& factor = block.factors[d];
        result.factors +=
            (d == 0 ? "" : " ") + problem.dimensions[d].name + std::to_string(factor.end);
        if (!factor.perfect()) {
            result.factors += "," + std::to_string(factor.residual);
        }
        result.trivial = result.trivial && factor.end == 1;
    }
    std::vector<int> order;
    for (int i = 0; i < static_cast<int>(block.permutation.size()); ++i) {
        if (block.factors[block.permutation[i]].end > 1) {
            order.push_back(block.permutation[i]);
            result.split += spatial && i < block.split ? 1 : 0;
        }
    }
    for (std::size_t d = 0; d < problem.dimensions.size(); ++d) {
        if (block.factors[d].end == 1) {
            order.push_back(static_cast<int>(d));
        }
    }
    // Names of several characters cannot be run together.
    const bool short_names = std::all_of(problem.dimensions.begin(), problem.dimensions.end(),
                                         [](const Dimension& d) { return d.name.size() == 1; });
    for (std::size_t i = 0; i < order.size(); ++i) {
        result.permutation += (i == 0 || short_names ? "" : ",") + name_of(problem, order[i]);
    }
    return result;
}

/// Calls `each(level, directive)` in the order of Timeloop's files.
template <class Each>
void each_directive(const Problem& problem, const Mapping& mapping, const Each& each) {
    for (std::size_t i = 0; i < mapping.levels.size(); ++i) {
        const Directive spatial = directive_of(problem, mapping.levels[i].spatial, true);
        if (!spatial.trivial) {
            each(i, spatial);
        }
        each(i, directive_of(problem, mapping.levels[i].temporal, false));
    }
}

/// Text that YAML would take for something else stands in quotes.
std::string yaml_text(const std::string& text) {
    const bool plain = !text.empty() && text.find_first_of("-?:,[]{}#&*!|>'\"%@` ~") != 0 &&
                       text.find(": ") == std::string::npos &&
                       text.find(" #") == std::string::npos && text != "null" && text != "Null" &&
                       text != "NULL" && base::one_line(text) == text;
    return plain ? text : base::yaml_quoted(text);
}

}  // namespace

std::vector<std::vector<Loop>> printed_loops(const Problem& problem, const Mapping& mapping) {
    FlatMapping flat;
    flatten(mapping, flat);
    std::vector<std::vector<Loop>> result;
    const Loop* next = flat.loops;
    for (int level = 0; level < flat.level_count; ++level) {
        const Loop* const end = flat.loops + flat.level_end[level];
        std::vector<Loop>& loops = result.emplace_back(next, end);
        next = end;
        if (loops.empty() || loops.back().kind != LoopKind::temporal) {
            loops.push_back({static_cast<std::uint8_t>(problem.dimensions.size() - 1)});
        }
    }
    return result;
}

std::string loop_text(const Problem& problem, const Loop& loop) {
    std::string text =
        "for " + name_of(problem, loop.dimension) + " in [0:" + std::to_string(loop.end);
    if (loop.residual != loop.end) {
        text += "," + std::to_string(loop.residual);
    }
    text += ")";
    if (loop.kind != LoopKind::temporal) {
        text += loop.kind == LoopKind::spatial_x ? " (Spatial-X)" : " (Spatial-Y)";
    }
    return text;
}

void write_map_text(std::ostream& out, const Evaluated& evaluated, Dialect dialect,
                    const std::string& indent) {
    const bool master = dialect == Dialect::master;
    const auto loops = printed_loops(evaluated.problem, evaluated.mapping);
    std::string depth = indent + "| ", dashes;
    bool gap = false;  // master: an empty line before the next header
    for (std::size_t i = loops.size(); i-- > 0;) {
        std::string header = evaluated.architecture.storage[i].name + " [ ";
        for (std::size_t d = 0; d < evaluated.problem.data_spaces.size(); ++d) {
            if (evaluated.mapping.levels[i].keeps(static_cast<int>(d))) {
                const LevelStats& stats = evaluated.stats.levels[i];
                const std::uint64_t used = stats.data_spaces[d].utilized_capacity;
                const std::uint64_t tile =
                    stats.sparse.empty() ? used : stats.sparse[d].tile_points;
                header += evaluated.problem.data_spaces[d].name + ":" + std::to_string(tile) +
                          " (" + std::to_string(used) + ") ";
            }
        }
        header += "] ";
        dashes = indent + std::string(header.size() - 1, '-') + "\n";
        out << (!master || gap ? "\n" : "") << indent << header << "\n";
        gap = false;
        if (!master) {
            out << dashes;
        }
        for (auto loop = loops[i].rbegin(); loop != loops[i].rend(); ++loop) {
            if (!master || loop->end > 1) {
                out << (master && !gap ? dashes : "") << depth
                    << loop_text(evaluated.problem, *loop) << "\n";
                depth += "  ";
                gap = true;
            }
        }
        dashes = gap ? "" : dashes;
    }
    if (master) {
        out << dashes << depth << "<< Compute >>";
    }
    out << "\n";
}

void write_map_yaml(std::ostream& out, const Problem& problem, const Architecture& architecture,
                    const Mapping& mapping) {
    std::ostringstream text;
    const auto list = [&](const char* key, std::size_t level, bool kept) {
        text << "    " << key << ":\n";
        bool any = false;
        for (std::size_t d = 0; d < problem.data_spaces.size(); ++d) {
            if (mapping.levels[level].keeps(static_cast<int>(d)) == kept) {
                text << "      - " << yaml_text(problem.data_spaces[d].name) << "\n";
                any = true;
            }
        }
        text << (any ? "" : "      []\n");
    };
    text << "mapping:\n";
    for (std::size_t i = 0; i < mapping.levels.size(); ++i) {
        text << "  - target: " << yaml_text(architecture.storage[i].name)
             << "\n    type: datatype\n";
        list("keep", i, true);
        list("bypass", i, false);
    }
    each_directive(problem, mapping, [&](std::size_t level, const Directive& directive) {
        text << "  - target: " << yaml_text(architecture.storage[level].name)
             << "\n    type: " << (directive.spatial ? "spatial" : "temporal")
             << "\n    factors: " << directive.factors
             << "\n    permutation: " << yaml_text(directive.permutation) << "\n";
        if (directive.spatial) {
            text << "    split: " << directive.split << "\n";
        }
    });
    std::string result = text.str();
    result.pop_back();
    out << result;
}

void write_map_cfg(std::ostream& out, const Problem& problem, const Architecture& architecture,
                   const Mapping& mapping) {
    out << "mapping = ( ";
    const auto list = [&](const char* key, std::size_t level, bool kept) {
        out << "    " << key << " = [ ";
        const char* separator = "";
        for (std::size_t d = 0; d < problem.data_spaces.size(); ++d) {
            if (mapping.levels[level].keeps(static_cast<int>(d)) == kept) {
                out << separator << '"' << problem.data_spaces[d].name << '"';
                separator = ", ";
            }
        }
        out << " ];\n";
    };
    const char* separator = "\n";
    for (std::size_t i = 0; i < mapping.levels.size(); ++i) {
        out << separator << "  {\n    target = \"" << architecture.storage[i].name
            << "\";\n    type = \"datatype\";\n";
        separator = ", \n";
        list("keep", i, true);
        list("bypass", i, false);
        out << "  }";
    }
    each_directive(problem, mapping, [&](std::size_t level, const Directive& directive) {
        out << ", \n  {\n    target = \"" << architecture.storage[level].name
            << "\";\n    type = \"" << (directive.spatial ? "spatial" : "temporal")
            << "\";\n    factors = \"" << directive.factors << "\";\n    permutation = \""
            << directive.permutation << "\";\n";
        if (directive.spatial) {
            out << "    split = " << directive.split << ";\n";
        }
        out << "  }";
    });
    out << " );\n";
}

void write_tenssella(std::ostream& out, const Problem& problem, const Mapping& mapping) {
    const auto loops = printed_loops(problem, mapping);
    const auto bounds = [&](std::size_t level, bool spatial) {
        for (std::size_t d = 0; d < problem.dimensions.size(); ++d) {
            const LoopBlock& block =
                spatial ? mapping.levels[level].spatial : mapping.levels[level].temporal;
            out << problem.dimensions[d].name << " " << block.factors[d].end << " ";
        }
        out << "\n";
        for (const Loop& loop : loops[level]) {
            if ((loop.kind != LoopKind::temporal) == spatial) {
                out << name_of(problem, loop.dimension);
            }
        }
        out << "\n";
    };
    for (std::size_t level = loops.size(); level-- > 0;) {
        if (level > 0) {
            for (std::size_t d = 0; d < problem.data_spaces.size(); ++d) {
                if (!mapping.levels[level - 1].keeps(static_cast<int>(d))) {
                    out << "#error Tenssella does not support bypass.\n";
                }
            }
        }
        out << "t" << level << "\n";
        bounds(level, false);
        const auto along = [&](LoopKind kind) {
            return std::count_if(loops[level].begin(), loops[level].end(),
                                 [&](const Loop& loop) { return loop.kind == kind; });
        };
        const auto y = along(LoopKind::spatial_y);
        if (y + along(LoopKind::spatial_x) > 0) {
            out << "s" << level << "\n";
            bounds(level, true);
            out << static_cast<std::ptrdiff_t>(problem.dimensions.size()) - y << "\n";
        }
    }
}

void write_frontier_row(std::ostream& out, const Evaluated& evaluated, Dialect dialect,
                        const std::string& compact, const std::string& file) {
    const Stats& stats = evaluated.stats;
    const std::size_t top = stats.levels.size() - 1, spaces = evaluated.problem.data_spaces.size();
    const auto accesses = [&](std::size_t level, std::size_t d) {
        const DataSpaceStats& s = stats.levels[level].data_spaces[d];
        return static_cast<std::uint64_t>(s.utilized_instances *
                                          static_cast<double>(s.reads + s.updates + s.fills));
    };
    const StorageLevel& last = evaluated.architecture.storage[top];
    const std::uint64_t traffic = stats.levels[top].accesses;
    const std::uint64_t bytes = traffic * static_cast<std::uint64_t>(last.word_bits) / 8;
    const double per_byte =
        traffic > 0 ? static_cast<double>(stats.total_ops) / static_cast<double>(bytes) : -1;
    std::ostringstream row;
    if (dialect == Dialect::master) {
        // The largest tile of a data space below the outermost level.
        std::vector<std::uint64_t> used(spaces);
        std::uint64_t total = 0;
        for (std::size_t d = 0; d < spaces; ++d) {
            for (std::size_t i = 0; i < top; ++i) {
                if (accesses(i, d) > 0) {
                    used[d] = std::max(used[d], stats.levels[i].data_spaces[d].utilized_capacity);
                }
            }
            total += used[d];
        }
        row << per_byte << "," << total << "," << traffic;
        for (std::size_t d = 0; d < spaces; ++d) {
            row << "," << used[d] << "," << accesses(top, d);
        }
    } else {
        std::uint64_t total = 0;
        std::string each;
        for (std::size_t d = 0; d < spaces; ++d) {
            const DataSpaceStats& s = stats.levels[0].data_spaces[d];
            const auto inner = static_cast<std::uint64_t>(
                static_cast<double>(s.utilized_capacity) * s.utilized_instances *
                static_cast<double>(evaluated.architecture.storage[0].word_bits) / 8);
            total += inner;
            each += "," + std::to_string(inner);
        }
        row << total << "," << per_byte << "," << traffic << each;
        for (std::size_t d = 0; d < spaces; ++d) {
            row << "," << accesses(top, d);
        }
    }
    out << row.str() << "," << compact << "," << file << "\n";
}

}  // namespace tessera::timeloop
