import type { ResponseBody, Contract } from '@millrace/contract';
import { toPercentage } from '@millrace/platform/money';
import type { JoinToken } from './join-tokens.ts';
import type { Supplier } from './suppliers.ts';

type Operations = Contract['operations'];
type WireSupplier = ResponseBody<Operations['supplierGetAccount']>;
type WireToken = ResponseBody<Operations['supplierListJoinTokens']>['items'][number];

export function toWireSupplier(supplier: Supplier): WireSupplier {
  return {
    id: supplier.id,
    organisationId: supplier.orgId,
    name: supplier.name,
    about: supplier.about,
    status: supplier.status,
    statusReason: supplier.statusReason,
    feePercentage: toPercentage(supplier.feePpm),
    appliedAt: supplier.appliedAt.toISOString(),
    approvedAt: supplier.approvedAt?.toISOString() ?? null,
  };
}

export function toWireJoinToken(token: JoinToken): WireToken {
  return {
    id: token.id,
    description: token.description,
    clusterName: token.clusterName,
    region: token.region,
    maxMachines: token.maxMachines,
    usedMachines: token.usedMachines,
    expiresAt: token.expiresAt.toISOString(),
    revokedAt: token.revokedAt?.toISOString() ?? null,
    createdAt: token.createdAt.toISOString(),
  };
}
