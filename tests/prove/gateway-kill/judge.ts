import { findingsOf, runAudit } from '@millrace/core/auditor';
import { systemClock } from '@millrace/platform/clock';
import { fromUuid, toUuid } from '@millrace/platform/ids';
import type { InferenceStack } from '../../stack/inference-stack.ts';
import { CHAT_PRICES, type InferenceTenant } from '../../stack/inference-tenant.ts';
import type { Told } from './load.ts';
import { blows, isExcused, isOfTheBroker, type Strike } from './strikes.ts';

/** Compares what clients were told with what stands in the books. */

export interface Judgement {
  readonly failures: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
}

interface RequestRow {
  readonly id: string;
  readonly org_id: string;
  readonly cost: string;
  readonly outcome: string;
  readonly source: string;
  readonly late: string | null;
}

/** A gateway that is killed so soon after an answer's end may not have stored its usage yet: that is then free. */
const UNSTORED_MS = 1_500;

const counts = `
  select (select count(*)::int from inference_requests) as written,
         (select count(*)::int from inference_checkpoints) as waiting`;

/** Until nothing waits to be settled and the books have not moved for a while. Null: they never came to rest. */
export async function waitForRest(stack: InferenceStack, withinMs: number): Promise<number | null> {
  const beganMs = systemClock.monotonicMs();
  let before = -1;
  let sameSinceMs = beganMs;
  while (systemClock.monotonicMs() - beganMs < withinMs) {
    const [now] = await stack.rows<{ written: number; waiting: number }>(counts);
    if (now?.written !== before || now.waiting > 0) {
      before = now?.written ?? -1;
      sameSinceMs = systemClock.monotonicMs();
    }
    if (systemClock.monotonicMs() - sameSinceMs > 2_000) return sameSinceMs - beganMs;
    await systemClock.sleep(100);
  }
  return null;
}

export async function judge(
  stack: InferenceStack,
  tenants: readonly { readonly tenant: InferenceTenant; readonly givenNanoUsd: bigint }[],
  told: readonly Told[],
  strikes: readonly Strike[],
): Promise<Judgement> {
  const rows = await stack.rows<RequestRow>(
    'select id, org_id, cost_nano_usd as cost, outcome, source, late_nano_usd as late from inference_requests',
  );
  const byId = new Map(rows.map((row) => [fromUuid('req', row.id) as string, row]));
  const judged = told.map((one) => judgeOne(one, one.id === null ? undefined : byId.get(one.id), strikes));
  const failures = [
    ...summed(judged.flatMap(({ failure }) => (failure === null ? [] : [failure]))),
    ...judgeStrangers(told, byId),
    ...(await judgeBalances(tenants, rows)),
    ...(await judgeBooks(stack)),
  ];
  const count = (outcome: Told['outcome']): number => told.filter((one) => one.outcome === outcome).length;
  return {
    failures,
    figures: {
      'requests made': told.length,
      'answered whole': count('whole'),
      'left by their client': count('left'),
      'refused for a while': count('refused'),
      'broken in the middle': count('broken') + count('errored'),
      'charged once, to the nano-USD that was told': judged.filter(({ isExact }) => isExact).length,
      'free because their gateway died before it had reported them': judged.filter(({ isFree }) => isFree)
        .length,
      'charged by a checkpoint of a gateway that died': rows.filter(({ source }) => source === 'checkpoint')
        .length,
      'reported too late to be charged': rows.filter(
        ({ late, outcome }) => late !== null || outcome === 'late',
      ).length,
    },
  };
}

interface Judged {
  readonly failure: string | null;
  readonly isExact: boolean;
  readonly isFree: boolean;
}

/** Alike but for their ids: one sentence and how many more. */
function summed(failures: readonly string[]): string[] {
  const alike = Object.entries(
    Object.groupBy(failures, (text) => text.replaceAll(/\b[a-z]+_[0-9A-Z]{26}\b/g, '…')),
  );
  return alike.map(([, [first = '', ...more] = []]) =>
    more.length === 0 ? first : `${first} (and ${more.length} more)`,
  );
}

const fine: Judged = { failure: null, isExact: false, isFree: false };

