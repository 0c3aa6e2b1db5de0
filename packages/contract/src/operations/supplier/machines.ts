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

/** Supplier operations: the supplier account, its machines and join tokens. */

export const supplierId = prefixedId('sup', 'a supplier');
const joinTokenId = prefixedId('jtk', 'a join token');

export const supplierAccount = z
  .object({
    id: supplierId,
    organisationId,
    name: z.string(),
    about: z.string(),
    status: z.enum(['applied', 'approved', 'rejected', 'suspended']).meta({
      description:
        'Machines of a suspended supplier are not listed or rented anymore; existing rentals continue.',
    }),
    statusReason: z.string().nullable().meta({ description: 'The reason that the operator gave.' }),
    feePercentage: z.number().min(0).max(100).meta({ description: 'The operator’s share of each charge.' }),
    appliedAt: timestamp,
    approvedAt: timestamp.nullable(),
  })
  .meta({ id: 'Supplier' });

const share = z.number().min(0).max(1);
const eventCount = z.int().nonnegative();

/** The reliability of a machine, from measurements over the last 30 days. */
const reliability = z
  .object({
    score: share.meta({ description: 'Uptime and starts combined: 1 is a machine that never failed.' }),
    uptime: share.meta({ description: 'The share of the observed time in which it was reachable.' }),
    starting: share.meta({ description: 'The probability that an instance starts on it and keeps running.' }),
    watchedSeconds: eventCount.meta({
      description: 'The observed time. A machine with little observed time is assumed to have 0.9.',
    }),
    starts: eventCount.meta({ description: 'Instances that started on it.' }),
    failedStarts: eventCount.meta({ description: 'Instances that failed to start because of the machine.' }),
    losses: eventCount.meta({ description: 'Instances that were lost while running.' }),
    quarantines: eventCount.meta({
      description: 'How often it was taken out of sale because of its faults.',
    }),
    measuredUntil: timestamp,
  })
  .meta({ id: 'MachineReliability' });

const machineHistoryEntry = z
  .object({
    at: timestamp,
    kind: z.enum(['state', 'failed_start', 'loss']),
    status: nodeStatus.nullable().meta({ description: 'For a transition: the new status.' }),
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
    statusReason: z.string().nullable().meta({ description: 'Why it is not ready; null if it is ready.' }),
    approval: z.enum(['pending', 'approved', 'rejected']),
    approvalReason: z.string().nullable().meta({ description: 'The reason that the operator gave.' }),
    listed: z.boolean().meta({ description: 'Offered by its supplier.' }),
    shown: z.boolean().meta({ description: 'For rent on the marketplace now.' }),
    notShownBecause: z.string().nullable().meta({ description: 'Why it is not for rent; null if it is.' }),
    pricePerGpuHourNanoUsd: nanoUsd.nullable(),
    gpus: z.array(nodeGpu.omit({ allocatedTo: true })),
    gpusRented: z.int().nonnegative(),
    drainedAt: timestamp
      .nullable()
      .meta({ description: 'When its supplier drained it; null if it is not drained.' }),
    joinedAt: timestamp,
    lastSeenAt: timestamp.nullable(),
    reliability: reliability.nullable().meta({ description: 'Null before the first measurement.' }),
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
    token: z.string().nullable().meta({ description: 'Shown only once. A replay returns null.' }),
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
    summary: 'Read the status of the application or account',
    tags: ['account'],
    response: { status: 200, schema: supplierAccount },
    notFoundReason: 'SUPPLIER_NOT_FOUND',
  }),
} as const;

const machineOperations = {
  supplierListMachines: supplierOperation('GET /v2/supplier/machines', {
    scope: 'supplier:read',
    summary: 'List your machines',
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
    summary: 'List the transitions and faults of a machine',
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
    description: 'Existing rentals keep their frozen price.',
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
    summary: 'Drain a machine: it accepts no new rentals',
    tags: ['machines'],
    params: supplierMachineParams,
    response: { status: 200, schema: supplierMachine },
    idempotency: 'key',
    notFoundReason: 'MACHINE_NOT_FOUND',
  }),
  supplierResumeMachine: supplierOperation('POST /v2/supplier/machines/{machineId}/resume', {
    scope: 'supplier:write',
    summary: 'Return a machine to service that its supplier drained',
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
    summary: 'List join tokens, without their secrets',
    tags: ['machines'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(joinToken) },
  }),
  supplierCreateJoinToken: supplierOperation('POST /v2/supplier/join-tokens', {
    scope: 'supplier:write',
    summary: 'Create a join token for machines',
    tags: ['machines'],
    body: z
      .object({
        description: withoutBidiControls(z.string().trim().max(255)).default(''),
        clusterName: z
          .string()
          .regex(
            /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
            'must be at most 63 lower-case letters, digits and inner hyphens',
          )
          .meta({
            description:
              'The cluster name that the marketplace shows for machines that join with this token.',
          }),
        region: z
          .string()
          .min(1)
          .max(64)
          .meta({ description: 'The region of the machines: one that the operator has opened.' }),
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
    summary: 'Revoke a join token; machines that joined with it stay',
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
