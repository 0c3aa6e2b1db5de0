import { findingsOf, runAudit } from '@millrace/core/auditor';
import { systemClock } from '@millrace/platform/clock';
import { fromUuid, toUuid } from '@millrace/platform/ids';
import { scaledLimitMs } from '@millrace/testing';
import type { InferenceStack } from '../../stack/inference-stack.ts';
import { CHAT_PRICES, type InferenceTenant } from '../../stack/inference-tenant.ts';
import type { RequestResult } from './load.ts';
import { isNearStall, stalledMs } from '../stalls.ts';
import { waitWhileProgress } from '../progress.ts';
import {
  faults,
  isExplainedByFault,
  affectsBroker,
  type RunConditions,
  type InjectedFault,
} from './faults.ts';

/** Compares what clients were told with what stands in the books. */

export interface RequestCheckReport {
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
const UNSTORED_USAGE_MS = 1_500;

/**
 * Gateways give Valkey and the ledger half a second. Where a slow machine takes longer, a request is refused with 503 though
 * nothing died; that is allowed by the interface when it costs nothing and says when to come again. A machine of the promised
 * speed has no such refusals, and one of half that speed or less has one in a hundred at most: a death that must not be
 * noticed, such as that of PostgreSQL, refuses more than that if it is noticed.
 */
const MAX_STALLED_SHARE = 0.01;
/** How long after a stall requests may still be refused, because they waited for Valkey or the ledger during it. */
const AFTER_STALL_MS = 2_000;

const counts = `
  select (select count(*)::int from inference_requests) as written,
         (select count(*)::int from inference_checkpoints) as waiting`;

const QUIESCENT_MS = 2_000;

/**
 * Waits until nothing is left to settle and the books have not changed for a while. Returns how long that took; null if something
 * is left and the books have not changed for `stuckAfterMs`.
 */
export async function waitForUsageQuiescence(
  stack: InferenceStack,
  stuckAfterMs: number,
): Promise<number | null> {
  let before = '';
  let sameSinceMs = systemClock.monotonicMs();
  return waitWhileProgress({ stuckAfterMs }, async () => {
    const [now] = await stack.rows<{ written: number; waiting: number }>(counts);
    const seen = JSON.stringify(now);
    if (seen !== before) [before, sameSinceMs] = [seen, systemClock.monotonicMs()];
    const isAtRest = now?.waiting === 0 && systemClock.monotonicMs() - sameSinceMs > QUIESCENT_MS;
    return isAtRest ? null : seen;
  });
}

export async function checkRequests(
  stack: InferenceStack,
  tenants: readonly { readonly tenant: InferenceTenant; readonly givenNanoUsd: bigint }[],
  results: readonly RequestResult[],
  happened: Pick<RunConditions, 'injected' | 'stalls'>,
): Promise<RequestCheckReport> {
  const rows = await stack.rows<RequestRow>(
    'select id, org_id, cost_nano_usd as cost, outcome, source, late_nano_usd as late from inference_requests',
  );
  const byId = new Map(rows.map((row) => [fromUuid('req', row.id) as string, row]));
  const circumstances = { ...happened, slowness: scaledLimitMs(1) };
  const checks = results.map((one) =>
    checkRequest(one, one.id === null ? undefined : byId.get(one.id), circumstances),
  );
  const failures = [
    ...groupFailures(checks.flatMap(({ failure }) => (failure === null ? [] : [failure]))),
    ...groupFailures(checkStalled(checks, circumstances.slowness)),
    ...checkUnknownRequests(results, byId),
    ...(await checkBalances(tenants, rows)),
    ...(await checkLedger(stack)),
  ];
  const count = (outcome: RequestResult['outcome']): number =>
    results.filter((one) => one.outcome === outcome).length;
  return {
    failures,
    figures: {
      'requests made': results.length,
      'answered whole': count('whole'),
      'left by their client': count('left'),
      'refused for a while': count('refused'),
      'refused for a while with no death near': checks.filter(({ stalled }) => stalled !== null).length,
      'refused for a while near a stall of the machine': checks.filter(({ isNearStall: is }) => is).length,
      'stalls of the machine': happened.stalls.length,
      'broken in the middle': count('broken') + count('errored'),
      'charged once, to the nano-USD that was told': checks.filter(({ isExact }) => isExact).length,
      'free because their gateway died before it had reported them': checks.filter(({ isFree }) => isFree)
        .length,
      'charged by a checkpoint of a gateway that died': rows.filter(({ source }) => source === 'checkpoint')
        .length,
      'reported too late to be charged': rows.filter(
        ({ late, outcome }) => late !== null || outcome === 'late',
      ).length,
    },
  };
}

interface RequestCheck {
  readonly failure: string | null;
  /** A refusal that cost nothing, said when to come again and has no strike near: a failure where there are too many. */
  readonly stalled: string | null;
  /** Such a refusal near a stall of the machine. These are excused, however many there are. */
  readonly isNearStall: boolean;
  readonly isExact: boolean;
  readonly isFree: boolean;
}

/** Alike but for their ids: one sentence and how many more. */
function groupFailures(failures: readonly string[]): string[] {
  const alike = Object.entries(
    Object.groupBy(failures, (text) => text.replaceAll(/\b[a-z]+_[0-9A-Z]{26}\b/g, '…')),
  );
  return alike.map(([, [first = '', ...more] = []]) =>
    more.length === 0 ? first : `${first} (and ${more.length} more)`,
  );
}

const fine: RequestCheck = {
  failure: null,
  stalled: null,
  isNearStall: false,
  isExact: false,
  isFree: false,
};

/** None of them on a machine of the promised speed; on a slower one all of them unless they are too many. */
function checkStalled(checks: readonly RequestCheck[], slowness: number): readonly string[] {
  const stalled = checks.flatMap((one) => (one.stalled === null ? [] : [one.stalled]));
  return stalled.length <= checks.length * MAX_STALLED_SHARE * Math.min(1, slowness - 1) ? [] : stalled;
}

function checkRequest(
  one: RequestResult,
  row: RequestRow | undefined,
  circumstances: RunConditions,
): RequestCheck {
  const describe = (what: string): string => `${one.id ?? 'a request'} (${one.outcome}): ${what}`;
  const bad = (what: string): RequestCheck => ({ ...fine, failure: describe(what) });
  const cost = row === undefined ? 0 : Number(row.cost);
  if (one.outcome === 'whole') {
    if (one.costNanoUsd === null) return bad('was not told its cost');
    if (row?.outcome === 'charged' && cost === one.costNanoUsd) return { ...fine, isExact: true };
    if (cost > one.costNanoUsd) return bad(`was told ${one.costNanoUsd} and is charged ${cost}`);
    return isUnstored(one, circumstances)
      ? { ...fine, isFree: true }
      : bad(`was told ${one.costNanoUsd}; in the books: ${cost}, ${row?.outcome ?? 'not there'}`);
  }
  if (one.outcome === 'refused' && cost > 0) return bad(`is charged ${cost}`);
  if (cost > maxTokensOf(one))
    return bad(`is charged ${cost}, and no more than ${maxTokensOf(one)} can have been made`);
  if (one.outcome === 'left' || isExplainedByFault(one, circumstances)) return fine;
  const unexplained = `nothing explains it: ${one.status} ${one.why}`;
  if (one.outcome === 'refused' && one.status === 503 && one.isToComeAgain) {
    return isNearStall(circumstances.stalls, one, AFTER_STALL_MS)
      ? { ...fine, isNearStall: true }
      : { ...fine, stalled: describe(unexplained) };
  }
  return bad(unexplained);
}

/** Its gateway died before the stream had acknowledged it, or was given up before it could report it. */
function isUnstored({ startedMs, endedMs }: RequestResult, circumstances: RunConditions): boolean {
  const unstoredMs = UNSTORED_USAGE_MS * circumstances.slowness;
  return circumstances.injected.some((fault) => {
    const { target, struckMs, backMs } = fault;
    /** How long the gateway had to store the request. It stores nothing during a stall. */
    const hadMs = (untilMs: number): number =>
      untilMs - endedMs - stalledMs(circumstances.stalls, endedMs, untilMs);
    if (target === 'frozen') return startedMs <= backMs && hadMs(struckMs) <= unstoredMs;
    if (target !== 'gateway' || endedMs > struckMs + unstoredMs) return false;
    return hadMs(storedUntil(fault, circumstances)) <= unstoredMs;
  });
}

/** Until when a gateway could store what it had to report: a stream without a leader takes nothing. */
function storedUntil(gateway: InjectedFault, { injected, slowness }: RunConditions): number {
  const leaderless = injected.filter(
    ({ target, struckMs, backMs }) =>
      affectsBroker(target) &&
      struckMs <= gateway.struckMs &&
      gateway.struckMs <= backMs + faults[target].afterMs * slowness,
  );
  return Math.min(gateway.struckMs, ...leaderless.map(({ struckMs }) => struckMs));
}

function maxTokensOf({ question }: RequestResult): number {
  const { prompt_token, completion_token } = CHAT_PRICES;
  return (
    Buffer.byteLength(question.content) * prompt_token +
    100 * prompt_token +
    question.maxTokens * completion_token
  );
}

/** Rows of requests whose id nobody heard: as many as there are clients who heard none, at most. */
function checkUnknownRequests(
  results: readonly RequestResult[],
  byId: ReadonlyMap<string, RequestRow>,
): string[] {
  const received = new Set(results.flatMap(({ id }) => (id === null ? [] : [id])));
  const outsiders = [...byId.keys()].filter((id) => !received.has(id)).length;
  const withoutId = results.filter(({ id }) => id === null).length;
  return outsiders <= withoutId
    ? []
    : [`${outsiders} requests are in the books, and only ${withoutId} clients heard no id`];
}

/** Every balance lost exactly what its requests cost. */
async function checkBalances(
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

async function checkLedger(stack: InferenceStack): Promise<string[]> {
  const report = await runAudit(stack.database.db, { kind: 'full', whenBusy: 'unrecorded' });
  const findings =
    report === null
      ? ['no audit could be made']
      : findingsOf(report, 'error').map((found) => JSON.stringify(found));
  const unreadable = await stack.rows<{ problem: string }>('select problem from usage_unreadable');
  return [...findings, ...unreadable.map(({ problem }) => `usage that could not be read: ${problem}`)];
}
