import type { networkType, rentalType } from '@millrace/contract';
import type { EntitlementId, OrgId, PriceId, ReserveOptionId } from '@millrace/platform/ids';
import type { NanoUsd, Ppm } from '@millrace/platform/money';
import type { z } from 'zod';

/** Domain types of prices, reserve options and entitlements. */

export type MachineType = z.infer<typeof rentalType>;
export type NetworkType = z.infer<typeof networkType>;

export interface GpuSubject {
  readonly kind: 'gpu';
  readonly gpuType: string;
  readonly machineType: MachineType;
  /** Null, here and below: applies if no more specific price is set. */
  readonly region: string | null;
  readonly networkType: NetworkType | null;
}

/** `disk` is the local disk of a released rental. */
export interface StorageSubject {
  readonly kind: 'volume' | 'disk';
  readonly region: string | null;
}

export type ModelUnit = 'prompt_token' | 'cached_prompt_token' | 'completion_token' | 'image' | 'character';

export interface ModelSubject {
  readonly kind: 'model';
  readonly model: string;
  readonly unit: ModelUnit;
}

export type PriceSubject = GpuSubject | StorageSubject | ModelSubject;

export type PriceUnit = 'gpu_hour' | 'gb_hour' | 'token' | 'million_tokens' | 'image' | 'character';

/** One version of a price. It is immutable, except for its end. */
export interface Price {
  readonly id: PriceId;
  /** The organisation of a contract price; null for a list price. */
  readonly orgId: OrgId | null;
  readonly subject: PriceSubject;
  readonly unit: PriceUnit;
  readonly price: NanoUsd;
  readonly validFrom: Date;
  /** Exclusive end. */
  readonly validUntil: Date | null;
  readonly createdAt: Date;
}

/** A term that can be reserved. The newest per machine, GPU, region and term is on offer. */
export interface ReserveOption {
  readonly id: ReserveOptionId;
  readonly machineType: MachineType;
  readonly gpuType: string;
  readonly region: string | null;
  readonly termPeriodDays: number;
  readonly discount: Ppm;
  /** The refunded share of the remaining term at an early end. */
  readonly refund: Ppm;
  readonly createdAt: Date;
}

export interface Entitlement {
  readonly id: EntitlementId;
  readonly orgId: OrgId;
  readonly maxDiscount: Ppm;
  /** Null: all GPU types. */
  readonly gpuType: string | null;
  readonly contractReference: string | null;
  readonly validFrom: Date;
  readonly validUntil: Date | null;
  readonly revokedAt: Date | null;
  readonly createdAt: Date;
}

/** A million dollars per unit or a dollar per token: a higher price is a typing error. */
export function highestPriceFor(unit: PriceUnit): bigint {
  return unit === 'token' ? 1_000_000_000n : 1_000_000_000_000_000n;
}

export function unitsFor(subject: PriceSubject): readonly PriceUnit[] {
  switch (subject.kind) {
    case 'gpu':
      return ['gpu_hour'];
    case 'volume':
    case 'disk':
      return ['gb_hour'];
    case 'model':
      return subject.unit === 'image' || subject.unit === 'character'
        ? [subject.unit]
        : ['token', 'million_tokens'];
  }
}
