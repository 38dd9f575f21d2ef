"""Faults in the connection to a server, and in what workers give up."""
from fault import Fault as F

FLEET, OS = "src/measure/fleet/", "src/base/os/"

FAR = [
    F("what a reply announces is not counted", "limit", FLEET + "reply.c", "  reader->left_bytes -= n * size;\n", "",
      "test_measure_redis_reply|fuzz_redis_reply"),
    F("a line may be endless", "limit", FLEET + "reply.c", "return n > MAX_LINE_BYTES && !memmem", "return n > SIZE_MAX / 2 && !memmem",
      "test_measure_redis_reply"),
    F("the end of a text is not looked at", "guard", FLEET + "reply.c", 'if (memcmp(text + n, "\\r\\n", TAIL_BYTES) != 0) {', "if (!text) {",
      "test_measure_redis_reply"),
    F("a server may repeat a password", "secret", FLEET + "redis.c",
      '  return "AUTH is refused, in words that may repeat the password";\n', "  return text;\n", "test_measure_redis_server"),
    F("a password is shown", "secret", FLEET + "address.c", "  part user = parts->user;\n",
      "  part user = parts->user;\n  if (parts->password.at) user.n += 1 + parts->password.n;\n", "test_measure_redis_address|fuzz_redis_address"),
    F("what is behind an unencoded password is shown", "secret", FLEET + "address.c", "if (strchr(at_sign ? at_sign + 1 : end, '@') || strchr(end, '#'))",
      "if (strchr(end, '#'))", "test_measure_redis_address"),
    F("any host's certificate will do", "guard", FLEET + "tls.c", "  return ssl->SSL_set1_host(tls->session, host) == 1 &&", "  return",
      "test_measure_redis_tls"),
    F("any address's certificate will do", "guard", FLEET + "tls.c", "  if (is_address(host))\n", "  if (is_address(host)) return true;\n  if (is_address(host))\n",
      "test_measure_redis_tls"),
    F("anybody's certificate will do", "guard", FLEET + "tls.c", "SSL_VERIFY_PEER, NULL", "SSL_VERIFY_NONE, NULL", "test_measure_redis_tls"),
    F("a broken connection is used again", "stale", FLEET + "redis.c", "  redis->is_broken = status != SEER_OK;\n", "", "test_measure_redis_server"),
    F("waiting for a server has no end", "limit", OS + "net.c", "if (!seer_os_poll_in(&fd, 1, left_of(until_ns), &is_ready))",
      "if (!seer_os_poll_in(&fd, 1, UINT64_MAX, &is_ready))", "test_measure_redis_server"),
    F("a worker may write anywhere it has open", "guard", OS + "confine.c", "{SYS_write, 0, 2, all, {out, STDERR_FILENO}, ENDS}",
      "{SYS_write, 0, 2, 0, {0, STDERR_FILENO}, ENDS}", "test_cli_confine"),
    F("a worker may start processes", "guard", OS + "confine.c", "{SYS_clone, 0, 1, IS_THREAD, {IS_THREAD}, ENDS}", "{SYS_clone, 0, 1, 0, {0}, ENDS}",
      "test_cli_confine"),
    F("a worker may signal anybody", "guard", OS + "confine.c", "{SYS_tgkill, 0, 1, all, {self}, ENDS}", "{SYS_tgkill, 0, 1, 0, {self & 0}, ENDS}", "test_cli_confine"),
    F("what a worker may not do is refused quietly", "verdict", OS + "confine.c", "  put_conditions(p, fd);\n  put_return(p, ENDS);\n",
      "  put_conditions(p, fd);\n  put_return(p, SECCOMP_RET_ERRNO | EPERM);\n", "test_cli_confine"),
    F("files are given up by nobody", "guard", OS + "landlock.c", "(rights){FILES_1, 0, 0}", "(rights){0x1u, 0, 0}", "test_cli_confine"),
    F("workers get the fleet's password", "secret", "src/measure/child.c", "      .hidden_variable = SEER_FLEET_PASSWORD,\n", "", "test_cli_confine"),
]
