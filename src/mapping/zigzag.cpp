// Map:
//   Document    what the file says: per operand its memories and their loops, and the array
//   Counterpart names of the file in workload and architecture
//   Writer      nodes by depth: holders and spatial loops, then the next temporal loop
//
// ZigZag gives each memory of an operand the loops during which its data stay. So the holder of a
// memory stands below the loops of all memories above it, and above its own.
#include "mapping/zigzag.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <vector>

#include "base/parsed_json.hpp"
#include "spec/reader.hpp"
#include "tessera/base/error.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapping {

namespace {

using base::ParsedJson;

struct Loop {
    std::string dimension;
    std::int64_t trips = 1;

    bool operator==(const Loop&) const = default;
};

/// Levels from the innermost memory to the outermost.
struct Operand {
    std::string name;
    std::vector<std::string> memories;
    std::vector<std::vector<Loop>> loops;  ///< innermost first
};

struct Document {
    std::vector<Operand> operands;
    /// Array dimension, loop.
    std::vector<std::pair<std::string, Loop>> array;
};

class Reader {
public:
    Reader(const std::string& text, const std::string& file)
        : json_(base::parsed_json(text)), file_(file) {}

    Document read() const {
        const ParsedJson& inputs = member(json_, "inputs");
        const ParsedJson& layer = member(inputs, "layer");
        const ParsedJson& memories = member(member(inputs, "accelerator"), "mem_hierarchy_dict");
        const ParsedJson& links = member(layer, "memory_operand_links");
        Document document;
        for (const auto& [name, levels] : member(inputs, "temporal_mapping").items()) {
            Operand operand;
            operand.name = name;
            for (const ParsedJson& level : list(levels)) {
                operand.loops.emplace_back();
                for (const ParsedJson& loop : list(level)) {
                    operand.loops.back().push_back(loop_of(text(loop)));
                }
            }
            for (const ParsedJson& memory : list(member(memories, text(member(links, name))))) {
                operand.memories.push_back(instance_of(text(memory)));
            }
            if (operand.memories.size() != operand.loops.size()) {
                fail("operand " + name + " has " + std::to_string(operand.memories.size()) +
                     " memories and loops for " + std::to_string(operand.loops.size()));
            }
            document.operands.push_back(std::move(operand));
        }
        for (const auto& [dimension, loops] : member(layer, "user_spatial_mapping").items()) {
            for (const auto& [name, trips] : loops.items()) {
                if (!trips.is_number()) {
                    fail("the unrolling of " + name + " over " + dimension + " is no number");
                }
                document.array.emplace_back(
                    dimension, Loop{name, static_cast<std::int64_t>(trips.get<double>())});
            }
        }
        return document;
    }

    [[noreturn]] void fail(const std::string& what) const {
        throw UserError(file_ + ": " + what);
    }

private:
    const ParsedJson& member(const ParsedJson& json, const std::string& name) const {
        if (!json.is_object() || !json.contains(name) || json[name].is_null()) {
            fail("it is no result of one layer of ZigZag (*_complete.json): '" + name +
                 "' is missing");
        }
        return json[name];
    }
    const ParsedJson& list(const ParsedJson& json) const {
        if (!json.is_array()) {
            fail("it is no result of one layer of ZigZag: a list of loops or memories is missing");
        }
        return json;
    }
    std::string text(const ParsedJson& json) const {
        if (!json.is_string()) {
            fail("it is no result of one layer of ZigZag: a name or a loop is no text");
        }
        return json.get<std::string>();
    }

    /// "(D1, 4)"
    Loop loop_of(const std::string& text) const {
        std::string plain;
        for (const char c : text) {
            if (std::string("()'\" ").find(c) == std::string::npos) {
                plain += c;
            }
        }
        const std::size_t comma = plain.find(',');
        Loop loop;
        const char* const end = plain.data() + plain.size();
        const auto read = comma == std::string::npos
                              ? std::from_chars_result{end, std::errc::invalid_argument}
                              : std::from_chars(plain.data() + comma + 1, end, loop.trips);
        if (read.ec != std::errc() || read.ptr != end || loop.trips < 1) {
            fail("'" + text + "' is no loop (expected a dimension and its trips, as in (K, 4))");
        }
        loop.dimension = plain.substr(0, comma);
        return loop;
    }

