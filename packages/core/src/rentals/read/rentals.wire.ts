import type { ResponseBody, Contract, GpuType, Region } from '@millrace/contract';
import { toUuid } from '@millrace/platform/ids';
import { ppm, toNearestUsdNumber, toPercentage, zeroUsd } from '@millrace/platform/money';
import { defaultFormFactor } from '../../fleet/index.ts';
import { amountOf, rateOf } from '../../prices/index.ts';
import { sshAccessOf, gbOf, openPortsOf, providerDataOf, UNKNOWN_CPU } from './provider-data.ts';
import type { RentalRecord } from './rental-record.ts';
import { isReleasable, type RentalTerm } from '../model/rental.ts';
import { liveRatesOf } from '../money/live-rates.ts';
import { reservationEndsAt } from '../money/terms.ts';

/** Converts rentals to the API: the closed record of create, and the full record of other operations. */

type Operations = Contract['operations'];
export type WireRentalRecord = ResponseBody<Operations['createVirtualMachineRental']>;
export type WireRental = ResponseBody<Operations['getRental']>;
export type WireBareMetal = ResponseBody<Operations['listBareMetalRentals']>[number];
type WireTerm = WireRental['currentTerm'];

const timestampOrNull = (at: Date | null): string | null => at?.toISOString() ?? null;

function commonFields(record: RentalRecord) {
  const { rental } = record;
  return {
    id: rental.wireId,
    createdAt: rental.createdAt.toISOString(),
    updatedAt: timestampOrNull(rental.updatedAt),
    // Rows are never deleted.
    deletedAt: null,
    userId: rental.userId,
    orgId: rental.orgId,
    startedAt: timestampOrNull(rental.startedAt),
    terminatedAt: timestampOrNull(rental.endedAt),
    externalId: toUuid(rental.id),
    rentalId: rental.wireId,
    providerData: providerDataOf(record),
    rentalType: rentalTypeOf(record),
    name: rental.name,
    label: rental.label,
    // Orders accept only regions from the contract's list.
    region: rental.region as Region,
    convertToOnDemandOnExpiry: rental.convertOnExpiry,
    managedK8sClusterId: null,
    gpuType: rentalGpuOf(rental),
    gpuCount: rental.gpuCount,
    meta: wireMetaOf(record),
  };
}

function rentalTypeOf({ rental }: RentalRecord): WireRental['rentalType'] {
  if (rental.kind === 'instance') throw new Error('The marketplace must show instances.');
  return rental.kind;
}

/** Only the marketplace sells other GPU types. */
export function rentalGpuOf({ gpuType }: Pick<RentalRecord['rental'], 'gpuType'>): GpuType {
  if (gpuType === 'other') throw new Error('Only instances can have GPUs of type other.');
  return gpuType;
}

function wireMetaOf(record: RentalRecord): NonNullable<WireRental['meta']> {
  const { rental } = record;
  const { endReason, status } = rental;
  const contract = rental.privateCloud?.salesContractExternalId;
  const isLeaving = status === 'Terminating' || status === 'Terminated';
  return {
    monitoring_enabled: rental.monitoring,
    rental_type: rental.kind,
    ...(isLeaving && endReason !== null ? { termination_reason: endReason } : {}),
    ...(rental.kind === 'bare-metal' ? { attached_storage: storageOf(record) } : {}),
    ...(contract == null ? {} : { sales_contract_external_id: contract }),
  };
}

/** The interface has two fields for storage, with the same content. */
function storageOf({ attached }: RentalRecord): NonNullable<WireRental['attachedStorage']> {
  return attached.map(({ wireId, ratePerHour, sizeGb, label, vip, attachedRentalIds }) => ({
    id: wireId,
    cost_per_hour: toNearestUsdNumber(ratePerHour),
    size_in_gb: sizeGb,
    label,
    vip,
    attached_instance_ids: [...attachedRentalIds],
  }));
}

/** Only the fields of the interface. */
export function toWireRentalRecord(record: RentalRecord): WireRentalRecord {
  return commonFields(record);
}

/** Fields that the interface lists in addition to the record. */
function activeFields(record: RentalRecord, now: Date) {
  const { rental, machines, createdBy } = record;
  const canAttach = rental.kind === 'bare-metal' && rental.privateCloud === null;
  return {
    currentTerm: toWireTerm(record, now),
    gpuFormFactor: machines[0]?.gpuFormFactor ?? defaultFormFactor[rentalGpuOf(rental)],
    nodes: machines.map(({ cpuModel, gpuAddresses, ramMb, diskGb, cpuCount }) => ({
      cpuModel: cpuModel ?? UNKNOWN_CPU,
      gpuCount: gpuAddresses.length,
      ramGb: gbOf(ramMb),
      storageGb: diskGb,
      cpuCount,
    })),
    connectionType: rental.connectionType,
    createdBy: { id: createdBy.id, name: createdBy.name, email: createdBy.email, picture: createdBy.picture },
    supportsFeature: { attachedStorage: canAttach },
    ...(rental.kind === 'bare-metal' ? { attachedStorage: storageOf(record) } : {}),
    status: rental.status,
  };
}

