import { contract, type OperationId } from '@millrace/contract';
import type { SeededOrganisation } from '@millrace/core/fixture';
import { signStripeEvent, testIds, uniqueId } from '@millrace/testing';
import { billingAccessRows } from './access.billing.rows.ts';
import { catalogAccessRows } from './access.catalog.rows.ts';
import { enrolmentAccessRows } from './access.enrolments.rows.ts';
import { fleetAccessRows } from './access.fleet.rows.ts';
import { instanceAccessRows } from './access.instances.rows.ts';
import { invoiceAccessRows } from './access.invoices.rows.ts';
import { invitationAccessRows } from './access.invitations.rows.ts';
import { rentalAccessRows } from './access.rentals.rows.ts';
import { supplierMoneyAccessRows } from './access.supplier-money.rows.ts';
import { supplierAccessRows } from './access.suppliers.rows.ts';
import { usageAccessRows } from './access.usage.rows.ts';
import { volumeAccessRows } from './access.volumes.rows.ts';
import { webhookAccessRows } from './access.webhooks.rows.ts';
import { callOperation, newSshPublicKey, type CallInput, type Harness } from './harness.ts';

/** How the owner of an operation calls it successfully, and the same call with a foreign id and an absent id. */
export interface AccessRow {
  /** The organisation whose key succeeds; default `acme`. */
  readonly caller?: 'operator';
  /** Creates everything that the call needs, so that rows are independent. */
  readonly own: (harness: Harness) => Promise<CallInput>;
  /** `none`: the operation names no resource that could belong to another organisation. */
  readonly others: 'none' | ForeignIds;
}

interface ForeignIds {
  readonly absent: CallInput;
  /** `operators see all`: operators have no foreign ids, only absent ones. */
  readonly foreign: ((harness: Harness) => Promise<CallInput>) | 'operators see all';
}

const noInput = async (): Promise<CallInput> => ({});
const { operations } = contract;

const newEntitlement = { maxDiscountPercentage: 10, reason: 'framework contract' };

