// `mapping`: a list of directives, each for one block of a storage level.

#include <algorithm>

#include "levels.hpp"
#include "tessera/spec/position.hpp"
#include "timeloop/model/machine.hpp"
#include "timeloop/read.hpp"
#include "values.hpp"

namespace tessera::timeloop {

namespace {

using spec::Node;
using spec::Range;

DataSpaceMask mask_of(const std::vector<int>& spaces) {
    DataSpaceMask mask = 0;
    for (const int space : spaces) {
        mask |= DataSpaceMask{1} << space;
    }
    return mask;
}

class MappingReader {
public:
    MappingReader(const Problem& problem, const Architecture& architecture, const Values& values)
        : problem_(problem),
          architecture_(architecture),
          values_(values),
          lookup_(problem, architecture, values),
          mapping_(empty_mapping(problem, architecture)),
          loops_given_(mapping_.levels.size()) {}

    Mapping run(const Node& list) {
        for (const Node& item : list.items) {
            directive(Section(item, values_, "a directive of the mapping"));
        }
        for (std::size_t i = 0; i < mapping_.levels.size(); ++i) {
            const bool spatial = architecture_.fanout(static_cast<int>(i)) > 1;
            missing(i, "temporal", loops_given_[i].temporal);
            missing(i, "spatial", loops_given_[i].spatial || !spatial);
        }
        check_products(list);
        with_place(list.position, [&] {
            FlatMapping flat;
            flatten(mapping_, flat);
            check_iterations(flat, most_iterations(problem_, architecture_));
        });
        return std::move(mapping_);
    }

private:
    struct Given {
        bool temporal = false, spatial = false;
    };

    void missing(std::size_t level, const char* kind, bool given) const {
        if (!given) {
            values_.warn("the mapping has no " + std::string(kind) + " directive for level '" +
                         architecture_.storage[level].name + "'; all factors are 1 there");
        }
    }

    void directive(const Section& item) {
        const Node& type_node = item.required({"type"});
        const std::string type = values_.text(type_node);
        const int level = lookup_.level(item);
        item.allow({"name"});  // beside a target
        LevelMapping& into = mapping_.levels[static_cast<std::size_t>(level)];
        if (type == "temporal" || type == "spatial") {
            loops(item, level, type == "spatial", into);
        } else if (type == "datatype" || type == "bypass" || type == "bypassing" ||
                   type == "dataspace") {
            keep(item, into);
        } else if (type == "skew") {
            refuse(type_node, "skewed loops", "remove the directive");
        } else {
            spec::fail(
                type_node,
                {"unknown type of directive", type, "temporal, spatial, datatype, bypass or skew",
                 spec::did_you_mean(type, {"temporal", "spatial", "datatype", "bypass", "skew"})});
        }
    }

    void loops(const Section& item, int level, bool spatial, LevelMapping& into) {
        if (spatial) {
            lookup_.need_fanout(item, level, "a spatial directive");
        }
        LoopBlock& block = spatial ? into.spatial : into.temporal;
        Given& given = loops_given_[static_cast<std::size_t>(level)];
        (spatial ? given.spatial : given.temporal) = true;
        factors(item, block);
        order(item, block);
        if (spatial) {
            const auto all = static_cast<std::int64_t>(problem_.dimensions.size());
            block.split = static_cast<int>(
                std::min(all, item.integer({"split"}, Range::between(0, 1e9)).value_or(all)));
        }
        const auto reuse = [&](Keys keys, DataSpaceMask& mask) {
            if (const Node* node = item.find(keys)) {
                mask = mask_of(lookup_.data_spaces(*node));
            }
        };
        if (spatial) {
            reuse({"no_link_transfer"}, into.no_link_transfer);
            reuse({"no_reuse", "no_multicast_no_reduction"}, into.no_multicast_no_reduction);
        } else {
            reuse({"no_reuse", "no_temporal_reuse"}, into.no_temporal_reuse);
            reuse({"rmw_first_update"}, into.rmw_first_update);
        }
    }

    void factors(const Section& item, LoopBlock& block) const {
        std::fill(block.factors.begin(), block.factors.end(), Factor{});
        const Node* node = item.find({"factors"});
        if (node == nullptr) {
            return;
        }
        for (const FactorRule& one : lookup_.factors(*node)) {
            const auto at = static_cast<std::size_t>(one.dimension);
            const std::int64_t bound = problem_.dimensions[at].bound;
            const std::int64_t end = one.value == 0 ? bound : one.value;
            const std::int64_t residual = one.residual.value_or(end);
            if (one.relation != FactorRule::Relation::equal || residual < 1 || residual > end ||
                end > bound) {
                spec::fail(*node,
                           {"a factor of '" + problem_.dimensions[at].name + "'", node->brief(),
                            "DIMENSION=NUMBER from 1 to " + std::to_string(bound) +
                                " (0 for all), with a remainder DIMENSION=NUMBER,REMAINDER",
                            ""});
            }
            block.factors[at] = {end, residual};
        }
    }

