// The command lines and inputs of the Python front end (test/reference/timeloop/front_end), run by
// the shell as it runs them; outputs are read as its parser reads them.
#include <yaml-cpp/yaml.h>
#include <boost/test/unit_test.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "run/process.hpp"
#include "support/paths.hpp"

using namespace tessera::run_test;
using Json = nlohmann::ordered_json;

namespace {

const fs::path flows = fs::path(tessera::test::test_folder()) / "reference/timeloop/front_end";
const std::string endless = "stopped-search";

/// Takes the place of accelergy: leaves the flow's own tables where it is told to.
constexpr const char* accelergy = R"(#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in --oprefix) prefix=$2; shift ;; -o) folder=$2; shift ;; esac
    shift
done
cp "$IN/energies.ERT.yaml" "$folder${prefix}ERT.yaml"
cp "$IN/energies.ART.yaml" "$folder${prefix}ART.yaml"
)";

/// One recorded flow with an output folder of its own.
class Flow {
public:
    explicit Flow(const std::string& name) : name_(name), in_(flows / name) {
        expected = Json::parse(read(in_ / "expected.json"));
        fs::copy(in_ / "parsed-processed-input.yaml", folder_.path());
        std::ofstream(tools_ / "accelergy") << accelergy;
        fs::permissions(tools_ / "accelergy", fs::perms::owner_all);
    }

    Json expected;

    const std::string& name() const {
        return name_;
    }
    fs::path at(const std::string& file) const {
        return folder_ / file;
    }
    fs::path made(const std::string& ending) const {
        return at(expected["program"].get<std::string>() + ending);
    }
    bool calls_accelergy() const {
        return fs::exists(in_ / "energies.ERT.yaml") &&
               command().find("ERT.yaml") == std::string::npos;
    }
    std::string command() const {
        return read(in_ / "command.sh");
    }
    /// The settings that the front end puts before the program's name.
    std::string settings() const {
        const std::string line = command();
        const std::size_t begin = line.find(';') + 1;
        return line.substr(begin, line.find("timeloop-") - begin);
    }
    /// The flow's own specification with its energies, read without the front end.
    std::string native_command() const {
        std::string line = "cd \"$OUT\" ; " + settings() + "TESSERA_TIMELOOP_DIALECT=master " +
                           expected["program"].get<std::string>() + " \"$IN/spec.yaml\"";
        for (const char* extra : {"tables.yaml", "energies.ERT.yaml", "energies.ART.yaml"}) {
            line += fs::exists(in_ / extra) ? " \"$IN/" + std::string(extra) + "\"" : "";
        }
        return line;
    }

    Process start(const std::string& line, const Args& more = {}) const {
        Process::How how;
        const char* path = std::getenv("PATH");
        const std::string programs = fs::path(program()).parent_path().string();
        how.environment = {"OUT=" + folder_.path().string(), "IN=" + in_.string(),
                           "PATH=" + programs + ":" +
                               (calls_accelergy() ? tools_.path().string() + ":" : "") + path};
        how.environment.insert(how.environment.end(), more.begin(), more.end());
        how.instead = [&line] {
            return ::execl("/bin/sh", "sh", "-c", line.c_str(), static_cast<char*>(nullptr));
        };
        return Process(logs_.path(), {}, how);
    }
    int run(const std::string& line, const Args& more = {}) const {
        return start(line, more).wait(120);
    }

private:
    std::string name_;
    fs::path in_;
    Folder folder_, tools_, logs_;
};