export const accessRows: Partial<Record<OperationId, AccessRow>> = {
  ...billingAccessRows,
  ...catalogAccessRows,
  ...enrolmentAccessRows,
  ...fleetAccessRows,
  ...instanceAccessRows,
  ...invoiceAccessRows,
  ...invitationAccessRows,
  ...rentalAccessRows,
  ...supplierAccessRows,
  ...supplierMoneyAccessRows,
  ...usageAccessRows,
  ...volumeAccessRows,
  ...webhookAccessRows,
  getOpenapi: { own: noInput, others: 'none' },
  getOpenDocument: { own: async () => ({ params: { file: 'v2.json' } }), others: 'none' },
  getCatalog: { own: noInput, others: 'none' },
  getInstallation: { own: noInput, others: 'none' },
  listMarketplaceMachines: {
    own: async ({ fixture }) => {
      while ((await fixture.api.listing.step()) === 'busy');
      return { body: { filters: { region: 'us-east' } } };
    },
    others: 'none',
  },
  getMe: { own: noInput, others: 'none' },
  getNoticePreferences: { own: noInput, others: 'none' },
  updateNoticePreferences: {
    own: async () => ({ body: { preferences: { keys: false, balance: null } } }),
    others: 'none',
  },
  listOrganisations: { own: noInput, others: 'none' },
  getOrganisation: organisationRow({}),
  updateOrganisation: organisationRow({ body: { name: 'Renamed' } }),
  listMembers: organisationRow({}),
  updateMember: memberRow({ body: { role: 'viewer' } }),
  removeMember: memberRow({}),
  createApiKey: {
    own: async () => ({ body: { name: 'ci', scopes: ['events:read'] } }),
    others: 'none',
  },
  listApiKeys: { own: noInput, others: 'none' },
  getApiKey: keyRow({}),
  revokeApiKey: keyRow({}),
  rotateApiKey: keyRow({ body: { overlapSeconds: 60 } }),
  createSshPublicKey: {
    own: async () => ({ body: { name: 'laptop', publicKey: newSshPublicKey() } }),
    others: 'none',
  },
  listSshPublicKeys: { own: noInput, others: 'none' },
  deleteSshPublicKey: {
    own: (harness) => createSshKey(harness, harness.acme),
    others: {
      absent: { params: { sshKeyId: testIds.next('ssh') } },
      foreign: (harness) => createSshKey(harness, harness.other),
    },
  },
  listAuditLog: { own: noInput, others: 'none' },
  listEvents: { own: noInput, others: 'none' },
  getOperation: {
    own: async (harness) => ({ params: { operationId: (await createOperation(harness, harness.acme)).id } }),
    others: {
      absent: { params: { operationId: testIds.next('op') } },
      foreign: async (harness) => ({
        params: { operationId: (await createOperation(harness, harness.other)).id },
      }),
    },
  },
  findOperation: {
    own: async (harness) => ({
      query: { idempotencyKey: (await createOperation(harness, harness.acme)).key },
    }),
    others: {
      absent: { query: { idempotencyKey: 'nobody-used-this' } },
      foreign: async (harness) => ({
        query: { idempotencyKey: (await createOperation(harness, harness.other)).key },
      }),
    },
  },
  createTopUp: { own: async () => ({ body: { amountCents: 500 } }), others: 'none' },
  listTopUps: { own: noInput, others: 'none' },
  getTopUp: {
    own: (harness) => startTopUp(harness, harness.acme),
    others: {
      absent: { params: { paymentId: testIds.next('pay') } },
      foreign: (harness) => startTopUp(harness, harness.other),
    },
  },
  receiveStripeEvent: {
    own: async ({ fixture }) => {
      const { webhookSecret } = fixture.stripe.settings;
      const { body, headers } = signStripeEvent(webhookSecret, {
        type: 'customer.created',
        object: {},
        createdMs: Date.now(),
      });
      return { body: JSON.parse(body) as unknown, headers };
    },
    others: 'none',
  },
  adminListOrganisations: { caller: 'operator', own: noInput, others: 'none' },
  adminCreateOrganisation: {
    caller: 'operator',
    own: async () => ({ body: { name: 'New', owner: { email: `new-${uniqueId()}@example.com` } } }),
    others: 'none',
  },
  adminGetOrganisation: adminRow(() => undefined),
  adminListMembers: adminRow(() => undefined),
  adminListAuditLog: { caller: 'operator', own: noInput, others: 'none' },
  adminAddMember: adminRow(() => ({ email: `added-${uniqueId()}@example.com`, role: 'member' })),
  adminSuspendOrganisation: adminRow(() => ({ reason: 'unpaid' })),
  adminResumeOrganisation: adminRow(() => ({ reason: 'paid' })),
  adminListPrices: { caller: 'operator', own: noInput, others: 'none' },
  adminCreatePrice: { caller: 'operator', own: async () => ({ body: newPrice() }), others: 'none' },
  adminEndPrice: {
    caller: 'operator',
    own: async (harness) => {
      const made = await callOperation(
        harness,
        operations.adminCreatePrice,
        { body: newPrice() },
        operatorKey(harness),
      );
      return { params: { priceId: made.json.id as string }, body: { reason: 'sold out' } };
    },
    others: {
      absent: { params: { priceId: testIds.next('prc') }, body: { reason: 'sold out' } },
      foreign: 'operators see all',
    },
  },
  adminListReserveOptions: { caller: 'operator', own: noInput, others: 'none' },
  adminCreateReserveOption: {
    caller: 'operator',
    own: async () => ({
      body: {
        machineType: 'virtual-machine',
        gpuType: 'h100',
        region: null,
        termPeriodDays: 30,
        discountPercentage: 12.5,
        earlyTerminationRefundPercentage: 50,
      },
    }),
    others: 'none',
  },
  adminListEntitlements: adminRow(() => undefined),
  adminCreateEntitlement: adminRow(() => newEntitlement),
  adminRevokeEntitlement: {
    caller: 'operator',
    own: (harness) => createEntitlement(harness, harness.other),
    others: {
      absent: { params: { organisationId: testIds.next('org'), entitlementId: testIds.next('ent') } },
      foreign: 'operators see all',
    },
  },
};

