// A static member of a template: one for the whole process, whichever library has it.
template <class T>
struct Counter {
    static inline int count = 0;
};

int count_up() {
    return ++Counter<int>::count;
}
