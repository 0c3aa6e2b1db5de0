import type { networkType, rentalType } from '@millrace/contract';
import type { EntitlementId, OrgId, PriceId, ReserveOptionId } from '@millrace/platform/ids';
import type { NanoUsd, Ppm } from '@millrace/platform/money';
import type { z } from 'zod';

/** The words of this feature as values. Stores turn rows into these, routes turn these into answers. */

export type MachineType = z.infer<typeof rentalType>;
export type NetworkType = z.infer<typeof networkType>;

export interface GpuSubject {
  readonly kind: 'gpu';
  readonly gpuType: string;
  readonly machineType: MachineType;
  /** Null, here and below: wherever nothing more specific is priced. */
  readonly region: string | null;
  readonly networkType: NetworkType | null;
}

/** `disk` is the local disk of a rental that was stopped and gave its GPUs back. */
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

/** What a price is for. */
export type PriceSubject = GpuSubject | StorageSubject | ModelSubject;

export type PriceUnit = 'gpu_hour' | 'gb_hour' | 'token' | 'million_tokens' | 'image' | 'character';

/** One version of a price. It never changes; at most it gets an end. */
export interface Price {
  readonly id: PriceId;
  /** Whose contract it is from; null is a list price. */
  readonly orgId: OrgId | null;
  readonly subject: PriceSubject;
  readonly unit: PriceUnit;
  /** For one unit. */
  readonly price: NanoUsd;
  readonly validFrom: Date;
  /** Not counted from this instant on. */
  readonly validUntil: Date | null;
  readonly createdAt: Date;
}

/** A term that can be reserved. The newest for the same machine, GPU, region and term is the one on offer. */
export interface ReserveOption {
  readonly id: ReserveOptionId;
  readonly machineType: MachineType;
  readonly gpuType: string;
  readonly region: string | null;
  readonly termPeriodDays: number;
  readonly discount: Ppm;
  /** What is given back of the rest of the term when it is ended early. */
  readonly refund: Ppm;
  readonly createdAt: Date;
}

/** A discount that an organisation may claim. */
export interface Entitlement {
  readonly id: EntitlementId;
  readonly orgId: OrgId;
  readonly maxDiscount: Ppm;
  /** Null: on every GPU type. */
  readonly gpuType: string | null;
  readonly contractReference: string | null;
  readonly validFrom: Date;
  readonly validUntil: Date | null;
  readonly revokedAt: Date | null;
  readonly createdAt: Date;
}

/** A million dollars for one unit, a dollar for one token: nothing costs that, so it is a slip of the keyboard. */
export function highestPriceFor(unit: PriceUnit): bigint {
  return unit === 'token' ? 1_000_000_000n : 1_000_000_000_000_000n;
}

/** Which units a price for this may be in. */
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
