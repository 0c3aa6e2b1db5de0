import type { DemoOrganisation } from './organisations.ts';

/** The machines that tenants of the demo rent, by the day of the history on which they start. */

const ROOT = '/v2/on-demand';

export interface RentalPlan {
  readonly day: number;
  readonly hours: number;
  readonly tenant: 'demo' | 'nimbus' | 'fold' | 'kettle';
  readonly name: string;
  readonly gpuType: 'h100' | 'h200' | 'b200';
  readonly gpuCount: number;
  readonly region: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly metal?: boolean;
  readonly reserved?: boolean;
}

const use = 'us-east-1';
const usc = 'us-central-1';
const eun = 'eu-north-2';

/** Ended or still running: a rental without an end within the history runs on. */
export const rentalPlans: readonly RentalPlan[] = [
  { day: 4, hours: 30, tenant: 'demo', name: 'first-look', gpuType: 'h100', gpuCount: 1, region: usc },
  { day: 6, hours: 2_400, tenant: 'nimbus', name: 'serving-eu', gpuType: 'h200', gpuCount: 8, region: eun },
  {
    day: 8,
    hours: 72,
    tenant: 'demo',
    name: 'tokeniser-ablation',
    gpuType: 'h100',
    gpuCount: 2,
    region: usc,
    tags: { team: 'language' },
  },
  { day: 12, hours: 260, tenant: 'fold', name: 'protein-batch-1', gpuType: 'h100', gpuCount: 8, region: use },
  {
    day: 15,
    hours: 190,
    tenant: 'demo',
    name: 'pretrain-1b',
    gpuType: 'h100',
    gpuCount: 8,
    region: usc,
    tags: { team: 'language' },
  },
  { day: 20, hours: 48, tenant: 'kettle', name: 'render-week', gpuType: 'h100', gpuCount: 4, region: use },
  {
    day: 26,
    hours: 96,
    tenant: 'demo',
    name: 'reward-model',
    gpuType: 'h200',
    gpuCount: 4,
    region: eun,
    tags: { team: 'alignment' },
  },
  { day: 33, hours: 330, tenant: 'fold', name: 'protein-batch-2', gpuType: 'b200', gpuCount: 8, region: use },
  {
    day: 36,
    hours: 120,
    tenant: 'demo',
    name: 'pretrain-3b',
    gpuType: 'h100',
    gpuCount: 8,
    region: usc,
    tags: { team: 'language' },
  },
  {
    day: 44,
    hours: 1_900,
    tenant: 'demo',
    name: 'reserved-lab',
    gpuType: 'h100',
    gpuCount: 2,
    region: usc,
    reserved: true,
    tags: { team: 'platform' },
  },
  { day: 47, hours: 60, tenant: 'kettle', name: 'render-trailer', gpuType: 'h100', gpuCount: 8, region: usc },
  {
    day: 52,
    hours: 140,
    tenant: 'demo',
    name: 'vision-encoder',
    gpuType: 'h200',
    gpuCount: 8,
    region: usc,
    tags: { team: 'vision' },
  },
  { day: 58, hours: 1_600, tenant: 'nimbus', name: 'serving-us', gpuType: 'h200', gpuCount: 8, region: usc },
  {
    day: 63,
    hours: 160,
    tenant: 'demo',
    name: 'metal-scaling-run',
    gpuType: 'h100',
    // One node: machines of one rental are created concurrently, and two would get their host keys in any order.
    gpuCount: 8,
    region: usc,
    metal: true,
    tags: { team: 'language' },
  },
  {
    day: 69,
    hours: 75,
    tenant: 'demo',
    name: 'evals-nightly',
    gpuType: 'h100',
    gpuCount: 1,
    region: use,
    tags: { team: 'alignment' },
  },
  { day: 74, hours: 900, tenant: 'fold', name: 'protein-batch-3', gpuType: 'h100', gpuCount: 8, region: use },
  {
    day: 80,
    hours: 90,
    tenant: 'demo',
    name: 'distil-8b',
    gpuType: 'b200',
    gpuCount: 8,
    region: eun,
    tags: { team: 'language' },
  },
  {
    day: 85,
    hours: 900,
    tenant: 'demo',
    name: 'train-7b',
    gpuType: 'h100',
    gpuCount: 8,
    region: usc,
    tags: { team: 'language' },
  },
  {
    day: 87,
    hours: 900,
    tenant: 'demo',
    name: 'notebooks',
    gpuType: 'h100',
    gpuCount: 1,
    region: usc,
    tags: { team: 'platform' },
  },
  {
    day: 88,
    hours: 900,
    tenant: 'demo',
    name: 'evals-east',
    gpuType: 'h100',
    gpuCount: 2,
    region: use,
    tags: { team: 'alignment' },
  },
  {
    day: 89,
    hours: 900,
    tenant: 'kettle',
    name: 'render-feature',
    gpuType: 'b200',
    gpuCount: 4,
    region: use,
  },
  {
    day: 90,
    hours: 900,
    tenant: 'demo',
    name: 'vision-sweep',
    gpuType: 'h200',
    gpuCount: 4,
    region: eun,
    tags: { team: 'vision' },
  },
];

export async function rent({ call }: DemoOrganisation, plan: RentalPlan): Promise<number> {
  const { name, gpuType, gpuCount, region, tags = {}, metal = false, reserved = false } = plan;
  const request = {
    ...{ name, label: name, gpuType, gpuCount, region, tags },
    ...(reserved ? { termType: 'reserved', termPeriodDays: 90 } : {}),
  };
  const path = metal ? 'bare-metal-rentals' : 'virtual-machine-rentals';
  const body = metal ? { ...request, networkType: 'infiniband' } : { ...request, monitoringEnabled: true };
  const { id } = await call<{ id: number }>('POST', `${ROOT}/${path}`, body);
  return id;
}

export async function terminate({ call }: DemoOrganisation, id: number, metal: boolean): Promise<void> {
  const path = metal ? 'bare-metal-rentals' : 'virtual-machine-rentals';
  await call('POST', `${ROOT}/${path}/terminate`, { rentalId: id, reason: 'finished' });
}
