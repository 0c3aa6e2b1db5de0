import type { ProofReport, ProofRun } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { toUuid, type OrgId } from '@millrace/platform/ids';
import { eventually } from '@millrace/testing';
import type { Size } from '../restore.prove.ts';
import type { DrillStack } from './drill-stack.ts';
import {
  makeInvoices,
  sendChatRequests,
  payByCard,
  rentMachine,
  seedTenants,
  addTestModel,
  type DrillTenant,
} from './drill-work.ts';
import {
  admin,
  chargesOf,
  leasesExceedingHolds,
  lastSeqs,
  markCount,
  spendableCredit,
  restoreState,
  streamRanges,
  unpublished,
  type ChargedRequest,
  type ReportJson,
} from './drill-observations.ts';

/** Works, makes a backup, works again, loses the primary with its disk, restores, checks the report, confirms and works again. */
export async function drill(run: ProofRun, stack: DrillStack, size: Size): Promise<ProofReport> {
  const failures: string[] = [];
  const expect = (isTrue: boolean, what: string): void => {
    if (!isTrue) failures.push(what);
  };
  await addTestModel(stack);
  const tenants = await seedTenants(stack, size.tenants);
  await stack.gateway.start();
  // The other tenants get their first lease after the restore point.
  await Promise.all(tenants.slice(0, 1).map((tenant) => sendChatRequests(tenant, 1)));
  const retained = await rentMachine(tenants[0]);
  await stack.postgres.backUp();
  const target = await takeTarget(stack);
  const seqsAtTarget = await lastSeqs(stack);
  const figures: Record<string, number> = {};
  for (let nth = 1; nth <= size.restores; nth += 1) {
    const lost = await doLostWork(stack, tenants, size);
    run.note(`restore ${nth}: ${JSON.stringify(lost)}`);
    await stack.postgres.archiveAll();
    const seqs = await lastSeqs(stack);
    const machines = await stack.machines();
    const streams = await streamRanges(stack);
    await stack.postgres.lose();
    // The gateway keeps running with its leases. Processes of the database are stopped before it is restored.
    await Promise.all([stack.api.kill(), stack.worker.kill()]);
    await stack.postgres.restore(target);
    await Promise.all([stack.api.start(), stack.worker.start()]);
    const report = await completeReport(stack);
    await watchBlocked(stack, { tenants, machines, expect, watchMs: size.watchMs });
    expectListed(report, { ...lost, seqsAtTarget, seqs }, expect);
    const ranges = await streamRanges(stack);
    expect(ranges.join() === streams.join(), `messages were deleted: ${streams.join()}; ${ranges.join()}`);
    const confirmed = await admin(stack, ['restore', 'confirm', '--reason', 'the drill']);
    expect(
      confirmed.code === 0 && confirmed.out.includes('Done.'),
      `confirm exited with ${confirmed.code}: ${confirmed.out}${confirmed.err}`,
    );
    const again = await admin(stack, ['restore', 'confirm', '--reason', 'twice']);
    expect(
      again.code === 0 && again.out.includes('nothing to confirm'),
      `a second confirm printed ${again.out}${again.err}`,
    );
    await afterwards(stack, { tenants, seqs, retained, lostMachine: lost.machine, expect });
    figures[`restore ${nth}: leases newer than the database`] = report.leases.length;
    figures[`restore ${nth}: later inference requests`] = report.usage.requests;
    const ids = lost.charges.map(({ id }) => id);
    figures[`restore ${nth}: of these charged again`] = (await chargesOf(stack, ids)).length;
    figures[`restore ${nth}: later invoices`] = report.invoices?.known.length ?? 0;
    figures[`restore ${nth}: machines without rows`] = report.machines.length;
    figures[`restore ${nth}: payments not credited`] = report.payments.length;
    figures[`restore ${nth}: events stored again`] = report.events.reduce((sum, { count }) => sum + count, 0);
  }
  return { figures, failures };
}

interface LostWork {
  readonly machine: string;
  readonly session: string;
  readonly invoices: readonly string[];
  readonly charges: readonly ChargedRequest[];
}

/** The worker copies each mark before the next one, so after three more marks a copy has all that is in the database now. */
async function marksAreCopied(stack: DrillStack): Promise<void> {
  const point = await markCount(stack);
  await eventually(
    { what: 'the mark to be copied', timeoutMs: 300_000 },
    async () => (await markCount(stack)) >= point + 3,
  );
}

/** The target is after all work so far, and at least one mark before later work. */
async function takeTarget(stack: DrillStack): Promise<string> {
  const target = await stack.postgres.takeTarget();
  await marksAreCopied(stack);
  return target;
}

/** Work that the restored database does not contain. */
async function doLostWork(stack: DrillStack, tenants: readonly DrillTenant[], size: Size): Promise<LostWork> {
  const before = new Set(await stack.machines());
  const session = await payByCard(stack, tenants[0]);
  const requests = (
    await Promise.all(tenants.map((tenant) => sendChatRequests(tenant, size.requests)))
  ).flat();
  await rentMachine(tenants[0]);
  const machine = (await stack.machines()).find((id) => !before.has(id));
  if (machine === undefined) throw new Error('The rental has no machine.');
  const charges = await eventually({ what: 'the charges of all requests' }, async () => {
    const found = await chargesOf(stack, requests);
    return found.length === requests.length && found;
  });
  const invoices = await makeInvoices(stack);
  await eventually({ what: 'all events to be in the stream' }, async () => {
    return (await unpublished(stack)) === 0;
  });
  await marksAreCopied(stack);
  return { machine, session, invoices, charges };
}

