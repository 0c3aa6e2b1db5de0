import { scanLeaseKeys } from '@millrace/credit-leases/protocol';
import type { Db } from '@millrace/platform/db';
import { parseId, type OrgId } from '@millrace/platform/ids';
import type { ValkeyClient } from '@millrace/platform/valkey';
import { recordRecall, type LeaseRules } from './lease-ledger.ts';
import { lockLease, raiseEpochFloor, readServer } from './leases.store.ts';
import { listGrantsByEpoch, listOpenLeases } from './lease-sweeps.store.ts';

/** Lists and ends credit leases after the database was restored to an earlier point. */

/** A lease in Valkey that the ledger does not have, or has with a smaller amount. */
export interface UnrecordedLease {
  readonly orgId: OrgId;
  readonly mode: 'live' | 'test';
  readonly epoch: string;
  readonly grantedNanoUsd: string;
  /** Spent and reserved amounts. */
  readonly usedNanoUsd: string;
  /** The granted amount of the same epoch in the ledger; null if the ledger has no such lease. */
  readonly ledgerGrantedNanoUsd: string | null;
}

type Valkey = Pick<ValkeyClient, 'command'>;

async function* scanLeases(valkey: Valkey, namespace: string) {
  const shape = /^pot:[0-9a-f]{12}:\{([^}]{1,100})\}:(live|test)$/;
  for await (const keys of scanLeaseKeys(valkey, namespace)) {
    for (const key of keys) {
      const [, org, mode] = shape.exec(key) ?? [];
      const orgId = org === undefined ? null : parseId('org', org);
      if (orgId !== null) yield { key, orgId, mode: mode === 'test' ? ('test' as const) : ('live' as const) };
    }
  }
}

/** Ends admission in every lease of the cell and returns their number. Requests in flight settle as usual. */
export async function stopAdmission(db: Db, valkey: Valkey, cell: number): Promise<number> {
  const server = await readServer(db, cell);
  if (server === null) return 0;
  let count = 0;
  for await (const { key } of scanLeases(valkey, server.namespace)) {
    await valkey.command(['HSET', key, 'closed', '1']);
    count += 1;
  }
  return count;
}

export async function listUnrecordedLeases(db: Db, valkey: Valkey, cell: number): Promise<UnrecordedLease[]> {
  const server = await readServer(db, cell);
  if (server === null) return [];
  const lost: UnrecordedLease[] = [];
  for await (const { key, orgId, mode } of scanLeases(valkey, server.namespace)) {
    const fields = await valkey.command(['HMGET', key, 'epoch', 'lease', 'granted', 'reserved', 'spent']);
    const [epoch, lease, granted, reserved, spent] = fields as readonly (string | null)[];
    if (typeof epoch !== 'string' || typeof granted !== 'string') continue;
    const known = (await listGrantsByEpoch(db, { orgId, mode, cell })).get(epoch);
    const isSame = known !== undefined && known.id === lease;
    if (isSame && known.granted >= BigInt(granted)) continue;
    const usedNanoUsd = (BigInt(reserved ?? 0) + BigInt(spent ?? 0)).toString();
    const ledgerGrantedNanoUsd = isSame ? known.granted.toString() : null;
    lost.push({ orgId, mode, epoch, grantedNanoUsd: granted, usedNanoUsd, ledgerGrantedNanoUsd });
  }
  return lost;
}

/**
 * Starts closing all leases, and gives new leases epochs above the floor. A hold remains until every recorded holder has
 * ended, so that no amount that a known lease may still owe is released early.
 */
export async function startClosingAllLeases(
  db: Db,
  options: { readonly cell: number; readonly epochFloor: bigint; readonly rules: LeaseRules },
): Promise<number> {
  const { cell, epochFloor, rules } = options;
  await db.transaction({ name: 'raise epochs', isolation: 'read committed' }, (tx) =>
    raiseEpochFloor(tx, cell, epochFloor),
  );
  const open = await listOpenLeases(db, cell);
  for (const ref of open) {
    await db.transaction({ name: 'end lease after restore', isolation: 'read committed' }, async (tx) => {
      const lease = await lockLease(tx, ref.orgId, ref.id);
      if (lease?.state === 'open') await recordRecall(tx, lease, { reported: null, action: 'end', rules });
    });
  }
  return open.length;
}