    /// "MemoryLevel(instance=l1,operands=...": "l1"
    std::string instance_of(const std::string& text) const {
        const std::string before = "instance=";
        const std::size_t from = text.find(before), to = text.find(',', from);
        if (from == std::string::npos || to == std::string::npos) {
            fail("'" + text + "' is no memory of ZigZag");
        }
        return text.substr(from + before.size(), to - from - before.size());
    }

    const ParsedJson json_;
    const std::string& file_;
};

bool same(const std::string& a, const std::string& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
        return std::tolower(static_cast<unsigned char>(x)) ==
               std::tolower(static_cast<unsigned char>(y));
    });
}

arch::Path path_of(const workload::Workload& workload, const arch::Architecture& architecture,
                   const Reader& reader) {
    if (workload.einsums.size() != 1) {
        reader.fail("it maps one layer, the workload has " +
                    std::to_string(workload.einsums.size()) +
                    " Einsums; choose one with --einsums");
    }
    for (const std::string& compute : architecture.compute_names()) {
        arch::Path path = architecture.path(workload, 0, compute, arch::Compat::none);
        if (path.levels.back().enabled) {
            return path;
        }
    }
    reader.fail("no compute of the architecture runs Einsum " + workload.einsums.front().name);
}

class Writer {
public:
    Writer(const Document& document, const arch::Path& path, const Reader& reader)
        : document_(document), path_(path), reader_(reader), open_(path.einsum.bounds()) {
        order_ = loops_of(document.operands.front());
        for (const Operand& operand : document.operands) {
            if (loops_of(operand) != order_) {
                reader.fail("operands " + document.operands.front().name + " and " + operand.name +
                            " go through the loops in different orders");
            }
            add_holders(operand);
        }
        for (const auto& [dimension, loop] : document.array) {
            add_spatial(dimension, loop);
        }
    }

    std::string text() {
        std::stable_sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
            return a.depth != b.depth   ? a.depth < b.depth
                   : a.level != b.level ? a.level < b.level
                                        : a.spatial > b.spatial;
        });
        std::string text = "mapping:\n  nodes:\n";
        std::size_t at = 0;
        int deepest = -1;
        for (std::size_t depth = 0; depth <= order_.size(); ++depth) {
            for (; at < items_.size() && items_[at].depth == depth; ++at) {
                if (items_[at].level < deepest) {
                    reader_.fail("the data in " + path_.levels[items_[at].level].name +
                                 " stay for fewer loops than those of a memory below it or of an "
                                 "array around it, which a LoopTree cannot say");
                }
                deepest = std::max(deepest, items_[at].level);
                text += line(items_[at]);
            }
            if (depth < order_.size() && order_[depth].trips > 1) {
                const int v = variable(order_[depth].dimension);
                text += "  - !Temporal {rank_variable: " + quoted(name_of(v)) +
                        ", tile_shape: " + tile(v, order_[depth]) + "}\n";
            }
        }
        for (std::size_t v = 0; v < open_.size(); ++v) {
            if (open_[v] != 1) {
                reader_.fail("its loops over " + name_of(static_cast<int>(v)) + " leave " +
                             std::to_string(open_[v]) +
                             " iterations over; are the sizes of the "
                             "layer those of the workload?");
            }
        }
        return text + "  - !Compute {einsum: " + quoted(path_.einsum.name) +
               ", component: " + quoted(path_.levels.back().name) + "}\n";
    }

