#include "io/report_json.hpp"

#include <cmath>

#include "io/mapping_notes.hpp"
#include "io/pipelines.hpp"

namespace tessera::io {

namespace {

Json numbers(const std::map<std::string, double>& values) {
    Json result = Json::object();
    for (const auto& [name, value] : values) {
        put(result, name, value);
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

Json tensor_json(const model::TensorReport& tensor) {
    Json result;
    result["actions"] = numbers(tensor.actions);
    result["energy_j"] = numbers(tensor.energy_j);
    if (tensor.has_occupancy) {
        put(result, "occupancy", tensor.occupancy);
    }
    return result;
}

Json component_json(const model::ComponentReport& component) {
    Json result;
    double energy = component.leak_j + sum(component.compute_energy_j);
    for (const model::TensorReport& tensor : component.tensors) {
        energy += sum(tensor.energy_j);
    }
    put(result, "energy_j", energy);
    put(result, "leak_j", component.leak_j);
    if (component.has_latency) {
        put(result, "latency_s", component.latency_s);
    }
    if (!component.compute_actions.empty()) {
        result["compute"]["actions"] = numbers(component.compute_actions);
        result["compute"]["energy_j"] = numbers(component.compute_energy_j);
    }
    if (!component.spatial_usage.empty()) {
        result["spatial_usage"] = numbers(component.spatial_usage);
    }
    result["tensors"] = Json::object();
    for (const model::TensorReport& tensor : component.tensors) {
        result["tensors"][tensor.tensor] = tensor_json(tensor);
    }
    return result;
}

Json einsum_json(const model::EinsumReport& einsum) {
    Json result;
    put(result, "energy_j", einsum.energy_j());
    put(result, "dynamic_energy_j", einsum.dynamic_energy_j);
    put(result, "leak_energy_j", einsum.leak_energy_j);
    put(result, "latency_s", einsum.latency_s);
    if (einsum.traffic_words) {
        put(result, "traffic_words", *einsum.traffic_words);
    }
    result["components"] = Json::object();
    for (const model::ComponentReport& component : einsum.components) {
        result["components"][component.component] = component_json(component);
    }
    return result;
}

const char* kind_name(mapping::TreeKind kind) {
    switch (kind) {
        case mapping::TreeKind::storage:
            return "storage";
        case mapping::TreeKind::toll:
            return "toll";
        case mapping::TreeKind::temporal:
            return "temporal";
        case mapping::TreeKind::spatial:
            return "spatial";
        case mapping::TreeKind::sequential:
            return "sequential";
        case mapping::TreeKind::pipeline:
            return "pipeline";
        case mapping::TreeKind::nested:
            return "nested";
        case mapping::TreeKind::compute:
            return "compute";
        case mapping::TreeKind::reservation:
            return "reservation";
    }
    return "";
}

void loop_json(const mapping::TreeNode& node, Json& result) {
    if (node.uses.empty()) {
        result["rank_variable"] = node.rank_variables.size() == 1
                                      ? Json(node.rank_variables.front())
                                      : Json(node.rank_variables);
        result["tile_shape"] = node.tile_shape;
    } else {
        for (const mapping::LoopUse& use : node.uses) {
            result["rank_variable"][use.einsum] = use.rank_variable;
            result["tile_shape"][use.einsum] = use.tile_shape;
            if (use.initial_tile_shape > 0) {
                result["initial_tile_shape"][use.einsum] = use.initial_tile_shape;
            }
        }
    }
    if (node.n_iterations > 0) {
        result["n_iterations"] = node.n_iterations;
    }
    if (node.kind == mapping::TreeKind::spatial) {
        result["name"] = node.dim;
        result["component"] = node.component;
    }
}

/// A number if all Einsums have the same, else one for each.
Json per_einsum(const std::vector<LoopNote>& loops, std::int64_t LoopNote::*field) {
    bool alike = true;
    for (const LoopNote& loop : loops) {
        alike = alike && loop.*field == loops.front().*field;
    }
    if (alike && !loops.empty()) {
        return Json(loops.front().*field);
    }
    Json result = Json::object();
    for (const LoopNote& loop : loops) {
        for (const std::string& einsum : loop.einsums) {
            result[einsum] = loop.*field;
        }
    }
    return result;
}

void note_json(const NodeNote& note, Json& result) {
    if (!note.loops.empty()) {
        result["size"] = per_einsum(note.loops, &LoopNote::size);
        result["trips"] = per_einsum(note.loops, &LoopNote::trips);
    }
    for (const TileNote& tile : note.tiles) {
        Json& one = result["tiles"][tile.tensor];
        put(one, "words", tile.words);
        if (tile.banks > 0) {
            put(one, "banks", tile.banks);
        }
        put(one, "bytes", tile.bits / 8);
        put(one, "reads", tile.reads);
        put(one, "writes", tile.writes);
        put(one, "energy_j", tile.energy_j);
    }
}

/// `note`: that of the node, moves on to that after the node and all below; null: none.
Json node_json(const mapping::TreeNode& node, const NodeNote*& note) {
    Json result;
    const NodeNote* const own = note == nullptr ? nullptr : note++;
    result["kind"] = kind_name(node.kind);
    switch (node.kind) {
        case mapping::TreeKind::storage:
        case mapping::TreeKind::toll:
            result["tensors"] = node.tensors;
            result["component"] = node.component;
            if (node.persistent) {
                result["persistent"] = true;
            }
            if (node.line_buffer) {
                result["line_buffer"] = true;
            }
            if (!node.lower) {
                result["lower"] = false;
            }
            if (!node.einsums.empty()) {
                result["einsums"] = node.einsums;
            }
            break;
        case mapping::TreeKind::temporal:
        case mapping::TreeKind::spatial:
            loop_json(node, result);
            break;
        case mapping::TreeKind::compute:
            result["einsum"] = node.einsum;
            result["component"] = node.component;
            break;
        default:
            result["nodes"] = Json::array();
            for (const mapping::TreeNode& child : node.children) {
                result["nodes"].push_back(node_json(child, note));
            }
    }
    if (own != nullptr) {
        note_json(*own, result);
    }
    return result;
}

}  // namespace

void put(Json& object, const std::string& key, double value) {
    if (std::isfinite(value)) {
        object[key] = value;
    }
}

Json report_json(const model::Report& report) {
    Json result;
    put(result, "energy_j", report.energy_j());
    put(result, "latency_s", report.latency_s());
    put(result, "edp_js", report.edp_js());
    put(result, "dynamic_energy_j", report.dynamic_energy_j());
    put(result, "leak_energy_j", report.leak_energy_j());
    if (const std::optional<double> words = report.traffic_words()) {
        put(result, "traffic_words", *words);
    }
    result["einsums"] = Json::object();
    for (const model::EinsumReport& einsum : report.einsums) {
        result["einsums"][einsum.einsum] = einsum_json(einsum);
    }
    result["peak_occupancy"] = numbers(report.peak_occupancy);
    if (!report.pipelines.empty()) {
        result["pipelines"] = pipelines_json(report);
    }
    return result;
}

Json mapping_json(const mapping::Mapping& mapping) {
    const NodeNote* none = nullptr;
    return node_json(mapping.root, none);
}

Json mapping_json(const mapping::Mapping& mapping, const std::vector<NodeNote>& notes) {
    const NodeNote* first = notes.data();
    return node_json(mapping.root, first);
}

}  // namespace tessera::io
