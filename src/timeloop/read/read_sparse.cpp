// `sparse_optimizations`: formats of data spaces, gating and skipping of accesses and computes.

#include <algorithm>

#include "levels.hpp"
#include "read_parts.hpp"
#include "timeloop/read.hpp"
#include "values.hpp"

namespace tessera::timeloop {

namespace {

using spec::Node;
using spec::Range;

const Range bits = Range::between(0, 1e9);

/// Timeloop's values are written with hyphens in one dialect, with underscores in the other.
std::string underscored(std::string text) {
    std::replace(text.begin(), text.end(), '-', '_');
    return text;
}

class SparseReader {
public:
    SparseReader(const Problem& problem, const Architecture& architecture, const Values& values)
        : problem_(problem), architecture_(architecture), values_(values) {}

    std::optional<SparseDesign> run(const Node& sparse) {
        const Section section(sparse, values_, "the sparse optimizations");
        section.allow({"version"});
        const Node* targets = section.find({"targets"});
        design_.levels.resize(architecture_.storage.size());
        if (targets != nullptr) {
            for (const Node& item : list_of(*targets, "targets")) {
                target(Section(item, values_, "a target of sparse optimizations"));
            }
        }
        if (!any_) {
            return std::nullopt;
        }
        check_operands(sparse);
        return std::move(design_);
    }

private:
    void target(const Section& from) {
        const Node& name = from.required({"name", "target"});
        const Node* actions = from.find({"action_optimization"});
        const Node* formats = from.find({"representation_format"});
        const Node* computes = from.find({"compute_optimization"});
        if (actions == nullptr && formats == nullptr && computes == nullptr) {
            values_.warn(from.node(),
                         "none of action_optimization, representation_format and "
                         "compute_optimization; the target changes nothing");
            return;
        }
        any_ = true;
        if (computes != nullptr) {
            compute(name, *computes);
        }
        if (actions == nullptr && formats == nullptr) {
            return;
        }
        const std::string level_name = values_.text(name);
        const int level = architecture_.find_level(level_name);
        if (level < 0) {
            const std::vector<std::string> known = names_of(architecture_.storage);
            spec::fail(name, {"unknown storage level", level_name, spec::name_list(known),
                              spec::did_you_mean(level_name, known)});
        }
        if (actions != nullptr) {
            for (const Node& item : list_of(*actions, "action_optimization")) {
                action(Section(item, values_, "an action optimization"), level);
            }
        }
        if (formats != nullptr) {
            design_.formats = true;
            const Section format(*formats, values_, "a representation format");
            if (const Node* spaces = format.find({"data_spaces"})) {
                for (const Node& item : list_of(*spaces, "data_spaces")) {
                    representation(Section(item, values_, "the format of a data space"), level);
                }
            }
        }
    }

    void compute(const Node& name, const Node& list) {
        if (values_.text(name) != architecture_.arithmetic.name) {
            spec::fail(name, {"only the arithmetic level has compute optimizations",
                              values_.text(name), architecture_.arithmetic.name, ""});
        }
        for (const Node& item : list_of(list, "compute_optimization")) {
            const Section one(item, values_, "a compute optimization");
            const Node& node = one.required({"type"});
            const std::string type = underscored(values_.text(node));
            if (type == "gating" || type == "gate_on_zero_operand") {
                design_.gate_on_zero_operand = true;
            } else if (type == "skipping" || type == "skip_on_not_aligned_operands") {
                design_.skip_on_not_aligned_operands = true;
            } else {
                spec::fail(node, {"unknown compute optimization", type, "gating or skipping", ""});
            }
        }
    }

    ActionOptimization conditioned(const Section& from) const {
        ActionOptimization result;
        const Node& target = from.required({"target"});
        result.target = data_space_named(target, values_.text(target), problem_);
        const Node& conditions = from.required({"condition_on"});
        for (const Node& item : list_of(conditions, "condition_on")) {
            result.conditions.push_back(data_space_named(item, values_.text(item), problem_));
        }
        return result;
    }

    void action(const Section& from, int level) {
        const Node& node = from.required({"type"});
        const std::string type = underscored(values_.text(node));
        OptimizationGroup group;
        if (const Node* options = from.find({"options"})) {
            for (const Node& item : list_of(*options, "options")) {
                group.push_back(conditioned(Section(item, values_, "an option")));
            }
            if (group.empty()) {
                spec::fail(*options, {"no option to choose from", "",
                                      "a list of {target, "
                                      "condition_on}",
                                      ""});
            }
        } else {
            group.push_back(conditioned(from));
        }
        LevelOptimizations& of_level = design_.levels[static_cast<std::size_t>(level)];
        if (type == "gating") {
            of_level.gating.push_back(std::move(group));
        } else if (type == "skipping") {
            of_level.skipping.push_back(std::move(group));
        } else if (type == "skipping_spatial") {
            // Timeloop asserts the one and reads beyond its tables for the other.
            if (group.size() > 1 || group.front().conditions.size() > 1) {
                refuse(node, "spatial skipping with several options or conditions",
                       "give one target and one condition");
            }
            of_level.spatial_skipping.push_back(std::move(group));
        } else {
            spec::fail(node, {"unknown action optimization", type,
                              "gating, skipping or skipping_spatial", ""});
        }
    }