    void order(const Section& item, LoopBlock& block) const {
        const Node* node = item.find({"permutation"});
        std::vector<int> order;
        if (node != nullptr) {
            order = lookup_.permutation(*node, false);
        }
        for (std::size_t d = 0; d < problem_.dimensions.size(); ++d) {
            if (std::find(order.begin(), order.end(), static_cast<int>(d)) == order.end()) {
                order.push_back(static_cast<int>(d));
            }
        }
        block.permutation = order;
    }

    void keep(const Section& item, LevelMapping& into) const {
        if (const Node* node = item.find({"no_coalesce"})) {
            into.no_coalesce = mask_of(lookup_.coalescing(*node).spaces);
        }
        if (const Node* node = item.find({"keep"})) {
            into.keep |= mask_of(lookup_.data_spaces(*node));
        }
        if (const Node* node = item.find({"bypass"})) {
            into.keep &= ~mask_of(lookup_.data_spaces(*node));
        }
    }

    /// "M=4,3 (spatial, Buf)": the remainders with which the loop ends of `dimension`, taken as
    /// they are, reach its bound; empty if none do.
    std::string remainders(std::size_t dimension) const {
        std::int64_t last = problem_.dimensions[dimension].bound - 1;
        std::string text;
        for (std::size_t i = 0; i < mapping_.levels.size(); ++i) {
            const LevelMapping& level = mapping_.levels[i];
            for (const LoopBlock* block : {&level.spatial, &level.temporal}) {
                const std::int64_t end = block->factors[dimension].end;
                const std::int64_t residual = last % end + 1;
                last /= end;
                if (residual != end) {
                    text += (text.empty() ? "" : " ") + problem_.dimensions[dimension].name + "=" +
                            std::to_string(end) + "," + std::to_string(residual) + " (" +
                            (block == &level.spatial ? "spatial" : "temporal") + ", " +
                            architecture_.storage[i].name + ")";
                }
            }
        }
        return last == 0 ? text : "";
    }

    /// Outer to inner, x = x * end + residual - 1 counts the last index.
    void check_products(const Node& list) const {
        std::string faults, imperfect;
        for (std::size_t d = 0; d < problem_.dimensions.size(); ++d) {
            std::int64_t last = 0;
            for (auto level = mapping_.levels.rbegin(); level != mapping_.levels.rend(); ++level) {
                for (const LoopBlock* block : {&level->temporal, &level->spatial}) {
                    const Factor& factor = block->factors[d];
                    // What is above any bound is not counted exactly.
                    last = last > (std::int64_t{1} << 31) ? last
                                                          : last * factor.end + factor.residual - 1;
                }
            }
            const Dimension& dimension = problem_.dimensions[d];
            if (last + 1 != dimension.bound) {
                faults += (faults.empty() ? "" : ", ") + dimension.name + " " +
                          std::to_string(last + 1) + " instead of " +
                          std::to_string(dimension.bound);
                const std::string fitting = remainders(d);
                imperfect += (imperfect.empty() || fitting.empty() ? "" : " ") + fitting;
            }
        }
        if (!faults.empty()) {
            spec::fail(list,
                       {"the factors of the levels do not multiply to the bounds", faults, "",
                        imperfect.empty()
                            ? "correct the factors of these dimensions; an imperfect factor has "
                              "the iterations of its last pass behind a comma, as in M=4,3"
                            : "correct the factors of these dimensions, or write imperfect ones, "
                              "with the iterations of the last pass behind a comma (in quotes "
                              "within braces or brackets): " +
                                  imperfect});
        }
    }

    const Problem& problem_;
    const Architecture& architecture_;
    const Values& values_;
    Lookup lookup_;
    Mapping mapping_;
    std::vector<Given> loops_given_;
};

}  // namespace

std::optional<Mapping> read_mapping(const Document& document, const Problem& problem,
                                    const Architecture& architecture, Warnings& warnings) {
    const Values values(document, warnings);
    const Node* node = find_key(document.root, "mapping");
    const Node* constraints = find_key(document.root, "architecture_constraints");
    if ((node == nullptr || node->is_null()) && document.from_nodes && constraints != nullptr) {
        // Constraints that leave no choice are a mapping, too.
        node = find_key(*constraints, "targets");
    }
    if (node == nullptr || node->is_null() || (node->is_sequence() && node->items.empty())) {
        return std::nullopt;
    }
    if (!node->is_sequence()) {
        spec::fail(*node,
                   {"a mapping is a list of directives, not " + node->describe(), "",
                    "- {target: LEVEL, type: temporal, factors: ..., permutation: ...}", ""});
    }
    return values.watched([&]() -> std::optional<Mapping> {
        return MappingReader(problem, architecture, values).run(*node);
    });
}

}  // namespace tessera::timeloop
