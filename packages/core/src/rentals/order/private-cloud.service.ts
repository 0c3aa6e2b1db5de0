import type { Body, Contract, GpuType } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { OrgId } from '@millrace/platform/ids';
import { zeroUsd } from '@millrace/platform/money';
import { findProvider } from '../../fleet/index.ts';
import { findOldestOwner, lockOrganisation, type AuditContext } from '../../identity/index.ts';
import { freezeAgreedPrice } from '../../prices/index.ts';
import { scheduleAt, RENTAL_OVERDUE_MS, transitionRental } from '../model/rental-transitions.ts';
import { type PrivateCloud, type Rental, type RentalTerm, rentalsActor } from '../model/rental.ts';
import { insertRental } from '../model/rentals.store.ts';
import { insertTerm, saveTerm } from '../model/terms.store.ts';
import { nextTerm } from '../money/terms.ts';
import { pendingFields, recordPending } from './pending-rental.ts';

/**
 * Private clouds run under a contract with the operator, who enters them here so that tenants see them among their rentals. They
 * have no machines at engines and no meters, and only the contract ends them.
 */

const PROVIDER = 'private-cloud';
const REGION = 'private-cloud';

type PrivateCloudBody = Body<Contract['operations']['adminCreatePrivateCloudRental']>;

export interface PrivateCloudRequest {
  readonly orgId: OrgId;
  readonly name: string;
  readonly gpuType: GpuType;
  readonly gpuCount: number;
  readonly cloud: PrivateCloud;
  /** For the audit log. */
  readonly reason: string;
}

export function toPrivateCloudRequest(body: PrivateCloudBody, orgId: OrgId, now: Date): PrivateCloudRequest {
  const { name, gpuType, gpuCount, reason } = body;
  return {
    orgId,
    name,
    gpuType,
    gpuCount,
    reason,
    cloud: {
      nodes: body.nodes.map(({ role, hostname = null, publicIp = null, privateIp }) => ({
        role,
        hostname,
        publicIp,
        privateIp,
      })),
      sshUser: body.sshUser,
      sshPort: body.sshPort,
      gpuModel: body.gpuModel ?? null,
      location: body.location ?? null,
      salesContractExternalId: body.salesContractExternalId ?? null,
      startsAt: (body.startsAt === undefined ? now : new Date(body.startsAt)).toISOString(),
    },
  };
}

/** Pending until its start date, or Running at once if that has passed. Belongs to the oldest owner of the organisation. */
export async function createPrivateCloud(
  tx: Tx,
  cause: AuditContext,
  request: PrivateCloudRequest,
  wireId: number,
): Promise<Rental> {
  const { orgId, cloud } = request;
  if ((await lockOrganisation(tx, orgId)) === null) throw new Fault('ORGANISATION_NOT_FOUND');
  if ((await findProvider(tx, PROVIDER)) === null) {
    throw new Fault('PROVIDER_NOT_FOUND', {
      message: 'No provider has the variant private-cloud.',
      suggestion: 'Add {"id":"private-cloud","variant":"private-cloud"} to the providers in the settings.',
    });
  }
  const owner = await findOldestOwner(tx, orgId);
  if (owner === null) throw new Error(`Organisation ${orgId} has no owner.`);
  const rental = await insertRental(tx, { ...privateCloudFields(tx, request), wireId, userId: owner.id });
  const { gpuType, gpuCount, reason } = request;
  const { nodes, salesContractExternalId, startsAt } = cloud;
  await recordPending(tx, cause, rental, {
    after: { kind: PROVIDER, gpuType, gpuCount, nodes: nodes.length, salesContractExternalId, startsAt },
    reason,
  });
  // The contract covers the cost.
  const free = { mode: 'live', perUnit: zeroUsd, quantity: gpuCount, now: tx.clock.now() } as const;
  const term = { ...nextTerm('private-cloud', freezeAgreedPrice(free)), meterName: 'gpu' };
  await insertTerm(tx, orgId, rental, term);
  return new Date(startsAt) > tx.clock.now() ? rental : startPrivateCloud(tx, rental, [term]);
}

function privateCloudFields(tx: Tx, { orgId, name, gpuType, gpuCount, cloud }: PrivateCloudRequest) {
  const now = tx.clock.now();
  const begins = new Date(Math.max(now.getTime(), new Date(cloud.startsAt).getTime()));
  return {
    id: tx.ids.next('rnt'),
    orgId,
    name,
    gpuType,
    privateCloud: cloud,
    mode: 'live',
    kind: 'bare-metal',
    keyId: null,
    providerId: PROVIDER,
    region: REGION,
    // The layout of the GPUs on nodes is unknown.
    gpusPerNode: gpuCount,
    nodeCount: 1,
    // The minimum; the real network is unknown.
    connectionType: 'ethernet',
    cuda: null,
    label: null,
    tags: {},
    image: null,
    userData: null,
    sshKeys: [],
    customPorts: [],
    labels: {},
    monitoring: false,
    convertOnExpiry: false,
    diskPrice: null,
    supplier: null,
    publicIdentity: null,
    ...pendingFields(now, begins.getTime() + RENTAL_OVERDUE_MS - now.getTime()),
    allocationId: null,
    expiresAt: null,
    maxNanoUsd: null,
    idle: null,
    steps: 0,
    ...scheduleAt(begins),
  } as const;
}

/** The caller holds the rental's lock. */
export async function startPrivateCloud(
  tx: Tx,
  rental: Rental,
  terms: readonly RentalTerm[],
): Promise<Rental> {
  const { privateCloud } = rental;
  if (privateCloud === null) throw new Error(`Rental ${rental.id} is not a private cloud.`);
  const startedAt = new Date(privateCloud.startsAt);
  const [term] = terms;
  if (term !== undefined) await saveTerm(tx, rental.orgId, rental.id, term.seq, { effectiveAt: startedAt });
  return transitionRental(tx, rental, {
    to: 'Running',
    reason: null,
    actor: rentalsActor,
    changes: { task: null, taskOptions: {}, taskDeadlineAt: null, startedAt, power: 'on' },
    data: { startedAt: startedAt.toISOString() },
  });
}

/** The contract decides on power and termination. */
export function requireNotPrivateCloud({ privateCloud }: Pick<Rental, 'privateCloud'>): void {
  if (privateCloud !== null) throw new Fault('PRIVATE_CLOUD_UNDER_CONTRACT');
}