/** Waits for a report without problems. The worker repeats the report while a source does not respond. */
function completeReport(stack: DrillStack): Promise<ReportJson> {
  return eventually({ what: 'a complete report of the restore', timeoutMs: 300_000 }, async () => {
    const { state, report } = await restoreState(stack);
    if (state !== 'restored' || report === null) return false;
    if (report.problems.length > 0) throw new Error(report.problems.join('; '));
    return report;
  });
}

type Expect = (isTrue: boolean, what: string) => void;

async function watchBlocked(
  stack: DrillStack,
  options: {
    readonly tenants: readonly DrillTenant[];
    readonly machines: readonly string[];
    readonly expect: Expect;
    readonly watchMs: number;
  },
): Promise<void> {
  const { tenants, machines, expect, watchMs } = options;
  // The worker retries when Valkey does not respond in time.
  await eventually(
    { what: 'the credit in Valkey to be stopped' },
    async () => (await spendableCredit(stack)) === 0n,
  );
  const untilMs = systemClock.monotonicMs() + watchMs;
  do {
    expect(
      (await spendableCredit(stack)) === 0n,
      'credit can be spent in Valkey while the restore is not confirmed',
    );
    const status = (await tenants[0]?.chat())?.status;
    expect(status === 503, `a request got the status ${status} while the restore is not confirmed`);
    const now = new Set(await stack.machines());
    const deleted = machines.filter((id) => !now.has(id));
    expect(deleted.length === 0, `machines were removed before the confirmation: ${deleted.join(', ')}`);
    await systemClock.sleep(500);
  } while (systemClock.monotonicMs() < untilMs);
  await eventually({ what: 'the readiness of the worker to show the restore' }, async () => {
    const health = (await (await fetch(`${stack.workerUrl}/readyz`)).json()) as { degraded: boolean };
    return health.degraded;
  });
}

function expectListed(
  report: ReportJson,
  lost: LostWork & Readonly<Record<'seqsAtTarget' | 'seqs', ReadonlyMap<string, number>>>,
  expect: Expect,
): void {
  const listed = new Map(report.usage.first.map(({ requestId, nanoUsd }) => [requestId, nanoUsd]));
  for (const { id, nanoUsd } of lost.charges) {
    expect(
      listed.get(id) === nanoUsd,
      `the report lists ${listed.get(id)} for the charge ${id} of ${nanoUsd}`,
    );
  }
  const sum = [...listed.values()].reduce((total, nanoUsd) => total + BigInt(nanoUsd), 0n);
  expect(String(sum) === report.usage.nanoUsd, `the requests add up to ${sum}, not ${report.usage.nanoUsd}`);
  const numbers = new Set(report.invoices?.known.map(({ number }) => number));
  for (const number of lost.invoices) expect(numbers.has(number), `the report does not list ${number}`);
  expect(
    (report.invoices?.last ?? 0) >= lost.invoices.length,
    `the report ends at the invoice number ${report.invoices?.last}`,
  );
  expect(
    (report.eventTypes['invoice.finalized'] ?? 0) >= lost.invoices.length,
    'the report counts fewer events of invoices than invoices',
  );
  const events = new Map(report.events.map((each) => [toUuid(each.orgId as OrgId), each]));
  for (const [orgId, seq] of lost.seqs) {
    const later = seq - (lost.seqsAtTarget.get(orgId) ?? 0);
    const found = events.get(orgId);
    expect(
      later === 0 || (found !== undefined && found.lastSeq >= seq && found.count >= later),
      `the report lists ${JSON.stringify(found)} for the ${later} events of ${orgId} up to ${seq}`,
    );
  }
  expect(report.leases.length > 0, 'the report lists no lease');
  expect(
    report.machines.some(({ externalId }) => externalId === lost.machine),
    'the report does not list the machine that was rented after the restore point',
  );
  expect(
    report.payments.some(({ sessionRef }) => sessionRef === lost.session),
    'the report does not list the payment that was made after the restore point',
  );
}

async function afterwards(
  stack: DrillStack,
  options: {
    readonly tenants: readonly DrillTenant[];
    readonly seqs: ReadonlyMap<string, number>;
    readonly retained: number;
    readonly lostMachine: string;
    readonly expect: Expect;
  },
): Promise<void> {
  const { tenants, seqs, retained, lostMachine, expect } = options;
  for (const tenant of tenants) await sendChatRequests(tenant, 1);
  await rentMachine(tenants[0]);
  const beyond = await leasesExceedingHolds(stack);
  expect(beyond.length === 0, `leases exceed the holds of the ledger: ${beyond.join('; ')}`);
  const after = await lastSeqs(stack);
  for (const [orgId, seq] of seqs) {
    expect(
      (after.get(orgId) ?? 0) >= seq,
      `the events of ${orgId} went back from ${seq} to ${after.get(orgId) ?? 0}`,
    );
  }
  expect((await stack.machines()).includes(lostMachine), 'the machine without a row was removed');
  expect(
    (await tenants[0]?.rental(retained)) === 'Running',
    'the rental from before the restore point is not Running',
  );
  const audit = await admin(stack, ['audit', '--full']);
  expect(audit.code === 0, `the audit failed: ${audit.out}${audit.err}`);
}
