// program.c - the program of the wheel, and its linker where it is called ld.lld: all of both is in
// libfamilyseer.so beside it, which Python loads, too.
int seer_program(int argc, char **argv);  // tool/portable.cc

int main(int argc, char **argv) { return seer_program(argc, argv); }
