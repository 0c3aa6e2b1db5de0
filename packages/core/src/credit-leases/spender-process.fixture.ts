import { createCreditLeaseClient } from '@millrace/credit-leases/client';
import {
  toJsonMessage,
  createLeaseRequester,
  createEpochEndPublisher,
  type RequestLimit,
} from '@millrace/credit-leases/protocol';
import { systemClock } from '@millrace/platform/clock';
import { payloadSchemaVersion, type Envelope } from '@millrace/platform/envelope';
import { createIdSource, type BudgetId, type KeyId, type OrgId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { connectNats } from '@millrace/platform/nats';
import { connectValkey } from '@millrace/platform/valkey';
import { usageOf } from './leases.fixture.ts';

/** Process that spends like a gateway, as fast as possible. Its first argument is its configuration as JSON. */

export interface SpenderConfig {
  readonly valkeyUrl: string;
  readonly natsUrls: readonly string[];
  readonly prefix: string;
  readonly gatewayId: string;
  readonly amount: string;
  readonly requests: number;
  /** How long to retry 503 responses. */
  readonly retryForMs: number;
  readonly racers: readonly {
    readonly name: string;
    readonly orgId: OrgId;
    readonly keyId: KeyId;
    readonly budgets: readonly BudgetId[];
    readonly limits: readonly RequestLimit[];
    /** Whether requests use exactly their reservation, or only part of it. */
    readonly usesAll: boolean;
  }[];
}

/** One line of output per finished request. */
export interface SpenderResult {
  readonly name: string;
  readonly outcome: string;
  readonly epoch?: string;
  readonly actual?: string;
}

const writeResult = (line: SpenderResult): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

export const usedSubject = (prefix: string, orgId: OrgId): string => `${prefix}.usage.1.${orgId}.used`;

async function runSpenders(order: SpenderConfig): Promise<void> {
  const { prefix, gatewayId } = order;
  const clock = systemClock;
  const log = createLogger({ name: gatewayId, level: 'silent' });
  const ids = createIdSource({ clock, cell: 1 });
  const nats = await connectNats({ servers: order.natsUrls, name: gatewayId, log });
  const valkey = await connectValkey({
    url: order.valkeyUrl,
    name: gatewayId,
    log,
    commandTimeoutMs: 10_000,
  });
  const envelope: Envelope = {
    ...{ cell: 1, mode: 'live', actor: { kind: 'system', id: 'gateway' } },
    ...{ schemaVersion: payloadSchemaVersion, traceparent: null },
  };
  const client = createCreditLeaseClient({
    valkey,
    requestLease: createLeaseRequester(nats, { prefix, envelope, homeCell: 1, timeoutMs: 2_000 }),
    publishEnd: createEpochEndPublisher(nats, { prefix, envelope }),
    ...{ cell: 1, gatewayId, clock, log },
  });
  const untilMs = clock.monotonicMs() + order.retryForMs;
  const amount = BigInt(order.amount);

  async function one(spender: SpenderConfig['racers'][number], nth: number): Promise<void> {
    const { name, orgId, budgets, limits } = spender;
    for (;;) {
      const requestId = ids.next('req');
      const got = await client.reserve({
        ...{ orgId, mode: 'live', requestId, amount, budgets, limits, tokens: 0 },
      });
      if ('refused' in got) {
        const mayCome = got.refused === 'LEDGER_UNAVAILABLE' && clock.monotonicMs() < untilMs;
        if (!mayCome) return writeResult({ name, outcome: got.refused });
        await clock.sleep(20 + nth);
        continue;
      }
      // Some requests take longer, so that the server dies during them.
      await clock.sleep((nth % 7) * 30);
      const actual = spender.usesAll ? amount : (amount * BigInt(nth % 11)) / 10n;
      const usage = { ...usageOf(got, actual), keyId: spender.keyId };
      await nats.publish(usedSubject(prefix, orgId), toJsonMessage(usage), {
        messageId: requestId,
        envelope,
      });
      await client.settle(got, usage.amount);
      return writeResult({
        name,
        outcome: 'admitted',
        epoch: String(got.epoch),
        actual: String(usage.amount),
      });
    }
  }

  const tending = new AbortController();
  const maintenance = (async () => {
    while (!tending.signal.aborted) {
      await client.maintain();
      await clock.sleep(200, tending.signal).catch(() => undefined);
    }
  })();
  await Promise.all(
    order.racers.flatMap((spender) => Array.from({ length: order.requests }, (_, nth) => one(spender, nth))),
  );
  tending.abort();
  await maintenance;
  await client.close();
  await Promise.all([nats.close(), valkey.close()]);
}

const [, file = '', order] = process.argv;
if (file.endsWith('spender-process.fixture.ts') && order !== undefined)
  await runSpenders(JSON.parse(order) as SpenderConfig);
