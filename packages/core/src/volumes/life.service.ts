import type { Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import { Fault } from '@millrace/platform/fault';
import { appendAudit, enterAs, type KeyCall } from '../identity/index.ts';
import { detach, requireOwn } from './attach.service.ts';
import { requireAction } from './attach.ts';
import { listHolders } from './attachments.store.ts';
import { giveBack, keepData, payAgain, stopBilling } from './money.service.ts';
import { moveVolume, tellOfVolume, wishAnew } from './move.ts';
import { RETENTION_MS } from './policy.ts';
import { listSnapshots, saveSnapshot } from './snapshots.store.ts';
import { resourceOf, volumesActor, type Volume } from './volume.ts';
import { saveVolume, type VolumeChanges } from './volumes.store.ts';

/**
 * How a volume is frozen, thawed and ended, whoever wants it. What it costs changes in the same transaction. Where its
 * backend is silent the status stays `unknown`, and shows what became of it once the backend answers.
 */

/** The tenant deletes a volume. Its data is kept for the retention, as far as that can be paid. Deleting again answers the same. */
export async function deleteVolume(tx: Tx, call: KeyCall, wireId: number): Promise<Volume> {
  const { key } = await enterAs(tx, call, 'volumes:write');
  const { orgId, cause } = call;
  const volume = await requireOwn(tx, { orgId, mode: key.mode }, wireId);
  requireAction(volume, 'delete');
  if (volume.phase === 'leaving' || volume.phase === 'purging') return volume;
  await requireUnattached(tx, volume);
  const reason = 'Deleted by its tenant.';
  const left = await leave(tx, volume, { reason, actor: cause.actor });
  await appendAudit(tx, orgId, cause, {
    action: 'volume.deleted',
    resource: resourceOf(volume),
    before: { status: volume.status },
    after: { status: left.status, purgeAt: left.purgeAt?.toISOString() ?? null },
  });
  return left;
}

async function requireUnattached(tx: Tx, volume: Volume): Promise<void> {
  const holders = (await listHolders(tx, volume.orgId, [volume.id])).get(volume.id) ?? [];
  if (holders.length === 0) return;
  const [first, ...others] = holders.map(({ wireId }) => wireId);
  const named =
    others.length === 0 ? `rental ${first}` : `rentals ${[first, ...others].slice(0, NAMED_MAX).join(', ')}`;
  const more = holders.length > NAMED_MAX ? ` and ${holders.length - NAMED_MAX} more` : '';
  throw new Fault('VOLUME_ATTACHED', { message: `The volume is attached to ${named}${more}.` });
}

const NAMED_MAX = 20;

interface End {
  readonly reason: string;
  readonly actor: Actor;
  /** When its data goes, where that is known; else it is kept for the retention. */
  readonly purgeAt?: Date;
}

/** Nobody may use it any more, and its data goes at the end of its retention. One that never was usable has none. */
export async function leave(tx: Tx, volume: Volume, end: End): Promise<Volume> {
  const now = tx.clock.now();
  const endReason = end.reason.slice(0, REASON_MAX);
  const ending = { endReason, endAcceptedAt: now };
  if (volume.phase === 'provisioning') return purge(tx, volume, { ...end, at: now, changes: ending });
  const given = await dropPlans(tx, volume);
  // What is frozen is kept over what was set aside already, and for no longer than that.
  const purgeAt =
    given.phase === 'frozen' && given.purgeAt !== null
      ? given.purgeAt
      : await keepData(tx, given, now, wantedMsOf(end, now));
  const changes = { ...ending, phase: 'leaving', purgeAt, ...wishAnew(given, now) } as const;
  const left = await deactivate(tx, given, { reason: end.reason, actor: end.actor, changes });
  await tellOfVolume(tx, left, {
    type: 'volume.inactive',
    actor: end.actor,
    data: { reason: end.reason, purgeAt: purgeAt.toISOString() },
  });
  return left;
}

const REASON_MAX = 255;

function wantedMsOf({ purgeAt }: End, now: Date): number {
  return purgeAt === undefined ? RETENTION_MS : Math.max(0, purgeAt.getTime() - now.getTime());
}

/** The money for it has ended: it is kept over what was set aside for that, and may go on when there is more. */
export async function freeze(tx: Tx, volume: Volume, because: 'balance' | 'budget'): Promise<Volume> {
  const now = tx.clock.now();
  const given = await dropPlans(tx, volume);
  const purgeAt = await keepData(tx, given, now);
  const reason = `The ${because} does not cover it any longer.`;
  const frozen = await deactivate(tx, given, {
    reason,
    actor: volumesActor,
    changes: { phase: 'frozen', purgeAt, ...wishAnew(given, now) },
  });
  await tellOfVolume(tx, frozen, {
    type: 'volume.inactive',
    actor: volumesActor,
    data: { reason: because, purgeAt: purgeAt.toISOString() },
  });
  return frozen;
}

/** It goes on if the wallet can pay for it again. Null: it cannot. */
export async function thaw(tx: Tx, volume: Volume): Promise<Volume | null> {
  if (!(await payAgain(tx, volume))) return null;
  const now = tx.clock.now();
  const changes = { phase: 'live', purgeAt: null, ...wishAnew(volume, now) } as const;
  if (volume.status === 'unknown') return saveVolume(tx, volume, { updatedAt: now, ...changes });
  const thawed = await moveVolume(tx, volume, {
    to: 'active',
    reason: null,
    actor: volumesActor,
    changes,
  });
  await tellOfVolume(tx, thawed, { type: 'volume.active', actor: volumesActor, data: {} });
  return thawed;
}

/**
 * Its data is deleted from now on, and nothing after `at` is paid for, however long that takes. Whatever still has it is
 * detached.
 */
export async function purge(
  tx: Tx,
  volume: Volume,
  end: End & { readonly at: Date; readonly changes?: VolumeChanges },
): Promise<Volume> {
  const given = await dropPlans(tx, volume);
  await giveBack(tx, given, given.holdId);
  await stopBilling(tx, given, end.at);
  const { volume: alone } = await detach(tx, given, 'all', end.actor);
  const now = tx.clock.now();
  const changes: VolumeChanges = {
    endReason: volume.endReason ?? end.reason.slice(0, REASON_MAX),
    ...end.changes,
    phase: 'purging',
    purgeAt: end.at,
    holdId: null,
    tries: 0,
    ...wishAnew(alone, now),
  };
  return deactivate(tx, alone, { reason: end.reason, actor: end.actor, changes });
}

/** Growths and snapshots that were still to be made are not made any more. */
async function dropPlans(tx: Tx, volume: Volume): Promise<Volume> {
  for (const snapshot of await listSnapshots(tx, volume.orgId, volume.id)) {
    if (snapshot.status !== 'creating') continue;
    await giveBack(tx, volume, snapshot.holdId);
    await saveSnapshot(tx, volume.orgId, snapshot, { status: 'deleting', holdId: null });
  }
  if (volume.growth === null) return volume;
  await giveBack(tx, volume, volume.growth.holdId);
  return saveVolume(tx, volume, { growth: null });
}

/** `active` becomes `inactive`; what is inactive stays so, and what is unknown is until its backend answers. */
async function deactivate(
  tx: Tx,
  volume: Volume,
  move: { readonly reason: string; readonly actor: Actor; readonly changes: VolumeChanges },
): Promise<Volume> {
  if (volume.status === 'active') return moveVolume(tx, volume, { to: 'inactive', ...move });
  const { reason: statusReason, changes } = move;
  return saveVolume(tx, volume, { updatedAt: tx.clock.now(), ...changes, statusReason });
}
