// The words of the command line, and files of knobs.

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

}  // namespace tessera::fuzz
