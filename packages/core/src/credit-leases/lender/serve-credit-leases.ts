import {
  leaseRequestSchema,
  leaseSubjects,
  recallRequestSchema,
  toJsonMessage,
  createEpochEndPublisher,
} from '@millrace/credit-leases/protocol';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { payloadSchemaVersion, type Envelope } from '@millrace/platform/envelope';
import { startLoop, type Loop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import type { NatsClient } from '@millrace/platform/nats';
import type { ValkeyClient } from '@millrace/platform/valkey';
import type { LeaseRules } from './lease-ledger.ts';
import { createCreditLeaseService, type CreditLeaseServiceOptions } from './leases.service.ts';
import { createCreditLeaseSweeps, sweepBatch, type ChargeUnfinished } from './leases.sweeps.ts';

export interface ServeCreditLeasesOptions {
  readonly db: Db;
  readonly valkey: Pick<ValkeyClient, 'command' | 'runLoaded'>;
  readonly nats: Pick<NatsClient, 'subscribe' | 'publish'>;
  /** The subject prefix of this installation. */
  readonly prefix: string;
  readonly cell: number;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn' | 'error'>;
  /** How long credit should last while the ledger is unreachable. */
  readonly outageMs: number;
  /** The gateway ends longer requests. */
  readonly longestRequestMs: number;
  readonly chargeUnfinished?: ChargeUnfinished;
  readonly mayGrant?: NonNullable<CreditLeaseServiceOptions['mayGrant']>;
}

const queue = 'pots';
/** How many lease requests one worker serves at once: a subscription handles its messages sequentially. */
const subscriptionsPerSubject = 8;
const sweepIntervalMs = 5_000;
const growthPauseMs = 10_000;
const maxSharePercent = 50;
/** 0.10 USD. */
const minFill = 100_000_000n;

/**
 * A gateway renews its leases at half of their admission time, so admission lasts twice the outage. A gateway without
 * contact for twice the lease time is dead.
 */
export function leaseRules(times: { outageMs: number; longestRequestMs: number }): LeaseRules {
  const { outageMs, longestRequestMs } = times;
  const leaseMs = 2 * outageMs + longestRequestMs;
  const sizes = { growthPauseMs, sharePercent: maxSharePercent, least: minFill };
  return { outageMs, longestRequestMs, leaseMs, deadAfterMs: 2 * leaseMs, ...sizes };
}

/** Replies to gateways over NATS and runs the lease sweeps. Any number of workers can run this at once. */
export function serveCreditLeases(options: ServeCreditLeasesOptions): { stop(): Promise<void> } {
  const { db, nats, prefix, cell, clock, log } = options;
  const rules = leaseRules(options);
  const service = createCreditLeaseService({ ...options, rules });
  const envelope: Envelope = {
    cell,
    mode: 'live',
    actor: { kind: 'system', id: 'worker' },
    schemaVersion: payloadSchemaVersion,
    traceparent: null,
  };
  const subjects = leaseSubjects(prefix, cell);
  const listeners = Array.from({ length: subscriptionsPerSubject }, () => [
    nats.subscribe(subjects.lease, { queue }, async (message) => {
      const reply = await service.lease(leaseRequestSchema.parse(message.json()));
      return toJsonMessage({ ...reply, databaseMs: db.clock.nowMs() });
    }),
    nats.subscribe(subjects.recall, { queue }, async (message) =>
      toJsonMessage({ freed: await service.recallFor(recallRequestSchema.parse(message.json())) }),
    ),
  ]).flat();
  const publishEnd = createEpochEndPublisher(nats, { prefix, envelope });
  const sweeps = createCreditLeaseSweeps({ ...options, service, rules, publishEnd });
  const loop = (name: string, once: () => Promise<'busy' | 'idle'>): Loop =>
    startLoop({ name, clock, log, idleMs: sweepIntervalMs, maxBackoffMs: sweepIntervalMs }, once);
  const whileFull = (once: () => Promise<number>) => async (): Promise<'busy' | 'idle'> =>
    (await once()) >= sweepBatch ? 'busy' : 'idle';
  const loops = [
    loop('call in leases of pots', whileFull(sweeps.callIn)),
    loop('close leases of pots', whileFull(sweeps.closePassed)),
    // Finds the same gateways again until the sink has read their end markers, so it always waits.
    loop('give up silent gateways', async () => {
      await sweeps.endDead();
      return 'idle';
    }),
    loop('settle ended gateways', whileFull(sweeps.settleDead)),
  ];
  return {
    stop: async () => {
      await Promise.all(listeners.map((listener) => listener.close()));
      await Promise.all(loops.map((each) => each.stop()));
    },
  };
}
