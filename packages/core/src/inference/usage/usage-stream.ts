import type { Reader } from '@millrace/platform/db';
import type { NatsClient } from '@millrace/platform/nats';
import { readHighestWatermark } from '../../credit-leases/index.ts';
import { usageSubjects } from './usage-event.ts';

export interface UsageStreamOptions {
  /** The prefix of this installation's subjects. */
  readonly prefix: string;
  readonly cell: number;
  /** How many servers keep each message: 3 on a cluster, 1 on a single server. */
  readonly replicas: number;
  readonly maxBytes: number;
}

/** More than a sink can have read ahead of what it has passed. */
const sequenceGap = 1_000_000n;

/**
 * Where a stream that was lost goes on counting: behind everything that was ever passed, and all that was read of it and is
 * not passed yet. So no place stands for two messages, and a sink that has not noticed the loss makes room only where
 * nothing is.
 */
async function nextSequence(reader: Reader, stream: string): Promise<number> {
  const furthest = await readHighestWatermark(reader, `${stream}@`);
  return furthest === 0n ? 1 : Number(furthest + sequenceGap);
}

/** Longer than a gateway takes to publish again after a lost answer; what comes even later, the sink knows. */
const duplicateWindowMs = 2 * 60_000;

/**
 * The stream of a cell's usage. It is money: nothing in it is ever dropped by age or for want of room. A full one refuses, and
 * gateways stop admitting requests until the sink has made room.
 */
export async function ensureUsageStream(
  reader: Reader,
  nats: Pick<NatsClient, 'ensureStream'>,
  options: UsageStreamOptions,
): Promise<void> {
  const subjects = usageSubjects(options.prefix, options.cell);
  await nats.ensureStream({
    name: subjects.stream,
    subjects: [subjects.all],
    replicas: options.replicas,
    maxAgeMs: 0,
    maxBytes: options.maxBytes,
    whenFull: 'refuse new',
    duplicateWindowMs,
    firstSequence: await nextSequence(reader, subjects.stream),
  });
}
