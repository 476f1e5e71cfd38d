// Cost model `tf-paper`: problem, method and tiles are read out of specs and tree, the closed forms
// give the figures.
#include "published.hpp"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.hpp"
#include "tessera/plugin/cost_model.hpp"
#include "tessera/spec/value.hpp"
#include "tessera/transfusion/tileseek.hpp"

namespace tessera::transfusion {

namespace {

using Chains = std::vector<mapping::EinsumMapping>;

[[noreturn]] void cannot(const std::string& what) {
    throw UserError("model tf-paper is TransFusion's published evaluation, " + what +
                    "; use model transfusion");
}

void need(bool holds, const std::string& what) {
    if (!holds) {
        cannot(what);
    }
}

// --- Problem ------------------------------------------------------------------------------------

double number(double value, const std::string& what) {
    need(std::isfinite(value) && value > 0, "which needs a finite " + what);
    return value;
}

/// With all scales. \throws UserError if there is none of this name.
const arch::PathAction& action_of(const arch::PathLevel& level, const std::string& action) {
    const auto found = std::find_if(level.actions.begin(), level.actions.end(),
                                    [&](const auto& one) { return one.name == action; });
    need(found != level.actions.end(), "which needs action " + action + " of '" + level.name + "'");
    return *found;
}

double throughput(const arch::PathLevel& level, const std::string& action) {
    return number(action_of(level, action).throughput_per_s,
                  action + " throughput of '" + level.name + "'");
}

double energy_j(const arch::PathLevel& level, const std::string& action) {
    return action_of(level, action).energy_j * level.actions_scale;
}

std::vector<std::int64_t> fanouts(const arch::Path& path) {
    std::vector<std::int64_t> found;
    for (const arch::PathLevel& level : path.levels) {
        for (const arch::PathDim& dim : level.spatial) {
            found.push_back(dim.fanout);
        }
    }
    return found;
}

Accelerator accelerator_of(const Layer& layer) {
    need(layer.units().size() == 2, "which is of a 2D and a 1D array");
    const arch::Path& path_2d = *layer.place("QK", layer.units().front()).path;
    const arch::Path& path_1d = *layer.place("QK", layer.units().back()).path;
    const std::vector<std::int64_t> array = fanouts(path_2d), lanes = fanouts(path_1d);
    need(array.size() == 2 && array[0] == array[1] && lanes.size() == 1,
         "which is of a square 2D array and a 1D array");
    const arch::PathLevel& memory =
        path_2d.levels[static_cast<std::size_t>(path_2d.first_memory())];
    const arch::PathLevel& buffer = path_2d.levels[static_cast<std::size_t>(buffer_level(path_2d))];
    Accelerator found;
    found.name = layer.problem().architecture->name();
    found.edge = array[0];
    found.lanes = lanes[0];
    found.buffer_bytes = number(buffer.size_bits, "size of '" + buffer.name + "'") / 8;
    found.dram_bytes_per_s = throughput(memory, "read") / 8;
    found.buffer_read_j = energy_j(buffer, "read") * 16 * buffer_line_words;
    found.buffer_write_j = energy_j(buffer, "write") * 16 * buffer_line_words;
    found.clock_hz = throughput(path_2d.compute(), "compute");
    need(throughput(path_1d.compute(), "compute") == found.clock_hz,
         "in which both arrays have one clock");
    for (const double bits : memory.bits_per_value) {
        need(bits == 16, "which is of 16-bit words");
    }
    return found;
}

Transformer model_of(const Layer& layer) {
    const auto instances = [&](const std::string& einsum) {
        return layer.places(einsum).front().path->einsum.n_instances;
    };
    const auto& activation = layer.places("AR").front().path->einsum.operations;
    Transformer found;
    found.name = "layer";
    found.heads = layer.bound("h");
    found.head_dim = layer.bound("e");
    found.hidden = layer.bound("s");
    found.activation = activation.size() == 1 && activation.front().kind == "max"
                           ? Activation::relu
                           : Activation::gelu;
    found.stack = {instances("FFN1"), instances("QK"), instances("IAV")};
    return found;
}

// --- Mapping ------------------------------------------------------------------------------------

class Reading {
public:
    Reading(const Layer& layer, const mapping::Mapping& mapping)
        : layer_(layer),
          plain_(mapping),
          chains_(mapping::split(plain_.mapping(), layer.workload(), *layer.problem().architecture,
                                 layer.problem().compat)) {
        for (const std::string& einsum : layer.all()) {
            if (place(einsum) == static_cast<int>(chains_.size())) {
                throw IllegalMapping("the mapping has no compute for Einsum '" + einsum + "'");
            }
        }
        method_ = find_method();
    }