function judgeOne(one: Told, row: RequestRow | undefined, strikes: readonly Strike[]): Judged {
  const bad = (what: string): Judged => ({
    ...fine,
    failure: `${one.id ?? 'a request'} (${one.outcome}): ${what}`,
  });
  const cost = row === undefined ? 0 : Number(row.cost);
  if (one.outcome === 'whole') {
    if (one.costNanoUsd === null) return bad('was not told its cost');
    if (row?.outcome === 'charged' && cost === one.costNanoUsd) return { ...fine, isExact: true };
    if (cost > one.costNanoUsd) return bad(`was told ${one.costNanoUsd} and is charged ${cost}`);
    return isUnstored(one, strikes)
      ? { ...fine, isFree: true }
      : bad(`was told ${one.costNanoUsd}; in the books: ${cost}, ${row?.outcome ?? 'not there'}`);
  }
  if (one.outcome === 'refused' && cost > 0) return bad(`is charged ${cost}`);
  if (cost > mostOf(one))
    return bad(`is charged ${cost}, and no more than ${mostOf(one)} can have been made`);
  if (one.outcome === 'left' || isExcused(one, strikes)) return fine;
  return bad(`nothing explains it: ${one.status} ${one.why}`);
}

/** Its gateway died before the stream had acknowledged it, or was given up before it could report it. */
function isUnstored({ startedMs, endedMs }: Told, strikes: readonly Strike[]): boolean {
  return strikes.some((strike) => {
    const { target, struckMs, backMs } = strike;
    if (target === 'frozen') return startedMs <= backMs && endedMs >= struckMs - UNSTORED_MS;
    if (target !== 'gateway' || endedMs > struckMs + UNSTORED_MS) return false;
    return endedMs >= storedUntil(strike, strikes) - UNSTORED_MS;
  });
}

/** Until when a gateway could store what it had to report: a stream without a leader takes nothing. */
function storedUntil(gateway: Strike, strikes: readonly Strike[]): number {
  const leaderless = strikes.filter(
    ({ target, struckMs, backMs }) =>
      isOfTheBroker(target) &&
      struckMs <= gateway.struckMs &&
      gateway.struckMs <= backMs + blows[target].afterMs,
  );
  return Math.min(gateway.struckMs, ...leaderless.map(({ struckMs }) => struckMs));
}

function mostOf({ question }: Told): number {
  const { prompt_token, completion_token } = CHAT_PRICES;
  return (
    Buffer.byteLength(question.content) * prompt_token +
    100 * prompt_token +
    question.maxTokens * completion_token
  );
}

/** Rows of requests whose id nobody heard: as many as there are clients who heard none, at most. */
function judgeStrangers(told: readonly Told[], byId: ReadonlyMap<string, RequestRow>): string[] {
  const heard = new Set(told.flatMap(({ id }) => (id === null ? [] : [id])));
  const strangers = [...byId.keys()].filter((id) => !heard.has(id)).length;
  const deaf = told.filter(({ id }) => id === null).length;
  return strangers <= deaf
    ? []
    : [`${strangers} requests are in the books, and only ${deaf} clients heard no id`];
}

/** Every balance lost exactly what its requests cost. */
async function judgeBalances(
  tenants: readonly { readonly tenant: InferenceTenant; readonly givenNanoUsd: bigint }[],
  rows: readonly RequestRow[],
): Promise<string[]> {
  const failures: string[] = [];
  for (const { tenant, givenNanoUsd } of tenants) {
    const uuid = toUuid(tenant.orgId);
    const own = rows.filter(({ org_id }) => org_id === uuid);
    const cost = own.reduce((sum, row) => sum + BigInt(row.cost), 0n);
    const { balance } = await tenant.balance();
    if (balance !== givenNanoUsd - cost) {
      failures.push(
        `${tenant.orgId} has ${balance}; ${givenNanoUsd} less its requests is ${givenNanoUsd - cost}`,
      );
    }
  }
  return failures;
}

async function judgeBooks(stack: InferenceStack): Promise<string[]> {
  const report = await runAudit(stack.database.db, { kind: 'full', whenBusy: 'unrecorded' });
  const findings =
    report === null
      ? ['no audit could be made']
      : findingsOf(report, 'error').map((found) => JSON.stringify(found));
  const unreadable = await stack.rows<{ problem: string }>('select problem from usage_unreadable');
  return [...findings, ...unreadable.map(({ problem }) => `usage that could not be read: ${problem}`)];
}
