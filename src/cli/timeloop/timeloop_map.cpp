// tessera map for Timeloop's input files: the search with its views, then Timeloop's output files.
#include <algorithm>
#include <ostream>
#include <sstream>
#include <thread>

#include "base/units.hpp"
#include "cli/cli.hpp"
#include "cli/compare/compare.hpp"
#include "cli/run/live_run.hpp"
#include "cli/run/mapping_view.hpp"
#include "tessera/base/error.hpp"
#include "timeloop.hpp"
#include "timeloop_search.hpp"

namespace tessera::cli {

namespace {

class TimeloopMap {
public:
    TimeloopMap(const std::vector<std::string>& args, const Arguments& arguments,
                const std::vector<std::string>& files, std::ostream& out, std::ostream& err)
        : args_(args),
          arguments_(arguments),
          input_(timeloop::load_input(timeloop::read_document(files, arguments.defines()))),
          out_(out),
          err_(err),
          settings_(timeloop_settings(arguments, input_)),
          constraints_(timeloop::read_constraints(input_.document, input_.problem,
                                                  input_.architecture, input_.warnings)) {
        if (arguments.has("strategy") || arguments.text("mapper") != "timeloop") {
            settings_.strategy = timeloop_strategy(Components(arguments, true));
        } else if (arguments.has("knob") || arguments.has("knobs")) {
            throw UserError(
                "--knob and --knobs need a search strategy here; name one with "
                "--strategy");
        }
        if (arguments.has("algorithm")) {
            settings_.algorithm = timeloop_algorithm("algorithm", arguments.text("algorithm"));
        }
        for (const std::string& path : arguments.list("start")) {
            start_.push_back(
                timeloop_start(path, files, arguments.defines(), input_, constraints_, settings_));
        }
        if (!start_.empty() && !settings_.strategy) {
            throw UserError("--start needs a search strategy here; name one with --strategy");
        }
    }

    int run() {
        if (!arguments_.flag("quiet")) {
            print(input_.warnings);
        }
        LiveRun::Settings live;
        live.run = identity();
        live.budget = budget(arguments_);
        live.ui = ui(arguments_, err_);
        live.plain = arguments_.flag("plain");
        live.rescue = [this](const std::vector<std::string>& mappings) { rescue(mappings); };
        live.describe = text_view;
        const auto owned = std::make_unique<LiveRun>(std::move(live), err_);
        LiveRun& running = *owned;
        const timeloop::MapperResult result = timeloop_search(
            input_, constraints_, settings_,
            {budget(arguments_), &running.recorder(), running.interrupt().stop(), start_});
        running.hold();
        const bool cut = running.interrupted() && result.proof == timeloop::Proof::none;
        running.finish(cut ? telemetry::RunState::interrupted : telemetry::RunState::finished);
        if (cut && !result.best) {
            err_ << "tessera: interrupted before a valid mapping was found\n";
            return ExitCode::interrupted;
        }
        deliver(result);
        return cut ? ExitCode::interrupted : ExitCode::ok;
    }

private:
    void print(const std::vector<std::string>& warnings) {
        for (const std::string& warning : warnings) {
            err_ << "tessera: warning: " << warning << "\n";
        }
    }

    telemetry::RunIdentity identity() const {
        const TimeloopMetric metric = timeloop_metric(settings_);
        ComparisonSubject subject;
        subject.workload = timeloop_workload(input_);
        subject.architecture = timeloop_hardware(input_);
        subject.model = "timeloop";
        subject.metric = metric.name;
        subject.value_unit = metric.unit;
        subject.threads = settings_.threads;
        telemetry::RunIdentity run = comparison_identity(args_, subject);
        run.mapper = settings_.strategy ? settings_.strategy->name : "timeloop";
        run.seed = settings_.seed;
        run.command[1] = "map";
        return run;
    }

