import { z } from 'zod';
import { nanoUsd } from '../operation-builders.ts';
import { time } from './vocabulary.ts';

/** Marketplace records. They are snake_case, as in v1 of docs/interface.md. */

export const hardware = z
  .strictObject({
    cpus: z.array(
      z.strictObject({
        hardware_type: z.literal('cpu'),
        model: z.string(),
        cores: z.number(),
        virtual_cores: z.number(),
      }),
    ),
    gpus: z.array(
      z.strictObject({
        hardware_type: z.literal('gpu'),
        model: z.string().meta({
          description:
            'As the engine of the host reports it: unverified, because no computation has tested it.',
        }),
        clock_speed: z.number().meta({ description: 'MHz; 0 if it was not measured.' }),
        compute_power: z.number().meta({ description: 'TFLOPS; 0 if it was not measured.' }),
        ram: z.number().meta({ description: 'MiB.' }),
        interface: z.string(),
      }),
    ),
    storage: z.array(
      z.strictObject({
        hardware_type: z.literal('storage'),
        capacity: z.number().meta({ description: 'GB.' }),
      }),
    ),
    ram: z.array(
      z.strictObject({
        hardware_type: z.literal('ram'),
        capacity: z.number().meta({ description: 'MiB.' }),
      }),
    ),
  })
  .meta({ id: 'MachineHardware' });

/** The text promises an object; these are its keys, and more may be added. */
const network = z
  .looseObject({
    public_ip: z.boolean().optional(),
    bandwidth_mbps_down: z.number().optional(),
    bandwidth_mbps_up: z.number().optional(),
    interconnect: z.string().optional(),
    ports_available: z.number().optional(),
  })
  .meta({ id: 'MachineNetwork' });

export const marketplacePrice = z
  .strictObject({
    amount: z.number().meta({ description: 'USD per hour, for one GPU.' }),
    period: z.string(),
    agent: z.string(),
  })
  .meta({ id: 'MarketplacePrice' });

const machineFields = {
  id: z.string().meta({ description: 'The node; `node_name` on instance creation.' }),
  status: z.string(),
  hardware,
  instances: z.array(
    z.strictObject({
      id: z.string(),
      status: z.string(),
      hardware: z.array(
        z.strictObject({
          gpu: z.strictObject({ hardware_type: z.literal('gpu'), model: z.string(), ram: z.number() }),
        }),
      ),
    }),
  ),
  location: z.strictObject({ region: z.string() }),
  network,
  gpus_total: z.number(),
  gpus_reserved: z.number().meta({ description: 'In use.' }),
  has_persistent_storage: z.boolean(),
  supplier_id: z.string(),
  pricing: z.strictObject({ price: marketplacePrice }),
  reserved: z.boolean().meta({ description: 'All of its GPUs are in use.' }),
  cluster_name: z.string(),
};

export const marketplaceMachine = z.strictObject(machineFields).meta({ id: 'MarketplaceMachine' });

export const marketplaceInstance = z
  .strictObject({
    id: z.string(),
    start: time.nullable(),
    end: time.nullable(),
    created: time,
    sshCommand: z.string().nullable(),
    portMappings: z.array(
      z.strictObject({ domain: z.string(), protocol: z.string(), port: z.int().min(1).max(65535) }),
    ),
    instance: z.strictObject({ ...machineFields, gpu_count: z.number(), owner: z.string() }),
  })
  .meta({ id: 'MarketplaceInstance' });

export const marketplaceHistoryEntry = z
  .strictObject({
    instance_name: z.string(),
    started_at: time.nullable(),
    terminated_at: time.nullable(),
    price: marketplacePrice,
    hardware,
    gpu_count: z.number(),
    cost_nano_usd: nanoUsd,
  })
  .meta({ id: 'MarketplaceHistoryEntry' });

/** The filters of a listing: short keys and field names. `X-Ignored-Filters` names other keys. */
export const marketplaceFilterFields = {
  gpu_model: 'string',
  min_gpus_available: 'number',
  max_price: 'number',
  region: 'string',
  available: 'boolean',
  id: 'string',
  status: 'string',
  cluster_name: 'string',
  supplier_id: 'string',
  has_persistent_storage: 'boolean',
  reserved: 'boolean',
  gpus_total: 'number',
  gpus_reserved: 'number',
  'location.region': 'string',
  'pricing.price.amount': 'number',
  'pricing.price.period': 'string',
  'pricing.price.agent': 'string',
  'instances.id': 'string',
  'instances.status': 'string',
  'instances.hardware.gpu.model': 'string',
  'instances.hardware.gpu.ram': 'number',
  'hardware.gpus.model': 'string',
  'hardware.gpus.ram': 'number',
  'hardware.gpus.clock_speed': 'number',
  'hardware.gpus.compute_power': 'number',
  'hardware.gpus.interface': 'string',
  'hardware.cpus.model': 'string',
  'hardware.cpus.cores': 'number',
  'hardware.cpus.virtual_cores': 'number',
  'hardware.ram.capacity': 'number',
  'hardware.storage.capacity': 'number',
  'network.public_ip': 'boolean',
  'network.bandwidth_mbps_down': 'number',
  'network.bandwidth_mbps_up': 'number',
  'network.interconnect': 'string',
  'network.ports_available': 'number',
} as const satisfies Record<string, 'string' | 'number' | 'boolean'>;

export type MarketplaceFilterField = keyof typeof marketplaceFilterFields;

/** A plain value means `eq`. In the operator form, all conditions must be true. */
function filterOn<Value extends z.ZodType>(value: Value) {
  const list = z.array(value).max(1000);
  const conditions = z.strictObject({
    eq: value.optional(),
    neq: value.optional(),
    gt: value.optional(),
    gte: value.optional(),
    lt: value.optional(),
    lte: value.optional(),
    in: list.optional(),
    notin: list.optional(),
  });
  return z.union([value, conditions]).optional();
}

const filterSchemas = {
  string: filterOn(z.string().max(1_000)),
  number: filterOn(z.number()),
  boolean: filterOn(z.boolean()),
};

type FilterShape = {
  [Field in MarketplaceFilterField]: (typeof filterSchemas)[(typeof marketplaceFilterFields)[Field]];
};

const filterFields = Object.keys(marketplaceFilterFields) as readonly MarketplaceFilterField[];

const filterShape = Object.fromEntries(
  filterFields.map((field) => [field, filterSchemas[marketplaceFilterFields[field]]]),
) as FilterShape;

/** Loose, so that the handler can report ignored keys. */
export const marketplaceFilters = z.looseObject(filterShape).meta({ id: 'MarketplaceFilters' });

export const marketplaceSort = z
  .array(z.object({ field: z.enum(filterFields), dir: z.enum(['asc', 'desc']).default('asc') }))
  .max(10);

/** A balance in the format of v1: credits are whole cents. */
export const currentBalance = z
  .strictObject({
    credits: z.int(),
    currency: z.literal('usd'),
    balance_usd: z.number(),
    balance_nano_usd: nanoUsd,
    held_nano_usd: nanoUsd,
  })
  .meta({ id: 'CurrentBalance' });
