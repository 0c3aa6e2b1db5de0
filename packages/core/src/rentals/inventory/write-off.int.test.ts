import { isFault } from '@millrace/platform/fault';
import { toUuid, type NodeId } from '@millrace/platform/ids';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { applyNodeAction, removeCluster } from '../../fleet/index.ts';
import { systemAuditContext } from '../../identity/index.ts';
import { reconcileUntil } from '../reconcile/reconcile.fixture.ts';
import { viewOf } from '../lifecycle.fixture.ts';
import { terminateRental } from '../actions/termination.service.ts';
import { listMachines } from '../model/machines.store.ts';
import {
  terminateAll,
  compareAll,
  costOf,
  expectConsistentInventory,
  advanceComparing,
  createInventoryReconciler,
  statusesOf,
} from './inventory.fixture.ts';
import { createRentalHarness, MINUTE_MS, SECOND_MS, type Tenant } from '../model/rental.fixture.ts';
import { causeOfRental, type Rental } from '../model/rental.ts';
import { writeOffNode, writeOffRental } from './write-off.service.ts';

/** Tests the write-off of rentals on hosts that never return. */

const harness = await createRentalHarness({ lookEveryMs: 10 * SECOND_MS });
afterAll(() => harness.drop());
beforeEach(() => terminateAll(harness));

const operator = systemAuditContext('operator', 'live');
const reason = 'The host burned down.';

const writeOff = (rental: Rental) =>
  harness.run((tx) => writeOffRental(tx, operator, { rentalId: rental.wireId, reason }));

const reasonOf = (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error: unknown) => (isFault(error) ? error.reason : Promise.reject(error)),
  );

const end = (tenant: Tenant, rental: Rental) =>
  harness.run((tx) =>
    terminateRental(tx, tenant.orgId, rental.id, { reason: 'done', actor: tenant.call('live').cause.actor }),
  );

/** A rental whose engine becomes permanently unreachable, as the observer and comparisons see it. */
async function lostRental(tenant: Tenant): Promise<{ rental: Rental; nodeId: NodeId; lostAt: Date }> {
  const rental = await reconcileUntil(harness, await harness.rent(tenant, 'live'), { until: 'Running' });
  const reconciler = createInventoryReconciler(harness);
  await advanceComparing(harness, reconciler, 60 * SECOND_MS);
  harness.engines.live.controls.silenceEngine();
  const lostAt = harness.clock.now();
  await advanceComparing(harness, reconciler, 3 * MINUTE_MS);
  const [machine] = await listMachines(harness.db, rental.orgId, rental.id);
  return { rental, nodeId: machine?.nodeId ?? expect.fail('The rental has no machine.'), lostAt };
}

const nodeStatus = async (nodeId: NodeId): Promise<string | undefined> =>
  (await harness.rows<{ status: string }>(`select status from nodes where id = '${toUuid(nodeId)}'`))[0]
    ?.status;

const auditEntries = (action: string) =>
  harness.rows<{ reason: string }>(`select reason from audit_log where action = '${action}'`);

