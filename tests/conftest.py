"""Plugins of the whole test suite."""

import signal

pytest_plugins = ["pytester", "tests.slow_parts"]

# A shell without job control starts what is put behind with SIGINT ignored, and programs hand that on: those
# that tests interrupt would never end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
