import type { PortMapping } from '@millrace/compute';
import type { ProviderVariant } from '@millrace/contract';
import { defineStatement, runStatement, type Reader, type Tables } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type OrgId, type RentalId, type UserId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import type { Selectable } from 'kysely';
import { nodeHardwareText, providerVariantsText } from '../../fleet/index.ts';
import { userProfilesText } from '../../identity/index.ts';
import { parseFrozenPrice } from '../../prices/index.ts';
import type { RentalCreator, MachineSummary, RentalSummary } from './rental-record.ts';
import type { PrivateCloud, RentalKind, RentalState, ProvisioningStep, RentalTerm } from '../model/rental.ts';
import type { RentalRow } from '../model/rentals.store.ts';
import { toProvisioningStep, type ProvisioningStepRow } from '../model/provisioning-steps.store.ts';
import { toTerm, type TermRow } from '../model/terms.store.ts';

/**
 * All SQL that reads rentals for showing: pages of them, and for a whole page at once what belongs to them. Each statement
 * walks an index of what it shows, so its cost is that of the page; a test reads the plans.
 */

type RentalListRow = Pick<
  RentalRow,
  | 'id'
  | 'wire_id'
  | 'org_id'
  | 'mode'
  | 'kind'
  | 'user_id'
  | 'provider_id'
  | 'region'
  | 'gpu_type'
  | 'gpu_count'
  | 'node_count'
  | 'connection_type'
  | 'name'
  | 'label'
  | 'tags'
  | 'image'
  | 'custom_ports'
  | 'monitoring'
  | 'convert_on_expiry'
  | 'status'
  | 'status_reason'
  | 'status_since'
  | 'power'
  | 'gpu_held'
  | 'attempt'
  | 'created_at'
  | 'updated_at'
  | 'started_at'
  | 'ended_at'
  | 'end_reason'
  | 'expires_at'
  | 'max_nano_usd'
  | 'private_cloud'
  | 'disk_price'
  | 'billing_paused_at'
> & {
  maker_name: string;
  maker_email: string;
  maker_image: string | null;
  variant: ProviderVariant;
};

/** A rental with what its own row leads to. */
export interface ListedRental {
  /** The rental's id as the rows of its belongings have it. */
  readonly uuid: string;
  readonly rental: RentalSummary;
  readonly createdBy: RentalCreator;
  readonly variant: ProviderVariant;
}

function toListedRental(row: RentalListRow): ListedRental {
  const userId = fromUuid('usr', row.user_id);
  return {
    uuid: row.id,
    rental: toRentalSummary(row, userId),
    createdBy: { id: userId, name: row.maker_name, email: row.maker_email, picture: row.maker_image },
    variant: row.variant,
  };
}

function toRentalSummary(row: RentalListRow, userId: UserId): RentalSummary {
  return {
    id: fromUuid('rnt', row.id),
    wireId: row.wire_id,
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    kind: row.kind,
    userId,
    providerId: row.provider_id,
    region: row.region,
    gpuType: row.gpu_type,
    gpuCount: row.gpu_count,
    nodeCount: row.node_count,
    connectionType: row.connection_type,
    name: row.name,
    label: row.label,
    tags: row.tags as Record<string, string>,
    image: row.image,
    customPorts: row.custom_ports,
    monitoring: row.monitoring,
    convertOnExpiry: row.convert_on_expiry,
    status: row.status as RentalState,
    statusReason: row.status_reason,
    statusSince: row.status_since,
    power: row.power,
    gpuHeld: row.gpu_held,
    attempt: row.attempt,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    endReason: row.end_reason,
    expiresAt: row.expires_at,
    maxNanoUsd: row.max_nano_usd === null ? null : nanoUsd(row.max_nano_usd),
    privateCloud: row.private_cloud as PrivateCloud | null,
    diskPrice: row.disk_price === null ? null : parseFrozenPrice(row.disk_price),
    billingPausedAt: row.billing_paused_at,
  };
}

const rentalColumns = `
  rental.id, rental.wire_id, rental.org_id, rental.mode, rental.kind, rental.user_id, rental.provider_id,
  rental.region, rental.gpu_type, rental.gpu_count, rental.node_count, rental.connection_type, rental.name, rental.label, rental.tags,
  rental.image, rental.custom_ports, rental.monitoring, rental.convert_on_expiry, rental.status, rental.status_reason,
  rental.status_since, rental.power, rental.gpu_held, rental.attempt, rental.created_at, rental.updated_at,
  rental.started_at, rental.ended_at, rental.end_reason, rental.expires_at, rental.max_nano_usd,
  rental.private_cloud, rental.disk_price, rental.billing_paused_at`;

const listColumns = `${rentalColumns}, maker.name as maker_name, maker.email as maker_email,
         maker.image as maker_image, provider.variant`;

