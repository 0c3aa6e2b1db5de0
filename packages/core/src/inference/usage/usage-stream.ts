import type { Reader } from '@millrace/platform/db';
import type { NatsClient } from '@millrace/platform/nats';
import { readHighestWatermark } from '../../credit-leases/index.ts';
import { usageSubjects } from './usage-event.ts';

export interface UsageStreamOptions {
  /** The subject prefix of this installation. */
  readonly prefix: string;
  readonly cell: number;
  /** How many servers store each message: 3 on a cluster, 1 on a single server. */
  readonly replicas: number;
  readonly maxBytes: number;
}

/** More than a sink can have read beyond its watermark. */
const sequenceGap = 1_000_000n;

/**
 * The first sequence number of a stream that replaces a lost one: above everything that was read. So no number is used for two
 * messages, and a sink that has not detected the loss purges nothing.
 */
async function nextSequence(reader: Reader, stream: string): Promise<number> {
  const furthest = await readHighestWatermark(reader, `${stream}@`);
  return furthest === 0n ? 1 : Number(furthest + sequenceGap);
}

/** Longer than a gateway takes to retry after a lost acknowledgement; the sink recognises later duplicates. */
const duplicateWindowMs = 2 * 60_000;

/**
 * Creates the usage stream of a cell. Usage is money, so no message is dropped by age or size. A full stream rejects messages, and
 * gateways stop admitting requests until the sink has purged.
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
