import type { NatsClient } from '@millrace/platform/nats';
import { usageSubjects } from './usage-event.ts';

export interface UsageStreamOptions {
  /** The prefix of this installation's subjects. */
  readonly prefix: string;
  readonly cell: number;
  /** How many servers keep each message: 3 on a cluster, 1 on a single server. */
  readonly replicas: number;
  readonly maxBytes: number;
}

/** Longer than a gateway takes to publish again after a lost answer; what comes even later, the sink knows. */
const duplicateWindowMs = 2 * 60_000;

/**
 * The stream of a cell's usage. It is money: nothing in it is ever dropped by age or for want of room. A full one refuses, and
 * gateways stop admitting requests until the sink has made room.
 */
export function ensureUsageStream(
  nats: Pick<NatsClient, 'ensureStream'>,
  options: UsageStreamOptions,
): Promise<void> {
  const subjects = usageSubjects(options.prefix, options.cell);
  return nats.ensureStream({
    name: subjects.stream,
    subjects: [subjects.all],
    replicas: options.replicas,
    maxAgeMs: 0,
    maxBytes: options.maxBytes,
    whenFull: 'refuse new',
    duplicateWindowMs,
  });
}