/** Only the fields of the interface. */
export function toWireBareMetal(record: RentalRecord, now: Date): WireBareMetal {
  return { ...commonFields(record), ...activeFields(record, now), rentalType: 'bare-metal' };
}

export function toWireRental(record: RentalRecord, now: Date): WireRental {
  const { rental, machines } = record;
  return {
    ...commonFields(record),
    ...activeFields(record, now),
    statusReason: rental.statusReason,
    statusSince: rental.statusSince.toISOString(),
    power: rental.power,
    gpuHeld: rental.gpuHeld,
    releasedCostPerHourNanoUsd: releasedCostOf(record, now),
    billingPausedAt: timestampOrNull(rental.billingPausedAt),
    ssh: machines.flatMap((machine) => {
      const access = sshAccessOf(machine);
      if (access === null) return [];
      const { host, port, user, hostKey } = access;
      return { host, port, user, command: `ssh -p ${port} ${user}@${host}`, hostKeyFingerprint: hostKey };
    }),
    ports: machines.flatMap(openPortsOf),
    image: rental.image,
    tags: { ...rental.tags },
    expiresAt: timestampOrNull(rental.expiresAt),
    maxUsd: rental.maxNanoUsd === null ? null : toNearestUsdNumber(rental.maxNanoUsd),
    costSoFarNanoUsd: String(record.cost),
    ...liveCosts(record, now),
    steps: record.steps.map(({ name, status, startedAt, endedAt, message }) => ({
      name,
      status,
      startedAt: startedAt.toISOString(),
      endedAt: timestampOrNull(endedAt),
      message,
    })),
  };
}

type LiveCosts = Pick<WireRental, 'liveCostPerHourNanoUsd' | 'liveReleasedCostPerHourNanoUsd'>;

function liveCosts(record: RentalRecord, now: Date): LiveCosts {
  const { rental, livePrices } = record;
  const { termType, price } = currentTermOf(record, now);
  if (livePrices === null || termType === 'private-cloud') return {};
  const { gpu, disk } = liveRatesOf(rental, price, livePrices);
  const hasDiskPrice = disk !== null && releasedCostOf(record, now) !== null;
  return {
    ...(gpu !== null && { liveCostPerHourNanoUsd: String(gpu) }),
    ...(hasDiskPrice && { liveReleasedCostPerHourNanoUsd: String(disk) }),
  };
}

/** Hourly price of the disk alone; null if a release is rejected because it is impossible or would save nothing. */
function releasedCostOf(record: RentalRecord, now: Date): string | null {
  const { rental } = record;
  const isReserved = currentTermOf(record, now).termType === 'reserved';
  if (!isReleasable(rental) || (isReserved && rental.gpuHeld)) return null;
  return String(rental.diskPrice === null ? zeroUsd : rateOf(rental.diskPrice));
}

/** The last started term, or the first one before the readiness check has passed. */
function currentTermOf({ rental, terms }: RentalRecord, now: Date): RentalTerm {
  const started = terms.findLast(({ effectiveAt }) => effectiveAt !== null && effectiveAt <= now);
  const term = started ?? terms[0];
  if (term === undefined) throw new Error(`Rental ${rental.id} has no term.`);
  return term;
}

/** A term that has not started shows the creation time. */
function toWireTerm(record: RentalRecord, now: Date): WireTerm {
  const term = currentTermOf(record, now);
  const { price, termType } = term;
  const effectiveAt = (term.effectiveAt ?? record.rental.createdAt).toISOString();
  const costPerHour = toNearestUsdNumber(rateOf(price));
  if (termType !== 'reserved') {
    return {
      termType,
      effectiveAt,
      costPerHour,
      reservedUntil: null,
      reservationEndsAt: null,
      termPeriodDays: null,
      discountPercentage: null,
      originalCostPerHour: null,
    };
  }
  return {
    termType,
    effectiveAt,
    costPerHour,
    reservedUntil: timestampOrNull(term.endsAt),
    reservationEndsAt: timestampOrNull(reservationEndsAt(record.terms)),
    termPeriodDays: price.reserve?.termPeriodDays ?? 0,
    discountPercentage: toPercentage(ppm(price.discountPpm)),
    originalCostPerHour: toNearestUsdNumber(amountOf(price.originalNanoUsdPerHour)),
  };
}
