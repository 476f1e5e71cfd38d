#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <set>
#include <sstream>
#include <thread>

#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "cli/run/live_run.hpp"
#include "compare.hpp"
#include "contender_name.hpp"
#include "io/json_text.hpp"
#include "io/run_directory.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

constexpr double standard_time_s = 10;

bool is_limited(const base::Budget& budget) {
    return budget.max_time_s > 0 || budget.max_cpu_s > 0 || budget.max_evals > 0 ||
           budget.stall_evals > 0;
}

}  // namespace

void add_compare_options(options::Description& description, const std::string& mappers,
                         const std::string& what) {
    const auto list = [](const char* name) { return options::list().named(name); };
    description.add_options()  //
        ("mapper", list("NAME").by_default(mappers),
         ("who is compared: " + what +
          ", separated by commas, or the option repeated; NAME[KNOB=VALUE;KNOB=VALUE]: with knobs "
          "of "
          "its own; none: mappings alone")
             .c_str())                                                                   //
        ("mapping,m", list("FILE"), "a given mapping to compare with; may be repeated")  //
        ("seeds", options::text().by_default("1").named("N"),
         "searches of each, with the seeds from --seed on; the table shows medians")  //
        ("output,o", options::text().named("DIR"),
         "write result.json, curves.csv and the best mapping of each to a new folder")  //
        ("force", options::flag(), "replace the comparison in the folder")              //
        ("json", options::flag(), "print one JSON document");
}

std::vector<std::string> contender_names(const Arguments& arguments) {
    std::vector<std::string> names;
    for (const std::string& item : arguments.all("mapper")) {
        for (const std::string& name : split_names(item)) {
            if (name.empty()) {
                throw UserError("--mapper: '" + item +
                                "' is not understood (expected names separated by commas, for "
                                "example ffm,random)");
            }
            names.push_back(name);
        }
    }
    return names == std::vector<std::string>{"none"} ? std::vector<std::string>{} : names;
}

void read_comparison_options(const Arguments& arguments, Comparison& comparison) {
    comparison.n_seeds = arguments.whole("seeds", 1, 1000);
    comparison.budget = budget(arguments);
    if (!is_limited(comparison.budget)) {
        comparison.budget.max_time_s = standard_time_s;
    }
    comparison.plain = arguments.flag("plain");
}

void check_names(const Comparison& comparison) {
    if (comparison.contenders.empty()) {
        throw UserError("nothing is compared: --mapper none, and no mapping (-m FILE)");
    }
    std::set<std::string> seen;
    for (const auto& contender : comparison.contenders) {
        if (!seen.insert(plain_name(contender->name())).second) {
            throw UserError("'" + contender->name() +
                            "' is compared with itself; give each mapper, and mappings of "
                            "different file names, once");
        }
    }
}

telemetry::RunIdentity comparison_identity(const std::vector<std::string>& args,
                                           const ComparisonSubject& subject) {
    telemetry::RunIdentity run = process_identity("compare", args, "", subject.workload);
    run.workload = subject.workload;
    run.architecture = subject.architecture;
    run.model = subject.model;
    run.metrics = {subject.metric};
    run.unit = subject.value_unit;
    run.threads = subject.threads > 0
                      ? subject.threads
                      : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    return run;
}

io::Json comparison_run_json(const std::vector<std::string>& args) {
    io::Json root;
    root["schema_version"] = io::schema_version;
    root["tessera_version"] = version;
    root["command"] = io::Json::array({"tessera", "compare"});
    for (const std::string& arg : args) {
        root["command"].push_back(io::exact(arg));
    }
    std::error_code ignored;
    root["directory"] = io::exact(std::filesystem::current_path(ignored).string());
    root["host"] = host_name();
    root["started"] = utc_now();
    return root;
}

int deliver_comparison(Comparison& comparison, const ComparisonSubject& subject,
                       const Arguments& arguments, io::Json run_json, std::ostream& out,
                       std::ostream& err) {
    using Policy = io::RunDirectory::Policy;
    std::optional<io::RunDirectory> folder;
    if (arguments.has("output")) {
        folder.emplace(arguments.text("output"),
                       arguments.flag("force") ? Policy::replace : Policy::refuse);
        folder->open();
        for (const auto& contender : comparison.contenders) {
            run_json["contenders"].push_back(plain_name(contender->name()));
        }
        folder->write("run.json", io::dumped(run_json), true);
    } else if (arguments.flag("force")) {
        throw UserError("option '--force' needs the folder: -o DIR");
    }
    // False: files could not be written.
    const auto deliver = [&] {
        const bool json = arguments.flag("json");
        if (json) {
            out << io::dumped(comparison_json(comparison, subject));
        } else {
            print_comparison(out, comparison, subject);
        }
        out.flush();
        if (!folder) {
            return true;
        }
        const std::map<std::string, std::string> files = comparison_files(comparison, subject);
        const auto unwritten = folder->finish(files, true);
        if (!unwritten.empty()) {
            explain_unwritten(err, *folder, unwritten, files,
                              "make room; the comparison cannot be resumed");
        } else if (!json) {
            print_place(out, *folder);
            out.flush();
        }
        return unwritten.empty();
    };
    comparison.rescue = [&] { deliver(); };
    const bool complete = comparison.run_all(err);
    return deliver() ? comparison_exit_code(comparison, !complete) : ExitCode::user_error;
}

}  // namespace tessera::cli
