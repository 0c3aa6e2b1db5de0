import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import { toUuid, type NodeId, type OrgId, type SupplierId, type UserId } from '@millrace/platform/ids';
import { nanoUsd, ppm } from '@millrace/platform/money';
import {
  createTenant,
  createTestDatabase,
  eventually,
  insertFleet,
  insertSupplier,
  insertSupplierMachine,
  testIds,
} from '@millrace/testing';
import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { issueUnrestrictedKey, systemAuditContext, type CallContext } from '../../identity/index.ts';
import { mintJoinToken } from './join-tokens.ts';
import { consumeJoinToken } from './join-tokens.service.ts';
import { insertJoinToken } from './join-tokens.store.ts';
import { findListedMachine, readListedMachines } from '../machines/listed-machines.store.ts';
import { defaultPriceRules, reasonNotForRent } from '../machines/machines.ts';
import { reviewMachine, updateMachine, type MachineListingChange } from '../machines/machines.service.ts';
import { findMachine } from '../machines/machines.store.ts';
import { reviewSupplier } from './suppliers.service.ts';
import { findSupplierOf } from './suppliers.store.ts';

const cause = systemAuditContext('test', 'live');
const deps = { announce: () => {} };
let orgId: OrgId;
let ownerId: UserId;

const database = await createTestDatabase();
const { db } = database;
afterAll(() => database.drop());
beforeEach(async () => {
  ({ orgId, ownerId } = await createTenant(db));
});

function inTx<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
  return db.transaction({ name: 'test', isolation: 'read committed' }, work);
}

const suspend = (id: SupplierId) =>
  inTx((tx) => reviewSupplier(tx, deps, cause, id, { reason: 'fraud', feePpm: null }));

async function newToken(fields: { maxMachines?: number; ttlMs?: number } = {}): Promise<string> {
  await insertSupplier(db, { orgId });
  const { text, sha256 } = mintJoinToken();
  await inTx(async (tx) => {
    const supplier = await findSupplierOf(tx, orgId);
    if (supplier === null) throw new Error('no supplier');
    await insertJoinToken(tx, supplier, {
      description: '',
      clusterName: 'c1',
      region: 'us-central-1',
      maxMachines: fields.maxMachines ?? 1,
      expiresAt: new Date(tx.clock.nowMs() + (fields.ttlMs ?? 60_000)),
      sha256,
      createdBy: ownerId,
    });
  });
  return text;
}

/** The reason of the refusal; any other error fails the test. */
async function reasonOf(spending: Promise<unknown>): Promise<string> {
  const outcome = await spending.then(
    () => 'spent',
    (error: unknown) => error,
  );
  return outcome instanceof Fault ? outcome.reason : String(outcome);
}

describe('consumeJoinToken', () => {
  it('admits exactly maxMachines machines under concurrent requests', async () => {
    const text = await newToken({ maxMachines: 3 });
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, () => reasonOf(inTx((tx) => consumeJoinToken(tx, text)))),
    );
    expect(outcomes.toSorted()).toEqual([...Array(7).fill('JOIN_TOKEN_INVALID'), ...Array(3).fill('spent')]);
  });

  it('counts no use when the transaction rolls back', async () => {
    const text = await newToken();
    const failed = inTx(async (tx) => {
      await consumeJoinToken(tx, text);
      throw new Error('the machine could not be written');
    });
    await expect(failed).rejects.toThrow('could not be written');
    const token = await inTx((tx) => consumeJoinToken(tx, text));
    expect(token).toMatchObject({ orgId, clusterName: 'c1', region: 'us-central-1', usedMachines: 1 });
  });

  it('refuses expired tokens and tokens of suspended suppliers and organisations', async () => {
    const supplierId = await insertSupplier(db, { orgId });
    const text = await newToken({ maxMachines: 9 });
    const expired = await newToken({ ttlMs: -1 });
    expect(await reasonOf(inTx((tx) => consumeJoinToken(tx, expired)))).toBe('JOIN_TOKEN_INVALID');
    await setOrganisation('suspended');
    expect(await reasonOf(inTx((tx) => consumeJoinToken(tx, text)))).toBe('ORGANISATION_SUSPENDED');
    await setOrganisation('active');
    expect(await reasonOf(inTx((tx) => consumeJoinToken(tx, text)))).toBe('spent');
    await suspend(supplierId);
    expect(await reasonOf(inTx((tx) => consumeJoinToken(tx, text)))).toBe('SUPPLIER_NOT_APPROVED');
  });

  it('refuses texts that are not an issued token', async () => {
    const outcome = await reasonOf(inTx((tx) => consumeJoinToken(tx, mintJoinToken().text)));
    expect(outcome).toBe('JOIN_TOKEN_INVALID');
    expect(await reasonOf(inTx((tx) => consumeJoinToken(tx, `mrj_' or true --`)))).toBe('JOIN_TOKEN_INVALID');
  });
});

