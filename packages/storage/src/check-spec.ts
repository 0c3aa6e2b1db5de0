import { isIPv4 } from 'node:net';
import { DriverError } from '@millrace/compute';
import type { VolumeSpec } from './backend.ts';

// What every backend refuses before it acts. Ids become folders and addresses become lines of a configuration file, so what
// could mean something else there goes no further. The caller checks and so does the agent: neither trusts the other.

const idPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export const maxSizeGb = 1_048_576;
export const maxClients = 4_096;

function assertValid(holds: boolean, what: string): asserts holds {
  if (!holds) throw new DriverError('refused', what);
}

export function checkVolumeId(id: string): void {
  assertValid(idPattern.test(id), 'The id of a volume is at most 63 lower-case letters, digits and dashes.');
}

export function checkSnapshotId(id: string): void {
  assertValid(
    idPattern.test(id),
    'The id of a snapshot is at most 63 lower-case letters, digits and dashes.',
  );
}

/**
 * An address that one machine can have, in the one way to write it. The numbers below 1 and from 224 on name networks and
 * groups; some of them would let everybody in.
 */
export function isHostAddress(address: string): boolean {
  if (!isIPv4(address)) return false;
  const first = Number(address.split('.', 1)[0]);
  return first >= 1 && first < 224 && address.split('.').every((part) => part === String(Number(part)));
}

export function checkVolumeSpec(spec: VolumeSpec): void {
  checkVolumeId(spec.externalId);
  assertValid(/^org_[0-9A-Z]{26}$/.test(spec.orgId), 'The organisation is not an id of one.');
  const isSize = Number.isSafeInteger(spec.sizeGb) && spec.sizeGb >= 1 && spec.sizeGb <= maxSizeGb;
  assertValid(isSize, `A volume has 1 to ${maxSizeGb} GB.`);
  const isCounted =
    spec.sequence === undefined || (Number.isSafeInteger(spec.sequence) && spec.sequence >= 0);
  assertValid(isCounted, 'The sequence of a wish is a whole number.');
  if (spec.restore !== undefined) {
    checkSnapshotId(spec.restore.id);
    checkVolumeId(spec.restore.volumeId);
    checkSnapshotId(spec.restore.snapshotId);
  }
  assertValid(isHostAddress(spec.vip), 'The vip of a volume is an IPv4 address.');
  assertValid(spec.clients.length <= maxClients, `A volume has at most ${maxClients} clients.`);
  assertValid(
    spec.clients.every((client) => isHostAddress(client)),
    'A client is an IPv4 address, and no name, network or pattern.',
  );
  assertValid(new Set(spec.clients).size === spec.clients.length, 'A client is named twice.');
}
