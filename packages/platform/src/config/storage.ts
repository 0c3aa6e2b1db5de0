import { isIPv4 } from 'node:net';
import { volumeRegions } from '@millrace/contract';
import { z } from 'zod';
import { demoVariable } from './demo.ts';
import { fragment } from './fragment.ts';
import type { ConfigProblem } from './fragment.ts';
import { values } from './values.ts';

/** The storage nodes of an installation, which store the volumes. */

const nodeShape = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'must be 1 to 63 lowercase letters, digits and hyphens'),
  region: z.enum(volumeRegions),
  kind: z.enum(['nfs', 'mock']).default('nfs'),
  /** The address of the storage agent. */
  endpoint: z.string().min(1).max(2048).default('mock:'),
  credential: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/, 'must be a plain name')
    .nullable()
    .default(null),
  /** The addresses of its volumes, one per volume. */
  vips: z.string().transform((text, context) => {
    const range = rangeOf(text);
    if (range !== null) return range;
    context.addIssue({ code: 'custom', message: 'must be two IPv4 addresses, the first not after the last' });
    return z.NEVER;
  }),
  /** The capacity that may be sold. */
  capacityGb: z.int().min(1).max(2_000_000_000),
  /** Further settings of the backend. */
  settings: z.record(z.string().max(100), z.json()).default({}),
});

export type StorageNodeSetting = Readonly<z.output<typeof nodeShape>>;

/** Parses `10.8.0.10-10.8.0.250`; both ends are included. */
function rangeOf(text: string): { readonly first: string; readonly last: string } | null {
  const [first = '', last = '', ...more] = text.split('-').map((part) => part.trim());
  if (more.length > 0 || !isIPv4(first) || !isIPv4(last)) return null;
  const ordered = addressToNumber(first) <= addressToNumber(last);
  return ordered ? { first, last } : null;
}

function addressToNumber(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

/** If two volumes of one network shared an address, machines would reach whichever responds first. */
function addressesOverlap(one: StorageNodeSetting, other: StorageNodeSetting): boolean {
  return (
    one.region === other.region &&
    addressToNumber(one.vips.first) <= addressToNumber(other.vips.last) &&
    addressToNumber(other.vips.first) <= addressToNumber(one.vips.last)
  );
}

/** The storage node for test keys if none is configured. The mock stores nothing. */
export const defaultStorage: readonly StorageNodeSetting[] = [
  {
    name: 'mock-storage',
    region: 'mock-region',
    kind: 'mock',
    endpoint: 'mock:',
    credential: null,
    vips: { first: '10.250.0.1', last: '10.250.255.254' },
    capacityGb: 1_000_000_000,
    settings: {},
  },
];

const listShape = z.array(nodeShape).superRefine((list, issue) => {
  const names = list.map(({ name }) => name);
  if (new Set(names).size !== names.length) {
    issue.addIssue({ code: 'custom', message: 'the names of storage nodes must be unique' });
  }
  list.forEach((node, index) => {
    const other = list.slice(0, index).find((known) => addressesOverlap(node, known));
    if (other !== undefined) {
      issue.addIssue({
        code: 'custom',
        message: `overlaps the addresses of ${other.name}: storage nodes of one region must have different addresses`,
        path: [index, 'vips'],
      });
    }
    if (node.region === 'mock-region' && node.kind !== 'mock') {
      issue.addIssue({
        code: 'custom',
        message: 'must be mock in mock-region, because test keys reach only mock storage',
        path: [index, 'kind'],
      });
    }
    if (node.kind !== 'mock' && node.endpoint === 'mock:') {
      issue.addIssue({ code: 'custom', message: 'is required', path: [index, 'endpoint'] });
    }
  });
});

const variables = {
  isDemo: demoVariable,
  list: {
    env: 'MILLRACE_STORAGE_NODES',
    schema: values.json(listShape).nullable().default(null),
    expected:
      'a JSON list of storage nodes, each with name, region, endpoint, credential, vips and capacityGb',
    example:
      '[{"name":"eu-1","region":"eu-west-3","endpoint":"https://10.8.0.2:8650","credential":"eu-storage","vips":"10.8.0.10-10.8.0.250","capacityGb":200000}]',
  },
  file: {
    env: 'MILLRACE_STORAGE_NODES_FILE',
    schema: values.fileText.pipe(values.json(listShape)).nullable().default(null),
    expected: 'the path of a file with a JSON list of storage nodes, in the format of MILLRACE_STORAGE_NODES',
    example: '/etc/millrace/storage-nodes.json',
  },
} as const;

interface StorageValues {
  readonly isDemo: boolean;
  readonly list: readonly StorageNodeSetting[] | null;
  readonly file: readonly StorageNodeSetting[] | null;
}

function checkStorage({ isDemo, list, file }: StorageValues): readonly ConfigProblem[] {
  if (list !== null && file !== null) {
    const problem = 'and MILLRACE_STORAGE_NODES are both set; remove one of them';
    return [{ env: 'MILLRACE_STORAGE_NODES_FILE', problem }];
  }
  const live = (list ?? file ?? []).filter(({ kind, region }) => kind === 'mock' && region !== 'mock-region');
  if (isDemo || live.length === 0) return [];
  const names = live.map(({ name }) => name).join(', ');
  const problem = `is not true, but live keys would pay for mock storage of ${names}; use another kind`;
  return [{ env: demoVariable.env, problem }];
}

export const storageConfig = fragment('storage', variables, checkStorage);
