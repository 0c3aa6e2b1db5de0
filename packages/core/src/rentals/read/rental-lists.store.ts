import type { ProviderVariant } from '@millrace/contract';
import { defineStatement, runStatement, type Reader, type Tables } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type OrgId, type RentalId } from '@millrace/platform/ids';
import type { Selectable } from 'kysely';
import { nodeHardwareText, providerVariantsText } from '../../fleet/index.ts';
import { userProfilesText, type TenantRef } from '../../identity/index.ts';
import type { RentalCreator, RentalRecord, MachineSummary } from './rental-record.ts';
import { qualified, type ColumnsOf } from '../model/columns.ts';
import { shownMachineColumns, toShownMachine } from '../model/machines.store.ts';
import type { RentalKind, RentalState, RentalSummary } from '../model/rental.ts';
import { shownColumns, toSummary, type RentalRow } from '../model/rentals.store.ts';
import { toProvisioningStep, type ProvisioningStepRow } from '../model/provisioning-steps.store.ts';
import { toTerm, type TermRow } from '../model/terms.store.ts';

/**
 * SQL that reads pages of rentals with their machines, terms and steps. Each statement uses an index, so that its cost depends
 * only on the page; `query-plans.slow.test.ts` checks the plans.
 */

type RentalListRow = Pick<RentalRow, ColumnsOf<typeof shownColumns>> & {
  maker_name: string;
  maker_email: string;
  maker_image: string | null;
  variant: ProviderVariant;
};

export interface ListedRental {
  /** Id in the form that rows of machines, terms and steps have. */
  readonly uuid: string;
  readonly rental: RentalSummary;
  readonly createdBy: RentalCreator;
  readonly variant: ProviderVariant;
}

function toListedRental(row: RentalListRow): ListedRental {
  const rental = toSummary(row);
  return {
    uuid: row.id,
    rental,
    createdBy: { id: rental.userId, name: row.maker_name, email: row.maker_email, picture: row.maker_image },
    variant: row.variant,
  };
}

const listColumns = `${qualified('rental', shownColumns)}, maker.name as maker_name, maker.email as maker_email,
         maker.image as maker_image, provider.variant`;

const listJoins = `
    join ${userProfilesText} as maker on maker.id = rental.user_id
    join ${providerVariantsText} as provider on provider.id = rental.provider_id`;

/** Lower and upper bound of all ids. */
const FIRST_UUID = '00000000-0000-0000-0000-000000000000';
const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

// One index scan per kind and status, so that rare ones are found without reading the others.
const liveStatement = defineStatement(
  'rentals-live-page',
  `
  select ${listColumns}
    from (select rental.*
            from unnest($3::text[]) as sold (kind)
           cross join unnest($4::text[]) as wanted (status)
           cross join lateral (
                 select * from rentals
                  where org_id = $1 and mode = $2 and kind = sold.kind and status = wanted.status
                    and status <> 'Terminated'
                    and id < $5
                  order by id desc limit $6) as rental
           order by rental.id desc limit $6) as rental
    ${listJoins}
   order by rental.id desc`,
);

export interface LiveRentalPage {
  /** Either only instances or no instances. */
  readonly kinds: readonly RentalKind[];
  readonly statuses: readonly RentalState[];
  readonly after: RentalId | null;
  readonly limit: number;
}

/** Newest first. Returns one more than `limit` if there is a next page. */
export async function listLiveRentals(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  page: LiveRentalPage,
): Promise<readonly ListedRental[]> {
  const after = page.after === null ? LAST_UUID : toUuid(page.after);
  const values = [toUuid(orgId), mode, page.kinds, page.statuses, after, page.limit + 1];
  return (await runStatement<RentalListRow>(reader, liveStatement, values)).map(toListedRental);
}

const oneRentalQuery = (kinds: string): string => `
  select ${listColumns}
    from rentals as rental
    ${listJoins}
   where rental.wire_id = $3 and rental.org_id = $1 and rental.mode = $2 and rental.kind ${kinds}`;

const rentalStatement = defineStatement('rentals-one', oneRentalQuery("<> 'instance'"));
const instanceStatement = defineStatement('rentals-one-instance', oneRentalQuery("= 'instance'"));

/** Rental operations exclude instances; marketplace operations exclude the other kinds. */
export async function findListedRental(
  reader: Reader,
  { orgId, mode }: TenantRef,
  wireId: number,
  kind: 'rental' | 'instance' = 'rental',
): Promise<ListedRental | null> {
  const statement = kind === 'rental' ? rentalStatement : instanceStatement;
  const [row] = await runStatement<RentalListRow>(reader, statement, [toUuid(orgId), mode, wireId]);
  return row === undefined ? null : toListedRental(row);
}

export interface EndedRental extends Pick<
  RentalSummary,
  'id' | 'wireId' | 'kind' | 'name' | 'label' | 'region'
> {
  readonly gpuType: RentalSummary['gpuType'];
  readonly gpuCount: number;
  readonly status: RentalState;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date;
  readonly reason: string | null;
}

const endedColumns =
  `id, wire_id, kind, name, label, region, gpu_type, gpu_count, status, created_at, started_at, ended_at,
                end_reason, status_reason` as const;