function organisationRow(input: CallInput): AccessRow {
  const at = (organisationId: string): CallInput => ({ ...input, params: { organisationId } });
  return {
    own: async ({ acme }) => at(acme.organisation.id),
    others: {
      absent: at(testIds.next('org')),
      foreign: async ({ other }) => at(other.organisation.id),
    },
  };
}

/** The foreign call names the other organisation and one of its members. */
function memberRow(input: CallInput): AccessRow {
  const at = (organisationId: string, userId: string): CallInput => ({
    ...input,
    params: { organisationId, userId },
  });
  const memberOf = async (who: SeededOrganisation): Promise<CallInput> =>
    at(who.organisation.id, (await who.addPerson('member')).userId);
  return {
    own: ({ acme }) => memberOf(acme),
    others: {
      absent: at(testIds.next('org'), testIds.next('usr')),
      foreign: ({ other }) => memberOf(other),
    },
  };
}

function keyRow(input: CallInput): AccessRow {
  const at = (keyId: string): CallInput => ({ ...input, params: { keyId } });
  return {
    own: async ({ acme }) => at((await acme.ownerKey('live')).keyId),
    others: {
      absent: at(testIds.next('key')),
      foreign: async ({ other }) => at((await other.ownerKey('live')).keyId),
    },
  };
}

function adminRow(body: () => unknown): AccessRow {
  return {
    caller: 'operator',
    own: async ({ other }) => ({ params: { organisationId: other.organisation.id }, body: body() }),
    others: {
      absent: { params: { organisationId: testIds.next('org') }, body: body() },
      foreign: 'operators see all',
    },
  };
}

const operatorKey = (harness: Harness): string => harness.operator.owner.key;

/** Each price has its own region, because two prices for one subject with the same start time are refused. */
function newPrice(): unknown {
  return {
    subject: { kind: 'volume', region: uniqueId() },
    unit: 'gb_hour',
    priceNanoUsd: '137000',
    validFrom: '2026-01-01T00:00:00.000Z',
    reason: 'opening of the region',
  };
}

async function createEntitlement(harness: Harness, who: SeededOrganisation): Promise<CallInput> {
  const params = { organisationId: who.organisation.id };
  const input = { params, body: newEntitlement };
  const made = await callOperation(harness, operations.adminCreateEntitlement, input, operatorKey(harness));
  return { params: { ...params, entitlementId: made.json.id as string } };
}

async function createSshKey(harness: Harness, who: SeededOrganisation): Promise<CallInput> {
  const body = { name: 'laptop', publicKey: newSshPublicKey() };
  const made = await callOperation(harness, operations.createSshPublicKey, { body }, who.owner.key);
  return { params: { sshKeyId: made.json.id as string } };
}

async function startTopUp(harness: Harness, who: SeededOrganisation): Promise<CallInput> {
  const made = await callOperation(
    harness,
    operations.createTopUp,
    { body: { amountCents: 500 } },
    who.owner.key,
  );
  return { params: { paymentId: made.json.paymentId as string } };
}

async function createOperation(
  harness: Harness,
  who: SeededOrganisation,
): Promise<{ readonly id: string; readonly key: string }> {
  const key = `row-${uniqueId()}`;
  const input = {
    body: { name: 'by operation', scopes: ['events:read'] },
    headers: { 'idempotency-key': key },
  };
  const made = await callOperation(harness, operations.createApiKey, input, who.owner.key);
  return { id: String(made.headers['operation-id']), key };
}