std::vector<std::string> flow_names() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(flows)) {
        if (entry.is_directory()) {
            names.push_back(entry.path().filename().string());
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

/// Runs `check` on every flow that ends by itself.
template <class Check>
void each_flow(Check check) {
    int count = 0;
    for (const std::string& name : flow_names()) {
        if (name == endless) {
            continue;
        }
        BOOST_TEST_CONTEXT("flow " << name) {
            Flow flow(name);
            check(flow);
        }
        ++count;
    }
    BOOST_TEST(count >= 15);
}

/// stats.txt in the front end's eyes.
struct Figures {
    long long cycles = -1, computes = -1;
    std::string utilization;
    std::map<std::string, double> fj_per_compute;
};

Figures figures(const fs::path& path) {
    Figures result;
    std::istringstream stats(read(path));
    for (std::string line; std::getline(stats, line);) {
        const std::string last = line.substr(line.rfind(' ') + 1);
        const std::size_t equals = line.rfind('=');
        if (result.computes >= 0) {
            if (equals != std::string::npos) {
                const std::size_t first = line.find_first_not_of(' ');
                const std::string name = line.substr(first, equals - first);
                result.fj_per_compute[name.substr(0, name.find_last_not_of(' ') + 1)] =
                    std::stod(line.substr(equals + 1));
            }
        } else if (line.find("Computes =") != std::string::npos) {
            result.computes = std::stoll(last);
        } else if (line.find("Cycles: ") != std::string::npos) {
            result.cycles = std::stoll(last);
        } else if (line.find("Utilization") != std::string::npos) {
            result.utilization = last;
        }
    }
    return result;
}

/// ART.yaml in the front end's eyes: instances times area of each component, in m^2.
std::map<std::string, double> areas(const fs::path& path) {
    std::map<std::string, double> result;
    for (const YAML::Node& row : YAML::LoadFile(path.string())["ART"]["tables"]) {
        std::string name = row["name"].as<std::string>();
        name = name.substr(name.find('.') + 1);
        const std::size_t bracket = name.find('[');
        const double count =
            bracket == std::string::npos ? 1 : std::stod(name.substr(name.rfind('.') + 1));
        result[name.substr(0, bracket)] = count * row["area"].as<double>() / 1e12;
    }
    return result;
}

/// The program listens for SIGINT.
bool listens(pid_t pid) {
    const std::string status = read("/proc/" + std::to_string(pid) + "/status");
    const std::size_t caught = status.find("SigCgt:");
    return caught != std::string::npos &&
           (std::stoull(status.substr(caught + 7), nullptr, 16) >> (SIGINT - 1) & 1) != 0;
}

void equal_to_real(const Figures& ours, const Json& real) {
    BOOST_TEST(ours.cycles == real["cycles"].get<long long>());
    BOOST_TEST(ours.computes == real["computes"].get<long long>());
    BOOST_TEST(ours.utilization == real["utilization"].get<std::string>());
    BOOST_TEST(ours.fj_per_compute.size() == real["fj_per_compute"].size());
    for (const auto& [name, value] : real["fj_per_compute"].items()) {
        const auto found = ours.fj_per_compute.find(name);
        BOOST_REQUIRE_MESSAGE(found != ours.fj_per_compute.end(), name);
        BOOST_TEST(found->second == value.get<double>(), name);
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(front_end)

BOOST_AUTO_TEST_CASE(its_parser_reads_our_files) {
    each_flow([](Flow& flow) {
        BOOST_REQUIRE_EQUAL(flow.run(flow.command()), 0);
        const Json& read_then = flow.expected["front_end"];
        const Figures now = figures(flow.made(".stats.txt"));
        BOOST_TEST(now.cycles == read_then["cycles"].get<long long>());
        BOOST_TEST(now.computes == read_then["computes"].get<long long>());
        BOOST_REQUIRE(!now.utilization.empty());
        BOOST_TEST(now.utilization.back() == '%');
        BOOST_TEST(std::abs(std::stod(now.utilization) / 100 -
                            read_then["percent_utilization"].get<double>()) < 1e-12);
        double energy_j = 0;
        for (const auto& [name, value] : now.fj_per_compute) {
            if (name != "Total") {
                const double joules = value * static_cast<double>(now.computes) / 1e15;
                energy_j += joules;
                const double then = read_then["per_component_energy_j"].value(name, -1.0);
                BOOST_TEST(std::abs(joules - then) <= 1e-12 * std::abs(then), name);
            }
        }
        BOOST_TEST(std::abs(energy_j / read_then["energy_j"].get<double>() - 1) < 1e-12);
        BOOST_TEST(read(flow.made(".map.txt")).find("<< Compute >>") != std::string::npos);
        for (const char* ending : {".map+stats.xml", ".ERT.yaml", ".ART.yaml"}) {
            BOOST_TEST(!read(flow.made(ending)).empty(), ending);
        }
        double area = 0;
        for (const auto& [name, value] : areas(flow.made(".ART.yaml"))) {
            area += value;
            const double then = read_then["per_component_area_m2"].value(name, -1.0);
            BOOST_TEST(std::abs(value - then) <= 1e-9 * std::abs(then), name);
        }
        BOOST_TEST(std::abs(area / read_then["area_m2"].get<double>() - 1) < 1e-9);
    });
}

BOOST_AUTO_TEST_CASE(in_dialect_3_0_3_the_figures_are_the_real_programs) {
    each_flow([](Flow& flow) {
        // Found by another search, or with energies that were not in the input.
        if (flow.name() == "ruby-remainders" || flow.calls_accelergy()) {
            return;
        }
        BOOST_REQUIRE_EQUAL(flow.run(flow.command(), {"TESSERA_TIMELOOP_DIALECT=3.0.3"}), 0);
        const Json& real = flow.expected["timeloop_3_0_3"];
        equal_to_real(figures(flow.made(".stats.txt")),
                      real.contains("model") ? real["model"] : real["mapper"]);
    });
}

BOOST_AUTO_TEST_CASE(the_mappers_mapping_costs_the_same_in_the_real_model) {
    each_flow([](Flow& flow) {
        const Json& real = flow.expected["timeloop_3_0_3"];
        if (!real.contains("model_on_our_mapping")) {
            return;
        }
        BOOST_REQUIRE_EQUAL(flow.run(flow.command()), 0);
        // As a model's input: the mapping that was found in the place of the empty one.
        const std::string both =
            read(flow.made(".map.yaml")) + "\n" + read(flow.at("parsed-processed-input.yaml"));
        std::ofstream(flow.at("model.yaml")) << both;
        BOOST_REQUIRE_EQUAL(
            flow.run(
                "cd \"$OUT\"; " + flow.settings() + "timeloop-model model.yaml " +
                    (flow.command().find("ERT.yaml") != std::string::npos || flow.calls_accelergy()
                         ? "\"$IN/energies.ERT.yaml\" \"$IN/energies.ART.yaml\""
                         : ""),
                {"TESSERA_TIMELOOP_DIALECT=3.0.3"}),
            0);
        equal_to_real(figures(flow.at("timeloop-model.stats.txt")), real["model_on_our_mapping"]);
    });
}

BOOST_AUTO_TEST_CASE(what_the_user_wrote_gives_the_same_without_the_front_end) {
    each_flow([](Flow& flow) {
        BOOST_REQUIRE_EQUAL(flow.run(flow.command()), 0);
        const std::string stats = read(flow.made(".stats.txt"));
        const std::string map = read(flow.made(".map.txt"));
        fs::remove(flow.made(".stats.txt"));
        BOOST_REQUIRE_EQUAL(flow.run(flow.native_command()), 0);
        BOOST_TEST((read(flow.made(".stats.txt")) == stats));
        BOOST_TEST((read(flow.made(".map.txt")) == map));
    });
}

// call_stop(): SIGINT to the shell and to the program.
BOOST_AUTO_TEST_CASE(a_search_that_it_stops_leaves_readable_files) {
    const Flow flow(endless);
    std::string line = flow.command();
    line.insert(line.find("timeloop-"), "exec ");
    Process process = flow.start(line);
    BOOST_REQUIRE(eventually([&] { return listens(process.pid()); }));
    pause_ms(300);
    process.signal(SIGINT);
    BOOST_TEST(process.wait(20) == 0);
    const Figures found = figures(flow.made(".stats.txt"));
    BOOST_TEST(found.computes == 720LL * 840 * 960);
    BOOST_TEST(found.cycles >= found.computes / 16);
    BOOST_TEST(areas(flow.made(".ART.yaml")).size() == 5U);
}

BOOST_AUTO_TEST_SUITE_END()
