// Search strategies that are written in Python.
#include <pybind11/stl.h>

#include "interruptible.hpp"
#include "space.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/plugin/registry.hpp"

namespace tessera::python {

namespace {

/// base::Stopped on its way through Python.
bool is_stopped(const py::error_already_set& error) {
    return error.matches(py::module_::import("tessera._errors").attr("Stopped"));
}

/// Every call holds the GIL. What Python raises ends the search and is raised by it.
class PythonStrategy : public search::SearchStrategy {
public:
    PythonStrategy(std::string name, py::object self)
        : name_(std::move(name)), self_(std::move(self)), search_(Interruptible::current()) {
        read_width();
    }

    ~PythonStrategy() override {
        const py::gil_scoped_acquire held;
        if (space_) {
            space_->close();
        }
        self_.release().dec_ref();
    }
    std::string name() const override {
        return name_;
    }
    void start(const search::Space& space, std::uint64_t seed) override {
        call([&] {
            space_ = std::make_shared<SpaceHandle>(space);
            self_.attr("_start")(space_, seed);
            read_width();
        });
    }
    std::size_t ask(std::span<search::Candidate> batch) override {
        return call([&] {
            const py::object asked = self_.attr("ask")(batch.size());
            if (asked.is_none()) {
                return std::size_t{0};
            }
            const auto& given = asked.cast<const Candidates&>();
            if (given.size() > batch.size()) {
                throw UserError("ask(" + std::to_string(batch.size()) + ") gave " +
                                std::to_string(given.size()) + " candidates");
            }
            std::copy(given.begin(), given.end(), batch.begin());
            return given.size();
        });
    }
    void tell(std::span<const search::Candidate> batch) override {
        call([&] { self_.attr("tell")(Candidates(batch.begin(), batch.end())); });
    }
    bool exhausted() const override {
        return call([&] { return self_.attr("exhausted")().cast<bool>(); });
    }
    std::size_t width() const override {
        return width_;
    }
    bool ends() const override {
        return ends_;
    }
    void budget_used(double fraction) override {
        call([&] { self_.attr("budget_used")(fraction); });
    }
    void immigrate(const search::Candidate& best) override {
        call([&] { self_.attr("immigrate")(Candidates{best}); });
    }
    std::string save() const override {
        return call([&] { return std::string(self_.attr("_save")().cast<py::bytes>()); });
    }
    bool restore(const std::string& state) override {
        return call([&] { return self_.attr("_restore")(py::bytes(state)).cast<bool>(); });
    }

private:
    void read_width() {
        width_ = self_.attr("width").cast<std::size_t>();
        ends_ = self_.attr("ends").cast<bool>();
    }
    template <class Call>
    auto call(const Call& what) const -> decltype(what()) {
        const py::gil_scoped_acquire held;
        try {
            return what();
        } catch (py::error_already_set& error) {
            if (is_stopped(error)) {
                throw base::Stopped();
            }
            fail_search(search_, error);
        } catch (const std::exception& error) {
            fail_search(search_, error);
        }
    }

    const std::string name_;
    py::object self_;
    Interruptible* const search_;
    std::shared_ptr<SpaceHandle> space_;
    std::size_t width_ = 0;
    bool ends_ = false;
};

plugin::Knob typed_knob(const std::string& name, const py::handle& standard) {
    if (py::isinstance<py::bool_>(standard)) {
        return plugin::Knob::flag(name, standard.cast<bool>(), "");
    }
    const double most = 9007199254740991.0;
    if (py::isinstance<py::int_>(standard)) {
        return plugin::Knob::integer(name, standard.cast<std::int64_t>(),
                                     static_cast<std::int64_t>(-most),
                                     static_cast<std::int64_t>(most), "", "");
    }
    if (py::isinstance<py::float_>(standard)) {
        const double infinite = std::numeric_limits<double>::infinity();
        return plugin::Knob::number(name, standard.cast<double>(), -infinite, infinite, "", "");
    }
    plugin::Knob knob;
    knob.name = name;
    knob.standard = standard.cast<std::string>();
    return knob;
}

/// `declared`: a default, or a default and a text.
plugin::Knob knob_of(const std::string& name, const py::handle& declared) {
    const bool pair = py::isinstance<py::tuple>(declared);
    const py::object standard =
        pair ? declared[py::int_(0)] : py::reinterpret_borrow<py::object>(declared);
    plugin::Knob knob = typed_knob(name, standard);
    knob.text = pair ? declared[py::int_(1)].cast<std::string>()
                     : "parameter " + name + " of the constructor";
    return knob;
}

py::dict values_of(const std::vector<plugin::Knob>& knobs, const plugin::KnobValues& values) {
    py::dict result;
    for (const plugin::Knob& knob : knobs) {
        const py::str name(knob.name);
        switch (knob.type) {
            case plugin::KnobType::integer:
                result[name] = values.integer(knob.name);
                break;
            case plugin::KnobType::number:
                result[name] = values.number(knob.name);
                break;
            case plugin::KnobType::flag:
                result[name] = values.flag(knob.name);
                break;
            case plugin::KnobType::text:
                result[name] = values.text(knob.name);
        }
    }
    return result;
}

/// `make`: called with the knobs' values, gives the object. It is kept as long as the process.
void register_strategy(const std::string& name, const std::string& summary, const std::string& file,
                       const py::dict& knobs, const py::object& make) {
    plugin::Entry<search::SearchStrategy> entry;
    entry.name = name;
    entry.summary = summary;
    entry.library = "python";
    entry.file = file;
    for (const auto& [key, standard] : knobs) {
        entry.knobs.push_back(knob_of(key.cast<std::string>(), standard));
    }
    py::object* const kept = new py::object(make);
    entry.create = [kept, name, declared = entry.knobs](const plugin::KnobValues& values) {
        const py::gil_scoped_acquire held;
        return plugin::Owned<search::SearchStrategy>(
            new PythonStrategy(name, (*kept)(**values_of(declared, values))),
            [](search::SearchStrategy* made) { delete made; });
    };
    plugin::Registry<search::SearchStrategy>::instance().add(std::move(entry));
}

}  // namespace

void bind_strategy(py::module_& module) {
    module.def("register_strategy", &register_strategy);
}

}  // namespace tessera::python
