import {
  createCreditLeaseService,
  createCreditLeaseSweeps,
  type CreditLeaseService,
  type CreditLeaseSweeps,
} from '@millrace/core/credit-leases';
import { chargeCheckpoints, processMessages } from '@millrace/core/inference';
import type { SimulatedClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { createIdSource, type IdSource, type KeyId, type LeaseId, type OrgId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { hybridClock, startValkeyServer, type TestDatabase } from '@millrace/testing';

/** Inference of organisations: real credit leases in a real Valkey, and usage as the sink receives it from the stream. */

const cell = 1;
const gatewayId = 'gw-1.1';
const stream = 'usage';
const product = 'model-one';
/** Characters have a price without a price list. */
const characters = 10;
const amountNanoUsd = '50000';
const grant = 2_000_000_000n;
const eventsPerMessage = 100;
const rules = {
  leaseMs: 60_000,
  longestRequestMs: 10_000,
  deadAfterMs: 120_000,
  outageMs: 60_000,
  least: 100n,
  sharePercent: 50,
  growthPauseMs: 5_000,
};

export interface UsageTotals {
  readonly charged: bigint;
  readonly uncharged: number;
}

export interface Inference extends AsyncDisposable {
  /** Requests of each organisation now, each on the organisation's lease, which is opened if there is none. */
  use(orgIds: readonly OrgId[], requestsEach: number): Promise<readonly unknown[]>;
  /** Sends events to the sink, also again. */
  send(events: readonly unknown[]): Promise<UsageTotals>;
  /** The events of requests of now, which are not sent yet. */
  events(orgIds: readonly OrgId[], requestsEach: number): Promise<readonly unknown[]>;
  closeLeases(orgIds: readonly OrgId[]): Promise<void>;
}

interface Deps {
  readonly db: Db;
  readonly clock: SimulatedClock;
  readonly log: Logger;
}

export async function startInference({ db, clock, log }: Deps): Promise<Inference> {
  const valkey = await startValkeyServer();
  const ids = createIdSource({ clock, cell });
  const timer = hybridClock(clock);
  const service = createCreditLeaseService({ db, valkey: valkey.client, cell, clock: timer, log, rules });
  const sweeps = createCreditLeaseSweeps({
    ...{ db, log, cell, service, rules, chargeUnfinished: chargeCheckpoints },
    publishEnd: () => Promise.reject(new Error('The gateway of this proof is never declared dead.')),
  });
  return new SimulatedGateway({ db, clock, ids, service, sweeps, stop: () => valkey[Symbol.asyncDispose]() });
}

interface GatewayDeps extends Omit<Deps, 'log'> {
  readonly ids: IdSource;
  readonly service: CreditLeaseService;
  readonly sweeps: CreditLeaseSweeps;
  readonly stop: () => Promise<void>;
}

/** A double of the gateway: it takes leases and reports usage, and serves no request. */
class SimulatedGateway implements Inference {
  readonly #deps: GatewayDeps;
  readonly #leases = new Map<OrgId, LeaseId>();
  readonly #keys = new Map<OrgId, KeyId>();
  #sequence = 0;

  constructor(deps: GatewayDeps) {
    this.#deps = deps;
  }

  async use(orgIds: readonly OrgId[], requestsEach: number): Promise<readonly unknown[]> {
    const events = await this.events(orgIds, requestsEach);
    await this.send(events);
    return events;
  }

  async events(orgIds: readonly OrgId[], requestsEach: number): Promise<readonly unknown[]> {
    const events: unknown[] = [];
    for (const orgId of orgIds) {
      const leaseId = await this.#leaseOf(orgId);
      const key = this.#keys.get(orgId) ?? this.#deps.ids.next('key');
      this.#keys.set(orgId, key);
      for (let n = 0; n < requestsEach; n += 1) events.push(this.#event(orgId, leaseId, key));
    }
    return events;
  }

  async send(events: readonly unknown[]): Promise<UsageTotals> {
    let sum: UsageTotals = { charged: 0n, uncharged: 0 };
    for (let at = 0; at < events.length; at += eventsPerMessage) {
      const part = { events: events.slice(at, at + eventsPerMessage) };
      const { charged, uncharged, unreadable, deferred } = await this.#process('usage.1.batch', part);
      if (unreadable + deferred > 0)
        throw new Error(`The sink quarantined or deferred ${unreadable + deferred} events.`);
      sum = { charged: sum.charged + charged, uncharged: sum.uncharged + uncharged };
    }
    return sum;
  }

  async closeLeases(orgIds: readonly OrgId[]): Promise<void> {
    const { sweeps } = this.#deps;
    for (const orgId of orgIds) {
      if (!this.#leases.delete(orgId)) continue;
      const throughEpoch = '1000000';
      await this.#process('usage.1.end', { orgId, mode: 'live', cell, gatewayId, throughEpoch });
    }
    while ((await sweeps.callIn()) > 0);
    while ((await sweeps.closePassed()) > 0);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#deps.stop();
  }

  #process(subject: string, body: unknown) {
    this.#sequence += 1;
    const text = JSON.stringify(body);
    return processMessages(this.#deps.db, stream, [{ sequence: this.#sequence, subject, text: () => text }]);
  }

  async #leaseOf(orgId: OrgId): Promise<LeaseId> {
    const known = this.#leases.get(orgId);
    if (known !== undefined) return known;
    const reply = await this.#deps.service.lease({
      ...{ orgId, mode: 'live', cell, gatewayId, seen: null, shortage: grant, wanted: grant, budgets: [] },
    });
    if (reply.outcome !== 'leased') throw new Error(`No lease was granted: ${reply.reason}.`);
    this.#leases.set(orgId, reply.leaseId);
    return reply.leaseId;
  }

  #event(orgId: OrgId, leaseId: LeaseId, keyId: KeyId): unknown {
    const { ids, clock } = this.#deps;
    return {
      ...{ kind: 'final', requestId: ids.next('req'), orgId, mode: 'live', keyId, leaseId, gatewayId },
      ...{ budgetIds: [], priceIds: [], model: product, deployment: null, createdAtMs: clock.nowMs() },
      ...{ reservedNanoUsd: amountNanoUsd, amountNanoUsd, pricedNanoUsd: amountNanoUsd },
      ...{ streamed: false, cancelled: false, finishReason: 'stop', latencyMs: 9, ttftMs: null },
      ...{ generationMs: null, tokensPrompt: 0, tokensCached: 0, tokensCompletion: 0, imagePixelSteps: 0 },
      ...{ characters, attempts: [] },
    };
  }
}

/** A partition for the month, because workers create partitions only for days near the real time. */
export async function createPartitions(database: TestDatabase, month: Date, next: Date): Promise<void> {
  const [from, until] = [month, next].map((at) => at.toISOString().slice(0, 10));
  const statements = ['usage_charges', 'inference_requests'].map((table) => {
    const name = `${table}_${String(from).replaceAll('-', '')}`;
    return `create table ${name} (like ${table} including all);
      alter table ${table} attach partition ${name}
        for values from (first_id_of_day('${from}')) to (first_id_of_day('${until}'));`;
  });
  await database.query(statements.join('\n'));
}
