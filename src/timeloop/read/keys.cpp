#include "keys.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/nearest.hpp"
#include "tessera/spec/position.hpp"
#include "timeloop/read.hpp"

namespace tessera::timeloop {

namespace {

using spec::Node;

/// Timeloop's language. Where a reader ends in the middle of a map, keys that it did not come to
/// are no slips.
constexpr std::string_view language =
    " ART ERT Hdilation Hstride Wdilation Wstride action action_name action_optimization actions "
    " adder_energy addr_gen_energy algorithm allow_overbooking arch arch_constraints architecture "
    " architecture_constraints area area_scale arguments arithmetic attributes "
    " auto_bypass_on_failure bandwidth block_size bypass bypass_only bypassing class classes "
    " cluster_area cluster_size coefficients commonDensity components compound_components "
    " compression_rate compression_supported compute_optimization condition_on constraints "
    " data_spaces data_storage_depth data_storage_width dataspace datatype datawidth "
    " decompression_supported default default_max_factor default_min_factor densities density "
    "depth "
    " diagnostics dimensions distribution drain_latency emit_whoop_nest enabled energy "
    " energy_per_hop energy_per_ingress energy_scale entries factors factors_only fill_latency "
    " filter_revisits flatten flattened_rankIDs format globals heartbeat instance instances keep "
    " keep_only layout live_status local log_all log_all_mappings log_interval "
    "log_mappings_verbose "
    " log_mappings_yaml log_oaves log_oaves_mappings log_orojenesis log_orojenesis_mappings "
    " log_stats log_suboptimal mapper mapping mapspace mapspace_constraints "
    " max_overbooked_proportion max_permutations_per_if_visit max_temporal_loops_in_a_mapping "
    " maximize_dims maximize_dims_capacity memory_depth memory_width meshX meshY "
    "metadata_block_size "
    " metadata_datawidth metadata_depth metadata_storage_depth metadata_storage_width "
    "metadata_width "
    " metadata_word_bits min min_utilization model modulo multicast_factor_argument "
    " multiple_buffering must_iterate_over_dataspaces n_banks n_ports n_words name network_drain "
    " network_drain_latency network_fill network_fill_latency network_operand network_read "
    " network_result network_type network_update network_word_bits no_coalesce "
    " no_iteration_over_dataspaces no_link_transfer no_multicast_no_reduction no_reuse "
    " no_temporal_reuse nodes num_banks num_ports num_threads optimization_metric "
    " optimization_metrics options out_prefix parallelism payload_word_bits "
    " penalize_consecutive_bypass_fails per_dataspace_bandwidth_consumption_scale per_datatype_ERT "
    " permutation power_gated_at problem projection proportion rank_application_order ranks "
    " read_bandwidth read_write reduction_supported remainders representation_format "
    " required_actions rmw_first_update router_energy search_size seed shape shared_bandwidth "
    "sizeKB "
    " sparse_optimizations spatial split storage subclass subtree sync_interval tables target "
    " targets technology template temporal terms tile_partition_supported tile_shape tile_width "
    " time_limit timeout type utilization value variables vector_access_energy verbose version "
    " victory_condition width wire_energy word_bits word_width write_bandwidth ";

bool in_language(std::string key) {
    std::replace(key.begin(), key.end(), '-', '_');
    return language.find(" " + key + " ") != std::string_view::npos;
}

std::vector<std::string> language_words() {
    std::istringstream words{std::string(language)};
    return {std::istream_iterator<std::string>(words), {}};
}

/// Known keys in the spelling of the key that is to be like them.
std::vector<std::string> spelled_like(const std::string& key, std::vector<std::string> known) {
    if (key.find('-') != std::string::npos) {
        for (std::string& one : known) {
            std::replace(one.begin(), one.end(), '_', '-');
        }
    }
    return known;
}

bool same_but_for_case(const std::string& a, const std::string& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
        return std::tolower(x) == std::tolower(y);
    });
}

