import { compare, teraflops } from './facets.ts';
import { freeGpus, gpuName, hardwareTexts, perHour, rentDisabledReason, type Machine } from './machine.ts';

/** Groups machines by GPU, and machines that differ only in their id and in how many GPUs are free. */

export interface MachineGroup {
  readonly id: string;
  readonly gpu: string;
  /** Of one GPU, in MiB; 0 if it is unknown. */
  readonly gpuRam: number;
  readonly machineCount: number;
  readonly gpusFree: number;
  readonly lowestPrice: bigint;
  readonly offers: readonly MachineOffer[];
}

export interface MachineOffer {
  readonly id: string;
  /** Most available GPUs first. */
  readonly machines: readonly [Machine, ...Machine[]];
  readonly gpusFree: number;
  readonly gpusTotal: number;
}

/** Keeps the order of the list, except for `value`: most computing power for the price first, unmeasured machines last. */
export function groupMachines(
  machines: readonly Machine[],
  sort: 'value' | 'listed' = 'listed',
): readonly MachineGroup[] {
  const ordered = sort === 'value' ? machines.toSorted(byValue) : machines;
  return [...Map.groupBy(ordered, gpuKey)].map(([id, members]) => groupOf(id, members));
}

function gpuKey(machine: Machine): string {
  return `${gpuName(machine)} ${String(machine.hardware.gpus[0]?.ram ?? 0)}`;
}

function groupOf(id: string, members: readonly Machine[]): MachineGroup {
  const offers = [...Map.groupBy(members, offerKey)].map(([key, same]) => offerOf(`${id} ${key}`, same));
  const free = members.filter((machine) => rentDisabledReason(machine) === null);
  const priced = free.length === 0 ? members : free;
  return {
    id,
    gpu: members[0] === undefined ? 'GPU' : gpuName(members[0]),
    gpuRam: members[0]?.hardware.gpus[0]?.ram ?? 0,
    machineCount: members.length,
    gpusFree: sumFree(members),
    lowestPrice: priced.map((machine) => perHour(machine, 1)).toSorted(compare)[0] ?? 0n,
    offers,
  };
}

/** Everything that a tenant compares; network speed is left out, because no two measurements are equal. */
function offerKey(machine: Machine): string {
  const { location, supplier_id: supplier, gpus_total: total, network, status } = machine;
  return JSON.stringify([
    location.region,
    supplier,
    total,
    machine.pricing.price.amount,
    network.interconnect,
    network.public_ip,
    status,
    hardwareTexts(machine),
  ]);
}

function offerOf(id: string, same: readonly Machine[]): MachineOffer {
  const machines = same.toSorted((one, other) => freeGpus(other) - freeGpus(one));
  return {
    id,
    machines: machines as [Machine, ...Machine[]],
    gpusFree: sumFree(machines),
    gpusTotal: machines.reduce((sum, { gpus_total: total }) => sum + total, 0),
  };
}

function sumFree(machines: readonly Machine[]): number {
  return machines.reduce(
    (sum, machine) => sum + (rentDisabledReason(machine) === null ? freeGpus(machine) : 0),
    0,
  );
}

/** Compares teraflops per price without dividing. */
function byValue(one: Machine, other: Machine): number {
  const [left, right] = [
    teraflops(one) * other.pricing.price.amount,
    teraflops(other) * one.pricing.price.amount,
  ];
  return right - left;
}
