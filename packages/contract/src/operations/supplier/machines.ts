import { z } from 'zod';
import { withoutBidiControls } from '../../bidi-text.ts';
import {
  nanoUsd,
  noContent,
  organisationId,
  pageOf,
  pageQuery,
  positiveNanoUsd,
  prefixedId,
  supplierOperation,
  timestamp,
} from '../../operation-builders.ts';
import { nodeId, nodeStatus, nodeGpu } from '../node-schemas.ts';
import { earningOperations } from './earnings.ts';

/** Suppliers: machines they put on the marketplace, and what those earn. */

export const supplierId = prefixedId('sup', 'a supplier');
const joinTokenId = prefixedId('jtk', 'a join token');

export const supplierAccount = z
  .object({
    id: supplierId,
    organisationId,
    name: z.string(),
    about: z.string(),
    status: z.enum(['applied', 'approved', 'rejected', 'suspended']).meta({
      description: 'Nothing of a suspended supplier is shown or rented anew; what is rented goes on.',
    }),
    statusReason: z.string().nullable().meta({ description: 'What the operator said.' }),
    feePercentage: z
      .number()
      .min(0)
      .max(100)
      .meta({ description: 'What the operator keeps of each charge.' }),
    appliedAt: timestamp,
    approvedAt: timestamp.nullable(),
  })
  .meta({ id: 'Supplier' });

const share = z.number().min(0).max(1);
const eventCount = z.int().nonnegative();

/** How far a machine can be relied on, by what was measured of it over the last 30 days. */
const reliability = z
  .object({
    score: share.meta({ description: 'Uptime and starts together: 1 is a machine that never failed.' }),
    uptime: share.meta({ description: 'The part of the watched time in which it was there.' }),
    starting: share.meta({ description: 'How likely what is started on it comes up and stays.' }),
    watchedSeconds: eventCount.meta({
      description: 'Time that counts. A machine about which little is known is believed 0.9.',
    }),
    starts: eventCount.meta({ description: 'Instances that came up on it.' }),
    failedStarts: eventCount.meta({ description: 'Instances that did not, by a fault of the machine.' }),
    losses: eventCount.meta({ description: 'Instances that were lost while they ran.' }),
    quarantines: eventCount.meta({ description: 'How often it was taken out of sale for what it did.' }),
    measuredUntil: timestamp,
  })
  .meta({ id: 'MachineReliability' });

const machineHistoryEntry = z
  .object({
    at: timestamp,
    kind: z.enum(['state', 'failed_start', 'loss']),
    status: nodeStatus.nullable().meta({ description: 'Of a change of state: what it is since then.' }),
    reason: z.string(),
  })
  .meta({ id: 'MachineHistoryEntry' });

export const supplierMachine = z
  .object({
    id: nodeId,
    name: z.string(),
    supplierId,
    clusterName: z.string(),
    region: z.string(),
    status: nodeStatus,
    statusReason: z.string().nullable().meta({ description: 'Why it is not ready, where it is not.' }),
    approval: z.enum(['pending', 'approved', 'rejected']),
    approvalReason: z.string().nullable().meta({ description: 'What the operator said.' }),
    listed: z.boolean().meta({ description: 'Offered by its supplier.' }),
    shown: z.boolean().meta({ description: 'On the marketplace now: all who have a say agree to it.' }),
    notShownBecause: z.string().nullable().meta({ description: 'What is missing, where it is not shown.' }),
    pricePerGpuHourNanoUsd: nanoUsd.nullable(),
    gpus: z.array(nodeGpu.omit({ allocatedTo: true })),
    gpusRented: z.int().nonnegative(),
    drainedAt: timestamp
      .nullable()
      .meta({ description: 'Since when its supplier has taken it out of use; null where it has not.' }),
    joinedAt: timestamp,
    lastSeenAt: timestamp.nullable(),
    reliability: reliability
      .nullable()
      .meta({ description: 'Null until it was measured for the first time.' }),
  })
  .meta({ id: 'SupplierMachine' });

const joinTokenFields = {
  id: joinTokenId,
  description: z.string(),
  clusterName: z.string(),
  region: z.string(),
  maxMachines: z.int().min(1),
  usedMachines: z.int().nonnegative(),
  expiresAt: timestamp,
  revokedAt: timestamp.nullable(),
  createdAt: timestamp,
};

const joinToken = z.object(joinTokenFields).meta({ id: 'JoinToken' });
const newJoinToken = z
  .object({
    ...joinTokenFields,
    token: z.string().nullable().meta({ description: 'Shown this once. A replay answers null.' }),
  })
  .meta({ id: 'NewJoinToken' });

export const supplierMachineParams = z.object({ machineId: nodeId });

const accountOperations = {
  supplierApply: supplierOperation('POST /v2/supplier/application', {
    scope: 'organisation:write',
    summary: 'Apply to be a supplier',
    tags: ['account'],
    body: z
      .object({
        name: withoutBidiControls(z.string().trim().min(1).max(100)),
        about: withoutBidiControls(z.string().trim().max(2000)).default(''),
      })
      .meta({ id: 'SupplierApplication' }),
    response: { status: 201, schema: supplierAccount },
    idempotency: 'key',
  }),
  supplierGetAccount: supplierOperation('GET /v2/supplier/account', {
    scope: 'organisation:read',
    summary: 'How the application or account stands',
    tags: ['account'],
    response: { status: 200, schema: supplierAccount },
    notFoundReason: 'SUPPLIER_NOT_FOUND',
  }),
} as const;