const listJoins = `
    join ${userProfilesText} as maker on maker.id = rental.user_id
    join ${providerVariantsText} as provider on provider.id = rental.provider_id`;

/** Before every id that there is, and after. */
const FIRST_UUID = '00000000-0000-0000-0000-000000000000';
const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

// One descent of the index for each kind and status, so that the rare ones are found without wading through the others.
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
  /** Instances, or what is none, never both. */
  readonly kinds: readonly RentalKind[];
  readonly statuses: readonly RentalState[];
  readonly after: RentalId | null;
  readonly limit: number;
}

/** Rentals that have not ended, newest first; one more than `limit` when there are more. */
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

export async function findListedRental(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  wireId: number,
): Promise<ListedRental | null> {
  const [row] = await runStatement<RentalListRow>(reader, rentalStatement, [toUuid(orgId), mode, wireId]);
  return row === undefined ? null : toListedRental(row);
}

/** The rental behind an instance, which the operations of rentals do not show. */
export async function findListedInstance(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  wireId: number,
): Promise<ListedRental | null> {
  const [row] = await runStatement<RentalListRow>(reader, instanceStatement, [toUuid(orgId), mode, wireId]);
  return row === undefined ? null : toListedRental(row);
}

/** A rental that has ended, as its history shows it. */
export interface EndedRental {
  readonly id: RentalId;
  readonly wireId: number;
  readonly kind: RentalKind;
  readonly name: string | null;
  readonly label: string | null;
  readonly region: string;
  readonly gpuType: RentalRow['gpu_type'];
  readonly gpuCount: number;
  readonly status: RentalState;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date;
  readonly reason: string | null;
}

type EndedRow = Pick<
  RentalRow,
  | 'id'
  | 'wire_id'
  | 'kind'
  | 'name'
  | 'label'
  | 'region'
  | 'gpu_type'
  | 'gpu_count'
  | 'status'
  | 'created_at'
  | 'started_at'
  | 'end_reason'
  | 'status_reason'
> & { ended_at: Date };

const endedStatement = defineStatement(
  'rentals-ended-page',
  `
  select ended.*
    from unnest($3::text[]) as wanted (kind)
   cross join lateral (
         select id, wire_id, kind, name, label, region, gpu_type, gpu_count, status, created_at, started_at, ended_at,
                end_reason, status_reason
           from rentals
          where org_id = $1 and mode = $2 and kind = wanted.kind and status = 'Terminated'
            and (ended_at, id) < ($4::timestamptz, $5::uuid) and ended_at >= $6::timestamptz
          order by ended_at desc, id desc limit $7) as ended
   order by ended.ended_at desc, ended.id desc limit $7`,
);

/** After which of the ended ones a page goes on. */
export interface EndedPosition {
  readonly endedAt: Date;
  readonly id: RentalId;
}

export interface EndedRentalPage {
  readonly kinds: readonly RentalKind[];
  /** Ended at or after this. */
  readonly from: Date | null;
  /** Ended before this. */
  readonly until: Date | null;
  readonly after: EndedPosition | null;
  readonly limit: number;
}

/** Rentals that have ended, the last to end first; one more than `limit` when there are more. */
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
  | 'rental_id'
  | 'position'
  | 'external_id'
  | 'gpu_addresses'
  | 'ports'
  | 'cpu_count'
  | 'ram_mb'
  | 'disk_gb'
  | 'state'
  | 'address'
  | 'private_ip'
  | 'ssh_user'
  | 'host_key'
> &
  Pick<Selectable<Tables['nodes']>, 'cpu_model' | 'gpu_form_factor'>;

const machinesStatement = defineStatement(
  'rentals-shown-machines',
  `
  select machine.rental_id, machine.position, machine.external_id, machine.gpu_addresses, machine.ports, machine.cpu_count,
         machine.ram_mb, machine.disk_gb, machine.state, machine.address, machine.private_ip, machine.ssh_user,
         machine.host_key, node.cpu_model, node.gpu_form_factor
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

/** A rental that is switched on and off for a year has thousands; the last ones tell how it came to be as it is. */
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

/** What belongs to a rental of a page. */
export interface RentalDetails {
  readonly machines: readonly MachineSummary[];
  readonly terms: readonly RentalTerm[];
  readonly steps: readonly ProvisioningStep[];
}

/** In the order of the rentals. Three statements, however many there are. */
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
  return {
    position: row.position,
    externalId: row.external_id,
    gpuAddresses: row.gpu_addresses,
    ports: row.ports as unknown as readonly PortMapping[],
    cpuCount: row.cpu_count,
    ramMb: row.ram_mb,
    diskGb: row.disk_gb,
    state: row.state,
    address: row.address,
    privateIp: row.private_ip,
    sshUser: row.ssh_user,
    hostKey: row.host_key,
    cpuModel: row.cpu_model,
    gpuFormFactor: row.gpu_form_factor,
  };
}