    /// Words of formats are widened until they divide the width of their storage.
    std::uint32_t word_bits(const Section& rank, const char* key, std::optional<std::int64_t> given,
                            const StorageLevel& level) const {
        const std::int64_t width = level.metadata.width_bits;
        std::int64_t adjusted = given.value_or(level.metadata.word_bits);
        if (given && *given != 0 && width % *given != 0) {
            while (adjusted < 2 * *given && width % adjusted != 0) {
                ++adjusted;
            }
            values_.warn(rank.node(), "words of " + std::to_string(*given) +
                                          " bits are stored in " + std::to_string(adjusted) +
                                          ", which divide the width of " +
                                          "the metadata storage of '" + level.name + "'");
        }
        if (adjusted > width) {
            spec::fail(
                rank.node(),
                {"a word of the format is wider than the metadata storage of level '" + level.name +
                     "'",
                 std::to_string(adjusted), "at most " + std::to_string(width),
                 std::string("correct metadata_storage_width of the level, or give ") + key});
        }
        return static_cast<std::uint32_t>(adjusted);
    }

    RankSpec rank(const Section& from, const StorageLevel& level) const {
        RankSpec result;
        const Node& node = from.required({"format"});
        const std::optional<sparsity::Format> format = sparsity::format_named(values_.text(node));
        if (!format) {
            spec::fail(node, {"unknown format of a rank", values_.text(node),
                              "UOP, CP, B, RLE or UB", ""});
        }
        result.format = *format;
        std::optional<std::int64_t> payload = from.integer({"payload_word_bits"}, bits);
        std::optional<std::int64_t> metadata = from.integer({"metadata_word_bits"}, bits);
        if (*format == sparsity::Format::uncompressed_bitmask) {
            payload = metadata = std::nullopt;  // not asked for there
        } else if (*format == sparsity::Format::bitmask) {
            metadata = metadata.value_or(1);
        }
        result.payload_bits = word_bits(from, "payload_word_bits", payload, level);
        result.metadata_bits = word_bits(from, "metadata_word_bits", metadata, level);
        if (const Node* lists = from.find({"flattened_rankIDs"})) {
            for (const Node& list : list_of(*lists, "flattened_rankIDs")) {
                result.flattened.emplace_back();
                for (const Node& item : list_of(list, "a list of flattened ranks")) {
                    result.flattened.back().push_back(Lookup(problem_, architecture_, values_)
                                                          .dimension(item, values_.text(item)));
                }
                if (result.flattened.back().empty()) {
                    spec::fail(list, {"no rank to flatten", "", "a list of dimensions", ""});
                }
            }
        }
        return result;
    }

    void representation(const Section& from, int level) {
        const Node& name = from.required({"name"});
        const int space = data_space_named(name, values_.text(name), problem_);
        auto& known = design_.levels[static_cast<std::size_t>(level)].representations;
        if (known.count(space) > 0) {
            spec::fail(name, {"a second format of this data space in one level", values_.text(name),
                              "", "remove one of them"});
        }
        Representation& result = known[space];
        const Node* order = from.find({"rank_application_order"});
        if (order != nullptr) {
            const std::string text = underscored(values_.text(*order));
            if (text != "inner_to_outer" && text != "outer_to_inner") {
                spec::fail(*order, {"unknown order of ranks", text,
                                    "inner-to-outer or outer-to-inner", ""});
            }
            result.inner_to_outer = text == "inner_to_outer";
        }
        const Node& ranks = from.required({"ranks"});
        for (const Node& item : list_of(ranks, "ranks")) {
            result.ranks.insert(result.ranks.begin(),
                                rank(Section(item, values_, "a rank"),
                                     architecture_.storage[static_cast<std::size_t>(level)]));
        }
        if (result.ranks.empty()) {
            spec::fail(ranks, {"a format without ranks", "", "at least one rank", ""});
        }
        check_order(ranks, result);
        if (const Node* rate = from.find({"compression_rate"}); rate && !result.compressed) {
            spec::fail(*rate, {"data that is not compressed has no compression rate", rate->text,
                               "", "remove the key"});
        }
    }

    static void check_order(const Node& where, Representation& representation) {
        bool uncompressed_below = false;
        for (const RankSpec& rank : representation.ranks) {
            const bool compressed = sparsity::is_compressed(rank.format);
            if (compressed && uncompressed_below) {
                spec::fail(where,
                           {"a compressed rank above one that is not", name_of(rank.format),
                            "uncompressed ranks (UOP, UB) outside, compressed ones inside", ""});
            }
            representation.compressed = representation.compressed || compressed;
            uncompressed_below = uncompressed_below || !compressed;
        }
    }

    void check_operands(const Node& where) const {
        std::size_t operands = 0;
        for (const DataSpace& space : problem_.data_spaces) {
            operands += !space.read_write;
            if (space.ranks.empty() || std::all_of(space.ranks.begin(), space.ranks.end(),
                                                   [](const auto& rank) { return rank.empty(); })) {
                refuse(
                    where,
                    "sparse optimizations of a data space without dimensions (" + space.name + ")",
                    "project a dimension onto it");
            }
        }
        if (operands != 2) {
            refuse(where,
                   "sparse optimizations of problems with " + std::to_string(operands) +
                       " read-only data spaces (Timeloop knows the states of two operands)",
                   "remove the key to cost dense tensors");
        }
    }

    const Problem& problem_;
    const Architecture& architecture_;
    const Values& values_;
    SparseDesign design_;
    bool any_ = false;
};

}  // namespace

std::optional<SparseDesign> read_sparse(const Document& document, const Problem& problem,
                                        const Architecture& architecture, Warnings& warnings) {
    const Node* sparse = find_key(document.root, "sparse_optimizations");
    if (sparse == nullptr || is_empty(*sparse)) {
        return std::nullopt;
    }
    const Values values(document, warnings);
    return values.watched([&] { return SparseReader(problem, architecture, values).run(*sparse); });
}

}  // namespace tessera::timeloop