describe('writeOffRental', () => {
  it('is rejected while the host responds', async () => {
    const tenant = await harness.tenant();
    const rental = await reconcileUntil(harness, await harness.rent(tenant, 'live'), { until: 'Running' });
    expect(await reasonOf(writeOff(rental))).toBe('HOST_ANSWERS');
    await end(tenant, rental);
    expect(await reasonOf(writeOff(rental))).toBe('HOST_ANSWERS');
    expect((await viewOf(harness, rental)).rental.status).toBe('Terminating');
  });

  it('ends a rental whose deletion is stuck, and settles its money once with repeated calls', async () => {
    const tenant = await harness.tenant();
    const { rental, nodeId } = await lostRental(tenant);
    const receipt = await end(tenant, rental);
    const before = (await auditEntries('rental.written_off')).length;
    const all = await Promise.all(Array.from({ length: 4 }, () => writeOff(rental)));
    expect(all.map(({ receipt: { rental: after } }) => after.status)).toEqual(
      Array.from({ length: 4 }, () => 'Terminated'),
    );
    expect(all.filter(({ writtenOff }) => writtenOff === 1)).toHaveLength(1);
    expect(all[0]?.receipt.finalCost).toBe(receipt.finalCost);
    expect(await harness.paid(tenant.orgId, causeOfRental(rental))).toBe(receipt.finalCost);
    expect((await harness.balance(tenant.orgId)).held).toBe(0n);
    expect(await nodeStatus(nodeId)).toBe('node_quarantined');
    expect(await auditEntries('rental.written_off')).toHaveLength(before + 1);
    expect((await statusesOf(harness, rental)).slice(-2)).toEqual(['Terminating', 'Terminated']);
    await expectConsistentInventory(harness);
  });

  it('fails an Unknown rental and charges nothing after its last healthy time', async () => {
    const tenant = await harness.tenant();
    const { rental, lostAt } = await lostRental(tenant);
    const { startedAt } = rental;
    const done = await writeOff(rental);
    expect((await statusesOf(harness, rental)).slice(-3)).toEqual(['Unknown', 'Failed', 'Terminated']);
    expect(done.receipt.billingStoppedAt?.getTime()).toBeLessThanOrEqual(lostAt.getTime());
    const ranMs = (done.receipt.billingStoppedAt?.getTime() ?? 0) - (startedAt?.getTime() ?? 0);
    expect(done.receipt.finalCost).toBe(costOf(ranMs));
    expect(await harness.paid(tenant.orgId, causeOfRental(rental))).toBe(costOf(ranMs));
    await expectConsistentInventory(harness);
  });

  it('keeps the node out of use until the returned host no longer has the machine', async () => {
    const tenant = await harness.tenant();
    const { rental, nodeId } = await lostRental(tenant);
    await end(tenant, rental);
    await writeOff(rental);
    const resume = () =>
      harness.run((tx) => applyNodeAction(tx, operator, nodeId, 'resume', { reason: 'It is back.' }));
    expect(await reasonOf(resume())).toBe('NODE_HAS_WRITE_OFFS');

    harness.engines.live.controls.heal();
    const reconciler = createInventoryReconciler(harness);
    await advanceComparing(harness, reconciler, 30 * SECOND_MS);
    expect(await nodeStatus(nodeId)).toBe('node_quarantined');
    expect(await reasonOf(resume())).toBe('NODE_HAS_WRITE_OFFS');
    await advanceComparing(harness, reconciler, 90 * SECOND_MS);
    const { machines } = await harness.engines.live.driver.listOwned(new AbortController().signal);
    expect(machines.filter(({ orgId }) => orgId === tenant.orgId)).toEqual([]);
    await compareAll(reconciler);
    await resume();
    expect(await nodeStatus(nodeId)).toBe('node_ready');
    await expectConsistentInventory(harness);
  });
});

describe('writeOffNode', () => {
  it('is rejected while the host responds', async () => {
    const tenant = await harness.tenant();
    const rental = await reconcileUntil(harness, await harness.rent(tenant, 'live'), { until: 'Running' });
    const [machine] = await listMachines(harness.db, rental.orgId, rental.id);
    const nodeId = machine?.nodeId ?? expect.fail('The rental has no machine.');
    expect(await reasonOf(harness.run((tx) => writeOffNode(tx, operator, { nodeId, reason })))).toBe(
      'HOST_ANSWERS',
    );
  });

  it('ends the rentals on the node, removes the node, and allows the removal of its cluster', async () => {
    const tenant = await harness.tenant();
    const other = await reconcileUntil(harness, await harness.rent(tenant, 'live'), { until: 'Running' });
    const { rental } = await lostRental(tenant);
    await end(tenant, other);
    const remove = () =>
      harness.run((tx) => removeCluster(tx, operator, harness.engines.live.clusterId, 'It is lost.'));
    await harness.database.query(`update clusters set origin = 'operator' where id = $1`, [
      toUuid(harness.engines.live.clusterId),
    ]);
    expect(await reasonOf(remove())).toBe('CLUSTER_HAS_WORK');
    const machines = await Promise.all(
      [rental, other].map(({ orgId, id }) => listMachines(harness.db, orgId, id)),
    );
    const nodeIds = [...new Set(machines.flat().map(({ nodeId }) => nodeId))];
    for (const nodeId of nodeIds) {
      const done = await harness.run((tx) => writeOffNode(tx, operator, { nodeId, reason }));
      expect(done.node.status).toBe('node_removed');
      const again = await harness.run((tx) => writeOffNode(tx, operator, { nodeId, reason }));
      expect(again).toMatchObject({ node: { status: 'node_removed' }, rentals: [] });
    }
    for (const lost of [rental, other]) {
      expect((await viewOf(harness, lost)).rental.status).toBe('Terminated');
    }
    await remove();
    await expectConsistentInventory(harness);
  });
});
