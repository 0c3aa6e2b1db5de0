import { z } from 'zod';
import { DriverError } from '../driver-error.ts';
import { defaultLayout, mockGpuModels, nodeOfSize, type MockLayout, type MockNode } from './layout.ts';

const byte = (text: string): boolean => Number(text) <= 255;

const mockSettings = z.looseObject({
  firstAddress: z
    .string()
    .regex(/^\d{1,3}(?:\.\d{1,3}){3}$/, 'must be an IPv4 address')
    .refine((text) => text.split('.').every(byte), 'must be an IPv4 address')
    .optional(),
  /** Replaces the default fleet. */
  nodes: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'must be a host name'),
        gpuModel: z.enum(mockGpuModels),
        gpuCount: z.int().min(1).max(16).default(8),
        fabric: z.string().min(1).max(63).nullable().default(null),
        /** A silent node never responds. */
        silent: z.boolean().default(false),
      }),
    )
    .min(1)
    .max(200)
    .optional(),
  /** Keeps the devices the same if the cluster gets another name. */
  seed: z.string().min(1).max(200).optional(),
  databaseUrl: z
    .string()
    .max(2_048)
    .regex(/^postgres(?:ql)?:\/\//, 'must be a postgres:// address')
    .optional(),
});

/**
 * The database for the machines of this engine; null: the installation's own. With a separate database a restore of the
 * installation's database does not affect the machines, as with a real engine.
 */
export function readMockDatabase(written: unknown): string | null {
  return mockSettings.safeParse(written).data?.databaseUrl ?? null;
}

/**
 * Reads the layout from the cluster's settings. Ports are opened on the addresses of the nodes, so installations on one host need
 * different addresses, and remote tenants need reachable ones.
 */
export function readMockLayout(given: unknown): MockLayout {
  const settings = mockSettings.safeParse(given);
  if (!settings.success) {
    const problems = settings.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw refusedSettings(problems.join('; '));
  }
  const { firstAddress, nodes: written, seed } = settings.data;
  const nodes = written?.map(({ name, gpuModel, gpuCount, fabric }): Omit<MockNode, 'address'> => ({
    name,
    gpuModel,
    ...nodeOfSize(gpuCount),
    fabric,
  }));
  const seeded = seed === undefined ? {} : { seed };
  if (firstAddress === undefined && nodes === undefined) return { ...defaultLayout, ...seeded };
  const { network, host } = splitAddress(firstAddress ?? defaultFirstAddress);
  const chosen = nodes ?? defaultLayout.nodes;
  if (host + chosen.length > 255) {
    throw refusedSettings(`firstAddress: must leave room for ${chosen.length} nodes before .255`);
  }
  return {
    ...defaultLayout,
    ...seeded,
    nodes: chosen.map((node, index) => ({ ...node, address: `${network}.${host + index}` })),
    silentNodes: (written ?? []).filter(({ silent }) => silent).map(({ name }) => name),
  };
}

const defaultFirstAddress = '127.0.80.1';

function refusedSettings(problems: string): DriverError {
  return new DriverError('refused', `The settings of the cluster are invalid: ${problems}.`);
}

function splitAddress(text: string): { readonly network: string; readonly host: number } {
  const cut = text.lastIndexOf('.');
  return { network: text.slice(0, cut), host: Number(text.slice(cut + 1)) };
}
