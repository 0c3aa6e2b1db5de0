import type { Mode } from '@millrace/platform/envelope';
import type { StorageNodeId } from '@millrace/platform/ids';
import type { VolumePolicy } from './policy.ts';

export type StorageKind = 'nfs' | 'mock';
export type StorageNodeStatus = 'connecting' | 'connected' | 'silent';

export interface StorageNode {
  readonly id: StorageNodeId;
  readonly name: string;
  readonly region: string;
  readonly mode: Mode;
  readonly kind: StorageKind;
  readonly endpoint: string;
  readonly credentialRef: string | null;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly vipFirst: string;
  readonly vipLast: string;
  readonly capacityGb: number;
  readonly configured: boolean;
  readonly status: StorageNodeStatus;
  readonly statusReason: string | null;
  readonly lastCheckAt: Date | null;
  readonly watchSince: Date | null;
  readonly seenAt: Date | null;
}

export interface StorageNodeUsage {
  readonly soldGb: number;
  readonly vips: ReadonlySet<string>;
}

export const emptyUsage: StorageNodeUsage = { soldGb: 0, vips: new Set() };

export interface VolumePlacement {
  readonly nodeId: StorageNodeId;
  readonly vip: string;
}

/** The node with most free capacity that has enough of it and a free address; null if there is none. */
export function chooseStorageNode(
  nodes: readonly StorageNode[],
  loads: ReadonlyMap<StorageNodeId, StorageNodeUsage>,
  sizeGb: number,
): VolumePlacement | null {
  const candidates = nodes
    .map((node) => {
      const load = loads.get(node.id) ?? emptyUsage;
      return { node, load, roomGb: node.capacityGb - load.soldGb };
    })
    .filter(({ roomGb }) => roomGb >= sizeGb)
    .toSorted((one, other) => other.roomGb - one.roomGb || one.node.name.localeCompare(other.node.name));
  for (const { node, load } of candidates) {
    const vip = freeVip(node, load.vips);
    if (vip !== null) return { nodeId: node.id, vip };
  }
  return null;
}

export function freeVip(
  { vipFirst, vipLast }: Pick<StorageNode, 'vipFirst' | 'vipLast'>,
  taken: ReadonlySet<string>,
): string | null {
  const last = numberOf(vipLast);
  for (let at = numberOf(vipFirst); at <= last; at += 1) {
    const vip = addressOf(at);
    if (!taken.has(vip)) return vip;
  }
  return null;
}

const BYTE = 256;

function numberOf(address: string): number {
  return address.split('.').reduce((sum, part) => sum * BYTE + Number(part), 0);
}

function addressOf(at: number): string {
  const bytes = [24, 16, 8, 0].map((shift) => (at >>> shift) & 0xff);
  return bytes.join('.');
}

/** When the present observation started: now, if the last check is too long ago. */
export function observedSinceAt(
  node: Pick<StorageNode, 'lastCheckAt' | 'watchSince'>,
  now: Date,
  { gapMs }: Pick<VolumePolicy, 'gapMs'>,
): Date {
  const { lastCheckAt, watchSince } = node;
  if (lastCheckAt === null || watchSince === null) return now;
  const sinceMs = now.getTime() - lastCheckAt.getTime();
  // After the clock was set back, earlier checks do not count.
  return sinceMs < 0 || sinceMs > gapMs ? now : watchSince;
}

/** How long a backend has not responded while it was observed. */
export function silentForMs(
  { seenAt, watchSince }: { readonly seenAt: Date | null; readonly watchSince: Date | null },
  now: Date,
): number {
  const receivedMs = Math.max(seenAt?.getTime() ?? 0, watchSince?.getTime() ?? now.getTime());
  return Math.max(0, now.getTime() - receivedMs);
}