const machineOperations = {
  supplierListMachines: supplierOperation('GET /v2/supplier/machines', {
    scope: 'supplier:read',
    summary: 'List own machines',
    tags: ['machines'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(supplierMachine) },
  }),
  supplierGetMachine: supplierOperation('GET /v2/supplier/machines/{machineId}', {
    scope: 'supplier:read',
    summary: 'Read a machine',
    tags: ['machines'],
    params: supplierMachineParams,
    response: { status: 200, schema: supplierMachine },
    notFoundReason: 'MACHINE_NOT_FOUND',
  }),
  supplierGetMachineHistory: supplierOperation('GET /v2/supplier/machines/{machineId}/history', {
    scope: 'supplier:read',
    summary: 'What became of a machine, and what went wrong on it',
    description: 'The newest 100, newest first.',
    tags: ['machines'],
    params: supplierMachineParams,
    response: {
      status: 200,
      schema: z.object({ items: z.array(machineHistoryEntry) }).meta({ id: 'MachineHistory' }),
    },
    notFoundReason: 'MACHINE_NOT_FOUND',
  }),
  supplierUpdateMachine: supplierOperation('PATCH /v2/supplier/machines/{machineId}', {
    scope: 'supplier:write',
    summary: 'Price, list or unlist a machine',
    description: 'What is rented keeps its frozen price.',
    tags: ['machines'],
    params: supplierMachineParams,
    body: z
      .object({ listed: z.boolean().optional(), pricePerGpuHourNanoUsd: positiveNanoUsd.optional() })
      .meta({ id: 'SupplierMachineUpdate' }),
    response: { status: 200, schema: supplierMachine },
    refuses: [409],
    notFoundReason: 'MACHINE_NOT_FOUND',
  }),
  supplierDrainMachine: supplierOperation('POST /v2/supplier/machines/{machineId}/drain', {
    scope: 'supplier:write',
    summary: 'Take no new rentals on a machine',
    tags: ['machines'],
    params: supplierMachineParams,
    response: { status: 200, schema: supplierMachine },
    idempotency: 'key',
    notFoundReason: 'MACHINE_NOT_FOUND',
  }),
  supplierResumeMachine: supplierOperation('POST /v2/supplier/machines/{machineId}/resume', {
    scope: 'supplier:write',
    summary: 'Put a machine back into use that was drained by its supplier',
    tags: ['machines'],
    params: supplierMachineParams,
    response: { status: 200, schema: supplierMachine },
    idempotency: 'key',
    notFoundReason: 'MACHINE_NOT_FOUND',
  }),
  supplierWithdrawMachine: supplierOperation('DELETE /v2/supplier/machines/{machineId}', {
    scope: 'supplier:write',
    summary: 'Withdraw an empty machine',
    tags: ['machines'],
    params: supplierMachineParams,
    response: noContent,
    refuses: [409],
    notFoundReason: 'MACHINE_NOT_FOUND',
  }),
  supplierListJoinTokens: supplierOperation('GET /v2/supplier/join-tokens', {
    scope: 'supplier:read',
    summary: 'List join tokens, never the tokens themselves',
    tags: ['machines'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(joinToken) },
  }),
  supplierCreateJoinToken: supplierOperation('POST /v2/supplier/join-tokens', {
    scope: 'supplier:write',
    summary: 'Make a token with which machines join',
    tags: ['machines'],
    body: z
      .object({
        description: withoutBidiControls(z.string().trim().max(255)).default(''),
        clusterName: z
          .string()
          .regex(
            /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
            'must be small letters, digits and inner hyphens, 63 at most',
          )
          .meta({ description: 'What the marketplace shows as the cluster of the machines that join.' }),
        region: z
          .string()
          .min(1)
          .max(64)
          .meta({ description: 'Where the machines are: one of the regions that the operator opened.' }),
        maxMachines: z.int().min(1).max(1000).default(1),
        ttlSeconds: z
          .int()
          .min(60)
          .max(7 * 24 * 3600)
          .default(3600),
      })
      .meta({ id: 'JoinTokenCreate' }),
    response: { status: 201, schema: newJoinToken },
    idempotency: 'key',
    redactForReplay: ['token'],
  }),
  supplierRevokeJoinToken: supplierOperation('DELETE /v2/supplier/join-tokens/{joinTokenId}', {
    scope: 'supplier:write',
    summary: 'Revoke a join token; machines that joined stay',
    tags: ['machines'],
    params: z.object({ joinTokenId }),
    response: noContent,
    notFoundReason: 'JOIN_TOKEN_NOT_FOUND',
  }),
} as const;

export const supplierOperations = {
  ...accountOperations,
  ...machineOperations,
  ...earningOperations,
} as const;
