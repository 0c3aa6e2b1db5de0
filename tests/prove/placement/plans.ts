import { createHash } from 'node:crypto';
import type { MockLayout } from '@millrace/compute/mock';
import { createRandom } from '@millrace/testing/random';

/** The plan of a sequence depends only on the seed and the sequence's number, so runs are reproducible. */

export const REGION = 'proof-1';
export const CLUSTER = 'proof';
export const NODES = 24;
export const FABRIC_SIZE = 6;
const GPUS_PER_NODE = 8;

export interface Plan {
  readonly externalId: string;
  readonly gpusPerNode: number;
  readonly nodeCount: number;
  /** The first placement is rolled back, as if the balance were insufficient, and then repeated. */
  readonly rollsBackFirst: boolean;
  /** Number of machines that the client keeps beside this one before it releases the oldest. */
  readonly keeps: number;
  readonly releases: 1 | 2;
  readonly organisation: number;
  readonly udpPort: boolean;
}

export function planOf(seed: number, sequence: number): Plan {
  const random = createRandom(seed).fork(sequence);
  const isGang = random.chance(0.15);
  const hash = createHash('sha256').update(`${seed} ${sequence}`).digest('hex');
  return {
    externalId: [
      hash.slice(0, 8),
      hash.slice(8, 12),
      `7${hash.slice(13, 16)}`,
      `8${hash.slice(17, 20)}`,
      hash.slice(20, 32),
    ].join('-'),
    gpusPerNode: isGang
      ? GPUS_PER_NODE
      : random.weighted([1, 2, 3, 4, 5, 6, 7, 8].map((size) => [9 - size, size])),
    nodeCount: isGang ? random.int(2, 4) : 1,
    rollsBackFirst: random.chance(0.1),
    keeps: random.int(0, 4),
    releases: random.chance(0.1) ? 2 : 1,
    organisation: random.int(0, 3),
    udpPort: random.chance(0.3),
  };
}

/** The engine's hardware; its node names match the inserted fleet. */
export const layout: MockLayout = {
  images: ['proof'],
  nodes: Array.from({ length: NODES }, (_, index) => ({
    name: `node-${index + 1}`,
    address: '127.0.0.1',
    gpuModel: 'h100',
    gpuCount: GPUS_PER_NODE,
    cpuCount: 192,
    ramMb: 2_048_000,
    storageGb: 28_000,
    numaNodes: 2,
    fabric: null,
  })),
};
