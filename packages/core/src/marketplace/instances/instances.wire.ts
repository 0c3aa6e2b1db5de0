import type { ResponseBody, Contract } from '@millrace/contract';
import { timesUsd, toNearestUsdNumber, type NanoUsd } from '@millrace/platform/money';
import { gpuVerification } from '../../fleet/index.ts';
import { rateOf } from '../../prices/index.ts';
import { sshAccessOf, openPortsOf, type RentalRecord } from '../../rentals/index.ts';
import { toPortMappings, sshCommandOf } from '../hostnames/hostnames.ts';
import type { EndedInstance, InstanceWithRental } from './instances.service.ts';
import type { Instance } from './instances.ts';
import { instanceStateOf } from '../listing/instance-state.ts';

/** Converts instances to responses. Pure. */

type Operations = Contract['operations'];
type WireInstance = ResponseBody<Operations['listMarketplaceInstances']>['instances'][number];
type WireDetail = ResponseBody<Operations['getMarketplaceInstance']>;
type WireEnded = ResponseBody<Operations['listMarketplaceInstanceHistory']>['instance_history'][number];

/** `domain` is the suffix of hostnames; null if the operator offers none. */
export function toWireInstance(
  { instance, record }: InstanceWithRental,
  domain: string | null,
): WireInstance {
  const { rental, machines } = record;
  const [machine] = machines;
  const status = instanceStateOf({ status: rental.status, machines });
  return {
    id: instance.name,
    start: rental.startedAt?.toISOString() ?? null,
    end: rental.endedAt?.toISOString() ?? null,
    created: rental.createdAt.toISOString(),
    sshCommand: machine === undefined ? null : sshCommandOf(sshAccessOf(machine)),
    // Instances of test keys get no hostnames.
    portMappings: mappingsOf(instance, machine, instance.mode === 'live' ? domain : null),
    instance: {
      ...instance.machine,
      status,
      instances: [{ id: instance.name, status, hardware: hardwareOf(instance, rental.gpuCount) }],
      gpu_count: rental.gpuCount,
      owner: instance.orgId,
    },
  };
}

/** Also for ended instances. */
export function toWireDetail(shown: InstanceWithRental, domain: string | null): WireDetail {
  const { instance, record } = shown;
  const { rental } = record;
  const { sshCommand, portMappings, start, end, created } = toWireInstance(shown, domain);
  const { machine } = instance;
  return {
    name: instance.name,
    number: rental.wireId,
    status: instanceStateOf({ status: rental.status, machines: record.machines }),
    statusReason: rental.statusReason,
    statusSince: rental.statusSince.toISOString(),
    createdAt: created,
    startedAt: start,
    endedAt: end,
    nodeName: instance.nodeId,
    clusterName: instance.clusterName,
    region: machine.location.region,
    supplierId: machine.supplier_id,
    gpuModel: machine.hardware.gpus[0]?.model ?? 'GPU',
    gpuVerification,
    gpuCount: rental.gpuCount,
    costPerHourNanoUsd: String(hourlyRateOf(record)),
    ...liveCostPerHour(instance, rental.gpuCount),
    costSoFarNanoUsd: String(record.cost),
    billingPausedAt: rental.billingPausedAt?.toISOString() ?? null,
    sshCommand,
    ports: portMappings,
    image: rental.image,
    tags: { ...rental.tags },
    expiresAt: rental.expiresAt?.toISOString() ?? null,
    maxUsd: rental.maxNanoUsd === null ? null : toNearestUsdNumber(rental.maxNanoUsd),
    steps: record.steps.map(({ name, status, startedAt, endedAt, message }) => ({
      name,
      status,
      startedAt: startedAt.toISOString(),
      endedAt: endedAt?.toISOString() ?? null,
      message,
    })),
  };
}

/** Test mode is free, and the listed price is the price of live mode. */
function liveCostPerHour(
  { mode, pricePerGpuHour }: Instance,
  gpuCount: number,
): Pick<WireDetail, 'liveCostPerHourNanoUsd'> {
  if (mode === 'live') return {};
  return { liveCostPerHourNanoUsd: String(timesUsd(pricePerGpuHour, BigInt(gpuCount))) };
}

/** The metered rate. In test mode it differs from the listed price, because test mode is free. */
function hourlyRateOf({ rental, terms: [term] }: RentalRecord): NanoUsd {
  if (term === undefined) throw new Error(`Rental ${rental.id} has no term.`);
  return rateOf(term.price);
}

function mappingsOf(
  { name }: Instance,
  machine: RentalRecord['machines'][number] | undefined,
  domain: string | null,
): WireInstance['portMappings'] {
  const [first, ...rest] = machine === undefined ? [] : openPortsOf(machine);
  if (first === undefined) return [];
  return toPortMappings({ instanceName: name, host: first.host, ports: [first, ...rest] }, domain);
}

/** All GPUs of a machine are alike, so any of them represent the instance's. */
function hardwareOf(
  { machine }: Instance,
  gpuCount: number,
): WireInstance['instance']['instances'][0]['hardware'] {
  return machine.hardware.gpus
    .slice(0, gpuCount)
    .map(({ hardware_type, model, ram }) => ({ gpu: { hardware_type, model, ram } }));
}

export function toWireEnded({ instance, ...entry }: EndedInstance): WireEnded {
  return {
    instance_name: instance.name,
    started_at: entry.startedAt?.toISOString() ?? null,
    terminated_at: entry.endedAt.toISOString(),
    price: instance.machine.pricing.price,
    hardware: instance.machine.hardware,
    gpu_count: entry.gpuCount,
    cost_nano_usd: String(entry.finalCost),
  };
}
