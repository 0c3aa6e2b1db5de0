/**
 * When a supplier's machine is taken out of sale until an operator has looked at it. Pure: the same evidence gives the same
 * verdict, so whoever acts on one asks once more under the lock of the node.
 */

export type HostFaultKind = 'start' | 'loss';

/** Something that a host did to a tenant. */
export interface HostFault {
  readonly kind: HostFaultKind;
  readonly at: Date;
  /** For people. */
  readonly reason: string;
}

export interface QuarantineEvidence {
  readonly now: Date;
  /** Since when it has been in service: what was before an operator put it back has been judged. */
  readonly inServiceSince: Date;
  readonly faults: readonly HostFault[];
  /** When something last came up on it. */
  readonly lastStartAt: Date | null;
  /** When it went offline. */
  readonly outages: readonly Date[];
  /** In what its hardware differs from what was tested, in words; null: in nothing. */
  readonly difference: string | null;
}

const HOUR_MS = 3_600_000;

export const quarantinePolicy = {
  /** So many starts that fail in a row, */
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
  /** What the supplier reads. Names no tenant. */
  readonly reason: string;
}

/** Null: nothing speaks against selling it. */
export function decideQuarantine(evidence: QuarantineEvidence): QuarantineDecision | null {
  const { difference } = evidence;
  if (difference !== null) {
    return { cause: 'hardware', reason: `Its hardware is not what was tested: ${difference}.` };
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
    reason: `${failed.length} machines in a row did not come up on it. The last: ${last.reason}`,
  };
}

function checkLosses(evidence: QuarantineEvidence): QuarantineDecision | null {
  const lost = countedFaults(evidence, 'loss', quarantinePolicy.lossesMs);
  const last = newestOf(lost);
  if (last === null || lost.length < quarantinePolicy.losses) return null;
  const reason = `${lost.length} machines that ran on it were lost. The last: ${last.reason}`;
  return { cause: 'losses', reason };
}

function checkOutages(evidence: QuarantineEvidence): QuarantineDecision | null {
  const since = countedSince(evidence, quarantinePolicy.outagesMs);
  const outages = evidence.outages.filter((at) => at > since);
  if (outages.length < quarantinePolicy.outages) return null;
  return { cause: 'outages', reason: `It went offline ${outages.length} times within a day.` };
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

/** What of a machine was seen in its self-test, and is sold. */
export interface TestedHardware {
  /** By address, what each is. */
  readonly gpus: readonly { readonly pciAddress: string; readonly model: string }[];
  readonly cpuCount: number;
  readonly ramMb: number;
}

/** A kernel takes a little more or less for itself with each release. */
const RAM_TOLERANCE_PERCENT = 5n;

/**
 * In what a machine is not what was tested. GPUs that are missing are told by the engine and simply not sold, so they are no
 * difference; others than were tested are, and so is a machine that became smaller or larger.
 */
export function differenceFromTested(
  tested: TestedHardware,
  seen: Pick<TestedHardware, 'gpus'> & { readonly cpuCount: number | null; readonly ramMb: number | null },
): string | null {
  const models = new Map(tested.gpus.map(({ pciAddress, model }) => [pciAddress, model]));
  for (const { pciAddress, model } of seen.gpus) {
    const was = models.get(pciAddress);
    if (was === undefined) return `a GPU at ${pciAddress} that was not there`;
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