    const Chains& chains() const {
        return chains_;
    }
    /// Index into chains().
    int place(const std::string& einsum) const {
        return static_cast<int>(
            std::find_if(chains_.begin(), chains_.end(),
                         [&](const auto& one) { return one.path.einsum.name == einsum; }) -
            chains_.begin());
    }
    Method method() const {
        return method_;
    }

    /// How often tiles come in: of queries with all keys, and for a fused layer of all it tiles.
    OuterTiles tiles() const {
        OuterTiles found;
        const std::int64_t visits = method_ == Method::unfused ? 1 : trips("QK", "BK", "p");
        if (method_ != Method::transfusion) {
            found.p = visits;
            found.d = method_ == Method::fusemax_layerfuse ? trips("Q", "XQ", "d") : 1;
            return found;
        }
        found = {trips("Q", "XQ", "b"), trips("Q", "XQ", "d"), trips("BK", "XK", "m"),
                 trips("Q", "XQ", "p"), trips("FFN1", "WF1", "s")};
        if (visits != (found.m > 1 ? found.p : 1)) {
            throw IllegalMapping("no method of TransFusion's evaluation brings the keys in " +
                                 std::to_string(visits) + " times where they are made in " +
                                 std::to_string(found.m) + " tiles and queries come in " +
                                 std::to_string(found.p));
        }
        return found;
    }

    /// Method transfusion alone has one to choose.
    Binding binding() const {
        Binding all;
        for (std::size_t i = 0; i < phase_count && method_ == Method::transfusion; ++i) {
            for (const std::string& einsum : einsums(static_cast<Phase>(i))) {
                all[i].push_back(unit(einsum));
            }
        }
        return all;
    }

    Unit unit(const std::string& einsum) const {
        return chain(einsum).path.compute().name == layer_.units().front() ? Unit::array_2d
                                                                           : Unit::array_1d;
    }

private:
    const std::vector<std::string>& einsums(Phase phase) const {
        static const std::vector<std::string> projections = {"Q", "BK", "BV"};
        return phase == Phase::qkv         ? projections
               : phase == Phase::attention ? layer_.attention()
               : phase == Phase::norm      ? layer_.norm()
                                           : layer_.feed_forward();
    }

    const mapping::EinsumMapping& chain(const std::string& einsum) const {
        return chains_[static_cast<std::size_t>(place(einsum))];
    }

    /// The outermost holder of what the Einsum makes is in the outermost memory.
    bool in_dram(const std::string& einsum) const {
        const mapping::EinsumMapping& one = chain(einsum);
        return std::any_of(one.nodes.begin(), one.nodes.end(), [&](const auto& node) {
            return node.kind == mapping::NodeKind::storage && node.backing &&
                   node.level == one.path.first_memory() &&
                   one.path.einsum.tensors[static_cast<std::size_t>(node.tensor)].name == einsum;
        });
    }

    /// All Einsums of the phase, and no others, are in one !Pipeline.
    bool at_once(Phase phase) const {
        const std::vector<std::string>& all = einsums(phase);
        return std::any_of(plain_.ranges().begin(), plain_.ranges().end(), [&](const Range& range) {
            return range.end - range.begin == static_cast<int>(all.size()) &&
                   std::all_of(all.begin(), all.end(), [&](const std::string& einsum) {
                       const int at = place(einsum);
                       return at >= range.begin && at < range.end;
                   });
        });
    }

    Method find_method() const {
        const auto mapped = [](bool holds, const std::string& what) {
            if (!holds) {
                throw IllegalMapping("no method of TransFusion's evaluation " + what);
            }
        };
        if (!layer_.one_pass()) {
            mapped(plain_.ranges().empty(), "runs attention in three passes and anything at once");
            return in_dram("QK") ? Method::unfused : Method::flat;
        }
        mapped(!in_dram("QK"), "runs attention in one pass and takes scores through DRAM");
        mapped(at_once(Phase::attention),
               "runs attention in one pass and its Einsums in turn: they stand in one !Pipeline");
        if (in_dram("AV")) {
            mapped(plain_.ranges().size() == 1, "fuses attention alone and runs more at once");
            return Method::fusemax;
        }
        if (plain_.ranges().size() == 1) {
            return Method::fusemax_layerfuse;
        }
        for (const Phase phase : {Phase::norm, Phase::feed_forward}) {
            mapped(at_once(phase), std::string("runs only a part of its phases at once: ") +
                                       name(phase) + " is no !Pipeline");
        }
        return Method::transfusion;
    }