async function setOrganisation(status: 'active' | 'suspended'): Promise<void> {
  const isSuspended = status === 'suspended';
  await inTx((tx) =>
    sql`update organisations set status = ${status}, suspended_at = ${isSuspended ? tx.clock.now() : null},
      suspended_reason = ${isSuspended ? 'unpaid' : null} where id = ${toUuid(orgId)}`.execute(tx.kysely),
  );
}

async function setMachine(
  nodeId: NodeId,
  to: {
    readonly stage: string;
    readonly approval: string;
    readonly offer: 'listed' | 'unlisted' | 'unpriced';
  },
): Promise<void> {
  const price = to.offer === 'unpriced' ? null : 1_000_000_000n;
  await inTx((tx) => {
    const now = tx.clock.now();
    const atWork = to.stage === 'testing' ? now : null;
    const withdrawnAt = to.stage === 'withdrawn' ? now : null;
    return sql`update supplier_machines
      set stage = ${to.stage}, approval = ${to.approval}, listed = ${to.offer === 'listed'},
          price_nano_usd_per_gpu_hour = ${price}, next_try_at = ${atWork}, deadline_at = ${atWork}, withdrawn_at = ${withdrawnAt}
      where node_id = ${toUuid(nodeId)}`.execute(tx.kysely);
  });
}

async function ownersCall(): Promise<CallContext> {
  const user = { id: ownerId, name: 'Ada Tester', email: 'ada@example.com', image: null };
  const { key } = await inTx((tx) =>
    issueUnrestrictedKey(tx, cause, { orgId, user, mode: 'live', name: 'key' }),
  );
  return { orgId, keyId: key.id, cause };
}

const isListed = async (nodeId: NodeId) => (await readListedMachines(db, [nodeId])).has(nodeId);

