import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { toUuid, type OrgId, type RentalId } from '@millrace/platform/ids';
import type { Selectable } from 'kysely';
import type { Rental, ProvisioningStep, ProvisioningStepStatus } from './rental.ts';

/** All SQL on `rental_steps`. Callers that write hold the rental's lock. */

export type ProvisioningStepRow = Omit<Selectable<Tables['rental_steps']>, 'org_id' | 'mode'>;

export function toProvisioningStep(row: Omit<ProvisioningStepRow, 'rental_id'>): ProvisioningStep {
  return {
    seq: row.seq,
    attempt: row.attempt,
    name: row.name,
    status: row.status,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    message: row.message,
  };
}

export async function insertProvisioningStep(
  tx: Tx,
  rental: Pick<Rental, 'id' | 'orgId' | 'mode' | 'attempt'>,
  step: { readonly seq: number; readonly name: string; readonly status?: 'running' | 'done' },
): Promise<void> {
  const now = tx.clock.now();
  const status = step.status ?? 'running';
  await tx.kysely
    .insertInto('rental_steps')
    .values({
      rental_id: toUuid(rental.id),
      seq: step.seq,
      org_id: toUuid(rental.orgId),
      mode: rental.mode,
      attempt: rental.attempt,
      name: step.name,
      status,
      started_at: now,
      ended_at: status === 'done' ? now : null,
      message: null,
    })
    .execute();
}

const TEXT_MAX = 1_000;

/** Ends the running step, if any; with `name`, only if the running step has that name. */
export async function endRunningProvisioningStep(
  tx: Tx,
  orgId: OrgId,
  rentalId: RentalId,
  end: {
    readonly status: Exclude<ProvisioningStepStatus, 'running'>;
    readonly message?: string | null;
    readonly name?: string;
  },
): Promise<void> {
  let query = tx.kysely
    .updateTable('rental_steps')
    .set({ status: end.status, ended_at: tx.clock.now(), message: end.message?.slice(0, TEXT_MAX) ?? null })
    .where('rental_id', '=', toUuid(rentalId))
    .where('org_id', '=', toUuid(orgId))
    .where('status', '=', 'running');
  if (end.name !== undefined) query = query.where('name', '=', end.name);
  await query.execute();
}

export async function listProvisioningSteps(
  reader: Reader,
  orgId: OrgId,
  rentalId: RentalId,
): Promise<readonly ProvisioningStep[]> {
  const rows = await reader.kysely
    .selectFrom('rental_steps')
    .selectAll()
    .where('rental_id', '=', toUuid(rentalId))
    .where('org_id', '=', toUuid(orgId))
    .orderBy('seq')
    .execute();
  return rows.map(toProvisioningStep);
}