/// One letter too many, too few or wrong, two swapped, or another case: less than what "did you
/// mean" allows, because the key may well be another tool's. A long name may lack an ending.
bool is_slip(const std::string& key, const std::string& known) {
    const std::size_t shorter = std::min(key.size(), known.size());
    const std::size_t longer = std::max(key.size(), known.size());
    std::size_t front = 0, back = 0;
    while (front < shorter && key[front] == known[front]) {
        ++front;
    }
    while (back < shorter - front && key[key.size() - 1 - back] == known[known.size() - 1 - back]) {
        ++back;
    }
    const std::size_t differ = longer - front - back;
    const bool swapped = differ == 2 && shorter == longer && key[front] == known[front + 1] &&
                         key[front + 1] == known[front];
    return differ <= 1 || swapped || same_but_for_case(key, known) || (shorter > 9 && differ <= 3);
}

std::string warning(const Node::Entry& entry, const std::string& what, const std::string& remedy) {
    const spec::Complaint complaint{"unknown key of " + what + ", ignored as Timeloop ignores it",
                                    entry.key, "", remedy};
    return entry.key_position.text() + ": " + spec::complaint_text(entry.value.path, complaint);
}

/// Keys that are like no other: one warning for all of a map.
std::string warning(const std::vector<const Node::Entry*>& strange, const AskedKeys::Map& map) {
    const std::string known = "the keys read here are " + spec::name_list(map.asked, 40);
    if (strange.size() == 1) {
        return warning(*strange.front(), map.what, known);
    }
    std::vector<std::string> names;
    for (const Node::Entry* entry : strange) {
        names.push_back(entry->key);
    }
    const spec::Complaint complaint{
        "unknown keys of " + map.what + ", ignored as Timeloop ignores them",
        spec::name_list(names, 40), "", known};
    return strange.front()->key_position.text() + ": " +
           spec::complaint_text(map.node->path, complaint);
}

}  // namespace

void AskedKeys::Map::ask(const std::string& key) {
    std::string plain = key;
    std::replace(plain.begin(), plain.end(), '-', '_');
    if (std::find(asked.begin(), asked.end(), plain) == asked.end()) {
        asked.push_back(std::move(plain));
    }
}

AskedKeys::Map& AskedKeys::of(const Node& node, const std::string& what) {
    const auto [found, fresh] = index_.try_emplace(&node, maps_.size());
    if (fresh) {
        maps_.push_back({&node, what, {}, false, false});
    }
    return maps_[found->second];
}

namespace {

/// An entry that no reader asked for, with the remedy if it looks like one that was.
struct Unasked {
    const Node::Entry* entry = nullptr;
    std::string near;
};

/// What a key may have been meant to be that no reader of its map knows.
std::string elsewhere(const Node::Entry& entry) {
    if (entry.value.is_null() && entry.key.find_first_of("=0123456789") != std::string::npos) {
        return "quote a text with commas";  // {factors: M=4,3} has a key '3'
    }
    return in_language(entry.key)
               ? ""
               : spec::did_you_mean(entry.key, spelled_like(entry.key, language_words()));
}

std::vector<Unasked> unasked(const AskedKeys::Map& map) {
    std::vector<Unasked> result;
    for (const Node::Entry& entry : map.node->entries) {
        const auto same = [&](const std::string& key) { return same_key(key, entry.key); };
        if (std::any_of(map.asked.begin(), map.asked.end(), same)) {
            continue;
        }
        const std::vector<std::string> known = spelled_like(entry.key, map.asked);
        const bool slip = std::any_of(known.begin(), known.end(), [&](const std::string& key) {
            return is_slip(entry.key, key);
        });
        std::string near = map.free_form && !slip ? "" : spec::did_you_mean(entry.key, known);
        if (near.empty() && !map.free_form) {
            near = elsewhere(entry);
        }
        result.push_back({&entry, near});
    }
    return result;
}

/// Keys that are there in both spellings.
void warn_repeated(const Node& map, std::vector<std::string>& warnings) {
    for (const Node::Entry& entry : map.entries) {
        const Node* first = find_key(map, entry.key);
        if (first != &entry.value) {
            warnings.push_back(entry.key_position.text() + ": the key '" + entry.key +
                               "' was given before in another spelling, at " +
                               first->position.text() + "; the first one counts, remove one");
        }
    }
}

}  // namespace

