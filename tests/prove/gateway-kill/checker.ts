import { findingsOf, runAudit } from '@millrace/core/auditor';
import { systemClock } from '@millrace/platform/clock';
import { fromUuid, toUuid } from '@millrace/platform/ids';
import { scaledLimitMs } from '@millrace/testing';
import type { InferenceStack } from '../../stack/inference-stack.ts';
import { CHAT_PRICES, type InferenceTenant } from '../../stack/inference-tenant.ts';
import type { RequestResult } from './load.ts';
import { isNearStall, stalledMs } from '../stalls.ts';
import { waitWhileProgress } from '../timing/progress.ts';
import {
  faults,
  isExplainedByFault,
  affectsBroker,
  type RunConditions,
  type InjectedFault,
} from './faults.ts';

/** Compares the responses that clients got with the ledger and the request records. */

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

/** A gateway that is killed so soon after a response might not have stored its usage yet; the request is then free. */
const UNSTORED_USAGE_MS = 1_500;

/**
 * Gateways wait half a second for Valkey and the ledger. On a slow machine a request may therefore get a free 503 with
 * Retry-After although nothing died. A machine of the promised speed has no such refusals, one of half that speed at most one
 * in a hundred; a death that must stay unnoticed, such as PostgreSQL's, would cause more if it were noticed.
 */
const MAX_STALLED_SHARE = 0.01;
/** Requests that waited for Valkey or the ledger during a stall may be refused for this long after it. */
const AFTER_STALL_MS = 2_000;

const counts = `
  select (select count(*)::int from inference_requests) as written,
         (select count(*)::int from inference_checkpoints) as waiting`;

const QUIESCENT_MS = 2_000;

/**
 * Waits until no usage is left to settle and the records have not changed for a while. Returns the time waited, or null if
 * usage is left and the records have not changed for `stuckAfterMs`.
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
      'answered completely': count('whole'),
      'cancelled by the client': count('left'),
      'refused temporarily': count('refused'),
      'refused temporarily without a fault near': checks.filter(({ stalled }) => stalled !== null).length,
      'refused temporarily near a stall of the machine': checks.filter(({ isNearStall: is }) => is).length,
      'stalls of the machine': happened.stalls.length,
      interrupted: count('broken') + count('errored'),
      'charged once, exactly as reported': checks.filter(({ isExact }) => isExact).length,
      'free because the gateway died before it reported them': checks.filter(({ isFree }) => isFree).length,
      'charged by a checkpoint of a dead gateway': rows.filter(({ source }) => source === 'checkpoint')
        .length,
      'reported too late to be charged': rows.filter(
        ({ late, outcome }) => late !== null || outcome === 'late',
      ).length,
    },
  };
}

interface RequestCheck {
  readonly failure: string | null;
  /** A free 503 with Retry-After and without a fault near it: a failure only if there are too many. */
  readonly stalled: string | null;
  /** Such a refusal near a stall of the machine; always allowed. */
  readonly isNearStall: boolean;
  readonly isExact: boolean;
  readonly isFree: boolean;
}

/** Groups failures that differ only in ids, with the number of further ones. */
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

/** On a machine of the promised speed each counts as a failure; on a slower one only if there are too many. */
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
    if (one.costNanoUsd === null) return bad('got no cost');
    if (row?.outcome === 'charged' && cost === one.costNanoUsd) return { ...fine, isExact: true };
    if (cost > one.costNanoUsd) return bad(`got the cost ${one.costNanoUsd} and is charged ${cost}`);
    return isUnstored(one, circumstances)
      ? { ...fine, isFree: true }
      : bad(`got the cost ${one.costNanoUsd}; recorded: ${cost}, ${row?.outcome ?? 'no record'}`);
  }
  if (one.outcome === 'refused' && cost > 0) return bad(`is charged ${cost}`);
  if (cost > maxTokensOf(one))
    return bad(`is charged ${cost}, but can have cost at most ${maxTokensOf(one)}`);
  if (one.outcome === 'left' || isExplainedByFault(one, circumstances)) return fine;
  const unexplained = `no fault explains it: ${one.status} ${one.why}`;
  if (one.outcome === 'refused' && one.status === 503 && one.isToComeAgain) {
    return isNearStall(circumstances.stalls, one, AFTER_STALL_MS)
      ? { ...fine, isNearStall: true }
      : { ...fine, stalled: describe(unexplained) };
  }
  return bad(unexplained);
}

/** The gateway died before the stream acknowledged the usage, or was declared dead before it reported it. */
function isUnstored({ startedMs, endedMs }: RequestResult, circumstances: RunConditions): boolean {
  const unstoredMs = UNSTORED_USAGE_MS * circumstances.slowness;
  return circumstances.injected.some((fault) => {
    const { target, struckMs, backMs } = fault;
    /** Time in which the gateway could store the request. It stores nothing during a stall. */
    const hadMs = (untilMs: number): number =>
      untilMs - endedMs - stalledMs(circumstances.stalls, endedMs, untilMs);
    if (target === 'frozen') return startedMs <= backMs && hadMs(struckMs) <= unstoredMs;
    if (target !== 'gateway' || endedMs > struckMs + unstoredMs) return false;
    return hadMs(storedUntil(fault, circumstances)) <= unstoredMs;
  });
}

/** Until when a gateway could store usage: a stream without a leader accepts nothing. */
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

/** At most one row without a known id per client that got no id. */
function checkUnknownRequests(
  results: readonly RequestResult[],
  byId: ReadonlyMap<string, RequestRow>,
): string[] {
  const received = new Set(results.flatMap(({ id }) => (id === null ? [] : [id])));
  const outsiders = [...byId.keys()].filter((id) => !received.has(id)).length;
  const withoutId = results.filter(({ id }) => id === null).length;
  return outsiders <= withoutId
    ? []
    : [`${outsiders} requests with unknown ids are recorded, but only ${withoutId} clients got no id`];
}

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
        `${tenant.orgId} has ${balance}; ${givenNanoUsd} less the cost of its requests is ${givenNanoUsd - cost}`,
      );
    }
  }
  return failures;
}

async function checkLedger(stack: InferenceStack): Promise<string[]> {
  const report = await runAudit(stack.database.db, { kind: 'full', whenBusy: 'unrecorded' });
  const findings =
    report === null
      ? ['the audit did not run']
      : findingsOf(report, 'error').map((found) => JSON.stringify(found));
  const unreadable = await stack.rows<{ problem: string }>('select problem from usage_unreadable');
  return [...findings, ...unreadable.map(({ problem }) => `quarantined usage: ${problem}`)];
}
