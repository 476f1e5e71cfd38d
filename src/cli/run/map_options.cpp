#include "map_options.hpp"

#include "live_run.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

auto text(const char* standard, const char* name) {
    return options::text().by_default(standard).named(name);
}

}  // namespace

void add_mapspace_options(options::Description& description) {
    description.add_options()  //
        ("mapspace", text("full", "PRESET"),
         "mapspace preset: full, accelforge: the restrictions of that tool, or timeloop (the only "
         "one of "
         "--mapper timeloop)")  //
        ("max-fused-loops", text("unlimited", "N"),
         "loops that Einsums may share: a number or unlimited")  //
        ("max-fused-loops-per-rank-variable", options::text().named("N"),
         "the same per rank variable (1)")  //
        ("einsum-orders", options::text().named("ORDERS"),
         "all: every order in which producers run first; file: that of the file (all; accelforge: "
         "file)")  //
        ("imperfect-temporal", options::flag(),
         "tile shapes need not divide (temporal loops)")  //
        ("imperfect-spatial", options::flag(),
         "tile shapes need not divide (spatial loops)")  //
        ("unfused", options::flag(),
         "the outermost memory keeps every tensor, even one that it may not keep otherwise");
}

void add_search_options(options::Description& description) {
    description.add_options()  //
        ("metric", text("edp", "METRIC"),
         "what is minimised: energy, latency, edp, traffic (words read from and written to the "
         "outermost memory), dynamic_energy, leak_energy, or the Pareto set of two, as in "
         "energy,latency; of map also resource_usage:MEMORY, the share of a memory that is in "
         "use, alone or with these");
    add_mapspace_options(description);
    description.add_options()  //
        ("compat", text("none", "MODEL"),
         "none or accelforge: cost conventions of that tool, defects "
         "included; implied by --mapspace accelforge")  //
        ("start", options::list().named("FILE"),
         "begin with this mapping; may be repeated")                    //
        ("threads", text("0", "N"), "worker threads; 0: one per core")  //
        ("seed", text("0", "N"), "seed of randomised searches");
}

mapspace::MapSpaceOptions mapspace_options(const Arguments& arguments) {
    mapspace::MapSpaceOptions result;
    const std::size_t preset = arguments.choice("mapspace", {"full", "accelforge", "timeloop"});
    if (preset != 0) {
        result = mapspace::MapSpaceOptions::accelforge();
    }
    result.max_fused_loops = arguments.limit("max-fused-loops");
    if (arguments.has("max-fused-loops-per-rank-variable")) {
        result.max_fused_loops_per_rank_variable =
            arguments.limit("max-fused-loops-per-rank-variable");
    }
    if (arguments.has("einsum-orders")) {
        result.all_einsum_orders = arguments.choice("einsum-orders", {"all", "file"}) == 0;
    }
    result.imperfect_temporal = arguments.flag("imperfect-temporal");
    result.imperfect_spatial = arguments.flag("imperfect-spatial");
    result.unfused = arguments.flag("unfused");
    return result;
}

mapper::Options mapper_options(const Arguments& arguments) {
    mapper::Options result;
    result.metrics = arguments.metrics();
    result.mapspace = mapspace_options(arguments);
    result.threads = static_cast<int>(arguments.whole("threads", 0, 4096));
    result.seed = arguments.whole("seed", 0, ~0ull);
    result.budget = budget(arguments);
    return result;
}

std::string switches_text(const mapspace::MapSpaceOptions& space) {
    using Space = mapspace::MapSpaceOptions;
    const Space preset = space.preset == Space::Preset::accelforge ? Space::accelforge() : Space{};
    const auto limit = [](int now, int standard, const char* of) {
        return now == standard
                   ? ""
                   : std::string(", ") + of + " " + (now < 0 ? "unlimited" : std::to_string(now));
    };
    std::string text =
        limit(space.max_fused_loops, preset.max_fused_loops, "fused loops") +
        limit(space.max_fused_loops_per_rank_variable, preset.max_fused_loops_per_rank_variable,
              "fused loops per rank variable");
    if (space.all_einsum_orders != preset.all_einsum_orders) {
        text += space.all_einsum_orders ? ", all Einsum orders" : ", Einsums in file order";
    }
    text += space.unfused ? ", unfused" : "";
    text += space.imperfect_temporal ? ", imperfect temporal" : "";
    return text + (space.imperfect_spatial ? ", imperfect spatial" : "");
}

void check_mapspace(const Arguments& arguments, const std::string& mapper) {
    const bool asked = arguments.text("mapspace") == timeloop_name;
    if (mapper == timeloop_name && arguments.given("mapspace") && !asked) {
        throw UserError("--mapper timeloop searches --mapspace timeloop only");
    }
    if (mapper != timeloop_name && asked) {
        throw UserError("--mapspace timeloop is searched by --mapper timeloop only, not by " +
                        mapper);
    }
}

}  // namespace tessera::cli