    /// How often a loop over the variable brings another tile of the tensor into the buffer.
    std::int64_t trips(const std::string& einsum, const std::string& tensor,
                       const std::string& variable) const {
        const mapping::EinsumMapping& one = chain(einsum);
        const int v = one.path.einsum.find_rank_variable(variable);
        if (v < 0) {
            return 1;  // a variable of one value
        }
        std::int64_t trips = 1,
                     tile = one.path.einsum.rank_variables[static_cast<std::size_t>(v)].bound;
        for (const mapping::PmappingNode& node : one.nodes) {
            if (node.kind == mapping::NodeKind::storage) {
                if (node.level == buffer_level(one.path) &&
                    one.path.einsum.tensors[static_cast<std::size_t>(node.tensor)].name == tensor) {
                    return trips;
                }
            } else if (node.rank_variable == v) {
                trips *= (tile + node.tile - 1) / node.tile;
                tile = node.tile;
            }
        }
        throw IllegalMapping("no method of TransFusion's evaluation reads tensor '" + tensor +
                             "' past the buffer, as Einsum '" + einsum + "' does");
    }

    const Layer& layer_;
    Unpipelined plain_;
    Chains chains_;
    Method method_ = Method::unfused;
};

// --- Report -------------------------------------------------------------------------------------

double points(const workload::EinsumView& einsum) {
    double all = 1;
    for (const workload::LocalRankVariable& v : einsum.rank_variables) {
        all *= v.only_last ? 1 : static_cast<double>(v.bound);
    }
    return all;
}

/// Latencies are of the stack, energies of one layer with one norm: as published.
model::EinsumReport einsum_report(const mapping::EinsumMapping& chain, const EinsumCost& cost) {
    const workload::EinsumView& einsum = chain.path.einsum;
    const arch::PathLevel& memory =
        chain.path.levels[static_cast<std::size_t>(chain.path.first_memory())];
    const arch::PathLevel& buffer =
        chain.path.levels[static_cast<std::size_t>(buffer_level(chain.path))];
    model::ComponentReport dram, held, compute;
    dram.component = memory.name;
    held.component = buffer.name;
    dram.has_latency = compute.has_latency = true;
    dram.latency_s = cost.dram_s * einsum.n_instances;
    model::TensorReport traffic;  // of all tensors; reads and writes are not told apart
    traffic.actions["read"] = 8 * cost.dram_bytes;
    traffic.energy_j["read"] = 8 * cost.dram_bytes * energy_j(memory, "read");
    model::TensorReport accesses;
    for (const auto& [action, words] :
         {std::pair{"read", cost.buffer_reads}, std::pair{"write", cost.buffer_writes}}) {
        accesses.actions[action] = 16 * words;
        accesses.energy_j[action] = 16 * words * energy_j(buffer, action);
    }
    compute.component = chain.path.compute().name;
    compute.latency_s = cost.compute_s * einsum.n_instances;
    compute.compute_actions["compute"] = points(einsum);
    compute.compute_energy_j["compute"] =
        points(einsum) * energy_j(chain.path.compute(), "compute");
    model::EinsumReport report;
    report.einsum = einsum.name;
    report.latency_s = cost.latency_s() * einsum.n_instances;
    report.dynamic_energy_j = traffic.energy_j["read"] + accesses.energy_j["read"] +
                              accesses.energy_j["write"] + compute.compute_energy_j["compute"];
    report.traffic_words = cost.dram_bytes / 2;
    dram.tensors.push_back(std::move(traffic));
    held.tensors.push_back(std::move(accesses));
    report.components = {std::move(dram), std::move(held), std::move(compute)};
    return report;
}

class Reporter {
public:
    Reporter(const Layer& layer, const Reading& reading, const Cost& cost)
        : layer_(layer), reading_(reading), cost_(cost) {}