describe('readListedMachines and findListedMachine', () => {
  it('return price, cluster name, supplier and fee', async () => {
    const { supplierId, clusterId, nodeId } = await insertSupplierMachine(db, {
      orgId,
      clusterName: 'alpine',
      pricePerGpuHourNanoUsd: 1_234_567_891n,
    });
    const expected = {
      nodeId,
      clusterId,
      clusterName: 'alpine',
      region: 'us-central-1',
      mode: 'live',
      pricePerGpuHour: nanoUsd(1_234_567_891n),
      supplier: { id: supplierId, orgId, feePpm: ppm(100_000) },
    };
    expect(await inTx((tx) => findListedMachine(tx, nodeId))).toEqual(expected);
    const absent = testIds.next('nod');
    expect(await readListedMachines(db, [nodeId, absent])).toEqual(new Map([[nodeId, expected]]));
    expect(await inTx((tx) => findListedMachine(tx, absent))).toBeNull();
  });

  it.each([
    ['unlisted', { listed: false }],
    ['not approved', { approval: 'pending' }],
    ['rejected', { approval: 'rejected' }],
    ['under test', { stage: 'testing' }],
    ['withdrawn', { stage: 'withdrawn' }],
  ] as const)('exclude a machine that is %s', async (_what, fields) => {
    const { nodeId } = await insertSupplierMachine(db, { orgId, ...fields });
    expect(await isListed(nodeId)).toBe(false);
    expect(await inTx((tx) => findListedMachine(tx, nodeId))).toBeNull();
  });

  it('exclude a machine while its supplier, itself or its organisation is not approved', async () => {
    const { supplierId, nodeId } = await insertSupplierMachine(db, { orgId });
    const review = (approval: 'approved' | 'rejected') =>
      inTx((tx) => reviewMachine(tx, cause, nodeId, { approval, reason: 'looked at' }));
    expect(await isListed(nodeId)).toBe(true);
    await suspend(supplierId);
    expect(await isListed(nodeId)).toBe(false);
    await inTx((tx) =>
      reviewSupplier(tx, deps, cause, supplierId, { reason: 'cleared', feePpm: ppm(50_000) }),
    );
    expect((await readListedMachines(db, [nodeId])).get(nodeId)?.supplier?.feePpm).toBe(50_000);
    await review('rejected');
    expect(await isListed(nodeId)).toBe(false);
    await review('approved');
    await setOrganisation('suspended');
    expect(await isListed(nodeId)).toBe(false);
    await setOrganisation('active');
    expect(await isListed(nodeId)).toBe(true);
  });

  it('agree with reasonNotForRent for every stage, approval, price and listing', async () => {
    const { nodeId, supplierId } = await insertSupplierMachine(db, { orgId });
    const shown: string[] = [];
    for (const stage of ['testing', 'enrolled', 'withdrawn'] as const) {
      for (const approval of ['pending', 'approved', 'rejected'] as const) {
        for (const offer of ['listed', 'unlisted', 'unpriced'] as const) {
          await setMachine(nodeId, { stage, approval, offer });
          for (const status of ['applied', 'approved', 'rejected', 'suspended'] as const) {
            await inTx((tx) =>
              sql`update suppliers set status = ${status} where id = ${toUuid(supplierId)}`.execute(
                tx.kysely,
              ),
            );
            const machine = await findMachine(db, orgId, nodeId);
            if (machine === null) throw new Error('no machine');
            const isShown = reasonNotForRent(machine) === null;
            const what = `${stage} ${approval} ${offer} ${status}`;
            expect([what, await isListed(nodeId)]).toEqual([what, isShown]);
            if (isShown) shown.push(what);
          }
        }
      }
    }
    expect(shown).toEqual(['enrolled approved listed approved']);
  });

  it('charge a new rental at most the lowest price listed in the last minute', async () => {
    const { nodeId } = await insertSupplierMachine(db, { orgId, pricePerGpuHourNanoUsd: 1_000_000_000n });
    const call = await ownersCall();
    const offer = (change: MachineListingChange) =>
      inTx((tx) => updateMachine(tx, call, nodeId, change, defaultPriceRules));
    const listed = async () => (await readListedMachines(db, [nodeId])).get(nodeId)?.pricePerGpuHour;
    const paid = async () => (await inTx((tx) => findListedMachine(tx, nodeId)))?.pricePerGpuHour;

    await offer({ pricePerGpuHour: nanoUsd(5_000_000_000n) });
    await offer({ pricePerGpuHour: nanoUsd(9_000_000_000n) });
    expect([await listed(), await paid()]).toEqual([9_000_000_000n, 1_000_000_000n]);
    await offer({ listed: false });
    await offer({ listed: true });
    expect([await listed(), await paid()]).toEqual([9_000_000_000n, 1_000_000_000n]);
    await offer({ pricePerGpuHour: nanoUsd(500_000_000n) });
    expect([await listed(), await paid()]).toEqual([500_000_000n, 500_000_000n]);
    await offer({ pricePerGpuHour: nanoUsd(9_000_000_000n) });
    expect([await listed(), await paid()]).toEqual([9_000_000_000n, 500_000_000n]);
    await inTx((tx) =>
      sql`update supplier_machines set recent_price_until = ${tx.clock.now()} where node_id = ${toUuid(nodeId)}`.execute(
        tx.kysely,
      ),
    );
    expect([await listed(), await paid()]).toEqual([9_000_000_000n, 9_000_000_000n]);
  });

  it('include the operator’s own machines at the price of their cluster, without a supplier', async () => {
    const { nodeIds, clusterId } = await insertFleet(db, { nodes: 1, offer: 'marketplace' });
    const [nodeId] = nodeIds;
    if (nodeId === undefined) throw new Error('no node');
    expect(await isListed(nodeId)).toBe(false);
    await inTx((tx) =>
      sql`update clusters set settings = '{"pricePerGpuHourUsd": 0.99}' where id = ${toUuid(clusterId)}`.execute(
        tx.kysely,
      ),
    );
    expect((await readListedMachines(db, nodeIds)).get(nodeId)).toMatchObject({
      clusterName: `c-${toUuid(clusterId)}`,
      pricePerGpuHour: 990_000_000n,
      supplier: null,
    });
  });

  it('exclude machines of other offers', async () => {
    const { nodeIds, clusterId } = await insertFleet(db, { nodes: 1, offer: 'virtual-machine' });
    await inTx((tx) =>
      sql`update clusters set settings = '{"pricePerGpuHourUsd": 0.99}' where id = ${toUuid(clusterId)}`.execute(
        tx.kysely,
      ),
    );
    expect(await readListedMachines(db, nodeIds)).toEqual(new Map());
  });

  it('let a concurrent suspension wait until the rental has committed, and exclude the machine afterwards', async () => {
    const { supplierId, nodeId } = await insertSupplierMachine(db, { orgId });
    const order: string[] = [];
    const found = Promise.withResolvers<void>();
    const paid = Promise.withResolvers<void>();
    const renting = inTx(async (tx) => {
      expect(await findListedMachine(tx, nodeId)).not.toBeNull();
      found.resolve();
      await paid.promise;
    }).then(() => void order.push('rented'));
    await found.promise;
    const suspending = suspend(supplierId).then(() => void order.push('suspended'));
    try {
      await somebodyWaits();
      // A concurrent rental is not delayed.
      expect(await inTx((tx) => findListedMachine(tx, nodeId))).not.toBeNull();
    } finally {
      paid.resolve();
    }
    await Promise.all([renting, suspending]);
    expect(order).toEqual(['rented', 'suspended']);
    expect(await inTx((tx) => findListedMachine(tx, nodeId))).toBeNull();
  });
});

/** Uses its own connection, because the application cannot see lock waits of others. */
async function somebodyWaits(): Promise<void> {
  const watcher = await database.connect();
  try {
    await eventually({ what: 'a session waits for a lock' }, async () => {
      const { rows } = await watcher.query(
        "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return rows.length === 1;
    });
  } finally {
    await watcher.end();
  }
}
