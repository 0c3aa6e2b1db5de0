import { z } from 'zod';
import { DriverError } from '../driver-error.ts';
import { defaultLayout, type MockLayout } from './layout.ts';

const byte = (text: string): boolean => Number(text) <= 255;

const mockSettings = z.looseObject({
  firstAddress: z
    .string()
    .regex(/^\d{1,3}(?:\.\d{1,3}){3}$/, 'must be an IPv4 address')
    .refine((text) => text.split('.').every(byte), 'must be an IPv4 address')
    .refine(
      (text) => hasEnoughAddresses(text),
      `must leave room for ${defaultLayout.nodes.length} nodes before .255`,
    )
    .optional(),
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
export function readMockLayout(written: unknown): MockLayout {
  const settings = mockSettings.safeParse(written);
  if (!settings.success) {
    const problems = settings.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new DriverError('refused', `The settings of the cluster are invalid: ${problems.join('; ')}.`);
  }
  const { firstAddress } = settings.data;
  if (firstAddress === undefined) return defaultLayout;
  const { network, host } = splitAddress(firstAddress);
  return {
    ...defaultLayout,
    nodes: defaultLayout.nodes.map((node, index) => ({ ...node, address: `${network}.${host + index}` })),
  };
}

function splitAddress(text: string): { readonly network: string; readonly host: number } {
  const cut = text.lastIndexOf('.');
  return { network: text.slice(0, cut), host: Number(text.slice(cut + 1)) };
}

function hasEnoughAddresses(text: string): boolean {
  return splitAddress(text).host + defaultLayout.nodes.length <= 255;
}
