// The words of the command line, files of knobs, and folders that commands leave and read.

#include "cli/session.hpp"
#include "fuzz/hostile.hpp"
#include "fuzz/readers.hpp"
#include "tessera/plugin/registry.hpp"

namespace tessera::fuzz {

namespace {

using Words = std::vector<std::string>;

struct KnobName {
    std::string component, name, standard;
};

template <class Role>
void add_knobs(std::vector<KnobName>& knobs, Words& components) {
    for (const auto& entry : plugin::Registry<Role>::instance().entries()) {
        components.push_back(entry.name);
        for (const plugin::Knob& knob : entry.knobs) {
            knobs.push_back({entry.name, knob.name, knob.standard});
        }
    }
}

std::string some_value(Random& random, const std::string& usual) {
    switch (below(random, 5)) {
        case 0:
            return hostile_text(random);
        case 1:
            return hostile_number(random);
        case 2: {
            std::string text = usual;
            mutate_bytes(random, text);
            return text;
        }
        default:
            return usual;
    }
}

/// Options with a value that each takes.
const std::vector<std::pair<std::string, std::string>>& known_options() {
    static const std::vector<std::pair<std::string, std::string>> all = {
        {"metric", "energy,latency"},
        {"mapspace", "accelforge"},
        {"compat", "accelforge"},
        {"max-fused-loops", "1"},
        {"max-fused-loops-per-rank-variable", "2"},
        {"einsum-orders", "file"},
        {"imperfect-temporal", ""},
        {"imperfect-spatial", ""},
        {"unfused", ""},
        {"threads", "2"},
        {"seed", "3"},
        {"max-cpu-time", "500ms"},
        {"max-stall", "10"},
        {"max-memory", "900MiB"},
        {"target", "1e-9"},
        {"gap", "0.01"},
        {"ui", "json"},
        {"plain", ""},
        {"quiet", ""},
        {"json", ""},
        {"output", "out"},
        {"force", ""},
        {"resume", ""},
        {"skip-if-exists", ""},
        {"algorithm", "random"},
        {"strategy", "random"},
        {"model", "timeloop"},
        {"knobs", "knobs.yaml"},
        {"define", "M=4"},
        {"help", ""},
        {"plugin", "arch.yaml"},
        {"mapping", "mapping.yaml"},
        {"size", "80x24"}};
    return all;
}

/// Never NUL: a word of a command line cannot hold it.
std::string word(std::string text) {
    std::erase(text, '\0');
    return text;
}

}  // namespace

Reader knobs() {
    const auto all = std::make_shared<std::vector<KnobName>>();
    const auto components = std::make_shared<Words>();
    add_knobs<mapper::Mapper>(*all, *components);
    add_knobs<search::SearchStrategy>(*all, *components);
    add_knobs<model::CostModel>(*all, *components);
    const auto donors = std::make_shared<Donors>();
    std::string text;
    for (std::size_t i = 0; i < all->size(); ++i) {
        const KnobName& knob = (*all)[i];
        text += i > 0 && (*all)[i - 1].component == knob.component ? "" : knob.component + ":\n";
        text += "  " + knob.name + ": \"" + knob.standard + "\"\n";
    }
    const auto file = std::make_shared<Source>(text);
    donors->add(file->tree);
    return {
        "knobs", Place::word, [all, components, donors, file](Random& random) {
            Input input;
            input.files = {{"arch.yaml", cli_test::small_arch},
                           {"workload.yaml", cli_test::small_workload},
                           {"mapping.yaml", cli_test::fused_mapping},
                           {"knobs.yaml", file->mutated(random, *donors)}};
            static const Words commands = {"map",   "map",   "map",    "compare",
                                           "model", "check", "explain"};
            const std::string& command = pick(random, commands);
            input.words = {"tessera", command};
            input.words.insert(input.words.end(), {"-a", "arch.yaml", "-w", "workload.yaml"});
            if (command == "model" || command == "explain") {
                input.words.insert(input.words.end(), {"-m", "mapping.yaml"});
            }
            if (command == "map" || command == "compare") {
                input.words.insert(input.words.end(), {"--max-time", "1s", "--max-evals", "200"});
                const std::string& name = pick(random, *components);
                input.words.insert(input.words.end(), {"--mapper", word(some_value(random, name))});
                const KnobName& knob = pick(random, *all);
                const bool own = one_in(random, 3);
                input.words.insert(input.words.end(),
                                   {"--knob", word((own ? name : knob.component) + "." + knob.name +
                                                   "=" + some_value(random, knob.standard))});
            }
            for (std::size_t i = 0; i < below(random, 3); ++i) {
                const auto& [option, usual] = pick(random, known_options());
                input.words.push_back("--" + option);
                if (!usual.empty()) {
                    input.words.push_back(word(some_value(random, usual)));
                }
            }
            if (one_in(random, 10)) {
                pick(random, input.words) = word(hostile_text(random));
                input.words.front() = "tessera";
            }
            return input;
        }};
}

namespace {

using Files = std::map<std::string, std::string>;

/// What a command leaves in its folder, with the place where it ran taken out.
Files left_by(const Words& more, const std::filesystem::path& scratch) {
    Input input;
    input.files = {{"arch.yaml", cli_test::small_arch},
                   {"workload.yaml", cli_test::small_workload}};
    input.words = {"tessera", more.front(), "-a", "arch.yaml", "-w", "workload.yaml", "-q"};
    input.words.insert(input.words.end(), more.begin() + 1, more.end());
    Files files = run(input, scratch, Way::fork).files;
    for (auto& [name, text] : files) {
        const std::string here = scratch.string();
        for (std::size_t at = 0; (at = text.find(here, at)) != std::string::npos;) {
            text.replace(at, here.size(), ".");
        }
    }
    return files;
}

std::string mutated(Random& random, const std::string& name, const std::string& text,
                    const Donors& donors) {
    if (!name.ends_with(".json") || text.empty()) {
        std::string copy = text;
        (one_in(random, 2) ? mutate_lines : mutate_bytes)(random, copy);
        return copy;
    }
    Source source(text);
    source.format = Format::json;
    return source.mutated(random, donors);
}

}  // namespace

Reader run_folders(const std::filesystem::path& scratch) {
    const auto folders = std::make_shared<std::vector<Files>>();
    for (const Words& words : std::vector<Words>{
             {"map", "-o", "run", "--threads", "1"},
             {"map", "-o", "run", "--max-evals", "3", "--threads", "1"},
             {"map", "-o", "run", "--mapper", "random", "--max-evals", "300", "--threads", "1"},
             {"compare", "-o", "run", "--mapper", "random,exhaustive", "--max-evals", "50",
              "--threads", "1"}}) {
        folders->push_back(left_by(words, scratch));
    }
    const auto donors = std::make_shared<Donors>();
    for (const Files& files : *folders) {
        for (const auto& [name, text] : files) {
            if (name.ends_with(".json")) {
                donors->add(Source(text).tree);
            }
        }
    }
    return {
        "run folders", Place::file, [folders, donors](Random& random) {
            Input input;
            input.files = pick(random, *folders);
            static const std::vector<Words> commands = {
                {"top", "--once", "run"},
                {"top", "--once", "--json", "run"},
                {"top", "--once", "--size", "200x60", "--panel", "8", "run"},
                {"map", "-o", "run", "--resume"},
                {"rerun", "run"},
                {"rerun", "run", "-o", "again"},
                {"map", "-a", "arch.yaml", "-w", "workload.yaml", "-o", "run", "--skip-if-exists"}};
            input.words = pick(random, commands);
            const bool shown = input.words.front() == "top";
            input.words.insert(input.words.begin(), "tessera");
            Words names;
            for (const auto& [name, text] : input.files) {
                if (name.starts_with("run/")) {
                    names.push_back(name);
                }
            }
            const std::string name = shown && !one_in(random, 5) ? "run/status.json"
                                     : one_in(random, 2)         ? "run/run.json"
                                                                 : pick(random, names);
            if (one_in(random, 30)) {
                input.files.erase(name);
            } else {
                input.files[name] = mutated(random, name, input.files[name], *donors);
            }
            return input;
        }};
}

}  // namespace tessera::fuzz
