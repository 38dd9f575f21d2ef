// main.c - the program `familyseer`; everything is in cli.c so that tests can call it.
#include "cli/command.h"

int main(int argc, char **argv) { return seer_cli_main(argc, argv); }