private:
    struct Item {
        std::size_t depth = 0;
        int level = 0;
        bool spatial = false;
        std::string tensor, dimension;
        Loop loop = {};
    };

    static std::vector<Loop> loops_of(const Operand& operand) {
        std::vector<Loop> all;
        for (auto level = operand.loops.rbegin(); level != operand.loops.rend(); ++level) {
            all.insert(all.end(), level->rbegin(), level->rend());
        }
        return all;
    }

    void add_holders(const Operand& operand) {
        const auto& tensors = path_.einsum.tensors;
        const auto tensor = std::find_if(tensors.begin(), tensors.end(), [&](const auto& one) {
            return same(one.name, operand.name);
        });
        if (tensor == tensors.end()) {
            reader_.fail("operand " + operand.name + " has no counterpart: Einsum " +
                         path_.einsum.name + " has no tensor of that name");
        }
        std::size_t depth = 0;
        for (std::size_t k = operand.memories.size(); k-- > 0;) {
            items_.push_back({depth, memory(operand.memories[k]), false, tensor->name, ""});
            depth += operand.loops[k].size();
        }
    }

    void add_spatial(const std::string& dimension, const Loop& loop) {
        for (std::size_t l = 0; l < path_.levels.size(); ++l) {
            for (const arch::PathDim& dim : path_.levels[l].spatial) {
                if (!same(dim.name, dimension)) {
                    continue;
                }
                Item item{order_.size(), static_cast<int>(l), true, "", dim.name, loop};
                for (const Item& other : items_) {  // above every holder that it spreads
                    if (!other.spatial && other.level >= item.level) {
                        item.depth = std::min(item.depth, other.depth);
                    }
                }
                if (loop.trips > 1) {
                    items_.push_back(std::move(item));
                }
                return;
            }
        }
        reader_.fail("array dimension " + dimension +
                     " has no counterpart: no fan-out of the "
                     "architecture has that name");
    }

    int memory(const std::string& name) const {
        for (std::size_t l = 0; l < path_.levels.size(); ++l) {
            if (path_.levels[l].kind == arch::LevelKind::memory &&
                same(path_.levels[l].name, name)) {
                return static_cast<int>(l);
            }
        }
        reader_.fail("memory " + name +
                     " has no counterpart: the architecture has none of that "
                     "name");
    }

    int variable(const std::string& dimension) const {
        for (std::size_t v = 0; v < open_.size(); ++v) {
            if (same(name_of(static_cast<int>(v)), dimension)) {
                return static_cast<int>(v);
            }
        }
        reader_.fail("dimension " + dimension + " has no counterpart: Einsum " + path_.einsum.name +
                     " has no rank variable of that name");
    }

    const std::string& name_of(int variable) const {
        return path_.einsum.rank_variables[static_cast<std::size_t>(variable)].name;
    }

    std::string tile(int variable, const Loop& loop) {
        std::int64_t& open = open_[static_cast<std::size_t>(variable)];
        if (open % loop.trips != 0) {
            reader_.fail("a loop over " + loop.dimension + " has " + std::to_string(loop.trips) +
                         " trips, which do not divide the " + std::to_string(open) +
                         " iterations that are left");
        }
        open /= loop.trips;
        return std::to_string(open);
    }

    std::string line(const Item& item) {
        const std::string component =
            quoted(path_.levels[static_cast<std::size_t>(item.level)].name);
        if (!item.spatial) {
            return "  - !Storage {tensors: [" + quoted(item.tensor) + "], component: " + component +
                   "}\n";
        }
        const int v = variable(item.loop.dimension);
        return "  - !Spatial {rank_variable: " + quoted(name_of(v)) +
               ", tile_shape: " + tile(v, item.loop) + ", component: " + component +
               ", name: " + quoted(item.dimension) + "}\n";
    }

    static std::string quoted(const std::string& name) {
        return base::Json(name).dump();
    }

    const Document& document_;
    const arch::Path& path_;
    const Reader& reader_;
    std::vector<Loop> order_;  ///< outermost first
    std::vector<Item> items_;
    std::vector<std::int64_t> open_;
};

}  // namespace

bool is_zigzag(const std::string& text) {
    if (text.find("\"temporal_mapping\"") == std::string::npos) {
        return false;
    }
    const ParsedJson json = base::parsed_json(text);
    return json.is_object() && json.contains("inputs") && json["inputs"].is_object() &&
           json["inputs"].contains("temporal_mapping");
}

Mapping from_zigzag(const std::string& text, const std::string& file,
                    const workload::Workload& workload, const arch::Architecture& architecture) {
    const Reader reader(text, file);
    const Document document = reader.read();
    if (document.operands.empty()) {
        reader.fail("it has no operands");
    }
    const arch::Path path = path_of(workload, architecture, reader);
    spec::Node root = spec::read_text(Writer(document, path, reader).text(), file);
    return read_mapping(*root.find("mapping"));
}

}  // namespace tessera::mapping