    /// The search did not stop in time.
    void rescue(const std::vector<std::string>& mappings) {
        timeloop::MapperResult result;
        if (!mappings.empty()) {
            timeloop::Warnings ignored;
            result.best = timeloop::read_mapping(
                timeloop::read_document_text(mappings.front(), "mapping.yaml"), input_.problem,
                input_.architecture, ignored);
        }
        if (result.best) {
            deliver(result);
            out_.flush();
        }
    }

    void deliver(const timeloop::MapperResult& result) {
        if (!result.best) {
            std::string text =
                result.proof == timeloop::Proof::infeasible ? "no mapping of the mapspace is valid"
                : result.limits.empty()                     ? "no valid mapping was found"
                                        : "no valid mapping was found before a limit";
            for (const std::string& reason : result.reasons) {
                text += "\n  " + reason;
            }
            if (result.proof != timeloop::Proof::infeasible) {
                throw LimitReached(text);
            }
            throw NoLegalMapping(text);
        }
        const double gap = result.gap(settings_.objectives);
        const timeloop::Evaluation evaluation =
            timeloop::evaluate(input_.problem, input_.architecture, *result.best, input_.model);
        const timeloop::Evaluated evaluated{input_.problem, input_.architecture, *result.best,
                                            evaluation.stats};
        print(evaluated, result, gap);
        out_.flush();
        write_files(evaluated, result, gap);
    }

    void print(const timeloop::Evaluated& evaluated, const timeloop::MapperResult& result,
               double gap) {
        if (arguments_.flag("json")) {
            out_ << timeloop::result_json(
                {input_, &evaluated.mapping, &evaluated.stats, &result, gap});
            return;
        }
        out_ << "Best mapping of " << input_.document.files.front() << " (model timeloop)\n";
        print_timeloop_stats(out_, input_, evaluated.stats);
        timeloop::write_map_text(out_, evaluated, timeloop::Dialect::master, "  ");
        out_ << proof_text(result, gap) << " (mapspace timeloop, " << result.mapspace_size
             << " mappings).\n";
    }

    std::string proof_text(const timeloop::MapperResult& result, double gap) const {
        if (result.proof == timeloop::Proof::optimal) {
            return "Proven optimal";
        }
        const auto& objectives = settings_.objectives;
        const std::string proven =
            result.proven == 0
                ? ""
                : "Proven optimal in " + timeloop::names(objectives, 0, result.proven) + "; ";
        const bool known = (result.proven == 0 ? result.bound : result.next_bound).has_value();
        const std::string next =
            objectives.size() > 1 ? " in " + timeloop::names(objectives, result.proven, 1) : "";
        const std::string text = known
                                     ? "at most " + base::percent(gap) + " above the optimum" + next
                                     : "no bound is known" + next;
        return proven.empty() ? (known ? "A" : "N") + text.substr(1) : proven + text;
    }

    void write_files(const timeloop::Evaluated& evaluated, const timeloop::MapperResult& result,
                     double gap) {
        if (!arguments_.has("output")) {
            return;
        }
        TimeloopFiles files(arguments_.text("output") + "/timeloop-mapper");
        files.add_evaluation(input_, evaluated);
        std::ostringstream yaml;
        timeloop::write_map_yaml(yaml, input_.problem, input_.architecture, evaluated.mapping);
        files.add(".map.yaml", yaml.str());
        files.add(".json", timeloop::result_json(
                               {input_, &evaluated.mapping, &evaluated.stats, &result, gap}));
        files.write();
    }

    const std::vector<std::string>& args_;
    const Arguments& arguments_;
    timeloop::Input input_;
    std::ostream& out_;
    std::ostream& err_;
    timeloop::MapperSettings settings_;
    timeloop::Constraints constraints_;
    std::vector<timeloop::Mapping> start_;
};

}  // namespace

int timeloop_map(const std::vector<std::string>& args, const Arguments& arguments,
                 const std::vector<std::string>& files, std::ostream& out, std::ostream& err) {
    return TimeloopMap(args, arguments, files, out, err).run();
}

}  // namespace tessera::cli
