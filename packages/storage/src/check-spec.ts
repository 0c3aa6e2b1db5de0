import { isIPv4 } from 'node:net';
import { DriverError } from '@millrace/compute';
import type { VolumeSpec } from './backend.ts';

// Both the caller and the agent check each spec, because ids become folders and addresses become lines of a configuration file.

const idPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export const maxSizeGb = 1_048_576;
export const maxClients = 4_096;

function assertValid(holds: boolean, what: string): asserts holds {
  if (!holds) throw new DriverError('refused', what);
}

export function checkVolumeId(id: string): void {
  assertValid(idPattern.test(id), 'A volume id must be at most 63 lower-case letters, digits and dashes.');
}

export function checkSnapshotId(id: string): void {
  assertValid(idPattern.test(id), 'A snapshot id must be at most 63 lower-case letters, digits and dashes.');
}

/** A canonical IPv4 address of one host. First octets 0 and 224 upward are networks and groups, some admit every client. */
export function isHostAddress(address: string): boolean {
  if (!isIPv4(address)) return false;
  const first = Number(address.split('.', 1)[0]);
  return first >= 1 && first < 224 && address.split('.').every((part) => part === String(Number(part)));
}

export function checkVolumeSpec(spec: VolumeSpec): void {
  checkVolumeId(spec.externalId);
  assertValid(/^org_[0-9A-Z]{26}$/.test(spec.orgId), 'The organisation id is not valid.');
  const isSize = Number.isSafeInteger(spec.sizeGb) && spec.sizeGb >= 1 && spec.sizeGb <= maxSizeGb;
  assertValid(isSize, `The size of a volume must be 1 to ${maxSizeGb} GB.`);
  const isCounted =
    spec.sequence === undefined || (Number.isSafeInteger(spec.sequence) && spec.sequence >= 0);
  assertValid(isCounted, 'The sequence of a volume spec must be a non-negative integer.');
  if (spec.restore !== undefined) {
    checkSnapshotId(spec.restore.id);
    checkVolumeId(spec.restore.volumeId);
    checkSnapshotId(spec.restore.snapshotId);
  }
  assertValid(isHostAddress(spec.vip), 'The vip of a volume must be the IPv4 address of one host.');
  assertValid(spec.clients.length <= maxClients, `A volume can have at most ${maxClients} clients.`);
  assertValid(
    spec.clients.every((client) => isHostAddress(client)),
    'A client must be the IPv4 address of one host, not a name, network or pattern.',
  );
  assertValid(
    new Set(spec.clients).size === spec.clients.length,
    'The list of clients contains an address twice.',
  );
}
