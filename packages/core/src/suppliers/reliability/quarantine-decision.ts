/**
 * Decides when a supplier's machine is quarantined until an operator has checked it. Pure, so that callers can decide
 * again under the lock of the node.
 */

export type HostFaultKind = 'start' | 'loss';

export interface HostFault {
  readonly kind: HostFaultKind;
  readonly at: Date;
  readonly reason: string;
}

export interface QuarantineEvidence {
  readonly now: Date;
  /** Since the enrolment, or since an operator last resumed the machine: older faults do not count. */
  readonly inServiceSince: Date;
  readonly faults: readonly HostFault[];
  /** Time of the last successful start. */
  readonly lastStartAt: Date | null;
  /** Times at which the machine went offline. */
  readonly outages: readonly Date[];
  /** The difference between its hardware and the tested hardware, in words; null if there is none. */
  readonly difference: string | null;
}

const HOUR_MS = 3_600_000;

export const quarantinePolicy = {
  /** Consecutive failed starts */
  failedStarts: 3,
  /** within this time. */
  failedStartsMs: 24 * HOUR_MS,
  losses: 2,
  lossesMs: 7 * 24 * HOUR_MS,
  outages: 6,
  outagesMs: 24 * HOUR_MS,
} as const;

export interface QuarantineDecision {
  readonly cause: 'hardware' | 'failed_starts' | 'losses' | 'outages';
  /** The supplier reads it, so it must not name tenants. */
  readonly reason: string;
}

/** Null if the machine may stay in service. */
export function decideQuarantine(evidence: QuarantineEvidence): QuarantineDecision | null {
  const { difference } = evidence;
  if (difference !== null) {
    return { cause: 'hardware', reason: `The hardware differs from the tested hardware: ${difference}.` };
  }
  return checkStarts(evidence) ?? checkLosses(evidence) ?? checkOutages(evidence);
}

function checkStarts(evidence: QuarantineEvidence): QuarantineDecision | null {
  const { lastStartAt } = evidence;
  const faults = countedFaults(evidence, 'start', quarantinePolicy.failedStartsMs);
  const failed = faults.filter(({ at }) => lastStartAt === null || at > lastStartAt);
  const last = newestOf(failed);
  if (last === null || failed.length < quarantinePolicy.failedStarts) return null;
  return {
    cause: 'failed_starts',
    reason: `${failed.length} machines in a row failed to start. The last: ${last.reason}`,
  };
}

function checkLosses(evidence: QuarantineEvidence): QuarantineDecision | null {
  const lost = countedFaults(evidence, 'loss', quarantinePolicy.lossesMs);
  const last = newestOf(lost);
  if (last === null || lost.length < quarantinePolicy.losses) return null;
  const reason = `${lost.length} running machines were lost. The last: ${last.reason}`;
  return { cause: 'losses', reason };
}

function checkOutages(evidence: QuarantineEvidence): QuarantineDecision | null {
  const since = countedSince(evidence, quarantinePolicy.outagesMs);
  const outages = evidence.outages.filter((at) => at > since);
  if (outages.length < quarantinePolicy.outages) return null;
  return { cause: 'outages', reason: `The machine went offline ${outages.length} times within a day.` };
}

function countedFaults(evidence: QuarantineEvidence, kind: HostFaultKind, withinMs: number) {
  const since = countedSince(evidence, withinMs);
  return evidence.faults.filter((fault) => fault.kind === kind && fault.at > since);
}

function countedSince({ now, inServiceSince }: QuarantineEvidence, withinMs: number): Date {
  const earliest = new Date(now.getTime() - withinMs);
  return inServiceSince > earliest ? inServiceSince : earliest;
}

function newestOf(faults: readonly HostFault[]): HostFault | null {
  return faults.reduce<HostFault | null>(
    (newest, fault) => (newest === null || fault.at > newest.at ? fault : newest),
    null,
  );
}

export interface TestedHardware {
  readonly gpus: readonly { readonly pciAddress: string; readonly model: string }[];
  readonly cpuCount: number;
  readonly ramMb: number;
}

/** Kernel releases differ slightly in the memory that they reserve. */
const RAM_TOLERANCE_PERCENT = 5n;

/**
 * The first difference from the tested hardware. Missing GPUs are reported by the engine and not sold, so they do not
 * count. Additional or other GPUs, CPUs and memory do.
 */
export function differenceFromTested(
  tested: TestedHardware,
  seen: Pick<TestedHardware, 'gpus'> & { readonly cpuCount: number | null; readonly ramMb: number | null },
): string | null {
  const models = new Map(tested.gpus.map(({ pciAddress, model }) => [pciAddress, model]));
  for (const { pciAddress, model } of seen.gpus) {
    const was = models.get(pciAddress);
    if (was === undefined) return `an additional GPU at ${pciAddress}`;
    if (was !== model) return `the GPU at ${pciAddress} was ${was} and is ${model}`;
  }
  if (seen.cpuCount !== null && seen.cpuCount !== tested.cpuCount) {
    return `${seen.cpuCount} threads instead of ${tested.cpuCount}`;
  }
  if (seen.ramMb === null) return null;
  const offBy = BigInt(Math.abs(seen.ramMb - tested.ramMb));
  const isMuch = offBy * 100n > BigInt(tested.ramMb) * RAM_TOLERANCE_PERCENT;
  return isMuch ? `${seen.ramMb} MB of memory instead of ${tested.ramMb} MB` : null;
}
