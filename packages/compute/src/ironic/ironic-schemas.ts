import { z } from 'zod';

// Fields of Ironic's responses that the driver reads. Other fields are ignored; wrong types invalidate the response.

const text = z.string().nullish();
const number = z.number().nullish();
const jsonObject = z.record(z.string(), z.unknown());

export const nodeSchema = z.object({
  uuid: z.uuid(),
  name: text,
  provision_state: text,
  target_provision_state: text,
  power_state: text,
  target_power_state: text,
  maintenance: z.boolean().nullish(),
  maintenance_reason: text,
  last_error: text,
  /** If false, this node is not wiped when it is released, whatever Ironic's default; null: the default. */
  automated_clean: z.boolean().nullish(),
  /** The holder of its lock. */
  reservation: text,
  instance_uuid: text,
  resource_class: text,
  properties: jsonObject.nullish(),
  extra: jsonObject.nullish(),
  traits: z.array(z.string()).nullish(),
  inspection_finished_at: text,
});

export type IronicNode = z.output<typeof nodeSchema> & {
  /** No conductor is alive, so the data may be outdated. */
  readonly hasNoConductor?: boolean;
};

/** Requested by name: by default Ironic returns everything for a node, and very little for a list. */
export const nodeFields = Object.keys(nodeSchema.shape).join();

export const conductorsSchema = z.object({ conductors: z.array(z.object({ alive: z.boolean() })) });

export const nodePageSchema = z.object({ nodes: z.array(nodeSchema), next: text });

export const allocationSchema = z.object({
  uuid: z.uuid(),
  state: z.enum(['allocating', 'active', 'error']).catch('allocating'),
  node_uuid: text,
  last_error: text,
  extra: jsonObject.nullish(),
});

export type IronicAllocation = z.output<typeof allocationSchema>;

export const allocationFields = Object.keys(allocationSchema.shape).join();

export const allocationPageSchema = z.object({ allocations: z.array(allocationSchema), next: text });

/** Found by the agent or the BMC at the inspection of the node. */
export const inventorySchema = z.object({
  inventory: z
    .object({
      cpu: z.object({ count: number, model_name: text }).nullish(),
      memory: z.object({ physical_mb: number }).nullish(),
      disks: z.array(z.object({ size: number })).nullish(),
    })
    .nullish(),
  plugin_data: z
    .object({
      pci_devices: z
        .array(z.object({ vendor_id: text, product_id: text, class: text, bus: text, numa_node_id: number }))
        .nullish(),
    })
    .nullish(),
});

export type IronicInspection = z.output<typeof inventorySchema>;