std::vector<std::string> AskedKeys::unread() const {
    std::vector<std::string> result;
    // A map that is merged into others is told once.
    std::set<std::pair<std::string, std::string>> told;
    for (const Map& map : maps_) {
        if (map.read_later) {
            continue;
        }
        warn_repeated(*map.node, result);
        std::vector<const Node::Entry*> strange;
        for (const auto& [entry, near] : unasked(map)) {
            if (!told.insert({entry->key_position.text(), entry->key}).second) {
                continue;
            }
            if (!near.empty()) {
                result.push_back(warning(*entry, map.what, near));
            } else if (!map.free_form) {
                strange.push_back(entry);
            }
        }
        if (!strange.empty()) {
            result.push_back(warning(strange, map));
        }
    }
    return result;
}

std::string AskedKeys::slips() const {
    std::string notes;
    for (const Map& map : maps_) {
        for (const auto& [entry, near] : unasked(map)) {
            if (!near.empty() && !in_language(entry->key)) {
                notes += "; unknown key '" + entry->key + "' at " + entry->key_position.text() +
                         ", " + near;
            }
        }
    }
    return notes;
}

void rethrow_with(const UserError& error, const std::string& note) {
    const std::string text = error.what();
    if (!error.position()) {
        throw UserError(text + note);
    }
    // Its place stands in front already.
    const std::string place = error.position()->text() + ": ";
    throw UserError(*error.position(),
                    (text.rfind(place, 0) == 0 ? text.substr(place.size()) : text) + note);
}

namespace {

/// The second line: sections of Accelergy, of the Python front end, and tables that Accelergy
/// writes beside the others.
void ask_sections(AskedKeys::Map& sections) {
    for (const char* key : {"problem",
                            "arch",
                            "architecture",
                            "mapper",
                            "mapping",
                            "mapspace",
                            "mapspace_constraints",
                            "arch_constraints",
                            "architecture_constraints",
                            "sparse_optimizations",
                            "model",
                            "layout",
                            "ERT",
                            "ART",
                            "variables",
                            "shape",
                            "version",
                            "globals",
                            "components",
                            "compound_components",
                            "classes",
                            "python_plug_ins",
                            "environment_variables",
                            "jinja_parse_data",
                            "dumped_by_timeloop_front_end",
                            "ERT_summary",
                            "ART_summary",
                            "action_counts",
                            "energy_estimation"}) {
        sections.ask(key);
    }
}

}  // namespace

std::string misspelt_sections(const Node& root) {
    AskedKeys keys;
    ask_sections(keys.of(root, "the input"));
    return keys.slips();
}

std::vector<std::string> unknown_sections(const Node& root, bool from_nodes) {
    AskedKeys keys;
    AskedKeys::Map& sections = keys.of(root, "the input");
    ask_sections(sections);
    for (const Node::Entry& entry : root.entries) {
        const std::string ending = "_constraints";
        const bool list = entry.key == "constraints" ||
                          (entry.key.size() > ending.size() && entry.key.ends_with(ending));
        // Holders of anchors, as the published exercises name them.
        const bool holder = entry.key.rfind('_', 0) == 0 || entry.key.ends_with("_ignore");
        if (holder || (from_nodes && list)) {
            sections.ask(entry.key);
        }
    }
    return keys.unread();
}

}  // namespace tessera::timeloop