    model::Report run() {
        report_.einsums.resize(reading_.chains().size());
        for (const PhaseCost& phase : cost_.phases) {
            for (const EinsumCost& one : phase.einsums) {
                const auto at = static_cast<std::size_t>(reading_.place(one.name));
                report_.einsums[at] = einsum_report(reading_.chains()[at], one);
            }
            if (!phase.start_s.empty()) {
                report_.pipelines.push_back(pipeline(phase));
            }
        }
        return std::move(report_);
    }

private:
    model::Pipeline pipeline(const PhaseCost& phase) const {
        model::Pipeline made;
        const double runs =
            reading_.chains()[static_cast<std::size_t>(reading_.place(phase.einsums.front().name))]
                .path.einsum.n_instances;
        made.latency_s = phase.latency_s * runs;
        for (std::size_t i = 0; i < phase.einsums.size(); ++i) {
            const EinsumCost& one = phase.einsums[i];
            const std::string& unit =
                one.unit == Unit::array_2d ? layer_.units().front() : layer_.units().back();
            made.slots.push_back({reading_.place(one.name), unit, phase.stage[i],
                                  phase.start_s[i] * runs,
                                  (phase.start_s[i] + one.latency_s()) * runs});
        }
        std::stable_sort(made.slots.begin(), made.slots.end(),
                         [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
        return made;
    }

    const Layer& layer_;
    const Reading& reading_;
    const Cost& cost_;
    model::Report report_;
};

void check_units(const Reading& reading, const Cost& cost) {
    for (const PhaseCost& phase : cost.phases) {
        for (const EinsumCost& one : phase.einsums) {
            if (reading.unit(one.name) != one.unit) {
                throw IllegalMapping(std::string("method ") + name(reading.method()) +
                                     " of TransFusion's evaluation runs Einsum '" + one.name +
                                     "' on the " + (one.unit == Unit::array_2d ? "2D" : "1D") +
                                     " array");
            }
        }
    }
}

/// \throws IllegalMapping. Returns the share of the buffer that the fullest phase needs.
double check_buffer(const Problem& problem, const OuterTiles& tiles) {
    const auto bytes = buffer_bytes(problem, tiles);
    const auto most = std::max_element(bytes.begin(), bytes.end());
    if (*most > problem.accelerator.buffer_bytes) {
        throw IllegalMapping(
            std::string("outer tiles need ") + spec::number_text(*most) + " of " +
            spec::number_text(problem.accelerator.buffer_bytes) + " bytes of the buffer in phase " +
            name(static_cast<Phase>(most - bytes.begin())) + " (Table 2 of TransFusion)");
    }
    return *most / problem.accelerator.buffer_bytes;
}

}  // namespace

PublishedProblem::PublishedProblem(const Layer& layer) {
    need(layer.known(), "which is of the layers problem-shapes/transfusion-*");
    problem.accelerator = accelerator_of(layer);
    problem.model = model_of(layer);
    problem.batch = layer.bound("b");
    problem.tokens = layer.bound("p");
    need(layer.bound("n") == problem.accelerator.edge,
         "in which tiles of keys are as large as the 2D array: give -D KEY_TILE=" +
             std::to_string(problem.accelerator.edge));
    need(layer.bound("f") == problem.model.head_dim, "in which ranks E and F are equal");
    check(problem);
    const std::vector<Place>& places = layer.places(layer.one_pass() ? "LM" : "MX");
    settings.maximum_on_2d = std::any_of(places.begin(), places.end(),
                                         [](const Place& place) { return place.array_2d; });
}

class PublishedModel : public model::CostModel {
public:
    static std::vector<plugin::Knob> knobs() {
        return {
            plugin::Knob::choice("schedule", "paper", {"paper", "modulo"},
                                 "rounds of a pipeline: with two stages at most, as DPipe finds "
                                 "them, or the shortest with any number of stages")};
    }
    explicit PublishedModel(const plugin::KnobValues& knobs)
        : mode_(knobs.text("schedule") == "paper" ? schedule::Mode::paper
                                                  : schedule::Mode::modulo) {}

    std::string name() const override {
        return tf_paper;
    }

    model::EinsumReport evaluate(const model::Problem&, const arch::Path&,
                                 std::span<const mapping::PmappingNode>) const override {
        throw UserError(
            "model tf-paper evaluates whole layers, not single Einsums; take mapper transfusion "
            "or one of its baselines (transfusion:unfused, ...)");
    }

    /// \throws IllegalMapping if no published method maps the layer like this, if a method would
    /// use other computes, or if outer tiles exceed Table 2; UserError for what PublishedProblem
    /// cannot express.
    model::Report evaluate(const model::Problem& problem,
                           const mapping::Mapping& mapping) const override {
        const Layer layer(problem);
        PublishedProblem published(layer);
        published.settings.pipeline = mode_;
        const Reading reading(layer, mapping);
        const OuterTiles tiles = reading.tiles();
        const Cost cost = evaluate_bound(published.problem, reading.method(), tiles,
                                         reading.binding(), published.settings);
        check_units(reading, cost);
        const double full =
            reading.method() == Method::transfusion ? check_buffer(published.problem, tiles) : 0;
        model::Report report = Reporter(layer, reading, cost).run();
        const arch::Path& path = reading.chains().front().path;
        report.peak_occupancy[path.levels[static_cast<std::size_t>(buffer_level(path))].name] =
            full;
        return report;
    }

private:
    schedule::Mode mode_;
};

TESSERA_PLUGIN(
    model::CostModel, PublishedModel, tf_paper,
    "TransFusion's published evaluation of a transformer layer, simplifications included",
    "TransFusion");

}  // namespace tessera::transfusion
