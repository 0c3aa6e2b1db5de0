import { z } from 'zod';

// Fields of Incus's responses that the driver reads. Unknown fields are ignored, because releases add some. Read fields have
// limits, because an engine may be broken or hostile.

/** Of members, instances and projects. Incus accepts no others, and the database stores them. */
const name = z.string().regex(/^[!-~]{1,256}$/);
/** "none" for a standalone daemon, and empty in some rows. */
const location = z.string().regex(/^[!-~]{0,256}$/);
const bytes = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const texts = z.record(z.string(), z.string()).nullish();

export const responseSchema = z.object({
  type: z.enum(['sync', 'async', 'error']),
  operation: z.string().max(1_024).nullish(),
  error: z.string().nullish(),
  error_code: z.number().int().nullish(),
  metadata: z.unknown(),
});

/** Incus's status codes; those below 200 mean that the operation is in progress. */
export const operationSchema = z.object({
  status_code: z.number().int(),
  err: z.string().nullish(),
  description: z.string().nullish(),
  location: location.nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
  resources: z.record(z.string(), z.array(z.string()).nullish()).nullish(),
});
export type Operation = z.infer<typeof operationSchema>;

/** Grouped by state; only running operations matter. */
export const operationsSchema = z.object({ running: z.array(operationSchema).nullish() }).nullish();

export const serverSchema = z.object({
  auth: z.string(),
  environment: z.object({
    server: z.string().max(64),
    server_version: z.string().max(64),
    server_name: name,
    server_clustered: z.boolean(),
  }),
});
export type IncusServer = z.infer<typeof serverSchema>['environment'];

export const memberSchema = z.object({
  server_name: name,
  url: z.string().max(512),
  status: z.string().max(64),
  message: z.string().max(4_096),
  config: texts,
});
export type IncusMember = z.infer<typeof memberSchema>;
export const membersSchema = z.array(memberSchema).max(10_000);

const addressSchema = z.object({ address: z.string().regex(/^[0-9A-Za-z.:%_-]{1,64}$/), scope: z.string() });
const counter = z.number().nullish();
export const stateSchema = z.object({
  status_code: z.number().int(),
  cpu: z.object({ usage: counter }).nullish(),
  memory: z.object({ usage: counter }).nullish(),
  disk: z.record(z.string(), z.object({ usage: counter })).nullish(),
  network: z
    .record(
      z.string(),
      z.object({
        type: z.string(),
        addresses: z.array(addressSchema).nullish(),
        counters: z.object({ bytes_received: counter, bytes_sent: counter }).nullish(),
      }),
    )
    .nullish(),
});
export type IncusState = z.infer<typeof stateSchema>;

const devicesSchema = z.record(z.string(), z.record(z.string(), z.string())).nullish();

export const instanceSchema = z.object({
  name,
  project: name,
  location: location.nullish(),
  status: z.string().max(64),
  status_code: z.number().int(),
  created_at: z.string().max(64).nullish(),
  last_used_at: z.string().max(64).nullish(),
  architecture: z.string().max(64).nullish(),
  description: z.string().nullish(),
  ephemeral: z.boolean().nullish(),
  profiles: z.array(z.string()).nullish(),
  config: texts,
  devices: devicesSchema,
  state: stateSchema.nullish(),
});
export type IncusInstance = z.infer<typeof instanceSchema>;
export type IncusDevices = Readonly<Record<string, Readonly<Record<string, string>>>>;

export const instancesSchema = z.array(z.unknown()).max(1_000_000);
export const instancesOfHostSchema = z.array(z.unknown()).max(1_000);

export const projectSchema = z.object({ config: texts });
export const volumeSchema = z.object({ config: texts });
export const configSchema = z.object({ config: texts, properties: texts });
export const networkSchema = z.object({
  managed: z.boolean(),
  type: z.string().max(64).nullish(),
  status: z.string().max(64).nullish(),
  config: texts,
});
export type IncusNetwork = z.infer<typeof networkSchema>;
export const aliasSchema = z.object({ target: z.string().regex(/^[0-9a-f]{64}$/) });
export const imageVolumeSchema = z.object({ created_at: z.string().min(1).max(64) });

const gpuCardSchema = z.object({
  pci_address: z.string().max(64).nullish(),
  vendor_id: z.string().max(16).nullish(),
  vendor: z.string().max(256).nullish(),
  product: z.string().max(256).nullish(),
  product_id: z.string().max(16).nullish(),
  numa_node: z.number().int().nullish(),
  driver_version: z.string().max(64).nullish(),
  nvidia: z
    .object({
      cuda_version: z.string().max(64).nullish(),
      nvrm_version: z.string().max(64).nullish(),
      model: z.string().max(256).nullish(),
      uuid: z.string().max(128).nullish(),
    })
    .nullish(),
});
export type IncusGpuCard = z.infer<typeof gpuCardSchema>;

export const resourcesSchema = z.object({
  cpu: z.object({
    total: z.number().int().min(1).max(65_536),
    sockets: z.array(z.object({ name: z.string().max(256).nullish() })).nullish(),
  }),
  memory: z.object({ total: bytes }),
  gpu: z.object({ cards: z.array(gpuCardSchema).max(1_024).nullish() }).nullish(),
});
export type IncusResources = z.infer<typeof resourcesSchema>;

export const poolResourcesSchema = z.object({ space: z.object({ total: bytes }) });

export const metadataSchema = z.object({
  templates: z.record(z.string(), z.object({ template: z.string().max(256) })).nullish(),
});

export const eventSchema = z.object({
  type: z.string(),
  location: location.nullish(),
  metadata: z.object({
    action: z.string().max(256),
    source: z.string().max(2_048).nullish(),
    name: z.string().max(256).nullish(),
    project: z.string().max(256).nullish(),
  }),
});

const secret = z.string().regex(/^[0-9a-zA-Z_-]{1,256}$/);
export const execSchema = z.object({
  metadata: z.object({ fds: z.object({ 0: secret, 1: secret, 2: secret, control: secret }) }),
});
