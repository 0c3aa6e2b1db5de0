import type { Column } from '../framework/output.ts';
import { perHourText, splitBy } from '@millrace/sdk/text';
import type { Instance, Machine } from './find.ts';

const mebibytesPerGb = 1_024;

export const freeGpus = ({
  gpus_total,
  gpus_reserved,
}: Pick<Machine, 'gpus_total' | 'gpus_reserved'>): number => gpus_total - gpus_reserved;

export const machineColumns: readonly Column<Machine>[] = [
  { name: 'node', value: ({ id }) => id },
  { name: 'gpu', value: ({ hardware }) => hardware.gpus[0]?.model },
  { name: 'vram', value: ({ hardware }) => gibibytes(hardware.gpus[0]?.ram), align: 'right' },
  { name: 'free', value: (machine) => `${freeGpus(machine)} of ${machine.gpus_total}`, align: 'right' },
  { name: 'price', value: ({ pricing }) => perHourText(pricing.price.amount), align: 'right' },
  { name: 'region', value: ({ location }) => location.region },
  { name: 'down', value: ({ network }) => speed(network.bandwidth_mbps_down), align: 'right' },
  { name: 'up', value: ({ network }) => speed(network.bandwidth_mbps_up), align: 'right' },
  { name: 'supplier', value: ({ supplier_id: supplier }) => supplier },
  { name: 'cluster', value: ({ cluster_name: cluster }) => cluster, extra: true },
  { name: 'cpus', value: ({ hardware }) => hardware.cpus[0]?.virtual_cores, align: 'right', extra: true },
  { name: 'ram', value: ({ hardware }) => gibibytes(hardware.ram[0]?.capacity), align: 'right', extra: true },
  {
    name: 'disk',
    value: ({ hardware }) => `${hardware.storage[0]?.capacity ?? 0} GB`,
    align: 'right',
    extra: true,
  },
  { name: 'status', value: ({ status }) => status, extra: true },
];

export const instanceColumns: readonly Column<Instance>[] = [
  { name: 'name', value: ({ id }) => id },
  { name: 'status', value: ({ instance }) => instance.status },
  {
    name: 'gpus',
    value: ({ instance }) => `${instance.gpu_count} × ${instance.hardware.gpus[0]?.model ?? 'GPU'}`,
  },
  { name: 'region', value: ({ instance }) => instance.location.region },
  {
    name: 'price',
    value: ({ instance }) => `${perHourText(instance.pricing.price.amount)} a GPU`,
    align: 'right',
  },
  { name: 'ssh', value: ({ sshCommand }) => sshCommand },
  {
    name: 'ports',
    value: ({ portMappings }) =>
      portMappings.map(({ protocol, domain, port }) => `${protocol}://${domain}:${port}`).join(', '),
  },
  { name: 'start', value: ({ start }) => start, extra: true },
  { name: 'node', value: ({ instance }) => instance.id, extra: true },
];

/** Whole GiB for people; `--json` has the exact number. */
function gibibytes(mebibytes: number | undefined): string {
  return mebibytes === undefined ? '' : `${splitBy(mebibytes, mebibytesPerGb)[0]} GiB`;
}

function speed(mbps: number | undefined): string {
  return mbps === undefined ? '' : `${Math.round(mbps)} Mb/s`;
}
