import type { Item } from '@millrace/sdk';
import { usdToNano, splitBy } from '@millrace/sdk/text';
import { diskText, memoryText } from '../../ui/logic/size-text.ts';

/** A machine of the marketplace list. Hardware models and sizes are those that the compute engine of its host (such as Incus) reported. */
export type Machine = Item<'listMarketplaceMachines'>;

export function freeGpus({ gpus_total: total, gpus_reserved: taken }: Machine): number {
  return Math.max(0, total - taken);
}

export function gpuName({ hardware }: Pick<Machine, 'hardware'>): string {
  return hardware.gpus[0]?.model ?? 'GPU';
}

/** Always unverified: GPUs are not verified yet, so the API has no field for it. */
export function gpuLabel(machine: Pick<Machine, 'hardware'>): string {
  return `${gpuName(machine)} (unverified)`;
}

export function memoryOfMebibytes(mebibytes: number): string {
  return memoryText(splitBy(mebibytes, 1_024)[0]);
}

export function hardwareTexts({ hardware }: Pick<Machine, 'hardware'>): readonly string[] {
  const [cpu] = hardware.cpus;
  const ram = hardware.ram.reduce((sum, { capacity }) => sum + capacity, 0);
  const disk = hardware.storage.reduce((sum, { capacity }) => sum + capacity, 0);
  return [
    ...(cpu === undefined ? [] : [`${cpu.model}, ${cpu.virtual_cores.toLocaleString()} threads`]),
    ...(ram === 0 ? [] : [`${memoryOfMebibytes(ram)} RAM`]),
    ...(disk === 0 ? [] : [`${diskText(disk)} disk`]),
  ];
}

export function networkTexts({ network }: Pick<Machine, 'network'>): readonly string[] {
  const { bandwidth_mbps_down: down, bandwidth_mbps_up: up, interconnect, public_ip: own } = network;
  return [
    ...(down === undefined ? [] : [`${Math.round(down).toLocaleString()} Mb/s down`]),
    ...(up === undefined ? [] : [`${Math.round(up).toLocaleString()} Mb/s up`]),
    ...(interconnect === undefined ? [] : [interconnect]),
    ...(own === true ? ['public IP address'] : []),
  ];
}

/** Short name of a supplier, whose full id is for copying. */
export function supplierName(supplierId: string): string {
  return supplierId === 'platform' ? 'the operator' : `supplier ${supplierId.slice(-6)}`;
}

export function perHour({ pricing }: Pick<Machine, 'pricing'>, gpus: number): bigint {
  return usdToNano(pricing.price.amount) * BigInt(gpus);
}

/** Why the machine cannot be rented now; null if it can. */
export function rentDisabledReason(machine: Machine): string | null {
  if (machine.status !== 'node_ready') {
    const state = machine.status.replace(/^node_/, '').replaceAll('_', ' ');
    return `The machine is ${state} and accepts no new instances until it is ready.`;
  }
  return freeGpus(machine) === 0 ? 'All GPUs of this machine are rented.' : null;
}
