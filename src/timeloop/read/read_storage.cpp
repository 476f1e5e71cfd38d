// One storage level and the network inferred below it, from the attributes of either form of
// architecture.

#include <cmath>

#include "read_parts.hpp"

namespace tessera::timeloop {

namespace {

using spec::Node;
using spec::Range;

const Range count = Range::between(1, 9e15);
const Range whole = Range::between(0, 9e15);
const Range amount = Range::between(0, 1e24);  // products stay within double precision

/// `width` fixes whichever of block and cluster size is not given.
void read_width(const Section& from, StorageLevel& level, bool block_given, bool cluster_given) {
    const Keys keys = {"width", "memory_width", "data_storage_width"};
    const std::optional<std::int64_t> width = from.integer(keys, count);
    if (!width) {
        return;
    }
    const std::int64_t vector_bits = count_of(from.node(), level.word_bits, level.block_size);
    if (*width % vector_bits != 0) {
        spec::fail(*from.find(keys),
                   {"the width of level '" + level.name + "' is no multiple of word and block size",
                    std::to_string(*width), "a multiple of " + std::to_string(vector_bits), ""});
    }
    if (block_given && cluster_given) {
        if (count_of(from.node(), vector_bits, level.cluster_size) != *width) {
            spec::fail(*from.find(keys),
                       {"the width of level '" + level.name +
                            "' is not word bits * block size * cluster size",
                        std::to_string(*width), std::to_string(vector_bits * level.cluster_size),
                        "leave one of the three out"});
        }
    } else if (cluster_given) {
        const std::int64_t least = count_of(from.node(), level.cluster_size, level.word_bits);
        level.block_size = *width / least;
        if (level.block_size == 0) {
            spec::fail(*from.find(keys),
                       {"the width of level '" + level.name + "' is less than a word per instance",
                        std::to_string(*width), "at least " + std::to_string(least), ""});
        }
    } else if (block_given) {
        level.cluster_size = *width / vector_bits;
    } else {
        level.block_size = *width / level.word_bits;
    }
}

void read_size(const Section& from, StorageLevel& level) {
    const Node* given = nullptr;
    const auto only = [&](const Node* node) {
        if (node != nullptr && given != nullptr) {
            spec::fail(*node, {"the size of level '" + level.name + "' is given twice", node->text,
                               "one of entries, depth and sizeKB",
                               "it also stands at " + given->position.text()});
        }
        given = node != nullptr ? node : given;
        return node != nullptr;
    };
    const Keys depth = {"depth", "memory_depth", "data_storage_depth"};
    if (only(from.find({"entries"}))) {
        level.size = from.integer({"entries"}, whole);
    }
    const Node* deep = from.find(depth);
    if (deep != nullptr && level.size) {
        from.values().warn(*deep, "the size of level '" + level.name +
                                      "' is given by 'entries', too; only that counts");
    } else if (only(deep)) {
        level.size = count_of(*from.find(depth), *from.integer(depth, whole), level.block_size);
    }
    if (only(from.find({"sizeKB"}))) {
        // Kilobytes may be fractional; scalars are not.
        const double bits = *from.number({"sizeKB"}, Range::between(0, 1e12)) * 1024 * 8;
        level.size = static_cast<std::int64_t>(bits / static_cast<double>(level.word_bits));
    }
}

void read_bandwidths(const Section& from, StorageLevel& level) {
    if (const std::optional<double> both = from.number({"bandwidth"}, amount)) {
        from.values().warn(*from.find({"bandwidth"}),
                           "'bandwidth' is out of date; half of it is taken as read_bandwidth, "
                           "half as write_bandwidth");
        level.read_bandwidth = level.write_bandwidth = *both / 2;
    }
    const auto read = [&](Keys keys, std::optional<double>& into) {
        if (const std::optional<double> value = from.number(keys, amount)) {
            into = value;
        }
    };
    read({"shared_bandwidth"}, level.shared_bandwidth);
    read({"read_bandwidth"}, level.read_bandwidth);
    read({"write_bandwidth"}, level.write_bandwidth);
}

void read_network(const Section& from, StorageLevel& level) {
    Network& network = level.network;
    if (const std::optional<std::string> type = from.text({"network_type"})) {
        if (*type != "1:1" && *type != "1:N" && *type != "M:N") {
            spec::fail(*from.find({"network_type"}),
                       {"unknown type of network", *type, "1:1, 1:N or M:N", ""});
        }
        if (*type == "M:N") {
            refuse(*from.find({"network_type"}), "networks of type M:N", "use 1:1 or 1:N");
        }
        network.subtype = *type;
    }
    network.word_bits = from.integer({"network_word_bits"}, count);
    network.router_energy_pj = from.number({"router_energy"}, amount);
    network.wire_energy_pj_per_bit_mm = from.number({"wire_energy"}, amount);
    network.tile_width_um = from.number({"tile_width"}, amount);
    network.energy_per_hop_pj = from.number({"energy_per_hop"}, amount);
    network.energy_per_ingress_pj = from.number({"energy_per_ingress"}, amount);
    network.fill_latency =
        from.integer({"network_fill_latency", "fill_latency"}, whole).value_or(0);
    network.drain_latency =
        from.integer({"network_drain_latency", "drain_latency"}, whole).value_or(0);
    for (const char* key : {"network_read", "network_fill", "network_drain", "network_update"}) {
        if (const Node* name = from.find({key})) {
            refuse(*name, "networks of the user's own", "remove the key");
        }
    }
}

void read_energy(const Section& from, StorageLevel& level) {
    if (const std::optional<double> energy = from.number({"vector_access_energy"}, amount)) {
        level.energy.vector_access_pj = *energy;
        level.energy.read_pj = level.energy.fill_pj = level.energy.update_pj = *energy;
        level.energy.source = "user";
    }
    level.addr_gen_energy_pj =
        from.number({"addr_gen_energy"}, Range::between(-1e24, 1e24)).value_or(-0.1);
    const std::optional<double> area = from.number({"cluster_area"}, amount);
    if (area && *area > 0) {
        level.area_um2 = *area / static_cast<double>(level.cluster_size);
    }
}

void read_master(const Section& from, StorageLevel& level) {
    level.power_gated_at = from.text({"power_gated_at"});
    if (from.boolean({"allow_overbooking"}).value_or(false)) {
        refuse(*from.find({"allow_overbooking"}), "overbooked tiles", "remove the key");
    }
    const Node* scales = from.find({"per_dataspace_bandwidth_consumption_scale"});
    if (scales == nullptr || is_empty(*scales)) {
        return;
    }
    if (!scales->is_map()) {
        spec::fail(*scales, {"bandwidths are scaled by a map, not by " + scales->describe(), "",
                             "{DATA_SPACE: NUMBER, ...}", ""});
    }
    for (const Node::Entry& entry : scales->entries) {
        level.bandwidth_scale[entry.key] = from.values().number(entry.value, amount);
    }
}

void read_metadata(const Section& from, StorageLevel& level) {
    MetadataStorage& metadata = level.metadata;
    const Range narrow = Range::between(0, 1e9);
    metadata.block_size = from.integer({"metadata_block_size"}, Range::between(1, 1e9)).value_or(1);
    metadata.word_bits =
        from.integer({"metadata_datawidth", "metadata_word_bits"}, narrow).value_or(0);
    const Keys width = {"metadata_storage_width", "metadata_width"};
    const Keys depth = {"metadata_storage_depth", "metadata_depth"};
    metadata.width_bits = from.integer(width, narrow).value_or(0);
    metadata.depth = from.integer(depth, narrow);
    metadata.decompresses = from.boolean({"decompression_supported"}).value_or(false);
    metadata.compresses = from.boolean({"compression_supported"}).value_or(false);
    if (from.boolean({"tile_partition_supported"}).value_or(false)) {
        refuse(*from.find({"tile_partition_supported"}), "tiles that are partitioned at run time",
               "remove the key");
    }
    const std::int64_t vector = metadata.word_bits * metadata.block_size;
    if (from.find(width) != nullptr && vector != 0 && metadata.width_bits % vector != 0) {
        spec::fail(*from.find(width), {"the metadata width of level '" + level.name +
                                           "' is no multiple of metadata word and block size",
                                       std::to_string(metadata.width_bits),
                                       "a multiple of " + std::to_string(vector), ""});
    }
    if (metadata.size_bits() >= std::int64_t{1} << 32) {
        spec::fail(*from.find(depth),
                   {"the metadata storage of level '" + level.name + "' has 2^32 bits or more",
                    std::to_string(*metadata.depth) + " * " + std::to_string(metadata.width_bits),
                    "fewer: Timeloop counts them in 32 bits", "make it smaller"});
    }
}

}  // namespace

std::int64_t count_of(const Node& where, std::int64_t a, std::int64_t b) {
    if (static_cast<double>(a) * static_cast<double>(b) > 9e15) {
        spec::fail(where,
                   {"more than 9e15 of them", std::to_string(a) + " times " + std::to_string(b), "",
                    "correct one of the numbers"});
    }
    return a * b;
}

MeshSize read_mesh(const Section& from, const std::string& name, std::int64_t tree_count) {
    const std::optional<std::int64_t> given = from.integer({"instances"}, count);
    const std::optional<std::int64_t> x = from.integer({"meshX"}, count);
    const std::optional<std::int64_t> y = from.integer({"meshY"}, count);
    std::optional<std::int64_t> instances = given;
    if (!instances && tree_count > 0) {
        instances = tree_count;
    }
    const auto fault = [&](const std::string& what, const std::string& remedy) {
        const Node* place = from.find({"meshX", "meshY", "instances"});
        spec::fail(place == nullptr ? from.node() : *place,
                   {"level '" + name + "': " + what, "", "meshX * meshY = instances", remedy});
    };
    if (!instances && x && y) {
        instances = count_of(*from.find({"meshX"}), *x, *y);
    }
    if (!instances) {
        fault("the number of instances is not given", "add 'instances', or meshX and meshY");
    }
    MeshSize mesh{*instances, *instances, 1};
    if (x) {
        mesh.x = *x;
        mesh.y = y ? *y : *instances / *x;
    } else if (y) {
        mesh.y = *y;
        mesh.x = *instances / *y;
    }
    if (count_of(from.node(), mesh.x, mesh.y) != mesh.instances) {
        fault("a mesh of " + std::to_string(mesh.x) + " by " + std::to_string(mesh.y) +
                  " does not hold " + std::to_string(mesh.instances) + " instances",
              "correct one of the three numbers");
    }
    return mesh;
}

StorageLevel read_storage(const Section& from, const std::string& name,
                          const std::string& class_name, std::int64_t tree_count) {
    StorageLevel level;
    level.name = name;
    level.word_bits =
        from.integer({"word_bits", "word_width", "datawidth"}, Range::between(1, 1e6)).value_or(16);
    const std::optional<std::int64_t> block = from.integer({"block_size", "n_words"}, count);
    const std::optional<std::int64_t> cluster = from.integer({"cluster_size"}, count);
    level.block_size = block.value_or(1);
    level.cluster_size = cluster.value_or(1);
    count_of(from.node(), count_of(from.node(), level.word_bits, level.block_size),
             level.cluster_size);
    read_width(from, level, block.has_value(), cluster.has_value());
    read_size(from, level);
    const std::string technology = from.text({"technology"}).value_or("");
    if (technology == "DRAM" || class_name.find("DRAM") != std::string::npos) {
        level.technology = Technology::dram;
    }
    level.num_ports = from.integer({"num_ports", "n_ports"}, Range::between(1, 2)).value_or(2);
    level.num_banks = from.integer({"num_banks", "n_banks"}, count).value_or(2);
    level.reduction_supported = from.boolean({"reduction_supported"});
    level.multiple_buffering = from.number({"multiple_buffering"}, Range::above(0)).value_or(1);
    level.min_utilization = from.number({"min_utilization"}, amount).value_or(0);
    if (level.size && static_cast<double>(*level.size) / level.multiple_buffering > 9e15) {
        spec::fail(*from.find({"multiple_buffering"}),
                   {"the size of level '" + name + "' divided by it is more than 9e15",
                    from.find({"multiple_buffering"})->text, "at least 1", "correct the value"});
    }
    if (level.min_utilization != 0 && !level.size) {
        spec::fail(*from.find({"min_utilization"}),
                   {"level '" + name + "' has no size that could be utilized", "", "",
                    "add 'entries' or 'depth', or remove 'min_utilization'"});
    }
    read_bandwidths(from, level);
    const MeshSize mesh = read_mesh(from, name, tree_count);
    level.instances = mesh.instances;
    level.mesh_x = mesh.x;
    level.mesh_y = mesh.y;
    read_network(from, level);
    read_energy(from, level);
    read_master(from, level);
    read_metadata(from, level);
    return level;
}

}  // namespace tessera::timeloop
