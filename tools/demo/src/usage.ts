import { createCreditLeaseService, createCreditLeaseSweeps } from '@millrace/core/credit-leases';
import { chargeCheckpoints, processMessages, usageSubjects, type UsageEvent } from '@millrace/core/inference';
import { createEpochEndPublisher } from '@millrace/credit-leases/protocol';
import { systemClock } from '@millrace/platform/clock';
import { systemEnvelope } from '@millrace/platform/envelope';
import { parseId, type OrgId } from '@millrace/platform/ids';
import { startValkeyServer } from '@millrace/testing';
import type { Cloud } from './cloud.ts';

/** The gateway of the demo: reserves credit, reports requests and returns the rest, without serving them. */

export interface ModelPrice {
  readonly id: string;
  readonly perTokenNanoUsd: bigint;
}

export interface PricedModel {
  readonly name: string;
  readonly input: ModelPrice;
  readonly output: ModelPrice;
}

export interface ModelRequest {
  readonly keyId: string;
  readonly model: PricedModel;
  /** Before now. */
  readonly agoMs: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly latencyMs: number;
  readonly cancelled: boolean;
  readonly budgetIds: readonly string[];
}

export interface UsageSource extends AsyncDisposable {
  /** Charges the requests of one organisation. */
  report(orgId: string, requests: readonly ModelRequest[]): Promise<void>;
}

const rules = {
  leaseMs: 1_800_000,
  longestRequestMs: 600_000,
  deadAfterMs: 2_300_000,
  outageMs: 60_000,
  least: 100n,
  sharePercent: 50,
  growthPauseMs: 5_000,
};

export async function openUsageSource({ db, clock, ids, log }: Cloud): Promise<UsageSource> {
  const valkey = await startValkeyServer();
  const service = createCreditLeaseService({
    db,
    valkey: valkey.client,
    cell: 0,
    clock: systemClock,
    log,
    rules,
  });
  const { batch } = usageSubjects('demo', 0);
  const messages: { subject: string; payload: unknown }[] = [];
  const publishEnd = createEpochEndPublisher(
    {
      publish: async (subject, payload) => {
        messages.push({ subject, payload });
        return { stream: 'DEMO_USAGE', sequence: messages.length, duplicate: false };
      },
    },
    { prefix: 'demo', envelope: systemEnvelope(0, 'gateway') },
  );
  const sweeps = createCreditLeaseSweeps({
    ...{ db, log, cell: 0, service, rules, publishEnd },
    chargeUnfinished: chargeCheckpoints,
  });
  let passed = 0;
  let turn = 0;
  const process = async (): Promise<void> => {
    const waiting = messages.slice(passed).map(({ subject, payload }, index) => ({
      sequence: passed + index + 1,
      subject,
      text: () => JSON.stringify(payload),
    }));
    const result = await processMessages(db, 'DEMO_USAGE', waiting);
    if (result.deferred + result.unreadable + result.uncharged > 0) {
      throw new Error(
        `Usage was not charged: ${JSON.stringify(result, (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v))}`,
      );
    }
    passed = messages.length;
  };
  return {
    async report(orgText, requests) {
      const orgId = parseId('org', orgText) as OrgId;
      const gatewayId = `gw-demo.${(turn += 1)}`;
      const sum = requests.reduce((total, request) => total + costOf(request), 0n);
      const reply = await service.lease({
        ...{ orgId, mode: 'live', cell: 0, gatewayId, seen: null, shortage: sum, wanted: sum, budgets: [] },
      });
      if (reply.outcome !== 'leased') throw new Error(`No credit: ${reply.reason}.`);
      const lease = { orgId, gatewayId, leaseId: reply.leaseId };
      const events = requests.map((request) =>
        eventOf(request, {
          ...lease,
          requestId: ids.next('req'),
          createdAtMs: clock.nowMs() - request.agoMs,
        }),
      );
      for (let at = 0; at < events.length; at += 200) {
        messages.push({ subject: batch, payload: { events: events.slice(at, at + 200) } });
      }
      await publishEnd({ cell: 0, gatewayId, orgId, mode: 'live', throughEpoch: reply.epoch });
      await process();
      await sweeps.callIn();
      await sweeps.closePassed();
    },
    [Symbol.asyncDispose]: () => valkey[Symbol.asyncDispose](),
  };
}

function costOf({ model, promptTokens, completionTokens }: ModelRequest): bigint {
  return (
    BigInt(promptTokens) * model.input.perTokenNanoUsd +
    BigInt(completionTokens) * model.output.perTokenNanoUsd
  );
}

function eventOf(
  request: ModelRequest,
  by: Pick<UsageEvent, 'orgId' | 'gatewayId' | 'leaseId' | 'requestId' | 'createdAtMs'>,
): UsageEvent {
  const { model, keyId, cancelled, latencyMs, promptTokens, completionTokens, budgetIds } = request;
  const cost = String(costOf(request));
  return {
    ...by,
    ...{ kind: 'final', mode: 'live', streamed: true, imagePixelSteps: 0, characters: 0, tokensCached: 0 },
    ...{ keyId, model: model.name, deployment: null, attempts: [] },
    ...{ reservedNanoUsd: cost, amountNanoUsd: cost, pricedNanoUsd: cost },
    ...{ budgetIds: [...budgetIds], priceIds: [model.input.id, model.output.id] },
    ...{ cancelled, finishReason: cancelled ? null : 'stop' },
    ...{ latencyMs, ttftMs: Math.min(180, latencyMs), generationMs: latencyMs },
    ...{ tokensPrompt: promptTokens, tokensCompletion: completionTokens },
  };
}
