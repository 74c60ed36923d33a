"""Index runs: what is kept of servers that can't be read, and what is said of them."""

from discovercall.gateway.downstream import CallTimeoutError
from discovercall.gateway.indexing import index_servers
from discovercall.gateway.store import Catalog


class Slow:
    def tools(self, server_id, timeout_s):
        raise CallTimeoutError("the time limit ran out")


def test_a_time_limit_that_ran_out_is_named_with_its_setting():
    [report] = index_servers(["a"], Slow(), Catalog(), timeout_s=3.0, clock=lambda: 1.0, redact=str)
    assert report.error == "the time limit ran out: timeouts.discovery_ms is 3000"
