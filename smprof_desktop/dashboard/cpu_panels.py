"""How busy the CPUs of each host were, from the start of the job. No Qt."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from smprof_desktop.analysis import counters
from smprof_desktop.analysis.counters import Samples
from smprof_desktop.analysis.doors import Door, Found, of_moments
from smprof_desktop.analysis.intervals import fit
from smprof_desktop.analysis.statistics import exact_sum
from smprof_desktop.dashboard.absent import missing
from smprof_desktop.dashboard.figures import Figure, Line, Lines, Missing, Pie, Share
from smprof_desktop.dashboard.scope import UTILIZATION_BINS, Scope, bin_edges
from smprof_desktop.progress import CancelCheck, never

if TYPE_CHECKING:
    from smprof.profile.reader import Profile


def cpu_active_time(scope: Scope) -> Figure:
    """The time in which a CPU's utilization was above 0 % against that in which it was 0 %, over all CPUs."""
    hosts = _of_hosts(scope.profile, scope.begin_ns, scope.end_ns, scope.cancelled)
    samples = [one.known() for group in hosts.values() for one in group]
    whole = sum(exact_sum(one.end_ns - one.start_ns) for one in samples)
    if not whole:
        return _no_samples(scope)
    basis = f"the sampled time of {_cpus(samples, hosts)}"
    shares = []
    for name, is_active in (("Active", True), ("Idle", False)):
        value = sum(exact_sum((one.end_ns - one.start_ns)[(one.value > 0) == is_active]) for one in samples)
        find = partial(_moments, is_active, scope.begin_ns, scope.end_ns)
        shares.append(Share(name, value, door=Door(f"CPU {name.lower()}", find, basis)))
    note = f"mean utilization {counters.mean_of(samples):.1f} %"
    return Pie(tuple(shares), whole, "ns", basis, note)


def cpu_utilization_over_time(scope: Scope) -> Figure:
    """Per host the mean utilization of its CPUs in each bin, from the first sample on."""
    hosts = _of_hosts(scope.profile, scope.begin_ns, scope.end_ns, scope.cancelled)
    samples = [one.known() for group in hosts.values() for one in group]
    starts_ns = [int(one.start_ns[0]) for one in samples if len(one.start_ns)]
    if not starts_ns:
        return _no_samples(scope)
    ends_ns = [int(one.end_ns[-1]) for one in samples if len(one.end_ns)]
    edges_ns = bin_edges(min(starts_ns), max(ends_ns), UTILIZATION_BINS)
    lines = []
    for host, group in hosts.items():
        values = counters.mean_per_bin(group, edges_ns)
        if np.isfinite(values).any():
            lines.append(Line(host, values, counters.mean_of(group)))
    since_ns = edges_ns - scope.profile.begin_ns
    basis = f"mean over {_cpus(samples, hosts)}, for as long as they were sampled"
    whole = np.array([scope.profile.begin_ns], np.int64)
    return Lines(
        since_ns if fit(edges_ns, whole) else since_ns.astype(np.float64), tuple(lines), basis, label="Utilization (%)"
    )


def _of_hosts(
    profile: Profile, begin_ns: int | None, end_ns: int | None, cancelled: CancelCheck = never
) -> dict[str, list[Samples]]:
    """The utilization of each host's CPUs: of the host as a whole where that was sampled, else of each CPU."""
    hosts: dict[str, list[Samples]] = {}
    for samples in counters.of_profile(profile, counters.tells_cpu_utilization, cancelled):
        hosts.setdefault(profile.processes[samples.process].info.host, []).append(samples)
    for host, group in hosts.items():
        whole = [samples for samples in group if samples.cpu < 0]
        hosts[host] = [samples.within(begin_ns, end_ns) for samples in whole or group]
    return hosts


def _moments(
    is_active: bool, begin_ns: int | None, end_ns: int | None, profile: Profile, cancelled: CancelCheck
) -> Found:
    found = []
    for group in _of_hosts(profile, begin_ns, end_ns, cancelled).values():
        for samples in (one.known() for one in group):
            mine = (samples.value > 0) == is_active
            found.append(of_moments(samples.process, samples.start_ns[mine], samples.end_ns[mine]))
    return Found.joined(found)


def _cpus(samples: list[Samples], hosts: dict[str, list[Samples]]) -> str:
    number = len([one for one in samples if len(one.value)])
    is_each = any(one.cpu >= 0 for one in samples)
    of = "1 host" if len(hosts) == 1 else f"{len(hosts):,} hosts"
    return f"{number:,} CPU{'s' if number != 1 else ''} of {of}" if is_each else f"all CPUs of {of}"


def _no_samples(scope: Scope) -> Missing:
    return missing(
        scope,
        "sample of a CPU's utilization",
        "No CPU utilization was recorded. The smprof recorder samples it from the start of the job; in an imported "
        "trace it is any counter that is called `CPU utilization (%)`.",
    )
