import { z } from 'zod';

// Ironic's answers, as far as we read them. What is not here is ignored; what is here and of another shape is no answer.

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
  /** False: whatever Ironic is set to, this one is not wiped when it is given back. Null: as it is set to. */
  automated_clean: z.boolean().nullish(),
  /** Who has its lock. */
  reservation: text,
  instance_uuid: text,
  resource_class: text,
  properties: jsonObject.nullish(),
  extra: jsonObject.nullish(),
  traits: z.array(z.string()).nullish(),
  inspection_finished_at: text,
});

export type IronicNode = z.output<typeof nodeSchema> & {
  /** No conductor is alive: what is said of it was true once. */
  readonly hasNoConductor?: boolean;
};

/** Asked for by name: without them Ironic sends everything that it knows, and of a list next to nothing. */
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

/** What the agent, or the BMC, found when the node was inspected. */
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
