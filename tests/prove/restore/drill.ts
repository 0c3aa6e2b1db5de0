import type { ProofReport, ProofRun } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { eventually } from '@millrace/testing';
import type { Size } from '../restore.prove.ts';
import type { DrillStack } from './drill-stack.ts';
import {
  sendChatRequests,
  payByCard,
  rentMachine,
  seedTenants,
  addTestModel,
  type DrillTenant,
} from './drill-work.ts';
import {
  admin,
  leasesExceedingHolds,
  lastSeqs,
  markCount,
  spendableCredit,
  restoreState,
  unpublished,
  type ReportJson,
} from './drill-observations.ts';

/** Works, makes a backup, works again, loses and restores the database, checks the report, confirms and works again. */
export async function drill(run: ProofRun, stack: DrillStack, size: Size): Promise<ProofReport> {
  const failures: string[] = [];
  const expect = (isTrue: boolean, what: string): void => {
    if (!isTrue) failures.push(what);
  };
  await addTestModel(stack);
  const tenants = await seedTenants(stack, size.tenants);
  await stack.gateway.start();
  // The other tenants get their first lease after the restore point.
  await Promise.all(tenants.slice(0, 1).map((tenant) => sendChatRequests(stack, tenant, 1)));
  const retained = await rentMachine(stack, tenants[0]);
  await stack.postgres.backUp();
  const figures: Record<string, number> = {};
  for (let nth = 1; nth <= size.restores; nth += 1) {
    const lost = await doLostWork(stack, tenants, size);
    run.note(`restore ${nth}: ${JSON.stringify(lost)}`);
    // The gateway keeps running with its leases; the other processes end with the database.
    await Promise.all([stack.api.kill(), stack.worker.kill()]);
    const seqs = await lastSeqs(stack);
    const machines = await stack.machines();
    await stack.postgres.restore();
    await Promise.all([stack.api.start(), stack.worker.start()]);
    const report = await completeReport(stack);
    await watchBlocked(stack, { tenants, machines, expect, watchMs: size.watchMs });
    expectListed(report, lost, expect);
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
    figures[`restore ${nth}: machines without rows`] = report.machines.length;
    figures[`restore ${nth}: payments not credited`] = report.payments.length;
    figures[`restore ${nth}: events stored again`] = report.events.reduce((sum, { count }) => sum + count, 0);
  }
  return { figures, failures };
}

interface LostWork {
  readonly machine: string;
  readonly session: string;
}

/** Work that the restored database does not contain. */
async function doLostWork(stack: DrillStack, tenants: readonly DrillTenant[], size: Size): Promise<LostWork> {
  // The worker copies each mark before the next one, so after three more marks a copy is newer than `point`.
  const point = await markCount(stack);
  await eventually(
    { what: 'the mark to be copied', timeoutMs: 300_000 },
    async () => (await markCount(stack)) >= point + 3,
  );
  const before = new Set(await stack.machines());
  const session = await payByCard(stack, tenants[0]);
  await Promise.all(tenants.map((tenant) => sendChatRequests(stack, tenant, size.requests)));
  await rentMachine(stack, tenants[0]);
  const machine = (await stack.machines()).find((id) => !before.has(id));
  if (machine === undefined) throw new Error('The rental has no machine.');
  await eventually({ what: 'all events to be in the stream' }, async () => {
    return (await unpublished(stack)) === 0;
  });
  return { machine, session };
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
    const response = await tenants[0]?.chat();
    expect(response === 503, `a request got the status ${response} while the restore is not confirmed`);
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

function expectListed(report: ReportJson, lost: LostWork, expect: Expect): void {
  expect(report.leases.length > 0, 'the report lists no lease');
  expect(
    report.machines.some(({ externalId }) => externalId === lost.machine),
    'the report does not list the machine that was rented after the restore point',
  );
  expect(
    report.payments.some(({ sessionRef }) => sessionRef === lost.session),
    'the report does not list the payment that was made after the restore point',
  );
  expect(report.events.length > 0, 'the report lists no event');
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
  for (const tenant of tenants) await sendChatRequests(stack, tenant, 1);
  await rentMachine(stack, tenants[0]);
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