type EndedRow = Pick<RentalRow, ColumnsOf<typeof endedColumns>> & { ended_at: Date };

const endedStatement = defineStatement(
  'rentals-ended-page',
  `
  select ended.*
    from unnest($3::text[]) as wanted (kind)
   cross join lateral (
         select ${endedColumns}
           from rentals
          where org_id = $1 and mode = $2 and kind = wanted.kind and status = 'Terminated'
            and (ended_at, id) < ($4::timestamptz, $5::uuid) and ended_at >= $6::timestamptz
          order by ended_at desc, id desc limit $7) as ended
   order by ended.ended_at desc, ended.id desc limit $7`,
);

/** Position after which a page of ended rentals continues. */
export interface EndedPosition {
  readonly endedAt: Date;
  readonly id: RentalId;
}

export interface EndedRentalPage {
  readonly kinds: readonly RentalKind[];
  /** Ended at or after this time. */
  readonly from: Date | null;
  /** Ended before this time. */
  readonly until: Date | null;
  readonly after: EndedPosition | null;
  readonly limit: number;
}

/** Latest end first. Returns one more than `limit` if there is a next page. */
export async function listEndedRentals(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  page: EndedRentalPage,
): Promise<readonly EndedRental[]> {
  const { after, until } = page;
  const [before, id] =
    after !== null && (until === null || after.endedAt < until)
      ? [after.endedAt, toUuid(after.id)]
      : [until ?? 'infinity', FIRST_UUID];
  const values = [toUuid(orgId), mode, page.kinds, before, id, page.from ?? '-infinity', page.limit + 1];
  const rows = await runStatement<EndedRow>(reader, endedStatement, values);
  return rows.map((row) => ({
    id: fromUuid('rnt', row.id),
    wireId: row.wire_id,
    kind: row.kind,
    name: row.name,
    label: row.label,
    region: row.region,
    gpuType: row.gpu_type,
    gpuCount: row.gpu_count,
    status: row.status as RentalState,
    createdAt: row.created_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    reason: row.end_reason ?? row.status_reason,
  }));
}

type MachineRow = Pick<
  Selectable<Tables['rental_machines']>,
  'rental_id' | ColumnsOf<typeof shownMachineColumns>
> &
  Pick<Selectable<Tables['nodes']>, 'cpu_model' | 'gpu_form_factor'>;

const machinesStatement = defineStatement(
  'rentals-shown-machines',
  `
  select machine.rental_id, ${qualified('machine', shownMachineColumns)}, node.cpu_model, node.gpu_form_factor
    from unnest($2::uuid[], $3::int[]) as shown (id, attempt)
    join rental_machines as machine on machine.rental_id = shown.id and machine.attempt = shown.attempt
    join ${nodeHardwareText} as node on node.id = machine.node_id
   where machine.org_id = $1
   order by machine.rental_id, machine.position`,
);

const termsStatement = defineStatement(
  'rentals-shown-terms',
  `
  select rental_id, seq, term_type, price, hold_id, meter_name, effective_at, ends_at from rental_terms
   where org_id = $1 and rental_id = any ($2::uuid[])
   order by rental_id, seq`,
);

/** A rental that is often stopped and started has thousands of steps; the last ones explain its present state. */
const STEPS_MAX = 50;

const stepsStatement = defineStatement(
  'rentals-shown-steps',
  `
  select step.*
    from unnest($2::uuid[]) as shown (id)
   cross join lateral (
         select rental_id, seq, attempt, name, status, started_at, ended_at, message from rental_steps
          where rental_id = shown.id and org_id = $1
          order by seq desc limit ${STEPS_MAX}) as step
   order by step.rental_id, step.seq`,
);

export type RentalDetails = Pick<RentalRecord, 'machines' | 'terms' | 'steps'>;

/** In the order of the rentals. Always three statements. */
export async function readRentalDetails(
  reader: Reader,
  orgId: OrgId,
  rentals: readonly ListedRental[],
): Promise<readonly RentalDetails[]> {
  const org = toUuid(orgId);
  const ids = rentals.map(({ uuid }) => uuid);
  const attempts = rentals.map(({ rental }) => rental.attempt);
  const machines = await runStatement<MachineRow>(reader, machinesStatement, [org, ids, attempts]);
  const terms = await runStatement<TermRow>(reader, termsStatement, [org, ids]);
  const steps = await runStatement<ProvisioningStepRow>(reader, stepsStatement, [org, ids]);
  const machinesOf = Map.groupBy(machines, rentalOf);
  const termsOf = Map.groupBy(terms, rentalOf);
  const stepsOf = Map.groupBy(steps, rentalOf);
  return ids.map((id) => ({
    machines: (machinesOf.get(id) ?? []).map(toMachineSummary),
    terms: (termsOf.get(id) ?? []).map(toTerm),
    steps: (stepsOf.get(id) ?? []).map(toProvisioningStep),
  }));
}

const rentalOf = (row: { readonly rental_id: string }): string => row.rental_id;

function toMachineSummary(row: MachineRow): MachineSummary {
  return { ...toShownMachine(row), cpuModel: row.cpu_model, gpuFormFactor: row.gpu_form_factor };
}
