// Proof:
//   where()      the space that a proof holds for
//   sentence()   what is proven
//   advice()     what to try, the most promising first
#include "proof.hpp"

#include <algorithm>
#include <ostream>
#include <vector>

#include "base/memory_reserve.hpp"
#include "base/units.hpp"
#include "cli/output.hpp"
#include "cli/run/map_options.hpp"
#include "cli/table.hpp"

namespace tessera::cli {

namespace {

std::string where(const mapper::Result& result, const mapper::Options& settings,
                  const std::string& mapper) {
    const mapspace::MapSpaceOptions& space = settings.mapspace;
    const auto limit = [](int value) {
        return value < 0 ? std::string("unlimited") : std::to_string(value);
    };
    std::string text = std::string("mapspace ") + preset_name(space) + ", fused loops " +
                       limit(space.max_fused_loops) + ", " +
                       limit(space.max_fused_loops_per_rank_variable) + " per rank variable";
    text += !space.all_einsum_orders ? ", Einsums in file order"
            : result.statistics.all_orders
                ? ", all Einsum orders"
                : ", Einsums in file order, other orders were not searched";
    text += !result.statistics.loop_orders
                ? ", loops below a network in one order where their orders are too many"
                : "";
    text += space.unfused ? ", unfused" : "";
    if (mapper == timeloop_name) {
        text = "mapspace timeloop, Einsum by Einsum";
    }
    text += space.imperfect_temporal ? ", imperfect temporal" : "";
    return text + (space.imperfect_spatial ? ", imperfect spatial" : "");
}

/// Why a search ended without a proof: "--max-time stopped the search".
std::string ending(const std::string& reason) {
    if (reason.empty()) {
        return "the search ended without a proof";
    }
    if (reason == "stop") {
        return "an interrupt stopped the search";
    }
    if (reason == "strategy") {
        return "the strategy had nothing more to propose";
    }
    if (reason == base::out_of_memory) {
        return "the system had no more memory";
    }
    return reason == "gap" || reason == "target" ? "--" + reason + " was reached"
                                                 : "--" + reason + " stopped the search";
}

/// A bound far below says nothing.
std::string bound_text(const mapper::Result& result, const mapper::Options& settings,
                       const arch::Architecture& architecture) {
    const std::optional<double> gap = gap_json(result, settings.metrics).number();
    if (!gap || settings.metrics.size() != 1 || !result.bound) {
        return "";
    }
    if (*gap >= 1) {
        return " No lower bound is known yet.";
    }
    const mapper::Metric metric = settings.metrics.front();
    const std::string unit = metric_unit(architecture, metric);
    return " The least " + metric_name(metric) + " possible lies between " +
           base::quantity(*result.bound, unit) + " (proven) and " +
           base::quantity(mapper::metric_value(metric, result.solutions.front().report), unit) +
           " (this mapping), which is a gap of " + base::percent(*gap) + ".";
}

std::string sentence(const mapper::Result& result, const mapper::Options& settings,
                     const arch::Architecture& architecture) {
    const std::string names = metric_names(settings.metrics);
    if (result.status != mapper::Status::optimal) {
        return "Not proven optimal: " + ending(result.stopped_by) + "." +
               bound_text(result, settings, architecture);
    }
    return settings.metrics.size() > 1
               ? "Complete Pareto set for " + names +
                     ": no mapping of this space is better by both."
               : "Proven optimal for " + names + later_text(result.later, architecture) +
                     ": no mapping of this space is better.";
}

struct Advice {
    std::string option, why;
};

/// "the best mapping came after 2.1 s of 10 s": late ones promise more of them.
std::string when(const Measured& measured) {
    return measured.last_better_s
               ? "the best mapping came after " + base::quantity(*measured.last_better_s, "s") +
                     " of " + base::quantity(measured.search_s, "s")
               : "";
}

bool proves(const Measured& measured) {
    static const std::vector<std::string> names = {"ffm", "exhaustive", "timeloop"};
    return !measured.strategy &&
           std::find(names.begin(), names.end(), measured.mapper) != names.end();
}

std::vector<Advice> advice(const mapper::Result& result, const mapper::Options& settings,
                           const Measured& measured) {
    const mapspace::MapSpaceOptions& space = settings.mapspace;
    const std::string& reason = result.stopped_by;
    std::vector<Advice> all;
    if (!proves(measured)) {
        all.push_back(
            {"--mapper ffm", std::string("searches all of this space and proves its result") +
                                 (measured.strategy ? "; a strategy proves none" : "")});
    }
    if (proves(measured) && (space.imperfect_temporal || space.imperfect_spatial)) {
        all.push_back({"whole tiles alone",
                       "a far smaller space: leave out --imperfect-temporal "
                       "and --imperfect-spatial"});
    }
    if (measured.mapper == "ffm" && space.max_fused_loops != 0 && space.max_fused_loops != 1) {
        all.push_back({"--max-fused-loops 1", "a smaller space, which is proven sooner"});
    }
    if (reason == "max-memory" || reason == base::out_of_memory) {
        all.push_back({"fewer --threads", "each thread needs memory of its own"});
        all.push_back(
            {"more memory", "the search had " + base::memory(measured.peak_memory_bytes)});
    } else if (reason == "gap" || reason == "target") {
        all.push_back({"without --" + reason, "the search goes on to a proof"});
    } else if (!reason.empty() && reason != "strategy") {
        const std::string more = reason == "stop" ? "more time" : "a higher --" + reason;
        const bool resumed = measured.folder && (reason == "stop" || reason == "max-time");
        all.push_back({more, when(measured) + (resumed ? "; --resume goes on from here" : "")});
    } else {
        all.push_back({"another --seed", when(measured)});
    }
    return all;
}

void print_advice(std::ostream& out, const std::vector<Advice>& all) {
    out << "To try, in this order:\n";
    std::size_t width = 0;
    for (const Advice& one : all) {
        width = std::max(width, one.option.size());
    }
    for (const Advice& one : all) {
        std::string line = "  " + one.option;
        if (!one.why.empty()) {
            line += std::string(width + 2 - one.option.size(), ' ') + one.why;
        }
        print_line(out, line, width + 4);
    }
}

}  // namespace

const char* preset_name(const mapspace::MapSpaceOptions& space) {
    return space.preset == mapspace::MapSpaceOptions::Preset::full ? "full" : "accelforge";
}

std::string later_text(const std::optional<mapper::LaterMetric>& later,
                       const arch::Architecture& architecture) {
    if (!later) {
        return "";
    }
    const mapper::MetricFacts& metric = mapper::facts(later->metric);
    if (later->proven) {
        return std::string(", and among those mappings for ") + metric.name;
    }
    return std::string("; ") + metric.name + " among those mappings is not proven" +
           (later->bound > 0
                ? " (at least " + base::quantity(later->bound, unit(architecture, metric.unit)) +
                      ")"
                : "");
}

void print_proof(std::ostream& out, const mapper::Result& result, const mapper::Options& settings,
                 const Measured& measured, const arch::Architecture& architecture) {
    print_line(out, sentence(result, settings, architecture), 2);
    print_line(out, "  Space: " + where(result, settings, measured.mapper) + ".", 4);
    if (result.status != mapper::Status::optimal) {
        print_advice(out, advice(result, settings, measured));
    }
}

}  // namespace tessera::cli
